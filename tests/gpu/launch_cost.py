"""What a timed launch costs on the host, and how quiet the event timer is, on the NVIDIA card at hand.

`python tests/gpu/launch_cost.py`: a launch through our device layer beside a raw launch between two events through the
same bindings, and the interquartile range of a kernel of about a millisecond.
"""

from __future__ import annotations

import statistics
import sys
import time

from cuda.bindings import driver

from pytest_miopen_perf.checking.reference import make_operands
from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare
from pytest_miopen_perf.measuring.measure import measure
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.statistics import StoppingRule

SMALL = "conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
MILLISECOND = "conv -n 16 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1"
ROUNDS = 300


def seconds_each(act):
    act()
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        act()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def prepared(device, line, name):
    (problem,) = ConvProblem.from_driver(line)
    solver = next(solver for solver in builtin_solvers() if solver.name == name)
    buffers = ConvBuffers(device, problem, make_operands(problem, seed=1), solver.workspace_bytes(problem))
    solution = solver.solution(problem, device.info, solver.default_config(problem, device.info))
    return prepare(device, solution, buffers), buffers


def main():
    device = load_backend("cuda").open_device(DeviceOptions())
    small, held = prepared(device, SMALL, "HipConvImplicitGemmFwd")
    (call,) = small.next_calls()
    kernel, arguments = call.kernel, call.args
    ours = seconds_each(lambda: device.launch(kernel, call.grid, call.block, arguments, call.shared_bytes).seconds())
    start, end = (driver.cuEventCreate(0)[1] for _ in range(2))
    values = tuple(int(argument.buffer.memory) + argument.offset_bytes for argument in arguments)
    packed = (values, (__import__("ctypes").c_void_p,) * len(values))

    def raw():
        driver.cuEventRecord(start, 0)
        driver.cuLaunchKernel(kernel.function, *call.grid, *call.block, call.shared_bytes, 0, packed, 0)
        driver.cuEventRecord(end, 0)
        driver.cuEventSynchronize(end)
        driver.cuEventElapsedTime(start, end)

    theirs = seconds_each(raw)
    print(f"timed launch: ours {ours * 1e6:.1f} us, raw {theirs * 1e6:.1f} us, ratio {ours / theirs:.2f}")
    sample = measure(small.execute, StoppingRule.fixed(ROUNDS)).sample
    print(f"small kernel by events: median {sample.median_seconds * 1e6:.2f} us, noise {sample.noise:.4f}")
    long, also_held = prepared(device, MILLISECOND, "HipConvNaiveFwd")
    sample = measure(long.execute, StoppingRule.fixed(100)).sample
    print(
        f"naive kernel: median {sample.median_seconds * 1e3:.3f} ms, noise {sample.noise:.5f}, invalid {sample.invalid}"
    )
    for buffers in (held, also_held):
        buffers.free()
    device.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
