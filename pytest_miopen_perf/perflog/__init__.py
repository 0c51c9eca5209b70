"""The performance logger: MIOpen's calls, in snake_case, and one line of JSON for each record.

What a run does is told to the logger as it happens; `records` decides what a level shows of it. A logger at level N
therefore writes exactly `visible(record, N)` of what a logger at level 4 writes.
"""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias, cast

from pytest_miopen_perf.errors import InvalidRecordError, LogOrderError, LogWriteError, SettingsError
from pytest_miopen_perf.perflog.level import parse_level
from pytest_miopen_perf.records import (
    ConfigRecord,
    KernelPhase,
    KernelRecord,
    SolutionRecord,
    is_recorded,
    is_transformation_kernel,
    shows_kernels,
    validate,
    visible,
)
from pytest_miopen_perf.statistics import measured_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from contextlib import AbstractContextManager

    from typing_extensions import Self

    from pytest_miopen_perf.records import LogRecord

__all__ = ["PerformanceLogger", "Sink", "parse_level"]

Sink: TypeAlias = "Callable[[str], object]"
"""Takes one complete line with its end; raises OSError when it cannot."""


class _Solver(NamedTuple):
    """Whose work a record describes."""

    name: str
    solver_id: int
    workspace_bytes: int = 0


@dataclass(slots=True)
class _OpenConfig:
    """A config that still takes times and kernels."""

    name: str
    descriptor: str
    times_ms: tuple[float, ...] = ()
    kernel_times_ms: dict[str, list[float]] = field(default_factory=dict)
    transformations: set[str] = field(default_factory=set)


@dataclass(slots=True)
class _State:
    """What one thread has told so far.

    Attributes:
        phase: The phase that the thread is in.
        override: The wrapping solver that gets the credit.
        solver: Whose configs follow.
        record_phase: The phase of the configs below.
        configs: The closed configs of the record to come.
        config: The open config.
        is_muted: A config is open as far as the caller knows, but nothing of it will be written.
    """

    phase: KernelPhase = KernelPhase.UNKNOWN
    override: _Solver | None = None
    solver: _Solver | None = None
    record_phase: KernelPhase = KernelPhase.UNKNOWN
    configs: list[ConfigRecord] = field(default_factory=list)
    config: _OpenConfig | None = None
    is_muted: bool = False


class _Threads(threading.local):
    """The state of each thread; a new one starts in phase unknown with nothing open."""

    def __init__(self) -> None:
        self.state = _State()


@contextlib.contextmanager
def _scoped(threads: _Threads, name: Literal["phase", "override"], value: object) -> Iterator[None]:
    """Set a field of this thread's state; the value before comes back at the end, also after an exception."""
    state = threads.state
    before = getattr(state, name)
    setattr(state, name, value)
    try:
        yield
    finally:
        setattr(state, name, before)


class PerformanceLogger:
    """Gathers what solvers do and writes it, a record a line, in MIOpen's JSON.

    The level is decided here once: at level 0 the instance is of a class whose methods do nothing. What is gathered
    belongs to the thread that tells it. A line is validated against the schema, then handed to the sink as one string
    under a lock.

    The calls and their life cycle are MIOpen's, with these differences, each a known fault there:

    - a record ends when the solver, its workspace or the phase changes, so its head fits all of its configs;
    - a config takes kernels only in its own phase, and kernels launched while no config is open belong to nothing;
    - `solution` ends its record at its own end, so the last record is never lost;
    - figures that belong to nothing raise `LogOrderError` instead of printing a warning among the records.

    Args:
        level: As `parse_level` gives it.
        sink: Takes each line.

    Raises:
        SettingsError: the level is negative.
    """

    def __new__(cls, level: int, sink: Sink) -> Self:  # noqa: ARG004  # __init__ takes the sink
        """Choose the silent class at level 0."""
        return cast("Self", super().__new__(_SilentLogger if level == 0 else cls))

    def __init__(self, level: int, sink: Sink) -> None:
        if level < 0:
            raise SettingsError(f"the level of the performance log is {level}; it must be 0 or more")
        self.level = level
        self._sink = sink
        self._lock = threading.Lock()
        self._threads = _Threads()

    def kernel_phase(self) -> KernelPhase:
        """The phase that this thread is in."""
        return self._threads.state.phase

    def scoped_kernel_phase(self, phase: KernelPhase) -> AbstractContextManager[None]:
        """Be in a phase; the one before comes back at the end."""
        return _scoped(self._threads, "phase", phase)

    def scoped_solver_name_override(self, name: str, solver_id: int) -> AbstractContextManager[None]:
        """Credit a wrapping solver: names and ids logged inside are replaced by these; the innermost override wins."""
        return _scoped(self._threads, "override", _Solver(name, solver_id))

    def is_performance_logging_enabled(self) -> bool:
        """Whether records of the current phase are written."""
        return is_recorded(self._threads.state.phase, self.level)

    def is_logging_kernel(self) -> bool:
        """Whether records list their kernels; their names are of use at every level, their times only here."""
        return shows_kernels(self.level)

    def log_solution_name(self, name: str, solver_id: int, workspace_bytes: int = 0) -> None:
        """Say whose work follows, and write the record before it; the same solver again changes nothing.

        An empty name is ignored.
        """
        state = self._threads.state
        if not name:
            return
        if state.override is not None:
            name, solver_id, _ = state.override
        solver = _Solver(name, solver_id, workspace_bytes)
        if solver != state.solver or state.phase is not state.record_phase:
            self.flush()
            state.solver = solver
            state.record_phase = state.phase

    def add_performance_config(self, name: str, descriptor: str = "") -> None:
        """Close the open config and open the next one; one without a name is dropped, with all that it takes.

        Args:
            name: The solver's name, or the main kernel's.
            descriptor: The text of the config, "" where there is nothing to tune.

        Raises:
            LogOrderError: no solution is named.
        """
        state = self._threads.state
        if state.solver is None:
            raise LogOrderError(
                f"performance config {name!r} belongs to no solution; call log_solution_name or solution first"
            )
        self._close_config()
        if state.phase is not state.record_phase:
            self.flush()
            state.record_phase = state.phase
        state.is_muted = not name or not is_recorded(state.phase, self.level)
        state.config = None if state.is_muted else _OpenConfig(name, descriptor)

    def add_invoker_times(self, times_ms: Iterable[float]) -> None:
        """Give the open config its times in run order, warm-ups included; they replace those given before.

        Raises:
            LogOrderError: no config is open.
        """
        state = self._threads.state
        if state.config is not None:
            state.config.times_ms = tuple(times_ms)
        elif not state.is_muted:
            raise LogOrderError("times belong to no performance config; call add_performance_config first")

    def add_kernel(self, name: str, time_ms: float, is_transformation: bool | None = None) -> None:
        """File one launch under the open config; while none is open, or in another phase, the launch is nobody's.

        Args:
            name: The kernel's name.
            time_ms: Its time; what is no measurement is left out of the kernel's list.
            is_transformation: Whether it only moves data; None decides by MIOpen's name patterns. The first launch of
                a name in a config speaks for all.
        """
        state = self._threads.state
        config = state.config
        if config is None or state.phase is not state.record_phase:
            return
        times_ms = config.kernel_times_ms.get(name)
        if times_ms is None:
            config.kernel_times_ms[name] = [time_ms]
            if is_transformation_kernel(name) if is_transformation is None else is_transformation:
                config.transformations.add(name)
        else:
            times_ms.append(time_ms)

    def flush(self) -> None:
        """Write this thread's record if it has a config; the solver stays named.

        Raises:
            InvalidRecordError: the record does not fit the schema.
            LogWriteError: the sink refused the line. In both cases the record is gone, and the logger goes on.
        """
        self._close_config()
        state = self._threads.state
        configs, state.configs = tuple(state.configs), []
        if configs:
            assert state.solver is not None, "configs are opened under a solver only"
            self.write(
                SolutionRecord(
                    solution=state.solver.name,
                    solver_id=state.solver.solver_id,
                    workspace_bytes=state.solver.workspace_bytes,
                    phase=state.record_phase,
                    performance_configs=configs,
                )
            )

    def solution(self, name: str, solver_id: int, workspace_bytes: int = 0) -> AbstractContextManager[None]:
        """Log a solver's work as a record of its own, written at the end whatever happens.

        Solutions nest: the outer one's record is written before the inner one begins, and goes on as a new record.
        """
        return self._solution(name, solver_id, workspace_bytes)

    @contextlib.contextmanager
    def _solution(self, name: str, solver_id: int, workspace_bytes: int) -> Iterator[None]:
        state = self._threads.state
        self.flush()
        before, state.solver = state.solver, None
        self.log_solution_name(name, solver_id, workspace_bytes)
        try:
            yield
        finally:
            try:
                self.flush()
            finally:
                state.solver = before

    def write(self, record: LogRecord) -> None:
        """Write a record as far as the level shows it.

        Raises:
            InvalidRecordError: the line does not fit the schema; it has not been written.
            LogWriteError: the sink refused the line.
        """
        shown = visible(record, self.level)
        if shown is None:
            return
        line = shown.to_line()
        _validate_line(line)
        with self._lock:
            try:
                self._sink(f"{line}\n")
            except OSError as error:
                raise LogWriteError(
                    f"a {record.KEY} line of the performance log was not written to {self._sink}: {error}"
                ) from error

    def _close_config(self) -> None:
        state = self._threads.state
        config, state.config = state.config, None
        state.is_muted = False
        if config is not None:
            assert state.solver is not None, "a config is opened under a solver only"
            state.configs.append(_config_record(state.solver.name, config))


def _config_record(solution: str, config: _OpenConfig) -> ConfigRecord:
    kernels = [
        KernelRecord(
            kernel_name=name,
            time_executions_ms=tuple(measured_ms(times_ms)),
            is_transformation=name in config.transformations,
        )
        for name, times_ms in config.kernel_times_ms.items()
    ]
    return ConfigRecord.measured(
        solution=solution,
        name=config.name,
        descriptor=config.descriptor,
        times_ms=config.times_ms,
        kernels=kernels,
    )


def _validate_line(line: str) -> None:
    """What is validated is the very text that is written, read back: no other object could differ from it."""
    try:
        data = json.loads(line)
    except ValueError as error:
        raise InvalidRecordError(f"the line is not JSON, and has not been written: {error}") from error
    validate(data)


_NOTHING = contextlib.nullcontext()


class _SilentLogger(PerformanceLogger):
    """Level 0: no state, no output, no error."""

    def __init__(self, level: int, sink: Sink) -> None:  # noqa: ARG002  # nothing is ever written to it
        self.level = level

    def kernel_phase(self) -> KernelPhase:
        return KernelPhase.UNKNOWN

    def scoped_kernel_phase(self, phase: KernelPhase) -> AbstractContextManager[None]:  # noqa: ARG002  # no phases here
        return _NOTHING

    def scoped_solver_name_override(
        self,
        name: str,  # noqa: ARG002  # nothing to credit
        solver_id: int,  # noqa: ARG002  # nothing to credit
    ) -> AbstractContextManager[None]:
        return _NOTHING

    def is_performance_logging_enabled(self) -> bool:
        return False

    def is_logging_kernel(self) -> bool:
        return False

    def log_solution_name(self, name: str, solver_id: int, workspace_bytes: int = 0) -> None:
        pass

    def add_performance_config(self, name: str, descriptor: str = "") -> None:
        pass

    def add_invoker_times(self, times_ms: Iterable[float]) -> None:
        pass

    def add_kernel(self, name: str, time_ms: float, is_transformation: bool | None = None) -> None:
        pass

    def flush(self) -> None:
        pass

    def solution(
        self,
        name: str,  # noqa: ARG002  # nothing to record
        solver_id: int,  # noqa: ARG002  # nothing to record
        workspace_bytes: int = 0,  # noqa: ARG002  # nothing to record
    ) -> AbstractContextManager[None]:
        return _NOTHING

    def write(self, record: LogRecord) -> None:
        pass
