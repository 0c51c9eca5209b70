"""The static gate of one pytest process: compiler and baseline, opened once, and the judgements not yet handed on."""

from __future__ import annotations

from itertools import dropwhile, islice
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES
from pytest_miopen_perf.codeobject.baseline_file import baseline_path, load_baseline
from pytest_miopen_perf.codeobject.gate import complaint, open_gate, targets_of
from pytest_miopen_perf.codeobject.limits import StaticLimits
from pytest_miopen_perf.errors import DeviceUnavailableError, VerdictError
from pytest_miopen_perf.settings import TunePolicy
from pytest_miopen_perf.static_gate.planning import known_in, nothing_known, planned_kernels
from pytest_miopen_perf.static_gate.saving import check_savable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from pytest_miopen_perf.codeobject.baseline import Baseline
    from pytest_miopen_perf.codeobject.cases import StaticCase
    from pytest_miopen_perf.codeobject.gate import StaticGate
    from pytest_miopen_perf.codeobject.judgement import StaticJudgement
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.session import PerfSession
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import Solver
    from pytest_miopen_perf.static_gate.items import StaticItem
    from pytest_miopen_perf.static_gate.planning import Known, PlannedKernel

_KERNELS_AT_ONCE = 8
"""A compiler: enough to keep it busy, few enough for `-x` to stop soon and for the dots of pytest to show progress."""


class StaticSession:
    """Compiles and judges for the tests of a process.

    Args:
        perf: The session whose options hold.

    Raises:
        SettingsError: a baseline has an impossible name.
        BaselineError: the baseline to compare with cannot be read, or the one to save cannot be written.
    """

    def __init__(self, perf: PerfSession) -> None:
        settings = perf.settings
        folder = perf.config.rootpath / settings.baselines_dir
        self.perf = perf
        self.limits = settings.static_limits or StaticLimits()
        self.save_path = None if settings.static_save is None else baseline_path(settings.static_save, folder)
        if self.save_path is not None:
            check_savable(self.save_path)
        self.baseline: Baseline | None = None
        if settings.static_compare is not None:
            self.baseline = load_baseline(baseline_path(settings.static_compare, folder))
        self._known: Known | None = None
        self._gate: StaticGate | None = None
        self._missing: DeviceUnavailableError | None = None
        self._ahead: dict[StaticItem, StaticJudgement] = {}
        self._held: list[tuple[str, StaticJudgement]] = []

        self.absent_db = _absent_db(settings)

    @property
    def targets(self) -> tuple[str, ...]:
        """What is compiled for: the option's targets, else those of the baseline, else every one of the table."""
        return self.perf.settings.static_targets or targets_of(self.baseline) or tuple(ARCHITECTURES)

    def gate(self) -> StaticGate:
        """The compiler and the baseline.

        Raises:
            DeviceUnavailableError: there is no compiler, or no reader of what it makes.
        """
        if self._missing is not None:
            raise self._missing
        if self._gate is None:
            settings = self.perf.settings
            try:
                self._gate = open_gate(
                    baseline=self.baseline,
                    limits=self.limits,
                    cache_dir=settings.cache_dir,
                    compile_timeout_s=settings.compile_timeout_seconds,
                )
            except DeviceUnavailableError as error:
                self._missing = error
                raise
        return self._gate

    def planned(self, problem: ConvProblem, solvers: Iterable[Solver]) -> Iterator[PlannedKernel]:
        """The kernels of a case."""
        return planned_kernels(problem, solvers, self.targets, self.perf.settings, self._tuned())

    def _tuned(self) -> Known:
        if self._known is None:
            folder = self.perf.settings.db_dir
            self._known = nothing_known if folder is None else known_in(folder, self.perf.solvers())
        return self._known

    def judge_item(self, item: StaticItem) -> StaticJudgement:
        """The verdict on the kernel of a test; those of the next tests are compiled beside it.

        Raises:
            DeviceUnavailableError: there is no compiler, or it does not know the target.
        """
        gate = self.gate()
        if reason := gate.refusal(item.case.target):
            raise DeviceUnavailableError(reason)
        if item not in self._ahead:
            batch = self._batch(item, gate)
            self._ahead |= dict(zip(batch, gate.judge(each.case for each in batch), strict=True))
        return self._ahead.pop(item)

    def _batch(self, item: StaticItem, gate: StaticGate) -> list[StaticItem]:
        """The test and those that follow; a worker of pytest-xdist does not know which of them are its own."""
        if hasattr(self.perf.config, "workerinput"):
            return [item]
        following = dropwhile(lambda each: each is not item, item.session.items)
        wanted = (each for each in following if isinstance(each, type(item)) and not gate.refusal(each.case.target))
        return list(islice(wanted, _KERNELS_AT_ONCE * gate.builder.threads))

    def judge(self, cases: Iterable[StaticCase]) -> tuple[StaticJudgement, ...]:
        """Verdicts on kernels, all at once.

        Raises:
            DeviceUnavailableError: there is no compiler.
        """
        return self.gate().judge(cases)

    def keep(self, nodeid: str, judgement: StaticJudgement) -> None:
        """Hold a judgement until the test's report takes it to the controller."""
        self._held.append((nodeid, judgement))

    def check(self) -> None:
        """Fail when a judgement that is held, which is one of the running test, is red.

        Raises:
            VerdictError: with the complaint of each.
        """
        __tracebackhide__ = True
        is_strict = self.perf.settings.strict
        red = [complaint(judgement) for _, judgement in self._held if judgement.is_red(is_strict=is_strict)]
        if red:
            raise VerdictError("\n".join(red))

    def take(self) -> list[dict[str, Any]]:
        """The judgements held so far, as builtins; they are held no longer."""
        taken, self._held = self._held, []
        return [{"nodeid": nodeid, **judgement.to_json()} for nodeid, judgement in taken]

    def close(self) -> None:
        """Give back what was kept on disk for this process alone."""
        if self._gate is not None:
            self._gate.close()
            self._gate = None


def _absent_db(settings: Settings) -> Path | None:
    """The data base of tuned configs, where it was named and is not there; a session that tunes makes it."""
    folder = settings.db_dir
    is_read = settings.is_static and settings.tune is TunePolicy.OFF
    return folder if is_read and folder is not None and not folder.is_dir() else None
