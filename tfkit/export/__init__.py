"""SavedModels for inference: what is exported, how TF Serving gets it, and how it comes back."""

from tfkit.export.archive import ExportArchive as ExportArchive
from tfkit.export.endpoints import endpoint as endpoint
from tfkit.export.examples import classify as classify
from tfkit.export.examples import regress as regress
from tfkit.export.loading import load as load
from tfkit.export.serving import to_serving as to_serving
from tfkit.export.verification import VerificationError as VerificationError
