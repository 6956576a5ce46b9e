import copy
import pickle

import keras
import pytest

import tfkit


def test_config_is_that_of_keras():
    configs = [library.utils.Config(a=1, b=2) for library in (tfkit, keras)]
    for config in configs:
        config.c = 3
        config["d"] = [4]
        config.update({"e": 5}, f=6)
        assert config.pop("b") == 2
        with pytest.raises(AttributeError, match="nope"):
            config.nope  # noqa: B018
        with pytest.raises(KeyError, match="nope"):
            config["nope"]
    ours, theirs = configs
    assert ours.as_dict() == theirs.as_dict() == dict(**ours)
    assert list(ours.items()) == list(theirs.items())
    assert (ours.to_json(), repr(ours), len(ours)) == (theirs.to_json(), repr(theirs), len(theirs))
    assert ("a" in ours, ours.get("z", 7)) == ("a" in theirs, theirs.get("z", 7)) == (True, 7)


def change(config):
    config.a = 5


@pytest.mark.parametrize(
    "action",
    [
        change,
        lambda config: config.update(a=5),
        lambda config: config.pop("a"),
        lambda config: config.__delitem__("a"),
        lambda config: delattr(config, "a"),
    ],
)
def test_a_frozen_config(action):
    config = tfkit.utils.Config(a=1)
    config.freeze()
    for other in (config, copy.deepcopy(config), pickle.loads(pickle.dumps(config))):
        assert other.frozen
        with pytest.raises(ValueError, match="is frozen"):
            action(other)
        assert other.as_dict() == {"a": 1}
    config.unfreeze()
    action(config)
    assert config.as_dict() in ({}, {"a": 5})


def test_source_inputs():
    for library in (tfkit, keras):
        one, other, third = (library.Input((3,)) for _ in range(3))
        x = library.layers.Dense(3)(library.layers.Add()([one, other])) * one + library.ops.relu(
            third
        )
        assert [id(it) for it in library.utils.get_source_inputs(x)] == [
            id(one),
            id(other),
            id(third),
        ]
        assert library.utils.get_source_inputs(one)[0] is one
