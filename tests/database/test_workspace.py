import math

import pytest
from hypothesis import given
from strategies import small_problems

from pytest_miopen_perf.database.find_db import read_find_db
from pytest_miopen_perf.database.key_shape import find_key_shape
from pytest_miopen_perf.database.workspace import possible_workspaces
from pytest_miopen_perf.problem import Direction, DType

REST = {"F": "GemmFwdRest", "B": "GemmBwdRest", "W": "GemmWrwUniversal"}


@pytest.mark.parametrize(
    ("key", "solver", "possible"),
    [
        ("128-14-14-5x5-32-14-14-1-2x2-1x1-1x1-0-NCHW-FP32-B", "GemmBwdRest", (627200,)),
        ("1-1-1-3x3-2-3-3-128-0x0-1x1-1x1-0-NCHW-FP32-W", "GemmWrwUniversal", (72, 0)),
        ("128-1024-1024-3x3-128-1024-1024-1-1x1-1x1-1x1-0-NCHW-FP16-F", "GemmFwdRest", (2415919104,)),
        ("64-8-8-3x3-64-8-8-2-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F", "GemmFwdRest", (64 * 9 * 64 * 2,)),
        ("8-9-9-1x1-16-5-5-4-0x0-2x2-1x1-0-NCHW-FP32-F", "GemmFwd1x1_0_2", (4 * 24 * 25 * 4,)),
        ("8-9-9-1x1-16-9-9-4-0x0-1x1-1x1-0-NCHW-FP32-F", "GemmFwd1x1_0_1", (0,)),
        ("8-9-9-1x1-16-9-9-4-0x0-1x1-1x1-0-NCHW-FP32-F", "ConvDirectNaiveConvFwd", (0,)),
        ("8-9-9-1x1-16-9-9-4-0x0-1x1-1x1-0-NCHW-FP32-F", "fft", ()),
        ("8-9-9-1x1-16-9-9-4-0x0-1x1-1x1-0-NCHW-FP32-F", "unheard of", ()),
    ],
)
def test_known_workspaces(key, solver, possible):
    assert possible_workspaces(solver, find_key_shape(key)) == possible


def test_the_samples_agree(sample):
    for name in ("sample_v1.fdb.txt", "sample_v2.ufdb.txt"):
        for record in read_find_db(sample(name)):
            for entry in record.entries:
                possible = possible_workspaces(entry.solver, find_key_shape(record.key))
                assert not possible or entry.workspace_bytes in possible


@given(small_problems(transposed=(False,), directions=(Direction.FORWARD, Direction.BACKWARD_WEIGHTS)))
def test_the_unfolded_input_is_one_row_of_the_reduction_for_each_output_position(problem):
    columns = problem.c // problem.groups * math.prod(problem.filter) * problem.groups
    elements = columns * math.prod(problem.output) * (2 if problem.dtype is DType.INT8 else 1)
    (needed, *_) = possible_workspaces(REST[problem.direction.value], find_key_shape(problem.find_db_key()))
    assert needed == elements * problem.dtype.bytes
