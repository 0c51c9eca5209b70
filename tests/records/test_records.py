"""Records to their lines and back, the schema on real lines and broken ones, and what a level shows."""

import json
import math

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from records.miopen_lines import (
    BROKEN,
    CONFIG,
    LINES,
    broken,
)

from pytest_miopen_perf import schema
from pytest_miopen_perf.errors import InvalidRecordError
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout
from pytest_miopen_perf.records import (
    BuildInfo,
    CommandLine,
    ConfigRecord,
    ErrorLine,
    FindTime,
    KernelPhase,
    KernelRecord,
    Performance,
    PrngSeed,
    SolutionRecord,
    SystemInfo,
    Verification,
    from_json,
    is_transformation_kernel,
    validate,
    visible,
)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_line_of_each_kind_is_read_and_written_again_to_the_byte(line):
    record = from_json(json.loads(line))
    assert record.to_line() == line


def test_the_lines_cover_every_kind():
    kinds = {type(from_json(json.loads(line))) for line in LINES.values()}
    assert kinds == {
        *(SolutionRecord, CommandLine, PrngSeed, SystemInfo, BuildInfo),
        *(FindTime, Performance, Verification, ErrorLine),
    }


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_the_published_schema_as_a_whole_accepts_them(line):
    jsonschema.Draft202012Validator.check_schema(schema.load_schema())
    jsonschema.validate(json.loads(line), schema.load_schema())


@pytest.mark.parametrize(
    ("line", "path", "value", "named"), BROKEN, ids=[f"{b[0]} {b[1]} {b[2]!r:.12}" for b in BROKEN]
)
def test_a_broken_line_is_refused_and_the_place_is_named(line, path, value, named):
    with pytest.raises(InvalidRecordError) as caught:
        validate(broken(line, path, value))
    assert named in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [None, 1, "text", [], [{"command": "x"}], {}, {"times": [1]}])
def test_what_is_no_line_at_all_is_refused(data):
    with pytest.raises(InvalidRecordError, match=r"is a JSON object|is no line of the log"):
        validate(data)


def test_a_huge_wrong_value_does_not_flood_the_message():
    with pytest.raises(InvalidRecordError) as caught:
        validate(broken("executed solution", f"{CONFIG}/time_executions_ms", {"x": "y" * 100_000}))
    assert len(str(caught.value)) < 500


def test_a_draft_of_the_format_is_refused():
    with pytest.raises(InvalidRecordError):
        from_json({"solution": "A", "solver_id": 1, "phase": "execution", "kernels": []})


# --- Building a config record -----------------------------------------------------------------------------------------


def kernel(name, *times_ms, is_transformation=False):
    return KernelRecord(kernel_name=name, time_executions_ms=times_ms, is_transformation=is_transformation)


def measured(*kernels, name="ConvFwd", times_ms=(2.0, 1.0)):
    return ConfigRecord.measured(solution="ConvFwd", name=name, times_ms=times_ms, kernels=kernels)


@pytest.mark.parametrize(
    ("kernels", "name", "printed"),
    [
        ([], "ConvFwd", "ConvFwd"),
        ([kernel("igemm")], "ConvFwd", "igemm"),
        ([kernel("transpose", is_transformation=True), kernel("igemm"), kernel("b")], "ConvFwd", "igemm"),
        ([kernel("zz"), kernel("aa")], "ConvFwd", "zz"),
        ([kernel("transpose", is_transformation=True)], "ConvFwd", "ConvFwd"),
        ([kernel(""), kernel("igemm")], "ConvFwd", "igemm"),
        # Opened under its main kernel's name, as MIOpen's searches do: the solver is printed.
        ([kernel("igemm")], "igemm", "ConvFwd"),
        ([], "igemm", "ConvFwd"),
        ([kernel("other")], "igemm", "other"),
    ],
)
def test_the_config_is_named_after_its_main_kernel(kernels, name, printed):
    assert measured(*kernels, name=name).config_name == printed


def test_kernels_stand_in_the_order_of_their_bytes():
    names = ["b", "a", "Z", "é", "\uffff", "\U0001f600", "_", "aa"]
    found = [k.kernel_name for k in measured(*map(kernel, names)).kernels]
    assert found == sorted(names, key=lambda name: name.encode())


def test_transformations_are_counted_by_name():
    moved = [kernel(name, 1.0, 1.0, is_transformation=True) for name in ("transpose", "Im2Col")]
    assert measured(*moved, kernel("igemm")).number_of_transformations == 2


def test_a_config_without_times_is_not_a_measurement_of_zero():
    record = measured(times_ms=(0.0, math.nan, -1.0))
    assert record.exec_number == 0
    assert record.time_executions_ms == ()
    validate(json.loads(SolutionRecord.to_line(solution_of(record))))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *[("batched_transpose_32x32_half", True), ("SubTensorOpWithScalar1d", True), ("Im2d2Col_v2", True)],
        *[("wrw_reorder", True), ("NCHW2Vec4", True), ("MN2NMfast", True), ("Col2Im3d", True), ("NCHW2CNHW", True)],
        *[("igemm_fwd", False), ("im2col", False), ("TRANSPOSE", False), ("", False), ("subtensor", False)],
    ],
)
def test_transformations_are_recognised_by_miopens_words(name, expected):
    assert is_transformation_kernel(name) is expected


# --- Text -------------------------------------------------------------------------------------------------------------


def solution_of(*configs, phase=KernelPhase.EXECUTION, solution="ConvFwd"):
    return SolutionRecord(solution=solution, solver_id=137, workspace_bytes=0, phase=phase, performance_configs=configs)


def test_an_executed_solution_in_full():
    times = [5.12, 1.9, 1.5, 1.52, 1.48, 1.51, 1.49, 1.53, 9.75, 1.5]
    config = ConfigRecord.measured(solution="Conv", name="Conv", descriptor="64,8", times_ms=times, kernels=[])
    assert visible(solution_of(config, solution="Conv"), 1).to_line() == (
        '{"solution":"Conv","solver_id":137,"workspace_bytes":0,"phase":"execution","performance_configs":[{'
        '"config_name":"Conv","config_descriptor":"64,8","exec_number":1,'
        '"time_executions_ms":[5.12,1.9,1.5,1.52,1.48,1.51,1.49,1.53,9.75,1.5],"time_ms":1.50429,'
        '"time_std_ms":2.91534,"time_min_ms":1.48,"time_max_ms":9.75,"number_of_transformations":0,"kernels":null}]}'
    )


def test_strings_are_escaped_by_code_point():
    line = ErrorLine(error='"\\\b\f\n\r\t\x00\x1f\x7f/é\U0001f600').to_line()
    assert line == (r'{"error":"\"\\\b\f\n\r\t\u0000\u001f\u007f/\u00e9\ud83d\ude00"}')


@given(st.text(st.characters(), min_size=1))
def test_any_text_comes_back_from_a_line_of_ascii(text):
    line = CommandLine(command=text).to_line()
    assert line.isascii()
    assert line.isprintable()
    assert from_json(json.loads(line)) == CommandLine(command=text)


@pytest.mark.parametrize("error", [math.nan, math.inf, -math.inf])
def test_an_error_that_is_no_number_is_written_as_a_run_that_failed(error):
    line = Verification.of(Direction.FORWARD, passed=False, reference="CPU", error=error, tolerance=1e-6).to_line()
    assert '"error":1.79769e+308,' in line
    validate(json.loads(line))


def problem(direction, rank=2):
    layout = Layout.default(rank)
    return ConvProblem(
        direction=direction,
        dtype=DType.FP16,
        n=128,
        c=512,
        k=1000,
        spatial=(13,) * rank,
        filter=(1,) * rank,
        pad=(0,) * rank,
        stride=(1,) * rank,
        dilation=(1,) * rank,
        in_layout=layout,
        fil_layout=layout,
        out_layout=layout,
    )


@pytest.mark.parametrize(
    ("direction", "name", "word", "other"),
    [
        (Direction.FORWARD, "fwd-conv1x1u1", "forward", "forward"),
        (Direction.BACKWARD_DATA, "bwdd-conv1x1u1", "backward", "backward_data"),
        (Direction.BACKWARD_WEIGHTS, "bwdw-conv1x1u1", "backward-weights", "backward_weights"),
    ],
)
def test_directions_have_the_words_of_their_line_kind(direction, name, word, other):
    figures = Performance.measured(
        problem(direction), algorithm=1, solution="2/Conv", db_key="k", perf_db_key="p", average_time_ms=1.730399
    )
    assert (figures.name, figures.direction) == (name, word)
    assert figures.gflops == pytest.approx(12801, rel=1e-4)
    validate(json.loads(figures.to_line()))
    verdict = Verification.of(direction, passed=True, reference="CPU", error=0, tolerance=1)
    assert (verdict.direction, verdict.status) == (other, "OK")
    validate(json.loads(verdict.to_line()))


def test_a_3d_problem_names_its_depth():
    figures = Performance.measured(
        problem(Direction.FORWARD, 3), algorithm=1, solution="2/C", db_key="k", perf_db_key="p", average_time_ms=0.5
    )
    line = json.loads(figures.to_line())
    assert list(line["performance"])[5:14] == ["dimensions", "n", "c", "do", "ho", "wo", "z", "y", "x"]
    assert from_json(line).to_line() == figures.to_line()


# --- Levels -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 1, 2, 3, 4, 5, 8, 258, 2**64 - 1])
@pytest.mark.parametrize("phase", KernelPhase)
def test_a_level_shows_phases_and_kernels(level, phase):
    record = solution_of(measured(kernel("igemm", 1.0)), phase=phase)
    shown = visible(record, level)
    recorded = level > 2 or (level in (1, 2) and phase is KernelPhase.EXECUTION)
    assert (shown is not None) == recorded
    if shown is not None:
        listed = shown.performance_configs[0].kernels is not None
        assert listed == (level in (2, 4))
        assert shown.performance_configs[0].config_name == "igemm"


@pytest.mark.parametrize("level", [0, 1, 4, 9])
def test_lines_that_stand_alone_are_shown_above_level_0(level):
    record = PrngSeed(prng_seed=1)
    assert visible(record, level) == (record if level else None)
