"""Decoded lines of other releases: keys that are missing or new, words and numbers that the schema does not have.

Nothing here guesses a time. What is filled in, left out or not a number is told in a note.
"""

from __future__ import annotations

import math
from sys import float_info
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_miopen_perf.driver.log_item import Note
from pytest_miopen_perf.records import KernelPhase
from pytest_miopen_perf.schema import load_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    Schema = Mapping[str, Any]

NOT_MEASURED = 2**64 - 1
"""MIOpen's `exec_number` of a config without times."""

_PHASES = frozenset(phase.value for phase in KernelPhase)
_ANY_TIME = 0.5
_FEW = 3
_PATH_WORDS = {
    "non-finite": "no finite number",
    "rounded-count": "read as 2^64-1, which a program without 64-bit integers has rounded",
    "negative": "negative, so no measurement",
}
_REFERENCE = "#/$defs/"


class Views(NamedTuple):
    """One decoded line in two views.

    Attributes:
        to_check: For the schema, with a number in the place of what is not finite or is negative.
        to_build: For the record, with nan in the place of what is not finite.
    """

    to_check: Any
    to_build: Any


def draft_reason(data: Mapping[str, Any]) -> Note | None:
    """Why a line is of a draft of the format, or None when it is of none.

    Two drafts were in use before the release (MIOpen pull request #5736): both list the kernels of a solution at the
    top, without configs.
    """
    kernels = data.get("kernels")
    first = kernels[0] if isinstance(kernels, list) and kernels else data
    if not isinstance(first, dict) or "performance_configs" in data:
        return None
    if "exec_id" in first or "is_transform" in first:
        name = "the first draft of the format (exec_id, is_transform)"
    elif "kernels" in data and "solution" in data:
        name = "the second draft of the format (kernels at the top, no performance_configs)"
    else:
        return None
    words = f"the line is of {name}, which was never released and whose figures are drawn in another way; "
    return Note("draft", words + "log again with a released MIOpen")


def completed(kind: str, data: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """The line with the keys of the schema: new ones left out, and missing ones filled in where no figure is lost.

    Args:
        kind: The name of the line kind in the schema.
        data: The decoded line.
    """
    notes: list[Note] = []
    pruned = _pruned(data, load_schema()["$defs"][kind], "$", notes)
    if kind == "solution_record":
        _complete_solution(pruned, notes)
    if kind == "system_info":
        _complete_machine(pruned, notes)
    return pruned, tuple(notes)


def _pruned(value: Any, schema: Schema, path: str, notes: list[Note]) -> Any:
    """A copy of the value without keys that the schema does not have."""
    if isinstance(value, list):
        return [
            _pruned(part, _resolved(schema.get("items", {}), part), f"{path}[{i}]", notes)
            for i, part in enumerate(value)
        ]
    properties = _resolved(schema, value).get("properties")
    if not isinstance(value, dict) or properties is None or "MIOPEN_FIND_MODE" in properties:
        return value
    unknown = [key for key in value if key not in properties]
    if unknown:
        notes.append(Note("unknown-keys", f"keys that are not known at {path} were left out: {', '.join(unknown)}"))
    return {
        key: _pruned(part, _resolved(properties[key], part), f"{path}.{key}", notes)
        for key, part in value.items()
        if key in properties
    }


def _resolved(schema: Schema, value: Any) -> Schema:
    """The part of the schema that lists the keys of the value."""
    definitions = load_schema()["$defs"]
    while True:
        if "$ref" in schema:
            schema = definitions[schema["$ref"].removeprefix(_REFERENCE)]
        elif "if" in schema and "dimensions" in schema["if"].get("properties", {}):
            is_3d = isinstance(value, dict) and value.get("dimensions") == 3
            schema = schema["then" if is_3d else "else"]
        elif "if" in schema:
            schema = schema["else"]
        else:
            return schema


def _complete_solution(data: dict[str, Any], notes: list[Note]) -> None:
    if "phase" not in data:
        data["phase"] = KernelPhase.UNKNOWN.value
        notes.append(Note("no-phase", "the record has no phase; it was read as unknown"))
    elif isinstance(data["phase"], str) and data["phase"] not in _PHASES:
        notes.append(Note("unknown-phase", f"the phase {data['phase']!r} is not known; it was read as unknown"))
        data["phase"] = KernelPhase.UNKNOWN.value
    if "workspace_bytes" not in data:
        data["workspace_bytes"] = 0
        notes.append(Note("no-workspace", "the record has no workspace_bytes; it was read as 0"))
    configs = data.get("performance_configs")
    found = [config for config in configs if isinstance(config, dict)] if isinstance(configs, list) else []
    if any("kernels" not in config for config in found):
        notes.append(Note("no-kernels", "a config has no kernels key; it was read as null"))
    if any("number_of_transformations" not in config for config in found):
        notes.append(Note("no-transformations", "a config has no number_of_transformations; it was read as 0"))
    for config in found:
        config.setdefault("kernels", None)
        config.setdefault("number_of_transformations", 0)


def _complete_machine(data: dict[str, Any], notes: list[Note]) -> None:
    properties = load_schema()["$defs"]["system_info"]["properties"]
    for part in ("system_info", "build_info"):
        if isinstance(data.setdefault(part, {}), dict):
            missing = [key for key in properties[part]["properties"] if key not in data[part]]
            data[part].update(dict.fromkeys(missing, ""))
            if missing:
                notes.append(Note("missing-keys", f"{part} has no {', '.join(missing)}; they were read as empty"))


def views(kind: str, data: dict[str, Any]) -> tuple[Views, tuple[Note, ...]]:
    """The line as it is checked and as it is built."""
    found_paths: dict[str, list[str]] = {}
    both = _views(data, "$", found_paths)
    notes = [_path_note(code, paths) for code, paths in found_paths.items()]
    if kind == "find_time" and isinstance(both.to_check.get("environment_variables"), dict):
        found = both.to_check["environment_variables"]
        properties = load_schema()["$defs"]["find_time"]["properties"]["environment_variables"]["properties"]
        if found.keys() != properties.keys():
            notes.append(Note("other-variables", "the line lists other environment variables than the released MIOpen"))
            is_plain = all(isinstance(value, int | str) for value in found.values())
            blank = {key: "" if rule.get("type") == "string" else 0 for key, rule in properties.items()}
            both.to_check["environment_variables"] = (
                {key: found.get(key, value) for key, value in blank.items()} if is_plain else found
            )
    return both, tuple(notes)


def _path_note(code: str, paths: list[str]) -> Note:
    more = f" and {len(paths) - _FEW} more" if len(paths) > _FEW else ""
    return Note(code, f"{_PATH_WORDS[code]}: {', '.join(paths[:_FEW])}{more}")


def _views(value: Any, path: str, found: dict[str, list[str]]) -> Views:
    if isinstance(value, dict):
        parts = {key: _views(part, f"{path}.{key}", found) for key, part in value.items()}
        return Views({k: v.to_check for k, v in parts.items()}, {k: v.to_build for k, v in parts.items()})
    if isinstance(value, list):
        items = [_views(part, f"{path}[{index}]", found) for index, part in enumerate(value)]
        return Views([item.to_check for item in items], [item.to_build for item in items])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return Views(value, value)
    return _number_views(value, path, found)


def _number_views(value: float, path: str, found: dict[str, list[str]]) -> Views:
    if abs(value) > float_info.max or math.isnan(value):  # in this order: isnan cannot take any integer
        found.setdefault("non-finite", []).append(path)
        return Views(_ANY_TIME, math.nan)
    if float(value) == 2.0**64 and value != NOT_MEASURED:
        found.setdefault("rounded-count", []).append(path)
        return Views(NOT_MEASURED, NOT_MEASURED)
    if isinstance(value, float) and value < 0:
        found.setdefault("negative", []).append(path)
        return Views(-value, value)
    return Views(value, value)
