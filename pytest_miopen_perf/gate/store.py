"""The folder of baselines and noise floors, and the names in it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import BaselineError, SettingsError
from pytest_miopen_perf.gate.baseline import Baseline, baseline_of
from pytest_miopen_perf.gate.baseline_file import load_baseline, save_baseline
from pytest_miopen_perf.gate.noise_floor import load_noise, save_noise
from pytest_miopen_perf.stored_json import named_path

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pytest_miopen_perf.gate.baseline import EntryKey, Run
    from pytest_miopen_perf.gate.noise_floor import NoiseFloor

_NOISE = "noise"


def baseline_path(text: str, folder: Path) -> Path:
    """The file that a name or path means: a word is a name in the folder, the rest is a path.

    Raises:
        SettingsError: a name that no file can have, or the one of the noise floors.
    """
    if text == _NOISE:
        raise SettingsError(f"the name {_NOISE!r} belongs to the noise floors; give the baseline another one")
    return named_path(text, folder, ".json")


def noise_path(folder: Path) -> Path:
    """The file of the noise floors."""
    return folder / f"{_NOISE}.json"


def check_writable(path: Path) -> None:
    """Say now what would else be found only when all has been measured.

    Raises:
        BaselineError: the file is a folder, or cannot be written, or no folder can be made for it.
    """
    if path.is_dir():
        raise BaselineError(f"{path} is a folder; give the path of a file")
    place = next(folder for folder in (path, *path.parents) if folder.exists())
    if place != path and not place.is_dir():
        raise BaselineError(f"{path} cannot be written, since {place} is a file; give another path")
    if not os.access(place, os.W_OK):
        raise BaselineError(f"{path} cannot be written, since {place} cannot be; give a path that you may write")


def known_floors(folder: Path) -> dict[EntryKey, NoiseFloor]:
    """The noise floors that an A/A run has left; none where there was no such run.

    Raises:
        BaselineError: the file is damaged.
    """
    path = noise_path(folder)
    floors = load_noise(path) if path.exists() else ()
    return {(floor.key, floor.device): floor for floor in floors}


def save_floors(folder: Path, floors: Iterable[NoiseFloor]) -> Path:
    """Put noise floors into the file of the folder; those of other cases and devices stay.

    Raises:
        BaselineError: the old file cannot be read, or the new one not written.
    """
    path = noise_path(folder)
    whole = known_floors(folder) | {(floor.key, floor.device): floor for floor in floors}
    save_noise(path, whole.values())
    return path


def save_run(path: Path, run: Run) -> Baseline:
    """Put the times of a session into a baseline; cases that it has not measured stay as they were.

    Raises:
        BaselineError: the session may not become a baseline, or the old file cannot be read, or the new one not
            written; the old file is unchanged.
    """
    measured = baseline_of(run)
    whole = (load_baseline(path) if path.exists() else Baseline()).updated(measured)
    save_baseline(path, whole)
    return measured
