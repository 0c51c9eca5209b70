"""The lines that MIOpen's text data bases share: `key=id:value;id:value`, one record a line.

A line is split at its first `=`, what follows at every `;`, and each part at its first `:`. The rest of a part is the
value, which may hold colons, commas and blanks. There are no headers and no comments. Reading never fails for a line:
what is wrong becomes a `Fault` with its place, and the rest is used.
"""

from __future__ import annotations

import bz2
import enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from io import BufferedReader
    from os import PathLike

LONGEST_LINE_BYTES = 1 << 20
"""Longer lines are no records: the longest that MIOpen writes has a few thousand bytes."""

_SHOWN = 120


class FaultKind(enum.Enum):
    """What is wrong with a line or with one of its parts; the value is a name for tables."""

    NOT_TEXT = "not-text"
    TOO_LONG = "too-long"
    NO_KEY = "no-key"
    NO_ENTRY = "no-entry"
    NO_ID = "no-id"
    DUPLICATE_ID = "duplicate-id"
    BAD_VALUE = "bad-value"
    NO_RECORD = "no-record"


_LOSES_RECORD = frozenset(
    (FaultKind.NOT_TEXT, FaultKind.TOO_LONG, FaultKind.NO_KEY, FaultKind.NO_ENTRY, FaultKind.NO_RECORD)
)


class Fault(NamedTuple):
    """Something that could not be read.

    Attributes:
        file: Where it stands.
        line: The line, from 1; in SQLite the id of the row.
        kind: What is wrong.
        text: What was found, shortened.
        sentence: What is wrong, in words.
    """

    file: str
    line: int
    kind: FaultKind
    text: str
    sentence: str

    @property
    def loses_record(self) -> bool:
        """Whether nothing of the line is used; otherwise only a part of its record is lost."""
        return self.kind in _LOSES_RECORD


class RecordLine(NamedTuple):
    """A line that has a key; `parts` are its ids with their values, each id once, in the order of the line."""

    file: str
    line: int
    key: str
    parts: tuple[tuple[str, str], ...]


def file_lines(path: str | PathLike[str]) -> Iterator[bytes]:
    """The lines of a text data base, `.bz2` unpacked as MIOpen's sources keep them.

    A line beyond `LONGEST_LINE_BYTES` comes out cut to one byte more, and its rest is passed over.

    Raises:
        DatabaseError: the file cannot be read.
    """
    path = Path(path)
    try:
        with bz2.open(path) if path.suffix == ".bz2" else path.open("rb") as file:
            yield from _bounded_lines(file)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise DatabaseError(f"the data base {path} cannot be read: {reason}; name a readable file") from error


def split_lines(lines: Iterable[bytes], file: str) -> Iterator[RecordLine | Fault]:
    """Split each line; blank ones are passed over.

    Every other line gives exactly one record or one fault that loses it, and before that a fault for each part that is
    wrong. Of two parts with one id the first counts, as in MIOpen.

    Args:
        lines: Lines with or without their ends.
        file: The name for faults and records.
    """
    for number, data in enumerate(lines, start=1):
        if len(data) > LONGEST_LINE_BYTES:
            sentence = f"the line is longer than {LONGEST_LINE_BYTES} bytes"
            yield Fault(file, number, FaultKind.TOO_LONG, _shown(data), sentence)
            continue
        try:
            text = data.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            sentence = f"the line is no UTF-8 text from byte {error.start} on"
            yield Fault(file, number, FaultKind.NOT_TEXT, _shown(data), sentence)
            continue
        if text and not text.isspace():
            yield from _split_line(text, file, number)


def join_record(key: str, parts: Iterable[tuple[str, str]]) -> str:
    """The line of a record, without its end.

    Raises:
        DatabaseError: the line would not be read back as it is.
    """
    _check(key, "key", "=")
    words = []
    for name, value in parts:
        _check(name, "solver name", ":;")
        _check(value, "value", ";", may_be_empty=True)
        words.append(f"{name}:{value}")
    if not words:
        raise DatabaseError(f"the record {shortened(key)!r} has no entry to write")
    return f"{key}={';'.join(words)}"


def shortened(text: str) -> str:
    """The text, cut where it would fill a terminal."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."


def _bounded_lines(file: BufferedReader | bz2.BZ2File) -> Iterator[bytes]:
    while line := file.readline(LONGEST_LINE_BYTES + 1):
        yield line
        while len(line) > LONGEST_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE_BYTES + 1)


def _split_line(text: str, file: str, number: int) -> Iterator[RecordLine | Fault]:
    key, equals, contents = text.partition("=")
    if not equals or not key:
        sentence = "the line has no key in front of its =" if equals else "the line has no = behind a key"
        yield Fault(file, number, FaultKind.NO_KEY, shortened(text), sentence)
        return
    parts: dict[str, str] = {}
    contents = contents.removesuffix(";")
    for part in contents.split(";"):
        name, colon, value = part.partition(":")
        if colon and name and name not in parts:
            parts[name] = value
        elif name in parts and colon:
            sentence = f"{shortened(name)} stands twice in the record; the first one counts"
            yield Fault(file, number, FaultKind.DUPLICATE_ID, shortened(part), sentence)
        elif contents:
            sentence = f"{shortened(part)!r} has no solver name in front of a colon"
            yield Fault(file, number, FaultKind.NO_ID, shortened(part), sentence)
    if parts:
        yield RecordLine(file, number, key, tuple(parts.items()))
    else:
        yield Fault(file, number, FaultKind.NO_ENTRY, shortened(text), "the record has no entry that can be used")


def _shown(data: bytes) -> str:
    return shortened(data[: _SHOWN + 1].decode(errors="backslashreplace"))


def _check(text: str, what: str, separators: str, *, may_be_empty: bool = False) -> None:
    if not text and not may_be_empty:
        raise DatabaseError(f"a {what} is empty, which a record cannot hold")
    if any(separator in text for separator in separators) or not text.isprintable():
        raise DatabaseError(
            f"the {what} {shortened(text)!r} holds {' or '.join(separators)} or a character that is not printable, "
            "which would not be read back"
        )
