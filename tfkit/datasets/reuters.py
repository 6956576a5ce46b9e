"""Reuters: 11,228 short news in 46 topics."""

from tfkit.src.data.datasets.reuters import get_label_names as get_label_names
from tfkit.src.data.datasets.reuters import get_word_index as get_word_index
from tfkit.src.data.datasets.reuters import load_data as load_data
