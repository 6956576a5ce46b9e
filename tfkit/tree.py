"""Nests of lists, tuples and dicts: visiting, flattening, rebuilding.

Dicts go by sorted key, an `OrderedDict` goes in its own order.
"""

from typing import TYPE_CHECKING

from tfkit.src.base import later as _later

if TYPE_CHECKING:  # Imported when they are first used.
    from tfkit.src.base.tree import MAP_TO_NONE as MAP_TO_NONE
    from tfkit.src.base.tree import assert_same_paths as assert_same_paths
    from tfkit.src.base.tree import assert_same_structure as assert_same_structure
    from tfkit.src.base.tree import flatten as flatten
    from tfkit.src.base.tree import flatten_with_path as flatten_with_path
    from tfkit.src.base.tree import is_nested as is_nested
    from tfkit.src.base.tree import lists_to_tuples as lists_to_tuples
    from tfkit.src.base.tree import map_shape_structure as map_shape_structure
    from tfkit.src.base.tree import map_structure as map_structure
    from tfkit.src.base.tree import map_structure_up_to as map_structure_up_to
    from tfkit.src.base.tree import pack_sequence_as as pack_sequence_as
    from tfkit.src.base.tree import traverse as traverse

_later.offer(__name__)
