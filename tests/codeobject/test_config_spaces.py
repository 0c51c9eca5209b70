"""No config that a search may try on an AMD GPU spills: the ones that ask most of the registers, on every target.

Of every kind of sub-tile, the config with the most results and copies of a work-item. Whoever widens a space so far
that one of them no longer fits the registers of an architecture is told here.
"""

from __future__ import annotations

import pytest
from static_rows import faults

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES, planned_device
from pytest_miopen_perf.codeobject.cases import planned_cases
from pytest_miopen_perf.codeobject.table import resources_table
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.depthwise_wrw import demand

SOLVERS = {solver.name: solver for solver in builtin_solvers()}
PROBLEMS = {
    problem.direction.value: problem
    for problem in ConvProblem.from_driver("conv -n 16 -c 256 -H 28 -W 28 -k 256 -y 3 -x 3 -p 1 -q 1")
}
IMPLICIT_GEMM = {"F": "HipConvImplicitGemmFwd", "B": "HipConvImplicitGemmBwd", "W": "HipConvImplicitGemmWrw"}
GEMM = {"F": "HipConvWinogradF43Fwd", "W": "HipConvWinogradF34Wrw"}
DEPTHWISE = (
    "convfp16 -n 16 -c 96 -H 28 -W 28 -k 96 -y 3 -x 3 -p 1 -q 1 -g 96 -I NHWC -f NHWC -O NHWC -F 4",
    "conv -n 16 -c 96 -H 28 -W 28 -k 96 -y 5 -x 5 -p 2 -q 2 -u 2 -v 2 -g 96 -I NHWC -f NHWC -O NHWC -F 4",
    "convbfp16 -n 16 -c 96 -H 28 -W 28 -k 96 -y 31 -x 31 -p 15 -q 15 -g 96 -F 4",
)
DIRECT = tuple(f"{base} -n 16 -c 32 -H 28 -W 28 -k 16 -y 1 -x 1 -F 3" for base in ("conv", "convbfp16"))
BEYOND = "64,128,128,8,4,4,1"
"""256 results of a work-item, which no space has."""


def implicit_gemm_demand(config):
    c = config
    results, copies = (
        c.gemm_m_per_block * c.gemm_n_per_block,
        c.gemm_k_per_block * (c.gemm_m_per_block + c.gemm_n_per_block),
    )
    return (results + copies) / c.block_size


def gemm_demand(config):
    copies = config.k_per_block * (config.m_per_block + config.n_per_block) / config.block_size
    return config.m_per_thread * config.n_per_thread + copies


def heaviest(configs, kind, demand):
    """Of each kind the config with the greatest demand."""
    found = {}
    for config in configs:
        if kind(config) not in found or demand(config) > demand(found[kind(config)]):
            found[kind(config)] = config
    return found.values()


def implicit_gemm_cases(target):
    for direction, problem in PROBLEMS.items():
        solver = SOLVERS[IMPLICIT_GEMM[direction]]
        space = (config for config in solver.configs(problem, planned_device(target)) if config.parts == 1)
        for config in heaviest(space, lambda c: (c.gemm_m_per_thread, c.gemm_n_per_thread), implicit_gemm_demand):
            yield from planned_cases(solver, problem, [target], config)


def gemm_cases(target):
    for direction, name in GEMM.items():
        problem = PROBLEMS[direction]
        space = SOLVERS[name].configs(problem, planned_device(target))
        for config in heaviest(space, lambda c: c.m_per_thread == 8, gemm_demand):
            cases = planned_cases(SOLVERS[name], problem, [target], config)
            yield from (case for case in cases if case.kernel.entry == "gemm_conv")


def weights_cases(target):
    """The transform that adds up parts: as few and as many as a search tries."""
    problem = PROBLEMS["W"]
    for name in ("HipConvWinogradF32Wrw", "HipConvWinogradF34Wrw"):
        first, *_, last = SOLVERS[name].configs(problem, planned_device(target))
        for config in (first, last):
            cases = planned_cases(SOLVERS[name], problem, [target], config)
            yield from (case for case in cases if case.kernel.entry == "winograd_transform_weights")


def depthwise_weights_cases(target):
    """Of each number of channels of a work-item; the sums are added up from work-item to work-item in any case."""
    solver = SOLVERS["HipConvDepthwiseWrw"]
    for line in DEPTHWISE:
        (problem,) = ConvProblem.from_driver(line)
        space = (c for c in solver.configs(problem, planned_device(target)) if c.parts == 1 and c.block_size == 256)
        found = heaviest(space, lambda c: c.channels_per_thread, lambda c, problem=problem: sum(demand(c, problem)))
        for config in found:
            yield from planned_cases(solver, problem, [target], config)


def direct_1x1_cases(target):
    """Of each width of what is read the one with the most results, over few channels, which a compiler may unroll."""
    for problem in (problem for line in DIRECT for problem in ConvProblem.from_driver(line)):
        solver = SOLVERS["HipConvDirect1x1Fwd" if problem.direction.value == "F" else "HipConvDirect1x1Bwd"]
        space = (c for c in solver.configs(problem, planned_device(target)) if c.block_size == 256)
        found = heaviest(space, lambda c: c.vector_width, lambda c: c.channels_per_thread * c.pixels_per_thread)
        for config in found:
            yield from planned_cases(solver, problem, [target], config)


def found_faults(builder, target, cases):
    if reason := builder.refusal(target):
        pytest.skip(reason)
    rows = resources_table(cases, builder)
    assert rows
    return [f"{row.case.kernel.entry} {row.case.config}: {fault}" for row in rows for fault in faults(row)]


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_implicit_gemm_spills_nowhere(builder, target):
    assert found_faults(builder, target, implicit_gemm_cases(target)) == []


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_the_product_of_several_launches_spills_nowhere(builder, target):
    assert found_faults(builder, target, gemm_cases(target)) == []


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_adding_up_parts_spills_nowhere(builder, target):
    """Once, on gfx1100, the addresses of eight parts filled its registers."""
    assert found_faults(builder, target, weights_cases(target)) == []


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_depthwise_weights_spill_nowhere(builder, target):
    assert found_faults(builder, target, depthwise_weights_cases(target)) == []


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_direct_1x1_spills_nowhere(builder, target):
    """Once, on gfx1100 and gfx1201, the default of 32 channels did: every weight was read before it was needed."""
    assert found_faults(builder, target, direct_1x1_cases(target)) == []


def test_a_config_beyond_the_space_would_be_found(builder):
    solver, problem = SOLVERS[IMPLICIT_GEMM["F"]], PROBLEMS["F"]
    config = solver.parse_config(BEYOND)
    assert config not in list(solver.configs(problem, planned_device("gfx1201")))
    found = found_faults(builder, "gfx1201", planned_cases(solver, problem, ["gfx1201"], config))
    assert any("spills" in fault for fault in found)
