"""Solvers on the CPU device, whose compiled kernels stay in pytest's cache from run to run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_miopen_perf.checking.reference import compute_reference, make_operands
from pytest_miopen_perf.checking.verification import check_result
from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_miopen_perf.checking.check import Check
    from pytest_miopen_perf.checking.reference import Distribution
    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import PerformanceConfig, Solution, Solver


@pytest.fixture(scope="session")
def open_cpu(pytestconfig: pytest.Config) -> Iterator[Callable[..., Device]]:
    """Open a CPU device with the given options; it is closed when the session ends."""
    if reason := cpu.probe(DeviceOptions()):
        pytest.skip(reason)
    cache_dir = pytestconfig.cache.mkdir("miopen-perf-kernels")
    devices: list[Device] = []

    def open_device(**options: object) -> Device:
        devices.append(cpu.open_device(DeviceOptions(cache_dir=cache_dir, **options)))
        return devices[-1]

    yield open_device
    for device in devices:
        device.close()


@pytest.fixture(scope="session")
def cpu_device(open_cpu: Callable[..., Device]) -> Device:
    return open_cpu()


def _execute(device: Device, problem: ConvProblem, solver: Solver, solution: Solution, **data: object) -> Check:
    operands = make_operands(problem, **{"seed": 11, **data})
    with ConvBuffers(device, problem, operands, solution.workspace_bytes) as buffers:
        buffers.poison()
        prepare(device, solution, buffers).execute()
        return check_result(problem, solver.algorithm, compute_reference(problem, operands), buffers.download_result())


def _solve(
    device: Device,
    problem: ConvProblem,
    solver: Solver,
    config: PerformanceConfig | None = None,
    **data: Distribution | int,
) -> Check:
    """Compute a problem and judge the result."""
    assert solver.refusal(problem, device.info) is None
    config = config or solver.default_config(problem, device.info)
    return _execute(device, problem, solver, solver.solution(problem, device.info, config), **data)


def _repeat(device: Device, problem: ConvProblem, solution: Solution) -> Iterator[bytes]:
    """The result of ten runs in the same memory, each poisoned before."""
    with ConvBuffers(device, problem, make_operands(problem, seed=3), solution.workspace_bytes) as buffers:
        prepared = prepare(device, solution, buffers)
        for _ in range(10):
            buffers.poison()
            prepared.execute()
            yield buffers.download_result().tobytes()


@pytest.fixture(scope="session")
def repeat() -> Callable[..., Iterator[bytes]]:
    return _repeat


@pytest.fixture(scope="session")
def execute() -> Callable[..., Check]:
    return _execute


@pytest.fixture(scope="session")
def solve() -> Callable[..., Check]:
    return _solve


@pytest.fixture(scope="session")
def cpu_info() -> DeviceInfo:
    return DeviceInfo(
        backend="cpu", name="any", arch="x86_64", compute_units=2, wavefront=1, lds_bytes=65536, memory_bytes=2**33
    )


@pytest.fixture(scope="session")
def gpu_info() -> DeviceInfo:
    """As an MI300X describes itself."""
    return DeviceInfo(
        backend="hip", name="any", arch="gfx942", compute_units=304, wavefront=64, lds_bytes=65536, memory_bytes=2**37
    )
