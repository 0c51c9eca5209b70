"""The text of one JSON object to a record: the fast way for sound lines, the tolerant way for all others."""

from __future__ import annotations

import functools
import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from pytest_miopen_perf.driver.dialects import completed, draft_reason, views
from pytest_miopen_perf.driver.log_item import ItemKind, Note
from pytest_miopen_perf.driver.repair import UNESCAPED_TEXT, is_escaped, mend, mend_values, raw_text
from pytest_miopen_perf.errors import InvalidRecordError
from pytest_miopen_perf.records import (
    BuildInfo,
    CommandLine,
    ErrorLine,
    FindTime,
    Performance,
    PrngSeed,
    SolutionRecord,
    SystemInfo,
    Verification,
    validate,
)
from pytest_miopen_perf.schema import LINE_KINDS, load_schema
from pytest_miopen_perf.schema.acceptor import compile_acceptor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_miopen_perf.records import LogRecord
    from pytest_miopen_perf.schema.acceptor import Accepts

RAW_COMMAND = Note("raw-command", "backslashes in the command may be escapes or not; it was taken as it stands")

_BUILDERS: Mapping[str, Callable[[Mapping[str, Any]], LogRecord]] = {
    kind.KEY: kind.from_json
    for kind in (
        *(SolutionRecord, CommandLine, PrngSeed, SystemInfo, BuildInfo),
        *(FindTime, Performance, Verification, ErrorLine),
    )
}


class Reading(NamedTuple):
    """What the text of an object turned out to be; see `LogItem`."""

    kind: ItemKind
    record: LogRecord | None = None
    repairs: tuple[Note, ...] = ()
    doubts: tuple[Note, ...] = ()
    reason: Note | None = None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


_STRICT = json.JSONDecoder(parse_constant=_refuse)
_LOOSE = json.JSONDecoder(parse_constant=lambda _: math.nan, strict=False)


# --- The fast way -----------------------------------------------------------------------------------------------------


def read_sound(text: str) -> LogRecord | None:
    """The record of a line that has no fault and no escape, or None: then `read_object` has to look."""
    data = _sound_data(text)
    return None if data is None else _BUILDERS[next(iter(data))](data)


def sound_key(text: str) -> str | None:
    """The key that tells the kind of a line, where `read_sound` would give its record; else None."""
    data = _sound_data(text)
    return None if data is None else next(iter(data))


def _sound_data(text: str) -> dict[str, Any] | None:
    """The decoded line, where it has no fault and no escape, and is sure to fit the schema."""
    if not text.startswith('{"') or "\\" in text:
        return None
    try:
        data, end = _STRICT.raw_decode(text)
    except (ValueError, RecursionError):
        return None
    return data if end == len(text) and _is_sure(data) else None


def sound_end(text: str) -> int | None:
    """Where the sound JSON object that the text begins with ends, or None when there is none."""
    try:
        return _STRICT.raw_decode(text)[1]
    except (ValueError, RecursionError):
        return None


def _is_sure(data: dict[str, Any]) -> bool:
    """Whether the acceptor of its kind is sure that a decoded line fits the schema."""
    accepts = _acceptors().get(next(iter(data), ""))
    return accepts is not None and accepts(data)


@functools.cache
def _acceptors() -> Mapping[str, Accepts]:
    """One predicate a line kind, by the key that tells the kind; a kind that has none takes the slow way."""
    definitions = load_schema()["$defs"]
    found = {key: compile_acceptor(definitions[kind], definitions) for key, kind in LINE_KINDS.items()}
    found["performance"] = _performance_acceptor(definitions)
    return {key: accepts for key, accepts in found.items() if accepts is not None}


def _performance_acceptor(definitions: Mapping[str, Any]) -> Accepts | None:
    flat = compile_acceptor(definitions["performance_2d"], definitions)
    deep = compile_acceptor(definitions["performance_3d"], definitions)
    if flat is None or deep is None:
        return None
    return lambda data: len(data) == 1 and (flat(data["performance"]) or deep(data["performance"]))


# --- The tolerant way -------------------------------------------------------------------------------------------------


def read_object(text: str) -> Reading:
    """What the text of one object, from its first brace to its last, is."""
    raw = raw_text(text)
    if raw is not None and raw.end == len(text):
        reading = _read_raw_text(text, raw.key, raw.text)
        if reading is not None:
            return reading
    try:
        data, repairs = _decoded(text)
        reading = _read_data(data)
    except json.JSONDecodeError as error:
        return Reading(ItemKind.CORRUPT, reason=Note("not-json", f"the line is not JSON: {error}"))
    except RecursionError:
        return Reading(ItemKind.CORRUPT, reason=Note("not-json", "the line is nested too deep for a line of the log"))
    return reading._replace(repairs=repairs + reading.repairs)


def _decoded(text: str) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """The decoded object and what had to be repaired for it."""
    mended, repairs = mend(text)
    try:
        return _loosely_decoded(mended), repairs
    except json.JSONDecodeError:
        fixed = mend_values(mended)
        if not fixed.repairs:
            raise
        return _loosely_decoded(fixed.text), repairs + fixed.repairs


def _loosely_decoded(text: str) -> dict[str, Any]:
    try:
        data = _LOOSE.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise json.JSONDecodeError(str(error), text, 0) from error
    assert isinstance(data, dict), "what begins with a brace is an object"
    return data


def _read_raw_text(text: str, key: str, value: str) -> Reading | None:
    """A command or error line, whose text may or may not be escaped; None: it is more than such a line."""
    try:
        data = _STRICT.decode(mend(text).text)
    except (ValueError, RecursionError):
        record = CommandLine(command=value) if key == "command" else ErrorLine(error=value)
        return Reading(ItemKind.RECORD, record, repairs=(UNESCAPED_TEXT,))
    if key == "command" and data.keys() == {"command"} and not is_escaped(value):
        return Reading(ItemKind.RECORD, CommandLine(command=value), doubts=(RAW_COMMAND,))
    return None


def _read_data(data: dict[str, Any]) -> Reading:
    draft = draft_reason(data)
    if draft is not None:
        return Reading(ItemKind.FOREIGN, reason=draft)
    key = next((key for key in LINE_KINDS if key in data), None)
    if key is None:
        keys = ", ".join(map(repr, list(data)[:8])) or "(none)"
        return Reading(ItemKind.FOREIGN, reason=Note("foreign", f"JSON, but no line of the log: its keys are {keys}"))
    if _is_sure(data):
        return Reading(ItemKind.RECORD, _BUILDERS[next(iter(data))](data))
    kind = LINE_KINDS[key]
    complete, doubts = completed(kind, data)
    both, more = views(kind, complete)
    try:
        validate(both.to_check)
    except InvalidRecordError as error:
        return Reading(ItemKind.CORRUPT, reason=Note("schema", str(error)))
    return Reading(ItemKind.RECORD, _BUILDERS[key](both.to_build), doubts=doubts + more)
