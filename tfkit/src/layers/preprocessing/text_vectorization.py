"""A layer that maps strings to the indices of their words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import tensorflow as tf

from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.registry import serialization
from tfkit.src.layers.checks import is_integer
from tfkit.src.layers.preprocessing.adapting import batches, kept_on_error
from tfkit.src.layers.preprocessing.base import Preprocessing, check_mode
from tfkit.src.layers.preprocessing.index_lookup import check_no_path, checked_output_mode
from tfkit.src.layers.preprocessing.standardizing import SPLIT, STANDARDIZE, split, standardized
from tfkit.src.layers.preprocessing.string_lookup import StringLookup
from tfkit.src.layers.preprocessing.text_batches import PIECE, counted
from tfkit.src.layers.preprocessing.token_counts import Counts
from tfkit.src.symbolic.tensors import KerasTensor


class TextVectorization(Preprocessing):
    """Standardizes strings, splits them into tokens, and maps the tokens to indices in a vocabulary.

    Index 0 is padding, 1 is used for tokens out of vocabulary. The vocabulary is given or found by
    `adapt(data)`; it is data of the model, in its file.

    Args:
        max_tokens: maximum number of tokens, special ones included; `adapt` keeps the most frequent.
            `None` for all.
        standardize: `"lower_and_strip_punctuation"`, `"lower"` or `"strip_punctuation"`, of ASCII's letters
            and punctuation; a function of a tensor of strings; or `None`.
            Default: `"lower_and_strip_punctuation"`.
        split: `"whitespace"`, `"character"`, a function of a tensor of strings that returns a ragged one, or
            `None`. Default: `"whitespace"`.
        ngrams: integer n for groups of 1 to n tokens, joined by spaces, or a tuple of sizes; `None` for
            single tokens.
        output_mode: `"int"` for an index for each token; `"multi_hot"` for a vector for each string, with a
            1 for each token that occurs; `"count"` for a vector of the numbers of times; `"tf_idf"` for these
            times `log(1 + strings / (1 + strings with the token))`; `"one_hot"` for a vector for each token.
            Default: `"int"`.
        output_sequence_length: with `"int"`, number of indices for each string: longer sequences are cut
            off, shorter ones are padded with 0. `None` for the length of the longest one.
        pad_to_max_tokens: whether vectors have `max_tokens` entries, whatever the vocabulary's size.
            Default: `False`.
        vocabulary: list, array or tensor of strings, or path of a text file with one on each line; `None`
            where `adapt` is to find them.
        idf_weights: with `"tf_idf"`, a float for each string of `vocabulary`; `None` otherwise.
        sparse: whether the vectors are a `tf.SparseTensor`. Default: `False`.
        ragged: whether the indices are a `tf.RaggedTensor`, without padding. Default: `False`.
        encoding: encoding of the vocabulary. Default: `"utf-8"`.
        name: name of the layer, a string; `None` for one that is made from the class's name.
        **kwargs: `trainable`, whether training changes the weights, of which there are none (`True`);
            `vocabulary_size`, the size of vectors before there is a vocabulary, as configurations have it
            (`None`); `autocast`, `activity_regularizer` as in every layer; `dtype` has no effect: indices
            are `int64`, and vectors of `tfkit.config.floatx()`.

    Input shape: `(batch,)`, `(batch, 1)` or `()`, of strings; any without `split`.

    Output shape: `(batch, length)` for `"int"`; `(batch, size)` for a vector for each string; `(batch, None,
        size)`, ragged, for `"one_hot"`.

    Raises:
        ValueError: if an argument has any other value, or if inputs to be split have more than one column.
        RuntimeError: if the layer is called without a vocabulary.

    Example:
        >>> layer = TextVectorization(output_sequence_length=4)
        >>> layer.adapt(["The cat.", "the dog", "The owl!"])
        >>> layer.get_vocabulary()
        ['', '[UNK]', 'the', 'owl', 'dog', 'cat']
        >>> layer(["the cat saw the dog"]).numpy().tolist()
        [[2, 5, 1, 2]]
    """

    _tfkit_assets_are_variables = True

    def __init__(
        self,
        max_tokens: int | None = None,
        standardize: str | Callable[..., Any] | None = "lower_and_strip_punctuation",
        split: str | Callable[..., Any] | None = "whitespace",
        ngrams: int | tuple[int, ...] | None = None,
        output_mode: str = "int",
        output_sequence_length: int | None = None,
        pad_to_max_tokens: bool = False,
        vocabulary: Any = None,
        idf_weights: Any = None,
        sparse: bool = False,
        ragged: bool = False,
        encoding: str = "utf-8",
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        if not callable(standardize):
            check_mode(self, standardize, (*STANDARDIZE, None), "standardize")
        if not callable(split):
            check_mode(self, split, (*SPLIT, None), "split")
        output_mode = checked_output_mode(self, output_mode)
        if ngrams is not None and not all(is_integer(n) and n > 0 for n in _sizes(ngrams)):
            raise ValueError(
                "`ngrams` must be None, an integer, or a tuple of integers, all positive. "
                f"Received: ngrams={ngrams}"
            )
        length = output_sequence_length
        if length is not None and not (is_integer(length) and length > 0):
            raise ValueError(
                "`output_sequence_length` must be None or a positive integer. "
                f"Received: output_sequence_length={length}"
            )
        if output_mode != "int" and length is not None:
            raise ValueError(
                "`output_sequence_length` must not be set if `output_mode` is not 'int'. "
                f"Received: output_sequence_length={length} and output_mode={output_mode}"
            )
        if ragged and output_mode != "int":
            raise ValueError(
                "`ragged` must not be true unless `output_mode` is `'int'`. "
                f"Received: ragged={ragged} and output_mode={output_mode}"
            )
        size = kwargs.pop("vocabulary_size", None)
        kwargs.pop("dtype", None)  # It has no effect, as in Keras.
        super().__init__(name=name, **kwargs)
        self.autocast = False
        self.standardize = standardize
        self.split = split
        self.ngrams = ngrams
        self.output_mode = output_mode
        self.output_sequence_length = length
        self.ragged = ragged
        self._lookup_layer = StringLookup(
            max_tokens=max_tokens,
            vocabulary=vocabulary,
            idf_weights=idf_weights,
            pad_to_max_tokens=pad_to_max_tokens,
            # Padding is an empty string, and has the index 0.
            mask_token="",
            output_mode=output_mode,
            sparse=sparse,
            encoding=encoding,
            vocabulary_size=size,
        )

    # --- The vocabulary -------------------------------------------------------------------------------

    @property
    def dtype(self) -> str:
        """The dtype of the inputs."""
        return "string"

    compute_dtype = variable_dtype = input_dtype = dtype

    @shortened
    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Makes a vocabulary of the tokens in data: the most frequent first, ties in descending order.

        Data is read once, and standardized, split and counted on two threads. The memory grows with the
        number of different tokens only.

        Args:
            data: an array, a tensor or a list of strings; or batches: a `tf.data.Dataset`, a `PyDataset`, a
                list of arrays, any iterable. Only the first item of tuples `(x, y)` is used.
            batch_size: number of strings of an array that are processed together; `None` for a few thousand.
                It changes only how many strings functions for `standardize` and `split` get at once.
            steps: number of batches to read; `None` for all. An array is one batch.

        Raises:
            ValueError: if the vocabulary was given. The old one is kept after any error.
        """
        lookup = self._lookup_layer
        lookup._check_may_adapt()
        with kept_on_error(lookup, "_vocabulary", "_counts"):
            self.reset_state()
            # A subclass's own `update_state` must see the batches; otherwise pieces on threads are
            # faster.
            if type(self).update_state is TextVectorization.update_state:
                texts = self._flat_batches(data, steps)
                for found in counted(texts, self._counts_of, batch_size):
                    lookup._add_counts(found)
            else:  # Each batch as it is, one after the other.
                for batch in batches(self, data, steps):
                    self.update_state(_texts(batch))
            self.finalize_state()

    def _counts_of(self, texts: Any) -> Counts:
        return self._lookup_layer._counts_of(self._tokens(texts))

    def _flat_batches(self, data: Any, steps: int | None) -> Any:
        for batch in batches(self, data, steps):
            whole = not isinstance(batch, np.ndarray) or not batch.ndim
            for start in range(0, 1 if whole else len(batch), PIECE):
                piece = batch if whole else batch[start : start + PIECE]
                yield self._column(_texts(piece))

    def update_state(self, data: Any) -> None:
        """Counts the tokens of a batch; `finalize_state` makes a vocabulary of all of them."""
        self._lookup_layer.update_state(self._tokens(self._column(_texts(data))))

    def finalize_state(self) -> None:
        """Makes a vocabulary of the counts of `update_state`."""
        self._lookup_layer.finalize_state()

    def reset_state(self) -> None:
        """Discards the counts of `update_state`, and a vocabulary that was adapted."""
        self._lookup_layer.reset_state()

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        """Returns the tokens by index.

        Args:
            include_special_tokens: whether padding and the token out of vocabulary are at the beginning,
                as their indices do.
        """
        return self._lookup_layer.get_vocabulary(include_special_tokens)

    def vocabulary_size(self) -> int:
        """Returns the number of tokens, special ones included."""
        return self._lookup_layer.vocabulary_size()

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Sets the tokens.

        Args:
            vocabulary: list, array or tensor of strings without repetitions, or path of a text file with one
                on each line. Special tokens are left out, or all of them are at the beginning.
            idf_weights: with `output_mode="tf_idf"`, a float for each token of `vocabulary`.

        Raises:
            ValueError: for tokens that cannot be a vocabulary; the old one is kept then.
        """
        self._lookup_layer.set_vocabulary(vocabulary, idf_weights)

    # --- Calls ----------------------------------------------------------------------------------------

    def call(self, inputs: Any) -> Any:
        """Returns the indices of the tokens of strings, or vectors."""
        texts = self._column(inputs)
        return _with_rows(self._of_tokens(self._tokens(texts)), texts)

    def _of_tokens(self, tokens: Any) -> Any:
        """Returns the indices of tokens, or vectors."""
        indices = self._lookup_layer(tokens)
        if self.output_mode != "int":
            return indices
        length = self.output_sequence_length
        if isinstance(indices, tf.RaggedTensor):
            if self.ragged:
                return indices if length is None else indices[..., :length]
            if length is None:
                return indices.to_tensor(default_value=0)  # 0 is the mask.
            shape = [None] * (indices.shape.rank - 1) + [length]
            padded = indices.to_tensor(default_value=0, shape=shape)
            return tf.ensure_shape(padded, [*indices.shape[:-1], length])
        if length is None or not isinstance(indices, tf.Tensor):
            return indices
        if indices.shape.rank == 0:
            indices = indices[None]
        indices = indices[..., :length]
        if self.ragged:  # Nothing is padded.
            return indices
        missing = length - tf.shape(indices)[-1]
        padded = tf.pad(indices, [[0, 0]] * (indices.shape.rank - 1) + [[0, missing]])
        return tf.ensure_shape(padded, [*indices.shape[:-1], length])

    def _column(self, texts: Any) -> Any:
        """Returns strings to be split without a last axis of size 1.

        Raises:
            ValueError: for several columns, and for numbers.
        """
        if texts.dtype != tf.string:
            raise ValueError(
                f"Layer {self._tfkit.title} expects strings. Received: a tensor of dtype {texts.dtype.name}. "
                "Turn numbers into strings with `tf.strings.as_string`."
            )
        if self.split is None or texts.shape.rank in (0, 1):
            return texts
        if isinstance(texts, tf.RaggedTensor) or texts.shape.rank is None or texts.shape[-1] != 1:
            raise ValueError(
                "When using `TextVectorization` to tokenize strings, the input rank must be 1 or the last "
                f"shape dimension must be 1. Received: inputs.shape={texts.shape} with "
                f"rank={texts.shape.rank}"
            )
        return tf.squeeze(texts, axis=-1)

    def _tokens(self, texts: Any) -> Any:
        """Returns the tokens of strings."""
        tokens = split(standardized(texts, self.standardize), self.split)
        if self.ngrams is None:
            return tokens
        sizes = _sizes(self.ngrams)
        if is_integer(self.ngrams):
            # An integer means all lengths up to it, a tuple only these lengths.
            sizes = list(range(1, sizes[0] + 1))
        return tf.strings.ngrams(tokens, ngram_width=sizes, separator=" ")

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Returns the shape of the outputs for inputs of a shape."""
        shape = tuple(input_shape)
        if self.split is not None:
            shape = (*(shape[:-1] if len(shape) > 1 else shape), None)
        elif self.ngrams is not None and shape:
            shape = (*shape[:-1], None)
        if self.output_mode != "int":
            return self._lookup_layer.compute_output_shape(shape)
        length = self.output_sequence_length
        return shape if length is None else (*shape[:-1], None if self.ragged else length)

    def compute_output_spec(self, inputs: Any) -> Any:
        """Returns the outputs for symbolic inputs; only the size of vectors needs the vocabulary."""
        self._complete()
        shape = self.compute_output_shape(inputs.shape)
        splits = self.split is not None and len(inputs.shape) > 0
        if self.output_mode == "int":
            ragged = inputs.ragged or (splits and self.ragged)
            return KerasTensor(shape, "int64", sparse=inputs.sparse, ragged=ragged)
        tokens = KerasTensor(
            self._tokens_shape(inputs.shape), "string", ragged=inputs.ragged or splits
        )
        return self._lookup_layer.compute_output_spec(tokens)

    def _tokens_shape(self, shape: Any) -> Any:
        if self.split is None:
            return shape
        return (*(shape[:-1] if len(shape) > 1 else shape), None)

    # --- Files ----------------------------------------------------------------------------------------

    def save_own_variables(self, store: Any) -> None:
        """Stores nothing: the lookup inside stores the vocabulary."""

    def load_own_variables(self, store: Any) -> None:
        """Loads the weights of tokens, which Keras's files store here too."""
        if store:
            self._lookup_layer.load_own_variables(store)

    def _tfkit_keras_variables(self) -> dict[str, Any]:
        return self._lookup_layer._tfkit_keras_variables()

    def save_assets(self, dir_path: Any) -> None:
        """Writes the tokens to `vocabulary.txt`, one on each line, unless the configuration has them."""
        self._lookup_layer.save_assets(dir_path)

    def load_assets(self, dir_path: Any) -> None:
        """Reads the tokens that `save_assets` has written."""
        self._lookup_layer.load_assets(dir_path)

    def _load_asset(self, name: str, data: bytes) -> None:
        self._lookup_layer._load_asset(name, data)

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments, without a vocabulary that was adapted or read from a file."""
        lookup = self._lookup_layer
        return self._base_config() | {
            "max_tokens": lookup.max_tokens,
            "standardize": _saved(self.standardize),
            "split": _saved(self.split),
            "ngrams": self.ngrams,
            "output_mode": self.output_mode,
            "output_sequence_length": self.output_sequence_length,
            "pad_to_max_tokens": lookup.pad_to_max_tokens,
            "sparse": lookup.sparse,
            "ragged": self.ragged,
            **lookup._configured(),
            "encoding": lookup.encoding,
            "vocabulary_size": lookup._tfkit_known_size or self.vocabulary_size(),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        """Returns a layer. A path is not accepted as a vocabulary, because configurations come from files."""
        check_no_path(cls, config)
        return super().from_config(config)


def _sizes(ngrams: Any) -> list[Any]:
    return list(ngrams) if isinstance(ngrams, (tuple, list)) else [ngrams]


def _saved(value: Any) -> Any:
    """Returns a setting as data: a function by its name."""
    return serialization.serialize_keras_object(value) if callable(value) else value


def _with_rows(outputs: Any, texts: Any) -> Any:
    """Returns vectors with the number of strings in the shape, where a trace lost it in ragged tensors.

    `fit` looks up words ahead of a step only if it knows that there is a row for each string.
    """
    lost = (
        isinstance(outputs, tf.Tensor)
        and isinstance(texts, tf.Tensor)
        and not tf.executing_eagerly()
        and texts.shape.rank == 1
        and outputs.shape.rank == 2
        and outputs.shape[1] is not None
    )
    return tf.reshape(outputs, [tf.shape(texts)[0], outputs.shape[1]]) if lost else outputs


def _texts(batch: Any) -> Any:
    """Returns a batch as a tensor of strings."""
    if isinstance(batch, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
        return batch
    array = np.asarray(batch)
    return tf.convert_to_tensor(array) if array.size else tf.zeros(array.shape, tf.string)
