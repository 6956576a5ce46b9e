"""Sentences of different lengths in one batch: the mask of an `Embedding` tells an `LSTM` where each ends.

The data are synthetic: sentences of words and negations. A sentence is good if its last word is good; each
"not" directly before that word reverses this. Only the words count, not the zeros that pad short sentences.
"""

from __future__ import annotations

import argparse

import numpy as np

import tfkit as keras

PADDING, NOT = 0, 1
GOOD, BAD = range(2, 12), range(12, 22)
VOCABULARY = 22


def make_sentences(count: int, seed: int, longest: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Returns sentences as integers, padded with zeros, and for each whether it is good."""
    draws = np.random.default_rng(seed)
    sentences = np.full((count, longest), PADDING, "int32")
    labels = np.zeros((count, 1), "float32")
    for sentence, label in zip(sentences, labels, strict=True):
        size = draws.integers(2, longest + 1)
        sentence[:size] = np.where(
            draws.random(size) < 0.3, NOT, draws.integers(2, VOCABULARY, size)
        )
        sentence[size - 1] = draws.integers(2, VOCABULARY)
        negations = 0
        for word in sentence[size - 2 :: -1]:
            if word != NOT:
                break
            negations += 1
        label[0] = (sentence[size - 1] in GOOD) ^ (negations % 2)
    return sentences, labels


def build_model() -> keras.Model:
    words = keras.Input((None,), dtype="int32", name="words")
    x = keras.layers.Embedding(VOCABULARY, 16, mask_zero=True)(words)
    x = keras.layers.LSTM(32)(x)
    outputs = keras.layers.Dense(1, activation="sigmoid", name="good")(x)
    model = keras.Model(words, outputs, name="sentiment")
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
    return model


def main(arguments: list[str] | None = None) -> float:
    """Trains the model and returns its accuracy on unseen sentences."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--sentences", type=int, default=8000)
    parser.add_argument("--picture", default="text_lstm_mask.png", help="file to draw")
    options = parser.parse_args(arguments)
    keras.utils.set_random_seed(0)
    model = build_model()
    model.summary()
    sentences, labels = make_sentences(options.sentences, seed=1)
    history = model.fit(sentences, labels, batch_size=64, epochs=options.epochs)
    unseen, truth = make_sentences(1000, seed=2)
    _, accuracy = model.evaluate(unseen, truth)
    longer = np.pad(unseen, [(0, 0), (0, 20)])
    difference = np.abs(model.predict(unseen, verbose=0) - model.predict(longer, verbose=0)).max()
    print(f"Accuracy on unseen sentences: {accuracy:.2%}")
    print(f"Twenty more zeros at the end change the predictions by {difference:.1e}")
    history.plot()[0].figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return accuracy


if __name__ == "__main__":
    main()
