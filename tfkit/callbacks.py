"""Callbacks, which run at the milestones of `fit`, `evaluate` and `predict`."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.training.callbacks.backup_and_restore import BackupAndRestore as BackupAndRestore
    from tfkit.src.training.callbacks.callback import Callback as Callback
    from tfkit.src.training.callbacks.callback_list import CallbackList as CallbackList
    from tfkit.src.training.callbacks.csv_logger import CSVLogger as CSVLogger
    from tfkit.src.training.callbacks.early_stopping import EarlyStopping as EarlyStopping
    from tfkit.src.training.callbacks.history import History as History
    from tfkit.src.training.callbacks.lambda_callback import LambdaCallback as LambdaCallback
    from tfkit.src.training.callbacks.learning_rate import (
        LearningRateScheduler as LearningRateScheduler,
    )
    from tfkit.src.training.callbacks.learning_rate import ReduceLROnPlateau as ReduceLROnPlateau
    from tfkit.src.training.callbacks.model_checkpoint import ModelCheckpoint as ModelCheckpoint
    from tfkit.src.training.callbacks.orbax_checkpoint import OrbaxCheckpoint as OrbaxCheckpoint
    from tfkit.src.training.callbacks.progbar_logger import ProgbarLogger as ProgbarLogger
    from tfkit.src.training.callbacks.remote_monitor import RemoteMonitor as RemoteMonitor
    from tfkit.src.training.callbacks.sparse_callback import SparseCallback as SparseCallback
    from tfkit.src.training.callbacks.swap_ema_weights import SwapEMAWeights as SwapEMAWeights
    from tfkit.src.training.callbacks.tensorboard import TensorBoard as TensorBoard
    from tfkit.src.training.callbacks.terminate_on_nan import TerminateOnNaN as TerminateOnNaN

_later.offer(__name__)
