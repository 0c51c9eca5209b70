"""What the matrix cores of the NVIDIA card at hand make of long sums of one sign, and what the check says to it.

`python -m tests.gpu.truncated_sums`: backward weights of 1x1 convolutions whose sums come to lie just above a power of
two, where a rounding to 16 bits leaves no room, in one part and in as many as the solver takes. Each result is compared
with its emulation, bit for bit, and judged. Elements out of bounds are expected in parts that are too long.
"""

from __future__ import annotations

import sys

import numpy as np

from pytest_miopen_perf.checking.reference import compute_reference, make_operands
from pytest_miopen_perf.checking.tensors import Element, pack, quantize, result_slot, tensor_spec, unpack
from pytest_miopen_perf.checking.verification import element_bounds
from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers.implicit_gemm_matrix import SOLVERS
from pytest_miopen_perf.solvers.matrix_cores import longest_sum
from tests.truncation import truncated_sums

LENGTHS = (320, 1264, 2528, 5056, 10112)
CONFIGS = ("128,128,32,2,2,3", "128,128,64,1,8,3")
CHANNELS = 256
WRW = SOLVERS[2]


def problem_of(base, length):
    layouts = "--in_layout NHWC --fil_layout NHWC --out_layout NHWC"
    line = f"MIOpenDriver {base} -n 1 -c {CHANNELS} -H 1 -W {length} -k {CHANNELS} -y 1 -x 1 {layouts} -F 4"
    (problem,) = ConvProblem.from_driver(line)
    return problem


def emulated(problem, operands):
    """The result of one part, as it would lie in the device's memory."""
    x, y = (each.reshape(CHANNELS, -1).astype(float) for each in (operands.first, operands.second))
    sums = np.stack([truncated_sums(row, x) for row in y]).astype(np.float32)
    spec = tensor_spec(problem, result_slot(problem))
    return pack(quantize(sums.reshape(spec.shape), Element(problem.dtype.value)), spec)


def main():
    device = load_backend("cuda").open_device(DeviceOptions())
    print(f"{'':16}{'parts':>6}{'of at most':>11}{'mean error':>12}{'granted':>9}{'out':>7}  as emulated")
    for base in ("convfp16", "convbfp16"):
        for length in LENGTHS:
            problem = problem_of(base, length)
            operands = make_operands(problem, seed=11)
            reference = compute_reference(problem, operands)
            bounds, expected = element_bounds(problem, reference), emulated(problem, operands)
            fewest = min(config.parts for config in WRW.configs(problem, device.info))
            for config in (f"{text},{parts}" for parts in sorted({1, fewest}) for text in CONFIGS):
                solution = WRW.solution(problem, device.info, WRW.parse_config(config))
                with ConvBuffers(device, problem, operands, solution.workspace_bytes) as buffers:
                    buffers.poison()
                    prepare(device, solution, buffers).execute()
                    memory = buffers.download_result()
                error = unpack(memory, tensor_spec(problem, result_slot(problem))) - reference.values
                parts = solution.config.parts
                same = f"{np.mean(memory == expected):.2%}" if parts == 1 else ""
                print(
                    f"{base:9}{length:7}{parts:6}{longest_sum(device.info, length):11}"
                    f"{(error / reference.magnitudes).mean():+12.1e}{(2 * length**0.5 + 4) * 2**-24:9.1e}"
                    f"{(np.abs(error) > bounds).sum():7}  {same} {config}"
                )


if __name__ == "__main__":
    sys.exit(main())
