"""What a reader of a log hands out: every piece of every line, as a record or with the reason why it is none."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pytest_miopen_perf.records import LogRecord


class ItemKind(enum.Enum):
    """What a piece of a log is.

    RECORD: A line of the log, as data.
    CORRUPT: Meant as one, but torn, truncated, or against the schema.
    FOREIGN: Sound JSON of something else, or of a draft of the format that was never released.
    NOISE: Text that stands beside the log, and blank lines.
    """

    RECORD = "record"
    CORRUPT = "corrupt"
    FOREIGN = "foreign"
    NOISE = "noise"


class Note(NamedTuple):
    """A remark on one item.

    Attributes:
        code: A short name that does not change, for programs.
        message: The same as a sentence, for people.
    """

    code: str
    message: str


class LogItem(NamedTuple):
    """One piece of a log: most often a line, in a glued line one of several.

    A tuple and no dataclass, because there is one for each of millions of lines.

    Every character of a log is in the `raw` of exactly one item, in reading order; the ends of lines are left out.

    Attributes:
        source: The name of the stream, as the caller gave it.
        line_number: The physical line where the piece begins, from 1.
        last_line_number: The physical line where it ends; another one where a record was torn apart.
        raw: The text as it stands in the log; a torn record has its parts joined with a line feed.
        kind: What it is.
        record: The record, exactly where `kind` is RECORD. What the log has as `nan` or `inf` is nan in it.
        repairs: What had to be changed to read it.
        doubts: What of the record is not to be trusted.
        reason: Why it is no record, exactly where `kind` is CORRUPT or FOREIGN.
    """

    source: str
    line_number: int
    last_line_number: int
    raw: str
    kind: ItemKind
    record: LogRecord | None = None
    repairs: tuple[Note, ...] = ()
    doubts: tuple[Note, ...] = ()
    reason: Note | None = None
