"""The table of methods that tfkit never calls, beside Keras's source."""

import ast
import functools
import inspect
import textwrap

import keras

import tfkit
from tests.overrides.counting import methods_of
from tests.overrides.sweep import INTERNAL, cases
from tests.overrides.table import LEFT_OUT, public_classes
from tfkit.src.base.errors.never_called import NEVER_CALLED

FOLDERS = ("layers", "models", "metrics", "optimizers", "optimizers.schedules", "callbacks")
# Of no use to a subclass: formats of files, and ways to quantize that tfkit has not.
NOT_FOR_SUBCLASSES = INTERNAL | {
    *("_awq_build", "_awq_call", "_gptq_build", "_gptq_call", "_quantization_mode_error"),
    *("_build_by_run_for_kwargs", "_build_by_run_for_single_pos_arg", "_get_variable_map"),
    *("_checkpoint_exists", "_get_most_recently_modified_file_matching_pattern"),
    *("_register_call_context_args", "_add_existing_weight", "_post_untrack_variable"),
    *("_on_begin", "_on_end", "_unpickle_model", "_setup_nnx_op_mapping"),
    *("_get_save_spec", "_set_save_spec", "_configure_async_dispatch"),
}


def pairs():
    """The classes that both have: Keras's and tfkit's."""
    for folder in FOLDERS:
        theirs, ours = keras, tfkit
        for part in folder.split("."):
            theirs, ours = getattr(theirs, part), getattr(ours, part)
        for name, cls in vars(theirs).items():
            both = inspect.isclass(cls) and inspect.isclass(getattr(ours, name, None))
            if both and name not in ("CallbackList", "InputSpec"):
                yield cls, getattr(ours, name)


@functools.cache
def attributes_in(function):
    """The attributes that a function reads."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def read_by(cls):
    """The attributes that the methods of a class of Keras's read."""
    found = set()
    for base in cls.__mro__:
        if base.__module__.startswith("keras."):
            for name, value in vars(base).items():
                function = getattr(value, "fget", getattr(value, "__func__", value))
                if inspect.isfunction(function):
                    found |= attributes_in(inspect.unwrap(function)) - {name}
    return found


def warned_of(cls):
    return {name for base in cls.__mro__ for name in NEVER_CALLED.get(base.__name__, ())}


def test_what_keras_calls_on_itself_is_a_method_or_in_the_table():
    found = set()
    for theirs, ours in pairs():
        private = {it for it in methods_of(theirs) if it.startswith("_") and it != "__call__"}
        called = private & read_by(theirs)
        missing = {
            it for it in called - warned_of(ours) - NOT_FOR_SUBCLASSES if not hasattr(ours, it)
        }
        found |= {f"{ours.__name__}.{name}" for name in missing}
    assert not found


def test_each_public_class_has_a_scenario_or_a_reason():
    in_scenarios = {theirs for _, theirs, _ in cases().values()}
    left_out = [name for names in LEFT_OUT.values() for name in names]
    missing = {name for name, cls in public_classes().items() if cls not in in_scenarios}
    assert missing == set(left_out)
    assert len(left_out) == len(set(left_out))


def test_names_in_the_table_are_methods_of_keras():
    """So that a method of a user's whose name Keras never has does not warn."""
    known = {}
    for theirs, ours in pairs():
        for base in ours.__mro__:
            if base.__name__ in NEVER_CALLED:
                known.setdefault(base.__name__, set()).update(dir(theirs))
    for cls, row in NEVER_CALLED.items():
        assert cls not in known or row.keys() <= known[cls], (cls, row.keys() - known[cls])


def test_methods_to_override_instead_exist():
    for _, ours in pairs():
        for base in ours.__mro__:
            for instead in NEVER_CALLED.get(base.__name__, {}).values():
                assert not instead or hasattr(ours, instead), (ours, instead)
