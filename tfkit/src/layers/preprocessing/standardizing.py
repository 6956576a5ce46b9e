"""Standardizes text, and splits it into tokens."""

from __future__ import annotations

import re
import string
from collections.abc import Callable
from typing import Any

import tensorflow as tf

STANDARDIZE = ("lower_and_strip_punctuation", "lower", "strip_punctuation")
SPLIT = ("whitespace", "character")
_PUNCTUATION = f"[{re.escape(string.punctuation)}]"


def standardized(texts: Any, how: str | Callable[..., Any] | None) -> Any:
    """Returns strings in lower case (ASCII) or without ASCII punctuation, or the result of a function.

    Args:
        texts: tensor of strings.
        how: one of `STANDARDIZE`, a function of a tensor, or `None`.
    """
    if callable(how):
        return how(texts)
    if how in ("lower", "lower_and_strip_punctuation"):
        # Without an encoding, `lower` changes only ASCII letters, as in Keras.
        texts = tf.strings.lower(texts)
    if how in ("strip_punctuation", "lower_and_strip_punctuation"):
        texts = tf.strings.regex_replace(texts, _PUNCTUATION, "")
    return texts


def split(texts: Any, how: str | Callable[..., Any] | None) -> Any:
    """Returns the tokens of strings, ragged; for `None` the strings.

    Args:
        texts: tensor of strings.
        how: one of `SPLIT`, a function of a tensor, or `None`.
    """
    if callable(how):
        return how(texts)
    if how == "whitespace":
        return tf.strings.split(texts)
    return tf.strings.unicode_split(texts, "UTF-8") if how == "character" else texts
