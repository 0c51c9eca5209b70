"""What the lines of one run say together: stdout against stderr, figures against the problem, Find against the run."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

from pytest_miopen_perf.driver.directions import DIRECTION_OF, ROW_DIRECTION, solver_direction
from pytest_miopen_perf.driver.finding import Finding
from pytest_miopen_perf.driver.pairing import pair_run
from pytest_miopen_perf.errors import DatabaseKeyError
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.problems.db_key import parse_find_db_key
from pytest_miopen_perf.problems.driver_stats import row_name
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_miopen_perf.driver.pairing import Pair, PlacedConfig, PlacedPerformance, Run, TriedConfig
    from pytest_miopen_perf.problem import ConvProblem

FASTER = 1.1
"""How much faster another solver must have been in Find to speak against the winner; below that it is a coin toss."""

SLOWER = 1.2
"""How far the run and Find may be apart for one solver."""

_RATE_TOLERANCE = 3e-5
_LARGE_FLOPS = 10**9
_FORWARD_OR_DATA = {Direction.FORWARD, Direction.BACKWARD_DATA}


def check_run(run: Run) -> Iterator[Finding]:
    """The findings of a run by itself; of its pairs only where it has both streams."""
    for line in run.performances:
        yield from _check_performance(line, run)
    if not run.performances:
        return
    has_executions = bool(run.executions or run.merged)
    for pair in pair_run(run):
        if has_executions:
            yield from check_pair(pair)
        yield from _check_winner(pair, run)
    if len(run.executions) > len(run.performances):
        extra = run.executions[-1]
        words = f"{len(run.executions)} executions stand against {len(run.performances)} performance lines of the run"
        yield _at(extra, "execution-without-performance", Severity.WARNING, words)


def _at(place: PlacedConfig | PlacedPerformance, code: str, severity: Severity, message: str) -> Finding:
    return Finding(code=code, severity=severity, message=message, line_number=place.line_number, source=place.source)


# --- Both streams -----------------------------------------------------------------------------------------------------


def check_pair(pair: Pair) -> Iterator[Finding]:
    """The findings of a performance line and the config of its timed run."""
    line, execution = pair.performance, pair.execution
    direction = line.record.direction
    if execution is None:
        words = f"no record of the timed run of {line.record.solution}, {direction}: "
        words += "the program was killed, or its last line was lost"
        yield _at(line, "no-final-record", Severity.WARNING, words)
        return
    if pair.is_probable:
        words = f"the timed run of {execution.solution}, {direction}, is probably a config in a record of another phase"
        yield _at(execution, "probably-execution", Severity.INFO, words)
    if not pair.names_agree:
        words = f"the timed run is credited to {execution.solution}, the performance line to {line.record.solution}"
        yield _at(execution, "solver-mismatch", Severity.WARNING, words)
    if pair.averages_agree is False:
        words = f"average_time_ms of {line.record.solution}, {direction}, is {line.record.average_time_ms:.6g}, "
        words += f"which the times of its record (line {execution.line_number}) do not give"
        yield _at(line, "average-mismatch", Severity.WARNING, words)


# --- Performance lines ------------------------------------------------------------------------------------------------


def _check_performance(line: PlacedPerformance, run: Run) -> Iterator[Finding]:
    record = line.record
    if line.solver.startswith(("UNKNOWN", "INVALID_SOLVER_ID")) or record.solution.startswith("0/"):
        words = f"the solver of {record.name} is not known ({record.solution}); its algorithm number may be garbage"
        yield _at(line, "unknown-solver", Severity.WARNING, words)
    if not record.average_time_ms > 0:
        words = f"{record.solution}: an average of {record.average_time_ms:.6g} ms is no measurement"
        yield _at(line, "time-not-positive", Severity.WARNING, words)
    else:
        yield from _check_rates(line)
    yield from _check_problem(line, run)
    if "Naive" in line.solver and run.find_calls and record.flop_count > _LARGE_FLOPS:
        words = f"Find chose {line.solver}, a kernel for checks, for {record.flop_count / 1e9:.3g} GFLOP"
        yield _at(line, "naive-winner", Severity.WARNING, words)


def _check_rates(line: PlacedPerformance) -> Iterator[Finding]:
    record = line.record
    moved = record.bytes_read + record.bytes_written
    for name, stated, count in (
        ("gflops", record.gflops, record.flop_count),
        ("gb_per_s", record.gb_per_s, moved),
    ):
        rate = count / record.average_time_ms / 1e6
        if not math.isnan(stated) and abs(stated - rate) > _RATE_TOLERANCE * rate:
            words = f"{record.name}: {name} is {stated:.6g}, but its count and its time give {rate:.6g}"
            yield _at(line, "rate-mismatch", Severity.WARNING, words)


def _check_problem(line: PlacedPerformance, run: Run) -> Iterator[Finding]:
    record = line.record
    direction = DIRECTION_OF[record.direction]
    if ROW_DIRECTION[record.name.partition("-")[0]] is not direction:
        words = f"{record.name} and {record.direction} are different directions"
        yield _at(line, "direction-mismatch", Severity.ERROR, words)
    problem = _problem(record.db_key)
    if isinstance(problem, DatabaseKeyError):
        yield _at(line, "db-key", Severity.INFO, f"db_key: {problem}")
        return
    # A transposed convolution is filed under the other direction, with its channels swapped.
    is_swapped = direction is not problem.direction and {direction, problem.direction} == _FORWARD_OR_DATA
    if direction is not problem.direction and (not is_swapped or (run.command and " trans" not in run.command)):
        words = f"the line says {record.direction}, its db_key {problem.direction.value}"
        yield _at(line, "direction-mismatch", Severity.ERROR, words)
        return
    stated = solver_direction(line.solver)
    if stated is not None and stated is not problem.direction:
        words = f"{line.solver} is no solver for direction {problem.direction.value}, which is that of the db_key"
        yield _at(line, "solver-direction", Severity.WARNING, words)
    # The key of a transposed convolution is that of the plain one in the other direction, whose sizes are other ones.
    if direction is problem.direction and " trans" not in run.command:
        yield from _check_counts(line, problem)


@functools.lru_cache(maxsize=256)
def _problem(db_key: str) -> ConvProblem | DatabaseKeyError:
    """What a key names, or why it names nothing; a log has the same few keys again and again."""
    try:
        return parse_find_db_key(db_key)
    except DatabaseKeyError as error:
        return error


def _check_counts(line: PlacedPerformance, problem: ConvProblem) -> Iterator[Finding]:
    record = line.record
    for name, stated, derived in (
        ("name", record.name, row_name(problem)),
        ("n", record.n, problem.n),
        ("c", record.c, problem.c),
        ("k", record.k, problem.k),
        ("output", record.output, problem.miopen_output),
        ("filter", record.filter, problem.filter),
    ):
        if stated != derived:
            words = f"{name} is {stated}, but the db_key makes it {derived}"
            yield _at(line, "problem-mismatch", Severity.ERROR, words)
    for name, count, recount in (
        ("flop_count", record.flop_count, problem.flops),
        ("bytes_read", record.bytes_read, problem.bytes_read),
        ("bytes_written", record.bytes_written, problem.bytes_written),
    ):
        if count != recount:
            wrapped = "; MIOpen's 32-bit products wrap for such sizes" if recount >= 2**31 else ""
            words = f"{record.name}: {name} is {count}, but the db_key gives {recount}{wrapped}"
            yield _at(line, "count-mismatch", Severity.WARNING, words)


# --- Find against the run ---------------------------------------------------------------------------------------------


def _check_winner(pair: Pair, run: Run) -> Iterator[Finding]:
    line = pair.performance
    compared = list(_of_direction(run, DIRECTION_OF[line.record.direction]))
    winner = next((placed for placed in compared if placed.solution == line.solver), None)
    fastest = min(compared, key=lambda placed: placed.median_ms, default=None)
    if winner is None or fastest is None or math.isinf(fastest.median_ms):
        return
    if winner.median_ms > FASTER * fastest.median_ms:
        words = f"{line.solver} was executed with {winner.median_ms:.6g} ms in Find, where {fastest.solution} "
        words += f"(line {fastest.line_number}) took {fastest.median_ms:.6g} ms; its workspace may have been too large"
        yield _at(line, "winner-not-fastest", Severity.WARNING, words)
    average = line.record.average_time_ms
    if average > 0 and not math.isinf(winner.median_ms):
        ratio = average / winner.median_ms
        if not 1 / SLOWER <= ratio <= SLOWER:
            words = f"{line.solver}: {average:.6g} ms when it was executed, {winner.median_ms:.6g} ms in Find"
            yield _at(line, "find-time-differs", Severity.WARNING, words)


def _of_direction(run: Run, direction: Direction) -> Iterable[TriedConfig]:
    """The comparisons that belong to a direction: all of a run with one, else those whose solver's name says so."""
    if len(run.performances) == 1:
        return run.comparisons.values()
    return [placed for placed in run.comparisons.values() if solver_direction(placed.solution) is direction]
