import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import problems

from pytest_miopen_perf.errors import DriverLineError, NotConvolutionError
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout
from pytest_miopen_perf.problems.driver_line import parse_command, to_line
from pytest_miopen_perf.problems.pad_mode import PadMode
from pytest_miopen_perf.problems.workload import bundled, bundled_path

SHARED = Path(__file__).parents[3] / "shared" / "workloads"
PLAIN = "conv -n 32 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1"
DEEP = (
    "MIOpenDriver convbfp16 -n 1 -c 16 --in_d 21 -H 138 -W 104 -k 16 --fil_d 1 -y 1 -x 1 --pad_d 0 -p 0 -q 0 "
    "--conv_stride_d 1 -u 1 -v 1 --dilation_d 1 -l 1 -j 1 --spatial_dim 3 -m conv -g 1 -F 1 -t 1"
)
EXPECTED = ConvProblem(
    direction=Direction.FORWARD,
    dtype=DType.FP32,
    n=32,
    c=64,
    k=64,
    spatial=(56, 56),
    filter=(3, 3),
    pad=(1, 1),
    stride=(1, 1),
    dilation=(1, 1),
    in_layout=Layout.NCHW,
    fil_layout=Layout.NCHW,
    out_layout=Layout.NCHW,
)


def one(line: str) -> ConvProblem:
    (problem,) = parse_command(line).problems
    return problem


# --- both ways


@given(problems())
def test_a_printed_problem_is_read_back(problem):
    assert one(to_line(problem)) == problem


@pytest.mark.parametrize("line", [f"MIOpenDriver {PLAIN}", DEEP])
def test_the_canonical_line_is_that_of_the_library(line):
    assert to_line(one(line)) == line


@pytest.mark.parametrize("name", bundled())
def test_lines_of_the_bundled_workloads_are_read_and_printed_back(name):
    check_lines(bundled_path(name))


@pytest.mark.parametrize("path", sorted(SHARED.glob("*.txt")), ids=lambda path: path.stem)
def test_lines_of_the_field_are_read_and_printed_back(path):
    check_lines(path)


def check_lines(path: Path) -> None:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    assert lines
    for line in lines:
        command = parse_command(line)
        assert command.problems
        assert not any(problem.is_empty for problem in command.problems)
        assert sorted(to_line(command.problems[0]).split()) == sorted(written_by_the_library(line, command.problems[0]))
        assert [one(problem.to_driver()) for problem in command.problems] == list(command.problems)


def written_by_the_library(line: str, problem: ConvProblem) -> list[str]:
    """The words of a line of a list, with one direction, and with no layout that is the default."""
    words = line.split()
    words[words.index("-F") + 1] = str(problem.direction.driver_bit)
    for flag in ("--in_layout", "--fil_layout", "--out_layout"):
        if flag in words and words[words.index(flag) + 1] in ("NCHW", "NCDHW"):
            del words[words.index(flag) : words.index(flag) + 2]
    return words


def test_a_problem_has_the_functions_as_methods():
    assert ConvProblem.from_driver(PLAIN) == (EXPECTED,)
    assert EXPECTED.to_driver() == f"MIOpenDriver {PLAIN}"


# --- dialects


@pytest.mark.parametrize(
    "line",
    [
        PLAIN,
        f"MIOpenDriver {PLAIN}",
        f"  MIOpenDriver {PLAIN}  \r\n",
        f"\ufeffMIOpenDriver {PLAIN}",
        f"MIOpenDriver: {PLAIN}",
        f"./bin/MIOpenDriver {PLAIN}",
        f"/opt/rocm/bin/MIOpenDriver {PLAIN}",
        f"MIOpenDriver.exe {PLAIN}",
        f"C:\\rocm\\bin\\MIOpenDriver.exe {PLAIN}",
        f"${{BIN_DIR}}/MIOpenDriver {PLAIN} ${{OPTIONS}}",
        f'"${{BIN_DIR}}/MIOpenDriver" {PLAIN} ${{TRACE}} ${{LAYOUT}}',
        f"$DRIVER {PLAIN}",
        f"MIOPEN_FIND_MODE=1 ./bin/MIOpenDriver {PLAIN}",
        f"rocprofv3 --kernel-trace -- MIOpenDriver {PLAIN} > log.txt",
        f"MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver {PLAIN}",
        f"MIOpen(HIP): Command [LogCmdFindConvolution] ./bin/MIOpenDriver {PLAIN}",
        f"MIOpen(HIP)   0.011: Command [LogCmdConvolution] ./bin/MIOpenDriver {PLAIN}",
        f"44781 MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver {PLAIN}",
        f"44781 44799 MIOpen(HIP)   0.011: Command [LogCmdConvolution] MIOpenDriver.exe {PLAIN}",
        f"MIOpen(OpenCL): Command [LogCmdConvolution] ./bin/MIOpenDriver {PLAIN}",
        f'{{"command":"MIOpenDriver {PLAIN}"}}',
        f'{{"command": "./bin/MIOpenDriver {PLAIN}"}}',
        f'{{"command":"MIOpenDriver {PLAIN} -d C:\\data"}}',
        PLAIN.removeprefix("conv "),
        f"MIOpenDriver {PLAIN.replace('conv ', 'convfp32 ', 1)}",
    ],
)
def test_one_command_in_many_dialects(line):
    assert one(line) == EXPECTED


def test_words_beside_the_command_are_noted():
    assert parse_command(f"MIOpenDriver {PLAIN}").notes == ()
    assert parse_command(f"${{BIN}}/MIOpenDriver {PLAIN} ${{OPTIONS}}").notes == (
        "words beside the command have no effect here: ${OPTIONS}",
    )
    assert parse_command(f"HIP_VISIBLE_DEVICES=1 MIOpenDriver {PLAIN} | tee log").notes == (
        "words beside the command have no effect here: HIP_VISIBLE_DEVICES=1 | tee log",
    )


@pytest.mark.parametrize(
    ("base", "dtype"),
    [
        ("conv", DType.FP32),
        ("convfp32", DType.FP32),
        ("convfp16", DType.FP16),
        ("convbfp16", DType.BF16),
        ("convint8", DType.INT8),
    ],
)
def test_base_arguments(base, dtype):
    assert parse_command(f"MIOpenDriver {base} -F 1").problems[0].dtype is dtype


def test_defaults_are_those_of_the_driver():
    problems = parse_command("MIOpenDriver conv").problems
    assert [problem.direction for problem in problems] == list(Direction)
    assert str(problems[0]) == "fp32-F-100x3x32x32-k32-3x3"
    assert str(one("conv --spatial_dim 3 -F 2")) == "fp32-B-100x3x32x32x32-k32-3x3x3"


def test_the_long_dialect_writes_depth_zeros_for_2d():
    assert one(f"MIOpenDriver {PLAIN} --spatial_dim 2 --in_d 0 --fil_d 0 --conv_stride_d 0 --dilation_d 0") == EXPECTED


def test_atoi_reads_the_numbers():
    assert [p.direction for p in parse_command("conv -F 1.").problems] == [Direction.FORWARD]
    assert one("conv -n 12abc -F 1").n == 12


@pytest.mark.parametrize(
    ("bits", "letters"),
    [(0, "FBW"), (1, "F"), (2, "B"), (3, "FB"), (4, "W"), (5, "FW"), (6, "BW"), (7, "FBW"), (9, "F")],
)
def test_direction_bits(bits, letters):
    assert "".join(p.direction.value for p in parse_command(f"conv -F {bits}").problems) == letters


def test_layouts():
    problem = one("conv -F 1 --in_layout nhwc -f CHWN")
    assert (problem.in_layout, problem.fil_layout, problem.out_layout) == (Layout.NHWC, Layout.CHWN, Layout.NCHW)
    assert one("conv -F 1 --spatial_dim 3 -I NDHWC").in_layout is Layout.NDHWC
    assert one("conv -F 1 --spatial_dim 3").out_layout is Layout.NCDHW


def test_pad_modes_overwrite_the_pads():
    same = one("conv -H 7 -W 8 -y 5 -x 4 -u 2 -v 2 -p 9 -q 9 -z same -F 1")
    assert (same.pad_mode, same.pad, same.output) == (PadMode.SAME, (2, 1), (4, 4))
    valid = one("conv -H 7 -W 8 -y 5 -x 4 -p 9 -q 9 -z valid -F 1")
    assert (valid.pad_mode, valid.pad, valid.output) == (PadMode.VALID, (0, 0), (3, 5))
    dilated = one("conv -H 9 -W 9 -p 2 -q 2 -l 2 -j 2 -z same -F 1")
    assert (dilated.pad, dilated.output) == ((2, 2), (9, 9))


def test_transposed():
    problem = one("conv -c 8 -k 4 -H 7 -W 5 -y 3 -x 3 -u 2 -v 2 -p 1 -q 1 -Y 1 --trans_output_pad_w 1 -m trans -F 1")
    assert problem.transposed
    assert problem.output == (14, 10)


def test_output_pads_mean_nothing_to_a_plain_convolution():
    assert one("conv -Y 1 -X 5 -F 1").output_pad == (0, 0)


def test_a_group_count_below_one_is_one():
    assert one("conv -g 0 -F 1").groups == 1


# --- the run


def test_what_a_command_does_not_state_is_left_open():
    command = parse_command(PLAIN)
    assert (command.iterations, command.search) == (None, False)


def test_what_a_command_states_of_the_run():
    command = parse_command(f"{PLAIN} -i 25 -V 0 -s 1")
    assert (command.iterations, command.search) == (25, True)


def test_flags_without_effect_are_noted_unless_they_state_the_default():
    assert parse_command(f"{PLAIN} -G 0 -b 0 -P 1 -S -1").notes == ()
    assert parse_command(f"{PLAIN} -b 1 --dump_output 1 -S ConvDirectNaiveConvFwd").notes == (
        "-b (--bias) 1 has no effect here",
        "-o (--dump_output) 1 has no effect here",
        "-S (--solution) ConvDirectNaiveConvFwd has no effect here",
    )


# --- refusals


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("-i 0", r"Number of iterations must be > 0: -i \(--iter\) is '0'"),
        ("-i NHWC", r"Number of iterations must be > 0: .* is 'NHWC', which is read as 0"),
        ("-c 2 -k 8 -g 4", r"Invalid group number: -g \(--group_count\) is 4, .* -c \(--in_channels\) = 2"),
        ("-c 8 -k 6 -g 4", r"Invalid group number: .* -k \(--out_channels\) = 6"),
        ("-F 8", r"-F \(--forw\) is 8, which asks for no direction"),
        ("-_ 4", r"-_ \(--spatial_dim\) is 4"),
        ("-I nhwc", r"-I \(--in_layout\) is 'nhwc'; it must be one of: NCHW"),
        ("--out_layout NCHWc", r"--out_layout\) is 'NCHWC'"),
        ("--fil_layout NDHWC", r"-f \(--fil_layout\): fil_layout NDHWC does not describe 2"),
        ("--spatial_dim 3 -I NHWC", r"-I \(--in_layout\): in_layout NHWC does not describe 3"),
        ("-m transpose", r"-m \(--mode\) is 'transpose'; it must be one of: conv, trans"),
        ("-z SAME", r"-z \(--pad_mode\) is 'SAME'; it must be one of: default, same, valid"),
        ("-r 1", r"-r \(--pad_val\) is 1; only 0 is supported here"),
        ("-Z 1 -L 4", r"-Z \(--tensor_vect\) is 1; only 0 is supported here"),
        ("-L 4", r"-L \(--vector_length\) is 4; only 1 is supported here"),
        ("-U fp8", r"-U \(--in_cast_type\) is fp8; only -1 is supported here"),
        ("-T bf16", r"-T \(--out_cast_type\) is bf16; only -1 is supported here"),
        ("-R fp32", r"-R \(--wei_cast_type\) is fp32; only -1 is supported here"),
        ("-n 0", r"-n \(--batchsize\): n is 0"),
        ("-c 0", r"-c \(--in_channels\): c is 0"),
        ("-y 0", r"-y \(--fil_h\), -x \(--fil_w\): filter is 0x3"),
        ("-p -1", r"-p \(--pad_h\), -q \(--pad_w\): pad is -1x0"),
        ("--spatial_dim 3 --in_d 0", r"-! \(--in_d\), -H \(--in_h\), -W \(--in_w\): spatial is 0x32x32"),
        ("-m trans -Y 1", r"-Y \(--trans_output_pad_h\), -X \(--trans_output_pad_w\): output_pad 1x0 is not below"),
        ("-n 99999999999", r"-n \(--batchsize\) is 99999999999, which is beyond a C int"),
        ("-B 1", r"Input Flag: B Not Found !"),
        ("-n 1 \\", r"join its lines"),
    ],
)
def test_a_refusal_names_the_flag(flags, message):
    with pytest.raises(DriverLineError, match=message) as caught:
        parse_command(f"MIOpenDriver conv -F 1 {flags}")
    assert not isinstance(caught.value, NotConvolutionError)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", r"the line is empty"),
        ("MIOpenDriver", r"the command ends after MIOpenDriver"),
        ("MIOpenDriver convolve -n 1", r"Invalid Base Input Argument: convolve"),
        ("MIOpenDriver -n 1", r"-n stands where the base argument belongs"),
        ("MIOpenDriver --version", r"--version stands where the base argument belongs"),
        ("MIOpenDriver convfp8 -n 1", r"the base argument convfp8 is not supported here"),
        ("MIOpenDriver convbfp8 -n 1", r"the base argument convbfp8 is not supported here"),
        ("convfp64 -n 1", r"the base argument convfp64 is not supported here"),
        ("convnext tiny", r"Invalid Base Input Argument: convnext"),
        ("echo done", r"no MIOpenDriver command: the line begins with 'echo'"),
        ("MIOpen(HIP): Info [GetSolutions] done", r"no MIOpenDriver command"),
        ("GPU Kernel Time Forward Conv. Elapsed: 0.05 ms (average)", r"no MIOpenDriver command"),
        ("$A $B", r"no MIOpenDriver command"),
        ("-", r"no MIOpenDriver command"),
        ('{"prng_seed":12345678}', r'no "command"'),
        ('{"command":17}', r'no "command"'),
        ('{"command":', r"begins like JSON"),
        ('{"command":' * 100_000, r"begins like JSON"),
    ],
)
def test_what_is_no_command_is_refused(line, message):
    with pytest.raises(DriverLineError, match=message) as caught:
        parse_command(line)
    assert not isinstance(caught.value, NotConvolutionError)


@pytest.mark.parametrize(
    "base",
    [
        "bnorm",
        "bnormfp16",
        "pool",
        "poolfp16",
        "activ",
        "gemm",
        "gemmfp16",
        "layernormbfp16",
        "CBAInfer",
        "CBAInferfp16",
    ],
)
def test_commands_of_other_operations_are_told_apart(base):
    for line in (f"MIOpenDriver {base} -n 1 -c 3", f"./bin/MIOpenDriver {base}", f"{base} -n 1"):
        with pytest.raises(NotConvolutionError, match=rf"not a convolution: the base argument is {base}"):
            parse_command(line)


WORDS = [
    "MIOpenDriver",
    "conv",
    "-n",
    "-F",
    "-g",
    "1",
    "0",
    "-",
    "--",
    "$X",
    "{",
    "}",
    "Command [A] ",
    "\\",
    "-z",
    "same",
]


@given(st.one_of(st.text(), st.lists(st.one_of(st.sampled_from(WORDS), st.text(max_size=4))).map(" ".join)))
def test_any_text_is_a_command_or_a_typed_error(text):
    try:
        command = parse_command(text)
    except DriverLineError:
        return
    assert command.problems


@given(problems())
def test_the_json_log_line_of_a_command_is_read(problem):
    assert one(json.dumps({"command": to_line(problem)})) == problem


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        ("-n one", r"^-n \(--batchsize\) is 'one', not a number, and read as 0: n is 0"),
        ("-n 0", r"^-n \(--batchsize\): n is 0"),
        ("-u 1 -v far", r"^-v \(--conv_stride_w\) is 'far', not a number, and read as 0: "),
    ],
)
def test_a_word_where_a_number_belongs_is_shown_as_it_was_written(flags, what):
    with pytest.raises(DriverLineError, match=what):
        parse_command(f"MIOpenDriver conv {flags} -F 1")
