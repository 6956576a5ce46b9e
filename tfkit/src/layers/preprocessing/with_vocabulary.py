"""The base of layers with a vocabulary: setting it, adapting it to data, reading and writing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tfkit.src.base import context
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.members import derived_property
from tfkit.src.layers.preprocessing import vocabulary as vocabularies
from tfkit.src.layers.preprocessing.adapting import batches, kept_on_error
from tfkit.src.layers.preprocessing.encoding import IndexEncoding
from tfkit.src.layers.preprocessing.token_counts import Counts, TokenCounts, counts_of
from tfkit.src.layers.preprocessing.vocabulary import Vocabulary

_ASSET = "vocabulary.txt"
# A file has more tokens, or longer ones, as an array: a configuration is limited, and takes 50 times as long.
_MOST_TOKENS, _MOST_BYTES = 1 << 18, 1 << 24


class WithVocabulary(IndexEncoding):
    """A layer that has a vocabulary, or none yet.

    A vocabulary is never changed: a new one replaces it, and programs that were traced with the old one
    are traced again.
    """

    _tfkit_not_read_in_calls = frozenset(
        {"_frozen_size", "_counts", "_idf_of_file", "_num_special_given", "_idf_given"}
    )
    _tfkit_assets_are_variables = True
    _tfkit_set_by_files = (
        *("_vocabulary", "_idf_of_file", "_static"),
        *("_num_special_given", "_idf_given"),
    )

    # Set by the constructor of `IndexLookup`.
    max_tokens: int | None
    num_oov_indices: int
    mask_token: Any
    oov_token: Any
    output_mode: str
    pad_to_max_tokens: bool
    invert: bool
    _text_encoding: str | None = None  # `None` for integers.

    def _begin(self, expected_size: int | None) -> None:
        """Starts without a vocabulary; a file may give the expected size."""
        self._num_special_given: int | None = None  # `None`: the configuration has no vocabulary.
        self._idf_given: np.ndarray | None = None
        self._static = False
        self._vocabulary: Vocabulary | None = None
        self._counts: TokenCounts | None = None
        self._idf_of_file: np.ndarray | None = None
        self._frozen_size: int | None = None
        self._tfkit_known_size = expected_size

    def _begin_with(self, vocabulary: Any, idf_weights: Any) -> None:
        """Starts with the constructor's vocabulary, which is in the configuration unless it is a file's."""
        self.set_vocabulary(vocabulary, idf_weights)
        if self._vocabulary and not isinstance(vocabulary, str):
            self._num_special_given = self._vocabulary.num_special
            self._idf_given = None if idf_weights is None else np.array(idf_weights)

    @derived_property
    def input_vocabulary(self) -> list[Any] | None:
        """The tokens that the constructor was given; `None` for none, those of a file, and replaced ones.

        They are made of the vocabulary: a list in an attribute would be searched for members at each save,
        and take its memory again.
        """
        if self._num_special_given is None or self._vocabulary is None:
            return None
        special = self._tokens_of(self._special_tokens()[: self._num_special_given])
        return self._decoded([*special, *self._vocabulary.tokens])

    @derived_property
    def input_idf_weights(self) -> list[Any] | None:
        """The weights that the constructor was given; `None` without an `input_vocabulary`."""
        return None if self._idf_given is None else self._idf_given.tolist()

    def _as_tokens(self, data: Any) -> Any:
        """Returns data as a tensor of tokens."""
        raise NotImplementedError

    def _special_tokens(self) -> list[Any]:
        """Returns the mask token, if it has an index, and the out-of-vocabulary token once per index."""
        masks = [self.mask_token] * (self.mask_token is not None and self.output_mode == "int")
        return masks + [self.oov_token] * self.num_oov_indices

    def _tokens_of(self, values: Any) -> list[Any]:
        return vocabularies.tokens_of(values, self._text_encoding)

    def _decoded(self, tokens: list[Any]) -> list[Any]:
        encoding = self._text_encoding
        return (
            list(tokens)
            if encoding is None
            else [token.decode(encoding, vocabularies.UNDECODABLE) for token in tokens]
        )

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """Returns the tokens by index.

        Args:
            include_special_tokens: whether the mask token and those out of vocabulary are at the
                beginning, as their indices do.
        """
        tokens = self._decoded(self._vocabulary.tokens) if self._vocabulary else []
        return [*self._special_tokens(), *tokens] if include_special_tokens else tokens

    def vocabulary_size(self) -> int:
        """Returns the number of tokens, special ones included."""
        tokens = self._vocabulary.tokens if self._vocabulary else []
        return len(self._special_tokens()) + len(tokens)

    @property
    def _tfkit_known_size(self) -> int | None:
        """The number of tokens; without a vocabulary, the number in the configuration."""
        return self._expected_size if self._vocabulary is None else self.vocabulary_size()

    @_tfkit_known_size.setter
    def _tfkit_known_size(self, size: int | None) -> None:
        self._expected_size = size if (size or 0) > len(self._special_tokens()) else None

    @property
    def idf_weights(self) -> Any:
        """The weight of each index, with `output_mode="tf_idf"`; `None` without a vocabulary."""
        return self._vocabulary.idf_weights if self._vocabulary else None

    # --- Setting the vocabulary -----------------------------------------------------------------------

    @shortened
    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Sets the tokens.

        Args:
            vocabulary: list, array or tensor of tokens without repetitions, or path of a text file with one
                on each line. Special tokens are left out, or all of them are at the beginning.
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
        self._num_special_given = self._idf_given = None
        self._static = True

    def _set(self, tokens: list[Any], idf_weights: Any) -> None:
        """Sets a vocabulary, after all of it is checked."""
        special = self._tokens_of(self._special_tokens()) if self._special_tokens() else []
        begins = bool(special) and tokens[: len(special)] == special
        given = len(tokens)
        if begins:
            tokens = tokens[len(special) :]
        self._check_tokens(tokens, given if begins else 0)
        idf = None
        if self.output_mode == "tf_idf":
            idf = (
                self._padded(np.asarray(idf_weights, "float32"), given, begins)
                if (idf_weights is not None)
                else None
            )
            if idf is None and self._idf_of_file is None:
                raise ValueError(
                    "When specifying the `vocabulary` argument, in TF-IDF output mode, the `idf_weights` "
                    "argument must also be provided."
                )
            idf = self._idf_of_file if idf is None else idf
        self._replace(Vocabulary(tokens, idf, len(special) if begins else 0))

    def _replace(self, vocabulary: Vocabulary) -> None:
        size = len(self._special_tokens()) + len(vocabulary.tokens)
        fixed = self.output_mode != "int" and not self.pad_to_max_tokens
        # Layers after this one have weights for the old size.
        if fixed and self._frozen_size is not None and size != self._frozen_size:
            raise RuntimeError(
                f"When using `output_mode={self.output_mode}` and `pad_to_max_tokens=False`, the vocabulary "
                f"size cannot be changed after the layer is called. Old vocab size is {self._frozen_size}, "
                f"new vocab size is {size}"
            )
        if self._vocabulary is None or vocabulary.tokens != self._vocabulary.tokens:
            self._num_special_given = self._idf_given = None
        self._vocabulary = vocabulary
        self._idf_of_file = None

    def _check_tokens(self, tokens: list[Any], with_special: int) -> None:
        """Raises an error for repeated tokens, special ones in wrong positions, and too many."""
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
        """Returns the weight of each index: for special tokens the average, for indices without a token 0."""
        if len(weights) != given:
            raise ValueError(
                "`idf_weights` must be the same length as vocabulary. len(idf_weights) is "
                f"{len(weights)}; len(vocabulary) is {given}"
            )
        if not with_special:
            # Unknown tokens count like an average one.
            average = np.average(weights) if len(weights) else 0.0
            front = np.full(len(self._special_tokens()), average, "float32")
            weights = np.concatenate([front, weights])
        if self.pad_to_max_tokens and self.max_tokens is not None:
            weights = np.pad(weights, (0, max(0, self.max_tokens - len(weights))))
        return weights.astype("float32")

    # --- Adapting it to data --------------------------------------------------------------------------

    @shortened
    def adapt(self, data: Any, steps: int | None = None) -> None:
        """Makes a vocabulary of the tokens in data: the most frequent first, ties in descending order.

        Data is read once, batch by batch. The memory grows with the number of different tokens only.

        Args:
            data: an array, a tensor or a list; or batches: a `tf.data.Dataset`, a `PyDataset`, a list of
                arrays, any iterable. Only the first item of tuples `(x, y)` is used.
            steps: number of batches to read; `None` for all. An array is one batch.

        Raises:
            ValueError: if the vocabulary was given. The old one is kept after any error.
        """
        self._check_may_adapt()
        with kept_on_error(self, "_vocabulary", "_counts"):
            self.reset_state()
            for batch in batches(self, data, steps):
                self.update_state(batch)
            self.finalize_state()

    def update_state(self, data: Any) -> None:
        """Counts the tokens of a batch; `finalize_state` makes a vocabulary of all of them."""
        self._check_may_adapt()
        self._add_counts(self._counts_of(data))

    def _add_counts(self, counts: Counts) -> None:
        self._counts = self._counts or TokenCounts()
        self._counts.add(counts)

    def finalize_state(self) -> None:
        """Makes a vocabulary of the counts of `update_state`."""
        if self._counts is not None:
            self._adopt(self._counts)
            self._counts = None

    def reset_state(self) -> None:
        """Discards the counts of `update_state`, and a vocabulary that was adapted."""
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
            # Smoothed inverse document frequency, as in Keras: a token of every document still has
            # a weight.
            weights = np.log(1 + counts.num_documents / (1 + documents))
            idf = self._padded(weights, len(tokens), with_special=False)
        self._replace(Vocabulary(tokens, idf))

    # --- Files ----------------------------------------------------------------------------------------

    def _is_large(self) -> bool:
        """Whether a file has the constructor's vocabulary as an array, like one that was adapted."""
        tokens = self._vocabulary.tokens if self._vocabulary else []
        is_text = self._text_encoding is not None
        size = sum(map(len, tokens)) if is_text else 0  # type: ignore[arg-type]
        return len(tokens) > _MOST_TOKENS or size > _MOST_BYTES

    def _configured(self) -> dict[str, Any]:
        """Returns the constructor's vocabulary and its weights for a configuration."""
        apart = context.current().for_file and self._is_large()
        given = (None, None) if apart else (self.input_idf_weights, self.input_vocabulary)
        return dict(zip(("idf_weights", "vocabulary"), given, strict=True))

    def save_own_variables(self, store: Any) -> None:
        """Stores the vocabulary in `store`, as arrays."""
        if self._vocabulary is not None:
            store |= vocabularies.to_arrays(
                self._vocabulary.tokens, self._text_encoding is not None
            )
            if self._vocabulary.idf_weights is not None:
                store["idf_weights"] = self._vocabulary.idf_weights

    @shortened
    def load_own_variables(self, store: Any) -> None:
        """Loads the vocabulary that `save_own_variables` has stored, or only weights, as of Keras's files."""
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
        """Returns a vocabulary with the weights of a file, which must have one for each index."""
        size = len(self._special_tokens()) + len(tokens)
        if self.pad_to_max_tokens:
            size = self.max_tokens or size
        if (idf is None) is (self.output_mode == "tf_idf") or (
            idf is not None and len(idf) != size
        ):
            found = "none" if idf is None else f"{len(idf)}"
            raise ValueError(
                f"Expected weights of tokens with `output_mode='tf_idf'` only, one for each of the {size} "
                f"indices. Received: {found}, with output_mode={self.output_mode}"
            )
        return Vocabulary(tokens, None if idf is None else np.asarray(idf, "float32"))

    def _tfkit_keras_variables(self) -> dict[str, Any]:
        """Returns the arrays of Keras's file, in which the vocabulary is text."""
        idf = self.idf_weights
        return {} if idf is None else {"idf_weights": idf}

    def save_assets(self, dir_path: Any) -> None:
        """Writes the tokens to `vocabulary.txt`, one on each line, unless the configuration has them."""
        if self._num_special_given is None or self._is_large():
            lines = vocabularies.to_lines(self.get_vocabulary(), self._text_encoding)
            (Path(dir_path) / _ASSET).write_bytes(lines)

    @shortened
    def load_assets(self, dir_path: Any) -> None:
        """Reads the tokens that `save_assets` has written."""
        if self._num_special_given is None:
            self._load_tokens(
                vocabularies.read_file(str(Path(dir_path) / _ASSET), self._text_encoding)
            )

    def _load_asset(self, name: str, data: bytes) -> None:
        """Reads the tokens from the text of `vocabulary.txt` in an archive, without making a file."""
        if name != _ASSET:
            raise ValueError(f"Expected the asset {_ASSET!r}. Received: {name!r}")
        if self._num_special_given is None:
            self._load_tokens(vocabularies.from_lines(data, self._text_encoding))

    def _load_tokens(self, tokens: list[Any]) -> None:
        special = self._tokens_of(self._special_tokens())
        if tokens[: len(special)] == special:
            tokens = tokens[len(special) :]
        if not tokens:  # It was not adapted.
            return
        if self._vocabulary is not None and tokens == self._vocabulary.tokens:
            return  # Keras stores the vocabulary of `TextVectorization` twice.
        self._check_tokens(tokens, 0)
        self._replace(self._with_weights(tokens, self._idf_of_file))
