"""The results file, read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.errors import InputError
from pytest_miopen_perf.report.results_file import FORMAT, VERSION
from pytest_miopen_perf.schema import load_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_REASON = 240


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultsFile:
    """What a results file holds.

    Attributes:
        cases: In the order in which they ended.
        created: When, ISO 8601.
        is_complete: False of a session that was interrupted.
        settings: Of the session, as they stand; None where the cases come out of a log.
        environment: The variables that were set.
        versions: Of what was installed.
    """

    cases: tuple[Case, ...]
    created: str
    is_complete: bool
    settings: Mapping[str, Any] | None
    environment: Mapping[str, str]
    versions: Mapping[str, str]


def parse_results(text: str, where: str) -> ResultsFile:
    """A results file from its text.

    Args:
        text: Of the file.
        where: The file's name, for messages.

    Raises:
        InputError: it is damaged, no results file, or one of a newer version.
    """
    data = _decoded(text, where)
    reason = results_fault(data)
    if reason:
        raise InputError(f"{where} is damaged: {reason}")
    return _as_file(data)


def parse_fresh_results(text: str, where: str) -> ResultsFile:
    """A results file that a process of ours has just written: it is not held against the schema, which takes a while.

    Args:
        text: Of the file.
        where: The file's name, for messages.

    Raises:
        InputError: it is damaged, no results file, or one of a newer version.
    """
    try:
        return _as_file(_decoded(text, where))
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(
            f"{where} is damaged: {error!r}; both arms need a version of pytest-miopen-perf that fits"
        ) from error


def _as_file(data: Mapping[str, Any]) -> ResultsFile:
    tune = data["settings"]["tune"] if data["settings"] else None
    return ResultsFile(
        cases=tuple(_case(case, tune) for case in data["cases"]),
        created=data["created"],
        is_complete=data["complete"],
        settings=data["settings"],
        environment=data["environment"],
        versions=data["versions"],
    )


def _case(data: Mapping[str, Any], tune: str | None) -> Case:
    """A case; that of an older version leaves the tuning policy to the session."""
    result = data["result"]
    return Case.from_json({**data, "log": [], "result": None if result is None else {"tune": tune, **result}})


def results_fault(data: Mapping[str, Any]) -> str:
    """What of a decoded file does not fit its schema, with the place; "" when all of it does."""
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    error = best_match(Draft202012Validator(load_schema("results")).iter_errors(data))
    if error is None:
        return ""
    reason = error.message
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[: _LONGEST_REASON // 2]} ... {reason[-_LONGEST_REASON // 2 :]}"
    return f"{error.json_path}: {reason}"


def _decoded(text: str, where: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{where} is damaged: line {error.lineno}: {error.msg}") from error
    except RecursionError as error:
        raise InputError(f"{where} is damaged: it is nested too deeply") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise InputError(f"{where} is no results file of pytest-miopen-perf; give what --miopen-perf-json wrote")
    version = data.get("version")
    if type(version) is not int or version > VERSION:
        raise InputError(
            f"{where} has version {version!r}, and this program knows {VERSION}; update pytest-miopen-perf"
        )
    return data
