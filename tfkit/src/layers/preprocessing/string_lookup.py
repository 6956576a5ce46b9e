"""A layer that maps strings to indices in a vocabulary."""

from __future__ import annotations

from typing import Any

from tfkit.src.base.registry.constructors import given
from tfkit.src.layers.preprocessing.index_lookup import IndexLookup


class StringLookup(IndexLookup):
    """The index of each string in a vocabulary, which is given or found by `adapt(data)`.

    With the defaults, index 0 is used for all strings that are not in the vocabulary. With a `mask_token`,
    0 is its index, and others count from 1. The vocabulary is data of the model, in its file.

    Args:
        max_tokens: maximum number of strings, special ones included; `adapt` keeps the most frequent.
            `None` for all.
        num_oov_indices: number of indices of strings out of vocabulary, over which a hash spreads them. With
            0, such strings are an error. Default: `1`.
        mask_token: string whose index is 0, and which vectors leave out; `None` for none.
        oov_token: the replacement of strings out of vocabulary with `invert`. Default: `"[UNK]"`.
        vocabulary: list, array or tensor of strings, or path of a text file with one on each line; `None`
            where `adapt` is to find them.
        idf_weights: with `"tf_idf"`, a float for each string of `vocabulary`; `None` otherwise.
        invert: whether indices become strings. Default: `False`.
        output_mode: `"int"` for indices; `"one_hot"` for a vector for each string; `"multi_hot"` for a vector
            for each sample, with a 1 for each string that occurs; `"count"` for one with the number of
            times; `"tf_idf"` for these times `log(1 + samples / (1 + samples with the string))`.
            Default: `"int"`.
        pad_to_max_tokens: whether vectors have `max_tokens` entries, whatever the vocabulary's size.
            Default: `False`.
        sparse: whether the vectors are a `tf.SparseTensor`. Default: `False`.
        encoding: encoding of the strings. Default: `"utf-8"`.
        name: name of the layer, a string; `None` for one that is made from the class's name.
        salt: integer, or two, the key of SipHash-64 for strings out of vocabulary; `None` for FarmHash-64.
        **kwargs: `trainable`, whether training changes the weights, of which there are none (`True`);
            `oov_method`, `"floormod"` or `"farmhash"`, which makes no difference for strings;
            `vocabulary_size`, the size of vectors before there is a vocabulary, as configurations have it
            (`None`); `autocast`, `activity_regularizer` as in every layer; `dtype` has no effect: indices
            are `int64`, and vectors of `tfkit.config.floatx()`.

    Input shape: Any, of strings; dense, ragged or sparse.

    Output shape: The input shape for `"int"`; `(..., size)` for `"one_hot"`; without the axis after the
        batch, and with the vocabulary's size at the end, for the others.

    Raises:
        ValueError: if an argument has any other value, or if tokens repeat.
        RuntimeError: if the layer is called without a vocabulary.
        InvalidArgumentError: for strings out of vocabulary, where `num_oov_indices` is 0.

    Example:
        >>> layer = StringLookup()
        >>> layer.adapt(["cat", "dog", "cat"])
        >>> layer.get_vocabulary()
        ['[UNK]', 'cat', 'dog']
        >>> layer(["dog", "cow"]).numpy().tolist()
        [2, 0]
    """

    def __init__(
        self,
        max_tokens: int | None = None,
        num_oov_indices: int = 1,
        mask_token: str | None = None,
        oov_token: str = "[UNK]",
        vocabulary: Any = None,
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        pad_to_max_tokens: bool = False,
        sparse: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        salt: Any = None,
        **kwargs: Any,
    ) -> None:
        self._text_encoding = self.encoding = encoding
        super().__init__(vocabulary_dtype="string", **given(locals(), "encoding"))

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without a vocabulary that was adapted or read from a file."""
        config = super().get_config()
        config.pop("vocabulary_dtype")
        return config | {"encoding": self.encoding}
