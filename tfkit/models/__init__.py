"""Models: layers that can be trained, saved and exported."""

from tfkit.models.clone import clone_model as clone_model
from tfkit.models.model import Functional as Functional
from tfkit.models.model import Model as Model
from tfkit.models.sequential import Sequential as Sequential
from tfkit.registry import register_builtins
from tfkit.saving import load_model as load_model
from tfkit.saving import model_from_json as model_from_json
from tfkit.saving import save_model as save_model

register_builtins("models", [Functional, Sequential])
register_builtins("", [Functional, Sequential])
