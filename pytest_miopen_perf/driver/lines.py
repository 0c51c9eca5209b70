"""Physical lines of a stream of text or bytes, in whatever encoding and with whatever ends, in flat memory."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from pytest_miopen_perf.driver.log_item import Note

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_LINE = 64 * 1024 * 1024
"""Characters or bytes of a line; a longer one is read in pieces, so that no file can exhaust the memory."""

NOT_UTF8 = Note("not-utf8", "the line is not UTF-8 and was read as Latin-1")
NUL_BYTES = Note("nul-bytes", "NUL bytes were taken out, as a UTF-16 file or a crashed machine leaves them")
SURROGATES = Note("lone-surrogates", "half surrogate pairs, which no file can hold, were replaced")

_BYTE_ORDER_MARKS = ("\ufeff", "\xff\xfe", "\xfe\xff")
_SURROGATE = re.compile("[\ud800-\udfff]")


class _Readable(Protocol):
    """An open file."""

    def readline(self, size: int, /) -> Any: ...


TextStream: TypeAlias = "_Readable | Iterable[str] | Iterable[bytes]"
"""An open file, text or binary, or the lines of one."""


class Line(NamedTuple):
    """A physical line.

    Attributes:
        number: From 1.
        text: Without its end.
        repairs: What had to be done to read it as text.
    """

    number: int
    text: str
    repairs: tuple[Note, ...] = ()


def physical_lines(stream: TextStream) -> Iterator[Line]:
    """Every line of a stream, numbered; a line feed ends it, with or without a carriage return."""
    for number, data in enumerate(_raw_lines(stream), 1):
        text, repairs = _decoded(data) if isinstance(data, bytes) else (data, ())
        if not text.isascii() or "\0" in text:
            text, more = _cleaned(text, is_first=number == 1)
            repairs += more
        yield Line(number, text.rstrip("\r\n"), repairs)


def _raw_lines(stream: TextStream) -> Iterator[str | bytes]:
    readline = getattr(stream, "readline", None)
    if readline is None:
        yield from stream  # type: ignore[misc]  # what has no readline is an iterable of lines
        return
    while line := readline(LONGEST_LINE):
        yield line


def _decoded(data: bytes) -> tuple[str, tuple[Note, ...]]:
    try:
        return data.decode("utf-8"), ()
    except UnicodeDecodeError:
        return data.decode("latin-1"), (NOT_UTF8,)


def _cleaned(text: str, *, is_first: bool) -> tuple[str, tuple[Note, ...]]:
    repairs: tuple[Note, ...] = ()
    if is_first:
        text = next((text[len(mark) :] for mark in _BYTE_ORDER_MARKS if text.startswith(mark)), text)
    if "\0" in text:
        text = text.replace("\0", "")
        repairs += (NUL_BYTES,)
    if _SURROGATE.search(text):
        text = _SURROGATE.sub("\ufffd", text)
        repairs += (SURROGATES,)
    return text, repairs


class LineQueue:
    """Lines to be taken one by one, of which the next few can be looked at before."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._lines = iter(lines)
        self._ahead: deque[Line] = deque()

    def __iter__(self) -> Iterator[Line]:
        return self

    def __next__(self) -> Line:
        return self._ahead.popleft() if self._ahead else next(self._lines)

    def ahead(self, count: int) -> Iterator[Line]:
        """The next lines, at most so many, without taking them."""
        for index in range(count):
            if index == len(self._ahead):
                line = next(self._lines, None)
                if line is None:
                    return
                self._ahead.append(line)
            yield self._ahead[index]

    def drop(self, count: int) -> None:
        """Take so many of the lines that were looked at."""
        for _ in range(count):
            self._ahead.popleft()
