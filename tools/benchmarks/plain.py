"""Training loops in plain TensorFlow, as lower bounds of the cost."""

import numpy as np

from benchmarks.lazily import tf


def glorot(*shape):
    """Returns a weight, uniform between the bounds of Glorot and Bengio (2010)."""
    receptive = int(np.prod(shape[:-2]))
    bound = (6 / (receptive * (shape[-2] + shape[-1]))) ** 0.5
    return tf.Variable(np.random.uniform(-bound, bound, shape).astype("float32"))


def constant(value, *shape):
    return tf.Variable(tf.fill(shape, float(value)))


def dense(fan_in, units):
    """Returns kernel and bias."""
    return [glorot(fan_in, units), constant(0, units)]


def class_loss(labels, logits):
    return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))


BATCH_SIZE = 32  # the default of `predict`


def in_batches(compute):
    """Returns a function that computes the rows in batches, as `predict` does, in a loop by hand."""

    def run(x):
        rows = tf.shape(x)[0]
        num_batches = (rows + BATCH_SIZE - 1) // BATCH_SIZE
        results = tf.TensorArray(tf.float32, num_batches, infer_shape=False)

        def step(index, results):
            start = index * BATCH_SIZE
            batch = x[start : tf.minimum(start + BATCH_SIZE, rows)]
            return index + 1, results.write(index, compute(batch))

        _, results = tf.while_loop(lambda index, _: index < num_batches, step, (0, results))
        return results.concat()

    return run


class Adam:
    """Kingma, Ba (2015), with the bias correction in the learning rate, as in section 2.

    Args:
        fused: whether TensorFlow's kernel for it updates the weights. It passes over memory once where
            the formula takes ten passes; XLA fuses the formula.
    """

    def __init__(self, weights, fused, rate=1e-3, beta_1=0.9, beta_2=0.999, epsilon=1e-7):
        self.weights = weights
        self.fused = fused
        self.numbers = rate, beta_1, beta_2, epsilon
        self.step = tf.Variable(0, dtype="int64")
        self.m = [tf.Variable(tf.zeros_like(weight)) for weight in weights]
        self.v = [tf.Variable(tf.zeros_like(weight)) for weight in weights]

    def update(self, gradients):
        rate, beta_1, beta_2, epsilon = self.numbers
        t = tf.cast(self.step.assign_add(1), "float32")
        power_1, power_2 = tf.pow(beta_1, t), tf.pow(beta_2, t)
        alpha = rate * tf.sqrt(1 - power_2) / (1 - power_1)
        for weight, m, v, g in zip(self.weights, self.m, self.v, gradients, strict=True):
            g = tf.convert_to_tensor(g)
            if self.fused:
                tf.raw_ops.ResourceApplyAdam(
                    var=weight.handle,
                    m=m.handle,
                    v=v.handle,
                    beta1_power=power_1,
                    beta2_power=power_2,
                    lr=rate,
                    beta1=beta_1,
                    beta2=beta_2,
                    epsilon=epsilon,
                    grad=g,
                )
            else:
                m.assign_add((g - m) * (1 - beta_1))
                v.assign_add((tf.square(g) - v) * (1 - beta_2))
                weight.assign_sub(alpha * m / (tf.sqrt(v) + epsilon))


class Loop:
    """Trains a model by hand.

    Args:
        model: has `weights`, a list of variables, and `loss(x, y, step)`.
        program: `"xla loop"`: all steps of an epoch in one XLA program; `"graph loop"`: no XLA;
            `"xla step"`: an XLA program for each step, called from a loop in TensorFlow.
        batch_size: rows a step.
    """

    def __init__(self, model, program, batch_size):
        self.model = model
        self.batch_size = batch_size
        self.adam = Adam(model.weights, fused=program == "graph loop")
        self.total = constant(0)
        self.step = tf.function(self._step, autograph=False, jit_compile=program == "xla step")
        self.steps = tf.function(self._steps, autograph=False, jit_compile=program == "xla loop")

    def fit(self, x, y):
        """Runs one epoch over arrays, in a new order; returns the mean loss."""
        order = tf.constant(np.random.permutation(len(x)))
        self.total.assign(0)
        full = len(x) // self.batch_size * self.batch_size
        self.steps(x, y, tf.reshape(order[:full], [-1, self.batch_size]))
        if full < len(x):
            self.steps(x, y, order[None, full:])
        return self.total.numpy() / len(x)

    def _steps(self, x, y, batches):
        def body(index):
            rows = batches[index]
            self.step(tf.gather(x, rows), tf.gather(y, rows))
            return [index + 1]

        count = batches.shape[0]
        tf.while_loop(lambda index: index < count, body, [0], parallel_iterations=1)

    def _step(self, x, y):
        with tf.GradientTape() as tape:
            loss = self.model.loss(x, y, self.adam.step)
        self.adam.update(tape.gradient(loss, self.model.weights))
        self.total.assign_add(loss * x.shape[0])
