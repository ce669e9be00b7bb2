"""Predictions of any finished run: its folder opened again, its models, and what they say of new samples."""

from fl_runs.prediction.kept_run import KeptRun
from fl_runs.prediction.predicted import Predicted, predict

__all__ = ["KeptRun", "Predicted", "predict"]
