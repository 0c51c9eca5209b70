"""A MIOpenDriver command line and the convolution problems it asks for, both ways.

Reads what people keep: command files of several dialects, shell scripts, library logs made with
MIOPEN_ENABLE_LOGGING_CMD, and the `command` lines of JSON performance logs.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, TypeVar

from pytest_miopen_perf.errors import DriverLineError, NotConvolutionError, ProblemError
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout, Shape
from pytest_miopen_perf.problems.driver_flags import (
    PROBLEM_FLAGS,
    UNUSED_FLAGS,
    integer,
    is_number,
    read_flags,
    spelling,
)
from pytest_miopen_perf.problems.pad_mode import PadMode, driver_pad

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverCommand:
    """What one command asks for; of the run only what the command states itself.

    Attributes:
        problems: One problem a direction, in the order forward, backward data, backward weights.
        iterations: Timed runs (`-i`).
        search: Whether the solver's configs are to be searched (`-s`).
        notes: What the line holds that has no effect here, in words.
    """

    problems: tuple[ConvProblem, ...]
    iterations: int | None = None
    search: bool = False
    notes: tuple[str, ...] = ()


_DTYPES = {
    "conv": DType.FP32,
    "convfp32": DType.FP32,
    "convfp16": DType.FP16,
    "convbfp16": DType.BF16,
    "convint8": DType.INT8,
}
# fmt: off
_OTHER_OPERATIONS = frozenset({
    "CAInfer", "CBAInfer", "activ", "adam", "addlayernorm", "ampadam", "bnorm", "cat", "ctc", "dropout", "gemm",
    "getitem", "glu", "groupnorm", "kthvalue", "layernorm", "lrn", "mha", "multimarginloss", "pool", "prelu",
    "reduce", "reducecalculation", "reduceextreme", "rnn", "rnn_seq", "rope", "softmarginloss", "softmax", "sum",
    "t5layernorm", "tensorop", "transformersadamw",
})
# fmt: on
_TYPE_SUFFIX = re.compile(r"(b?fp[0-9]+|int[0-9]+)$")
_LOGGED = re.compile(r"\bCommand \[\w+\]\s")
_ASSIGNMENT = re.compile(r"\w+=")
_PATH_SEPARATOR = re.compile(r"[/\\]")

_DEFAULT_NUMBERS = {f.long: int(f.default) for f in PROBLEM_FLAGS if f.default.lstrip("-").isdigit()}
_UNUSED_DEFAULTS = {f.long: f.default for f in UNUSED_FLAGS} | {"solution": "-1"}
_AXIS_FLAGS = {
    "spatial": ("in_d", "in_h", "in_w"),
    "filter": ("fil_d", "fil_h", "fil_w"),
    "pad": ("pad_d", "pad_h", "pad_w"),
    "stride": ("conv_stride_d", "conv_stride_h", "conv_stride_w"),
    "dilation": ("dilation_d", "dilation_h", "dilation_w"),
    "output_pad": ("trans_output_pad_d", "trans_output_pad_h", "trans_output_pad_w"),
}
_AXES: dict[int, dict[str, Callable[[Mapping[str, int]], Shape]]] = {
    rank: {field: itemgetter(*names[-rank:]) for field, names in _AXIS_FLAGS.items()} for rank in (2, 3)
}
_FIELD_FLAGS = {
    **_AXIS_FLAGS,
    "n": ("batchsize",),
    "c": ("in_channels",),
    "k": ("out_channels",),
    "groups": ("group_count",),
    "in_layout": ("in_layout",),
    "fil_layout": ("fil_layout",),
    "out_layout": ("out_layout",),
}
_ONLY_DEFAULT = ("pad_val", "tensor_vect", "vector_length", "in_cast_type", "out_cast_type", "wei_cast_type")
_DIRECTIONS = [tuple(d for d in Direction if bits & d.driver_bit or not bits) for bits in range(8)]
_LAYOUTS = {layout.value: layout for layout in Layout}
_PAD_MODES = {mode.value: mode for mode in PadMode}


def parse_command(line: str) -> DriverCommand:
    """Read one line.

    Raises:
        NotConvolutionError: a command of another operation.
        DriverLineError: no command, or one that MIOpenDriver rejects, or that is not supported here; the message names
            the flag.
    """
    text = _command_text(line)
    if text.endswith("\\"):
        raise DriverLineError("the command goes on behind the backslash; join its lines into one")
    words = text.split()
    if not words:
        raise DriverLineError("the line is empty; a MIOpenDriver command belongs there")
    base, start, leading = _base(words)
    values, trailing = read_flags(words[start:])
    return DriverCommand(
        problems=_problems(values, _DTYPES[base]),
        iterations=_iterations(values),
        search=bool(integer("search", values.get("search", "0"))),
        notes=_notes(values, [*leading, *trailing]),
    )


def to_line(problem: ConvProblem) -> str:
    """The command of a problem in the dialect of MIOpen's own log: what is not default in long flags, depth first.

    `parse_command(to_line(problem)).problems` is `(problem,)`.
    """

    def axes(flags: str, sizes: Shape) -> str:
        return " ".join(f"{flag} {size}" for flag, size in zip(flags.split()[-problem.rank :], sizes, strict=True))

    words = [
        f"MIOpenDriver {problem.dtype.driver_base} -n {problem.n} -c {problem.c}",
        axes("--in_d -H -W", problem.spatial),
        f"-k {problem.k}",
        axes("--fil_d -y -x", problem.filter),
        axes("--pad_d -p -q", problem.pad),
        axes("--conv_stride_d -u -v", problem.stride),
        axes("--dilation_d -l -j", problem.dilation),
    ]
    if any(problem.output_pad):
        words.append(axes("--trans_output_pad_d --trans_output_pad_h --trans_output_pad_w", problem.output_pad))
    if problem.rank == 3:
        words.append("--spatial_dim 3")
    for name in ("in_layout", "fil_layout", "out_layout"):
        layout: Layout = getattr(problem, name)
        if layout is not Layout.default(problem.rank):
            words.append(f"--{name} {layout.value}")
    words.append(f"-m {'trans' if problem.transposed else 'conv'} -g {problem.groups}")
    if problem.pad_mode is not PadMode.DEFAULT:
        words.append(f"-z {problem.pad_mode.value}")
    words.append(f"-F {problem.direction.driver_bit} -t 1")
    return " ".join(words)


def _command_text(line: str) -> str:
    """The command without what a log has put in front of it."""
    text = line.lstrip("\ufeff").strip()
    if text.startswith("{"):
        text = _json_command(text)
    if "Command [" in text and (logged := _LOGGED.search(text)):
        return text[logged.end() :]
    return text


def _json_command(text: str) -> str:
    """The command of a JSON log line; MIOpen's writer escapes nothing, so quotes and backslashes may break the JSON."""
    prefix, suffix = '{"command":"', '"}'
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        if text.startswith(prefix) and text.endswith(suffix):
            return text[len(prefix) : -len(suffix)].strip()
        raise DriverLineError('the line begins like JSON, but is no {"command":"MIOpenDriver ..."} line') from None
    command = record.get("command")
    if not isinstance(command, str):
        raise DriverLineError('the JSON line has no "command" with the text of a MIOpenDriver command')
    return command.strip()


def _base(words: Sequence[str]) -> tuple[str, int, Sequence[str]]:
    """The base argument, where the flags begin, and the words in front of the command."""
    program = next((i for i, word in enumerate(words) if _is_program(word)), None)
    if program is None:
        return _base_without_program(words)
    if program + 1 == len(words):
        raise DriverLineError(f"the command ends after {words[program]}; a base argument such as conv belongs there")
    base = words[program + 1]
    if base not in _DTYPES:
        raise _base_error(base)
    return base, program + 2, words[:program]


def _base_without_program(words: Sequence[str]) -> tuple[str, int, Sequence[str]]:
    """Some lists begin at the base argument, or at the flags of an fp32 convolution."""
    first = next((i for i, word in enumerate(words) if word[0] != "$" and not _ASSIGNMENT.match(word)), 0)
    word = words[first]
    if word in _DTYPES:
        return word, first + 1, words[:first]
    if word[0] == "-" and len(words) > 1:
        return "conv", first, words[:first]
    if _operation(word) in _OTHER_OPERATIONS or word.startswith("conv"):
        raise _base_error(word)
    raise DriverLineError(f"no MIOpenDriver command: the line begins with {word[:40]!r}")


def _is_program(word: str) -> bool:
    if word == "MIOpenDriver":
        return True
    if "iopendriver" not in word.lower():
        return False
    file = _PATH_SEPARATOR.split(word.strip("\"'").rstrip(":"))[-1]
    return file.lower() in ("miopendriver", "miopendriver.exe")


def _operation(base: str) -> str:
    return _TYPE_SUFFIX.sub("", base)


def _base_error(base: str) -> DriverLineError:
    known = ", ".join(_DTYPES)
    if _operation(base) in _OTHER_OPERATIONS:
        return NotConvolutionError(f"not a convolution: the base argument is {base}")
    if _operation(base) == "conv":
        return DriverLineError(f"the base argument {base} is not supported here; there are: {known}")
    if base.startswith("-"):
        return DriverLineError(f"{base} stands where the base argument belongs, one of: {known}")
    return DriverLineError(f"Invalid Base Input Argument: {base}; for a convolution it is one of: {known}")


def _problems(values: Mapping[str, str], dtype: DType) -> tuple[ConvProblem, ...]:
    numbers = dict(_DEFAULT_NUMBERS)
    for name, text in values.items():
        if name in numbers:
            numbers[name] = integer(name, text)
    _check_supported(numbers, values)
    groups = _groups(numbers)
    directions = _directions(numbers["forw"])
    rank = numbers["spatial_dim"]
    layout = Layout.default(rank)
    axes = {field: get(numbers) for field, get in _AXES[rank].items()}
    transposed = _choice("mode", values, {"conv": False, "trans": True}, default=False)
    try:
        first = ConvProblem(
            direction=directions[0],
            dtype=dtype,
            n=numbers["batchsize"],
            c=numbers["in_channels"],
            k=numbers["out_channels"],
            spatial=axes["spatial"],
            filter=axes["filter"],
            pad=axes["pad"],
            stride=axes["stride"],
            dilation=axes["dilation"],
            groups=groups,
            in_layout=_choice("in_layout", values, _LAYOUTS, default=layout),
            fil_layout=_choice("fil_layout", values, _LAYOUTS, default=layout),
            out_layout=_choice("out_layout", values, _LAYOUTS, default=layout),
            transposed=transposed,
            output_pad=axes["output_pad"] if transposed else (),
        )
    except ProblemError as error:
        raise DriverLineError(_complaint(error, _FIELD_FLAGS[error.field][-rank:], values)) from error
    pad_mode = _choice("pad_mode", values, _PAD_MODES, default=PadMode.DEFAULT)
    if pad_mode is not PadMode.DEFAULT:
        first = replace(first, pad=driver_pad(first, pad_mode), pad_mode=pad_mode)
    return (first, *(replace(first, direction=direction) for direction in directions[1:]))


def _complaint(error: ProblemError, names: Sequence[str], values: Mapping[str, str]) -> str:
    """What is wrong with the flags of a field; a word is shown as written, since the number that it became is not."""
    words = [name for name in names if name in _DEFAULT_NUMBERS and not is_number(values.get(name, "0"))]
    misread = [f"{spelling(name)} is {values[name]!r}, not a number, and read as 0" for name in words]
    return f"{', '.join(misread) or ', '.join(map(spelling, names))}: {error}"


def _check_supported(numbers: Mapping[str, int], values: Mapping[str, str]) -> None:
    if numbers["spatial_dim"] not in (2, 3):
        raise DriverLineError(f"{spelling('spatial_dim')} is {numbers['spatial_dim']}; a convolution has 2 or 3")
    for name in _ONLY_DEFAULT:
        if name in values and (values[name].isalpha() or numbers[name] != _DEFAULT_NUMBERS[name]):
            only = _DEFAULT_NUMBERS[name]
            raise DriverLineError(f"{spelling(name)} is {values[name]}; only {only} is supported here")


def _groups(numbers: Mapping[str, int]) -> int:
    """MIOpenDriver takes a group count below 1 as 1, and rejects one that divides a channel count not."""
    groups = max(numbers["group_count"], 1)
    for name in ("in_channels", "out_channels"):
        if numbers[name] % groups:
            raise DriverLineError(
                f"Invalid group number: {spelling('group_count')} is {groups}, "
                f"which does not divide {spelling(name)} = {numbers[name]}"
            )
    return groups


def _directions(bits: int) -> tuple[Direction, ...]:
    directions = _DIRECTIONS[bits & 7]
    if bits and bits & 7 == 0:
        raise DriverLineError(f"{spelling('forw')} is {bits}, which asks for no direction; its bits are 1, 2 and 4")
    return directions


def _choice(name: str, values: Mapping[str, str], choices: Mapping[str, T], *, default: T) -> T:
    text = values.get(name)
    if text is None:
        return default
    if text not in choices:
        raise DriverLineError(f"{spelling(name)} is {text!r}; it must be one of: {', '.join(choices)}")
    return choices[text]


def _iterations(values: Mapping[str, str]) -> int | None:
    if "iter" not in values:
        return None
    iterations = integer("iter", values["iter"])
    if iterations < 1:
        raise DriverLineError(
            f"Number of iterations must be > 0: {spelling('iter')} is {values['iter']!r}, which is read as {iterations}"
        )
    return iterations


def _notes(values: Mapping[str, str], other_words: Sequence[str]) -> tuple[str, ...]:
    notes = [
        f"{spelling(name)} {values[name]} has no effect here"
        for name, default in _UNUSED_DEFAULTS.items()
        if values.get(name, default) != default
    ]
    if other_words:
        notes.append(f"words beside the command have no effect here: {' '.join(other_words)}")
    return tuple(notes)
