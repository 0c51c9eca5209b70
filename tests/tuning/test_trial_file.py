"""Trials on disk: kept one by one, good for their build alone, and nothing a damaged file can do."""

import json
import multiprocessing
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from search_stage import failed, measured

from pytest_miopen_perf.database.change_lock import changing
from pytest_miopen_perf.errors import DatabaseError
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.results import TrialStatus
from pytest_miopen_perf.tuning.past_trials import SessionTrials
from pytest_miopen_perf.tuning.trial_file import TrialFile

(PROBLEM,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")
(OTHER,) = ConvProblem.from_driver("conv -n 2 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")


@pytest.fixture
def told():
    return []


@pytest.fixture
def file(tmp_path, told):
    return TrialFile(tmp_path / "db", "device", told.append)


@pytest.fixture(params=["disk", "session"])
def store(request, file):
    return file if request.param == "disk" else SessionTrials()


def test_nothing_is_known_and_nothing_is_made_before_the_first_trial(file):
    assert file.past("S", PROBLEM).known("1", "b") is None
    file.forget("S", PROBLEM)
    file.conclude("S", PROBLEM)
    assert not file.path.parent.exists()


def test_a_failure_is_known_to_be_one_of_before(store):
    store.past("S", PROBLEM).keep("build", failed("1", TrialStatus.WRONG))
    known = store.past("S", PROBLEM).known("1", "build")
    assert (known.status, known.reason) == (TrialStatus.WRONG, "failed before: no")
    assert store.past("S", PROBLEM).known("1", "build") == known, "it is not told twice"


def test_a_trial_is_of_its_build_solver_problem_and_config(store):
    store.past("S", PROBLEM).keep("build", failed("1"))
    assert store.past("S", PROBLEM).known("1", "another build") is None
    assert store.past("S", PROBLEM).known("2", "build") is None
    assert store.past("T", PROBLEM).known("1", "build") is None
    assert store.past("S", OTHER).known("1", "build") is None


def test_of_a_config_the_last_trial_counts(store):
    past = store.past("S", PROBLEM)
    past.keep("old", failed("1"))
    past.keep("new", measured("1", 2.0, samples=3))
    assert store.past("S", PROBLEM).known("1", "old") is None
    assert store.past("S", PROBLEM).known("1", "new") == measured("1", 2.0, samples=3)


def test_the_end_of_a_search_leaves_its_failures_alone(store):
    for solver, problem in (("S", PROBLEM), ("S", OTHER), ("T", PROBLEM)):
        past = store.past(solver, problem)
        for trial in (failed("1"), measured("2", 1.0)):
            past.keep("b", trial if solver == "S" else type(trial)(**{**trial_fields(trial), "solver": solver}))
    store.conclude("S", PROBLEM)
    known = {
        (solver, problem, config): store.past(solver, problem).known(config, "b") is not None
        for solver, problem in (("S", PROBLEM), ("S", OTHER), ("T", PROBLEM))
        for config in "12"
    }
    assert [case for case, is_known in known.items() if not is_known] == [("S", PROBLEM, "2")]


def trial_fields(trial):
    return {name: getattr(trial, name) for name in type(trial).__dataclass_fields__}


def test_what_is_forgotten_is_tried_again(store):
    for problem in (PROBLEM, OTHER):
        store.past("S", problem).keep("b", failed("1"))
    store.forget("S", PROBLEM)
    assert store.past("S", PROBLEM).known("1", "b") is None
    assert store.past("S", OTHER).known("1", "b") is not None


def test_each_trial_is_on_disk_when_it_has_ended(file, told):
    file.past("S", PROBLEM).keep("b", failed("1"))
    again = TrialFile(file.path.parent, "device", told.append)
    assert again.past("S", PROBLEM).known("1", "b") is not None
    assert told == []


def line_of(of_solver="S", **trial):
    return json.dumps({"problem": "p", "solver": of_solver, "build": "b", "trial": trial}).encode() + b"\n"


DAMAGED = [
    (b"junk\n", "it is not JSON"),
    (b"\xff\xfe\n", "it is not JSON"),
    (b"[" * 100_000 + b"\n", "it is not JSON"),
    (b"[]\n", "it lacks one of problem, solver, build"),
    (b'{"problem": "p", "solver": "S", "build": 3, "trial": {}}\n', "it lacks one of"),
    (b'{"problem": "p", "solver": "S", "build": "b"}\n', "its trial is none"),
    (line_of(status="odd"), "'odd' is not a valid"),
    (line_of(status="wrong result", surprise=1), "its trial is none"),
    (line_of(status="wrong result", config=1), "its trial is none"),
    (line_of("T", **failed("1").to_json()), "of another solver, S"),
    (line_of(**failed(1).to_json()), "a number where a text belongs"),
    (line_of(**measured("1", float("nan")).to_json()), "measured at nan seconds"),
    (line_of(**measured("1", 0.0).to_json()), "measured at 0.0 seconds"),
    (line_of(**measured("1", 10**400).to_json()), "measured at 1000"),
    (line_of(**measured("1", True).to_json()), "measured at True seconds"),
    (line_of(**failed("1").to_json() | {"median_seconds": 10**400}), "measured at 1000"),
    (line_of(**measured("1", 1.0, noise="much").to_json()), "a noise of 'much'"),
    (line_of(**measured("1", 1.0, noise=-0.5).to_json()), "a noise of -0.5"),
    (line_of(**measured("1", 1.0, noise=10**400).to_json()), "a noise of 1000"),
    (line_of(**measured("1", 1.0, samples=-1).to_json()), "has -1 samples"),
    (line_of(**measured("1", 1.0, samples=True).to_json()), "has True samples"),
    (line_of(**measured("1", 1.0, samples=2.5).to_json()), "has 2.5 samples"),
    (line_of(**measured("1", 1.0, samples=10**400).to_json()), "has 1000"),
]


@pytest.mark.parametrize(("line", "words"), DAMAGED, ids=range(len(DAMAGED)))
def test_a_damaged_line_is_one_report_with_file_line_and_count(file, told, line, words):
    file.past("S", PROBLEM).keep("b", failed("1"))
    with file.path.open("ab") as damaged:
        damaged.write(line + b"more junk\n")
    for _ in range(2):
        assert file.past("S", PROBLEM).known("1", "b") is not None
    (sentence,) = told
    assert str(file.path) in sentence
    assert "holds 2 ill-formed lines, which are left out; the first is line 2" in sentence
    assert words in sentence


def test_a_line_that_was_torn_by_a_crash_costs_itself_alone(file, told):
    past = file.past("S", PROBLEM)
    past.keep("b", failed("1"))
    with file.path.open("ab") as torn:
        torn.write(b'{"problem": "')
    past.keep("b", failed("2"))
    assert [file.past("S", PROBLEM).known(config, "b") is not None for config in "12"] == [True, True]
    assert "holds 1 ill-formed" in told[0]


def test_a_file_that_cannot_be_written_or_read_is_one_sentence(tmp_path, told):
    (tmp_path / "device.trials.jsonl").mkdir()
    file = TrialFile(tmp_path, "device", told.append)
    with pytest.raises(DatabaseError, match=r"device\.trials\.jsonl.* cannot be read"):
        file.past("S", PROBLEM)
    blocked = tmp_path / "blocked"
    blocked.write_text("")
    with pytest.raises(DatabaseError, match="cannot hold tuned configs"):
        TrialFile(blocked, "device", told.append).past("S", PROBLEM).keep("b", failed("1"))


def _keep_many(folder, start):
    past = TrialFile(folder, "device", print).past("S", PROBLEM)
    for number in range(start, start + 25):
        past.keep("b", failed(str(number)))


def test_threads_and_processes_lose_nothing_of_each_other(tmp_path):
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_keep_many, args=(tmp_path, 0))
    process.start()
    threads = [threading.Thread(target=_keep_many, args=(tmp_path, start)) for start in (100, 200)]
    for thread in threads:
        thread.start()
    for one in (*threads, process):
        one.join(60)
    past = TrialFile(tmp_path, "device", pytest.fail).past("S", PROBLEM)
    expected = [str(start + number) for start in (0, 100, 200) for number in range(25)]
    assert all(past.known(config, "b") for config in expected)


def test_what_another_process_holds_is_waited_for(file):
    with changing(file.path.parent, "device"):
        thread = threading.Thread(target=file.past("S", PROBLEM).keep, args=("b", failed("1")))
        thread.start()
        thread.join(0.1)
        assert not file.path.exists()
    thread.join(30)
    assert file.past("S", PROBLEM).known("1", "b") is not None


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(reason=st.text(), config=st.text(max_size=20), seconds=st.floats(1e-12, 1e6), noise=st.none() | st.floats(0, 9))
def test_whatever_is_kept_is_read_back(tmp_path_factory, reason, config, seconds, noise):
    file = TrialFile(tmp_path_factory.mktemp("db"), "device", pytest.fail)
    past = file.past("S", PROBLEM)
    good = measured(f"good {config}", seconds, samples=3, noise=noise)
    bad = type(good)(**{**trial_fields(failed(config)), "reason": reason})
    past.keep("b", good)
    past.keep("b", bad)
    again = file.past("S", PROBLEM)
    assert again.known(good.config, "b") == good
    assert again.known(config, "b").reason == f"failed before: {reason}"
