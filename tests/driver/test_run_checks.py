"""What is wrong with runs: their records paired with their figures, and streams that contradict each other."""

import itertools

from log_findings import check, codes
from log_samples import (
    COMMAND,
    FIND,
    S1,
    S10,
    S10_BACKWARD,
    S10_FORWARD,
    SEED,
    SYSTEM,
    VERIFIED,
    A,
    config,
    performance,
    solution,
)

from pytest_miopen_perf.driver.log_reader import read_log
from pytest_miopen_perf.driver.pairing import RunSplitter, pair_run
from pytest_miopen_perf.driver.semantics import check_log

NAME = "ConvHipImplicitGemmGroupFwdXdlops"
S1_PERFORMANCE = performance(NAME, 2.46444)


def find(name, *times, phase="solver_tuning"):
    """A comparison of one solver by Find, of seven equal times or the given ones."""
    return solution(
        name, config(name, ",".join(map(str, times * 7)), f"{times[0]} 0 {times[0]} {times[0]}"), phase=phase
    )


def only_run(items):
    splitter = RunSplitter()
    assert [run for item in items if (run := splitter.add(item))] == []
    return splitter.end()


def pairs(*lines):
    return pair_run(only_run(read_log([f"{line}\n" for line in lines])))


def test_s10_pairs_by_index_and_the_averages_confirm_it():
    forward, backward = pairs(COMMAND, S10_FORWARD, S10_BACKWARD, S10)
    assert (forward.execution.config.time_ms, backward.execution.config.time_ms) == (0.1, 0.2)
    assert (forward.averages_agree, backward.averages_agree) == (True, True)
    assert codes(COMMAND, S10_FORWARD, S10_BACKWARD, S10) == []


def test_a_whole_run_has_no_findings():
    assert codes(COMMAND, SEED, SYSTEM, FIND, S1_PERFORMANCE, VERIFIED, S1) == []


def test_streams_kept_apart_are_paired_too():
    apart = [read_log([COMMAND, S1_PERFORMANCE], "out"), read_log([S1], "err")]
    (pair,) = pair_run(only_run(itertools.chain(*apart)))
    assert (pair.performance.source, pair.execution.source) == ("out", "err")


def test_many_runs_whose_streams_were_kept_apart():
    out = [f"{line}\n" for _ in range(3) for line in (COMMAND, S1_PERFORMANCE)]
    err = [f"{line}\n" for line in (S1, S1.replace("5.12", "5.13"), S1.replace("5.12", "5.14"))]
    items = [*read_log(out, "out"), *read_log(err, "err")]
    assert check_log(items) == []
    assert [f.code for f in check_log([*read_log(out, "out"), *read_log(err[:2], "err")])] == ["no-final-record"]


def test_a_lost_last_record():
    lines = (COMMAND, performance("A", 2, solver_id=1), performance("B", 2, "backward", 2), A)
    findings = check(*lines)
    assert [finding.code for finding in findings] == ["no-final-record"]
    assert findings[0].line_number == 3
    assert "2/B, backward" in findings[0].message


def test_a_run_that_was_killed_before_any_record_of_it():
    assert codes(COMMAND, performance(NAME, 1.5), find(NAME, 1.5)) == ["no-final-record"]


def test_a_log_without_stderr():
    assert codes(COMMAND, S1_PERFORMANCE, COMMAND, S1_PERFORMANCE) == ["no-solution-records"]


def test_lost_records_in_the_middle_do_not_shift_the_pairs():
    first, second, third = pairs(
        COMMAND, performance("A", 2), performance("X", 2), performance("B", 2), A, A.replace('"A"', '"B"')
    )
    assert (first.execution.solution, second.execution, third.execution.solution) == ("A", None, "B")


def test_a_solver_that_the_other_stream_does_not_name():
    assert codes(COMMAND, performance("Other", 2.46444), S1) == ["solver-mismatch"]


def test_an_average_that_is_not_of_these_times():
    assert codes(COMMAND, performance(NAME, 2.5), S1) == ["average-mismatch"]


def test_more_executions_than_performance_lines():
    assert codes(COMMAND, S1_PERFORMANCE, S1, A) == ["execution-without-performance"]


def test_an_execution_that_was_merged_into_a_find_record():
    times = ",".join(["1"] * 10)
    merged = solution(
        "A", config("A", "1,1,1,1,1,1,1", "1 0 1 1"), config("A", times, "1 0 1 1"), phase="solver_tuning"
    )
    (pair,) = pairs(COMMAND, performance("A", 1), merged)
    assert pair.is_probable
    assert len(pair.execution.config.time_executions_ms) == 10
    assert codes(COMMAND, performance("A", 1), merged) == ["probably-execution"]


def test_the_iterations_of_the_command_tell_a_merged_execution():
    merged = solution("A", config("A", "1,1,1", "1 0 1 1"), phase="solver_tuning")
    (pair,) = pairs(COMMAND.replace("-F 1", "-F 1 -i 3"), performance("A", 1), merged)
    assert pair.is_probable


def test_the_executions_of_a_winner_that_was_not_the_fastest():
    lines = (
        COMMAND,
        FIND,
        performance("ConvSlow", 1),
        find("ConvFast", 0.5),
        find("ConvSlow", 1.0),
        find("ConvLame", 3.0),
    )
    findings = check(*lines, solution("ConvSlow", config("ConvSlow", "1,1,1", "1 0 1 1")))
    assert [finding.code for finding in findings] == ["winner-not-fastest"]
    assert "ConvFast (line 4) took 0.5 ms" in findings[0].message


def test_a_near_miss_is_a_coin_toss():
    execution = solution("ConvB", config("ConvB", "1,1,1", "1 0 1 1"))
    assert codes(COMMAND, performance("ConvB", 1), find("ConvA", 0.95), find("ConvB", 1.0), execution) == []


def test_failed_solvers_are_not_the_fastest():
    failed = solution("ConvA", config("ConvA", "", "0 0 0 0", exec_number=2**64 - 1), phase="solver_tuning")
    execution = solution("ConvB", config("ConvB", "1,1,1", "1 0 1 1"))
    assert codes(COMMAND, performance("ConvB", 1), failed, find("ConvB", 1.0), execution) == ["not-measured"]


def test_directions_are_not_compared_with_each_other():
    lines = [COMMAND, performance("ConvFwd", 1), performance("ConvBwd", 5, "backward")]
    lines += [find("ConvFwd", 1.0), find("ConvBwd", 5.0)]
    lines += [solution(n, config(n, f"{t},{t},{t}", f"{t} 0 {t} {t}")) for n, t in (("ConvFwd", 1), ("ConvBwd", 5))]
    assert codes(*lines) == []


def test_a_run_far_slower_than_find():
    execution = solution("ConvB", config("ConvB", "3,3,3", "3 0 3 3"))
    assert codes(COMMAND, performance("ConvB", 3), find("ConvB", 1.0), execution) == ["find-time-differs"]


def test_a_naive_winner_of_a_large_problem():
    name = "ConvDirectNaiveConvFwd"
    execution = solution(name, config(name, "3,3,3", "3 0 3 3"))
    assert codes(COMMAND, FIND, performance(name, 3), execution) == ["naive-winner"]
    assert codes(COMMAND, performance(name, 3), execution) == []
