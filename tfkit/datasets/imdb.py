"""IMDB: 50,000 reviews of films, positive and negative."""

from tfkit.src.data.datasets.imdb import get_word_index as get_word_index
from tfkit.src.data.datasets.imdb import load_data as load_data
