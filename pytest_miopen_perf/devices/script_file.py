"""Reading a script from a JSON file: the field names are the keys, and every error names the file and the key."""

from __future__ import annotations

import json
import types
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from pytest_miopen_perf.devices import script as data
from pytest_miopen_perf.errors import SettingsError

if TYPE_CHECKING:
    from pathlib import Path

_PAIRS = tuple[tuple[str, str], ...]
_WORDS: dict[Any, str] = {
    int: "an integer",
    float: "a number",
    str: "a text",
    bool: "true or false",
    _PAIRS: "an object of texts and integers",
    type(None): "null",
}


def read_script(path: Path) -> data.Script:
    """Read a script.

    The file holds one JSON object with the fields of `Script`; `rules` is a list of objects with the fields of
    `KernelScript`, `defines` an object, and what is left out has its default. `NaN` and `Infinity` are allowed where
    times are listed.

    Raises:
        SettingsError: the file cannot be read, or says something that no script says; file and key are named.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(
            f"the device script {path} cannot be read ({error}); give the path of a JSON file"
        ) from error
    try:
        value = json.loads(text, object_pairs_hook=_object)
        return cast("data.Script", _read(data.Script, value, ""))
    except SettingsError as error:
        raise SettingsError(f"the device script {path} is wrong: {error}") from None
    except (ValueError, RecursionError, OverflowError) as error:
        raise SettingsError(f"the device script {path} is damaged JSON: {error}; repair it") from error


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in pairs:
        if key in found:
            raise SettingsError(f"the key {key!r} stands twice in one object; keep one")
        found[key] = value
    return found


def _read(kind: Any, value: Any, key: str) -> Any:
    """The value of type `kind` that a JSON value stands for; `key` is where it stands."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _read(_alternative(get_args(kind), value, key), value, key)
    if kind == _PAIRS:
        return _read_pairs(value, key)
    if origin is tuple:
        return _read_list(get_args(kind)[0], value, key)
    return _read_record(kind, value, key) if is_dataclass(kind) else _read_plain(kind, value, key)


def _read_plain(kind: Any, value: Any, key: str) -> Any:
    if get_origin(kind) is Literal:
        return _require(value in get_args(kind), value, key, f"one of {', '.join(get_args(kind))}")
    if kind is float:
        return float(_require(_is_number(value), value, key, _WORDS[float]))
    is_kind = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
    return _require(is_kind, value, key, _WORDS[kind])


def _read_list(kind: Any, value: Any, key: str) -> tuple[Any, ...]:
    items = _require(isinstance(value, list), value, key, "a list")
    return tuple(_read(kind, item, f"{key}[{number}]") for number, item in enumerate(items))


def _read_record(kind: Any, value: Any, key: str) -> Any:
    _require(isinstance(value, dict), value, key or "the whole file", "an object")
    hints = _hints(kind)
    for name in value:
        if name not in hints:
            raise SettingsError(f"{_inside(key, name)} is no key of a script; there are: {', '.join(hints)}")
    for field in fields(kind):
        if field.default is MISSING and field.name not in value:
            raise SettingsError(f"{_inside(key, field.name)} is missing; write it")
    values = {name: _read(hints[name], item, _inside(key, name)) for name, item in value.items()}
    try:
        return kind(**values)
    except SettingsError as error:
        raise SettingsError(_inside(key, str(error))) from None


def _read_pairs(value: Any, key: str) -> tuple[tuple[str, str], ...]:
    _require(isinstance(value, dict), value, key, _WORDS[_PAIRS])
    for name, item in value.items():
        _require(isinstance(item, str) or type(item) is int, item, _inside(key, name), "a text or an integer")
    return tuple((name, str(item)) for name, item in value.items())


def _alternative(kinds: tuple[Any, ...], value: Any, key: str) -> Any:
    """The member of a union that the JSON value can be; at most one is a record, one a text and so on."""
    for kind in kinds:
        json_type = dict if is_dataclass(kind) else str if get_origin(kind) is Literal else kind
        if isinstance(value, json_type) and not isinstance(value, bool):
            return kind
    words = [_WORDS.get(kind) or ("an object" if is_dataclass(kind) else ", ".join(get_args(kind))) for kind in kinds]
    raise SettingsError(f"{key} is {value!r}; write {' or '.join(words)}")


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _inside(key: str, name: str) -> str:
    return f"{key}.{name}" if key else name


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _require(holds: bool, value: Any, key: str, wanted: str) -> Any:
    if not holds:
        raise SettingsError(f"{key} is {value!r}; write {wanted}")
    return value
