"""A layer that maps integers to indices in a vocabulary."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.registry.constructors import given
from tfkit.src.layers.preprocessing.index_lookup import IndexLookup


class IntegerLookup(IndexLookup):
    """The index of each integer in a vocabulary, which is given or found by `adapt(data)`.

    With the defaults, index 0 is used for all integers that are not in the vocabulary. With a `mask_token`,
    0 is its index, and others count from 1. The vocabulary is data of the model, in its file.

    Args:
        max_tokens: maximum number of integers, special ones included; `adapt` keeps the most frequent.
            `None` for all.
        num_oov_indices: number of indices of integers out of vocabulary, over which these are spread. With 0,
            such integers are an error. Default: `1`.
        mask_token: integer whose index is 0, and which vectors leave out; `None` for none.
        oov_token: the replacement of integers out of vocabulary with `invert`. Default: `-1`.
        vocabulary: list, array or tensor of integers, or path of a text file with one on each line; `None`
            where `adapt` is to find them.
        vocabulary_dtype: `"int64"`; others are not supported. Default: `"int64"`.
        idf_weights: with `"tf_idf"`, a float for each integer of `vocabulary`; `None` otherwise.
        invert: whether indices become integers of the vocabulary. Default: `False`.
        output_mode: `"int"` for indices; `"one_hot"` for a vector for each integer; `"multi_hot"` for a
            vector for each sample, with a 1 for each integer that occurs; `"count"` for one with the number
            of times; `"tf_idf"` for these times `log(1 + samples / (1 + samples with the integer))`.
            Default: `"int"`.
        sparse: whether the vectors are a `tf.SparseTensor`. Default: `False`.
        pad_to_max_tokens: whether vectors have `max_tokens` entries, whatever the vocabulary's size.
            Default: `False`.
        oov_method: how integers out of vocabulary are spread over several indices: `"floormod"` for their
            remainders, `"farmhash"` for a hash of their decimal digits. Default: `"floormod"`.
        salt: with `"farmhash"`, integer, or two, the key of SipHash-64, which replaces FarmHash; `None` for
            none.
        name: name of the layer, a string; `None` for one that is made from the class's name.
        **kwargs: `trainable`, whether training changes the weights, of which there are none (`True`);
            `vocabulary_size`, the size of vectors before there is a vocabulary, as configurations have it
            (`None`); `autocast`, `activity_regularizer` as in every layer; `dtype` has no effect: indices
            are `int64`, and vectors of `tfkit.config.floatx()`.

    Input shape: Any, of integers, or of floats, which are cast; dense, ragged or sparse.

    Output shape: The input shape for `"int"`; `(..., size)` for `"one_hot"`; without the axis after the
        batch, and with the vocabulary's size at the end, for the others.

    Raises:
        ValueError: if an argument has any other value, or if tokens repeat.
        RuntimeError: if the layer is called without a vocabulary.
        InvalidArgumentError: for integers out of vocabulary, where `num_oov_indices` is 0.

    Example:
        >>> layer = IntegerLookup(vocabulary=[10, 20, 30])
        >>> layer([[20, 99]]).numpy().tolist()
        [[2, 0]]
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: int | None = None,
        oov_token: int = -1,
        vocabulary: Any = None,
        vocabulary_dtype: str = "int64",
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        oov_method: str = "floormod",
        salt: Any = None,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if vocabulary_dtype != "int64":
            raise ValueError(
                "Only `vocabulary_dtype='int64'` is supported at this time. "
                f"Received: vocabulary_dtype={vocabulary_dtype}"
            )
        super().__init__(**given(locals()))
