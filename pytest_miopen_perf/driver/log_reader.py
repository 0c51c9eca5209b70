r"""Reads performance logs as they really are: JSON among text, glued, torn, cut off, in every dialect.

A sound line takes a fast way. Any other line is cut at each place where a record may begin; what a record's end
misses is looked for in the lines that follow, because stderr is written in hundreds of small pieces between which
other threads and processes write theirs.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.driver.decode import Reading, read_object, read_sound, sound_end, sound_key
from pytest_miopen_perf.driver.lines import LONGEST_LINE, LineQueue, physical_lines
from pytest_miopen_perf.driver.log_item import ItemKind, LogItem, Note
from pytest_miopen_perf.driver.repair import balanced_end, begins_raw_text, raw_text, unescaped_values_end
from pytest_miopen_perf.schema import LINE_KINDS

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from pytest_miopen_perf.driver.lines import Line, TextStream

STITCHED = Note("stitched", "the record was torn apart over several lines and was put together")
SEVERAL_LINES = Note("several-lines", "the text goes on over several lines")

_MOST_LINES = 16
_START = re.compile(rf'\{{\s*"(?:{"|".join(LINE_KINDS)})"\s*:')
_ANY_START = re.compile(r'\s*\{\s*(?:"|\})')
_INTERRUPTION = re.compile(r"(?:\b\d+ )?MIOpen\(\w+\)")
_INNER_KEY = re.compile(
    r'"(?:workspace_bytes|phase|performance_configs|config_name|config_descriptor|exec_number|time_executions_ms'
    r"|time_(?:std_|min_|max_)?ms|kernel_name|is_transformation|average_time_ms|perf_db_key|environment_variables"
    r'|system_info|tolerance)"\s*:'
)


class _Piece(NamedTuple):
    """A part of one physical line, or of that and so many lines after it."""

    text: str
    reading: Reading
    lines_after: int = 0


_NOISE = Reading(ItemKind.NOISE)
_NO_HEAD = Reading(ItemKind.CORRUPT, reason=Note("no-beginning", "the end of a record whose beginning is missing"))
_NO_END = Reading(ItemKind.CORRUPT, reason=Note("no-end", "the record is cut off: its end is missing"))


def read_log(stream: TextStream, source: str = "") -> Iterator[LogItem]:
    """Everything that is in a log, in reading order; memory does not grow with the log.

    For a run whose stdout and stderr are apart, chain the items of both, each with its own `source`.

    Args:
        stream: An open file, binary or text, or any iterable of lines.
        source: The name of the stream, for the items.
    """
    queue = LineQueue(physical_lines(stream))
    for line in queue:
        number, text, repairs = line
        record = read_sound(text)
        if record is not None:
            yield LogItem(source, number, number, text, ItemKind.RECORD, record, repairs)
        else:
            yield from _read_line(line, queue, source)


def read_unsound(stream: TextStream, sound: Counter[str], source: str = "") -> Iterator[LogItem]:
    """Everything but the lines that are sound records, which are only counted: for who does not ask what they say.

    Args:
        stream: As for `read_log`.
        sound: Takes the count of sound lines by the key that tells their kind.
        source: As for `read_log`.
    """
    queue = LineQueue(physical_lines(stream))
    for line in queue:
        key = None if line.repairs else sound_key(line.text)
        if key is not None:
            sound[key] += 1
        else:
            yield from _read_line(line, queue, source)


def _read_line(line: Line, queue: LineQueue, source: str) -> Iterator[LogItem]:
    pieces = list(_pieces(line.text))
    torn = next((i for i in reversed(range(len(pieces))) if pieces[i].reading.kind is ItemKind.CORRUPT), None)
    if torn is not None:
        pieces[torn : torn + 1] = _stitched(pieces[torn], queue)
    for piece in pieces:
        kind, record, repairs, doubts, reason = piece.reading
        yield LogItem(
            source=source,
            line_number=line.number,
            last_line_number=line.number + piece.lines_after,
            raw=piece.text,
            kind=kind,
            record=record,
            repairs=line.repairs + repairs,
            doubts=doubts,
            reason=reason,
        )


# --- One line ---------------------------------------------------------------------------------------------------------


def _pieces(text: str) -> Iterator[_Piece]:
    """The parts of a line, which together are the line."""
    if "{" not in text and '"' not in text:  # most of what stands beside the records, and no pattern can match
        yield _Piece(text, _NOISE)
        return
    starts = [match.start() for match in _START.finditer(text)]
    if not starts and _ANY_START.match(text):
        starts = [text.index("{")]
    if not starts:
        yield _Piece(text, _text_reading(text))
        return
    if starts[0] > 0:
        yield _Piece(text[: starts[0]], _text_reading(text[: starts[0]]))
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        yield from _segment_pieces(text[start:end])


def _text_reading(text: str) -> Reading:
    return _NO_HEAD if _INNER_KEY.search(text) else _NOISE


def _segment_pieces(segment: str) -> Iterator[_Piece]:
    """The object that a segment begins with, and what stands behind it."""
    end = _object_end(segment)
    if end is None:
        yield _Piece(segment, _NO_END)
        return
    yield _Piece(segment[:end], read_object(segment[:end]))
    if end < len(segment):
        yield _Piece(segment[end:], _text_reading(segment[end:]))


def _object_end(segment: str) -> int | None:
    end = sound_end(segment)
    if end is None and (raw := raw_text(segment)) is not None:
        end = raw.end
    if end is None:
        end = unescaped_values_end(segment)
    return balanced_end(segment) if end is None else end


# --- Several lines ----------------------------------------------------------------------------------------------------


def _stitched(torn: _Piece, queue: LineQueue) -> list[_Piece]:
    """The parts of a torn piece and the lines after it that it needs; the piece as it is where they do not help."""
    if _START.match(torn.text) is None and _ANY_START.match(torn.text) is None:
        return [torn]
    if begins_raw_text(torn.text):
        return _joined(torn, "", queue, "\n", SEVERAL_LINES)
    interruption = _INTERRUPTION.search(torn.text)
    if interruption is None:
        return _joined(torn, "", queue, "", STITCHED)
    head, between = torn.text[: interruption.start()], torn.text[interruption.start() :]
    return _joined(_Piece(head, torn.reading), between, queue, "", STITCHED)


def _joined(torn: _Piece, between: str, queue: LineQueue, separator: str, note: Note) -> list[_Piece]:
    """The head and the following lines as one record, and what stood between them as noise."""
    parts = [torn.text]
    size = len(torn.text)
    for count, line in enumerate(queue.ahead(_MOST_LINES), 1):
        if _START.search(line.text) or size > LONGEST_LINE:
            break
        parts.append(line.text)
        size += len(line.text)
        if line.text.rstrip().endswith("}"):
            reading = read_object(separator.join(parts).rstrip())
            if reading.kind is ItemKind.RECORD:
                queue.drop(count)
                whole = _Piece("\n".join(parts), reading._replace(repairs=(note, *reading.repairs)), count)
                return [whole, *([_Piece(between, _NOISE)] if between else [])]
    return [_Piece(torn.text + between, torn.reading)]
