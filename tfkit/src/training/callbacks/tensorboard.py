"""`TensorBoard`: writes results, weights and profiles as event files."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from tfkit.src.base.registry.constructors import with_checked_values
from tfkit.src.base.settings import image_data_format
from tfkit.src.files.saving.atomic import atomic_write, is_discarding
from tfkit.src.training.callbacks.callback import Logs
from tfkit.src.training.callbacks.learning_rate import learning_rates
from tfkit.src.training.callbacks.sparse_callback import SparseCallback
from tfkit.src.training.callbacks.summaries import (
    write_histogram,
    write_images,
    write_model,
    write_scalar,
)

if TYPE_CHECKING:
    from tfkit.src.training.models.model import Model


class TensorBoard(SparseCallback):
    """Writes event files that `tensorboard --logdir=<log_dir>` shows.

    Results of training are written to the folder `train`, results of validation to `validation`. With an
    `update_freq` other than `"epoch"`, summaries that a model writes with `tf.summary` in its own `call` are
    recorded, too, every `update_freq` steps.

    Args:
        log_dir: folder of the event files. Default: `"logs"`.
        histogram_freq: number of epochs from one histogram of the weights to the next; 0 for none.
            Default: `0`.
        write_graph: whether to write the structure of a Sequential or functional model. Default:
            `True`.
        write_images: whether to write the weights as images, together with the histograms. Default:
            `False`.
        write_steps_per_second: whether to write the number of training steps per second. Default:
            `False`.
        update_freq: `"epoch"`, `"batch"`, or the number of batches from one record of the running
            results to the next. Training returns to Python that often. Default: `"epoch"`.
        profile_batch: number of the batch to profile, or a pair of the first and the last of
            several; they count from 1, over all epochs. 0 for none. Default: `0`.
        embeddings_freq: number of epochs from one record of the weights of embedding layers to the
            next; 0 for none. Default: `0`.
        embeddings_metadata: file with a label for each row of an embedding, or a dict from names of
            layers to such files; `None` for none.

    Raises:
        ValueError: if a number or a pair is out of range, or if there is metadata for a layer that
            the model does not have.

    Example:
        ```python
        model.fit(x, y, epochs=5, callbacks=[TensorBoard("logs", histogram_freq=1)])
        ```
    """

    takes_tensors = True  # Operations write summaries, and need not wait for the results.

    @with_checked_values
    def __init__(
        self,
        log_dir: str | os.PathLike[str] = "logs",
        histogram_freq: int = 0,
        write_graph: bool = True,
        write_images: bool = False,
        write_steps_per_second: bool = False,
        update_freq: str | int = "epoch",
        profile_batch: int | str | tuple[int, int] = 0,
        embeddings_freq: int = 0,
        embeddings_metadata: str | dict[str, str] | None = None,
    ) -> None:
        super().__init__()
        if write_images and not histogram_freq:
            raise ValueError(
                "`write_images` writes along with the histograms. Pass `histogram_freq=1` too. "
                "Received: histogram_freq=0"
            )
        if embeddings_metadata and not embeddings_freq:
            raise ValueError(
                "`embeddings_metadata` belongs to recorded embeddings. Pass `embeddings_freq=1` "
                "too. Received: embeddings_freq=0"
            )
        self.log_dir = os.fspath(log_dir)
        self.histogram_freq = histogram_freq
        self.write_graph = write_graph
        self.write_images = write_images
        self.write_steps_per_second = write_steps_per_second
        self.update_freq = _steps_between(update_freq)
        self.embeddings_freq = embeddings_freq
        self.embeddings_metadata = embeddings_metadata
        self._first_profiled, self._last_profiled = _profiled_steps(profile_batch)
        self._profiling = False
        self._in_fit = False
        self._steps = 0  # training steps of this `fit`, over all epochs
        self._epoch_start = (0, 0.0)  # (steps, time)
        self._chunk_start = 0.0
        self._writers: dict[str, Any] = {}
        self._recording = contextlib.ExitStack()

    def set_model(self, model: Model) -> None:
        """Writes the structure of the model."""
        super().set_model(model)
        if self.write_graph and type(model).__name__ in ("Sequential", "Functional"):
            with self._writer("train").as_default():
                write_model("keras", model.to_json(), step=0)
        if self.embeddings_freq:
            self._configure_embeddings()

    def get_state(self) -> dict[str, Any]:
        """Returns the number of steps, which is the x-axis of results of batches."""
        return {"steps": self._steps}

    def set_state(self, state: dict[str, Any]) -> None:
        """Restores a state that `get_state()` returned."""
        self._steps = state["steps"]
        self._epoch_start = (self._steps, time.time())

    # --- Between programs -----------------------------------------------------------------------

    def chunk_limit(self, next_batch_index: int) -> int | None:
        """Returns the number of steps up to the next record, or to the end of the profile."""
        limits = []
        if self.update_freq is not None:
            limits.append(self.update_freq - self._steps % self.update_freq)
        # A profile starts after the step before its first one.
        for edge in (self._first_profiled - 1, self._last_profiled):
            if edge > self._steps:
                limits.append(edge - self._steps)
        return min(limits, default=None)

    def wants_logs(self, num_steps: int) -> bool:
        """Returns whether it records the running results then."""
        return self.update_freq is not None and (self._steps + num_steps) % self.update_freq == 0

    def on_train_begin(self, logs: Logs | None = None) -> None:
        """Starts counting steps."""
        self._in_fit = True
        self._steps = 0
        self._record_summaries("train")
        self._profile()

    def on_epoch_begin(self, epoch: int, logs: Logs | None = None) -> None:
        """Starts the clock."""
        self._chunk_start = time.time()
        self._epoch_start = (self._steps, self._chunk_start)

    def on_train_steps_end(
        self, last_batch_index: int, num_steps: int, logs: Logs | None = None
    ) -> None:
        """Writes the running results if they are due, and starts or ends the profile."""
        due = self.wants_logs(num_steps)
        self._steps += num_steps
        now = time.time()
        if due:
            with self._writer("train").as_default():
                for name, value in (logs or {}).items():
                    write_scalar(f"batch_{name}", value, self._steps)
                if self.write_steps_per_second:
                    rate = num_steps / (now - self._chunk_start)
                    write_scalar("batch_steps_per_second", rate, self._steps)
        self._chunk_start = now
        self._profile()

    # --- Epochs and evaluations -----------------------------------------------------------------

    def on_epoch_end(self, epoch: int, logs: Logs | None = None) -> None:
        """Writes the results, and weights and embeddings if they are due."""
        results = {"train": {}, "validation": {}}  # type: dict[str, Logs]
        for name, value in (logs or {}).items():
            folder = "validation" if name.startswith("val_") else "train"
            results[folder][name.removeprefix("val_")] = value
        if logs:
            results["train"].update(learning_rates(self.model.optimizer))
            if self.write_steps_per_second:
                first_step, start = self._epoch_start
                rate = (self._steps - first_step) / (time.time() - start)
                results["train"]["steps_per_second"] = rate
        for folder, values in results.items():
            if values:
                with self._writer(folder).as_default():
                    for name, value in values.items():
                        write_scalar(f"epoch_{name}", value, epoch)
        if self.histogram_freq and epoch % self.histogram_freq == 0:
            self._write_weights(epoch)
        if self.embeddings_freq and epoch % self.embeddings_freq == 0:
            self._write_embeddings()
        self._flush()

    def on_train_end(self, logs: Logs | None = None) -> None:
        """Ends a profile that is still running."""
        self._in_fit = False
        self._recording.close()
        if self._profiling:
            self._end_profile(self._steps)
        self._flush()

    def _abandon(self) -> None:
        """Cleans up after an error has ended a training run."""
        self.on_train_end()

    def on_test_begin(self, logs: Logs | None = None) -> None:
        """Directs the model's own summaries to the validation folder."""
        self._record_summaries("validation")

    def on_test_end(self, logs: Logs | None = None) -> None:
        """Writes the results at the current number of training steps."""
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            with self._writer("validation").as_default():
                for name, value in (logs or {}).items():
                    write_scalar(f"evaluation_{name}_vs_iterations", value, optimizer.iterations)
        if self._in_fit:
            self._record_summaries("train")
        else:
            self._recording.close()
        self._flush()

    # --- Writers --------------------------------------------------------------------------------

    def _writer(self, folder: str) -> Any:
        """Returns the writer of a folder; it makes its file when something is written first."""
        if folder not in self._writers:
            path = os.path.join(self.log_dir, folder)
            noop = is_discarding()
            self._writers[folder] = (
                tf.summary.create_noop_writer() if noop else tf.summary.create_file_writer(path)
            )
        return self._writers[folder]

    def _flush(self) -> None:
        # The writers stay open, because a compiled program that a later `fit` runs again holds them.
        for writer in self._writers.values():
            writer.flush()

    def _record_summaries(self, folder: str) -> None:
        """Directs `tf.summary` calls in the model to `folder`, every `update_freq` steps."""
        self._recording.close()
        if self.update_freq is None or getattr(self.model, "optimizer", None) is None:
            return
        freq, iterations = self.update_freq, self.model.optimizer.iterations
        # A tensor instead of a number, because the condition is part of the compiled program.
        is_due = lambda: tf.equal(iterations % freq, 0)  # noqa: E731
        self._recording.enter_context(self._writer(folder).as_default(iterations))
        self._recording.enter_context(tf.summary.record_if(is_due))

    # --- Profile --------------------------------------------------------------------------------

    def _profile(self) -> None:
        if self._first_profiled == 0:
            return
        if not self._profiling and self._first_profiled - 1 <= self._steps < self._last_profiled:
            tf.summary.trace_on(graph=True)
            tf.profiler.experimental.start(os.path.join(self.log_dir, "train"))
            self._profiling = True
        elif self._profiling and self._steps >= self._last_profiled:
            self._end_profile(self._last_profiled)

    def _end_profile(self, step: int) -> None:
        self._profiling = False
        with self._writer("train").as_default():
            tf.summary.trace_export(f"batch_{step}", step)
        tf.profiler.experimental.stop()

    # --- Weights --------------------------------------------------------------------------------

    def _write_weights(self, epoch: int) -> None:
        with self._writer("train").as_default():
            for layer in self.model.layers:
                for weight in layer.weights:
                    name = getattr(weight, "path", weight.name).replace(":", "_")
                    write_histogram(f"{name}/histogram", weight, epoch)
                    image = _as_images(np.asarray(weight)) if self.write_images else None
                    if image is not None:
                        write_images(f"{name}/image", image, epoch)

    def _embeddings(self) -> dict[str, Any]:
        """Returns the weights of the embedding layers, by the layer's name."""
        return {
            layer.name: layer.embeddings
            for layer in self.model.layers
            if hasattr(layer, "embeddings")
        }

    def _configure_embeddings(self) -> None:
        """Writes a config file that lists the embeddings for TensorBoard's projector."""
        names = list(self._embeddings())
        metadata = self.embeddings_metadata or {}
        if isinstance(metadata, str):
            metadata = dict.fromkeys(names, metadata)
        unknown = sorted(set(metadata) - set(names))
        if unknown:
            raise ValueError(
                f"`embeddings_metadata` names layers that are not embedding layers of the model. "
                f"Expected names among {names}. Received: {unknown}"
            )
        lines = []
        for name in names:
            lines += ["embeddings {", f'  tensor_name: "{name}"', f'  tensor_path: "{name}.tsv"']
            if name in metadata:
                lines.append(f'  metadata_path: "{metadata[name]}"')
            lines.append("}")
        os.makedirs(self.log_dir, exist_ok=True)
        with atomic_write(os.path.join(self.log_dir, "projector_config.pbtxt")) as file:
            file.write_text("\n".join(lines) + "\n")

    def _write_embeddings(self) -> None:
        for name, embeddings in self._embeddings().items():
            with atomic_write(os.path.join(self.log_dir, f"{name}.tsv")) as file:
                np.savetxt(file, np.asarray(embeddings), delimiter="\t")


def _steps_between(update_freq: str | int) -> int | None:
    """Returns the number of steps between records; `None` for epochs."""
    if update_freq == "epoch":
        return None
    if update_freq == "batch":
        return 1
    if isinstance(update_freq, int) and update_freq > 0:
        return update_freq
    raise ValueError(
        "`update_freq` must be 'epoch', 'batch' or a positive number of batches. "
        f"Received: update_freq={update_freq!r}"
    )


def _profiled_steps(profile_batch: int | str | tuple[int, int]) -> tuple[int, int]:
    """Returns the first and the last step to profile; both are 0 for none."""
    parts: Any = profile_batch
    if isinstance(profile_batch, str):
        parts = [int(part) for part in profile_batch.split(",")]
    elif isinstance(profile_batch, int):
        parts = [profile_batch]
    first, last = parts[0], parts[-1]
    if len(parts) > 2 or first < 0 or last < first or (first == 0 and last != 0):
        raise ValueError(
            "`profile_batch` must be 0, the number of a batch, or the first and the last of "
            f"several. Received: profile_batch={profile_batch!r}"
        )
    return first, last


def _as_images(weight: np.ndarray) -> np.ndarray | None:
    """Returns a weight as images `(images, height, width, channels)`; `None` if its shape is not suitable."""
    if weight.ndim == 1:
        images = weight[None, :, None, None]
    elif weight.ndim == 2:
        wide = weight.T if weight.shape[0] > weight.shape[1] else weight
        images = wide[None, :, :, None]
    elif weight.ndim == 3:
        by_kernel = weight.transpose(2, 0, 1) if image_data_format() == "channels_last" else weight
        images = by_kernel[:, :, :, None]
    else:
        images = weight
    return images if images.ndim == 4 and images.shape[-1] in (1, 3, 4) else None
