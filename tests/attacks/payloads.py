"""Configurations that attack: each is a dict (or a name) that claims to describe an object."""

import base64
import marshal
import os
import pickle
from collections.abc import Callable
from typing import Any

PAYLOADS: dict[str, Callable[[], Any]] = {}


def payload(function):
    """Enters a payload; its id is the function's name."""
    PAYLOADS[function.__name__] = function
    return function


def canary() -> str:
    return os.environ["TFKIT_CANARY"]


def port() -> str:
    return os.environ["TFKIT_PORT"]


def thing(module: str | None, class_name: Any, config: Any, registered_name: Any = None) -> Any:
    return {
        "module": module,
        "class_name": class_name,
        "config": config,
        "registered_name": registered_name,
    }


class Pickled:
    """Writes the canary when it is unpickled."""

    def __reduce__(self):
        return os.system, (f"echo hit > {canary()}",)


def pickled() -> str:
    return base64.b64encode(pickle.dumps(Pickled())).decode()


def marshalled() -> str:
    def attack(x):
        import os

        with open(os.environ["TFKIT_CANARY"], "w") as file:
            file.write("hit")
        return x

    return base64.b64encode(marshal.dumps(attack.__code__)).decode()


def function(module: str, name: Any) -> Any:
    return thing(module, "function", name, "function")


# --- S1, S25: bytecode --------------------


@payload
def s1_lambda_of_keras_2():
    return thing(
        "keras.layers",
        "Lambda",
        {"name": "l", "function": [marshalled(), None, None], "function_type": "lambda"},
    )


@payload
def s1_lambda_of_keras_2_output_shape():
    return {
        "class_name": "Lambda",
        "config": {
            "function": "relu",
            "function_type": "function",
            "output_shape": [marshalled(), None, None],
            "output_shape_type": "lambda",
        },
    }


@payload
def s1_lambda_of_keras_3():
    code = {"code": marshalled(), "defaults": None, "closure": None}
    inner = thing("builtins", "__lambda__", code)
    return thing("keras.layers", "Lambda", {"name": "l", "function": inner, "safe_mode": False})


@payload
def s1_bare_lambda():
    return thing("builtins", "__lambda__", {"code": marshalled(), "defaults": [], "closure": []})


@payload
def s25_lambda_of_os_system():
    return thing("keras.layers", "Lambda", {"function": function("os", "system")})


@payload
def s25_lambda_of_a_named_module():
    config = {"function": "system", "function_type": "function", "module": "os"}
    return thing("keras.layers", "Lambda", config)


# --- S2: any module, any function --------------------


def _s2(module: str, name: str) -> None:
    def as_class():
        config = {"command": f"echo hit > {canary()}", "args": ["touch", canary()]}
        return thing(module, name, config, name)

    def as_function():
        return function(module, name)

    def as_named_function():
        names = {"module": module, "fn_module": module, "function_name": name, "fn_name": name}
        return thing(module, "function", {**names, "config": name}, f"{module}>{name}")

    PAYLOADS[f"s2_class_{module}.{name}"] = as_class
    PAYLOADS[f"s2_function_{module}.{name}"] = as_function
    PAYLOADS[f"s2_names_{module}.{name}"] = as_named_function


for _module, _name in [
    ("os", "system"),
    ("subprocess", "Popen"),
    ("builtins", "exec"),
    ("importlib", "import_module"),
]:
    _s2(_module, _name)


@payload
def s2_dotted_class_name():
    return {"class_name": "os.system", "config": {"command": f"echo hit > {canary()}"}}


@payload
def s2_class_of_an_imported_module():
    return thing(
        "tfkit.src.files.saving.hdf5",
        "Reader",
        {"path": canary()},
        "tfkit.src.files.saving.hdf5.Reader",
    )


# --- S3, S4: functions of the framework itself --------------------

_GADGETS = {
    "tfkit.saving": ["load_model", "save_model", "register_keras_serializable"],
    "tfkit.models": ["clone_model", "model_from_json"],
    "tfkit.utils": ["set_random_seed", "get_file", "clear_session", "get_custom_objects"],
    "tfkit.config": ["set_floatx", "set_epsilon", "enable_unsafe_deserialization"],
    "tfkit.dtype_policies": ["set_dtype_policy"],
    "tfkit.datasets.mnist": ["load_data"],
    "keras.src.backend.common.global_state": ["set_global_attribute"],
}


def _s3(module: str, name: str, as_class: bool) -> Callable[[], Any]:
    def made():
        config = {"filepath": canary(), "path": canary(), "value": "float16", "seed": 1}
        return thing(module, name, config, name) if as_class else function(module, name)

    return made


for _module, _names in _GADGETS.items():
    PAYLOADS[f"s3_class_{_names[0]}"] = _s3(_module, _names[0], True)
    for _name in _names:
        PAYLOADS[f"s3_function_{_name}"] = _s3(_module, _name, False)


# --- S6: pickles --------------------


@payload
def s6_torch_module():
    return thing("keras.layers", "TorchModuleWrapper", {"module": pickled(), "name": "t"})


@payload
def s6_pickle_as_function():
    return thing("keras.layers", "Lambda", {"function": pickled()})


@payload
def s6_pickle_as_units():
    return thing("keras.layers", "Dense", {"units": pickled()})


@payload
def s6_pickle_as_array():
    return thing("builtins", "__numpy__", {"value": pickled(), "dtype": "object"})


@payload
def s6_pickle_as_tensor():
    return thing("builtins", "__tensor__", {"value": [pickled()], "dtype": "variant"})


# --- S7, S18, S26: paths and addresses --------------------


def _s7(class_name: str, argument: str, scheme: str) -> Callable[[], Any]:
    def made():
        path = {
            "path": canary(),
            "file": f"file://{canary()}",
            "http": f"http://127.0.0.1:{port()}/words",
            "gs": "gs://bucket/words",
            "share": "\\\\host\\share",
        }[scheme]
        return thing("keras.layers", class_name, {argument: path, "name": "v"})

    return made


for _scheme in ("path", "file", "http", "gs", "share"):
    PAYLOADS[f"s7_vocabulary_{_scheme}"] = _s7("StringLookup", "vocabulary", _scheme)
    PAYLOADS[f"s18_saved_model_{_scheme}"] = _s7("TFSMLayer", "filepath", _scheme)
PAYLOADS["s7_integers"] = _s7("IntegerLookup", "vocabulary", "path")
PAYLOADS["s7_text"] = _s7("TextVectorization", "vocabulary", "http")
PAYLOADS["s7_weights"] = _s7("TextVectorization", "idf_weights", "path")
PAYLOADS["s26_tokenizer"] = _s7("BytePairTokenizer", "vocabulary", "path")
PAYLOADS["s26_proto"] = _s7("SentencePieceTokenizer", "proto", "http")


# --- S19: a class where a function is expected --------------------


@payload
def s19_class_as_function():
    return function("keras.layers", "Dense")


@payload
def s19_registered_class_as_function():
    return function("builtins", "attacks>Registered")


@payload
def s19_saved_model_layer_as_function():
    return function("keras.layers", "TFSMLayer")


# --- S27: bombs, and what is no configuration --------------------


@payload
def s27_text_dtype():
    return thing("builtins", "__numpy__", {"value": ["a"], "dtype": "U1000000000"})


@payload
def s27_units_not_a_number():
    return thing("keras.layers", "Dense", {"units": float("nan")})


@payload
def s27_config_is_a_list():
    return thing("keras.layers", "Dense", [1, 2])


@payload
def s27_class_name_is_a_dict():
    return thing("keras.layers", {"a": 1}, {"units": 2})


@payload
def s27_module_is_a_list():
    return thing(["keras"], "NoSuchLayer", {"units": 2})


@payload
def s27_slice_of_a_number():
    return thing("builtins", "__slice__", 3)


@payload
def s27_many_thresholds():
    return thing("keras.metrics", "AUC", {"num_thresholds": 2**40})


@payload
def s27_many_classes():
    return thing("keras.metrics", "MeanIoU", {"num_classes": 2**40})
