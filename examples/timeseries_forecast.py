"""Forecasts a time series with daily and weekly cycles six hours ahead, from the past two days.

    python timeseries_forecast.py --epochs 5

Prints the mean absolute error, and for comparison that of the value 24 hours earlier as the forecast.
"""

import argparse

import numpy as np
from matplotlib import pyplot

import tfkit as keras
from tfkit import layers

HOURS, AHEAD = 48, 6


def make_series(hours, seed=0):
    """Returns synthetic temperatures: two waves, a drift and noise."""
    rng = np.random.default_rng(seed)
    time = np.arange(hours)
    day = 5 * np.sin(2 * np.pi * time / 24)
    week = 3 * np.sin(2 * np.pi * time / (24 * 7) + 1)
    drift = np.cumsum(rng.normal(scale=0.05, size=hours))
    return (day + week + drift + rng.normal(scale=0.3, size=hours)).astype("float32")


def windows(series, shuffle):
    """Returns pairs of 48 hours and the value 6 hours after them."""
    return keras.utils.timeseries_dataset_from_array(
        series[:-AHEAD, None],
        series[HOURS + AHEAD - 1 :],
        sequence_length=HOURS,
        batch_size=64,
        shuffle=shuffle,
        seed=1,
    )


def build_model():
    return keras.Sequential(
        [
            keras.Input((HOURS, 1)),
            layers.GRU(24),
            layers.Dense(16, activation="relu"),
            layers.Dense(1),
        ]
    )


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--hours", type=int, default=8000)
    parser.add_argument("--picture", default="timeseries_forecast.png", help="file to draw")
    options = parser.parse_args(argv)

    keras.utils.set_random_seed(0)
    series = make_series(options.hours)
    split = int(0.8 * len(series))
    mean, deviation = series[:split].mean(), series[:split].std()
    scaled = (series - mean) / deviation
    model = build_model()
    model.compile(keras.optimizers.Adam(0.01), loss="mse", metrics=["mae"])
    model.fit(
        windows(scaled[:split], shuffle=True),
        validation_data=windows(scaled[split:], shuffle=False),
        epochs=options.epochs,
        verbose=2,
    )
    _, error = model.evaluate(windows(scaled[split:], shuffle=False), verbose=0)
    error *= deviation
    test = series[split:]
    naive = np.abs(test[HOURS + AHEAD - 1 :] - test[HOURS + AHEAD - 25 : -24]).mean()
    print(f"Error {AHEAD} hours ahead: {error:.2f} degrees; value of the day before: {naive:.2f}")
    forecast = model.predict(windows(scaled[split:], shuffle=False), verbose=0)[:, 0]
    figure, axis = pyplot.subplots(figsize=(8, 3.2), layout="constrained")
    axis.plot(test[HOURS + AHEAD - 1 :][:168], label="measured")
    axis.plot(forecast[:168] * deviation + mean, label=f"forecast {AHEAD} hours ahead")
    axis.set(xlabel="hour", ylabel="degrees")
    axis.legend()
    figure.savefig(options.picture, dpi=80)
    print(f"Picture: {options.picture}")
    return error, naive


if __name__ == "__main__":
    main()
