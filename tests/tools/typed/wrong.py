"""Sixteen mistakes; each line that has one says so. It is checked and never run."""

import numpy as np

import tfkit as keras

x, y = np.ones((8, 4)), np.ones((8, 1))

keras.layers.Dense(8, activaton="relu")  # wrong: a misspelled argument
keras.layers.Dense("8")  # wrong: a text for a number
keras.layers.Dense()  # wrong: an argument is missing
keras.layers.Conv2D(8, kernel=3)  # wrong: no such argument
keras.layers.Dropout(0.5, 1, 2, 3, 4)  # wrong: too many arguments
keras.layers.LSTM(8, return_sequence=True)  # wrong: a misspelled argument
keras.optimizers.Adam(1e-3, clip_norm=1.0)  # wrong: a misspelled argument
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(optimiser="adam")  # wrong: a misspelled argument
model.fit(x, y, epochs="3")  # wrong: a text for a number
count: int = model.predict(x)  # wrong: an array
keras.models.load_model("model.keras").fitt(x, y)  # wrong: no such method
keras.models.load_model("model.keras", compiled=False)  # wrong: no such argument
history = model.fit(x, y)
best: float = history.history  # wrong: a dict
model.compile(0.1)  # wrong: a number for an optimizer
keras.layers.Bidirectional(keras.layers.Dense(8))  # wrong: a layer that does not run over time
width: int = keras.layers.Dense.from_config({"units": 8})  # wrong: a layer
