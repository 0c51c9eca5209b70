import dataclasses

import pytest

from pytest_miopen_perf.database.coverage import CoverageState, coverage
from pytest_miopen_perf.problem import ConvProblem, Direction


@pytest.fixture
def problems():
    return [
        *ConvProblem.from_driver("conv -n 32 -c 64 -H 56 -W 56 -k 64 -p 1 -q 1"),
        *ConvProblem.from_driver("conv -n 1 -c 8 -H 9 -W 9 -k 8 -F 1"),
    ]


def test_a_find_db_covers_what_it_measured(database, problems):
    forward, backward, weights, other = problems
    path = database(
        f"{forward.find_db_key()}=Slow:2,0,a;Fast:1,0,a;Never:0.0,0,a",
        f"{backward.find_db_key()}=Never:nan,0,a",
        f"{forward.find_db_key()}=Late:1,0,a",
        "junk",
    )
    result = coverage([*problems, forward], path)
    assert [(row.problem, row.state, row.solvers) for row in result.rows] == [
        (forward, CoverageState.COVERED, ("Fast", "Slow")),
        (backward, CoverageState.UNMEASURED, ()),
        (weights, CoverageState.MISSING, ()),
        (other, CoverageState.MISSING, ()),
    ]
    assert (result.records, len(result.faults), result.share) == (3, 1, 0.25)
    assert result.count(CoverageState.MISSING) == 2


def test_a_perf_db_covers_what_it_tuned(database, problems):
    path = database(f"{problems[1].perf_db_key()}=A:1;B:2", name="a.udb.txt")
    states = [row.state for row in coverage(problems, path).rows]
    assert states == [CoverageState.MISSING, CoverageState.COVERED, CoverageState.MISSING, CoverageState.MISSING]


def test_a_transposed_problem_is_looked_up_as_its_mirror(database):
    (problem,) = ConvProblem.from_driver("conv -m trans -n 2 -c 8 -H 9 -W 9 -k 4 -u 2 -v 2 -F 1")
    path = database(f"{problem.canonical().find_db_key()}=A:1,0,a")
    assert problem.canonical().direction is Direction.BACKWARD_DATA
    assert coverage([problem], path).share == 1


def test_a_problem_without_key_is_no_miss(database):
    (problem,) = ConvProblem.from_driver("conv -m trans -n 2 -c 8 -H 3 -W 3 -k 4 -F 1")
    empty = dataclasses.replace(problem, pad=(5, 5))
    (row,) = coverage([empty], database("a-b=A:1,0,a")).rows
    assert (row.key, row.state) == ("", CoverageState.NO_KEY)


def test_an_empty_workload_has_no_share(database):
    assert coverage([], database("a-b=A:1,0,a")).share is None


def test_the_samples_cover_their_own_commands(sample):
    (problem,) = ConvProblem.from_driver("convbfp16 -n 2 -c 1 -H 1 -W 80592 -k 514 -y 1 -x 512 -v 80 -F 1")
    (row,) = coverage([problem], sample("sample_v2.ufdb.txt")).rows
    assert row.solvers[0] == "ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC"
