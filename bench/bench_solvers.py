"""The best solver of each layer on the CPU beside numpy's im2col and matrix product, and its search beside its default.

Layers of ResNet-50 in fp32 at batch 1, forward, on all cores. Both sides alternate, so that a busy machine slows both
alike; the best time of each counts.
"""

from __future__ import annotations

import time
from statistics import geometric_mean
from typing import TYPE_CHECKING

import numpy as np

from bench.rows import Row
from pytest_miopen_perf.checking.reference import make_operands
from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers.implicit_gemm import SOLVERS

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pytest_miopen_perf.checking.reference import Operands
    from pytest_miopen_perf.devices import Device

_LAYERS = (
    "-c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1",
    "-c 128 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1",
    "-c 256 -H 14 -W 14 -k 256 -y 3 -x 3 -p 1 -q 1",
    "-c 512 -H 7 -W 7 -k 512 -y 3 -x 3 -p 1 -q 1",
    "-c 64 -H 56 -W 56 -k 256 -y 1 -x 1",
    "-c 256 -H 56 -W 56 -k 64 -y 1 -x 1",
    "-c 512 -H 28 -W 28 -k 128 -y 1 -x 1",
    "-c 256 -H 14 -W 14 -k 1024 -y 1 -x 1",
    "-c 512 -H 7 -W 7 -k 2048 -y 1 -x 1",
    "-c 256 -H 56 -W 56 -k 512 -y 1 -x 1 -u 2 -v 2",
)
_CONFIGS = ("1,64,48,64,4,24,8", "1,64,48,128,4,24,8", "1,48,64,128,6,16,8", "1,96,32,128,6,16,8")
"""A few of the search's usual winners, beside the default: a whole search takes minutes."""

_ROUNDS = 9
_MOST_OF_NUMPY = 1 / 0.4
_MOST_OF_NUMPY_UNTUNED = 1 / 0.3


def run() -> list[Row]:
    """Time ratios in geometric mean: below 1 the solver is faster than numpy."""
    device = load_backend("cpu").open_device(DeviceOptions())
    ratios = [_ratios(device, *ConvProblem.from_driver(f"MIOpenDriver conv -n 1 {layer} -F 1")) for layer in _LAYERS]
    device.close()
    tuned, default = (geometric_mean(column) for column in zip(*ratios, strict=True))
    return [
        Row("implicit GEMM forward, tuned / numpy", tuned, _MOST_OF_NUMPY, "x"),
        Row("implicit GEMM forward, default / numpy", default, _MOST_OF_NUMPY_UNTUNED, "x"),
    ]


def _ratios(device: Device, problem: ConvProblem) -> tuple[float, float]:
    """The best config's time and the default's, over numpy's."""
    solver = SOLVERS[0]
    operands = make_operands(problem, seed=1)
    default = solver.default_config(problem, device.info).serialize()
    configs = [solver.parse_config(text) for text in dict.fromkeys((default, *_CONFIGS))]
    with ConvBuffers(device, problem, operands, 0) as buffers:
        contestants: list[Callable[[], float]] = [_numpy_convolution(problem, operands)]
        for config in configs:
            prepared = prepare(device, solver.solution(problem, device.info, config), buffers)
            contestants.append(lambda prepared=prepared: sum(prepared.execute()))  # type: ignore[misc]  one each
        rounds = [[contestant() for contestant in contestants] for _ in range(_ROUNDS + 1)][1:]
    theirs, *ours = (min(times) for times in zip(*rounds, strict=True))
    return min(ours) / theirs, ours[0] / theirs


def _numpy_convolution(problem: ConvProblem, operands: Operands) -> Callable[[], float]:
    x, w = operands.first[0], operands.second.reshape(problem.k, -1)

    def seconds() -> float:
        start = time.perf_counter()
        np.matmul(w, _im2col(problem, x))
        return time.perf_counter() - start

    return seconds


def _im2col(problem: ConvProblem, x: NDArray[np.float32]) -> NDArray[np.float32]:
    """The columns of one image; x itself where it is its own matrix."""
    if set(problem.filter) == set(problem.stride) == {1}:
        return x.reshape(problem.c, -1)
    padded = np.pad(x, ((0, 0), *((pad, pad) for pad in problem.pad)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, problem.filter, axis=(1, 2))
    strided = windows[:, :: problem.stride[0], :: problem.stride[1]]
    return np.ascontiguousarray(strided.transpose(0, 3, 4, 1, 2)).reshape(-1, strided.shape[1] * strided.shape[2])
