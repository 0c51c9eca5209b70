"""Whatever is called, in whatever order, from whatever thread: silent at level 0, and what `visible` promises above."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from pytest_miopen_perf.errors import LogOrderError
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.perflog.sinks import ListSink
from pytest_miopen_perf.records import KernelPhase, PrngSeed, from_json, visible
from pytest_miopen_perf.statistics import format_g6, miopen_statistics

THREADS = 2
MACHINE_SETTINGS = settings(max_examples=60, stateful_step_count=40, deadline=None)

# Few, so that the same one comes again: name, id, workspace.
solvers = st.sampled_from(
    [("ConvA", 1, 0), ("ConvA", 1, 0), ("ConvA", 1, 64), ("Conv\u00e9\U0001f600", 2, 0), ("", 1, 0)]
)
names = st.sampled_from(["", "ConvA", "igemm"])
descriptors = st.sampled_from(["", "64,8", '"quoted"'])
kernels = st.sampled_from(["", "igemm", "transpose", "Zero"])
flags = st.sampled_from([None, True, False])
# Exact in float32 and in six digits, so that a model need not round; and what is no measurement.
times = st.sampled_from([0.5, 1.0, 2.0, 0.25, 8.0, 0.0, -1.0, float("nan"), float("inf")])
time_lists = st.lists(times, max_size=6)
phases = st.sampled_from(KernelPhase)
recorded_phases = st.sampled_from([KernelPhase.EXECUTION, KernelPhase.EXECUTION, KernelPhase.SOLVER_TUNING])
# Mostly the first one, so that its calls make longer stories.
threads = st.sampled_from([0, 0, 0, 1])


class Workers:
    """Threads that each run one call at a time; calls of one thread keep its thread-local state."""

    def __init__(self):
        self.pools = [ThreadPoolExecutor(1) for _ in range(THREADS)]

    def call(self, thread, function, *args):
        return self.pools[thread].submit(function, *args).result()

    def close(self):
        for pool in self.pools:
            pool.shutdown()


class LevelZero(RuleBasedStateMachine):
    """Level 0: nothing is raised, written or kept, in any order of calls."""

    def __init__(self):
        super().__init__()
        self.sink = ListSink()
        self.logger = PerformanceLogger(0, self.sink)
        self.workers = Workers()
        self.opened = []

    def call(self, thread, name, *args):
        return self.workers.call(thread, getattr(self.logger, name), *args)

    @rule(thread=threads, solver=st.one_of(solvers, st.tuples(st.text(), st.integers(), st.integers())))
    def log_solution_name(self, thread, solver):
        assert self.call(thread, "log_solution_name", *solver) is None

    @rule(thread=threads, name=names, descriptor=descriptors)
    def add_performance_config(self, thread, name, descriptor):
        assert self.call(thread, "add_performance_config", name, descriptor) is None

    @rule(thread=threads, given=st.one_of(time_lists, st.none()))
    def add_invoker_times(self, thread, given):
        assert self.call(thread, "add_invoker_times", given) is None

    @rule(thread=threads, name=kernels, time_ms=times, flag=flags)
    def add_kernel(self, thread, name, time_ms, flag):
        assert self.call(thread, "add_kernel", name, time_ms, flag) is None

    @rule(thread=threads)
    def flush(self, thread):
        assert self.call(thread, "flush") is None

    @rule(thread=threads, seed=st.integers())
    def write(self, thread, seed):
        assert self.call(thread, "write", PrngSeed(prng_seed=seed)) is None

    @rule(thread=threads, phase=phases)
    def enter_phase(self, thread, phase):
        self.enter(thread, self.logger.scoped_kernel_phase(phase))

    @rule(thread=threads, solver=solvers)
    def enter_override(self, thread, solver):
        self.enter(thread, self.logger.scoped_solver_name_override(*solver[:2]))

    @rule(thread=threads, solver=solvers)
    def enter_solution(self, thread, solver):
        self.enter(thread, self.logger.solution(*solver))

    def enter(self, thread, scope):
        self.workers.call(thread, scope.__enter__)
        self.opened.append(scope)

    @precondition(lambda self: self.opened)
    @rule(thread=threads, data=st.data())
    def leave_any(self, thread, data):
        scope = self.opened.pop(data.draw(st.integers(0, len(self.opened) - 1)))
        assert not self.workers.call(thread, scope.__exit__, None, None, None)

    @invariant()
    def is_silent(self):
        assert self.sink.lines == []
        assert vars(self.logger) == {"level": 0}
        for thread in range(THREADS):
            assert self.call(thread, "kernel_phase") is KernelPhase.UNKNOWN
            assert not self.call(thread, "is_performance_logging_enabled")
            assert not self.call(thread, "is_logging_kernel")

    def teardown(self):
        self.workers.close()


TestLevelZero = LevelZero.TestCase
TestLevelZero.settings = MACHINE_SETTINGS


class Model:
    """What one thread's calls mean, told as a list of finished records that every level could show."""

    def __init__(self, finished):
        self.finished = finished
        self.phase = ["unknown"]
        self.credit = [None]
        self.solver = None
        self.record = None
        self.config = None

    def end_record(self):
        self.config = None
        if self.record is not None and self.record["configs"]:
            self.finished.append(self.record)
        self.record = None

    def name(self, name, solver_id, size):
        if not name:
            return
        if self.credit[-1] is not None:
            name, solver_id = self.credit[-1]
        solver = (name, solver_id, size)
        phase = self.record["phase"] if self.record else None
        if solver != self.solver or (self.record and phase != self.phase[-1]):
            self.end_record()
        elif self.record is None:
            # The same solver with nothing gathered: whatever was open ended before.
            assert self.config is None or self.config.get("nameless")
        self.solver = solver

    def open_config(self, name, descriptor):
        assert self.solver is not None
        if self.record and self.record["phase"] != self.phase[-1]:
            self.end_record()
        if self.record is None:
            self.record = {"solver": self.solver, "phase": self.phase[-1], "configs": []}
        self.config = {"name": name, "descriptor": descriptor, "times": [], "launches": [], "nameless": not name}
        if name:
            self.record["configs"].append(self.config)


def expected_line(record, level):
    """A record of the model as the decoded line of a level, or None."""
    if level <= 2 and record["phase"] != "execution":
        return None
    name, solver_id, size = record["solver"]
    return {
        "solution": name,
        "solver_id": solver_id,
        "workspace_bytes": size,
        "phase": record["phase"],
        "performance_configs": [expected_config(name, config, level) for config in record["configs"]],
    }


def valid(given):
    return [t for t in given if 0 < t < float("inf")]


def expected_config(solver, config, level):
    flags_by_name = {}
    for name, _, flag in config["launches"]:
        flags_by_name.setdefault(name, name == "transpose" if flag is None else flag)
    main = [name for name, flag in flags_by_name.items() if name and not flag]
    printed = main[0] if main and main[0] != config["name"] else solver
    figures = miopen_statistics(config["times"])
    numbers = (figures.time_ms, figures.std_ms, figures.min_ms, figures.max_ms) if figures else (0, 0, 0, 0)
    mean, deviation, least, greatest = (float(format_g6(number)) for number in numbers)
    line = {
        "config_name": printed,
        "config_descriptor": config["descriptor"],
        "exec_number": 1 if figures else 0,
        "time_executions_ms": valid(config["times"]),
        "time_ms": mean,
        "time_std_ms": deviation,
        "time_min_ms": least,
        "time_max_ms": greatest,
        "number_of_transformations": sum(flags_by_name.values()),
        "kernels": None,
    }
    if not config["descriptor"]:
        del line["config_descriptor"]
    if level in (2, 4):
        line["kernels"] = [
            {
                "kernel_name": name,
                "time_executions_ms": valid([t for launched, t, _ in config["launches"] if launched == name]),
                "is_transformation": flags_by_name[name],
            }
            for name in sorted(flags_by_name)
        ]
    return line


class Levels(RuleBasedStateMachine):
    """Levels 1 to 6: the lines are those of an independent model, and those that `visible` makes of level 4's."""

    def __init__(self):
        super().__init__()
        self.workers = Workers()
        self.finished = []
        self.models = [Model(self.finished) for _ in range(THREADS)]
        self.scopes = [[] for _ in range(THREADS)]

    @initialize(level=st.integers(1, 6))
    def build(self, level):
        self.level = level
        self.sinks = (ListSink(), ListSink())
        self.loggers = (PerformanceLogger(level, self.sinks[0]), PerformanceLogger(4, self.sinks[1]))

    def call(self, thread, name, *args):
        for logger in self.loggers:
            self.workers.call(thread, getattr(logger, name), *args)

    def refused(self, thread, name, *args):
        for logger in self.loggers:
            with pytest.raises(LogOrderError):
                self.workers.call(thread, getattr(logger, name), *args)

    @rule(thread=threads, solver=solvers)
    def log_solution_name(self, thread, solver):
        self.call(thread, "log_solution_name", *solver)
        self.models[thread].name(*solver)

    @rule(thread=threads, name=names, descriptor=descriptors)
    def add_performance_config(self, thread, name, descriptor):
        if self.models[thread].solver is None:
            self.refused(thread, "add_performance_config", name, descriptor)
        else:
            self.call(thread, "add_performance_config", name, descriptor)
            self.models[thread].open_config(name, descriptor)

    @rule(thread=threads, given=time_lists)
    def add_invoker_times(self, thread, given):
        if self.models[thread].config is None:
            self.refused(thread, "add_invoker_times", given)
        else:
            self.call(thread, "add_invoker_times", given)
            self.models[thread].config["times"] = given

    @rule(thread=threads, name=kernels, time_ms=times, flag=flags)
    def add_kernel(self, thread, name, time_ms, flag):
        self.call(thread, "add_kernel", name, time_ms, flag)
        model = self.models[thread]
        if model.config is not None and model.record["phase"] == model.phase[-1]:
            model.config["launches"].append((name, time_ms, flag))

    @rule(thread=threads)
    def flush(self, thread):
        self.call(thread, "flush")
        self.models[thread].end_record()

    @rule(thread=threads, phase=recorded_phases)
    def enter_phase(self, thread, phase):
        self.enter(thread, "scoped_kernel_phase", phase)
        stack = self.models[thread].phase
        stack.append(phase.value)
        self.scopes[thread][-1].append(stack.pop)

    @rule(thread=threads)
    def enter_override(self, thread):
        self.enter(thread, "scoped_solver_name_override", "Wrapper", 9)
        stack = self.models[thread].credit
        stack.append(("Wrapper", 9))
        self.scopes[thread][-1].append(stack.pop)

    @rule(thread=threads, solver=solvers)
    def enter_solution(self, thread, solver):
        self.enter(thread, "solution", *solver)
        model = self.models[thread]
        model.end_record()
        before, model.solver = model.solver, None
        model.name(*solver)

        def end():
            model.end_record()
            model.solver = before

        self.scopes[thread][-1].append(end)

    def enter(self, thread, name, *args):
        scopes = [getattr(logger, name)(*args) for logger in self.loggers]
        for scope in scopes:
            self.workers.call(thread, scope.__enter__)
        self.scopes[thread].append([scopes])

    @rule(thread=threads, error=st.sampled_from([None, ValueError("the work failed")]))
    def leave_innermost(self, thread, error):
        if not self.scopes[thread]:
            return
        scopes, end = self.scopes[thread].pop()
        for scope in scopes:
            assert not self.workers.call(thread, scope.__exit__, error and type(error), error, None)
        end()

    @rule(thread=threads, seed=st.integers(0, 2**32 - 1))
    def write(self, thread, seed):
        self.call(thread, "write", PrngSeed(prng_seed=seed))
        self.finished.append(seed)

    @invariant()
    def lines_are_the_models(self):
        expected = [
            {"prng_seed": record} if isinstance(record, int) else expected_line(record, self.level)
            for record in self.finished
        ]
        assert [json.loads(line) for line in self.sinks[0].lines] == [line for line in expected if line is not None]

    @invariant()
    def lines_are_what_is_visible_of_level_4(self):
        shown = [visible(record, self.level) for record in self.sinks[1].records()[-2:]]
        lines = [f"{record.to_line()}\n" for record in shown if record is not None]
        assert self.sinks[0].lines[len(self.sinks[0].lines) - len(lines) :] == lines

    @invariant()
    def every_line_is_read_and_written_again(self):
        for line in self.sinks[0].lines[-2:]:
            assert line.isascii()
            assert f"{from_json(json.loads(line)).to_line()}\n" == line

    @invariant()
    def phases_are_the_models(self):
        for thread, model in enumerate(self.models):
            for logger in self.loggers:
                assert self.workers.call(thread, logger.kernel_phase).value == model.phase[-1]

    def teardown(self):
        self.workers.close()


TestLevels = Levels.TestCase
TestLevels.settings = MACHINE_SETTINGS
