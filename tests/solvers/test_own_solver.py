"""Solvers of functions and a list of configs."""

import re
from dataclasses import dataclass

import pytest

from pytest_miopen_perf.errors import ConfigError, SettingsError
from pytest_miopen_perf.solvers import Solution
from pytest_miopen_perf.solvers.own import (
    WORKSPACE,
    Direction,
    KernelSource,
    Launch,
    OwnSolver,
    PerformanceConfig,
    W,
    X,
    Y,
)


@dataclass(frozen=True)
class Block(PerformanceConfig):
    size: int


@dataclass(frozen=True)
class Other(PerformanceConfig):
    size: int


def launches(problem, info, config):
    kernel = KernelSource(file="/own.hip", entry="own")
    return [Launch(kernel=kernel, grid=(problem.n, 1, 1), block=(config.size, 1, 1), args=(X, W, Y))]


def own(**fields):
    usual = {"choices": (Block(64), Block(256)), "launches": launches, "direction": Direction.FORWARD}
    return OwnSolver(name="Own", solver_id=20001, **(usual | fields))


def test_what_functions_say_is_the_solution(make_problem, gpu_info):
    problem = make_problem(n=3)
    solver = own(workspace=lambda one: 4 * one.n)
    assert solver.refusal(problem, gpu_info) is None
    assert solver.default_config(problem, gpu_info) == Block(64)
    assert list(solver.configs(problem, gpu_info)) == [Block(64), Block(256)]
    assert solver.solution(problem, gpu_info, Block(256)) == Solution(
        solver="Own",
        solver_id=20001,
        config=Block(256),
        workspace_bytes=12,
        launches=tuple(launches(problem, gpu_info, Block(256))),
    )


def test_refusals_of_direction_and_of_its_own(make_problem, gpu_info):
    solver = own(refuses=lambda problem, info: "only one image" if problem.n > 1 else None)
    assert solver.refusal(make_problem(n=1), gpu_info) is None
    assert solver.refusal(make_problem(n=2), gpu_info) == "only one image"
    backward = make_problem(n=1, direction=Direction.BACKWARD_DATA)
    assert solver.refusal(backward, gpu_info) == "Own computes forward, not backward data"


def test_choices_that_do_not_fit_the_device_are_left_out(make_problem, gpu_info):
    problem = make_problem()
    solver = own(choices=(Block(2 * gpu_info.max_block), Block(gpu_info.max_block)))
    assert solver.default_config(problem, gpu_info) == Block(gpu_info.max_block)
    none = own(choices=(Block(2048), Block(4096)))
    assert none.refusal(problem, gpu_info) == "blocks of own have 2048 work-items, here at most 1024"


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"shared_bytes": 2**30}, "own takes 1073741824 bytes of shared memory, here at most"),
        ({"grid": (1, 65536, 1)}, r"a grid of \(1, 65536, 1\) blocks of own is larger than"),
        ({"grid": (2**26, 1, 1)}, r"a grid of \(67108864, 1, 1\) blocks of own is larger than"),
    ],
)
def test_launches_that_fit_no_device_are_refused(make_problem, gpu_info, fields, reason):
    def too_large(problem, info, config):
        usual = {"grid": (1, 1, 1), "block": (64, 1, 1), "args": (X, W, Y, WORKSPACE)}
        return [Launch(kernel=KernelSource(file="/own.hip", entry="own"), **(usual | fields))]

    solver = own(launches=too_large, workspace=lambda problem: 4)
    assert re.match(reason, solver.refusal(make_problem(), gpu_info))


def test_texts_of_configs_are_read_back_and_strangers_refused(make_problem):
    solver = own()
    assert all(solver.parse_config(config.serialize()) == config for config in solver.choices)
    with pytest.raises(ConfigError, match="'128' is none of the 2 choices of Own"):
        solver.parse_config("128")
    with pytest.raises(ConfigError, match="size is 'x'"):
        solver.parse_config("x")


def test_without_choices_there_is_one_config(make_problem, gpu_info):
    solver = OwnSolver(
        name="Own",
        solver_id=20001,
        direction=Direction.FORWARD,
        launches=lambda problem, info, config: launches(problem, info, Block(64)),
    )
    assert list(solver.configs(make_problem(), gpu_info)) == [solver.parse_config("")] == [PerformanceConfig()]
    assert solver.is_deterministic
    assert not own(is_deterministic=False).is_deterministic


@pytest.mark.parametrize(("choices", "found"), [((), "nothing"), ((Block(64), Other(64)), "Block, Other")])
def test_choices_are_of_one_class(choices, found):
    with pytest.raises(SettingsError, match=f"the choices of Own are {found}; give configs of one class"):
        own(choices=choices)
