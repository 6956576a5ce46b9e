"""FarmHash-64 of integers as decimal strings, with words of 32 bits, which every framework has.

A number of 64 bits is a pair of its high and its low word; words are arrays of unsigned integers of 32 bits,
or of wider ones whose higher bits are cut off.

Reference: Pike and Alakuijala (2014), "FarmHash", `farmhashna::Hash64` for up to 32 characters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F

Pair = tuple[Any, Any]
Where = Callable[[Any, Any, Any], Any]


def _cut(x: Any) -> Any:
    """Returns the lowest 32 bits."""
    high = x >> 16
    return (high & 0xFFFF) << 16 | x & 0xFFFF


def _constant(number: int, like: Any) -> Pair:
    """Returns a number of 64 bits, from parts that fit in integers of any framework."""
    parts = [like * 0 + (number >> shift & 0xFFFF) for shift in (48, 32, 16, 0)]
    return parts[0] << 16 | parts[1], parts[2] << 16 | parts[3]


def _add(a: Pair, b: Pair) -> Pair:
    low = _cut(a[1] + b[1])
    # The carry is the top bit of what both have, or one of them and not the sum.
    carry = ((a[1] & b[1]) | ((a[1] | b[1]) & (~low))) >> 31
    return _cut(a[0] + b[0] + carry), low


def _whole(a: Any, b: Any) -> Pair:
    """Returns the product of two words."""
    a0, a1, b0, b1 = a & 0xFFFF, a >> 16, b & 0xFFFF, b >> 16
    low, first, second = a0 * b0, a1 * b0, a0 * b1
    middle = (low >> 16) + (first & 0xFFFF) + (second & 0xFFFF)
    high = a1 * b1 + (first >> 16) + (second >> 16) + (middle >> 16)
    return _cut(high), _cut((middle << 16) | (low & 0xFFFF))


def _times(a: Pair, b: Pair) -> Pair:
    high, low = _whole(a[1], b[1])
    return _cut(high + a[0] * b[1] + a[1] * b[0]), low


def _xor(a: Pair, b: Pair) -> Pair:
    return a[0] ^ b[0], a[1] ^ b[1]


def _mixed(a: Pair) -> Pair:
    """Returns `a ^ (a >> 47)`."""
    return a[0], a[1] ^ (a[0] >> 15)


def _rotated(a: Pair, count: int) -> Pair:
    """Returns a number, rotated to the right."""
    high, low = a if count < 32 else (a[1], a[0])
    count %= 32
    return (
        _cut((high >> count) | (low << (32 - count))),
        _cut((low >> count) | (high << (32 - count))),
    )


def _joined(u: Pair, v: Pair, factor: Pair) -> Pair:
    a = _mixed(_times(_xor(u, v), factor))
    b = _mixed(_times(_xor(v, a), factor))
    return _times(b, factor)


def farmhash(characters: Sequence[Any], length: Any, where: Where) -> Pair:
    """Returns the hash of strings of up to 20 characters.

    Args:
        characters: words with the codes of the first characters, of the second ones, and so on.
        length: words with the numbers of characters.
        where: the framework's choice by a condition.
    """

    def at(place: Any) -> Any:
        """Returns the characters at positions that vary."""
        found = characters[0]
        for n, character in enumerate(characters[1:], 1):
            found = where(place == n, character, found)
        return found

    def word(place: Any) -> Any:
        parts = [at(place + n) << (8 * n) for n in range(4)]
        return parts[0] | parts[1] | parts[2] | parts[3]

    def fetched(place: Any) -> Pair:
        return word(place + 4), word(place)

    def from_end(count: int) -> Any:
        """Returns positions before the end; 0 for strings that are shorter."""
        return where(length >= count, length - count, length * 0)

    start, zero = length * 0, length * 0
    k0, k1, k2 = (_constant(it, length) for it in (_K0, _K1, _K2))
    factor = _add(k2, (zero, length * 2))
    # From 1 to 3 characters.
    y = zero, at(start) + (at(length >> 1) << 8)
    z = zero, length + (at(from_end(1)) << 2)
    short = _times(_mixed(_xor(_times(y, k2), _times(z, k0))), k2)
    # From 4 to 7.
    first = word(start)
    shifted = _add((first >> 29, _cut(first << 3)), (zero, length))
    medium = _joined(shifted, (zero, word(from_end(4))), factor)
    # From 8 to 16.
    a, b = _add(fetched(start), k2), fetched(from_end(8))
    c = _add(_times(_rotated(b, 37), factor), a)
    d = _times(_add(_rotated(a, 25), b), factor)
    usual = _joined(c, d, factor)
    # From 17 to 32.
    a, b = _times(fetched(start), k1), fetched(start + 8)
    c, d = _times(fetched(from_end(8)), factor), _times(fetched(from_end(16)), k2)
    left = _add(_add(_rotated(_add(a, b), 43), _rotated(c, 30)), d)
    right = _add(_add(a, _rotated(_add(b, k2), 18)), c)
    long = _joined(left, right, factor)

    def chosen(place: int) -> Any:
        rest = where(length > 16, long[place], usual[place])
        return where(length < 4, short[place], where(length < 8, medium[place], rest))

    return chosen(0), chosen(1)


def decimal(
    x: Any, most: int, where: Where, divided: Callable[[Any], Any], word: Callable[[Any], Any]
) -> tuple[list[Any], Any]:
    """Returns the characters of integers as decimal strings, as words, and the lengths.

    Args:
        x: integers.
        most: the maximum number of digits.
        where: the framework's choice by a condition.
        divided: returns integers divided by 10, rounded towards 0.
        word: returns integers as words.
    """
    rest = where(x > 0, -x, x)  # The smallest integer has no positive counterpart.
    digits, count = [], x * 0 + 1
    for n in range(most):
        shorter = divided(rest)
        digits.append(shorter * 10 - rest)  # The last digit first.
        rest = shorter
        count = where(rest != 0, x * 0 + n + 2, count)
    sign = (x < 0) * 1
    characters = []
    for place in range(most + 1):
        number = count - 1 - place + sign  # Of the digit, from the end.
        code = x * 0
        for n, digit in enumerate(digits):
            code = where(number == n, digit + 48, code)
        if place == 0:
            code = where(x < 0, code * 0 + 45, code)
        characters.append(word(code))
    return characters, word(count + sign)
