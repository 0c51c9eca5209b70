"""The kernels that bring tensors to another layout, on every AMD target: they compile, fit, and spill nothing."""

import pytest
from static_rows import faults

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES, planned_device
from pytest_miopen_perf.codeobject.cases import planned_cases
from pytest_miopen_perf.codeobject.table import resources_table
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers.im2col_gemm import SOLVERS

LINES = (
    "conv -n 16 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -I NHWC -f NHWC -O NHWC -F 1",
    "convfp16 -n 16 -c 64 -H 28 -W 28 -k 128 -y 3 -x 3 -p 1 -q 1 -I NHWC -f NHWC -O NHWC -F 1",
)


def transposing_cases(target):
    for line in LINES:
        (problem,) = ConvProblem.from_driver(line)
        assert SOLVERS[0].refusal(problem, planned_device(target)) is None
        cases = planned_cases(SOLVERS[0], problem, [target])
        yield from (case for case in cases if case.kernel.file == "transpose_layout.hip")


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_it_compiles_and_is_clean(builder, target):
    if reason := builder.refusal(target):
        pytest.skip(reason)
    rows = list(resources_table(transposing_cases(target), builder))
    assert {row.case.kernel.entry for row in rows} == {"batched_transpose_32x32_dword", "batched_transpose_32x32_half"}
    assert [fault for row in rows for fault in faults(row)] == []
