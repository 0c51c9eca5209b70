"""Convolution problems as people name them on a command line."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.cli.inputs import STDIN, check_stdin_once, read_bytes, shown
from pytest_miopen_perf.errors import InputError
from pytest_miopen_perf.problems import workload
from pytest_miopen_perf.problems.db_key import parse_find_db_key, parse_perf_db_key
from pytest_miopen_perf.problems.driver_line import parse_command

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_miopen_perf.problem import ConvProblem

HELP = (
    "a workload file, - for one on stdin, the name of a bundled workload, a MIOpenDriver line in quotes, "
    "or a find-db or perf-db key"
)

_FIND_DB_KEY = re.compile(r"[0-9]+(?:-[0-9x]+){5,}-\S*-[FBW](?:_\S+)?")
_PERF_DB_KEY = re.compile(r"[0-9](?:x[0-9]+){10,}x\w+x[FBW]")


class SkippedLine(NamedTuple):
    """A line that is no convolution command: where it stands, what it says, and why it is none."""

    source: str
    line_number: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedProblems:
    """What was named.

    Attributes:
        counts: Each problem once, in order, and how often it was asked for.
        skipped: The lines that could not be used.
    """

    counts: Mapping[ConvProblem, int]
    skipped: tuple[SkippedLine, ...]


def named_problems(names: Iterable[str]) -> NamedProblems:
    """The problems of all names.

    Raises:
        InputError: a name is none of what `HELP` lists.
        PerfError: what it names cannot be read.
    """
    counts: Counter[ConvProblem] = Counter()
    skipped: list[SkippedLine] = []
    listed = list(names)
    check_stdin_once(listed)
    for name in listed:
        problems, more = _of_name(name)
        counts.update(problems)
        skipped += more
    return NamedProblems(counts=counts, skipped=tuple(skipped))


def _of_name(name: str) -> tuple[tuple[ConvProblem, ...], list[SkippedLine]]:
    if name != STDIN and not Path(name).is_file():
        if " -" in name:
            return parse_command(name).problems, []
        if _FIND_DB_KEY.fullmatch(name):
            return (parse_find_db_key(name),), []
        if _PERF_DB_KEY.fullmatch(name):
            return (parse_perf_db_key(name),), []
    found = _workload(name)
    return found.problems, [SkippedLine(shown(name), *line) for line in found.skipped]


def _workload(name: str) -> workload.Workload:
    if name == STDIN:
        return workload.parse_workload(read_bytes(name), Path(shown(name)))
    if Path(name).exists() or name not in workload.bundled():
        _check_exists(name)
        return workload.read_workload(name)
    return workload.read_workload(workload.bundled_path(name))


def _check_exists(name: str) -> None:
    if not Path(name).exists():
        bundled = ", ".join(workload.bundled())
        raise InputError(
            f"{name!r} is no file, no MIOpenDriver line, no data-base key and no bundled workload; "
            f"bundled are: {bundled}"
        )
