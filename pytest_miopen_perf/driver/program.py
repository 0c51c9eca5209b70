"""The real MIOpenDriver as a program: where it is, how it is asked for a problem, and what it is told of the world."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.driver.process import run_program
from pytest_miopen_perf.driver.run_report import read_report
from pytest_miopen_perf.errors import DeviceUnavailableError, DriverRunError
from pytest_miopen_perf.logged.cases import reported_device
from pytest_miopen_perf.settings import MIOPEN_SEED, TunePolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_miopen_perf.driver.run_report import RunReport
    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.settings import Settings

PROGRAM = "MIOpenDriver"
BACKEND = "miopendriver"

VISIBLE_DEVICES = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""Variables that choose the device; the driver takes the first one that they leave."""

FOLDERS = ("MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR")
"""Variables that name the folders of a worker."""

_SEED = "MIOPEN_DEBUG_DRIVER_PRNG_SEED"
_ENFORCE = "MIOPEN_FIND_ENFORCE"
_SEARCH_DB_UPDATE = "4"


def find_driver(given: Path | None, search_path: str | None) -> Path:
    """The program: the one that was given, else the first one of the search path.

    Args:
        given: A program, which the options have found to be one.
        search_path: The variable PATH.

    Raises:
        DeviceUnavailableError: there is none.
    """
    found = given or shutil.which(PROGRAM, path=search_path or "")
    if found is None:
        raise DeviceUnavailableError(f"no {PROGRAM} on PATH; give --miopen-perf-driver=PATH, or install MIOpen")
    return Path(found).absolute()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverProgram:
    """A MIOpenDriver, and the folder that its runs share.

    Attributes:
        path: The program.
        folder: Where its user data bases and its compiled kernels are kept; no other process may use it meanwhile.
        variables: The environment that it inherits.
    """

    path: Path
    folder: Path
    variables: Mapping[str, str]

    @property
    def device(self) -> DeviceInfo:
        """The device as far as it is known before a run: the first one that the environment leaves visible."""
        first = {name: self.variables[name].partition(",")[0] for name in VISIBLE_DEVICES if name in self.variables}
        visible = [f"{name}={device}" for name, device in first.items()]
        return replace(reported_device(""), backend=BACKEND, uid=", ".join(visible))

    def command(self, problem: ConvProblem, settings: Settings) -> list[str]:
        """Program and arguments: the problem, timed and verified, as often and as tuned as the settings say.

        `-s 1` searches what the perf-db does not know; to search anew takes `MIOPEN_FIND_ENFORCE` beside it.
        """
        words = [str(self.path), *problem.to_driver().split()[1:], "-V", "1"]
        if settings.iterations is not None:
            words += ["-i", str(settings.iterations)]
        if settings.tune is not TunePolicy.OFF:
            words += ["-s", "1"]
        return words

    def changes(self, settings: Settings) -> dict[str, str]:
        """The variables that a run has beside those that it inherits."""
        changed = {
            "MIOPEN_PERFORMANCE_LOGS": str(settings.level),
            **dict(zip(FOLDERS, (str(self.folder / "user-db"), str(self.folder / "cache")), strict=True)),
        }
        if settings.seed != MIOPEN_SEED:
            changed[_SEED] = str(settings.seed)
        if settings.tune is TunePolicy.FORCE and _ENFORCE not in self.variables:
            changed[_ENFORCE] = _SEARCH_DB_UPDATE
        return changed

    def shell_line(self, problem: ConvProblem, settings: Settings) -> str:
        """What to type to run it again, with the user's own data bases."""
        changed = self.changes(settings)
        kept = [f"{name}={changed[name]}" for name in ("MIOPEN_PERFORMANCE_LOGS", _SEED, _ENFORCE) if name in changed]
        visible = [f"{name}={self.variables[name]}" for name in VISIBLE_DEVICES if name in self.variables]
        return " ".join([*map(shlex.quote, kept + visible), shlex.join(self.command(problem, settings))])

    def run(self, problem: ConvProblem, settings: Settings) -> RunReport:
        """Run a problem, and read what the driver says of it.

        Raises:
            DriverRunError: the program does not start, or its folders cannot be made.
        """
        changed = self.changes(settings)
        _make_folders(changed)
        with tempfile.TemporaryDirectory(prefix="miopen-perf-driver-") as folder:
            streams = Path(folder) / "stdout", Path(folder) / "stderr"
            try:
                end = run_program(
                    self.command(problem, settings),
                    {**self.variables, **changed},
                    streams,
                    timeout_seconds=settings.driver_timeout_seconds,
                )
            except OSError as error:
                reason = error.strerror or type(error).__name__
                raise DriverRunError(
                    f"{self.path} does not start: {reason}; give another --miopen-perf-driver"
                ) from error
            return read_report(end, streams, problem=problem, device=self.device, settings=settings)


def _make_folders(variables: Mapping[str, str]) -> None:
    for name in FOLDERS:
        try:
            Path(variables[name]).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise DriverRunError(
                f"the folder {variables[name]} of {name} cannot be made: {reason}; give another --miopen-perf-db"
            ) from error
