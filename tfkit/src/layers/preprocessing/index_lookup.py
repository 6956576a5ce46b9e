"""The common base of lookups of strings and of integers: tokens as indices into a vocabulary."""

from __future__ import annotations

import operator
from typing import Any, Self

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.base.limits import BUCKETS
from tfkit.src.base.registry.constructors import attributes
from tfkit.src.core.layer import Layer
from tfkit.src.layers.preprocessing.base import check_mode
from tfkit.src.layers.preprocessing.encoding import encode, on_entries
from tfkit.src.layers.preprocessing.hashing import hashed, salt_of
from tfkit.src.layers.preprocessing.tables import Table
from tfkit.src.layers.preprocessing.vocabulary import Vocabulary, check_encoding
from tfkit.src.layers.preprocessing.with_vocabulary import WithVocabulary
from tfkit.src.symbolic import tensors

_MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")
# Values in tables for a token out of vocabulary, and for a masked one, which vectors leave out.
_UNKNOWN, _MASKED = -1, -2


class IndexLookup(WithVocabulary):
    """A vocabulary, and tokens as their indices in it; the base of `StringLookup` and `IntegerLookup`.

    The vocabulary is data of the model, which its files hold. It is never changed: `adapt` and
    `set_vocabulary` replace it, and programs that were traced with the old one are traced
    again.

    Args:
        max_tokens: maximum number of tokens, special ones included; `None` for any number.
        num_oov_indices: number of indices of tokens out of vocabulary.
        mask_token: token whose index is 0, and which vectors leave out; `None` for none.
        oov_token: the replacement of tokens out of vocabulary, when indices become tokens.
        vocabulary_dtype: `"string"` or `"int64"`.
        vocabulary: list, array or tensor of tokens, or path of a text file with one on each line; `None`
            where `adapt` is to find them.
        idf_weights: with `"tf_idf"`, a float for each token of `vocabulary`.
        invert: whether indices become tokens.
        output_mode: `"int"`, `"one_hot"`, `"multi_hot"`, `"count"` or `"tf_idf"`.
        sparse: whether the vectors are a `tf.SparseTensor`.
        pad_to_max_tokens: whether vectors have `max_tokens` entries, whatever the vocabulary's size.
        name: name of the layer; `None` for one that is made from the class's name.
        oov_method: how integers out of vocabulary are spread over several indices: `"floormod"` or
            `"farmhash"`.
        salt: integer, or two, the key of SipHash, which replaces FarmHash; `None` for none.
        **kwargs: arguments of every layer.
    """

    def __init__(
        self,
        *,
        max_tokens: int | None,
        num_oov_indices: int,
        mask_token: Any,
        oov_token: Any,
        vocabulary_dtype: str,
        vocabulary: Any = None,
        idf_weights: Any = None,
        invert: bool = False,
        output_mode: str = "int",
        sparse: bool = False,
        pad_to_max_tokens: bool = False,
        name: str | None = None,
        oov_method: str = "floormod",
        salt: Any = None,
        **kwargs: Any,
    ) -> None:
        if max_tokens is not None and max_tokens <= 1:
            raise ValueError(
                f"If set, `max_tokens` must be greater than 1. Received: max_tokens={max_tokens}"
            )
        if pad_to_max_tokens and max_tokens is None:
            raise ValueError(
                f"If pad_to_max_tokens is True, must set `max_tokens`. Received: max_tokens={max_tokens}"
            )
        if num_oov_indices < 0 or BUCKETS.excess(num_oov_indices):
            raise ValueError(
                "`num_oov_indices` must be greater than or equal to 0, and at most "
                f"{BUCKETS.most:,}. Received: num_oov_indices={num_oov_indices}"
            )
        output_mode = checked_output_mode(self, output_mode)
        if invert and output_mode != "int":
            raise ValueError(
                f"`output_mode` must be `'int'` when `invert` is true. Received: output_mode={output_mode}"
            )
        if idf_weights is not None and output_mode != "tf_idf":
            raise ValueError(
                "`idf_weights` should only be set if `output_mode` is `'tf_idf'`. "
                f"Received: idf_weights={idf_weights} and output_mode={output_mode}"
            )
        check_mode(self, oov_method, ("floormod", "farmhash"), "oov_method")
        if salt is not None and oov_method != "farmhash" and vocabulary_dtype != "string":
            raise ValueError(
                f"`salt` can only be used when `oov_method='farmhash'`. Received: oov_method={oov_method}"
            )
        expected_size = kwargs.pop("vocabulary_size", None)
        kwargs.pop("dtype", None)  # It has no effect, as in Keras.
        super().__init__(name=name, **kwargs)
        self.autocast = False
        self.max_tokens = max_tokens
        self.num_oov_indices = operator.index(num_oov_indices)
        self.mask_token = mask_token
        self.oov_token = oov_token
        self.vocabulary_dtype = vocabulary_dtype
        if vocabulary_dtype == "string" and self._text_encoding is None:
            self._text_encoding = "utf-8"
        check_encoding(self._text_encoding)
        self.invert = invert
        self._take_mode(output_mode, sparse, _MODES)
        self.pad_to_max_tokens = pad_to_max_tokens
        self.oov_method = oov_method
        self.salt = salt_of(salt, "IndexLookup")
        self._begin(expected_size)
        if vocabulary is not None:
            self._begin_with(vocabulary, idf_weights)

    # --- Dtypes ---------------------------------------------------------------------------------------

    @property
    def dtype(self) -> str:
        """The dtype of the vocabulary."""
        return self.vocabulary_dtype

    compute_dtype = variable_dtype = dtype

    @property
    def input_dtype(self) -> str:
        """The dtype of the inputs."""
        return "int64" if self.invert else self.vocabulary_dtype

    # --- Calls ----------------------------------------------------------------------------------------

    def call(self, inputs: Any) -> Any:
        """Returns the indices of tokens, or vectors; with `invert` the tokens of indices."""
        vocabulary = self._vocabulary
        if vocabulary is None:
            return self._without_vocabulary(inputs)
        if self.invert:
            if inputs.dtype == tf.string:
                raise ValueError(
                    f"Layer {self._tfkit.title} has `invert=True` and expects the indices of tokens. "
                    "Received: a tensor of dtype string."
                )
            return on_entries(
                _cast(inputs, tf.int64), lambda x: self._token_table(vocabulary).lookup(x)
            )
        tokens = self._as_tokens(inputs)
        indices = on_entries(tokens, lambda x: self._indices(vocabulary, x))
        if self.output_mode == "int":
            return indices
        if self.output_mode != "tf_idf":
            return self._encoded(indices)
        # The inverse document frequency is a token's weight, which its count is multiplied by.
        dtype = settings.floatx()
        counts = encode(indices, "count", self._depth() or 0, dtype, self.sparse)
        weights = tf.constant(vocabulary.idf_weights, dtype)
        if isinstance(counts, tf.SparseTensor):
            return counts.with_values(counts.values * tf.gather(weights, counts.indices[:, -1]))
        return counts * weights

    def _indices(self, vocabulary: Vocabulary, tokens: tf.Tensor) -> tf.Tensor:
        """Returns the indices of tokens; negative for tokens without one."""
        indices = self._index_table(vocabulary).lookup(tokens)
        # The table's default is already the only index for unknown tokens.
        if self.num_oov_indices == 1:
            return indices
        unknown = tf.equal(indices, _UNKNOWN)
        if self.num_oov_indices == 0:
            message = (
                "When `num_oov_indices=0` all inputs should be in vocabulary, found OOV values "
                "{}, consider setting `num_oov_indices=1`."
            )
            missing = tf.boolean_mask(tf.reshape(tokens, [-1]), tf.reshape(unknown, [-1]))
            found = tf.strings.format(message, [missing])
            # In a graph the result must wait for the assertion, which nothing else reads.
            with tf.control_dependencies([tf.debugging.Assert(~tf.reduce_any(unknown), [found])]):
                return tf.identity(indices)
        if tokens.dtype == tf.string or self.oov_method == "farmhash":
            places = hashed(tokens, self.num_oov_indices, self.salt)
        else:
            places = tf.math.floormod(tokens, self.num_oov_indices)
        # After the mask token, if there is one.
        first = len(self._special_tokens()) - self.num_oov_indices
        return tf.where(unknown, first + places, indices)

    def _tfkit_children(self, children: dict[str, Any], save_type: str) -> dict[str, Any]:
        """Returns the children with the table, for `tf.saved_model.save`, which writes reachable objects."""
        children = super()._tfkit_children(children, save_type)
        if save_type == "savedmodel" and self._vocabulary is not None:
            make = self._token_table if self.invert else self._index_table
            children["_table"] = make(self._vocabulary)
        return children

    def _index_table(self, vocabulary: Vocabulary) -> Table:
        """Returns the table from tokens to indices."""

        def make() -> Table:
            special = len(self._special_tokens())
            keys = list(vocabulary.tokens)
            values = np.arange(special, special + len(keys))
            if self.mask_token is not None:
                keys += self._tokens_of([self.mask_token])
                # As an index, the mask is 0; in vectors, a masked token must not count.
                values = np.append(values, 0 if self.output_mode == "int" else _MASKED)
            default = special - 1 if self.num_oov_indices == 1 else _UNKNOWN
            dtype = self.vocabulary_dtype
            return Table(_vector(keys, dtype), _vector(values, "int64"), default)

        return vocabulary.table("indices", make)

    def _token_table(self, vocabulary: Vocabulary) -> Table:
        """Returns the table from indices to tokens."""

        def make() -> Table:
            text = self._text_encoding is not None
            unknown = (b"" if text else -1) if self.oov_token is None else self.oov_token
            tokens = [*self._tokens_of(self._special_tokens()), *vocabulary.tokens]
            values = _vector(tokens, self.vocabulary_dtype)
            keys = _vector(range(len(tokens)), "int64")
            return Table(keys, values, *self._tokens_of([unknown]))

        return vocabulary.table("tokens", make)

    def _as_tokens(self, data: Any) -> Any:
        """Returns data as a tensor of tokens.

        Raises:
            ValueError: for numbers if the vocabulary has strings, and vice versa.
        """
        if not isinstance(data, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
            data = tf.convert_to_tensor(data)
        text = self.vocabulary_dtype == "string"
        if (data.dtype == tf.string) is not text and (text or data.dtype == tf.string):
            if not (isinstance(data, tf.Tensor) and 0 in data.shape):
                raise ValueError(
                    f"Layer {self._tfkit.title} expects {'strings' if text else 'integers'}. Received: a "
                    f"tensor of dtype {data.dtype.name}. Use "
                    f"`{'IntegerLookup' if text else 'StringLookup'}`, or turn it into "
                    f"{'strings with `tf.strings.as_string`' if text else 'numbers'}."
                )
            data = tf.zeros(data.shape, self.vocabulary_dtype)
        return data if text else _cast(data, tf.int64)

    def _dtypes(self) -> tuple[str, str]:
        return self.vocabulary_dtype if self.invert else "int64", settings.floatx()

    def _depth(self) -> int | None:
        """Returns the size of vectors; `None` if it is not known yet."""
        if self.pad_to_max_tokens:
            return self.max_tokens
        size = self._tfkit_known_size
        # A model that has been described with this size could not use a different one.
        if self._frozen_size is None:
            self._frozen_size = size
        return size

    def _without_vocabulary(self, inputs: Any) -> Any:
        """Returns outputs for a model that is described before its vocabulary is loaded.

        Raises:
            RuntimeError: everywhere else.
        """
        if not tensors.is_described():
            mode = f"When using `output_mode={self.output_mode}` and `pad_to_max_tokens=False`, you"
            raise RuntimeError(
                f"Layer {self._tfkit.title} has no vocabulary. {mode} must set the layer's vocabulary before "
                "calling it. Either pass a `vocabulary` argument to the layer, or call `adapt` with some "
                "sample data."
            )
        return tensors.placeholder(self.compute_output_spec(tensors.specification(inputs)))

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without a vocabulary that was adapted or read from a file."""
        tokens = attributes(
            self, "invert", "max_tokens", "num_oov_indices", "oov_token", "mask_token"
        )
        form = attributes(self, "output_mode", "sparse", "pad_to_max_tokens", "vocabulary_dtype")
        vocabulary = {
            **self._configured(),
            "vocabulary_size": self._tfkit_known_size,
        }
        hashing = attributes(self, "oov_method", "salt")
        return {**self._base_config(), **tokens, **form, **vocabulary, **hashing}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a layer. A path is not accepted as a vocabulary, because configurations come from files."""
        check_no_path(cls, config)
        return super().from_config(config)


def check_no_path(cls: type, config: dict[str, Any]) -> None:
    """Raises an error for a configuration that names a file, which its author could choose freely.

    Raises:
        ValueError: with advice on alternatives.
    """
    if isinstance(config.get("vocabulary"), (str, bytes)):
        raise ValueError(
            f"The configuration of a {cls.__name__} names a file as its `vocabulary`, which is never opened. "
            f"Expected a list of tokens. Received: vocabulary={config['vocabulary']!r}. Make the layer in "
            "code, with `vocabulary=path`, or call `layer.set_vocabulary(path)`: the model's file then holds "
            "the vocabulary itself."
        )


def _vector(values: Any, dtype: str) -> tf.Tensor:
    """Returns tokens or indices as a tensor."""
    items = values if isinstance(values, np.ndarray) else list(values)
    return tf.constant(items, dtype) if len(items) else tf.zeros([0], dtype)


def _cast(data: Any, dtype: tf.DType) -> Any:
    return data if data.dtype == dtype else tf.cast(data, dtype)


def checked_output_mode(layer: Layer, mode: str) -> str:
    """Returns an output mode of lookups; for an older name, the present one.

    Raises:
        ValueError: for an unknown one.
    """
    if mode == "binary":
        mode = "multi_hot"
    if mode == "tf-idf":
        mode = "tf_idf"
    check_mode(layer, mode, _MODES, "output_mode")
    return mode
