"""SavedModels for inference: writing them, publishing them for TF Serving, and loading them."""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.export.archive import ExportArchive as ExportArchive
    from tfkit.src.export.endpoints import endpoint as endpoint
    from tfkit.src.export.examples import classify as classify
    from tfkit.src.export.examples import regress as regress
    from tfkit.src.export.loading import load as load
    from tfkit.src.export.serving import to_serving as to_serving
    from tfkit.src.export.verification import VerificationError as VerificationError

_later.offer(__name__)
