"""Our own data base in a directory: tuned configs and Find results, which outlive a session.

Three text files a device, named like MIOpen's user data bases, and beside them what `tuning.trial_file` keeps:

    <device>.udb.txt    tuned configs, a text perf-db
    <device>.ufdb.txt   Find results, a find-db
    <device>.times.txt  `find-db key=Solver:time_ms,config`: what configs were measured at, which a perf-db cannot say

Solvers stand in them by name; ids are not stored. Every change is made under a lock between processes and written all
or nothing, so that an interrupted session loses nothing that it had remembered.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_miopen_perf.database.change_lock import changing
from pytest_miopen_perf.database.find_db import FindEntry, algorithm_word, format_value, parse_value
from pytest_miopen_perf.database.record_file import RecordFile
from pytest_miopen_perf.database.record_lines import shortened
from pytest_miopen_perf.database.times_db import split_time
from pytest_miopen_perf.errors import ConfigError, DatabaseError, PerfWarning
from pytest_miopen_perf.problems.db_key import find_db_key, perf_db_key
from pytest_miopen_perf.solvers.selection import is_valid_config
from pytest_miopen_perf.statistics import MAX_TIME_MS, MIN_TIME_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from contextlib import AbstractContextManager
    from os import PathLike

    from pytest_miopen_perf.database.record_file import Table
    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import Solver

Validator: TypeAlias = Callable[[str, "ConvProblem", str], str]
"""Why a stored config cannot be used for a solver (by name) and a problem, in words; "" when it can."""

_FAMILIES = {
    "GEMM": "GEMM",
    "DIRECT": "Direct",
    "FFT": "FFT",
    "WINOGRAD": "Winograd",
    "IMPLICIT_GEMM": "ImplicitGEMM",
}
"""Names of `solvers.Algorithm` in the words of find-dbs."""


def device_base_name(info: DeviceInfo) -> str:
    """The name of a device in file names.

    An AMD GPU has MIOpen's: `gfx1030_36`, and above 64 compute units in hex without underscore, `gfx942130`. On other
    devices the count alone tells too little, so the model is named too: `cpu_x86_64_2_amd-epyc-9654`.
    """
    if info.backend == "hip":
        return f"{info.arch}_{info.compute_units}" if info.compute_units <= 64 else f"{info.arch}{info.compute_units:x}"
    model = re.sub(r"[^a-z0-9]+", "-", info.name.lower()).strip("-")
    arch = re.sub(r"[^\w.]+", "-", info.arch)
    return "_".join(filter(None, (info.backend, arch, str(info.compute_units), model)))


def config_validator(solvers: Iterable[Solver], info: DeviceInfo) -> Validator:
    """Judges by the solvers themselves: the text must parse, and name a config that is valid for the problem."""
    by_name = {solver.name: solver for solver in solvers}

    def fault(solver_name: str, problem: ConvProblem, text: str) -> str:
        solver = by_name.get(solver_name)
        if solver is None:
            return "there is no such solver"
        try:
            config = solver.parse_config(text)
        except ConfigError as error:
            return str(error)
        is_valid = is_valid_config(solver, problem.canonical(), info, config)
        return "" if is_valid else "it is not among the configs that are valid for this problem on this device"

    return fault


def find_row(solver: Solver, problem: ConvProblem, median_seconds: float) -> FindEntry:
    """What a Find measured of one solver, as a row of its record."""
    plain = problem.canonical()
    return FindEntry(
        solver=solver.name,
        stated_ms=median_seconds * 1e3,
        workspace_bytes=solver.workspace_bytes(plain),
        algorithm=algorithm_word(_FAMILIES[solver.algorithm.name], plain.direction),
    )


class TunedStore:
    """Tuned configs and Find results of one device. Any thread of any process may call any method.

    Args:
        directory: Where the files are; it is made at the first writing.
        device_info: Whose results these are.
        validate: Judges a stored config before its first use; one that it refuses is reported once and not used.
        report: Is told in one sentence of what is ill-formed or invalid; by default a `PerfWarning`.
    """

    def __init__(
        self,
        directory: str | PathLike[str],
        device_info: DeviceInfo,
        *,
        validate: Validator | None = None,
        report: Callable[[str], None] | None = None,
    ) -> None:
        self.directory = Path(directory)
        self._info = device_info
        self._base = device_base_name(device_info)
        self._validate = validate or _accept
        self._report = report or warn
        self.config_file = RecordFile(self.directory / f"{self._base}.udb.txt", self._report)
        self.find_file = RecordFile(self.directory / f"{self._base}.ufdb.txt", self._report, _is_find_value)
        self.time_file = RecordFile(self.directory / f"{self._base}.times.txt", self._report, _is_time_value)
        self._verdicts: dict[tuple[str, ConvProblem, str], str] = {}

    def config(self, solver_name: str, problem: ConvProblem) -> str | None:
        """The tuned config of a solver; None when there is none that is valid.

        Raises:
            DatabaseError: the file exists and cannot be read.
        """
        text = self.config_file.table().get(perf_db_key(problem), {}).get(solver_name)
        return None if text is None or self._refusal(solver_name, problem, text) else text

    def remember(self, solver_name: str, problem: ConvProblem, config_text: str, median_seconds: float) -> None:
        """Keep a tuned config, unless a different one that is valid was measured to be at least as fast.

        The time of the same config is replaced by the new one. To begin anew, `forget` first.

        Raises:
            DatabaseError: it cannot be written, or is no measured config.
        """
        time_ms = _checked_ms(median_seconds)
        find_key, perf_key = find_db_key(problem), perf_db_key(problem)
        with self._changing():
            configs, times = self.config_file.fresh(), self.time_file.fresh()
            stored = configs.get(perf_key, {}).get(solver_name)
            if stored not in (None, config_text) and not self._refusal(solver_name, problem, stored):
                known_ms = _time_of(times, find_key, solver_name, stored)
                if known_ms is not None and known_ms <= time_ms:
                    return
            self.time_file.write(_changed(times, find_key, {solver_name: f"{time_ms:.6g},{config_text}"}))
            if stored != config_text:
                self.config_file.write(_changed(configs, perf_key, {solver_name: config_text}))

    def forget(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop the tuned config of a solver, so that whatever is remembered next stays.

        Raises:
            DatabaseError: it cannot be written.
        """
        with self._changing():
            for file, key in ((self.config_file, perf_db_key(problem)), (self.time_file, find_db_key(problem))):
                table = file.fresh()
                if solver_name in table.get(key, {}):
                    others = {name: value for name, value in table[key].items() if name != solver_name}
                    file.write({**table, key: others})

    def find(self, problem: ConvProblem) -> tuple[FindEntry, ...]:
        """The solvers that a Find measured, the fastest first; () when there was none.

        Raises:
            DatabaseError: the file exists and cannot be read.
        """
        parts = self.find_file.table().get(find_db_key(problem), {})
        entries = [parse_value(solver, value) for solver, value in parts.items()]
        measured = [entry for entry in entries if entry is not None and entry.time_ms is not None]
        return tuple(sorted(measured, key=lambda entry: entry.stated_ms))

    def remember_find(self, problem: ConvProblem, rows: Sequence[FindEntry]) -> None:
        """Keep what a Find measured in place of an older one; rows without a measurement are left out.

        Raises:
            DatabaseError: it cannot be written.
        """
        values = {row.solver: format_value(row) for row in rows if row.time_ms is not None}
        with self._changing():
            self.find_file.write({**self.find_file.fresh(), find_db_key(problem): values})

    def _changing(self) -> AbstractContextManager[None]:
        return changing(self.directory, self._base)

    def _refusal(self, solver_name: str, problem: ConvProblem, text: str) -> str:
        case = solver_name, problem, text
        if case not in self._verdicts:
            self._verdicts[case] = reason = self._validate(*case)
            if reason:
                self._report(
                    f"the tuned config {shortened(text)!r} of {shortened(solver_name)} for {problem} in "
                    f"{self.config_file.path} is not used: {reason}"
                )
        return self._verdicts[case]


def _accept(solver_name: str, problem: ConvProblem, text: str) -> str:  # noqa: ARG001 - the shape of a Validator
    return ""


def _is_find_value(solver: str, text: str) -> bool:
    return parse_value(solver, text) is not None


def _is_time_value(solver: str, text: str) -> bool:  # noqa: ARG001 - the shape of the call
    return split_time(text) is not None


def warn(sentence: str) -> None:
    """Tell what a data base holds that cannot be used."""
    warnings.warn(sentence, PerfWarning, stacklevel=2)


def _checked_ms(median_seconds: float) -> float:
    time_ms = median_seconds * 1e3
    if not MIN_TIME_MS <= time_ms <= MAX_TIME_MS:
        raise DatabaseError(f"a config is remembered with the time that was measured; {median_seconds} s is none")
    return time_ms


def _changed(table: Table, key: str, values: dict[str, str]) -> Table:
    """The table with some values of one key set; the one that was read stays as it is."""
    return {**table, key: {**table.get(key, {}), **values}}


def _time_of(times: Table, find_key: str, solver_name: str, config_text: str | None) -> float | None:
    """What a config was measured at; None when that is not known, as for one that somebody else has put there."""
    measured = split_time(times.get(find_key, {}).get(solver_name, ""))
    if measured is None or measured[1] != config_text or not MIN_TIME_MS <= measured[0] <= MAX_TIME_MS:
        return None
    return measured[0]
