"""Workload files: MIOpenDriver commands, one a line, with whatever else people keep between them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.errors import DriverLineError, WorkloadError
from pytest_miopen_perf.problems.driver_line import DriverCommand, parse_command
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from os import PathLike

    from pytest_miopen_perf.problem import ConvProblem

_BUNDLED = Path(__file__).resolve().parents[1] / "workloads"
_SUFFIX = ".txt"
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


class Entry(NamedTuple):
    """A convolution command: the number of its (first) line, its text and what it asks for."""

    line_number: int
    text: str
    command: DriverCommand


class Skipped(NamedTuple):
    """A line that is no convolution command: its number, its text and the reason in words."""

    line_number: int
    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """What a workload file holds, in its order; comments and blank lines are in neither list.

    Attributes:
        name: The file's name without its suffixes.
        path: Where it was read from.
        entries: The convolution commands, repeated ones too; at least one.
        skipped: The other lines, with reasons.
    """

    name: str
    path: Path
    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...]

    @property
    def loss(self) -> str:
        """How many lines were skipped, and why the first one was, in words; "" when none was."""
        return _skipped_words(self.skipped) if self.skipped else ""

    @property
    def problems(self) -> tuple[ConvProblem, ...]:
        """The problems of all commands in order, repeated ones too."""
        return tuple(problem for entry in self.entries for problem in entry.command.problems)


def read_workload(path: str | PathLike[str]) -> Workload:
    """Read a workload file; a line that cannot be used is listed with its reason and loses nothing else.

    UTF-8 and, with a byte order mark, UTF-16; any line ends; a backslash at the end of a line joins the next one.

    Raises:
        WorkloadError: the file cannot be read, is no text, or holds no convolution command.
    """
    path = Path(path)
    return parse_workload(_read(path), path)


def parse_workload(data: bytes, path: Path) -> Workload:
    """A workload from the bytes of a file, as `read_workload` reads it.

    Args:
        data: What the file holds.
        path: Its path, or what stands for it in messages.

    Raises:
        WorkloadError: it is no text, or holds no convolution command.
    """
    entries: list[Entry] = []
    skipped: list[Skipped] = []
    for number, text in _logical_lines(_text(data, path)):
        try:
            entries.append(Entry(number, text, parse_command(text)))
        except DriverLineError as error:
            skipped.append(Skipped(number, text, str(error)))
    if not entries:
        raise WorkloadError(f"the workload {path} holds no convolution command; {_found_instead(skipped)}")
    return Workload(
        name=path.name.removesuffix(_SUFFIX).removesuffix(".miopen"),
        path=path,
        entries=tuple(entries),
        skipped=tuple(skipped),
    )


def distinct(problems: Iterable[ConvProblem]) -> tuple[ConvProblem, ...]:
    """Each problem once, where it comes first: logs of a library repeat a command with every call."""
    return tuple(dict.fromkeys(problems))


def is_command(text: str) -> bool:
    """Whether a text is to be read as a MIOpenDriver line: it has flags, which names of lists and files have not."""
    return " -" in text


def bundled() -> tuple[str, ...]:
    """The names of the workloads that come with this package, sorted."""
    return tuple(sorted(file.stem for file in _BUNDLED.glob(f"*{_SUFFIX}")))


def bundled_path(name: str) -> Path:
    """The file of a bundled workload.

    Raises:
        WorkloadError: no bundled workload has that name.
    """
    names = bundled()
    if name not in names:
        raise WorkloadError(
            f"{name!r} is no file, no bundled workload and no MIOpenDriver line; "
            f"bundled workloads are {', '.join(names)}"
        )
    return _BUNDLED / f"{name}{_SUFFIX}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise WorkloadError(f"the workload {path} cannot be read: {reason}; name a readable text file") from error


def _text(data: bytes, path: Path) -> str:
    encoding = "UTF-16" if data.startswith(_UTF16_MARKS) else "UTF-8-sig"
    if encoding != "UTF-16" and b"\0" in data:
        raise WorkloadError(f"the workload {path} is a binary file; it should be lines of MIOpenDriver commands")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        where = f"byte {error.start} in line {data.count(10, 0, error.start) + 1}"
        raise WorkloadError(
            f"the workload {path} is no {encoding.removesuffix('-sig')} text from {where} on; save it as UTF-8"
        ) from error


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Lines with their numbers, without blank ones and comments, joined where a backslash says so."""
    joined, first = "", 0
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, line in enumerate(lines, start=1):
        words = line.strip()
        if joined:
            joined = f"{joined} {words}"
        elif words and not words.startswith("#"):
            joined, first = words, number
        else:
            continue
        if joined.endswith("\\") and number < len(lines):
            joined = joined[:-1].rstrip()
            continue
        yield first, joined
        joined = ""


def _found_instead(skipped: Sequence[Skipped]) -> str:
    return _skipped_words(skipped) if skipped else "it has only blank lines and comments"


def _skipped_words(skipped: Sequence[Skipped]) -> str:
    first = skipped[0]
    were = "was" if len(skipped) == 1 else "were"
    return f"{counted(len(skipped), 'line')} {were} skipped, line {first.line_number} because: {first.reason}"
