"""Models: layers that can be trained, saved and exported."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.files.interop.formats import save_model as save_model
    from tfkit.src.training.models.clone import clone_model as clone_model
    from tfkit.src.training.models.loading import load_model as load_model
    from tfkit.src.training.models.loading import model_from_json as model_from_json
    from tfkit.src.training.models.model import Functional as Functional
    from tfkit.src.training.models.model import Model as Model
    from tfkit.src.training.models.sequential import Sequential as Sequential

_later.offer(__name__)
