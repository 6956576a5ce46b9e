"""`export_training`: a training run as a folder of files, for machines that have JAX and no TensorFlow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tfkit.src.base import packages
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.files.saving.atomic import atomic_folder
from tfkit.src.training.data import make_arrays
from tfkit.src.training.trainer import Trainer

_PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


@shortened
def export_training(
    model: Trainer,
    filepath: Any,
    x: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    batch_size: int = 32,
    platforms: Sequence[str] = ("cpu", "cuda", "tpu"),
) -> None:
    """Writes a folder that trains a model with JAX, on a machine without TensorFlow and tfkit.

    `python train.py --x x.npy --y y.npy --epochs 3`, in the folder, runs the epochs that `fit` would run
    under `compile(engine="jax")`: with the same losses, metrics, optimizer, draws and order of the rows. It
    prints the results of each epoch, and writes weights that `model.load_weights` reads. It needs Python, JAX
    and NumPy. The folder has the steps as a program of `jax.export`, the values as a safetensors file, the
    form of the data as JSON, and the script.

    Args:
        model: a compiled model; its `engine` does not matter.
        filepath: the folder, which does not exist yet.
        x: inputs, an array or a nest of arrays. Only their form counts: the data of the training has any
            number of rows.
        y: targets, likewise; `None` for none.
        sample_weight: weights of the samples, likewise; `None` for none.
        batch_size: rows of a step, which the script can change. Default: `32`.
        platforms: those that the program runs on, of `"cpu"`, `"cuda"`, `"rocm"` and `"tpu"`. Default:
            `("cpu", "cuda", "tpu")`.

    Raises:
        FileExistsError: if there is such a folder or file.
        ImportError: without JAX.
        NotImplementedError: for an operation that has no formula for JAX.
        TypeError: if `model` is not a model.
        ValueError: for what `compile(engine="jax")` refuses, a model that is not compiled, and
            unknown platforms. Nothing is written.

    Example:
        >>> import os, tempfile
        >>> model = tfkit.Sequential([tfkit.Input((4,)), tfkit.layers.Dense(1)])
        >>> model.compile("adam", loss="mse")
        >>> x, y = np.ones((8, 4), "float32"), np.ones((8, 1), "float32")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     try:
        ...         export_training(model, f"{folder}/training", x, y)
        ...         assert "train.py" in os.listdir(f"{folder}/training")
        ...     except ImportError:
        ...         pass  # JAX is not installed.
    """
    if not isinstance(model, Trainer):
        raise TypeError(
            f"`export_training` needs a model. Received: {model!r} (of type {type(model).__name__})"
        )
    model._tfkit_check_compiled("export_training")
    unknown = [it for it in platforms if it not in _PLATFORMS]
    if isinstance(platforms, str) or unknown or not platforms:
        raise ValueError(
            f"`platforms` must be a list of some of {list(_PLATFORMS)}. Received: {platforms!r}"
        )
    path = Path(filepath)
    if path.exists():
        raise FileExistsError(f"{path} exists. Choose a name for a new folder, or delete it first.")
    module = "tfkit.src.training.jax.program_file"
    writing = packages.imported(module, "`export_training`", "JAX", "'tfkit-dl[jax]'")
    data = make_arrays(x, y, sample_weight, batch_size)
    with atomic_folder(path) as folder:
        writing.write(model, folder, data, platforms)
