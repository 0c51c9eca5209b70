"""What the marker `miopen_perf` of a test says."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.options import OPTIONS
from pytest_miopen_perf.problem import ConvProblem

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pytest

    from pytest_miopen_perf.gate.phases import CaseRule
    from pytest_miopen_perf.session import PerfSession
    from pytest_miopen_perf.settings import Settings

_PARSERS = {option.field: option.parse for option in OPTIONS}
_MARKER_SETTINGS = {
    "tolerance": "tolerance",
    "iterations": "iterations",
    "tune": "tune",
    "margin": "margin",
    "gate": "gate",
    "cache_state": "cache_state",
    "launch": "launch_mode",
}
_MARKER_NAMES = ("problems", "solvers", *_MARKER_SETTINGS)


def marker_arguments(node: pytest.Item | pytest.Collector | Any) -> dict[str, Any]:
    """The arguments of the closest `miopen_perf` marker, names checked; {} without one.

    Raises:
        SettingsError: an unknown name, a positional argument, or a text where a list belongs.
    """
    marker = next(node.iter_markers("miopen_perf"), None)
    if marker is None:
        return {}
    unknown = [name for name in marker.kwargs if name not in _MARKER_NAMES]
    if unknown or marker.args:
        what = f"has no argument {unknown[0]!r}" if unknown else "takes named arguments only"
        raise SettingsError(f"the marker miopen_perf of {node.name} {what}; it knows {', '.join(_MARKER_NAMES)}")
    for name in ("problems", "solvers"):
        texts = marker.kwargs.get(name, [])
        if not isinstance(texts, list | tuple) or not all(isinstance(text, str | ConvProblem) for text in texts):
            raise SettingsError(f"the marker miopen_perf of {node.name}: {name} is {texts!r}; give a list of texts")
    return dict(marker.kwargs)


def settings_with(settings: Settings, arguments: Mapping[str, Any], where: str) -> Settings:
    """Session settings with the marker's arguments; what the command line or ini file says of all tests gives way.

    Raises:
        SettingsError: a value is wrong.
    """
    changed = {}
    for name, field in _MARKER_SETTINGS.items():
        if name in arguments:
            try:
                changed[field] = _PARSERS[field](str(arguments[name]))
            except ValueError as error:
                raise SettingsError(
                    f"the marker miopen_perf of {where}: {name} is {arguments[name]!r}: {error}"
                ) from error
    return replace(settings, **changed)


def case_rule(session: PerfSession, node: pytest.Item | pytest.File) -> CaseRule:
    """What the marker asks of the gate, else the test's file; a margin of None is that of the session."""
    from pytest_miopen_perf.gate.phases import TIME_ALONE, CaseRule

    arguments = marker_arguments(node)
    settings = settings_with(session.settings, arguments, node.nodeid)
    path = os.path.relpath(node.path, session.config.rootpath)
    margin = settings.margin if "margin" in arguments else session.settings.margin_of_file(Path(path).as_posix())
    return CaseRule(margin=margin, phases=settings.gate or TIME_ALONE)
