"""A small language model: a character-level transformer that continues sentences of a made-up language.

    python language_model.py --epochs 4

Reference: Vaswani et al. (2017), "Attention is all you need".
"""

import argparse
import random

import numpy as np

import tfkit as keras
from tfkit import layers, ops

LENGTH = 40
SUBJECTS = ("the cat", "a dog", "my friend", "the old man", "nobody")
VERBS = ("sees", "likes", "follows", "paints", "forgets")
OBJECTS = ("the river", "a red house", "its shadow", "the long road", "a song")
LETTERS = sorted(set("".join((*SUBJECTS, *VERBS, *OBJECTS)) + " .^"))


def sentence(rng):
    return f"^{rng.choice(SUBJECTS)} {rng.choice(VERBS)} {rng.choice(OBJECTS)}."


def encode(text):
    """Returns the indices of the characters, padded with those of full stops."""
    return [LETTERS.index(letter) for letter in text.ljust(LENGTH, ".")]


def build_model(width=48, depth=2, heads=4):
    letters = keras.Input((LENGTH - 1,), dtype="int32")
    places = ops.arange(LENGTH - 1)
    x = layers.Embedding(len(LETTERS), width)(letters)
    x = x + layers.Embedding(LENGTH - 1, width)(places)
    for _ in range(depth):
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(heads, width // heads)(y, y, use_causal_mask=True)
        y = layers.LayerNormalization()(x)
        y = layers.Dense(4 * width, activation="gelu")(y)
        x = x + layers.Dense(width)(y)
    return keras.Model(letters, layers.Dense(len(LETTERS))(layers.LayerNormalization()(x)))


def continued(model, start, seed=0):
    """Returns `start` with the text that the model generates after it, up to a full stop."""
    rng = np.random.default_rng(seed)
    text = "^" + start
    while not text.endswith(".") and len(text) < LENGTH:
        numbers = np.array([encode(text)[: LENGTH - 1]])
        logits = np.asarray(model(numbers))[0, len(text) - 1]
        odds = np.exp(logits - logits.max())
        text += LETTERS[rng.choice(len(LETTERS), p=odds / odds.sum())]
    return text[1:]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--sentences", type=int, default=8000)
    parser.add_argument("--picture", default="language_model.png", help="file to draw")
    options = parser.parse_args(argv)

    keras.utils.set_random_seed(0)
    rng = random.Random(0)
    texts = np.array([encode(sentence(rng)) for _ in range(options.sentences)], "int32")
    model = build_model()
    model.compile(
        keras.optimizers.Adam(3e-3),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    history = model.fit(
        texts[:, :-1], texts[:, 1:], batch_size=64, epochs=options.epochs, verbose=2
    )
    for seed, start in enumerate(("the ", "a ", "nobody likes ", "")):
        print(f"{start!r} -> {continued(model, start, seed)!r}")
    history.plot()[0].figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return history["loss"], [continued(model, "the ", seed) for seed in range(5)]


if __name__ == "__main__":
    main()
