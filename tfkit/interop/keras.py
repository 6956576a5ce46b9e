"""Exchange with Keras: reads and writes its files without importing it."""

from tfkit.src.files.interop.keras import load_model as load_model
from tfkit.src.files.interop.keras import load_weights as load_weights
from tfkit.src.files.interop.keras import save_model as save_model
from tfkit.src.files.interop.keras import save_weights as save_weights
from tfkit.src.files.interop.keras_files import is_keras_file as is_keras_file
from tfkit.src.files.interop.keras_files import open_file as open_file
