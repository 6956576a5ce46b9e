"""The state of a training as a file: what it is made of comes back as it was."""

import numpy as np

from tfkit.src.files.saving import checkpoint_file


def test_arrays_and_numbers_come_back_as_they_were(tmp_path):
    document = {
        "array": np.arange(6, dtype="int64").reshape(2, 3),
        "one": np.ones(1, "float16"),
        "number": np.float32(2.5),
        "nest": [(np.int16(7), None), {"text": "a", "flag": True, "count": 3}],
    }
    checkpoint_file.write(tmp_path / "state.h5", document, {})
    found, variables = checkpoint_file.read(tmp_path / "state.h5")
    assert variables == {}
    for name in ("array", "one"):
        np.testing.assert_array_equal(found[name], document[name], strict=True)
    assert type(found["number"]) is np.float32
    assert type(found["nest"][0][0]) is np.int16
    assert (found["number"], found["nest"]) == (document["number"], document["nest"])
