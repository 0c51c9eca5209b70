"""Which configs of which solvers are looked at; nothing is compiled here."""

from dataclasses import replace

import pytest

from pytest_miopen_perf.codeobject.architectures import planned_device
from pytest_miopen_perf.database.store import TunedStore
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.settings import Settings
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.static_gate.planning import known_in, nothing_known, planned_kernels

(PROBLEM,) = ConvProblem.from_driver("conv -n 2 -c 16 -H 14 -W 14 -k 16 -y 1 -x 1 -F 1")
SOLVER = next(solver for solver in builtin_solvers() if solver.name == "HipConvDirect1x1Fwd")
INFO = planned_device("gfx942")
DEFAULT = SOLVER.default_config(PROBLEM, INFO)
SPACE = list(SOLVER.configs(PROBLEM, INFO))
OTHER = next(config for config in SPACE if config != DEFAULT)


def planned(problem=PROBLEM, solvers=(SOLVER,), targets=("gfx942",), known=nothing_known, **settings):
    return list(planned_kernels(problem, solvers, targets, Settings(**settings), known))


def test_the_default_config_alone_where_nothing_is_known():
    ((words, case),) = planned()
    assert words == f"{SOLVER.name}-default-{case.name}"
    assert (case.target, case.config, case.problem) == ("gfx942", DEFAULT.serialize(), str(PROBLEM))


def test_the_tuned_config_beside_it_where_the_data_base_knows_one(tmp_path):
    TunedStore(tmp_path, INFO).remember(SOLVER.name, PROBLEM, OTHER.serialize(), 1e-3)
    known = known_in(tmp_path, [SOLVER])
    found = planned(targets=("gfx942", "gfx1201"), known=known)
    assert [(kernel.case.target, kernel.case.config) for kernel in found][:2] == [
        ("gfx942", DEFAULT.serialize()),
        ("gfx942", OTHER.serialize()),
    ]
    assert f"{SOLVER.name}-tuned-" in found[1].words
    assert [kernel.case.target for kernel in found[2:]] == ["gfx1201"]


@pytest.mark.parametrize(
    ("target", "arch", "compute_units"), [("gfx942:sramecc+:xnack-", "gfx942", 304), ("gfx1100", "gfx1100", 48)]
)
def test_what_a_real_card_has_tuned_is_found(tmp_path, target, arch, compute_units):
    """Data bases are named by what the runtime tells: no features, and work-group processors where it counts those."""
    told = {"arch": arch, "compute_units": compute_units, "uid": "9a1b2c3d4e5f6071", "name": "a card"}
    TunedStore(tmp_path, replace(planned_device(target), **told)).remember(
        SOLVER.name, PROBLEM, OTHER.serialize(), 1e-3
    )
    found = planned(targets=(target,), known=known_in(tmp_path, [SOLVER]))
    assert (target, OTHER.serialize()) in [(kernel.case.target, kernel.case.config) for kernel in found]


def test_a_tuned_config_that_is_the_default_stands_once(tmp_path):
    TunedStore(tmp_path, INFO).remember(SOLVER.name, PROBLEM, DEFAULT.serialize(), 1e-3)
    assert len(planned(known=known_in(tmp_path, [SOLVER]))) == 1


def test_every_valid_config_when_all_are_asked_for():
    found = planned(static_configs="all")
    assert [kernel.case.config for kernel in found] == [config.serialize() for config in SPACE]
    assert len({kernel.words for kernel in found}) == len(SPACE)


def test_a_given_config_replaces_them():
    ((words, case),) = planned(config=OTHER.serialize(), static_configs="all")
    assert f"{SOLVER.name}-given-" in words
    assert case.config == OTHER.serialize()


@pytest.mark.parametrize("text", ["1", "1,2,3,4,5,6,7,8,9,10,11,12", "joy"])
def test_a_given_config_that_does_not_suit_a_solver_is_for_another(text):
    assert planned(config=text) == []


def test_another_folder_of_kernels_is_compiled(tmp_path):
    ((_, case),) = planned(kernels_dir=tmp_path)
    assert case.kernel.file.startswith(str(tmp_path))


def test_every_kernel_of_every_solver_and_target_has_an_id_of_its_own():
    found = planned(solvers=builtin_solvers(), targets=("gfx942", "gfx1201"))
    assert len({(kernel.case.target, kernel.words) for kernel in found}) == len(found)
    assert {kernel.case.solver for kernel in found} >= {"HipConvNaiveFwd", "HipConvImplicitGemmFwd", SOLVER.name}


@pytest.mark.parametrize("line", ["conv -n 1 -c 4 -H 2 -W 2 -k 4 -y 3 -x 3 -F 1"])
def test_an_empty_problem_has_no_kernel(line):
    (problem,) = ConvProblem.from_driver(line)
    assert problem.empty_reason
    assert planned(problem, builtin_solvers()) == []


def test_a_transposed_problem_is_planned_as_its_mirror_and_keeps_its_name():
    (problem,) = ConvProblem.from_driver("conv -m trans -n 2 -c 16 -H 14 -W 14 -k 16 -y 3 -x 3 -F 1")
    found = planned(problem, builtin_solvers())
    assert found
    assert {kernel.case.problem for kernel in found} == {str(problem)}
    assert all("Bwd" in kernel.case.solver for kernel in found)
