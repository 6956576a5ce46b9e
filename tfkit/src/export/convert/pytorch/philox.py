"""Philox's random integers in PyTorch: the same as TensorFlow's kernels draw, bit for bit.

Words of 32 bits are in integers of 64, since PyTorch has few operations for unsigned ones.

Reference: Salmon et al. (2011), "Parallel random numbers: as easy as 1, 2, 3".
"""

from __future__ import annotations

import torch

from tfkit.src.export.convert.pytorch.dtypes import WORD, dtype_of

_FRACTION_BITS = {"float16": 10, "bfloat16": 7, "float32": 23}
Words = tuple[torch.Tensor, ...]


def key_and_counter(seed: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Returns the key (1 integer) and the counter (2) that TensorFlow makes of a seed of two integers."""
    seed = seed.to(torch.int64)
    zero = torch.zeros_like(seed[0])
    # The constants with which TensorFlow scrambles seeds.
    key = (zero + 0x3EC8F720, zero + 0x02461E29)
    words = _ten_rounds(key, (*_halves(seed[0]), *_halves(seed[1])))
    high = words[2] | words[3] << 32
    return (words[0] | words[1] << 32).reshape(1), torch.stack([zero, high])


def bits(count: int, key: torch.Tensor, counter: torch.Tensor) -> torch.Tensor:
    """Returns integers of 32 random bits."""
    numbers = torch.arange((count + 3) // 4, dtype=torch.int64, device=key.device)
    zeros = torch.zeros_like(numbers)
    high = _halves(counter[1])
    words = _ten_rounds(
        _halves(key.reshape(())),
        (numbers + (counter[0] & WORD), zeros, zeros + high[0], zeros + high[1]),
    )
    return torch.stack(words, 1).reshape(-1)[:count]


def wide_bits(count: int, key: torch.Tensor, counter: torch.Tensor) -> torch.Tensor:
    """Returns integers of 64 random bits."""
    words = bits(2 * count, key, counter).reshape(-1, 2)
    return words[:, 0] | words[:, 1] << 32


def unit(count: int, key: torch.Tensor, counter: torch.Tensor, dtype: str) -> torch.Tensor:
    """Returns floats in `[0, 1)`."""
    if dtype == "float64":
        # 52 of 64 bits, as many as the fraction of a float64 has.
        words = bits(2 * count, key, counter).reshape(-1, 2)
        return ((words[:, 0] & (2**20 - 1)) * 2**32 + words[:, 1]).to(torch.float64) * 2.0**-52
    digits = _FRACTION_BITS[dtype]
    return (bits(count, key, counter) & (2**digits - 1)).to(dtype_of(dtype)) * 2.0**-digits


def _ten_rounds(key: Words, words: Words) -> Words:
    key_0, key_1 = key
    for _ in range(10):
        # Salmon et al. (2011), Philox 4x32 with 10 rounds: multipliers here, Weyl constants below.
        low_0, high_0 = _product(words[0], 0xD2511F53)
        low_1, high_1 = _product(words[2], 0xCD9E8D57)
        words = (high_1 ^ words[1] ^ key_0, low_1, high_0 ^ words[3] ^ key_1, low_0)
        key_0, key_1 = (key_0 + 0x9E3779B9) & WORD, (key_1 + 0xBB67AE85) & WORD
    return words


def _product(word: torch.Tensor, factor: int) -> Words:
    """Returns the low and the high word of a product, which wraps around in 64 bits."""
    product = word * factor
    return product & WORD, product >> 32 & WORD


def _halves(wide: torch.Tensor) -> Words:
    return wide & WORD, wide >> 32 & WORD
