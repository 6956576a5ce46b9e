"""How many steps a program gets: as many as take a tenth of a second, and no more than asked for."""

import itertools

import numpy as np
import pytest

import tfkit
from tfkit.src.training.array_program import ArrayProgram
from tfkit.src.training.steps_per_program import StepsPerProgram


@pytest.mark.parametrize("seconds", [2e-6, 1e-3, 0.04, 3.0])
def test_programs_come_to_a_tenth_of_a_second(seconds):
    pace, seen = StepsPerProgram(None), []
    for _ in range(8):
        seen.append(pace.steps(None, None))
        pace.learn(seen[-1], seen[-1] * seconds)
    assert seen[0] == 1
    assert all(later <= 8 * earlier for earlier, later in itertools.pairwise(seen))
    assert seen[-1] == pytest.approx(max(0.1 / seconds, 1), abs=1)


def test_no_program_is_longer_than_what_is_left_or_a_callback_hears_of():
    pace = StepsPerProgram(None)
    pace.learn(1, 0.01)
    assert pace.steps(None, None) == 8
    assert pace.steps(5, 7) == 5
    assert pace.steps(7, 5) == 5
    assert pace.steps(0, None) == 1


def test_a_number_of_steps_that_was_asked_for_stays():
    pace = StepsPerProgram(3)
    pace.learn(3, 1e-9)
    assert pace.steps(None, None) == 3
    assert pace.steps(2, None) == 2


def test_what_is_computed_together_does_not_depend_on_the_time():
    for seconds in (1e-6, 0.013, 5.0):
        pace, done = StepsPerProgram(None, 8, 3), 0
        while done < 40:
            steps = pace.steps(40 - done, None)
            assert steps % 3 == 0 or done + steps == 40
            pace.learn(steps, seconds * steps)
            done += steps
    assert StepsPerProgram(2, 8, 3).steps(40, None) == 2
    assert StepsPerProgram(None, 8, 3).steps(40, 4) == 4


def test_later_runs_on_data_of_the_same_form_begin_with_as_many_steps():
    def steps_per_program(x, **options):
        seen = []
        run = ArrayProgram.run
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(ArrayProgram, "run", lambda *given: seen.append(given[3]) or run(*given))
            model.fit(x, x, verbose=0, **options)
        return seen

    model = tfkit.Sequential([tfkit.Input((2,)), tfkit.layers.Dense(2)])
    model.compile("sgd", "mse")
    x = np.ones((64, 2), "float32")
    first = steps_per_program(x, batch_size=2)
    assert first[0] == 1
    assert sum(first) == 32
    assert steps_per_program(x, batch_size=2) == [32]
    assert steps_per_program(x, batch_size=1)[0] == 1
