"""The founding guide's last program: its autoencoder, on the digits, with the losses that it prints."""

import tfkit as keras
from tests.guide.vae import vae_class


def test_the_autoencoder_learns_as_in_the_guide(mnist, capsys):
    keras.utils.set_random_seed(0)
    (x_train, _), _ = mnist
    x_train = x_train.reshape(60000, 784).astype("float32") / 255

    vae = vae_class(keras)(784, 64, 32)
    optimizer = keras.optimizers.Adam(learning_rate=1e-3)
    vae.compile(optimizer, loss=keras.losses.MeanSquaredError())
    history = vae.fit(x_train, x_train, epochs=2, batch_size=64)

    printed = capsys.readouterr().out.splitlines()
    first, second = history.history["loss"]
    assert [line for line in printed if line.startswith("Epoch")] == ["Epoch 1/2", "Epoch 2/2"]
    bars = [line for line in printed if line.startswith("938/938 ")]
    assert [bar.rpartition("loss: ")[2] for bar in bars] == [f"{first:.4f}", f"{second:.4f}"]
    assert int(optimizer.iterations) == 2 * 938
    # The guide prints 0.0942 (its Keras showed a running mean) and 0.0677.
    assert 0.070 <= first <= 0.080
    assert 0.0670 <= second <= 0.0682
