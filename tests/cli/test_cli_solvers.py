"""`miopen-perf solvers` without problems: the table of what there is."""

import json

from cli.conftest import LINE

from pytest_miopen_perf.codeobject.architectures import planned_device
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.served import LAYOUTS, served


def test_every_solver_is_listed_with_what_it_serves(run):
    listed = json.loads(run("solvers", "--json").out)
    info = planned_device(listed["arch"])
    assert [one["solver"] for one in listed["solvers"]] == [solver.name for solver in builtin_solvers()]
    for one, solver in zip(listed["solvers"], builtin_solvers(), strict=True):
        assert one["id"] == solver.solver_id
        assert one["deterministic"] == solver.is_deterministic
        assert set(one["directions"]) == {direction.value for direction in solver.directions}
        assert one["serves"] == [
            {"types": [dtype.value for dtype in some.types], "layouts": list(some.layouts)}
            for some in served(solver, info)
        ]


def test_what_is_served_is_in_words(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "160")
    lines = {line.split()[0]: line for line in run("solvers").out.splitlines() if line.startswith("HipConv")}
    assert lines["HipConvNaiveFwd"].endswith("FP32 FP16 BF16 INT8: all")
    assert lines["HipConvWinogradF23Bwd"].endswith("FP32 FP16 BF16: NCHW NHWC")
    assert lines["HipConvImplicitGemmWrwAtomic"].endswith("FP32: all; not deterministic")
    assert len(LAYOUTS) == 6


def test_only_the_solvers_asked_for(run):
    listed = json.loads(run("solvers", "--solver", "*Direct1x1*", "--json").out)["solvers"]
    assert [one["directions"] for one in listed] == ["F", "B"]
    (serves,) = listed[1]["serves"]
    assert serves == {"types": ["FP32", "FP16", "BF16"], "layouts": ["NCHW", "NHWC", "NCDHW", "NDHWC"]}


def test_other_directions_are_one_row_and_names_are_whole(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ("solvers", LINE, "--backend", "scripted")
    lines = run(*words).out.splitlines()
    rows = {line.split()[0]: line for line in lines if line.startswith("  HipConv")}
    served = [solver.name for solver in builtin_solvers() if Direction.FORWARD in solver.directions]
    assert sorted(rows) == sorted(served)
    assert "takes filters of one tap" in rows["HipConvDirect1x1Fwd"]
    (more,) = [line for line in lines if " more " in line]
    assert more.split()[:2] == [str(len(builtin_solvers()) - len(served)), "more"]
    every = run(*words, "--all").out.splitlines()
    assert {line.split()[0] for line in every if line.startswith("  HipConv")} == {s.name for s in builtin_solvers()}
    assert not any(" more " in line for line in every)
