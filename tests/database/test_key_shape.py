import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import problems, small_problems

from pytest_miopen_perf.database import key_shape
from pytest_miopen_perf.database.key_shape import find_key_shape, perf_key_type
from pytest_miopen_perf.errors import DatabaseKeyError, ProblemError
from pytest_miopen_perf.problems.db_key import find_db_key, parse_find_db_key, parse_perf_db_key, perf_db_key

KEY = "64-56-56-3x3-32-56-56-16-1x1-1x1-1x1-0-NCHW-FP32-F"


def answer(function, key):
    try:
        return function(key)
    except DatabaseKeyError as error:
        return str(error)


def slow_shape(key):
    problem = parse_find_db_key(key)
    return (
        problem.direction,
        problem.dtype,
        problem.n,
        problem.c,
        problem.k,
        problem.filter,
        problem.pad,
        problem.miopen_output,
        problem.groups,
        problem.is_empty,
    )


def slow_type(key):
    problem = parse_perf_db_key(key)
    return problem.direction, problem.dtype


def keyed(problem):
    try:
        return find_db_key(problem), perf_db_key(problem)
    except ProblemError:
        return "", ""


@given(st.one_of(problems(), small_problems()))
def test_keys_of_any_problem_read_as_the_long_way_does(problem):
    find_key, perf_key = keyed(problem)
    assert answer(find_key_shape, find_key) == answer(slow_shape, find_key)
    assert answer(perf_key_type, perf_key) == answer(slow_type, perf_key)


@settings(max_examples=200)
@given(small_problems(), st.data())
def test_keys_with_one_field_changed_read_as_the_long_way_does(problem, data):
    keys = keyed(problem)
    for key, fast, slow in zip(keys, (find_key_shape, perf_key_type), (slow_shape, slow_type), strict=True):
        where = data.draw(st.integers(0, len(key) - 1))
        other = data.draw(st.sampled_from("0123456789x-_gNCHWFB"))
        changed = key[:where] + other + key[where + data.draw(st.integers(0, 1)) :]
        assert answer(fast, changed) == answer(slow, changed)


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        f"{KEY}_g16",
        KEY.replace("NCHW", "NHWC-NHWC-NHWC"),
        "8-4-4-4-3x3x3-8-4-4-4-2-1x1x1-1x1x1-1x1x1-0-NCDHW-BF16-W",
        "288-8-48-32-3x1x1-288-8-48-32-37-1x0x0-1x1x1-1x1x1-0-NCDHW-BF16-F_g3",
    ],
)
def test_ordinary_keys_take_the_short_way(key, monkeypatch):
    monkeypatch.setattr(key_shape, "parse_find_db_key", None)
    assert find_key_shape(key).filter


def test_an_empty_convolution_is_told():
    shape = find_key_shape("1-1-1-4x4-512-1-1-128-0x0-1x1-1x1-0-NCHW-FP32-W")
    assert shape.is_empty
    assert not find_key_shape(KEY).is_empty


@pytest.mark.parametrize(
    "key",
    [
        "",
        "-",
        "x",
        KEY + "_g1",
        KEY + "_g3",
        KEY + "\n",
        KEY.replace("56", "56x"),
        KEY.replace("64", "064"),
        "9" * 9999,
    ],
)
def test_a_text_that_is_no_key_is_refused(key):
    with pytest.raises(DatabaseKeyError):
        find_key_shape(key)
    with pytest.raises(DatabaseKeyError):
        perf_key_type(key)
