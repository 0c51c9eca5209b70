"""A case measured again in a process of its own.

What one process has luck with, such as where its memory lies, the next one draws anew; so a suspicion is confirmed by
another process than the one that had it. It is given the solution as plain data, and needs no test and no conftest.
"""

from __future__ import annotations

import os
import pickle
import tempfile
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.child_process import in_the_same_python, last_words, run_to_end
from pytest_miopen_perf.errors import DeviceError, PerfError
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.running.choosing import Chooser
from pytest_miopen_perf.running.runner import Runner
from pytest_miopen_perf.running.tuned import SessionConfigs
from pytest_miopen_perf.session import open_device
from pytest_miopen_perf.telemetry.opening import sensor_of

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers.planned import PlannedSolver
    from pytest_miopen_perf.telemetry.household import Household


_PROGRAM = f"import sys, {__name__}; {__name__}.main(*sys.argv[1:])"
"""Not as `__main__`: both processes must know the classes below by the same names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the process is to measure.

    Attributes:
        problem: As it was asked for.
        solver: How to compute it.
        settings: How to measure; the back-end is named.
        household: The processes of the session that asks, this one among them: they are no strangers on the device.
    """

    problem: ConvProblem
    solver: PlannedSolver
    settings: Settings
    household: Household


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came of it.

    Attributes:
        result: Of the run.
        log: The lines of its log.
    """

    result: Result
    log: tuple[str, ...]


def ask_fresh_process(question: Question) -> Answer:
    """Check and time a solution in a process of its own.

    Raises:
        DeviceError: the process died or could not measure; in its words.
    """
    problem = question.problem
    try:
        with tempfile.TemporaryDirectory(prefix="miopen-perf-again-") as name:
            answer = _asked_in(Path(name), question)
    except OSError as error:
        raise DeviceError(f"no process to measure {problem} again can be started: {error}") from error
    if isinstance(answer, str):
        raise DeviceError(f"{problem} could not be measured again: {answer}")
    return answer


def _asked_in(folder: Path, question: Question) -> Answer | str:
    """The answer or a reason, handed over through files of a folder."""
    asked, answered, log = folder / "question", folder / "answer", folder / "output.txt"
    asked.write_bytes(pickle.dumps(question))
    command = [*in_the_same_python(_PROGRAM), str(asked), str(answered)]
    code = run_to_end(command, os.environ, log, patience_seconds=0)
    if not answered.exists():
        said = f":\n{words}" if (words := last_words(log)) else ""
        raise DeviceError(f"the process that measured {question.problem} again ended with {code}{said}")
    answer: Answer | str = pickle.loads(answered.read_bytes())  # noqa: S301 - written by our own process, into our own folder
    return answer


def answer_to(question: Question) -> Answer:
    """Measure, in this process.

    Raises:
        PerfError: it cannot be.
    """
    log: list[str] = []
    with closing(open_device(question.settings)) as device:
        sensing = partial(sensor_of, household=question.household)
        result = Runner(device, Chooser(tuned=SessionConfigs()), sensing).run(
            question.problem,
            solvers=[question.solver],
            settings=question.settings,
            logger=PerformanceLogger(question.settings.level, log.append),
        )
    return Answer(result=result, log=tuple(log))


def main(asked: str, answered: str) -> None:
    """The process: a question's file in, a file with an answer or with a reason out."""
    question: Question = pickle.loads(Path(asked).read_bytes())  # noqa: S301 - written by the process that started this one
    try:
        answer: Answer | str = answer_to(question)
    except PerfError as error:
        answer = str(error)
    half_written = Path(f"{answered}.part")
    half_written.write_bytes(pickle.dumps(answer))
    half_written.replace(answered)
