"""Trials on disk, beside the tuned configs of a device: `<device>.trials.jsonl`, one JSON object a line.

    {"problem": find-db key, "solver": name, "build": digest, "trial": as in the results file}

A trial is appended when it has ended, so that whatever ends a session loses none. Of one config the last line counts.
When a search comes to its end its measured trials go; the failed ones stay until the config is tried in another build.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.database.change_lock import changing
from pytest_miopen_perf.database.record_lines import file_lines, shortened
from pytest_miopen_perf.errors import DatabaseError
from pytest_miopen_perf.problems.db_key import find_db_key
from pytest_miopen_perf.results import Trial
from pytest_miopen_perf.tuning.past_trials import PastTrials

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    from pytest_miopen_perf.problem import ConvProblem

_TEXTS = ("problem", "solver", "build")


class _Place(NamedTuple):
    """What a line is about; the last line of a place counts."""

    problem: str
    solver: str
    config: str


_Table = dict[_Place, tuple[str, Trial]]
"""Build and trial of each place."""


class TrialFile:
    """The trials of one device. Any thread of any process may call any method.

    Args:
        directory: Where the file is; it is made at the first writing.
        device_name: As `database.store.device_base_name` has it.
        report: Is told in one sentence of lines that cannot be read.
    """

    def __init__(self, directory: str | PathLike[str], device_name: str, report: Callable[[str], None]) -> None:
        self._directory = Path(directory)
        self._device_name = device_name
        self._report = report
        self._is_reported = False
        self.path = self._directory / f"{device_name}.trials.jsonl"

    def past(self, solver_name: str, problem: ConvProblem) -> PastTrials:
        """What is known of a solver on a problem, and where what comes is kept.

        Raises:
            DatabaseError: the file exists and cannot be read.
        """
        key = find_db_key(problem)
        trials = {
            place.config: found
            for place, found in self._read().items()
            if (place.problem, place.solver) == (key, solver_name)
        }
        return PastTrials(trials, lambda build, trial: self._append(_line(key, solver_name, build, trial)))

    def conclude(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop what a search measured.

        Raises:
            DatabaseError: it cannot be read or written.
        """
        key = find_db_key(problem)
        self._keep_only(lambda place, trial: place[:2] != (key, solver_name) or trial.is_failed)

    def forget(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop everything of a solver on a problem.

        Raises:
            DatabaseError: it cannot be read or written.
        """
        key = find_db_key(problem)
        self._keep_only(lambda place, trial: place[:2] != (key, solver_name))  # noqa: ARG005 - the shape of the call

    def _keep_only(self, is_kept: Callable[[_Place, Trial], bool]) -> None:
        if not self.path.exists():
            return
        with changing(self._directory, self._device_name):
            table = self._read()
            self._write({place: found for place, found in table.items() if is_kept(place, found[1])})

    def _append(self, line: str) -> None:
        with changing(self._directory, self._device_name):
            try:
                with self.path.open("ab+") as file:
                    data = f"{line}\n".encode()
                    file.write(data if _ends_with_a_line(file.fileno()) else b"\n" + data)
            except OSError as error:
                raise self._unwritable(error) from error

    def _write(self, table: _Table) -> None:
        lines = (_line(place.problem, place.solver, build, trial) for place, (build, trial) in table.items())
        try:
            write_atomically(self.path, "".join(f"{line}\n" for line in lines))
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> DatabaseError:
        return DatabaseError(
            f"{self.path} cannot be written: {error.strerror or error}; what was tried before this is still in it"
        )

    def _read(self) -> _Table:
        if not self.path.exists():
            return {}
        table: _Table = {}
        faults: list[tuple[int, str]] = []
        for number, data in enumerate(file_lines(self.path), start=1):
            try:
                place, found = _parsed(data)
            except ValueError as error:
                faults.append((number, str(error)))
            else:
                table[place] = found
        self._tell(faults)
        return table

    def _tell(self, faults: Iterable[tuple[int, str]]) -> None:
        if (faults := list(faults)) and not self._is_reported:
            self._is_reported = True
            line, sentence = faults[0]
            self._report(
                f"{self.path} holds {len(faults)} ill-formed lines, which are left out; the first is line {line}: "
                f"{sentence}"
            )


def _ends_with_a_line(handle: int) -> bool:
    """Whether nobody was stopped in the middle of the last line."""
    size = os.fstat(handle).st_size
    return size == 0 or os.pread(handle, 1, size - 1) == b"\n"


def _line(problem: str, solver: str, build: str, trial: Trial) -> str:
    return json.dumps({"problem": problem, "solver": solver, "build": build, "trial": trial.to_json()}, allow_nan=False)


def _parsed(data: bytes) -> tuple[_Place, tuple[str, Trial]]:
    """Place, build and trial of a line.

    Raises:
        ValueError: it is none; the words say why.
    """
    try:
        line = json.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise ValueError("it is not JSON") from error
    if not isinstance(line, dict) or not all(isinstance(line.get(name), str) for name in _TEXTS):
        raise ValueError(f"it lacks one of {', '.join(_TEXTS)}")
    trial = _trial_of(line.get("trial"))
    if trial.solver != line["solver"]:
        raise ValueError(f"its trial is of another solver, {shortened(trial.solver)}")
    return _Place(line["problem"], trial.solver, trial.config), (line["build"], trial)


def _trial_of(data: Any) -> Trial:
    try:
        trial = Trial.from_json(data)
    except (TypeError, ValueError, KeyError) as error:
        raise ValueError(f"its trial is none: {shortened(str(error))}") from error
    texts = (trial.solver, trial.config, trial.reason)
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("its trial has a number where a text belongs")
    if type(trial.samples) is not int or not _is_figure(trial.samples):
        raise ValueError(f"its trial has {shortened(repr(trial.samples))} samples")
    if not (_is_time(trial.median_seconds) or (trial.is_failed and trial.median_seconds is None)):
        raise ValueError(f"its trial was measured at {shortened(repr(trial.median_seconds))} seconds")
    if trial.noise is not None and not _is_figure(trial.noise):
        raise ValueError(f"its trial has a noise of {shortened(repr(trial.noise))}")
    return trial


def _is_figure(value: object) -> bool:
    """Whether it is a number from 0 to the largest float; JSON has integers that are larger, NaN and infinity."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= sys.float_info.max  # type: ignore[operator]


def _is_time(value: float | None) -> bool:
    return value is not None and _is_figure(value) and value > 0
