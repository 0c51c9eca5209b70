"""Records to their lines and back, the schema on real lines and broken ones, and what a level shows."""

import copy
import json
import math
import re

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
from pytest_miopen_perf.schema.acceptor import compile_acceptor

UNMEASURED = 2**64 - 1

# --- Lines in MIOpen's shape, one of each kind ------------------------------------------------------------------------

NUMBER_VARIABLES = """
MIOPEN_FIND_MODE=5 MIOPEN_FIND_ENFORCE=1 MIOPEN_DEBUG_DISABLE_FIND_DB=0 MIOPEN_DEBUG_CONV_FFT=0
MIOPEN_DEBUG_CONV_DIRECT=0 MIOPEN_DEBUG_CONV_GEMM=0 MIOPEN_DEBUG_CONV_WINOGRAD=0 MIOPEN_DEBUG_CONV_IMPLICIT_GEMM=0
MIOPEN_DEBUG_CONV_IMMED_FALLBACK=0 MIOPEN_DEBUG_ENABLE_AI_IMMED_MODE_FALLBACK=0
MIOPEN_DEBUG_FORCE_IMMED_MODE_FALLBACK=0 MIOPEN_DEBUG_FIND_ONLY_SOLVER= MIOPEN_TUNING_PATIENCE=18446744073709551615
MIOPEN_TUNING_TIME_MS_MAX=7200000 MIOPEN_SEARCH_CUTOFF=0 MIOPEN_SEARCH_CUTOFF_MUL=10 MIOPEN_SEARCH_SKIP_PCT=0
MIOPEN_DEVICE_ARCH= MIOPEN_DEVICE_CU= MIOPEN_DEBUG_CHECK_SUB_BUFFER_OOB_MEMORY_ACCESS=0 MIOPEN_LOG_LEVEL=0
"""
ENVIRONMENT = {
    name: int(value) if value else "" for name, value in (pair.split("=") for pair in NUMBER_VARIABLES.split())
}


def config_json(times="[1.5,1.25]", figures=("1.375", "0.125", "1.25", "1.5"), exec_number=1, rest=""):
    mean, std, least, greatest = figures
    return (
        f'{{"config_name":"ConvFwd",{rest}"exec_number":{exec_number},"time_executions_ms":{times},"time_ms":{mean},'
        f'"time_std_ms":{std},"time_min_ms":{least},"time_max_ms":{greatest},"number_of_transformations":0,'
        f'"kernels":null}}'
    )


def solution_json(*configs, phase="execution"):
    return (
        f'{{"solution":"ConvFwd","solver_id":137,"workspace_bytes":0,"phase":"{phase}",'
        f'"performance_configs":[{",".join(configs)}]}}'
    )


FAILED_CONFIG = config_json("[]", "0000", UNMEASURED, '"config_descriptor":"DeviceGroupedConv<128, 32, 64>",')
WITH_KERNELS = config_json().replace(
    '"kernels":null',
    '"kernels":[{"kernel_name":"SubTensorOp","time_executions_ms":[0.08,0.07],"is_transformation":true},'
    '{"kernel_name":"igemm","time_executions_ms":[],"is_transformation":false}]',
)
PERFORMANCE_2D = (
    '{"performance":{"name":"fwd-conv3x3u1","algorithm":5,"solution":"137/ConvFwd<2-3>","direction":"forward",'
    '"operation":"conv","dimensions":2,"n":1,"c":128,"ho":256,"wo":256,"y":3,"x":3,"k":128,'
    '"db_key":"128-256-256-3x3-128-256-256-1-1x1-1x1-1x1-0-NCHW-BF16-F",'
    '"perf_db_key":"2x128x256x256x1x3x3x1x128x1x1x1x0x1x1x0x1x1x0x0x1xNCHWxBF16xF",'
    '"results":{"average_time_ms":0.145735,"flop_count":19327352832,"bytes_read":17072128,"bytes_written":16777216,'
    '"gflops":132620,"gb_per_s":232.266}}}'
)
PERFORMANCE_3D = (
    PERFORMANCE_2D.replace('"dimensions":2', '"dimensions":3')
    .replace("conv3x3u1", "conv3x3x3u2")
    .replace('"ho"', '"do":4,"ho"')
    .replace('"y"', '"z":3,"y"')
)
LINES = {
    "command": '{"command":"MIOpenDriver conv -n 1 -c 128 -H 256 -W 256 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1"}',
    "prng seed": '{"prng_seed":12345678}',
    "system": (
        '{"timestamp":"2026-04-01 12:00:00 UTC","system_info":{"hostname":"h1","os":"Linux 6.8.0","cpu_vendor":"AMD",'
        '"cpu_model":"2 x EPYC 9654","ram_size":"1511 GB","gpu_model":"8 x AMD Instinct MI300X"},'
        '"build_info":{"rocm":"7.1.25424","miopen_version":"3.5.1","amdgpu_driver":"6.14.15"}}'
    ),
    "build": '{"build_info":{"miopen_version":"3.5.1"}}',
    "find": json.dumps(
        {"find_time_conv_ms": 812.345, "direction": "backward-data", "environment_variables": ENVIRONMENT},
        separators=(",", ":"),
    ),
    "performance 2-D": PERFORMANCE_2D,
    "performance 3-D": PERFORMANCE_3D,
    "verification": (
        '{"verification":{"direction":"backward_bias","status":"OK","reference":"GPU","error":2.19793e-08,'
        '"tolerance":1.5e-06}}'
    ),
    "verification of a run that failed": (
        '{"verification":{"direction":"backward_data","status":"FAILED","reference":"GPU","error":1.79769e+308,'
        '"tolerance":1.5e-05}}'
    ),
    "error": '{"error":"ParseCmdLineArgs() FAILED, rc = 1"}',
    "executed solution": solution_json(config_json()),
    "solution with kernels": solution_json(WITH_KERNELS),
    "search with a failed config": solution_json(config_json(), FAILED_CONFIG, phase="solver_tuning"),
}


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


# --- Broken lines -----------------------------------------------------------------------------------------------------


def broken(line, path, value):
    """The decoded line with the value at a path replaced, or taken away for `...`."""
    data = json.loads(LINES[line])
    *parents, last = path.split("/")
    place = data
    for step in parents:
        place = place[int(step) if step.isdigit() else step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return data


CONFIG = "performance_configs/0"
SEARCH = "search with a failed config"
KERNEL = f"{CONFIG}/kernels/0"
BROKEN = [
    ("executed solution", "phase", "warm-up", "$.phase"),
    ("executed solution", "solution", "", "$.solution"),
    ("executed solution", "solver_id", -1, "$.solver_id"),
    ("executed solution", "solver_id", 2**64, "$.solver_id"),
    ("executed solution", "workspace_bytes", 0.5, "$.workspace_bytes"),
    ("executed solution", "workspace_bytes", ..., "$: 'workspace_bytes'"),
    ("executed solution", "performance_configs", [], "$.performance_configs"),
    ("executed solution", "note", 1, "'note'"),
    ("executed solution", f"{CONFIG}/time_ms", -1, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_ms", math.nan, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_ms", math.inf, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_ms", None, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_ms", True, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_executions_ms", [1, "2"], "$.performance_configs[0].time_executions_ms[1]"),
    ("executed solution", f"{CONFIG}/time_executions_ms", [1.5, math.nan], "time_executions_ms[1]"),
    ("executed solution", f"{CONFIG}/time_executions_ms", [], "$.performance_configs[0].time_executions_ms"),
    ("executed solution", f"{CONFIG}/exec_number", 2, "$.performance_configs[0].exec_number"),
    ("executed solution", f"{CONFIG}/exec_number", 0, "$.performance_configs[0].exec_number"),
    ("executed solution", f"{CONFIG}/exec_number", True, "$.performance_configs[0].exec_number"),
    ("executed solution", f"{CONFIG}/config_descriptor", "", "$.performance_configs[0].config_descriptor"),
    ("executed solution", f"{CONFIG}/kernels", ..., "'kernels' is a required property"),
    ("executed solution", f"{CONFIG}/kernels", {}, "$.performance_configs[0].kernels"),
    ("executed solution", f"{CONFIG}/number_of_transformations", -1, "number_of_transformations"),
    ("solution with kernels", f"{KERNEL}/is_transformation", 1, "$.performance_configs[0].kernels[0].is_transf"),
    ("solution with kernels", f"{KERNEL}/time_ms", 1, "'time_ms'"),
    ("prng seed", "prng_seed", 2**32, "$.prng_seed"),
    ("command", "command", "", "$.command"),
    ("command", "time", 1, "'time'"),
    ("system", "timestamp", "yesterday", "$.timestamp"),
    ("system", "system_info/gpus", "8", "$.system_info"),
    ("build", "build_info/rocm", "7", "$.build_info"),
    ("find", "environment_variables/MIOPEN_FIND_MODE", "5", "$.environment_variables.MIOPEN_FIND_MODE"),
    ("find", "environment_variables/MIOPEN_LOG_LEVEL", ..., "'MIOPEN_LOG_LEVEL'"),
    ("find", "direction", "backward", "$.direction"),
    ("performance 2-D", "performance/do", 1, "'do'"),
    ("performance 3-D", "performance/do", ..., "'do'"),
    ("performance 2-D", "performance/direction", "backward-data", "$.performance.direction"),
    ("performance 2-D", "performance/solution", "ConvFwd", "$.performance.solution"),
    ("performance 2-D", "performance/results/gflops", math.inf, "$.performance.results.gflops"),
    ("performance 3-D", "performance/name", "fwd-conv3x3u1", "$.performance.name"),
    ("verification", "verification/status", "PASSED", "$.verification.status"),
    ("verification", "verification/direction", "backward-data", "$.verification.direction"),
    ("error", "error", None, "$.error"),
    ("executed solution", f"{CONFIG}/time_ms", 3.5e38, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_max_ms", 10**400, "$.performance_configs[0].time_max_ms"),
    ("find", "find_time_conv_ms", 10**400, "$.find_time_conv_ms"),
    ("performance 2-D", "performance/results/average_time_ms", 10**400, "$.performance.results.average_time_ms"),
    ("performance 2-D", "performance/results/gb_per_s", 10**400, "$.performance.results.gb_per_s"),
    ("verification", "verification/error", 10**400, "$.verification.error"),
    ("verification", "verification/tolerance", 10**400, "$.verification.tolerance"),
]


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


# --- The fast check of list items agrees with the plain one -----------------------------------------------------------


def plain_validator(kind):
    """The unchanged Draft 2020-12, but for numbers being finite."""
    cls = jsonschema.Draft202012Validator
    types = cls.TYPE_CHECKER.redefine(
        "number", lambda _, v: cls.TYPE_CHECKER.is_type(v, "number") and v not in (math.inf, -math.inf) and v == v
    )
    plain = jsonschema.validators.extend(cls, type_checker=types)
    return plain({"$defs": schema.load_schema()["$defs"], "$ref": f"#/$defs/{kind}"})


PLAIN = {kind: plain_validator(kind) for kind in schema.LINE_KINDS.values()}


def is_valid(data):
    try:
        validate(data)
    except InvalidRecordError:
        return False
    return True


odd_values = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.sampled_from([0, 1, 2**64 - 1, 2**64, 10**400, 0.0, 1.0, -0.0, "", "x", "execution", [], {}]),
    st.floats(allow_nan=True),
    st.lists(st.one_of(st.floats(allow_nan=True), st.integers(-1, 3), st.booleans(), st.just("1")), max_size=3),
)


def places(data):
    """Every (container, key) below a decoded line."""
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield data, key
        yield from places(value)


def test_every_keyword_below_items_has_a_fast_check():
    definitions = schema.load_schema()["$defs"]
    assert compile_acceptor(definitions["config"], definitions)({}) is False


@pytest.mark.parametrize("kind", ["config", "performance_2d", "verification"])
def test_keys_in_any_order_have_a_fast_check(kind):
    definitions = schema.load_schema()["$defs"]
    lines = [json.loads(line) for line in LINES.values()]
    parts = {
        "config": next(line["performance_configs"][0] for line in lines if "solution" in line),
        "performance_2d": next(
            line["performance"] for line in lines if line.get("performance", {}).get("dimensions") == 2
        ),
        "verification": next(line for line in lines if "verification" in line),
    }
    accepts = compile_acceptor(definitions[kind], definitions)
    assert accepts(parts[kind])
    assert accepts(dict(reversed(parts[kind].items())))
    assert not accepts({**parts[kind], "new": 1})
    assert not accepts(dict(list(parts[kind].items())[1:]))


@st.composite
def disturbed(draw):
    data = json.loads(LINES[draw(st.sampled_from(["solution with kernels", SEARCH]))])
    for _ in range(draw(st.integers(0, 2))):
        container, key = draw(st.sampled_from(list(places(data))))
        if draw(st.booleans()):
            container[key] = draw(odd_values)
        elif isinstance(container, dict):
            container.pop(key)
        else:
            container.append(draw(odd_values))
    return data


@given(disturbed())
def test_fast_and_plain_validation_agree(data):
    if "solution" in data:
        assert is_valid(data) == PLAIN["solution_record"].is_valid(data)


@pytest.mark.parametrize("broken_line", BROKEN, ids=lambda b: f"{b[0]} {b[1]} {b[2]!r:.12}")
def test_fast_and_plain_validation_agree_on_broken_lines(broken_line):
    data = broken(*broken_line[:3])
    kind = next(kind for key, kind in schema.LINE_KINDS.items() if key in data)
    assert not PLAIN[kind].is_valid(data)


SMALL = {
    "boolean": {"type": "boolean"},
    "either": {"type": ["array", "null"], "items": {"type": "integer", "minimum": 0, "maximum": 2}, "maxItems": 2},
    "object": {"type": "object", "properties": {"a": {"const": 1}}, "required": ["a"], "additionalProperties": False},
    "choice": {"if": {"$ref": "#/$defs/object"}, "then": True, "else": {"type": "string", "minLength": 1}},
    "strict choice": {"if": {"type": "integer"}, "then": {"enum": [1, "x"]}, "else": {"type": "number", "minimum": 0}},
    "never": {"if": True, "then": False, "else": True},
}


@given(st.sampled_from(sorted(SMALL)), st.one_of(odd_values, st.dictionaries(st.sampled_from("ab"), odd_values)))
def test_an_acceptor_accepts_nothing_that_the_schema_refuses(name, data):
    accepts = compile_acceptor(SMALL[name], SMALL)
    if accepts(data):
        jsonschema.validate(data, {"$defs": SMALL, "$ref": f"#/$defs/{name}"})


@pytest.mark.parametrize(
    "rule",
    [
        {"type": "string", "maxLength": 3},
        {"type": "number", "multipleOf": 2},
        {"type": "object", "properties": {}},
        {"type": "array", "items": {"pattern": "x"}},
        {"type": "object", "properties": {"a": {"pattern": "x"}}, "additionalProperties": False},
        {"type": ["string", "thing"]},
        {"enum": [1.5]},
        {"const": None},
        {"if": {"pattern": "x"}, "then": True, "else": True},
        {"minimum": 1},
        {},
    ],
    ids=json.dumps,
)
def test_what_an_acceptor_does_not_know_it_leaves_alone(rule):
    assert compile_acceptor(rule, {}) is None


@given(disturbed())
def test_whatever_validates_is_read_and_printed_and_validates_again(data):
    if is_valid(data):
        line = from_json(copy.deepcopy(data)).to_line()
        validate(json.loads(line))
        # JSON's -0 is an integer to Python, and has no sign; below the normal float32 six digits are too many.
        if not re.search(r"-0[,\]}]|e-(3[89]|4\d)", line):
            assert from_json(json.loads(line)).to_line() == line


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
