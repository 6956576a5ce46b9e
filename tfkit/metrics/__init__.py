from tfkit.metrics.base import Metric as Metric
