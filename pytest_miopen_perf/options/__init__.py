"""The command-line options and their ini twins: one table a room, parsed into `Settings` once.

Only the standard library is imported here: pytest reads the tables at every start, also where the plugin is unused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pytest_miopen_perf.options import driving, judging, measuring, running, searching, static, writing
from pytest_miopen_perf.options.running import LEVEL_VARIABLE

if TYPE_CHECKING:
    import pytest

    from pytest_miopen_perf.options.option import Option
    from pytest_miopen_perf.settings import Settings

OPTIONS: tuple[Option, ...] = (
    *running.OPTIONS,
    *searching.OPTIONS,
    *measuring.OPTIONS,
    *writing.OPTIONS,
    *driving.OPTIONS,
    *judging.OPTIONS,
    *static.OPTIONS,
)


def add_options(parser: pytest.Parser) -> None:
    """Register every option and its ini twin."""
    group = parser.getgroup("miopen-perf", "HIP convolution kernels: test, time, log (pytest-miopen-perf)")
    for option in OPTIONS:
        extra: dict[str, Any] = {}
        if option.repeats:
            extra["action"] = "append"
        if option.flag:
            extra |= {"action": "store_const", "const": option.flag}
        else:
            extra["metavar"] = option.metavar
        group.addoption(option.option, dest=option.key, default=None, help=option.help, **extra)
        kind: Literal["linelist", "string"] = "linelist" if option.repeats else "string"
        parser.addini(
            option.key,
            type=kind,
            default=[] if option.repeats else "",
            help=f"default of {option.option}",
        )


def are_options_given(config: pytest.Config) -> bool:
    """Whether the command line names any of ours: then wrong values are to be told at once."""
    return any(getattr(config.option, option.key, None) is not None for option in OPTIONS)


def are_ini_values_given(config: pytest.Config) -> bool:
    """Whether the ini file, or `-o`, sets any of ours."""
    return any(config.getini(option.key) for option in OPTIONS)


def read_settings(config: pytest.Config, environment: dict[str, str]) -> Settings:
    """The settings of a session: command line over the level variable over the ini file over the defaults.

    Raises:
        SettingsError: a value is wrong; the message names the option, the value and what to give.
    """
    from pytest_miopen_perf.settings import Settings

    values: dict[str, Any] = {}
    for option in OPTIONS:
        given = getattr(config.option, option.key, None)
        spelling = option.option
        if option.field == "level" and given is None and LEVEL_VARIABLE in environment:
            values |= _level_of_variable(environment[LEVEL_VARIABLE])
            continue
        if given is None:
            given, spelling = config.getini(option.key) or None, f"ini value {option.key}"
        if given is None:
            continue
        values[option.field] = _parsed(option, given, spelling)
        if option.field == "level":
            values["level_source"] = "option" if spelling == option.option else "ini"
    return Settings(**values)


def _level_of_variable(text: str) -> dict[str, Any]:
    from pytest_miopen_perf.perflog import parse_level

    return {"level": parse_level(text), "level_source": "variable"}


def _parsed(option: Option, given: str | list[str], spelling: str) -> object:
    from pytest_miopen_perf.errors import SettingsError

    texts = given if isinstance(given, list) else [given]
    parsed = []
    for text in texts:
        try:
            parsed.append(option.parse(text))
        except ValueError as error:
            raise SettingsError(f"{spelling} is {text!r}: {error}") from error
    return tuple(parsed) if option.repeats else parsed[0]
