"""What the classic text of MIOpenDriver says was run, as cases; the twin of `cases` for logs without JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.logged.cases import NOT_TOLD, LoggedSession, reported_check, reported_device
from pytest_miopen_perf.results import Result, Sample

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_miopen_perf.checking.check import Check
    from pytest_miopen_perf.driver.text_lines import ChosenSolution, VerificationText
    from pytest_miopen_perf.driver.text_runs import TextResult, TextRun
    from pytest_miopen_perf.problem import ConvProblem


def logged_text(runs: Iterable[TextRun]) -> LoggedSession:
    """The cases of a text output, one process a run.

    The text has one time a direction, the average over the runs of the driver. It names a problem only by the command,
    which not every output has.
    """
    processes = []
    unnamed = 0
    for run in runs:
        cases = tuple(_cases(run))
        unnamed += sum(result.problem is None for result in run.results)
        if cases:
            processes.append(cases)
    return LoggedSession(processes=tuple(processes), unnamed=unnamed)


def _cases(run: TextRun) -> Iterator[Case]:
    for result in run.results:
        if result.problem is not None:
            yield _case(result, result.problem)


def _case(text: TextResult, problem: ConvProblem) -> Case:
    nodeid = f"{text.source or 'log'}:{text.line_number}"
    failure = text.failure
    if failure is not None or text.time_ms is None:
        message = f"{failure.call}() failed with status {failure.status:#x}" if failure else "there is no time of it"
        return Case(nodeid=nodeid, problem=str(problem), outcome="error", message=message)
    check = _check(text.verification)
    return Case(
        nodeid=nodeid,
        problem=str(problem),
        outcome="passed" if check.passed else "failed",
        message="" if check.passed else check.sentence,
        result=_result(problem, check, text.solution, text.time_ms),
        process=nodeid,
    )


def _check(verification: VerificationText | None) -> Check:
    if verification is None:
        return reported_check(passed=None, error=None, tolerance=None)
    return reported_check(
        passed=verification.passed,
        error=verification.error,
        tolerance=verification.tolerance,
        reference=verification.reference,
    )


def _result(problem: ConvProblem, check: Check, solution: ChosenSolution | None, time_ms: float) -> Result:
    return Result(
        problem=problem,
        device=reported_device(""),
        solver=(solution.solver if solution else "") or "UNKNOWN",
        solver_id=(solution.solver_id if solution else None) or 0,
        algorithm=solution.algorithm if solution else -1,
        config="",
        config_origin="logged",
        workspace_bytes=None,
        check=check,
        sample=Sample(seconds=(float(f"{time_ms / 1e3:.6g}"),)),
        compile_seconds=None,
        first_launch_seconds=None,
        seed=None,
        data=None,
        cache_mode=None,
        circumstances=NOT_TOLD,
        tune=None,
    )
