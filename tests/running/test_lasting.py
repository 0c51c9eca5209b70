"""A data base that cannot be written costs what is kept, never what is measured, and is told once."""

import pytest

from pytest_miopen_perf.database.store import find_row
from pytest_miopen_perf.errors import DatabaseError
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.results import Trial, TrialStatus
from pytest_miopen_perf.running.lasting import LastingConfigs, LastingTrials
from pytest_miopen_perf.running.tuned import SessionConfigs
from pytest_miopen_perf.solvers.naive import SOLVERS as NAIVE
from pytest_miopen_perf.tuning.past_trials import SessionTrials

(PROBLEM,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")


def failed(config):
    return Trial(solver="S", config=config, status=TrialStatus.COMPILE_FAILED, reason="no")


class Disk:
    """Passes everything on to a store, and while it is full refuses what writes."""

    def __init__(self, store) -> None:
        self._store = store
        self.is_full = False
        self.refused = 0

    def __getattr__(self, name):
        return getattr(self._store, name)

    def writing(self, name, *arguments):
        if self.is_full:
            self.refused += 1
            raise DatabaseError(f"{name} does not fit")
        getattr(self._store, name)(*arguments)


class FullConfigs(Disk):
    def remember(self, *arguments):
        self.writing("remember", *arguments)

    def forget(self, *arguments):
        self.writing("forget", *arguments)

    def remember_find(self, *arguments):
        self.writing("remember_find", *arguments)


class FullTrials(Disk):
    def past(self, *arguments):
        past = self._store.past(*arguments)
        return past.kept_by(lambda build, trial: self.writing_trial(past, build, trial))

    def writing_trial(self, past, build, trial):
        if self.is_full:
            self.refused += 1
            raise DatabaseError("a trial does not fit")
        past.keep(build, trial)

    def forget(self, *arguments):
        self.writing("forget", *arguments)

    def conclude(self, *arguments):
        self.writing("conclude", *arguments)


@pytest.fixture
def told():
    return []


@pytest.fixture
def disk():
    return FullConfigs(SessionConfigs())


@pytest.fixture
def configs(disk, told):
    return LastingConfigs(disk, SessionConfigs(), told.append)


@pytest.fixture
def trial_disk():
    return FullTrials(SessionTrials())


@pytest.fixture
def trials(trial_disk, told):
    return LastingTrials(trial_disk, told.append)


def test_what_cannot_be_written_is_known_to_the_session(configs, disk, told):
    configs.remember("S", PROBLEM, "1", 1e-3)
    disk.is_full = True
    configs.forget("S", PROBLEM)
    configs.remember("S", PROBLEM, "2", 1e-3)
    configs.remember("T", PROBLEM, "3", 1e-3)
    configs.remember_find(PROBLEM, [find_row(NAIVE[0], PROBLEM, 1e-3)])
    assert (configs.config("S", PROBLEM), configs.config("T", PROBLEM)) == ("2", "3")
    assert disk.config("S", PROBLEM) == "1"
    assert told == ["forget does not fit", "remember does not fit", "remember_find does not fit"]


def test_what_can_be_written_again_is_on_disk_alone(configs, disk):
    disk.is_full = True
    configs.remember("S", PROBLEM, "1", 1e-3)
    disk.is_full = False
    configs.remember("S", PROBLEM, "2", 1e-3)
    assert (configs.config("S", PROBLEM), disk.config("S", PROBLEM)) == ("2", "2")


def test_trials_are_kept_until_one_cannot_be(trials, trial_disk, told):
    trials.past("S", PROBLEM).keep("b", failed("1"))
    trial_disk.is_full = True
    past = trials.past("S", PROBLEM)
    for number in range(5):
        past.keep("b", failed(f"2,{number}"))
    trials.conclude("S", PROBLEM)
    assert told == ["a trial does not fit"]
    assert trial_disk.refused == 1, "a lock that is never given back is waited for once"
    assert trials.past("S", PROBLEM).known("1", "b") is not None


@pytest.mark.parametrize("is_full", [False, True])
def test_what_is_forgotten_is_tried_again_though_the_file_keeps_it(trials, trial_disk, is_full):
    trials.past("S", PROBLEM).keep("b", failed("1"))
    trial_disk.is_full = is_full
    trials.forget("S", PROBLEM)
    past = trials.past("S", PROBLEM)
    assert past.known("1", "b") is None
    past.keep("b", failed("2"))
    assert (trials.past("S", PROBLEM).known("2", "b") is None) is is_full
