"""Callbacks: what runs at the milestones of `fit`, `evaluate` and `predict`."""

from tfkit.training.callbacks.backup_and_restore import BackupAndRestore as BackupAndRestore
from tfkit.training.callbacks.callback import Callback as Callback
from tfkit.training.callbacks.callback_list import CallbackList as CallbackList
from tfkit.training.callbacks.csv_logger import CSVLogger as CSVLogger
from tfkit.training.callbacks.early_stopping import EarlyStopping as EarlyStopping
from tfkit.training.callbacks.history import History as History
from tfkit.training.callbacks.lambda_callback import LambdaCallback as LambdaCallback
from tfkit.training.callbacks.learning_rate import LearningRateScheduler as LearningRateScheduler
from tfkit.training.callbacks.learning_rate import ReduceLROnPlateau as ReduceLROnPlateau
from tfkit.training.callbacks.model_checkpoint import ModelCheckpoint as ModelCheckpoint
from tfkit.training.callbacks.progbar_logger import ProgbarLogger as ProgbarLogger
from tfkit.training.callbacks.sparse_callback import SparseCallback as SparseCallback
from tfkit.training.callbacks.tensorboard import TensorBoard as TensorBoard
from tfkit.training.callbacks.terminate_on_nan import TerminateOnNaN as TerminateOnNaN
