"""Paths that begin with a home folder, as a shell writes them: `~/kernels`, `~other/kernels`."""

from __future__ import annotations

from pathlib import Path

from pytest_miopen_perf.errors import SettingsError


def without_tilde(text: str) -> Path:
    """The path that a text means.

    Raises:
        SettingsError: it names the home folder of a user who has none.
    """
    try:
        return Path(text).expanduser()
    except RuntimeError:
        raise SettingsError(f"{text} begins with a home folder that does not exist; write the folder out") from None
