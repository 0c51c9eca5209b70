import dataclasses
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems, small_problems

from pytest_miopen_perf.errors import DatabaseKeyError, ProblemError
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout
from pytest_miopen_perf.problems.db_key import find_db_key, parse_find_db_key, parse_perf_db_key, perf_db_key
from pytest_miopen_perf.problems.pad_mode import PadMode

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"

PAIRS = [
    # a command as MIOpen's log writes it, its find-db key and its perf-db key
    (
        "conv -n 32 -c 64 -H 56 -W 56 -k 64 -p 1 -q 1 -F 1",
        "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F",
        "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF",
    ),
    (
        "convfp16 -n 16 -c 512 -H 13 -W 13 -k 1000 -y 1 -x 1 -F 2",
        "1000-13-13-1x1-512-13-13-16-0x0-1x1-1x1-0-NCHW-FP16-B",
        "2x1000x13x13x1x1x1x1x512x16x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP16xB",
    ),
    (
        "convfp16 -n 16 -c 1024 -H 14 -W 14 -k 1024 -p 1 -q 1 -g 32 -F 2",
        "1024-14-14-3x3-1024-14-14-16-1x1-1x1-1x1-0-NCHW-FP16-B_g32",
        "2x1024x14x14x1x3x3x1x1024x16x1x1x0x1x1x0x1x1x0x0x32xNCHWxFP16xB",
    ),
    (
        "convbfp16 -n 1 -c 1024 -k 1024 -! 1 -H 12 -W 12 -@ 1 -y 1 -x 1 -_ 3 -I NDHWC -f NDHWC -O NDHWC -F 1",
        "1024-1-12-12-1x1x1-1024-1-12-12-1-0x0x0-1x1x1-1x1x1-0-NDHWC-NDHWC-NDHWC-BF16-F",
        "3x1024x12x12x1x1x1x1x1024x1x0x0x0x1x1x1x1x1x1x0x1xNDHWCxBF16xF",
    ),
    (
        "convbfp16 -n 2 -c 1 -H 1 -W 80592 -k 514 -y 1 -x 512 -v 80 -F 1",
        "1-1-80592-1x512-514-1-1002-2-0x0-1x80-1x1-0-NCHW-BF16-F",
        "2x1x1x80592x1x1x512x1x514x2x0x0x0x1x80x0x1x1x0x0x1xNCHWxBF16xF",
    ),
    (
        "convbfp16 -n 37 -c 288 --in_d 8 -H 48 -W 32 -k 288 --fil_d 3 -y 1 -x 1 --pad_d 1 -g 3 --spatial_dim 3 -F 1",
        "288-8-48-32-3x1x1-288-8-48-32-37-1x0x0-1x1x1-1x1x1-0-NCDHW-BF16-F_g3",
        "3x288x48x32x8x1x1x3x288x37x0x0x1x1x1x1x1x1x1x0x3xNCDHWxBF16xF",
    ),
    (
        "convbfp16 -n 1 -c 512 -H 1 -W 3006 -k 1024 -y 1 -x 16 -q 5 -v 6 -F 2",
        "1024-1-501-1x16-512-1-3006-1-0x5-1x6-1x1-0-NCHW-BF16-B",
        "2x1024x1x501x1x1x16x1x512x1x0x5x0x1x6x0x1x1x0x0x1xNCHWxBF16xB",
    ),
    (
        "convint8 -n 256 -c 256 -H 14 -W 14 -k 256 -p 1 -q 1 -F 1",
        "256-14-14-3x3-256-14-14-256-1x1-1x1-1x1-0-NCHW-INT8INT8INT32-F",
        "2x256x14x14x1x3x3x1x256x256x1x1x0x1x1x0x1x1x0x0x1xNCHWxINT8INT8INT32xF",
    ),
    (
        "conv -n 128 -c 512 -H 1 -W 1 -k 1 -y 4 -x 4 -F 4",  # empty; the key states MIOpen's output of 1x1
        "1-1-1-4x4-512-1-1-128-0x0-1x1-1x1-0-NCHW-FP32-W",
        "2x1x1x1x1x4x4x1x512x128x0x0x0x1x1x0x1x1x0x0x1xNCHWxFP32xW",
    ),
]


# --- problem to key


@pytest.mark.parametrize(("command", "find_key", "perf_key"), PAIRS)
def test_keys_of_known_commands(command, find_key, perf_key):
    (problem,) = ConvProblem.from_driver(command)
    assert problem.find_db_key() == find_db_key(problem) == find_key
    assert problem.perf_db_key() == perf_db_key(problem) == perf_key
    assert parse_find_db_key(find_key) == problem


def test_keys_of_mixed_layouts_follow_the_tensors():
    (forward,) = ConvProblem.from_driver("conv -n 1 -c 2 -k 3 -H 5 -W 5 -I NHWC -f CHWN -F 1")
    assert "-NHWC-CHWN-NCHW-" in find_db_key(forward)
    assert "xNHWCx" in perf_db_key(forward)
    backward = dataclasses.replace(forward, direction=Direction.BACKWARD_DATA)
    assert "-NCHW-CHWN-NHWC-" in find_db_key(backward)
    assert "xNCHWx" in perf_db_key(backward)
    assert parse_find_db_key(find_db_key(backward)) == backward


def test_a_transposed_convolution_is_stored_as_the_plain_one():
    (problem,) = ConvProblem.from_driver("conv -n 64 -c 100 -H 1 -W 1 -k 1024 -y 4 -x 4 -m trans -F 1")
    # backward data reads the tensor that goes in, 100x1x1, and writes the one that comes out, 1024x4x4
    assert find_db_key(problem) == "100-1-1-4x4-1024-4-4-64-0x0-1x1-1x1-0-NCHW-FP32-B"
    assert parse_find_db_key(find_db_key(problem)) == problem.canonical()


def test_an_empty_transposed_convolution_has_no_key():
    (problem,) = ConvProblem.from_driver("conv -H 1 -W 1 -y 1 -x 1 -p 2 -q 2 -m trans -F 1")
    with pytest.raises(ProblemError):
        find_db_key(problem)


# --- key to problem and back


def has_key(problem: ConvProblem) -> bool:
    return not (problem.transposed and problem.is_empty)


@given(problems().filter(has_key))
def test_a_find_db_key_is_read_back(problem):
    key = find_db_key(problem)
    found = parse_find_db_key(key)
    assert find_db_key(found) == key
    if problem.pad_mode is PadMode.DEFAULT:
        assert found == problem.canonical()


@given(small_problems())
def test_the_find_db_key_of_a_small_problem_names_it(problem):
    assert parse_find_db_key(find_db_key(problem)) == problem.canonical()


@given(problems().filter(has_key))
def test_a_perf_db_key_is_read_back(problem):
    key = perf_db_key(problem)
    assert perf_db_key(parse_perf_db_key(key)) == key


@given(small_problems(mixed_layouts=False))
def test_a_perf_db_key_names_the_problem_but_for_an_input_size_that_it_does_not_hold(problem):
    plain = problem.canonical()
    found = parse_perf_db_key(perf_db_key(problem))
    assert found.output == plain.output
    assert all(small <= size for small, size in zip(found.spatial, plain.spatial, strict=True))
    if plain.direction is Direction.FORWARD or set(plain.stride) == {1}:
        assert found == plain


def test_pad_mode_is_found_where_the_default_does_not_explain_the_output():
    (same,) = ConvProblem.from_driver("conv -n 1 -c 2 -k 3 -H 8 -W 8 -y 2 -x 2 -z same -F 1")
    key = find_db_key(same)
    assert key == "2-8-8-2x2-3-8-8-1-0x0-1x1-1x1-0-NCHW-FP32-F"
    assert parse_find_db_key(key) == same


def test_the_old_spelling_of_int8_is_read():
    key = "256-14-14-3x3-256-14-14-256-1x1-1x1-1x1-0-NCHW-INT8-F"
    assert parse_find_db_key(key).dtype is DType.INT8
    perf_key = "2x256x14x14x1x3x3x1x256x256x1x1x0x1x1x0x1x1x0x0x1xNCHWxINT8xF"
    assert parse_perf_db_key(perf_key) == parse_find_db_key(key)


def test_a_perf_db_key_gives_one_layout_to_all_tensors():
    found = parse_perf_db_key("2x8x9x9x1x3x3x1x4x1x1x1x0x1x1x0x1x1x0x0x1xNHWCxFP16xF")
    assert {found.in_layout, found.fil_layout, found.out_layout} == {Layout.NHWC}


# --- refusals

GOOD = "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "fourth or fifth field should be the filter"),
        ("no key at all", "fourth or fifth field should be the filter"),
        (GOOD + "-F", "it has 16 fields"),
        (GOOD.removesuffix("-F"), "it has 14 fields"),
        (GOOD.replace("64-56", "abc-56", 1), "C holds 'abc', which is not a number"),
        (GOOD.replace("64-56", "-56", 1), "C holds ''"),
        (GOOD.replace("-32-", "-0-"), "n is 0"),
        (GOOD.replace("-32-", "-032-"), "MIOpen writes this convolution as 64-56-56"),
        (GOOD.replace("-32-", "-٣-"), "N holds '٣'"),
        (GOOD.replace("1x1-0-", "1x1-1-"), "bias is 1; only 0 is supported here"),
        (GOOD.replace("56-56-32", "55-56-32"), "its output size is 55x56, but its other sizes make it 56x56"),
        (GOOD.replace("FP32", "FP8"), "element type is 'FP8'"),
        (GOOD.replace("FP32", "FP64"), "element type is 'FP64'"),
        (GOOD.removesuffix("F") + "X", "direction is 'X', not one of: F, B, W"),
        (GOOD.replace("NCHW", "NCWH"), "layout is 'NCWH'"),
        (GOOD.replace("NCHW", "NHWC"), "MIOpen writes this convolution as .*NHWC-NHWC-NHWC"),
        (GOOD.replace("NCHW", "NCHW-NCHW-NCHW"), "MIOpen writes this convolution as"),
        (GOOD.replace("NCHW", "NCDHW"), "in_layout NCDHW does not describe 2"),
        (GOOD + "_g3", "groups is 3, which does not divide c = 64"),
        (GOOD + "_g1", "MIOpen writes this convolution as"),
        (GOOD + "_ciFP8_cwFP8_coFP32", "_ciFP8 casts a tensor to another type"),
        (GOOD + "_zz", "_zz behind the direction is unknown"),
        ("1024-4-14-14-1x1x1-2048-2-7-7-4-0x0-2x2x2-1x1x1-0-NCDHW-FP32-F", "pads '0x0' are not 3 numbers"),
        ("64-14-14-4-3x3-64-14-14-4-1-1x1-1x1-1x1-0-NCHW-FP32-F", "filter '3x3' are not 3 numbers"),
        ("8-2-4-4-1x1x1-8-2-4-4-1-0x0x0-1x1x1-1x1x1-0-NCHW-FP32-F", "in_layout NCHW does not describe 3"),
        ("256-14-14-3x3-256-14-14-256-1x1-1x1-1x1-0-NCHW-INT32INT8INT8-F", "MIOpen writes this convolution as"),
    ],
)
def test_a_wrong_find_db_key_says_what_is_wrong(key, message):
    with pytest.raises(DatabaseKeyError, match=message):
        parse_find_db_key(key)


GOOD_PERF = "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF"


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "it has 1 fields"),
        (GOOD_PERF + "x1", "it has 25 fields"),
        ("4" + GOOD_PERF[1:], "it begins with 4"),
        ("3" + GOOD_PERF[1:], "stride is 0x1x1; it takes whole numbers of at least 1"),
        (GOOD_PERF.replace("56x56x1", "56x56x2"), "input size: the depth of a 2-D convolution is 2, not 1"),
        (GOOD_PERF.replace("x32x1x1x0", "x32x1x1x1"), "pads: the depth of a 2-D convolution is 1, not 0"),
        (GOOD_PERF.replace("x0x1xNCHW", "x1x1xNCHW"), "bias is 1"),
        (GOOD_PERF.replace("x0x1xNCHW", "x0x5xNCHW"), "groups is 5"),
        (GOOD_PERF.replace("NCHW", "NCDHW"), "in_layout NCDHW does not describe 2"),
        (GOOD_PERF.replace("FP32", "BF8"), "element type is 'BF8'"),
        (GOOD_PERF.replace("x32x", "x032x"), "MIOpen writes this convolution as"),
        ("2x3x1x1x1x1x1x1x3x1x2x2x0x1x1x0x1x1x0x0x1xNCHWxFP32xB", "MIOpen writes this convolution as"),
    ],
)
def test_a_wrong_perf_db_key_says_what_is_wrong(key, message):
    with pytest.raises(DatabaseKeyError, match=message):
        parse_perf_db_key(key)


@given(st.text(), st.integers(0, len(GOOD)), st.integers(0, 3))
def test_any_damage_to_a_key_is_a_typed_error_or_another_key(text, where, lost):
    for good, parse, write in (
        (GOOD, parse_find_db_key, find_db_key),
        (GOOD_PERF, parse_perf_db_key, perf_db_key),
    ):
        damaged = good[:where] + text[:2] + good[where + lost :]
        try:
            problem = parse(damaged)
        except DatabaseKeyError:
            continue
        assert write(problem) == damaged


# --- keys of real data bases


@pytest.mark.parametrize("path", sorted(SAMPLES.glob("sample*db.txt")), ids=lambda path: path.name)
def test_keys_of_the_field(path):
    parse, write = (parse_perf_db_key, perf_db_key) if ".udb" in path.name else (parse_find_db_key, find_db_key)
    keys = [line.partition("=")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    read = 0
    for key in keys:
        try:
            problem = parse(key)
        except DatabaseKeyError:
            assert "broken" in path.name
            continue
        read += 1
        assert write(problem) == key
    assert read
