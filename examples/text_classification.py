"""Classifies reviews as positive or negative, with a model that accepts strings.

    python text_classification.py --epochs 4

`TextVectorization` maps words to indices; the exported model contains it.
"""

import argparse
import random
import tempfile

import tfkit as keras
from tfkit import layers
import tensorflow as tf

GOOD = ("wonderful", "brilliant", "moving", "a joy", "worth every minute")
BAD = ("dull", "a waste of time", "badly acted", "far too long", "hard to watch")
THINGS = ("the film", "the plot", "the acting", "the music", "the ending", "the first hour")


def make_reviews(count, seed=0):
    """Returns texts of three clauses, and whether most of the clauses are positive."""
    rng = random.Random(seed)
    texts, labels = [], []
    for _ in range(count):
        praises = [rng.random() < 0.5 for _ in range(3)]
        parts = [
            f"{rng.choice(THINGS)} {rng.choice(('was', 'is', 'seemed'))} "
            f"{'not ' * (rng.random() < 0.2)}{rng.choice(GOOD if praise else BAD)}"
            for praise in praises
        ]
        positive = sum(
            ("not " in part) != praise for part, praise in zip(parts, praises, strict=True)
        )
        texts.append(". ".join(parts).capitalize() + "!")
        labels.append(float(positive >= 2))
    return texts, labels


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--reviews", type=int, default=8000)
    parser.add_argument("--picture", default="text_classification.png", help="file to draw")
    options = parser.parse_args(argv)

    keras.utils.set_random_seed(0)
    texts, labels = make_reviews(options.reviews)
    split = int(0.9 * len(texts))
    vectorize = layers.TextVectorization(max_tokens=200, ngrams=2, output_sequence_length=60)
    vectorize.adapt(tf.data.Dataset.from_tensor_slices(texts[:split]).batch(256))

    def dataset(part):
        """Returns batches of word indices: `tf.data` processes the strings while the model trains."""
        pairs = tf.data.Dataset.from_tensor_slices((texts[part], labels[part]))
        return pairs.batch(64).map(lambda text, label: (vectorize(text), label)).prefetch(2)

    model = keras.Sequential(
        [
            keras.Input((60,), dtype="int64"),
            layers.Embedding(vectorize.vocabulary_size(), 32),
            layers.Conv1D(32, 3, activation="relu"),
            layers.GlobalAveragePooling1D(),
            layers.Dense(32, activation="relu"),
            layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile("adam", loss="binary_crossentropy", metrics=["accuracy"])
    history = model.fit(
        dataset(slice(split)),
        validation_data=dataset(slice(split, None)),
        epochs=options.epochs,
        verbose=2,
    )
    _, accuracy = model.evaluate(dataset(slice(split, None)), verbose=0)

    strings = keras.Input((), dtype="string")
    whole = keras.Model(strings, model(vectorize(strings)))
    with tempfile.TemporaryDirectory() as folder:
        whole.export(folder, verbose=False)
        served = tf.saved_model.load(folder)
        examples = [
            "The film was wonderful. The plot is moving. The music was a joy!",
            "The acting was dull. The ending is hard to watch. The plot was far too long!",
        ]
        scores = [float(score) for score in served.serve(tf.constant(examples))[:, 0]]
    for text, score in zip(examples, scores, strict=True):
        print(f"{score:.2f}  {text}")
    print(f"Accuracy: {accuracy:.3f}")
    history.plot()[0].figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return accuracy, scores


if __name__ == "__main__":
    main()
