"""The life of a record, faults of the sink, and threads."""

import json
import threading
import time

import pytest

from pytest_miopen_perf.errors import InvalidRecordError, LogOrderError, LogWriteError, PerfError, SettingsError
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.perflog.sinks import ListSink
from pytest_miopen_perf.records import CommandLine, KernelPhase, PrngSeed, SolutionRecord

EXECUTION, TUNING = KernelPhase.EXECUTION, KernelPhase.SOLVER_TUNING


@pytest.fixture
def sink():
    return ListSink()


@pytest.fixture
def logger(sink):
    return PerformanceLogger(4, sink)


def log_config(logger, *, solver="ConvA", phase=EXECUTION, times_ms=(1.0, 2.0)):
    with logger.scoped_kernel_phase(phase), logger.solution(solver, 7, 64):
        logger.add_performance_config(solver)
        logger.add_invoker_times(times_ms)


def test_a_negative_level_is_refused(sink):
    with pytest.raises(SettingsError, match="-1"):
        PerformanceLogger(-1, sink)


# --- The life of a record ---------------------------------------------------------------------------------------------


def records(sink):
    return sink.records()


def test_a_solution_with_kernels_in_full(logger, sink):
    with logger.scoped_kernel_phase(EXECUTION), logger.solution("ConvA", 7, 4096):
        logger.add_performance_config("ConvA", "64,8")
        for time_ms in (0.5, 0.25):
            logger.add_kernel("transpose_in", time_ms)
            logger.add_kernel("igemm", 2 * time_ms)
        logger.add_invoker_times([1.5, 0.75])
    (line,) = sink.lines
    assert line == (
        '{"solution":"ConvA","solver_id":7,"workspace_bytes":4096,"phase":"execution","performance_configs":[{'
        '"config_name":"igemm","config_descriptor":"64,8","exec_number":1,"time_executions_ms":[1.5,0.75],'
        '"time_ms":1.125,"time_std_ms":0.375,"time_min_ms":0.75,"time_max_ms":1.5,"number_of_transformations":1,'
        '"kernels":[{"kernel_name":"igemm","time_executions_ms":[1,0.5],"is_transformation":false},'
        '{"kernel_name":"transpose_in","time_executions_ms":[0.5,0.25],"is_transformation":true}]}]}\n'
    )


def test_the_record_is_written_even_when_the_work_fails(logger, sink):
    def work():
        with logger.solution("ConvA", 7):
            logger.add_performance_config("ConvA")
            logger.add_invoker_times([1.0])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert len(sink.lines) == 1


def test_configs_of_one_solver_share_a_record(logger, sink):
    with logger.solution("ConvA", 7):
        for descriptor in ("1", "2", "3"):
            logger.add_performance_config("ConvA", descriptor)
            logger.add_invoker_times([1.0])
    (record,) = records(sink)
    assert [config.config_descriptor for config in record.performance_configs] == ["1", "2", "3"]


def test_nothing_is_written_without_a_config(logger, sink):
    with logger.solution("ConvA", 7):
        pass
    logger.flush()
    assert sink.lines == []


def test_miopens_order_of_calls_writes_at_the_change_of_solver_and_at_flush(logger, sink):
    for solver in ("ConvA", "ConvA", "ConvB"):
        logger.log_solution_name(solver, 1)
        logger.add_performance_config(solver)
        logger.add_invoker_times([1.0])
    assert [record.solution for record in records(sink)] == ["ConvA"]
    assert len(records(sink)[0].performance_configs) == 2
    logger.flush()
    logger.flush()
    assert [record.solution for record in records(sink)] == ["ConvA", "ConvB"]


def test_after_a_flush_the_solver_is_still_named(logger, sink):
    logger.log_solution_name("ConvA", 1)
    for _ in range(2):
        logger.add_performance_config("ConvA")
        logger.flush()
    assert [record.solution for record in records(sink)] == ["ConvA", "ConvA"]


def test_the_same_solver_named_in_another_phase_ends_the_record_at_once(logger, sink):
    logger.log_solution_name("ConvA", 1)
    logger.add_performance_config("ConvA")
    with logger.scoped_kernel_phase(TUNING):
        logger.log_solution_name("ConvA", 1)
        assert len(sink.lines) == 1
        with pytest.raises(LogOrderError):
            logger.add_invoker_times([1.0])


def test_a_solution_without_a_name_does_not_credit_the_one_around_it(logger):
    with logger.solution("ConvA", 7), logger.solution("", 8), pytest.raises(LogOrderError):
        logger.add_performance_config("ConvA")


@pytest.mark.parametrize("say_again", [True, False], ids=["named again", "not named again"])
def test_another_phase_is_another_record_also_for_the_same_solver(logger, sink, say_again):
    logger.log_solution_name("ConvA", 1)
    for phase in (TUNING, EXECUTION):
        with logger.scoped_kernel_phase(phase):
            if say_again:
                logger.log_solution_name("ConvA", 1)
            logger.add_performance_config("ConvA")
    logger.flush()
    assert [record.phase for record in records(sink)] == [TUNING, EXECUTION]


def test_another_workspace_is_another_record(logger, sink):
    for workspace_bytes in (0, 64, 64):
        logger.log_solution_name("ConvA", 1, workspace_bytes)
        logger.add_performance_config("ConvA")
    logger.flush()
    assert [(r.workspace_bytes, len(r.performance_configs)) for r in records(sink)] == [(0, 1), (64, 2)]


def test_kernels_without_a_config_belong_to_nothing(logger, sink):
    logger.add_kernel("stray", 1.0)
    with logger.solution("ConvA", 7):
        logger.add_kernel("stray", 1.0)
        logger.add_performance_config("ConvA")
        logger.add_kernel("igemm", 1.0)
    (record,) = records(sink)
    assert [kernel.kernel_name for kernel in record.performance_configs[0].kernels] == ["igemm"]


def test_kernels_of_another_phase_are_not_the_configs(logger, sink):
    with logger.scoped_kernel_phase(EXECUTION), logger.solution("ConvA", 7):
        logger.add_performance_config("ConvA")
        with logger.scoped_kernel_phase(KernelPhase.VALIDATION):
            logger.add_kernel("naive_conv", 9.0)
        logger.add_kernel("igemm", 1.0)
    (record,) = records(sink)
    assert record.performance_configs[0].config_name == "igemm"
    assert len(record.performance_configs[0].kernels) == 1


def test_the_first_launch_says_whether_a_kernel_is_a_transformation(logger, sink):
    with logger.solution("ConvA", 7):
        logger.add_performance_config("ConvA")
        logger.add_kernel("transpose", 1.0, is_transformation=False)
        logger.add_kernel("transpose", 1.0, is_transformation=True)
    assert records(sink)[0].performance_configs[0].number_of_transformations == 0


def test_times_given_again_replace_those_before(logger, sink):
    with logger.solution("ConvA", 7):
        logger.add_performance_config("ConvA")
        logger.add_invoker_times([5.0])
        logger.add_invoker_times(iter([1.0, 2.0]))
    assert records(sink)[0].performance_configs[0].time_executions_ms == (1.0, 2.0)


def test_a_config_without_a_name_is_dropped_with_all_that_it_takes(logger, sink):
    with logger.solution("ConvA", 7):
        logger.add_performance_config("")
        logger.add_kernel("stray", 1.0)
        logger.add_invoker_times([1.0])
    assert sink.lines == []


def test_an_empty_solution_name_is_ignored(logger, sink):
    logger.log_solution_name("ConvA", 1)
    logger.log_solution_name("", 2)
    logger.add_performance_config("ConvA")
    logger.flush()
    assert records(sink)[0].solution == "ConvA"


def test_nested_solutions_do_not_mix(logger, sink):
    with logger.solution("Outer", 1):
        logger.add_performance_config("Outer", "before")
        with logger.solution("Inner", 2):
            logger.add_performance_config("Inner")
        logger.add_performance_config("Outer", "after")
    written = [(r.solution, r.performance_configs[0].config_descriptor) for r in records(sink)]
    assert written == [("Outer", "before"), ("Inner", ""), ("Outer", "after")]


def test_a_wrapping_solver_gets_the_credit(logger, sink):
    with logger.scoped_solver_name_override("Wrapper", 9):
        log_config(logger, solver="Inner")
        with logger.scoped_solver_name_override("InnerWrapper", 10):
            log_config(logger, solver="Inner")
    log_config(logger, solver="Inner")
    assert [(r.solution, r.solver_id) for r in records(sink)] == [("Wrapper", 9), ("InnerWrapper", 10), ("Inner", 7)]


@pytest.mark.parametrize("level", [1, 2, 3, 4, 5])
def test_figures_that_belong_to_nothing_raise_at_every_level(sink, level):
    logger = PerformanceLogger(level, sink)
    with pytest.raises(LogOrderError, match="no solution"):
        logger.add_performance_config("ConvA")
    with pytest.raises(LogOrderError, match="no performance config"):
        logger.add_invoker_times([1.0])
    with logger.solution("ConvA", 7), pytest.raises(LogOrderError):
        logger.add_invoker_times([1.0])
    with pytest.raises(LogOrderError):
        logger.add_performance_config("after the end")


def test_phases_nest_and_come_back_after_an_exception(logger):
    def work():
        with logger.scoped_kernel_phase(EXECUTION):
            assert logger.kernel_phase() is EXECUTION
            raise KeyError

    with logger.scoped_kernel_phase(TUNING):
        with pytest.raises(KeyError):
            work()
        assert logger.kernel_phase() is TUNING
    assert logger.kernel_phase() is KernelPhase.UNKNOWN


@pytest.mark.parametrize("level", range(7))
def test_what_is_enabled_at_a_level(sink, level):
    logger = PerformanceLogger(level, sink)
    assert logger.level == level
    assert logger.is_performance_logging_enabled() == (level > 2)
    assert logger.is_logging_kernel() == (level in (2, 4))
    with logger.scoped_kernel_phase(EXECUTION):
        assert logger.is_performance_logging_enabled() == (level > 0)


@pytest.mark.parametrize("level", range(7))
def test_levels_write_what_they_show(sink, level):
    logger = PerformanceLogger(level, sink)
    logger.write(CommandLine(command="MIOpenDriver conv"))
    log_config(logger, solver="Searched", phase=TUNING)
    log_config(logger, solver="Executed")
    expected = ["command"] * (level > 0) + ["Searched"] * (level > 2) + ["Executed"] * (level > 0)
    assert [r.solution if isinstance(r, SolutionRecord) else r.KEY for r in records(sink)] == expected


def test_level_0_is_of_a_silent_class_that_is_still_a_logger(sink):
    silent = PerformanceLogger(0, sink)
    assert isinstance(silent, PerformanceLogger)
    assert vars(silent) == {"level": 0}
    assert type(silent) is not type(PerformanceLogger(1, sink))


# --- Lines that are wrong, and sinks that fail ------------------------------------------------------------------------


def test_a_line_that_does_not_fit_is_not_written_and_the_logger_goes_on(logger, sink):
    with pytest.raises(InvalidRecordError, match="workspace_bytes"), logger.solution("ConvA", 7, -1):
        logger.add_performance_config("ConvA")
    with pytest.raises(InvalidRecordError, match="prng_seed"):
        logger.write(PrngSeed(prng_seed=-1))
    assert sink.lines == []
    log_config(logger, solver="ConvB")
    assert [record.solution for record in records(sink)] == ["ConvB"]


def test_a_line_that_is_not_json_is_not_written(logger, sink):
    with pytest.raises(InvalidRecordError, match="not JSON"):
        logger.write(PrngSeed(prng_seed=float("nan")))
    assert sink.lines == []


class FullSink(ListSink):
    """Refuses the first line."""

    def __call__(self, line):
        if not self.lines:
            self.lines.append("refused")
            raise OSError(28, "No space left on device")
        super().__call__(line)


def test_a_sink_that_fails_loses_its_line_only():
    sink = FullSink()
    logger = PerformanceLogger(4, sink)
    with pytest.raises(LogWriteError, match="No space left on device") as caught:
        log_config(logger, solver="ConvA")
    assert isinstance(caught.value, PerfError)
    assert isinstance(caught.value.__cause__, OSError)
    log_config(logger, solver="ConvB")
    assert [json.loads(line)["solution"] for line in sink.lines[1:]] == ["ConvB"]
    assert logger.kernel_phase() is KernelPhase.UNKNOWN


# --- Threads ----------------------------------------------------------------------------------------------------------


def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_a_new_thread_starts_in_phase_unknown_with_nothing_open(logger):
    seen = []

    def work():
        seen.append(logger.kernel_phase())
        with pytest.raises(LogOrderError):
            logger.add_performance_config("ConvA")

    with logger.scoped_kernel_phase(EXECUTION), logger.solution("ConvA", 7):
        in_thread(work)
    assert seen == [KernelPhase.UNKNOWN]


class CuttingSink:
    """Writes in pieces and lets the other threads in between, as a stream without buffer does."""

    def __init__(self):
        self.text = []
        self.calls = 0

    def __call__(self, line):
        self.calls += 1
        for start in range(0, len(line), 100):
            self.text.append(line[start : start + 100])
            time.sleep(0)


def test_threads_neither_tear_nor_mix_records():
    sink = CuttingSink()
    logger = PerformanceLogger(4, sink)
    threads, rounds = 8, 20
    barrier = threading.Barrier(threads)

    def work(number):
        barrier.wait()
        for turn in range(rounds):
            with logger.scoped_kernel_phase(EXECUTION), logger.solution(f"Conv{number}", number, turn):
                for config in range(3):
                    logger.add_performance_config("Conv", f"{number},{config}")
                    logger.add_kernel(f"kernel_{number}", 1.0 + number)
                    logger.add_invoker_times([1.0 + number] * 3)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    lines = [json.loads(line) for line in "".join(sink.text).splitlines()]
    assert sink.calls == len(lines) == threads * rounds
    for number in range(threads):
        own = [line for line in lines if line["solver_id"] == number]
        assert [line["workspace_bytes"] for line in own] == list(range(rounds))
        for line in own:
            configs = line["performance_configs"]
            assert line["solution"] == f"Conv{number}"
            assert [c["config_descriptor"] for c in configs] == [f"{number},{i}" for i in range(3)]
            assert {c["config_name"] for c in configs} == {f"kernel_{number}"}
            assert {c["time_ms"] for c in configs} == {1.0 + number}
