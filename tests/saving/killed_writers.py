"""Writers that are killed at random moments, and on a full disk; `test_atomic.py` runs it as a program.

python killed_writers.py FOLDER MEGABYTES ROUNDS
"""

import errno
import os
import random
import resource
import signal
import sys
import time
import traceback
from pathlib import Path

import numpy as np
import pytest

from tfkit.src.files.saving import hdf5, hdf5_writing, shards, shards_writing
from tfkit.src.files.saving.atomic import atomic_folder, atomic_write

ARRAYS = 8


def arrays(number, megabytes):
    size = megabytes * 2**20 // ARRAYS // 4
    return {f"layer_{index}/kernel": np.full(size, number, "float32") for index in range(ARRAYS)}


def write_file(folder, number, megabytes):
    with atomic_write(folder / "model.h5") as temporary:
        hdf5_writing.write(temporary, {"config": number}, {"weights": arrays(number, megabytes)})


def write_shards(folder, number, megabytes):
    shards_writing.write(
        folder / "big.weights.json", {"names": {}}, arrays(number, megabytes), megabytes / 3 / 2**10
    )


def write_folder(folder, number, megabytes):
    with atomic_folder(folder / "export") as temporary:
        (temporary / "variables").mkdir()
        for name in ("saved_model.pb", "variables/data"):
            (temporary / name).write_bytes(np.full(megabytes * 2**19, number, "uint8"))


def read_file(folder):
    with hdf5.Reader(folder / "model.h5") as reader:
        return {reader.text("config"), *numbers(reader)}


def read_shards(folder):
    with shards.ShardReader(folder / "big.weights.json") as reader:
        return set(numbers(reader))


def read_folder(folder):
    names = ("saved_model.pb", "variables/data")
    return {int(n) for name in names for n in set((folder / "export" / name).read_bytes()[::1000])}


def numbers(reader):
    for path in reader.shapes("weights"):
        values = reader.value("weights", path)
        assert (values == values[0]).all()
        yield int(values[0])


KINDS = [(write_file, read_file), (write_shards, read_shards), (write_folder, read_folder)]


def in_child(work):
    """Runs `work` in a process of its own, which says by its status whether it ended well."""
    child = os.fork()
    if not child:
        try:
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def litter(folder):
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


def check_kills(folder, write, read, megabytes, rounds):
    start = time.perf_counter()
    write(folder, 0, megabytes)
    duration = time.perf_counter() - start
    (first,) = read(folder)
    names = len(os.listdir(folder))
    halves = 0
    for number in range(1, rounds + 1):
        child = in_child(lambda: write(folder, number, megabytes))  # noqa: B023
        time.sleep(random.uniform(0, 1.3 * duration))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        (second,) = read(folder)
        assert second in (first, number), (first, second, number)
        first = second
        halves += bool(litter(folder))
    write(folder, 77, megabytes)
    assert read(folder) == {77}
    assert len(os.listdir(folder)) == names, os.listdir(folder)
    print(
        f"{write.__name__}: {rounds} kills, {halves} in the middle, a save takes {duration:.3f} s"
    )
    assert halves


def check_full_disk(folder, write, read, megabytes):
    """A limit on the size of files is what a process can do to itself that is like a full disk."""
    names = sorted(os.listdir(folder))

    def fail():
        for limit in (100, 3000, megabytes * 2**20 // 5):
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
            with pytest.raises(OSError) as caught:  # noqa: PT011
                write(folder, 78, megabytes)
            assert caught.value.errno == errno.EFBIG
            assert write is write_folder or str(folder) in str(caught.value)
            assert sorted(os.listdir(folder)) == names, os.listdir(folder)

    assert os.waitpid(in_child(fail), 0)[1] == 0
    assert read(folder) == {77}


def main():
    folder, megabytes, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    random.seed(4)
    for write, read in KINDS:
        place = folder / write.__name__
        place.mkdir()
        if write is not write_file:
            rounds = min(rounds, 12)
            megabytes = min(megabytes, 6)
        check_kills(place, write, read, megabytes, rounds)
        check_full_disk(place, write, read, megabytes)


if __name__ == "__main__":
    main()
