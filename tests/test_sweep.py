"""The sweep itself: what it draws, what it cuts, and that a wrong number or a failure is told."""

import re
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import small_problems
from sweep import __main__ as sweep_main
from sweep.cutting import cut, work_of
from sweep.kinds import kind_of, stratum_of
from sweep.pairs import SweptProblem, applicable
from sweep.sample import IN_FULL, problems_of, stratified, swept_problems

from pytest_miopen_perf.devices import DeviceOptions, scripted
from pytest_miopen_perf.devices.script import KernelScript, Script, WrongElement
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.problem import ConvProblem, Layout
from pytest_miopen_perf.problems.workload import bundled
from pytest_miopen_perf.solvers import naive

FWD = naive.SOLVERS[0]


@pytest.fixture
def device():
    opened = scripted.open_device(DeviceOptions())
    yield opened
    opened.close()


# kinds


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({}, "3x3"),
        ({"filter": (1, 1), "pad": (0, 0), "stride": (1, 2)}, "1x1 strided"),
        ({"filter": (1, 1)}, "padded 1x1"),
        ({"c": 6, "groups": 3, "filter": (3, 5)}, "grouped other filter"),
        ({"c": 6, "groups": 6}, "depthwise 3x3"),
        ({"spatial": (1, 9), "filter": (1, 3), "pad": (0, 1)}, "1-D other filter"),
        ({"spatial": (5, 5, 5), "dilation": (1, 1, 2)}, "3-D 3x3 dilated"),
        ({"transposed": True}, "transposed 3x3"),
    ],
)
def test_a_kind_says_what_matters_to_a_solver(make_problem, changes, kind):
    assert kind_of(make_problem(**changes)) == kind


def test_layouts_of_one_problem_may_differ(make_problem):
    assert stratum_of(make_problem(out_layout=Layout.NHWC)) == ("F", "FP32", "mixed", "3x3")


# samples


def test_a_sample_leaves_no_stratum_out_and_is_large_enough():
    problems = problems_of(bundled())
    sample = stratified(problems, 300, seed=1)
    assert len(sample) == len(set(sample)) == 300
    assert set(sample) <= set(problems)
    assert {stratum_of(problem) for problem in sample} == {stratum_of(problem) for problem in problems}


def test_a_sample_that_is_too_small_for_its_strata_grows():
    problems = problems_of(bundled())
    sample = stratified(problems, 10, seed=1)
    assert len(sample) == len({stratum_of(problem) for problem in problems}) > 10


def test_only_the_seed_decides():
    problems = problems_of(bundled())
    assert stratified(problems, 250, seed=1) == stratified(problems[::-1], 250, seed=1)
    assert stratified(problems, 250, seed=1) != stratified(problems, 250, seed=2)
    assert stratified((), 250, seed=1) == ()


def test_two_lists_are_swept_in_full_and_files_are_drawn_from(tmp_path):
    file = tmp_path / "own.txt"
    file.write_text("MIOpenDriver conv -n 3 -c 5 -H 11 -W 13 -k 7 -y 2 -x 2 -l 3 -j 3 -g 1 -F 1\n")
    (own,) = ConvProblem.from_driver(file.read_text())
    problems = swept_problems([file], 1, seed=1)
    whole = problems_of(IN_FULL)
    assert problems[: len(whole)] == whole
    assert own in problems
    assert len(set(problems)) == len(problems)


# cuts


@settings(deadline=None)
@given(problem=small_problems(), most=st.floats(1e2, 1e5))
def test_a_cut_keeps_the_kind_and_all_but_batch_and_image(problem, most):
    smaller = cut(problem, most)
    assert replace(smaller, n=problem.n, spatial=problem.spatial) == problem
    assert stratum_of(smaller) == stratum_of(problem)
    assert smaller.n <= problem.n
    assert not smaller.is_empty
    assert work_of(smaller) <= max(most, work_of(problem))
    for before, after, stride in zip(problem.spatial, smaller.spatial, problem.stride, strict=True):
        assert after <= before
        assert (before - after) % (4 * stride) == 0


def test_every_bundled_problem_is_cut_to_what_a_cpu_computes_or_has_nothing_left():
    for problem in problems_of(bundled()):
        smaller = cut(problem)
        assert stratum_of(smaller) == stratum_of(problem)
        assert work_of(smaller) < 3e9
        assert cut(smaller) == smaller


def test_what_is_cheap_stays_as_it_is(make_problem):
    problem = make_problem(n=64)
    assert cut(problem, work_of(problem)) is problem
    assert cut(problem, work_of(problem) / 2).n == 32


def test_the_batch_goes_first_and_two_images_stay(make_problem):
    problem = make_problem(n=64, spatial=(112, 56))
    smaller = cut(problem, work_of(replace(problem, n=2)) / 2)
    assert (smaller.n, smaller.spatial) == (2, (56, 56))


# outcomes


def test_a_right_pair_has_no_fault(device, make_problem):
    problem = make_problem()
    outcome = SweptProblem(problem).outcome(FWD, device)
    assert (outcome.solver, outcome.problem, outcome.fault) == (FWD.name, problem, "")


def test_a_transposed_problem_is_computed_by_a_solver_of_its_mirror(device, make_problem):
    problem = make_problem(transposed=True)
    (solver,) = applicable(problem, naive.SOLVERS, device.info)
    assert solver is naive.SOLVERS[1]
    assert SweptProblem(problem).outcome(solver, device).fault == ""


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"wrong": WrongElement(element=3, add=1.0)}, "out of bounds"),
        ({"wrong": "unwritten"}, "never written"),
        ({"launch_error": "no stream"}, "LaunchError.*no stream"),
        ({"compile_error": "no such builtin"}, "CompileError.*does not compile"),
    ],
)
def test_a_fault_is_told_in_words(make_problem, rule, words):
    device = ScriptedDevice(Script(rules=(KernelScript(**rule),)))
    fault = SweptProblem(make_problem()).outcome(FWD, device).fault
    device.close()
    assert re.search(words, fault)


def test_more_workspace_than_declared_is_a_fault(device, make_problem):
    @dataclass(frozen=True)
    class Greedy:
        name = FWD.name
        algorithm = FWD.algorithm

        def workspace_bytes(self, problem):
            return 0

        def default_config(self, problem, info):
            return FWD.default_config(problem, info)

        def solution(self, problem, info, config):
            return replace(FWD.solution(problem, info, config), workspace_bytes=64)

    assert "more than it declares" in SweptProblem(make_problem()).outcome(Greedy(), device).fault


# the command


@pytest.fixture
def run(monkeypatch, capsys):
    """The command on a device of a script, over two problems: exit code and output."""

    def run_on(script, problems, *arguments):
        backend = SimpleNamespace(probe=lambda options: "", open_device=lambda options: ScriptedDevice(script))
        monkeypatch.setattr(sweep_main, "load_backend", {"cpu": backend}.get)
        monkeypatch.setattr(sweep_main, "swept_problems", lambda files, count, seed: problems)
        monkeypatch.setattr("sys.argv", ["sweep", *arguments])
        return sweep_main.main(), capsys.readouterr().out

    return run_on


def test_the_command_counts_pairs_and_says_what_it_cut(run, make_problem):
    code, out = run(Script(), [make_problem(), make_problem(n=64)], "--solver", "*Naive*", "--most-gflop", "1e-3")
    assert code == 0
    assert "2 problems of 1 strata, 3 solvers" in out
    assert "cut to 32 images of 7x9" in out
    assert "1 problems were cut in batch or image, none was left out" in out
    assert "2 pairs, 0 wrong" in out


def test_the_command_fails_for_a_wrong_pair_and_prints_the_line_to_type(run, make_problem):
    problem = make_problem()
    code, out = run(Script(rules=(KernelScript(wrong="zeros"),)), [problem], "--solver", "*NaiveFwd")
    assert code == 1
    assert f"WRONG {FWD.name} {problem}: every element is zero" in out
    assert problem.to_driver() in out
    assert "1 pairs, 1 wrong" in out


def test_an_interrupted_sweep_tells_what_it_has_seen(run, make_problem, monkeypatch):
    right = sweep_main.SweptProblem(make_problem())

    def swept(problem):
        if problem.n == 2:
            raise KeyboardInterrupt
        return right

    monkeypatch.setattr(sweep_main, "SweptProblem", swept)
    code, out = run(Script(), [make_problem(), make_problem(n=2)], "--solver", "*NaiveFwd")
    assert code == 2
    assert "interrupted at problem 2 of 2" in out
    assert "1 pairs, 0 wrong" in out


def test_nothing_swept_is_no_success(run, make_problem):
    assert run(Script(), [make_problem()], "--solver", "*NaiveBwd")[0] == 1


def test_a_solver_that_does_not_exist_ends_with_a_sentence(run, make_problem):
    with pytest.raises(SystemExit, match="no solver is called 'Nothing'"):
        run(Script(), [make_problem()], "--solver", "Nothing")
