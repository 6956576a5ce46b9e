"""Predicts from tabular data with numbers, words and codes who takes out insurance.

    python structured_data.py --epochs 10

A `FeatureSpace` prepares each column with a layer that adapts to the data: means, vocabularies, bins.
"""

import argparse

import numpy as np
from matplotlib import pyplot

import tfkit as keras
from tfkit import layers
import tensorflow as tf

JOBS = np.array(["teacher", "driver", "nurse", "engineer", "farmer", "retired"])


def make_table(count, seed=0):
    """Returns the columns of a table, and labels that depend on all columns but one."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": rng.integers(18, 90, count).astype("float32"),
        "income": rng.lognormal(10, 0.5, count).astype("float32"),
        "job": rng.choice(JOBS, count),
        "region": rng.integers(1, 40, count) * 25,
        "shoe_size": rng.normal(41, 3, count).astype("float32"),
    }
    score = (
        1.5 * np.sin(columns["age"] / 12)
        + np.log(columns["income"])
        - 10
        + np.where(np.isin(columns["job"], JOBS[:3]), 1.0, -1.0)
        + np.where(columns["region"] % 75 == 0, 1.5, -0.7)
    )
    return columns, (score + rng.logistic(scale=0.3, size=count) > 0).astype("float32")


def build_model(table):
    """Returns a model that accepts the raw columns."""
    space = keras.utils.FeatureSpace(
        {
            "income": "float_normalized",
            "shoe_size": "float_normalized",
            "age": keras.utils.FeatureSpace.float_discretized(num_bins=12),
            "job": "string_categorical",
            "region": "integer_categorical",
        }
    )
    space.adapt(table)
    x = space.get_encoded_features()
    x = layers.Dense(32, activation="relu")(x)
    x = layers.Dropout(0.2)(x)
    return keras.Model(space.get_inputs(), layers.Dense(1, activation="sigmoid")(x))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--rows", type=int, default=10000)
    parser.add_argument("--picture", default="structured_data.png", help="file to draw")
    options = parser.parse_args(argv)

    keras.utils.set_random_seed(0)
    table, labels = make_table(options.rows)
    split = int(0.8 * options.rows)
    model = build_model({name: values[:split] for name, values in table.items()})
    model.compile("adam", loss="binary_crossentropy", metrics=["accuracy"])

    def dataset(rows):
        columns = {name: values[rows, None] for name, values in table.items()}
        return tf.data.Dataset.from_tensor_slices((columns, labels[rows])).batch(64)

    model.fit(dataset(slice(split)), epochs=options.epochs, verbose=2)
    _, accuracy = model.evaluate(dataset(slice(split, None)), verbose=0)
    common = max(labels[split:].mean(), 1 - labels[split:].mean())
    print(f"Accuracy: {accuracy:.3f}; always answering the more common label: {common:.3f}")
    predicted = model.predict(dataset(slice(split, None)), verbose=0)[:, 0]
    decades = table["age"][split:] // 10
    figure, axis = pyplot.subplots(figsize=(5, 3.2), layout="constrained")
    for name, values in {"in the data": labels[split:], "predicted": predicted}.items():
        shares = [values[decades == decade].mean() for decade in np.unique(decades)]
        axis.plot(np.unique(decades) * 10 + 5, shares, marker=".", label=name)
    axis.set(xlabel="age", ylabel="share with insurance")
    axis.legend()
    figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return accuracy, common


if __name__ == "__main__":
    main()
