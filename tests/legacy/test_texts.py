"""`Tokenizer` and its functions, beside Keras's."""

import json

import numpy as np
import pytest
from keras._tf_keras.keras.preprocessing import text as oracle

from tfkit.preprocessing import text

TEXTS = ["The cat sat on the mat.", "A dog, a CAT;\tand the mat!", "", "wörd wörd-two_three"]
OPTIONS = [
    {},
    {"num_words": 4},
    {"num_words": 4, "oov_token": "<oov>"},
    {"char_level": True},
    {"lower": False, "filters": ".", "split": " "},
    {"split": "-", "filters": " "},
    {"analyzer": str.split, "oov_token": "?"},
    {"num_words": 3, "char_level": True, "oov_token": "?"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_tokenizer_gives_what_keras_gives(options):
    ours, theirs = text.Tokenizer(**options), oracle.Tokenizer(**options)
    for tokenizer in (ours, theirs):
        tokenizer.fit_on_texts(TEXTS)
        tokenizer.fit_on_texts([["A", "list", "of", "words"]])
    for name in (
        "word_index",
        "index_word",
        "word_counts",
        "word_docs",
        "index_docs",
        "document_count",
    ):
        assert getattr(ours, name) == getattr(theirs, name), name
    unseen = [*TEXTS, "an unseen dog", ["cat", "CAT"]]
    sequences = ours.texts_to_sequences(unseen)
    assert sequences == theirs.texts_to_sequences(unseen)
    numbers = [[1, 2, 99], [3, 0], []]
    assert ours.sequences_to_texts(numbers) == theirs.sequences_to_texts(numbers)
    for mode in ("binary", "count", "freq", "tfidf"):
        np.testing.assert_allclose(
            ours.texts_to_matrix(unseen, mode), theirs.texts_to_matrix(unseen, mode), rtol=1e-12
        )


def test_a_file_of_either_library_is_read_by_the_other():
    ours, theirs = text.Tokenizer(6, oov_token="?"), oracle.Tokenizer(6, oov_token="?")
    ours.fit_on_texts(TEXTS)
    theirs.fit_on_texts(TEXTS)
    assert json.loads(ours.to_json()) == json.loads(theirs.to_json())
    for read in (
        text.tokenizer_from_json(theirs.to_json()),
        oracle.tokenizer_from_json(ours.to_json()),
    ):
        assert read.texts_to_sequences(TEXTS) == ours.texts_to_sequences(TEXTS)
        assert (read.texts_to_matrix(TEXTS, "tfidf") == ours.texts_to_matrix(TEXTS, "tfidf")).all()


def test_functions_give_what_keras_gives():
    for one in TEXTS:
        assert text.text_to_word_sequence(one) == oracle.text_to_word_sequence(one)
        assert text.one_hot(one, 20) == oracle.one_hot(one, 20)
        assert text.hashing_trick(one, 9, "md5") == oracle.hashing_trick(one, 9, "md5")
    assert text.hashing_trick("a bc", 5, len) == [2, 3]


def test_errors_tell_what_was_expected():
    empty = text.Tokenizer()
    with pytest.raises(ValueError, match=r"Specify `num_words`, or call `fit_on_texts`"):
        empty.sequences_to_matrix([[1]])
    with pytest.raises(ValueError, match=r"needs counts"):
        text.Tokenizer(5).sequences_to_matrix([[1]], "tfidf")
    with pytest.raises(ValueError, match=r"binary, count, freq, tfidf.*mode='sum'"):
        text.Tokenizer(5).sequences_to_matrix([[1]], "sum")
    with pytest.raises(ValueError, match=r"a function or \"md5\""):
        text.hashing_trick("a", 5, "sha")
    with pytest.raises(TypeError, match="num_word"):
        text.Tokenizer(num_word=4)


def test_sequences_count_as_texts():
    tokenizer = text.Tokenizer(5)
    tokenizer.fit_on_sequences([[1, 2, 2], [2]])
    row = tokenizer.sequences_to_matrix([[2, 2]], "tfidf")[0]
    assert row[2] == pytest.approx((1 + np.log(2)) * np.log(1 + 2 / 3))
