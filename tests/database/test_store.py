import dataclasses
import warnings

import pytest
from database.conftest import CPU, GEMM
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import small_problems

from pytest_miopen_perf import atomic_file
from pytest_miopen_perf.database import change_lock
from pytest_miopen_perf.database.find_db import FindEntry, read_find_db
from pytest_miopen_perf.database.lint import lint_database
from pytest_miopen_perf.database.perf_db import read_perf_db
from pytest_miopen_perf.database.store import TunedStore, config_validator, device_base_name, find_row
from pytest_miopen_perf.errors import DatabaseError, PerfWarning
from pytest_miopen_perf.solvers import builtin_solvers


@pytest.fixture
def told():
    return []


@pytest.fixture
def store(tmp_path, told):
    return TunedStore(tmp_path / "db", CPU, report=told.append)


@pytest.fixture
def problem(make_problem):
    return make_problem()


# --- file names


@pytest.mark.parametrize(
    ("arch", "units", "name"),
    [
        ("gfx1030", 36, "gfx1030_36"),
        ("gfx942", 64, "gfx942_64"),
        ("gfx942", 304, "gfx942130"),
        ("gfx90a", 104, "gfx90a68"),
        ("gfx942", 228, "gfx942e4"),
    ],
)
def test_amd_gpus_are_named_as_miopen_names_them(arch, units, name):
    assert device_base_name(dataclasses.replace(CPU, backend="hip", arch=arch, compute_units=units)) == name


def test_other_devices_are_named_by_their_model_too():
    assert device_base_name(CPU) == "cpu_x86_64_2_amd-epyc-9654-96-cores"
    h200 = dataclasses.replace(CPU, backend="cuda", arch="sm_90", compute_units=132, name="NVIDIA H200")
    h100 = dataclasses.replace(h200, name="NVIDIA H100/../x")
    assert device_base_name(h200) == "cuda_sm_90_132_nvidia-h200"
    assert device_base_name(h100) == "cuda_sm_90_132_nvidia-h100-x"
    assert device_base_name(dataclasses.replace(CPU, name="")) == "cpu_x86_64_2"


# --- configs


def test_nothing_is_known_and_nothing_is_made_before_the_first_writing(store, problem):
    assert store.config("S", problem) is None
    assert store.find(problem) == ()
    assert not store.directory.exists()


def test_a_config_outlives_the_store_and_stands_in_a_perf_db(store, problem, told):
    store.remember("ConvHipImplicitGemmV4R4Fwd", problem, "256,128,128,8,4,4", 0.5)
    store.remember("Other", problem, "Kernel<1, 2, Sched: x>+2", 0.25)
    again = TunedStore(store.directory, CPU, report=told.append)
    assert again.config("ConvHipImplicitGemmV4R4Fwd", problem) == "256,128,128,8,4,4"
    assert again.config("Other", problem) == "Kernel<1, 2, Sched: x>+2"
    assert again.config("Third", problem) is None
    (record,) = read_perf_db(store.config_file.path)
    assert (record.key, len(record.entries)) == (problem.perf_db_key(), 2)
    assert lint_database(store.config_file.path).lost == 0
    assert told == []


def test_the_better_config_stays(store, problem):
    store.remember("S", problem, "1", 0.5)
    store.remember("S", problem, "2", 0.6)
    assert store.config("S", problem) == "1"
    store.remember("S", problem, "3", 0.4)
    assert store.config("S", problem) == "3"
    store.remember("S", problem, "3", 0.9)  # the same one measured anew
    store.remember("S", problem, "4", 0.8)
    assert store.config("S", problem) == "4"


def test_a_measured_config_replaces_one_of_unknown_time(store, problem):
    store.directory.mkdir()
    store.config_file.path.write_text(f"{problem.perf_db_key()}=S:1;T:7\n")
    assert store.config("S", problem) == "1"
    store.remember("S", problem, "2", 100.0)
    assert (store.config("S", problem), store.config("T", problem)) == ("2", "7")


@pytest.mark.parametrize("time", ["-1", "0", "0.0", "3.40282e+38", "nan"])
def test_what_is_no_measurement_beats_no_config(tmp_path, problem, told, time):
    store = TunedStore(tmp_path, CPU, report=told.append)
    store.config_file.path.write_text(f"{problem.perf_db_key()}=S:1\n")
    store.time_file.path.write_text(f"{problem.find_db_key()}=S:{time},1\n")
    store.remember("S", problem, "2", 100.0)
    assert store.config("S", problem) == "2"


def test_problems_that_share_a_perf_db_key_do_not_compare_times(store, make_problem):
    one = make_problem(stride=(2, 2), direction=type(make_problem().direction).BACKWARD_DATA)
    other = next(
        bigger
        for height in range(1, 30)
        if (bigger := dataclasses.replace(one, spatial=(height, 9))) != one
        and bigger.perf_db_key() == one.perf_db_key()
    )
    store.remember("S", one, "1", 0.001)
    store.remember("S", other, "2", 0.5)
    assert store.config("S", one) == "2"


def test_what_is_forgotten_is_no_rival(store, problem, make_problem):
    other = make_problem(n=2)
    for case in (problem, other):
        store.remember("S", case, "1", 0.1)
    store.forget("S", problem)
    assert store.config("S", problem) is None
    store.remember("S", problem, "2", 0.9)
    assert (store.config("S", problem), store.config("S", other)) == ("2", "1")
    store.forget("Unknown", problem)


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan"), float("inf")])
def test_only_measured_configs_are_remembered(store, problem, seconds):
    with pytest.raises(DatabaseError, match="is none"):
        store.remember("S", problem, "1", seconds)


def test_a_config_that_would_not_be_read_back_is_refused_and_leaves_the_others(store, problem):
    store.remember("S", problem, "1", 0.5)
    with pytest.raises(DatabaseError, match="would not be read back"):
        store.remember("T", problem, "1;2", 0.5)
    assert store.config("S", problem) == "1"


# --- validity


def test_an_invalid_config_is_reported_once_and_not_used(tmp_path, problem, told):
    asked = []

    def validate(solver, case, text):
        asked.append((solver, case, text))
        return "" if text == "good" else "block_size is too large"

    store = TunedStore(tmp_path, CPU, validate=validate, report=told.append)
    store.config_file.path.write_text(f"{problem.perf_db_key()}=S:bad;T:good\n")
    assert [store.config("S", problem) for _ in range(3)] == [None] * 3
    assert [store.config("T", problem) for _ in range(3)] == ["good"] * 3
    assert len(asked) == 2
    (sentence,) = told
    assert "'bad' of S" in sentence
    assert str(store.config_file.path) in sentence
    assert "block_size is too large" in sentence


def test_an_invalid_config_is_no_rival_however_fast(tmp_path, problem, told):
    store = TunedStore(tmp_path, CPU, report=told.append)
    store.remember("S", problem, "bad", 0.001)
    strict = TunedStore(tmp_path, CPU, validate=lambda *case: "no" if case[2] == "bad" else "", report=told.append)
    strict.remember("S", problem, "good", 1.0)
    assert strict.config("S", problem) == "good"


@pytest.mark.parametrize("text", ["9" * 10**5, "1," * 10**5], ids=["one", "many"])
def test_a_monstrous_config_is_told_in_few_words(tmp_path, problem, told, text):
    solvers = [one for one in builtin_solvers() if one.name == "HipConvImplicitGemmFwd"]
    store = TunedStore(tmp_path, CPU, validate=config_validator(solvers, CPU), report=told.append)
    store.config_file.path.write_text(f"{problem.perf_db_key()}={solvers[0].name}:{text}\n")
    assert store.config(solvers[0].name, problem) is None
    (sentence,) = told
    assert len(sentence) < 1000


def test_solvers_judge_their_own_configs(problem):
    solver = next(one for one in builtin_solvers() if one.default_config(problem, CPU).serialize())
    validate = config_validator([solver], CPU)
    text = solver.default_config(problem, CPU).serialize()
    assert validate(solver.name, problem, text) == ""
    assert "values" in validate(solver.name, problem, text + ",1")
    strange = ",".join(["7"] * len(text.split(",")))
    assert "not among the configs" in validate(solver.name, problem, strange)
    assert "no such solver" in validate("Unknown", problem, text)


def test_ill_formed_lines_are_one_report_with_file_line_and_count(tmp_path, problem, told):
    store = TunedStore(tmp_path, CPU, report=told.append)
    store.config_file.path.write_text(f"junk\n{problem.perf_db_key()}=S:1;T\n=x\n")
    assert [store.config("S", problem) for _ in range(2)] == ["1", "1"]
    (sentence,) = told
    assert "holds 3 ill-formed" in sentence
    assert "line 1: the line has no =" in sentence
    assert str(store.config_file.path) in sentence


def test_values_that_are_none_are_one_report_a_file_and_the_others_count(tmp_path, problem, told):
    store = TunedStore(tmp_path, CPU, report=told.append)
    key = problem.find_db_key()
    store.find_file.path.write_text(f"{key}=S:soon,0,{GEMM};T:1.5,0,{GEMM};U:1\n")
    store.time_file.path.write_text(f"\n{key}=S:never;T:1.5,8\n")
    assert [entry.solver for entry in store.find(problem)] == ["T"]
    assert store.time_file.table() == {key: {"T": "1.5,8"}}
    find, times = told
    assert f"{store.find_file.path} holds 2 ill-formed" in find
    assert f"line 1: 'soon,0,{GEMM}' is no value of S" in find
    assert "holds 1 ill-formed" in times
    assert "line 2: 'never' is no value of S" in times


def test_reports_are_warnings_unless_asked_otherwise(tmp_path, problem):
    store = TunedStore(tmp_path, CPU)
    store.config_file.path.write_text("junk\n")
    with pytest.warns(PerfWarning, match="ill-formed"):
        store.config("S", problem)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        store.config("S", problem)


# --- find


def test_find_results_are_kept_fastest_first(store, problem):
    rows = [
        FindEntry("Slow", 2.0, 100, GEMM),
        FindEntry("Fast", 1.0, 0, GEMM),
        FindEntry("Never", float("nan"), 0, GEMM),
    ]
    store.remember_find(problem, rows)
    assert [row.solver for row in store.find(problem)] == ["Fast", "Slow"]
    (record,) = read_find_db(store.find_file.path)
    assert (record.key, record.version) == (problem.find_db_key(), 2)
    store.remember_find(problem, rows[:1])
    assert [row.solver for row in store.find(problem)] == ["Slow"]
    store.remember_find(problem, rows[2:])
    assert store.find(problem) == ()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(small_problems())
def test_rows_of_our_solvers_pass_the_lint_of_their_algorithm(problem):
    plain = problem.canonical()
    for solver in builtin_solvers():
        if solver.refusal(plain, CPU):
            continue
        row = find_row(solver, problem, 0.002)
        assert (row.solver, row.time_ms, row.workspace_bytes) == (solver.name, 2.0, solver.workspace_bytes(plain))
        words = {"F": "Fwd", "B": "BwdData", "W": "BwdWeights"}
        assert row.algorithm.startswith(f"miopenConvolution{words[plain.direction.value]}Algo")


# --- faults of the machine


def test_a_full_disk_is_one_typed_error_and_loses_nothing(store, problem, monkeypatch):
    store.remember("S", problem, "1", 0.5)

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(atomic_file.os, "fsync", full)
    with pytest.raises(DatabaseError, match="No space left on device; nothing in it has changed"):
        store.remember("S", problem, "2", 0.4)
    with pytest.raises(DatabaseError, match="No space left on device"):
        store.remember_find(problem, [FindEntry("A", 1.0, 0, GEMM)])
    monkeypatch.undo()
    assert store.config("S", problem) == "1"
    assert not [path for path in store.directory.iterdir() if path.suffix == ".tmp"]
    store.remember("S", problem, "2", 0.4)
    assert store.config("S", problem) == "2"


def test_a_directory_that_cannot_be_written_still_serves(read_only, problem):
    TunedStore(read_only.folder, CPU).remember("S", problem, "1", 0.5)
    with read_only():
        store = TunedStore(read_only.folder, CPU)
        assert store.config("S", problem) == "1"
        for change in (
            lambda: store.remember("S", problem, "2", 0.4),
            lambda: store.forget("S", problem),
            lambda: store.remember_find(problem, [FindEntry("A", 1.0, 0, GEMM)]),
        ):
            with pytest.raises(DatabaseError, match="Permission denied"):
                change()
        assert store.config("S", problem) == "1"


def test_a_file_in_place_of_the_directory_is_one_typed_error(tmp_path, problem):
    (tmp_path / "db").write_text("a file")
    store = TunedStore(tmp_path / "db", CPU)
    with pytest.raises(DatabaseError, match="Not a directory"):
        store.config("S", problem)
    with pytest.raises(DatabaseError, match="File exists"):
        store.remember("S", problem, "1", 0.5)


def test_a_lock_that_is_never_given_back_is_one_typed_error(store, problem, monkeypatch):
    monkeypatch.setattr(change_lock, "LOCK_TIMEOUT_SECONDS", 0.05)
    store.remember("S", problem, "1", 0.5)
    with (
        change_lock.FileLock(store.config_file.path.with_name(f"{device_base_name(CPU)}.lock")),
        pytest.raises(DatabaseError, match="another process has held"),
    ):
        store.remember("S", problem, "2", 0.4)
    assert store.config("S", problem) == "1"


@settings(max_examples=25)
@given(st.lists(st.tuples(st.sampled_from("ST"), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9)), max_size=8))
def test_what_is_remembered_last_or_fastest_is_what_is_read(tmp_path_factory, make_problem, steps):
    """Against a model: per case the config of the least time that was not measured anew."""
    folder = tmp_path_factory.mktemp("store")
    model = {}
    for solver, batch, config, seconds in steps:
        TunedStore(folder, CPU).remember(solver, make_problem(n=batch), str(config), seconds)
        kept = model.get((solver, batch))
        if kept is None or kept[0] == str(config) or seconds < kept[1]:
            model[solver, batch] = (str(config), seconds)
    for (solver, batch), (config, _) in model.items():
        assert TunedStore(folder, CPU).config(solver, make_problem(n=batch)) == config
