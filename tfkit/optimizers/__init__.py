import tensorflow as tf


class Optimizer(tf.Module):
    pass
