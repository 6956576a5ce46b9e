"""Cuts texts into words and numbers them, as `tf.keras` does; `layers.TextVectorization` is the newer way."""

from tfkit.src.outer.legacy.texts import Tokenizer as Tokenizer
from tfkit.src.outer.legacy.texts import hashing_trick as hashing_trick
from tfkit.src.outer.legacy.texts import one_hot as one_hot
from tfkit.src.outer.legacy.texts import text_to_word_sequence as text_to_word_sequence
from tfkit.src.outer.legacy.texts import tokenizer_from_json as tokenizer_from_json
