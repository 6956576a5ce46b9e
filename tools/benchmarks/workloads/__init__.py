"""The workloads: each module has a `WORKLOAD` with a method `measure(framework, kind, quick)`."""

# Modules with their names in the table; trained ones with their batch size.
TRAINED = {
    "mlp": "MLP 16-32-32-10 (32)",
    "wide": "MLP 784-256-256-10 (128)",
    "vae": "guide's VAE, MNIST (64)",
    "cnn": "CNN 28x28, conv 32 + 64 (128)",
    "resnet": "ResNet-ish 32x32, 7 convs (32)",
    "lstm": "LSTM 64 units, 50 steps (64)",
    "gru": "GRU 64 units, 50 steps (64)",
    "transformer": "transformer, 2 blocks, d=128, T=64 (32)",
    "embedding": "Embedding 50000x32 + Dense (64x20)",
    "dropout": "10x[Dense 128 + Dropout], AUC (500)",
}
TITLES = TRAINED | {
    "predict": "MLP 64-32-32-1",
    "call": "direct call of one row",
    "loop": "loop with a `GradientTape`, no `tf.function`",
    "mirrored": "MirroredStrategy, 2 logical CPUs",
    "workers": "MultiWorkerMirroredStrategy, 2 processes",
    "files": "model of 200 MB, `.h5` and `.keras`",
    "export": "SavedModel of a transformer, 4 blocks",
    "images": "4 random layers, images of 64x64x3",
    "texts": "`TextVectorization`, a million strings",
    "imports": "import",
}
