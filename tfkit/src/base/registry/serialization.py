"""Converts objects to configurations and back.

A configuration is data: `registry` defines which classes and functions it may name.
"""

from __future__ import annotations

import collections
import contextlib
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from tfkit.src.base import context
from tfkit.src.base.errors.frames import warn
from tfkit.src.base.errors.tracebacks import shortened
from tfkit.src.base.names import did_you_mean
from tfkit.src.base.protocols import Tracked
from tfkit.src.base.quoting import quoted
from tfkit.src.base.registry import tables as registry
from tfkit.src.base.registry.dtypes import NUMBER_DTYPES
from tfkit.src.base.registry.tables import (
    custom_object_scope,
    get_registered_name,
    get_registered_object,
    is_builtin,
    named_object,
)


def written_to_file(compiles: bool) -> contextlib.AbstractContextManager[None]:
    """Returns a context manager for configurations of a file, which holds the arrays of layers as well.

    Args:
        compiles: whether the settings of `compile` are written.
    """
    compiles = compiles and context.current().compiles
    return context.within(objects_written={}, for_file=True, compiles=compiles)


def writes_shared_objects() -> contextlib.AbstractContextManager[None]:
    """Returns a context manager in which configurations of the same object share a `shared_object_id`."""
    return context.within(objects_written={})


def numbered_shared_objects(config: Any) -> Any:
    """Returns a configuration in which only what occurs twice has a `shared_object_id`: 1, 2, ...

    Dtype policies have none: there is one for all layers, and nothing depends on that.
    """
    counts: collections.Counter[int] = collections.Counter()

    def count(item: Any) -> None:
        if isinstance(item, dict):
            counts.update(_shared_ids(item))
        if isinstance(item, (dict, list, tuple)):
            for each in item.values() if isinstance(item, dict) else item:
                count(each)

    count(config)
    shared = [shared_id for shared_id, times in counts.items() if times > 1]
    numbers = {shared_id: number for number, shared_id in enumerate(shared, 1)}

    def numbered(item: Any) -> Any:
        if isinstance(item, (list, tuple)):
            return type(item)(map(numbered, item))
        if not isinstance(item, dict):
            return item
        described = "class_name" in item
        kept = [key for key in item if not (described and key == "shared_object_id")]
        result = {key: numbered(item[key]) for key in kept}
        number = [numbers[each] for each in _shared_ids(item) if each in numbers]
        return {**result, "shared_object_id": number[0]} if number else result

    return numbered(config)


def _shared_ids(config: dict[str, Any]) -> list[int]:
    """Returns the `shared_object_id` of a configuration, in a list that is empty if it needs none."""
    found = config.get("shared_object_id")
    if config.get("class_name") in (None, "DTypePolicy") or not isinstance(found, int):
        return []
    return [found]


def reads_shared_objects() -> contextlib.AbstractContextManager[None]:
    """Returns a context manager in which configurations with the same `shared_object_id` give one object."""
    return context.within(objects_read={})


def without_compile() -> contextlib.AbstractContextManager[None]:
    """Returns a context manager in which configurations omit `compile`, and models are not compiled."""
    return context.within(compiles=False)


class References:
    """Classes, functions and other objects that configurations refer to by a number.

    A file is read without them, so such a number in a file names nothing.

    Args:
        objects: the objects, by their numbers.
    """

    def __init__(self, objects: Iterable[Any] = ()) -> None:
        self.objects = list(objects)
        self._names = {id(item): f"{_REFERENCE}{i}" for i, item in enumerate(self.objects)}

    def name_of(self, item: Any) -> str:
        """Returns the name by which a configuration refers to `item`."""
        if id(item) not in self._names:
            self._names[id(item)] = f"{_REFERENCE}{len(self.objects)}"
            self.objects.append(item)
        return self._names[id(item)]

    @contextlib.contextmanager
    def written(self) -> Iterator[None]:
        """Context manager in which configurations refer to objects that they cannot describe."""
        with context.within(references=self), writes_shared_objects():
            yield

    @contextlib.contextmanager
    def read(self) -> Iterator[None]:
        """Context manager in which configurations may refer to these objects."""
        named = {self.name_of(item): item for item in self.objects}
        with custom_object_scope(named), reads_shared_objects():
            yield


_REFERENCE = "reference>"


# --- Identifiers ------------------------------------------------------------------------------------


def resolve(identifier: Any, kind: str, custom_objects: dict[str, Any] | None = None) -> Any:
    """Returns the object for an identifier, for every public `get()`.

    Args:
        identifier: `None`, a name, a configuration, a class (which is called without arguments), or
            the object itself.
        kind: the public module whose names apply, such as `"initializers"`.
        custom_objects: further names.

    Raises:
        ValueError: for a name that is not known and for anything that is not callable.
    """
    if identifier is None:
        return None
    found = identifier
    if isinstance(identifier, dict):
        found = deserialize_keras_object(identifier, custom_objects, kind=kind)
    elif isinstance(identifier, str):
        table = registry.builtins_of(kind)
        found = get_registered_object(identifier, custom_objects, table)
        if found is None:
            raise ValueError(
                f"Unknown name in tfkit.{kind}: {quoted(identifier)}.{did_you_mean(identifier, table, 0.5)} "
                "Pass the object itself, or register your own with "
                "`@tfkit.saving.register_keras_serializable()`."
            )
    if inspect.isclass(found):
        if kind == "activations" and isinstance(identifier, str):
            raise ValueError(
                f"The name of an activation must name a function. {quoted(identifier)} is the "
                f"name of the class {found.__name__}. Pass an instance of it."
            )
        found = found()
    if not callable(found) and not hasattr(found, "get_config"):
        raise ValueError(
            f"Could not interpret an identifier of tfkit.{kind}. Expected a name, a configuration "
            f"or an object. Received: {quoted(identifier)}"
        )
    check_kind(found, kind)
    return found


def check_kind(found: Any, kind: str) -> None:
    """Raises an error for an object of tfkit that is of a different kind.

    Args:
        found: an object, of tfkit or a user.
        kind: the public module that it should be of, such as `"initializers"`.

    Raises:
        ValueError: for an object of a kind that cannot replace `kind`, though it may be callable, too.
    """
    kinds = {registry.kind_of(base) for base in type(found).__mro__}
    if "" in kinds and {*type(found).__mro__} & {*registry.builtins_of("dtype_policies").values()}:
        kinds.add("dtype_policies")  # Configurations name policies without a module.
    without_layers = kind in _WITHOUT_LAYERS and kind not in kinds
    exchanged = _EXCHANGED | {"layers"} if without_layers else _EXCHANGED
    # The mean of a loss is a metric.
    accepted = {"metrics", "losses"} if kind == "metrics" else {kind}
    if others := (kinds & exchanged) - accepted:
        raise ValueError(
            f"Expected an object of tfkit.{kind}. Received: {quoted(found)}, which is one of "
            f"tfkit.{others.pop()}. Pass it as the argument of that name."
        )


# Kinds of objects that are all callable, but cannot replace each other.
_EXCHANGED = frozenset(
    ("initializers", "regularizers", "constraints", "losses", "metrics", "optimizers")
    + ("optimizers.schedules", "quantizers", "dtype_policies", "random")
)


# Kinds that a layer cannot replace. As an activation or a loss, a layer is a function like others.
_WITHOUT_LAYERS = frozenset(
    ("initializers", "regularizers", "constraints", "optimizers", "optimizers.schedules")
)


class UnusableConfigError(TypeError, ValueError):
    """A configuration does not have the form of its class. A `TypeError` in Keras."""


# --- Objects and configurations -----------------------------------------------------------------------


@shortened
def serialize_keras_object(obj: Any) -> Any:
    """Returns a configuration of an object: only numbers, strings, lists, tuples and dicts.

    An object becomes `{"module", "class_name", "config", "registered_name"}`, its `config` from
    `get_config()`; a compiled model has a `compile_config`, too. A function becomes its name.

    Args:
        obj: a layer, an optimizer or another object with `get_config()`, a function, an array, a
            number, a string, or a nest of them with string keys.

    Returns:
        The input from which `deserialize_keras_object` makes the object again.

    Raises:
        TypeError: for an object without `get_config()`, and for a lambda.

    Example:
        >>> config = serialize_keras_object(tfkit.regularizers.L2(0.5))
        >>> config["class_name"], config["config"]
        ('L2', {'l2': 0.5})
    """
    if obj is None or isinstance(obj, (bool, int, float, str)):
        return obj
    if isinstance(obj, (list, tuple)):
        items = [serialize_keras_object(item) for item in obj]
        return tuple(items) if isinstance(obj, tuple) else items
    if isinstance(obj, dict):
        return {key: serialize_keras_object(value) for key, value in obj.items()}
    if isinstance(obj, np.generic):
        return obj.item()
    if isinstance(obj, tf.TensorShape):
        return None if obj.rank is None else tuple(obj)
    if isinstance(obj, (tf.DType, np.dtype)):
        return obj.name
    if isinstance(obj, (np.ndarray, tf.Tensor, tf.Variable)):
        value = np.asarray(obj)
        kind = "__numpy__" if isinstance(obj, np.ndarray) else "__tensor__"
        return {"class_name": kind, "config": {"value": value.tolist(), "dtype": value.dtype.name}}
    if isinstance(obj, bytes):
        return _serialize_bytes(obj)
    if isinstance(obj, tf.TypeSpec):
        return _serialize_spec(obj)
    if isinstance(obj, slice):
        parts = [serialize_keras_object(part) for part in (obj.start, obj.stop, obj.step)]
        return {"class_name": "__slice__", "config": parts}
    if obj is Ellipsis:
        return {"class_name": "__ellipsis__", "config": {}}
    if inspect.isfunction(obj) or inspect.isbuiltin(obj):
        return _serialize_function(obj)
    if hasattr(obj, "get_config") and not inspect.isclass(obj):
        return _serialize_instance(obj)
    references = context.current().references
    if references is not None:
        return {"class_name": "__reference__", "config": references.name_of(obj)}
    if callable(obj) and hasattr(obj, "__name__") and not inspect.isclass(obj):
        return _serialize_function(obj)  # A method, or what `tf.function` has made.
    raise TypeError(
        f"Cannot put {quoted(obj)} (of type {type(obj).__name__}) into a configuration. Expected a number, "
        "a string, an array, a registered function, an object with `get_config()`, or a nest of these."
    )


def made_again(obj: Any) -> Any:
    """Returns a new object with the class and configuration of `obj`, neither of which must be registered."""
    references = References()
    with references.written():
        config = obj.get_config()
    with references.read():
        return type(obj).from_config(config)


def _serialize_bytes(value: bytes) -> dict[str, Any]:
    """Returns bytes as text: UTF-8, as Keras writes them, or Latin-1 if they are not UTF-8."""
    try:
        return {"class_name": "__bytes__", "config": {"value": value.decode("utf-8")}}
    except UnicodeDecodeError:
        text = value.decode("latin-1")
        return {"class_name": "__bytes__", "config": {"value": text, "encoding": "latin-1"}}


def _deserialize_bytes(config: Any) -> bytes:
    value = config.get("value") if isinstance(config, dict) else None
    encoding = config.get("encoding", "utf-8") if isinstance(config, dict) else None
    if not isinstance(value, str) or encoding not in ("utf-8", "latin-1"):
        raise UnusableConfigError(
            "Bytes in a configuration must have a `value`, a text, and the `encoding` 'utf-8' or 'latin-1'. "
            f"Received: {quoted(config)}"
        )
    return value.encode(encoding)


# The specs that a configuration may name, with the names of their constructor's arguments.
_SPECS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "TensorSpec": (tf.TensorSpec, ("shape", "dtype", "name")),
    "SparseTensorSpec": (tf.SparseTensorSpec, ("shape", "dtype")),
    "RaggedTensorSpec": (
        tf.RaggedTensorSpec,
        ("shape", "dtype", "ragged_rank", "row_splits_dtype"),
    ),
}


def _serialize_spec(spec: tf.TypeSpec) -> dict[str, Any]:
    name = type(spec).__name__
    if name not in _SPECS:
        raise TypeError(
            f"Cannot put {quoted(spec)} into a configuration. Expected one of the specs {sorted(_SPECS)}."
        )
    parts = [serialize_keras_object(getattr(spec, argument)) for argument in _SPECS[name][1]]
    parts[0] = None if parts[0] is None else list(parts[0])
    return {
        "class_name": "__typespec__",
        "spec_name": name,
        "module": type(spec).__module__,
        "config": parts,
        "registered_name": None,
    }


def _deserialize_spec(config: dict[str, Any]) -> tf.TypeSpec:
    name, parts = config.get("spec_name"), config["config"]
    if name not in _SPECS or not isinstance(parts, (list, tuple)):
        raise UnusableConfigError(
            f"A spec in a configuration must have a `spec_name` out of {sorted(_SPECS)}. Expected 'config' "
            f"to be a list or a tuple of its constructor's arguments. Received: {quoted(config)}"
        )
    return _SPECS[name][0](*parts)


def _serialize_function(function: Any) -> dict[str, Any]:
    references = context.current().references
    if references is not None and not is_builtin(function):
        return {
            "module": "python",
            "class_name": "function",
            "config": references.name_of(function),
            "registered_name": "function",
        }
    function = registry.own_form(function)
    if function.__name__ == "<lambda>" and not registry.is_registered(function):
        raise TypeError(
            "Cannot put a lambda into a configuration: it has no name. Define a function with "
            "`def`, and decorate it with `@tfkit.saving.register_keras_serializable()`."
        )
    module = "builtins"
    if not (registry.is_registered(function) or is_builtin(function)):
        # This distinguishes the name from the name of a built-in function.
        module = "python" if function.__module__ in (None, "builtins") else function.__module__
    return {
        "module": module,
        "class_name": "function",
        "config": get_registered_name(function),
        "registered_name": "function",
    }


def serialize_uncompiled(model: Tracked) -> dict[str, Any]:
    """Returns the configuration of a model without its settings of `compile`; inner models keep theirs."""
    return _serialize_instance(model, compiled=False)


def serialize_model(model: Tracked) -> dict[str, Any]:
    """Returns the configuration of a model, whose settings of `compile` must be data.

    Raises:
        TypeError: if they are not. Those of inner models are then left out, with a warning.
    """
    config, compile_config = serialize_uncompiled(model), _compile_config(model)
    return config if compile_config is None else {**config, "compile_config": compile_config}


def _serialize_instance(obj: Any, compiled: bool = True) -> dict[str, Any]:
    cls = registry.own_form(type(obj))
    kind = registry.kind_of(cls)
    if kind is not None:
        module = "keras" if kind == "" else f"keras.{kind}"
        # Keras writes the name of a class that is not public.
        registered_name = cls.__name__ if kind.startswith("src.") else None
    else:
        module = cls.__module__
        references = context.current().references
        registered_name = (
            get_registered_name(cls) if references is None else references.name_of(cls)
        )
    config = {
        "module": module,
        "class_name": cls.__name__,
        "config": serialize_keras_object(obj.get_config()),
        "registered_name": registered_name,
    }
    written = context.current().objects_written
    if written is not None:
        written[id(obj)] = obj  # A reference keeps it alive, so that no other object gets the id.
        config["shared_object_id"] = id(obj)
    build_config = obj.get_build_config() if hasattr(obj, "get_build_config") else None
    if build_config is not None:
        config["build_config"] = serialize_keras_object(build_config)
    try:
        compile_config = _compile_config(obj) if compiled else None
    except TypeError as error:
        compile_config = None
        warn(
            f"The configuration of model '{obj.name}' does not say what it was compiled with, because that "
            f"is not plain data: {error}"
        )
    if compile_config is not None:
        config["compile_config"] = compile_config
    return config


def _compile_config(obj: Any) -> Any:
    """Returns the settings of `compile`; `None` for an object without any."""
    is_compiled = hasattr(obj, "get_compile_config") and getattr(obj, "compiled", True)
    if not is_compiled or not context.current().compiles:
        return None
    return serialize_keras_object(obj.get_compile_config())


def check_safe_mode(safe_mode: bool) -> None:
    """Raises an error for a reader of files that shall run code of theirs."""
    if not safe_mode:
        raise ValueError(
            "`safe_mode=False` is not supported: tfkit never runs code from a file. Register your classes "
            "and functions, or pass them as `custom_objects`."
        )


@shortened
def deserialize_keras_object(
    config: Any,
    custom_objects: dict[str, Any] | None = None,
    safe_mode: bool = True,
    *,
    kind: str | None = None,
    module_objects: dict[str, Any] | None = None,
    printable_module_name: str = "object",
) -> Any:
    """Returns the object that a configuration describes: the inverse of `serialize_keras_object`.

    Args:
        config: a configuration, as data.
        custom_objects: classes and functions by name that the configuration may name in
            addition to tfkit's own and registered ones.
        safe_mode: only `True` is possible: tfkit never runs code from a configuration.
            Default: `True`.
        kind: public module, such as `"losses"`, to which the names of tfkit's own objects are
            limited; `None` for all.
        module_objects: more classes and functions that the configuration may name; a string must be one
            of the names or a registered one then, and gives that function or a new object of that class.
        printable_module_name: word for the object in the error message about such a string.
            Default: `"object"`.

    Returns:
        The object.

    Raises:
        ValueError: for a name that is not registered; no code of the object has run then.

    Example:
        >>> config = serialize_keras_object(tfkit.regularizers.L2(0.5))
        >>> deserialize_keras_object(config).l2
        0.5
    """
    if not safe_mode:
        raise ValueError(
            "`safe_mode=False` is not supported: tfkit never runs code from a configuration. Register "
            "your classes and functions, or pass them as `custom_objects`. Received: safe_mode=False"
        )
    if module_objects is not None:
        if isinstance(config, str):
            found = named_object(config, custom_objects, module_objects, printable_module_name)
            return found() if isinstance(found, type) else found
        name = config.get("class_name") if isinstance(config, dict) else None
        # Only this object: what is inside of the configuration may not name all that a module has.
        if isinstance(name, str) and isinstance(module_objects.get(name), type):
            custom_objects = {name: module_objects[name], **(custom_objects or {})}
    if custom_objects:
        with custom_object_scope(custom_objects):
            return deserialize_keras_object(config, kind=kind)
    if kind and isinstance(config, str) and kind != "layers":
        return resolve(config, kind)
    if config is None and kind not in ("layers", "optimizers"):
        return None
    if kind and not (isinstance(config, dict) and {"class_name", "config"} <= config.keys()):
        raise ValueError(
            f"Expected a configuration of tfkit.{kind}: a dict with 'class_name' and 'config', as "
            f"`serialize()` returns it. Received: {config!r}"
        )
    if isinstance(config, (list, tuple)):
        items = [deserialize_keras_object(item) for item in config]
        return tuple(items) if isinstance(config, tuple) else items
    if not isinstance(config, dict):
        return config
    if "class_name" not in config or "config" not in config:
        return {key: deserialize_keras_object(value) for key, value in config.items()}
    try:
        return _deserialize(config, kind)
    except RecursionError as error:
        raise ValueError("A configuration is nested too deeply.") from error


def _deserialize(config: dict[str, Any], kind: str | None) -> Any:
    """Returns the object that one configuration, a dict with `class_name` and `config`, describes."""
    class_name, inner = config["class_name"], config["config"]
    if class_name in ("__numpy__", "__tensor__"):
        value = _array(inner)
        return value if class_name == "__numpy__" else tf.constant(value)
    if class_name == "__bytes__":
        return _deserialize_bytes(inner)
    if class_name == "__typespec__":
        return _deserialize_spec(config)
    if class_name == "__lambda__":
        raise ValueError(LAMBDA_HELP)
    if class_name == "__slice__":
        return slice(*(deserialize_keras_object(part) for part in inner))
    if class_name == "__ellipsis__":
        return ...
    if class_name == "__reference__":
        return registry.find(inner, None, None, config)
    if class_name == "function":
        return registry.find(inner, None, kind, config)
    shared_id = config.get("shared_object_id")
    # If a kind is expected, sharing could provide an object of a different kind.
    known = context.current().objects_read if kind is None else None
    if known is not None and isinstance(shared_id, int) and shared_id in known:
        return known[shared_id]
    cls = registry.find(class_name, config.get("registered_name"), kind, config)
    if not inspect.isclass(cls) or not hasattr(cls, "from_config"):
        raise UnusableConfigError(
            f"Unable to reconstruct an instance of {quoted(class_name)}: a configuration names "
            f"{quoted(cls)}, which is not a class with `from_config()`. Define that method."
        )
    if not isinstance(inner, dict):
        raise UnusableConfigError(
            f"Expected 'config' to be a dict, for {cls.__name__}. Received: {quoted(inner)} (of type "
            f"{type(inner).__name__})"
        )
    if is_builtin(cls):
        _check_plain_arguments(cls, inner)
    try:
        instance = cls.from_config(inner)
    except (AttributeError, IndexError, KeyError) as error:
        if not is_builtin(cls):
            raise
        raise ValueError(
            f"A configuration of {cls.__name__} cannot be used. {type(error).__name__}: {error}"
        ) from error
    if config.get("build_config") and hasattr(instance, "build_from_config"):
        instance.build_from_config(config["build_config"])
        instance.built = True
    compile_config = config.get("compile_config")
    if compile_config and context.current().compiles and hasattr(instance, "compile_from_config"):
        try:
            instance.compile_from_config(compile_config)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Model '{instance.name}' cannot be compiled as its configuration says. To load a file "
                f"without that, pass `compile=False`. {type(error).__name__}: {error}"
            ) from error
    if known is not None and isinstance(shared_id, int):
        known[shared_id] = instance
    return instance


# Arguments of all layers, losses, metrics and optimizers, which many constructors have as `**kwargs`.
_PLAIN_OF_ALL = frozenset(("autocast", "name", "trainable"))
_PLAIN_TYPES = frozenset(("None", "bool", "float", "int", "str"))


def _check_plain_arguments(cls: type, arguments: dict[str, Any]) -> None:
    """Raises an error for a configuration with an object where a number, a string or a boolean belongs."""
    objects = [
        (name, value)
        for name, value in arguments.items()
        if isinstance(value, dict)
        and isinstance(value.get("class_name"), str)
        and "config" in value
    ]
    parameters = inspect.signature(cls).parameters if objects else {}
    for name, value in objects:
        annotation = getattr(parameters.get(name), "annotation", "")
        types = {part.strip() for part in str(annotation).split("|")}
        is_plain = name in _PLAIN_OF_ALL or types <= _PLAIN_TYPES
        # Arrays, of `__numpy__`, may stand for numbers.
        if is_plain and not value["class_name"].startswith("__"):
            raise UnusableConfigError(
                f"Argument `{name}` of {cls.__name__} cannot be an object. Expected a number, a string, a "
                f"boolean or None. Received: {quoted(value)}"
            )


LAMBDA_HELP = (
    "A configuration holds a lambda as Python bytecode, which tfkit never runs. Expected the name of a "
    "registered function: define it with `def`, decorate it with "
    "`@tfkit.saving.register_keras_serializable()`, and save the model again with it."
)


def _array(config: Any) -> np.ndarray:
    """Returns the array that the `config` of `__numpy__` or `__tensor__` describes."""
    dtype = config.get("dtype") if isinstance(config, dict) else None
    # Only numbers: a dtype such as "U1000000000" would need any amount of memory.
    if not isinstance(dtype, str) or dtype not in NUMBER_DTYPES or "value" not in config:
        raise ValueError(
            "An array in a configuration must have a `value` and a `dtype` out of "
            f"{sorted(NUMBER_DTYPES)}. Received: {quoted(config)}"
        )
    return np.asarray(config["value"], tf.as_dtype(dtype).as_numpy_dtype)
