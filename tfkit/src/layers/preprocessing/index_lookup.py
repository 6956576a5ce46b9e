"""Tokens as indices into a vocabulary: what lookups of strings and of integers have in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import settings
from tfkit.src.errors.tracebacks import shortened
from tfkit.src.layers.preprocessing import vocabulary as vocabularies
from tfkit.src.layers.preprocessing.adapting import batches
from tfkit.src.layers.preprocessing.base import Preprocessing, check_mode
from tfkit.src.layers.preprocessing.encoding import encode, encoded_shape, encoded_spec
from tfkit.src.layers.preprocessing.entries import on_entries
from tfkit.src.layers.preprocessing.hashes import hashed, salt_of
from tfkit.src.layers.preprocessing.tables import Table
from tfkit.src.layers.preprocessing.token_counts import Counts, TokenCounts, counts_of
from tfkit.src.layers.preprocessing.vocabulary import Vocabulary
from tfkit.src.symbolic import tensors
from tfkit.src.symbolic.tensors import KerasTensor

MODES = ("int", "one_hot", "multi_hot", "count", "tf_idf")
_ASSET = "vocabulary.txt"
# In tables: a token that is out of vocabulary, and a masked one that no vector has a place for.
_UNKNOWN, _MASKED = -1, -2


class IndexLookup(Preprocessing):
    """A vocabulary, and tokens as their indices in it. `StringLookup` and `IntegerLookup` extend it.

    The vocabulary is data of the model, which its files hold. It is never changed: `adapt` and
    `set_vocabulary` put another one in its place, and programs that were traced with the old one are traced
    anew.

    Args:
        max_tokens: most tokens of the vocabulary, special ones included; `None` for any number.
        num_oov_indices: number of indices of tokens out of vocabulary.
        mask_token: token whose index is 0, and which vectors have no place for; `None` for none.
        oov_token: token that stands for those out of vocabulary, where indices become tokens.
        vocabulary_dtype: `"string"` or `"int64"`.
        vocabulary: list, array or tensor of tokens, or path of a text file with one on each line; `None`
            where `adapt` is to find them.
        idf_weights: with `"tf_idf"`, a float for each token of `vocabulary`.
        invert: whether indices become tokens.
        output_mode: `"int"`, `"one_hot"`, `"multi_hot"`, `"count"` or `"tf_idf"`.
        sparse: whether vectors come as a `tf.SparseTensor`.
        pad_to_max_tokens: whether vectors have `max_tokens` numbers, whatever the vocabulary's size.
        name: name of the layer; `None` for one that is made from the class's name.
        oov_method: how integers out of vocabulary are spread over several indices: `"floormod"` or
            `"farmhash"`.
        salt: integer, or two, the key of SipHash, in the place of FarmHash; `None` for none.
        **kwargs: arguments of every layer.
    """

    _not_read_in_calls = frozenset({"_frozen_size", "_counts", "_idf_of_file"})
    _assets_are_variables = True
    _set_by_files = ("_vocabulary", "_idf_of_file", "_static")

    def __init__(
        self,
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
        if num_oov_indices < 0:
            raise ValueError(
                "`num_oov_indices` must be greater than or equal to 0. "
                f"Received: num_oov_indices={num_oov_indices}"
            )
        if output_mode == "binary":
            output_mode = "multi_hot"
        if output_mode == "tf-idf":
            output_mode = "tf_idf"
        check_mode(self, output_mode, MODES, "output_mode")
        if invert and output_mode != "int":
            raise ValueError(
                "`output_mode` must be `'int'` when `invert` is true. "
                f"Received: output_mode={output_mode}"
            )
        if sparse and output_mode == "int":
            raise ValueError(
                "`sparse` may only be true if `output_mode` is `'one_hot'`, `'multi_hot'`, `'count'` or "
                f"`'tf_idf'`. Received: sparse={sparse} and output_mode={output_mode}"
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
        kwargs.pop("dtype", None)  # Of no effect, as in Keras.
        super().__init__(name=name, **kwargs)
        self.autocast = False
        self.max_tokens = max_tokens
        self.num_oov_indices = num_oov_indices
        self.mask_token = mask_token
        self.oov_token = oov_token
        self.vocabulary_dtype = vocabulary_dtype
        if vocabulary_dtype == "string" and self._text_encoding is None:
            self._text_encoding = "utf-8"
        self.invert = invert
        self.output_mode = output_mode
        self.sparse = sparse
        self.pad_to_max_tokens = pad_to_max_tokens
        self.oov_method = oov_method
        message = "The `salt` argument for `IndexLookup` can only be a tuple of 2 integers, or a single integer."
        self.salt = salt_of(salt, message)
        self.input_vocabulary: Any = None
        self.input_idf_weights: Any = None
        self._static = False
        self._vocabulary: Vocabulary | None = None
        self._counts: TokenCounts | None = None
        self._idf_of_file: np.ndarray | None = None
        self._frozen_size: int | None = None
        self._known_size = expected_size
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)
            if not isinstance(vocabulary, str):
                self.input_vocabulary = self.get_vocabulary(include_special_tokens=False)
                if idf_weights is not None:
                    self.input_idf_weights = np.asarray(idf_weights).tolist()
                if len(vocabulary) != len(self.input_vocabulary):  # As it was passed.
                    self.input_vocabulary = self._decoded(self._tokens_of(vocabulary))

    # --- What it is made of ---------------------------------------------------------------------------

    _text_encoding: str | None = None

    @property
    def dtype(self) -> str:
        """The dtype of the vocabulary."""
        return self.vocabulary_dtype

    @property
    def compute_dtype(self) -> str:
        """The dtype of the vocabulary."""
        return self.vocabulary_dtype

    @property
    def variable_dtype(self) -> str:
        """The dtype of the vocabulary."""
        return self.vocabulary_dtype

    @property
    def input_dtype(self) -> str:
        """The dtype of the inputs."""
        return "int64" if self.invert else self.vocabulary_dtype

    def _special_tokens(self) -> list[Any]:
        """The mask token, if it has an index, and one token out of vocabulary for each of their indices."""
        masks = [self.mask_token] * (self.mask_token is not None and self.output_mode == "int")
        return masks + [self.oov_token] * self.num_oov_indices

    def _tokens_of(self, values: Any) -> list[Any]:
        return vocabularies.tokens_of(values, self._text_encoding)

    def _decoded(self, tokens: list[Any]) -> list[Any]:
        encoding = self._text_encoding
        return list(tokens) if encoding is None else [token.decode(encoding) for token in tokens]

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """Returns the tokens by index.

        Args:
            include_special_tokens: whether the mask token and those out of vocabulary stand at the
                beginning, as their indices do.
        """
        tokens = self._decoded(self._vocabulary.tokens) if self._vocabulary else []
        return [*self._special_tokens(), *tokens] if include_special_tokens else tokens

    def vocabulary_size(self) -> int:
        """Returns the number of tokens, special ones included."""
        tokens = self._vocabulary.tokens if self._vocabulary else []
        return len(self._special_tokens()) + len(tokens)

    @property
    def _known_size(self) -> int | None:  # type: ignore[override]
        """The number of tokens, of a configuration as long as there is no vocabulary."""
        return self._expected_size if self._vocabulary is None else self.vocabulary_size()

    @_known_size.setter
    def _known_size(self, size: int | None) -> None:
        self._expected_size = size if (size or 0) > len(self._special_tokens()) else None

    @property
    def idf_weights(self) -> Any:
        """The weight of each index, with `output_mode="tf_idf"`; `None` where there is no vocabulary."""
        return self._vocabulary.idf_weights if self._vocabulary else None

    # --- Setting the vocabulary -----------------------------------------------------------------------

    @shortened
    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Sets the tokens.

        Args:
            vocabulary: list, array or tensor of tokens without repetitions, or path of a text file with one
                on each line. Special tokens are left out, or all of them stand at the beginning.
            idf_weights: with `output_mode="tf_idf"`, a float for each token of `vocabulary`.

        Raises:
            ValueError: for tokens that cannot be a vocabulary; the old one is kept then.
        """
        if self.output_mode != "tf_idf" and idf_weights is not None:
            raise ValueError(
                "`idf_weights` should only be set if output_mode is `'tf_idf'`. "
                f"Received: output_mode={self.output_mode} and idf_weights={idf_weights}"
            )
        if isinstance(vocabulary, str):
            tokens = vocabularies.read_file(vocabulary, self._text_encoding)
        else:
            tokens = self._tokens_of(vocabulary)
        if not tokens:
            raise ValueError(f"Cannot set an empty vocabulary. Received: vocabulary={vocabulary}")
        self._set(tokens, idf_weights)
        self.input_vocabulary = self.input_idf_weights = None
        self._static = True

    def _set(self, tokens: list[Any], idf_weights: Any = None) -> None:
        """Puts a vocabulary in its place, once all of it is checked."""
        special = self._tokens_of(self._special_tokens()) if self._special_tokens() else []
        begins = bool(special) and tokens[: len(special)] == special
        given = len(tokens)
        if begins:
            tokens = tokens[len(special) :]
        self._check_tokens(tokens, given if begins else 0)
        idf = None
        if self.output_mode == "tf_idf":
            idf = self._padded(np.asarray(idf_weights, "float32"), given, begins) if (
                idf_weights is not None
            ) else None
            if idf is None and self._idf_of_file is None:
                raise ValueError(
                    "When specifying the `vocabulary` argument, in TF-IDF output mode, the `idf_weights` "
                    "argument must also be provided."
                )
            idf = self._idf_of_file if idf is None else idf
        self._replace(Vocabulary(tokens, idf))

    def _replace(self, vocabulary: Vocabulary) -> None:
        size = len(self._special_tokens()) + len(vocabulary.tokens)
        fixed = self.output_mode != "int" and not self.pad_to_max_tokens
        if fixed and self._frozen_size is not None and size != self._frozen_size:
            raise RuntimeError(
                f"When using `output_mode={self.output_mode}` and `pad_to_max_tokens=False`, the vocabulary "
                f"size cannot be changed after the layer is called. Old vocab size is {self._frozen_size}, "
                f"new vocab size is {size}"
            )
        self._vocabulary = vocabulary
        self._idf_of_file = None

    def _check_tokens(self, tokens: list[Any], with_special: int) -> None:
        """Refuses tokens that repeat, special ones in wrong places, and too many."""
        if found := vocabularies.repeated(tokens):
            raise ValueError(
                "The passed vocabulary has at least one repeated term. Please uniquify your dataset. The "
                f"repeated terms are: {self._decoded(found)}"
            )
        reserved = {"mask": self.mask_token}
        if self.invert:
            reserved["OOV"] = self.oov_token
        for kind, token in reserved.items():
            if token is not None and (kept := self._tokens_of([token])[0]) in set(tokens):
                raise ValueError(
                    f"Found reserved {kind} token at unexpected location in `vocabulary`. Note that passed "
                    "`vocabulary` does not need to include the OOV and mask tokens. Either remove all mask "
                    "and OOV tokens, or include them only at the start of the vocabulary in precisely this "
                    f"order: {self._special_tokens()}. Received: {kind.lower()}_token={token} at vocabulary "
                    f"index {[tokens.index(kept)]}"
                )
        size = len(self._special_tokens()) + len(tokens)
        if self.max_tokens is not None and size > self.max_tokens:
            raise ValueError(
                "Attempted to set a vocabulary larger than the maximum vocab size. Received vocabulary size "
                f"is {size}; `max_tokens` is {self.max_tokens}."
            )

    def _padded(self, weights: np.ndarray, given: int, with_special: bool) -> np.ndarray:
        """The weight of each index: for special tokens the average, for places without a token 0."""
        if len(weights) != given:
            raise ValueError(
                "`idf_weights` must be the same length as vocabulary. len(idf_weights) is "
                f"{len(weights)}; len(vocabulary) is {given}"
            )
        if not with_special:
            average = np.average(weights) if len(weights) else 0.0
            front = np.full(len(self._special_tokens()), average, "float32")
            weights = np.concatenate([front, weights])
        if self.pad_to_max_tokens and self.max_tokens is not None:
            weights = np.pad(weights, (0, max(0, self.max_tokens - len(weights))))
        return weights.astype("float32")

    # --- Finding it in data ---------------------------------------------------------------------------

    @shortened
    def adapt(self, data: Any, steps: int | None = None) -> None:
        """Makes a vocabulary of the tokens in data: the most frequent first, of equal ones the greater.

        Data is read once, batch by batch. What is kept grows with the number of different tokens only.

        Args:
            data: an array, a tensor or a list; or batches: a `tf.data.Dataset`, a `PyDataset`, a list of
                arrays, any iterable. Of tuples `(x, y)` the first item counts.
            steps: number of batches to read; `None` for all. An array is one batch.

        Raises:
            ValueError: where the vocabulary was given. The old one is kept after any error.
        """
        self._check_may_adapt()
        counts = TokenCounts()
        for batch in batches(self, data, steps):
            counts.add(self._counts_of(batch))
        self._adopt(counts)

    def update_state(self, data: Any) -> None:
        """Counts the tokens of a batch; `finalize_state` makes a vocabulary of all of them."""
        self._check_may_adapt()
        self._counts = self._counts or TokenCounts()
        self._counts.add(self._counts_of(data))

    def finalize_state(self) -> None:
        """Makes a vocabulary of what `update_state` has counted."""
        if self._counts is not None:
            self._adopt(self._counts)
            self._counts = None

    def reset_state(self) -> None:
        """Forgets what `update_state` has counted, and a vocabulary that was made of data."""
        self._counts = None
        if not self._static:
            self._vocabulary = None

    def _check_may_adapt(self) -> None:
        if self._static:
            raise ValueError(
                f"Cannot adapt layer '{self.name}' after setting a static vocabulary via `vocabulary` "
                "argument or `set_vocabulary()` method."
            )

    def _counts_of(self, data: Any) -> Counts:
        return counts_of(self._as_tokens(data), self.output_mode == "tf_idf")

    def _adopt(self, counts: TokenCounts) -> None:
        """Makes a vocabulary of counts."""
        special = [token for token in (self.mask_token, self.oov_token) if token is not None]
        reserved = set(self._tokens_of(special))
        room = None
        if self.max_tokens is not None:
            room = self.max_tokens - len(self._special_tokens())
        tokens = counts.most_frequent(room, reserved)
        idf = None
        if self.output_mode == "tf_idf":
            documents = np.array([counts.documents[token] for token in tokens], "float64")
            weights = np.log(1 + counts.num_documents / (1 + documents))
            idf = self._padded(weights, len(tokens), with_special=False)
        self._replace(Vocabulary(tokens, idf))

    # --- Calls ----------------------------------------------------------------------------------------

    def call(self, inputs: Any) -> Any:
        """Returns the indices of tokens, or vectors; with `invert` the tokens of indices."""
        vocabulary = self._vocabulary
        if vocabulary is None:
            return self._without_vocabulary(inputs)
        if self.invert:
            return on_entries(_cast(inputs, tf.int64), lambda x: self._token_table(vocabulary).lookup(x))
        tokens = self._as_tokens(inputs)
        indices = on_entries(tokens, lambda x: self._indices(vocabulary, x))
        if self.output_mode == "int":
            return indices
        depth, dtype = self._depth(), settings.floatx()
        if self.output_mode != "tf_idf":
            return encode(indices, self.output_mode, depth, dtype, self.sparse)
        counts = encode(indices, "count", depth, dtype, self.sparse)
        weights = tf.constant(vocabulary.idf_weights, dtype)
        if isinstance(counts, tf.SparseTensor):
            return counts.with_values(counts.values * tf.gather(weights, counts.indices[:, -1]))
        return counts * weights

    def _indices(self, vocabulary: Vocabulary, tokens: tf.Tensor) -> tf.Tensor:
        """The indices of tokens, negative for those without."""
        indices = self._index_table(vocabulary).lookup(tokens)
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
            with tf.control_dependencies([tf.debugging.Assert(~tf.reduce_any(unknown), [found])]):
                return tf.identity(indices)
        if tokens.dtype == tf.string or self.oov_method == "farmhash":
            places = hashed(tokens, self.num_oov_indices, self.salt)
        else:
            places = tf.math.floormod(tokens, self.num_oov_indices)
        first = len(self._special_tokens()) - self.num_oov_indices
        return tf.where(unknown, first + places, indices)

    def _index_table(self, vocabulary: Vocabulary) -> Table:
        """Indices by token."""

        def make() -> Table:
            special = len(self._special_tokens())
            keys = list(vocabulary.tokens)
            values = np.arange(special, special + len(keys))
            if self.mask_token is not None:
                keys += self._tokens_of([self.mask_token])
                values = np.append(values, 0 if self.output_mode == "int" else _MASKED)
            default = special - 1 if self.num_oov_indices == 1 else _UNKNOWN
            dtype = self.vocabulary_dtype
            return Table(_vector(keys, dtype), _vector(values, "int64"), default)

        return vocabulary.table("indices", make)

    def _token_table(self, vocabulary: Vocabulary) -> Table:
        """Tokens by index."""

        def make() -> Table:
            text = self._text_encoding is not None
            unknown = (b"" if text else -1) if self.oov_token is None else self.oov_token
            tokens = [*self._tokens_of(self._special_tokens()), *vocabulary.tokens]
            values = _vector(tokens, self.vocabulary_dtype)
            keys = _vector(range(len(tokens)), "int64")
            return Table(keys, values, *self._tokens_of([unknown]))

        return vocabulary.table("tokens", make)

    def _as_tokens(self, data: Any) -> Any:
        """Data as a tensor of tokens.

        Raises:
            ValueError: for numbers where the vocabulary has texts, and the other way.
        """
        if not isinstance(data, (tf.Tensor, tf.RaggedTensor, tf.SparseTensor)):
            data = tf.convert_to_tensor(data)
        text = self.vocabulary_dtype == "string"
        if (data.dtype == tf.string) is not text and (text or data.dtype == tf.string):
            if not (isinstance(data, tf.Tensor) and 0 in data.shape):
                raise ValueError(
                    f"Layer '{self.path}' (of type {type(self).__name__}) takes "
                    f"{'texts' if text else 'integers'}. Received: a tensor of dtype {data.dtype.name}. "
                    f"Use `{'IntegerLookup' if text else 'StringLookup'}`, or turn it into "
                    f"{'texts with `tf.strings.as_string`' if text else 'numbers'}."
                )
            data = tf.zeros(data.shape, self.vocabulary_dtype)
        return data if text else _cast(data, tf.int64)

    def _depth(self) -> int | None:
        """The size of vectors; `None` where it is not known yet."""
        if self.pad_to_max_tokens:
            return self.max_tokens
        size = self._known_size
        if self._frozen_size is None:
            self._frozen_size = size
        return size

    def _without_vocabulary(self, inputs: Any) -> Any:
        """Outputs where a model is described before its vocabulary is loaded.

        Raises:
            RuntimeError: everywhere else.
        """
        if not tensors.is_described():
            mode = f"When using `output_mode={self.output_mode}` and `pad_to_max_tokens=False`, you"
            raise RuntimeError(
                f"Layer '{self.path}' (of type {type(self).__name__}) has no vocabulary. {mode} must set the "
                "layer's vocabulary before calling it. Either pass a `vocabulary` argument to the layer, or "
                "call `adapt` with some sample data."
            )
        return tensors.placeholder(self.compute_output_spec(tensors.specification(inputs)))

    def compute_output_shape(self, input_shape: Any) -> Any:
        """The shape of the outputs for inputs of a shape."""
        if self.output_mode == "int":
            return tuple(input_shape)
        return encoded_shape(input_shape, self.output_mode, self._depth())

    def compute_output_spec(self, inputs: Any) -> Any:
        """The outputs for symbolic inputs: known before the vocabulary is, but for the size of vectors."""
        self._tfkit.built = True
        if self.output_mode == "int":
            dtype = self.vocabulary_dtype if self.invert else "int64"
            return KerasTensor(inputs.shape, dtype, inputs.sparse, inputs.ragged)
        mode, depth = self.output_mode, self._depth()
        return encoded_spec(inputs, mode, depth, settings.floatx(), self.sparse)

    # --- Files ----------------------------------------------------------------------------------------

    def save_own_variables(self, store: Any) -> None:
        """Puts the vocabulary into `store`, as arrays."""
        if self._vocabulary is not None:
            store |= vocabularies.to_arrays(self._vocabulary.tokens, self._text_encoding is not None)
            if self._vocabulary.idf_weights is not None:
                store["idf_weights"] = self._vocabulary.idf_weights

    @shortened
    def load_own_variables(self, store: Any) -> None:
        """Takes the vocabulary that `save_own_variables` has stored, or weights alone, as Keras has them."""
        idf = store.get("idf_weights")
        if idf is not None and (self.output_mode != "tf_idf" or np.ndim(idf) != 1):
            raise ValueError(
                f"Expected weights of tokens with `output_mode='tf_idf'` only, in a vector. Received: an "
                f"array of shape {np.shape(idf)}, and output_mode={self.output_mode}"
            )
        if "vocabulary" not in store:
            if idf is not None and self._vocabulary is not None:
                self._replace(self._with_weights(self._vocabulary.tokens, idf))
            elif idf is not None:
                self._idf_of_file = np.asarray(idf, "float32")
            return
        tokens = vocabularies.from_arrays(store, self._text_encoding is not None)
        self._check_tokens(tokens, 0)
        self._replace(self._with_weights(tokens, idf))

    def _with_weights(self, tokens: list[Any], idf: Any) -> Vocabulary:
        """A vocabulary with weights of a file, which must be as many as there are indices."""
        size = len(self._special_tokens()) + len(tokens)
        if self.pad_to_max_tokens:
            size = self.max_tokens or size
        if (idf is None) is (self.output_mode == "tf_idf") or (idf is not None and len(idf) != size):
            found = "none" if idf is None else f"{len(idf)}"
            raise ValueError(
                f"Expected weights of tokens with `output_mode='tf_idf'` only, one for each of the {size} "
                f"indices. Received: {found}, with output_mode={self.output_mode}"
            )
        return Vocabulary(tokens, None if idf is None else np.asarray(idf, "float32"))

    def _keras_variables(self) -> dict[str, Any]:
        """What Keras's file has as arrays; the vocabulary is text there."""
        idf = self.idf_weights
        return {} if idf is None or self.input_vocabulary is not None else {"idf_weights": idf}

    def save_assets(self, dir_path: Any) -> None:
        """Writes the tokens to `vocabulary.txt`, one a line, unless the configuration has them."""
        if self.input_vocabulary is None:
            lines = vocabularies.to_lines(self.get_vocabulary(), self._text_encoding)
            (Path(dir_path) / _ASSET).write_bytes(lines)

    @shortened
    def load_assets(self, dir_path: Any) -> None:
        """Reads the tokens that `save_assets` has written."""
        if self.input_vocabulary is not None:
            return
        tokens = vocabularies.read_file(str(Path(dir_path) / _ASSET), self._text_encoding)
        special = self._tokens_of(self._special_tokens())
        if tokens[: len(special)] == special:
            tokens = tokens[len(special) :]
        if not tokens:  # It was not adapted.
            return
        if self._vocabulary is not None and tokens == self._vocabulary.tokens:
            return  # Keras has the vocabulary of `TextVectorization` twice.
        self._check_tokens(tokens, 0)
        self._replace(self._with_weights(tokens, self._idf_of_file))

    def get_config(self) -> dict[str, Any]:
        """Returns the constructor's arguments; a vocabulary that was found or read is no part of them."""
        return self._base_config() | {
            "invert": self.invert,
            "max_tokens": self.max_tokens,
            "num_oov_indices": self.num_oov_indices,
            "oov_token": self.oov_token,
            "mask_token": self.mask_token,
            "output_mode": self.output_mode,
            "sparse": self.sparse,
            "pad_to_max_tokens": self.pad_to_max_tokens,
            "vocabulary_dtype": self.vocabulary_dtype,
            "idf_weights": self.input_idf_weights,
            "vocabulary": self.input_vocabulary,
            "vocabulary_size": self._known_size,
            "oov_method": self.oov_method,
            "salt": self.salt,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Returns a layer. The path of a file is no vocabulary here: configurations come from files."""
        check_no_path(cls, config)
        return super().from_config(config)


def check_no_path(cls: type, config: dict[str, Any]) -> None:
    """Refuses a configuration that names a file, which whoever has written it could choose.

    Raises:
        ValueError: that says what to do.
    """
    if isinstance(config.get("vocabulary"), (str, bytes)):
        raise ValueError(
            f"The configuration of a {cls.__name__} names a file as its `vocabulary`, which is never opened. "
            f"Expected a list of tokens. Received: vocabulary={config['vocabulary']!r}. Make the layer in "
            "code, with `vocabulary=path`, or call `layer.set_vocabulary(path)`: the model's file then holds "
            "the vocabulary itself."
        )


def _vector(values: Any, dtype: str) -> tf.Tensor:
    """Tokens or indices as a tensor."""
    items = values if isinstance(values, np.ndarray) else list(values)
    return tf.constant(items, dtype) if len(items) else tf.zeros([0], dtype)


def _cast(data: Any, dtype: tf.DType) -> Any:
    return data if data.dtype == dtype else tf.cast(data, dtype)
