"""What one pytest process holds: settings, the opened device, the solvers, and the cases not yet handed on."""

from __future__ import annotations

import glob
import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.devices import DeviceOptions
from pytest_miopen_perf.devices.opening import open_first
from pytest_miopen_perf.errors import VerdictError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    import pytest

    from pytest_miopen_perf.ab.leading import Lead
    from pytest_miopen_perf.ab.part import Part
    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.problems.workload import Workload
    from pytest_miopen_perf.running.runner import Runner
    from pytest_miopen_perf.session.gate import SessionGate
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import Solver
    from pytest_miopen_perf.telemetry.household import Household


class PerfSession:
    """The state of one process; everything in it is made at first use."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config = config
        self.settings = settings
        self.asked_kernels_dir = settings.kernels_dir
        self._device: Device | None = None
        self._known: tuple[Solver, ...] | None = None
        self._runner: Runner | None = None
        self._cases: list[Case] = []
        self._skipped: dict[str, str] = {}
        self.gate: SessionGate | None = None
        self.part: Part | None = None
        self._scratch: TemporaryDirectory[str] | None = None
        self._empty_cache: TemporaryDirectory[str] | None = None

    def open_gate(self) -> None:
        """Read what the session is to be held against, when it is.

        A process that measures for another one judges nothing, whatever the ini file asks of sessions.

        Raises:
            SettingsError: the gate cannot work here, or a name is wrong.
            BaselineError: a baseline cannot be read.
        """
        if self.settings.is_gated and not self.settings.part_path:
            from pytest_miopen_perf.session.gate import SessionGate

            self.gate = SessionGate(self.settings, self.config.rootpath)

    def lead(self, tell: Callable[[str], None]) -> None:
        """Measure both arms of a paired comparison before the first test, when one is asked for.

        Args:
            tell: Shows a line of progress.

        Raises:
            SettingsError: an arm is not there.
            ArmError: a process left no results.
            BaselineError: noise floors cannot be read or stored.
        """
        gate, settings = self.gate, self.settings
        if gate is None or not settings.is_led:
            return
        from pytest_miopen_perf.ab.leading import Leader, arguments_of_parts, new_scratch

        self._scratch = new_scratch()
        invocation = self.config.invocation_params
        leader = Leader(
            settings=settings,
            arguments=arguments_of_parts(
                map(str, invocation.args), has_xdist=self.config.pluginmanager.hasplugin("xdist")
            ),
            folder=invocation.dir,
            baselines=gate.folder,
            scratch=Path(self._scratch.name),
            tell=tell,
        )
        if settings.ab is not None:
            self.follow(leader.compare(*settings.ab))
        elif settings.log_overhead:
            self.follow(leader.measure_log_cost())
        elif settings.canary is not None:
            self.follow(leader.sing(settings.canary))
        else:
            self.follow(leader.measure_noise())

    def follow(self, lead: Lead) -> None:
        """Run arm B, and give each test the verdict that was found."""
        assert self.gate is not None, "who leads has a gate"
        self.gate.lead = lead
        self.settings = replace(self.settings, kernels_dir=lead.kernels)

    def lead_for_workers(self) -> str:
        """The file that tells workers what was found; "" when nothing was."""
        if self.gate is None or self.gate.lead is None or self._scratch is None:
            return ""
        path = Path(self._scratch.name) / "lead.json"
        self.gate.lead.write(path)
        return str(path)

    def read_part(self) -> None:
        """Read which part of a paired comparison this process runs, when it is one.

        Raises:
            SettingsError: the file is wrong.
        """
        if self.settings.part_path:
            from pytest_miopen_perf.ab.part import read_part

            self.part = read_part(Path(self.settings.part_path))

    def header(self) -> str:
        """One line for pytest's header."""
        settings = self.settings
        source = {"variable": " (from MIOPEN_PERFORMANCE_LOGS, read as MIOpen reads it)", "ini": " (from the ini file)"}
        return (
            f"miopen-perf: level {settings.level}{source.get(settings.level_source, '')}, back-end {settings.backend}"
        )

    def device(self) -> Device:
        """The opened device.

        Raises:
            DeviceUnavailableError: with the reason of each back-end that was asked.
        """
        if self._device is None:
            self._device = open_device(self.device_settings)
        return self._device

    @property
    def device_settings(self) -> Settings:
        """The settings with the cache that kernels are compiled into."""
        return replace(self.settings, cache_dir=self._cache_dir())

    def _cache_dir(self) -> Path | None:
        """The cache of compiled kernels; where compile times are judged and none is named, one that is still empty."""
        settings = self.settings
        is_judged = any(rule.phase.value == "compile" for rule in settings.gate)
        if settings.cache_dir is None and is_judged and (settings.is_gated or self.part is not None):
            self._empty_cache = self._empty_cache or TemporaryDirectory(prefix="miopen-perf-cache-")
            return Path(self._empty_cache.name)
        return settings.cache_dir

    def solvers(self) -> tuple[Solver, ...]:
        """Built-in solvers and those of the hook, without what `--miopen-perf-solver` leaves out.

        Raises:
            SettingsError: the hook offers what is no solver, two share a name or a number, or a glob matches none.
        """
        from pytest_miopen_perf.solvers.selection import select

        return select(self.settings.solvers, self._known_solvers())

    def _known_solvers(self) -> tuple[Solver, ...]:
        if self._known is None:
            from pytest_miopen_perf.solvers import builtin_solvers
            from pytest_miopen_perf.solvers.selection import with_offered

            answers = self.config.hook.pytest_miopen_perf_solvers(config=self.config)
            self._known = with_offered(builtin_solvers(), answers)
        return self._known

    def solvers_of(self, globs: Iterable[str]) -> tuple[Solver, ...]:
        """Those of `solvers()` that a marker's globs select.

        Raises:
            SettingsError: a glob names no solver at all.
        """
        from pytest_miopen_perf.solvers.selection import select

        chosen = select(globs, self._known_solvers())
        return tuple(solver for solver in self.solvers() if solver in chosen)

    def solver_named(self, name: str) -> Solver:
        """One solver by its exact name, whatever the options select.

        Raises:
            SettingsError: there is no such solver.
        """
        from pytest_miopen_perf.solvers.selection import select

        return select([glob.escape(name)], self._known_solvers())[0]

    def runner(self) -> Runner:
        """The runner of this process; it remembers tuned configs from case to case."""
        if self._runner is None:
            from pytest_miopen_perf.find_variables import find_variables
            from pytest_miopen_perf.report.progress import live_lines, search_progress
            from pytest_miopen_perf.running.choosing import Chooser
            from pytest_miopen_perf.running.runner import Runner
            from pytest_miopen_perf.running.tuned import tried_configs, tuned_configs
            from pytest_miopen_perf.telemetry.opening import sensor_of

            tuned = tuned_configs(self.settings, self.device().info, self._known_solvers())
            self._runner = Runner(
                self.device(),
                Chooser(
                    tuned=tuned,
                    tried=tried_configs(self.settings, self.device().info),
                    display=search_progress(self.config),
                    find_variables=find_variables(os.environ),
                ),
                partial(sensor_of, household=self.household),
                live_lines(self.config),
            )
        return self._runner

    @property
    def household(self) -> Household:
        """The processes of this session that may hold the device."""
        from pytest_miopen_perf.telemetry.household import Household

        return Household.of_process(_worker_count(os.environ))

    def keep(self, case: Case) -> None:
        """Hold a finished case until a report takes it to the controller."""
        self._cases.append(case)

    def check_verdicts(self) -> None:
        """Fail when the time of a case that is held, which is one of the running test, is red.

        Raises:
            VerdictError: with the complaint of each.
        """
        __tracebackhide__ = True
        verdicts = [case.verdict for case in self._cases if case.verdict is not None]
        if not verdicts:
            return
        from pytest_miopen_perf.gate.items import is_red
        from pytest_miopen_perf.session.gate import complaint

        red = [complaint(row) for row in verdicts if is_red(row.verdict, is_strict=self.settings.strict)]
        if red:
            raise VerdictError("\n".join(red))

    def take_cases(self) -> list[dict[str, Any]]:
        """The cases held so far, as builtins; they are held no longer."""
        taken, self._cases = self._cases, []
        return [case.to_json() for case in taken]

    def note_skipped(self, workload: Workload) -> None:
        """Keep for the summary how many lines of a workload cannot be run."""
        if workload.skipped:
            self._skipped[workload.path.name] = workload.loss

    def take_skipped(self) -> dict[str, str]:
        """What was skipped so far of each workload, in words; it is held no longer."""
        taken, self._skipped = self._skipped, {}
        return taken

    def close(self) -> None:
        """Close the device, and remove what was written for this session alone."""
        if self._device is not None:
            self._device.close()
            self._device = None
        for folder in (self._scratch, self._empty_cache):
            if folder is not None:
                folder.cleanup()
        self._scratch = self._empty_cache = None


def open_device(settings: Settings) -> Device:
    """The device of the settings, opened.

    Raises:
        DeviceUnavailableError: with the reason of each back-end that was asked.
    """
    options = DeviceOptions(
        device=settings.device,
        cache_dir=settings.cache_dir,
        compile_timeout_s=settings.compile_timeout_seconds,
        work_item_order=settings.work_item_order,
        guard=settings.guard,
    )
    return open_first(settings.backend, options)


def _worker_count(variables: Mapping[str, str]) -> int | None:
    """The workers of pytest-xdist that this process is one of; None where it is none."""
    count = variables.get("PYTEST_XDIST_WORKER_COUNT", "")
    return int(count) if count.isdecimal() else None
