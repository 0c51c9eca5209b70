"""What one run of MIOpenDriver came to: a result, or why there is none.

Neither the exit status nor the lines alone tell: a failed verification exits with 0, because its bits lie above the
eight that POSIX keeps, and so does a refused command; a run that crashes at its very end has printed all its lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING

from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.driver.decode import read_sound
from pytest_miopen_perf.driver.host_names import REMOVED, without_host_names
from pytest_miopen_perf.driver.lines import physical_lines
from pytest_miopen_perf.driver.log_reader import read_log
from pytest_miopen_perf.driver.record_checks import check_item
from pytest_miopen_perf.driver.semantics import LinesTogether
from pytest_miopen_perf.driver.text_reader import read_driver_text
from pytest_miopen_perf.driver.text_runs import text_runs
from pytest_miopen_perf.logged.cases import CaseReader
from pytest_miopen_perf.logged.text import logged_text
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.problem import Layout
from pytest_miopen_perf.problems.pad_mode import PadMode
from pytest_miopen_perf.records import ErrorLine, Performance, SystemInfo
from pytest_miopen_perf.records.run_records import PrngSeed
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytest_miopen_perf.cases import Case, Outcome
    from pytest_miopen_perf.driver.finding import Finding
    from pytest_miopen_perf.driver.log_item import LogItem
    from pytest_miopen_perf.driver.process import ProgramEnd
    from pytest_miopen_perf.driver.text_lines import TextItem
    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.logged.cases import LoggedCase
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.settings import Settings

_CONTRADICTIONS = frozenset({"verdict-mismatch", "direction-mismatch", "problem-mismatch"})
"""Findings after which the figures are of something else, or the verdict is none."""

_TOLD_OTHERWISE = frozenset({"run-failed", "error-line", "verification-failed", "no-result", *_CONTRADICTIONS})
_HOST_FIELD = re.compile(r"hostname|Host Name")
_MOST_DOUBTS = 20
_LAST_LINES = 5
_LAST_BYTES = 16384
_LONGEST_WORDS = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """What one run came to.

    Attributes:
        outcome: "passed", "failed" (wrong numbers) or "error" (no figures that count).
        message: Why it is not passed, in one sentence and, where the program died, its last words.
        result: What was measured; None exactly where the outcome is "error".
        log: The records of the driver as lines of a log, without the host's name.
        doubts: What is not to be trusted in its figures, a sentence each.
    """

    outcome: Outcome
    message: str = ""
    result: Result | None = None
    log: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


def read_report(
    end: ProgramEnd, streams: tuple[Path, Path], *, problem: ConvProblem, device: DeviceInfo, settings: Settings
) -> RunReport:
    """Read what a run has left.

    Args:
        end: How the program ended.
        streams: The files of its stdout and its stderr.
        problem: What it was asked for.
        device: What is known of the device without the run.
        settings: Of the run.
    """
    said = _Said(settings.level)
    said.read_records(streams)
    if not said.has_figures:
        said.read_text(streams)
    case = said.cases[0] if said.cases else None
    outcome, message = _judged(end, said, case, problem)
    if outcome == "error" and (end.stopped or end.status):
        message += _last_words(streams[1])
    result = None
    if case is not None and case.result is not None and outcome != "error":
        result = _result(case.result, problem, said, device, settings)
    return RunReport(
        outcome=outcome,
        message=without_host_names(message),
        result=result,
        log=tuple(said.log),
        doubts=() if result is None else tuple(map(without_host_names, _doubts(said))),
    )


@dataclass(slots=True)
class _Said:
    """What both streams say."""

    level: int
    cases: list[Case] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    unloggable: int = 0
    versions: tuple[tuple[str, str], ...] = ()
    gpu: str = ""
    seed: int | None = None
    has_figures: bool = False

    def read_records(self, streams: tuple[Path, Path]) -> None:
        """Read the streams as JSON lines."""
        reader, together = CaseReader(), LinesTogether(self.level or None)
        logged: list[LoggedCase] = []
        for item in _items(streams):
            self.findings += check_item(item)
            self.findings += together.add(item)
            logged += reader.add(item)
            self._note(item)
        logged += reader.end()
        self.findings += together.end()
        self.cases = [case for case, _ in logged]
        self.versions = reader.versions

    def _note(self, item: LogItem) -> None:
        record = item.record
        if record is None:
            return
        if isinstance(record, ErrorLine):
            self.errors.append(" ".join(record.error.split()))
        self.has_figures |= isinstance(record, Performance)
        line = _log_line(item)
        if line is None:
            self.unloggable += 1
        else:
            self.log.append(line + "\n")

    def read_text(self, streams: tuple[Path, Path]) -> None:
        """Read the streams as the classic text, which drivers before the JSON logs print at every level."""
        runs = list(text_runs(self._noted(_text_items(streams))))
        self.findings += [finding for run in runs for finding in run.findings]
        if any(run.results for run in runs):
            self.cases = list(logged_text(runs).cases)
            self.has_figures = True

    def _noted(self, items: Iterator[TextItem]) -> Iterator[TextItem]:
        for item in items:
            content = item.content
            if isinstance(content, SystemInfo):
                self.gpu = content.gpu_model.rpartition(" x ")[2]
                named = {"MIOpen": content.miopen_version, "ROCm": content.rocm, "amdgpu": content.amdgpu_driver}
                self.versions = tuple((name, version) for name, version in named.items() if version)
            elif isinstance(content, PrngSeed):
                self.seed = content.prng_seed
            yield item


def _items(streams: tuple[Path, Path]) -> Iterator[LogItem]:
    for name, path in zip(("stdout", "stderr"), streams, strict=True):
        with path.open("rb") as file:
            yield from read_log(file, source=name)


def _text_items(streams: tuple[Path, Path]) -> Iterator[TextItem]:
    for name, path in zip(("stdout", "stderr"), streams, strict=True):
        with path.open("rb") as file:
            yield from read_driver_text(file, source=name)


def _log_line(item: LogItem) -> str | None:
    """The record as a line that is sound and names no host; None where it cannot be one, as with a time of nan."""
    record = item.record
    assert record is not None, "only a record is a line of the log"
    if isinstance(record, SystemInfo):
        record = replace(record, hostname=REMOVED)
    elif not item.repairs and not item.doubts and item.raw.isascii() and read_sound(item.raw) is not None:
        return None if _HOST_FIELD.search(item.raw) else item.raw
    line = record.to_line()
    # In a damaged record the name may be part of another text, where it cannot be told from the rest.
    names_host = not isinstance(record, SystemInfo) and _HOST_FIELD.search(line)
    return line if read_sound(line) is not None and not names_host else None


# --- The judgement ----------------------------------------------------------------------------------------------------


def _judged(end: ProgramEnd, said: _Said, case: Case | None, problem: ConvProblem) -> tuple[Outcome, str]:
    """The outcome and its sentence; what makes figures worthless comes first."""
    fatal = _why_worthless(end, said, case, problem)
    if fatal:
        return "error", f"MIOpenDriver {fatal}"
    assert case is not None, "without a case the run is worthless"
    assert case.result is not None, "without a result too"
    if not case.result.check.passed:
        return "failed", case.result.check.sentence
    for finding in said.findings:
        if finding.code in _CONTRADICTIONS:
            return "failed", f"MIOpenDriver contradicts itself: {finding.message}"
    if end.status:
        return "error", f"MIOpenDriver exited with status {end.status}, though it reported nothing wrong"
    return "passed", ""


def _why_worthless(end: ProgramEnd, said: _Said, case: Case | None, problem: ConvProblem) -> str:
    """What goes on behind the program's name; "" where there are figures to be judged."""
    return _why_dead(end) or _why_failed(said, problem) or _why_no_figures(end, said, case, problem)


def _why_dead(end: ProgramEnd) -> str:
    if end.stopped:
        return f"was stopped: {end.stopped}"
    return end.signal_name and f"was ended by {end.signal_name}"


def _why_failed(said: _Said, problem: ConvProblem) -> str:
    reported = "; ".join(dict.fromkeys(said.errors))
    failed = next((finding.message for finding in said.findings if finding.code == "run-failed"), "")
    if failed:
        return f"did not run {problem}: {reported or failed}"
    return reported and f"reports an error: {reported}"


def _why_no_figures(end: ProgramEnd, said: _Said, case: Case | None, problem: ConvProblem) -> str:
    if case is None or case.result is None:
        reason = _nothing(said) if case is None else case.message
        return f"gave no figures of {problem}: {reason}" + (f"; exit status {end.status}" if end.status else "")
    if not _is_same_work(case.result.problem, problem):
        return f"was asked for {problem} and reports on {case.result.problem}"
    if case.result.check.reason is Reason.UNCHECKED:
        return f"was asked to verify {problem} and says nothing of its numbers"
    return ""


def _nothing(said: _Said) -> str:
    """What comes nearest to a reason: the driver's own complaint, else what of its output could not be read."""
    complaints = [finding.message for finding in said.findings if finding.code == "complaint"]
    torn = [str(f) for f in said.findings if f.severity is Severity.ERROR and f.code not in _TOLD_OTHERWISE]
    nothing = "there is no performance line and no kernel time in its output"
    return next(iter([*complaints, *torn]), nothing)


def _is_same_work(reported: ConvProblem, asked: ConvProblem) -> bool:
    """Whether a problem that was read from a key may be the one that was asked for.

    MIOpen derives layouts from strides, which for degenerate tensors fit several; its keys have pads in place of modes,
    and the mirror image in place of a transposed problem.
    """
    return _plain(reported) == _plain(asked)


def _plain(problem: ConvProblem) -> ConvProblem:
    layout = Layout.default(problem.rank)
    return replace(
        problem.canonical(), in_layout=layout, fil_layout=layout, out_layout=layout, pad_mode=PadMode.DEFAULT
    )


def _result(result: Result, problem: ConvProblem, said: _Said, device: DeviceInfo, settings: Settings) -> Result:
    return replace(
        result,
        problem=problem,
        device=replace(device, name=said.gpu or result.device.name),
        compile_key=", ".join(f"{program} {version}" for program, version in said.versions),
        sample=result.sample if settings.is_timed else None,
        seed=next(seed for seed in (result.seed, said.seed, settings.seed) if seed is not None),
        # What no log tells is known of a run of ours: MIOpenDriver launches again and again over the same tensors.
        data="miopen",
        cache_mode="warm",
        circumstances=Circumstances(),
        tune=settings.tune.value,
    )


def _doubts(said: _Said) -> Iterator[str]:
    """Warnings, and errors that the outcome does not tell already."""
    told = [f for f in said.findings if f.severity is not Severity.INFO and f.code not in _TOLD_OTHERWISE]
    yield from (str(finding) for finding in told[:_MOST_DOUBTS])
    if len(told) > _MOST_DOUBTS:
        yield f"{len(told) - _MOST_DOUBTS} more doubts about the output"
    if said.unloggable:
        yield f"{said.unloggable} of its records are not in the log: a number in them is none, or they name the host"


def _last_words(path: Path) -> str:
    """The last lines of stderr that are no records, each on a line of its own."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - _LAST_BYTES))
        lines = [without_host_names(line.text).strip() for line in physical_lines(file)]
    words = [line[:_LONGEST_WORDS] for line in lines if line and not line.startswith("{")][-_LAST_LINES:]
    return "".join(chain.from_iterable(("\n  stderr: ", line) for line in words))
