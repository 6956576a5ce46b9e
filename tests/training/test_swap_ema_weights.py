import keras
import numpy as np
import pytest

import tfkit

pytestmark = pytest.mark.usefixtures("eager_keras")

X = np.arange(16, dtype="float32").reshape(8, 2) / 16
Y = X.sum(1, keepdims=True)


def train(library, **options):
    library.utils.set_random_seed(0)
    model = library.Sequential([library.Input((2,)), library.layers.Dense(1)])
    optimizer = library.optimizers.SGD(0.1, use_ema=True, ema_momentum=0.9)
    model.compile(optimizer, "mse")
    seen = []

    def see(*_):
        seen.append(model.get_weights()[0].ravel().tolist())

    callbacks = [
        library.callbacks.SwapEMAWeights(**options),
        library.callbacks.LambdaCallback(on_epoch_begin=see, on_epoch_end=see),
    ]
    history = model.fit(
        X,
        Y,
        epochs=3,
        batch_size=4,
        shuffle=False,
        validation_data=(X, Y),
        callbacks=callbacks,
        verbose=0,
    )
    see()
    swap = [library.callbacks.SwapEMAWeights()]
    losses = [model.evaluate(X, Y, verbose=0, callbacks=swap), *history.history["val_loss"]]
    outputs = model.predict(X, verbose=0, callbacks=swap)
    see()
    return seen, losses, outputs


@pytest.mark.parametrize("options", [{}, {"swap_on_epoch": True}], ids=str)
def test_swaps_as_keras_does(options):
    for ours, theirs in zip(train(tfkit, **options), train(keras, **options), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_an_error_puts_the_weights_back():
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
    model.compile(tfkit.optimizers.SGD(0.1, use_ema=True), "mse", run_eagerly=True)
    trained = []

    def fail(*_):
        raise ArithmeticError("stopped")

    callbacks = [
        tfkit.callbacks.LambdaCallback(
            on_test_begin=lambda logs: trained.extend(model.get_weights())
        ),
        tfkit.callbacks.SwapEMAWeights(),
    ]
    callbacks.append(tfkit.callbacks.LambdaCallback())
    callbacks[-1].on_test_batch_begin = fail
    with pytest.raises(ArithmeticError):
        model.fit(X, Y, validation_data=(X, Y), batch_size=2, verbose=0, callbacks=callbacks)
    for before, after in zip(trained, model.get_weights(), strict=True):
        np.testing.assert_array_equal(before, after)


def test_an_optimizer_without_averages():
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
    model.compile("sgd", "mse")
    before = model.get_weights()
    swap = tfkit.callbacks.SwapEMAWeights
    model_calls = [
        lambda: model.evaluate(X, Y, verbose=0, callbacks=[swap()]),
        lambda: model.predict(X, verbose=0, callbacks=[swap()]),
        lambda: model.fit(X, Y, verbose=0, callbacks=[swap(swap_on_epoch=True)]),
    ]
    for call in model_calls:
        with pytest.raises(ValueError, match=r"pass `use_ema=True` to it\. Received: SGD"):
            call()
    for old, new in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(old, new)


def test_a_model_without_trainable_weights_has_no_averages():
    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(1)])
    model.trainable = False
    model.compile(tfkit.optimizers.SGD(use_ema=True, ema_overwrite_frequency=1), "mse")
    before = model.get_weights()
    with pytest.warns(UserWarning, match="does not have any trainable weights|no trainable"):
        model.fit(X, Y, verbose=0, callbacks=[tfkit.callbacks.SwapEMAWeights()])
    assert int(model.optimizer.apply_gradients([])) == 0
    np.testing.assert_array_equal(model.get_weights()[0], before[0])
