"""The flags of MIOpenDriver's convolution command, and how it reads words into values.

The rules are those of its `InputFlags`: a flag takes exactly one value, a short flag is only the second character of
its word, integers go through C's `atoi`, and the last of repeated flags wins.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.errors import DriverLineError

if TYPE_CHECKING:
    from collections.abc import Sequence


class Flag(NamedTuple):
    """One flag: its long name, its short one, its default and what it means."""

    long: str
    short: str
    default: str
    meaning: str


PROBLEM_FLAGS = (
    Flag("in_layout", "I", "", "layout of x: NCHW or NCDHW when empty"),
    Flag("fil_layout", "f", "", "layout of w: NCHW or NCDHW when empty"),
    Flag("out_layout", "O", "", "layout of y: NCHW or NCDHW when empty"),
    Flag("spatial_dim", "_", "2", "2 or 3 spatial dimensions; the flags of depth count only with 3"),
    Flag("forw", "F", "0", "direction bits: 1 forward, 2 backward data, 4 backward weights; 0 is all"),
    Flag("batchsize", "n", "100", "images of a batch"),
    Flag("in_channels", "c", "3", "channels of x"),
    Flag("in_d", "!", "32", "depth of x"),
    Flag("in_h", "H", "32", "height of x"),
    Flag("in_w", "W", "32", "width of x"),
    Flag("out_channels", "k", "32", "channels of y"),
    Flag("fil_d", "@", "3", "depth of the filter"),
    Flag("fil_h", "y", "3", "height of the filter"),
    Flag("fil_w", "x", "3", "width of the filter"),
    Flag("conv_stride_d", "#", "1", "stride in depth"),
    Flag("conv_stride_h", "u", "1", "stride in height"),
    Flag("conv_stride_w", "v", "1", "stride in width"),
    Flag("pad_d", "$", "0", "zeros in front of and behind the depth"),
    Flag("pad_h", "p", "0", "zeros above and below"),
    Flag("pad_w", "q", "0", "zeros left and right"),
    Flag("pad_val", "r", "0", "value of the padding; only 0 is accepted"),
    Flag("dilation_d", "^", "1", "dilation in depth"),
    Flag("dilation_h", "l", "1", "dilation in height"),
    Flag("dilation_w", "j", "1", "dilation in width"),
    Flag("trans_output_pad_d", "%", "0", "output padding in depth of a transposed convolution"),
    Flag("trans_output_pad_h", "Y", "0", "output padding in height of a transposed convolution"),
    Flag("trans_output_pad_w", "X", "0", "output padding in width of a transposed convolution"),
    Flag("mode", "m", "conv", "conv, or trans for a transposed convolution"),
    Flag("pad_mode", "z", "default", "default, or same or valid to derive the padding"),
    Flag("group_count", "g", "1", "groups; must divide both channel counts"),
    Flag("tensor_vect", "Z", "0", "vectorised layouts; only 0 is supported here"),
    Flag("vector_length", "L", "1", "channels of a vector; only 1 is supported here"),
    Flag("in_cast_type", "U", "-1", "type that x is cast to; only -1, none, is supported here"),
    Flag("out_cast_type", "T", "-1", "type that y is cast to; only -1, none, is supported here"),
    Flag("wei_cast_type", "R", "-1", "type that w is cast to; only -1, none, is supported here"),
)
"""What the convolution is."""

RUN_FLAGS = (
    Flag("iter", "i", "10", "timed runs, at least 1"),
    Flag("verify", "V", "1", "whether the result is checked"),
    Flag("time", "t", "0", "whether kernel times are printed; here they always are"),
    Flag("search", "s", "0", "whether the solver's configs are searched"),
    Flag("solution", "S", "-1", "below 0: find; 0: the fastest known; else the id or the name of a solver"),
)
"""What the run is asked to do."""

UNUSED_FLAGS = (
    Flag("bias", "b", "0", "whether a bias is computed too"),
    Flag("verification_cache", "C", "", "directory of cached reference results"),
    Flag("wall", "w", "0", "wall-clock time"),
    Flag("printconv", "P", "1", "whether the dimensions are printed"),
    Flag("dump_output", "o", "0", "whether the tensors are written to files"),
    Flag("in_data", "d", "", "file of x"),
    Flag("weights", "e", "", "file of w"),
    Flag("in_bias", "a", "", "file of the bias"),
    Flag("dout_data", "D", "", "file of y"),
    Flag("gpualloc", "G", "0", "whether the inputs are made on the device"),
    Flag("gpubuffer_check", "~", "0", "guard pages around the buffers"),
    Flag("init_output_nan", "N", "0", "whether the output is filled with NaN first"),
    Flag("tuning_policy", "&", "0", "MIOpen's tuning policy"),
    Flag("math_type", "M", "1", "0 lets fp32 be computed as TF32"),
    Flag("use_hip_graph", "J", "0", "whether the launches are captured in a graph"),
)
"""What is read and has no effect here."""

FLAGS = PROBLEM_FLAGS + RUN_FLAGS + UNUSED_FLAGS
"""Every flag; no two share a name."""

_SHORT = {flag.short: flag.long for flag in FLAGS}
_LONG = {flag.long: flag.short for flag in FLAGS}
_NAMES = {f"-{flag.short}": flag.long for flag in FLAGS} | {f"--{flag.long}": flag.long for flag in FLAGS}
_UPPER_CASED = frozenset({"--in_layout", "--fil_layout", "--out_layout"})
_SHELL = re.compile(r"[|;&<>#]|[0-9]+>")
_ATOI = re.compile(r"[ \t\n\v\f\r]*([+-]?[0-9]+)")
_INT_MAX = 2**31 - 1


def read_flags(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Values by long name, and the words of a shell that follow them and mean nothing to the driver.

    Args:
        words: What follows the base argument.

    Raises:
        DriverLineError: a flag is unknown, or stands without its value; the message names it.
    """
    values: dict[str, str] = {}
    position, end = 0, len(words)
    shell_words: list[str] = []
    while position < end:
        word = words[position]
        if word[0] != "-":
            if _SHELL.match(word):
                shell_words += words[position:]
                break
            shell_words.append(_shell_variable(word))
            position += 1
            continue
        name = _NAMES.get(word) or _unusual_name(word)
        if position + 1 == end:
            raise DriverLineError(f"the flag {word} at the end has no value")
        value = words[position + 1]
        if value[0] == "$":
            raise DriverLineError(f"the value of {word} is {value}, a shell variable; write the value itself")
        values[name] = value.upper() if word in _UPPER_CASED else value
        position += 2
    return values, shell_words


@lru_cache(maxsize=4096)  # the lines of a workload repeat the same few numbers
def integer(name: str, text: str) -> int:
    """What C's `atoi` makes of the value of a flag: 12 of `12abc`, 1 of `1.`, 0 of `abc`.

    Args:
        name: The long name of the flag, for the message.
        text: Its value.

    Raises:
        DriverLineError: the number is beyond a C int, for which `atoi` has no rule.
    """
    found = _ATOI.match(text)
    if found is None:
        return 0
    digits = found[1]
    number = int(digits[:12])
    if abs(number) > _INT_MAX:
        raise DriverLineError(f"{spelling(name)} is {digits}, which is beyond a C int; nothing can be computed with it")
    return number


def is_number(text: str) -> bool:
    """Whether the value of a flag begins with a number; what does not is 0 to MIOpenDriver."""
    return _ATOI.match(text) is not None


def spelling(name: str) -> str:
    """How messages write a flag: `-n (--batchsize)`."""
    return f"-{_LONG[name]} (--{name})"


def _shell_variable(word: str) -> str:
    if word[0] != "$":
        raise DriverLineError(f"Illegal input flag: {word!r} stands where a flag belongs; each flag takes one value")
    return word


def _unusual_name(word: str) -> str:
    """The long name of a flag that is not written in the usual way: `-Fx` is `-F`."""
    if word in ("--help", "-?") or word.startswith("-h"):
        raise DriverLineError(f"{word} asks MIOpenDriver for its help; there is no convolution to read")
    if word.startswith("--") or len(word) == 1:
        long = word[2:]
        hint = "; a blank belongs between flag and value" if long.partition("=")[0] in _LONG else ""
        raise DriverLineError(f"Long Name: {long} Not Found ! MIOpenDriver has no flag {word}{hint}")
    short, meant = word[1], word[1:]
    if meant in _LONG and _LONG[meant] != short:
        read = f"-{short} (--{_SHORT[short]})" if short in _SHORT else f"-{short}"
        raise DriverLineError(
            f"MIOpenDriver reads {word} as {read}, for only one character counts after a single dash; write --{meant}"
        )
    if short not in _SHORT:
        raise DriverLineError(f"Input Flag: {short} Not Found ! MIOpenDriver has no flag {word}")
    return _SHORT[short]
