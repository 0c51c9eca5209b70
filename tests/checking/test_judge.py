"""The judge says what `check_result` says, asks for the reference once, and never twice for the same right bits."""

import dataclasses
import json
import math

import numpy as np
import pytest

from pytest_miopen_perf.checking import reference
from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.checking.judge import Judge, PassedChecks
from pytest_miopen_perf.checking.reference import Distribution, compute_reference
from pytest_miopen_perf.checking.tensors import pack, result_slot, tensor_spec
from pytest_miopen_perf.checking.verification import check_result
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import Algorithm

(PROBLEM,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")


@pytest.fixture
def references(monkeypatch):
    """How many references were computed."""
    computed = []

    def count(problem, operands):
        computed.append(problem)
        return compute_reference(problem, operands)

    monkeypatch.setattr(reference, "compute_reference", count)
    return computed


@pytest.fixture
def judge(tmp_path):
    def make(problem=PROBLEM, **changes):
        given = {"seed": 1, "distribution": Distribution.MIOPEN, "tolerance_factor": 1.0, "folder": tmp_path / "checks"}
        return Judge(problem, **{**given, **changes})

    return make


def right(judge, problem=PROBLEM):
    values = compute_reference(problem, judge.operands).values
    return pack(values.astype(np.float32), tensor_spec(problem, result_slot(problem)))


def test_it_says_what_the_check_says(judge):
    one = judge()
    memory = right(one)
    plain = check_result(PROBLEM, Algorithm.DIRECT, compute_reference(PROBLEM, one.operands), memory)
    assert one.check(Algorithm.DIRECT, memory) == plain
    assert judge().check(Algorithm.DIRECT, memory) == plain
    memory[7] += 1
    assert judge().check(Algorithm.DIRECT, memory).reason is Reason.ELEMENT


def test_the_same_bits_need_no_reference_in_this_session_or_the_next(judge, references):
    memory = right(judge())
    for _ in range(2):
        one = judge()
        assert [one.check(Algorithm.DIRECT, memory).passed for _ in range(3)] == [True] * 3
    assert len(references) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 2},
        {"distribution": Distribution.INTEGERS},
        {"tolerance_factor": 2.0},
        {"problem": dataclasses.replace(PROBLEM, pad=(0, 1))},
    ],
    ids=["seed", "distribution", "tolerance", "problem"],
)
def test_other_data_and_other_tolerances_are_judged_anew(judge, references, change):
    memory = right(judge())
    assert judge().check(Algorithm.DIRECT, memory).passed
    judge(**change).check(Algorithm.DIRECT, right(judge(**change), change.get("problem", PROBLEM)))
    assert len(references) == 2


def test_another_algorithm_has_other_tolerances(judge, references):
    one = judge()
    memory = right(one)
    checks = {one.check(algorithm, memory).rms_tolerance for algorithm in (Algorithm.DIRECT, Algorithm.IMPLICIT_GEMM)}
    assert len(checks) == 2
    assert len(references) == 1, "one judge, one reference"


def test_what_failed_is_judged_anew(judge, references):
    memory = right(judge())
    memory[3] = np.nan
    assert [judge().check(Algorithm.DIRECT, memory).reason for _ in range(2)] == [Reason.NOT_FINITE] * 2
    assert len(references) == 2


def test_a_new_reference_code_forgets_all(judge, references, monkeypatch):
    memory = right(judge())
    judge().check(Algorithm.DIRECT, memory)
    monkeypatch.setattr("pytest_miopen_perf.checking.judge._code_digest", lambda: "other code")
    judge().check(Algorithm.DIRECT, memory)
    assert len(references) == 2


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "[1]", '{"a": 1}', '{"a": {"reason": "bright"}}', "[" * 100_000, '{"a":' * 100_000],
    ids=range(8),
)
def test_a_damaged_file_holds_nothing(tmp_path, text):
    path = tmp_path / "one.json"
    path.write_text(text)
    assert PassedChecks(path).get("a") is None


@pytest.fixture
def kept(judge, tmp_path):
    """The file of a check that passed, and the key in it."""
    one = judge()
    one.check(Algorithm.DIRECT, right(one))
    (path,) = (tmp_path / "checks").iterdir()
    (key,) = json.loads(path.read_text())
    return path, key


def test_a_check_that_passed_is_served_by_another_session(kept):
    path, key = kept
    assert PassedChecks(path).get(key).passed


@pytest.mark.parametrize(
    "change",
    [
        {"reason": "rms"},
        {"reason": "unchecked"},
        {"rms_error": "x"},
        {"rms_error": None},
        {"rms_error": -1.0},
        {"rms_error": 1e9},
        {"rms_error": math.nan},
        {"rms_error": 10**400},
        {"rms_tolerance": "much"},
        {"rms_tolerance": math.inf},
        {"got": 1e9},
        {"got": None},
        {"want": True},
        {"bound": math.inf},
        {"worst": [0, "1"]},
        {"worst": 3},
        {"sentence": None},
        {"more": 1},
    ],
    ids=repr,
)
def test_what_no_check_that_passed_has_is_not_served(kept, change):
    path, key = kept
    document = json.loads(path.read_text())
    document[key] |= change
    path.write_text(json.dumps(document))
    assert PassedChecks(path).get(key) is None


def test_a_folder_that_cannot_be_made_costs_the_memory_alone(judge, references, tmp_path):
    (tmp_path / "checks").write_text("a file where the folder should be")
    memory = right(judge())
    one = judge()
    assert [one.check(Algorithm.DIRECT, memory).passed for _ in range(2)] == [True, True]
    assert len(references) == 1
