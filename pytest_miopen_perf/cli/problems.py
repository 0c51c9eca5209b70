"""`miopen-perf problems`: what convolutions a workload asks for, and what they take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from pytest_miopen_perf.cli.named_problems import NamedProblems
    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.measuring.memory import MemoryEstimate
    from pytest_miopen_perf.problem import ConvProblem

_FORMS = ("table", "lines", "find-db", "perf-db")


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_miopen_perf.cli.named_problems import HELP

    parser.add_argument("problems", nargs="*", metavar="PROBLEMS", help=f"{HELP}; none lists the bundled workloads")
    parser.add_argument(
        "--print",
        dest="form",
        choices=_FORMS,
        default="table",
        help="what to write of each problem: a row of a table, its MIOpenDriver line, or a key (default: table)",
    )


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    if not arguments.problems:
        _list_bundled(screen, as_json=arguments.json)
        return FINE
    from pytest_miopen_perf.cli.named_problems import named_problems

    found = named_problems(arguments.problems)
    if arguments.json:
        screen.json(_json(found))
    elif arguments.form == "table":
        _table(found, screen)
    else:
        _texts(found, _TEXTS[arguments.form], screen)
    if not arguments.json:
        for line in found.skipped:
            screen.remark(f"{line.source}:{line.line_number}: skipped: {line.reason}")
    return FINDINGS if found.skipped else FINE


_TEXTS: dict[str, Callable[[ConvProblem], str]] = {
    "lines": lambda problem: problem.to_driver(),
    "find-db": lambda problem: problem.find_db_key(),
    "perf-db": lambda problem: problem.perf_db_key(),
}


def _texts(found: NamedProblems, text: Callable[[ConvProblem], str], screen: Screen) -> None:
    """One text a problem; several problems can share a perf-db key, which is written once."""
    from pytest_miopen_perf.errors import ProblemError

    texts: dict[str, None] = {}
    for problem in found.counts:
        try:
            texts[text(problem)] = None
        except ProblemError as error:
            screen.remark(f"{problem} has no key: {error}")
    screen.lines(texts)


def _table(found: NamedProblems, screen: Screen) -> None:
    from pytest_miopen_perf.measuring.memory import byte_size
    from pytest_miopen_perf.report.text_table import Column
    from pytest_miopen_perf.report.units import rate

    columns = (
        Column("problem", folds=True),
        Column("times", "right"),
        Column("GFLOP", "right"),
        Column("device", "right"),
        Column("host", "right"),
    )
    rows = []
    for problem, count in found.counts.items():
        memory = _memory(problem)
        sizes = (
            ("computes", "nothing")
            if memory is None
            else (byte_size(memory.device_bytes), byte_size(memory.host_bytes))
        )
        rows.append((str(problem), str(count), rate(problem.flops / 1e9), *sizes))
    screen.table(columns, rows)
    screen.line()
    screen.line(_footer(found))


def _footer(found: NamedProblems) -> str:
    from pytest_miopen_perf.measuring.memory import byte_size

    asked = sum(found.counts.values())
    largest = max((memory.device_bytes for problem in found.counts if (memory := _memory(problem))), default=0)
    flops = sum(problem.flops for problem in found.counts)
    skipped = f", {counted(len(found.skipped), 'line')} skipped" if found.skipped else ""
    return (
        f"{counted(len(found.counts), 'problem')}, asked for {counted(asked, 'time')}{skipped}; "
        f"{flops / 1e9:.4g} GFLOP in all, {byte_size(largest)} at most"
    )


def _json(found: NamedProblems) -> dict[str, Any]:
    return {
        "problems": [_problem_json(problem, count) for problem, count in found.counts.items()],
        "skipped": [line._asdict() for line in found.skipped],
    }


def _problem_json(problem: ConvProblem, count: int) -> dict[str, Any]:
    memory = _memory(problem)
    return {
        "name": str(problem),
        "driver": problem.to_driver(),
        "direction": problem.direction.value,
        "times": count,
        "flops": problem.flops,
        "bytes_read": problem.bytes_read,
        "bytes_written": problem.bytes_written,
        "device_bytes": memory and memory.device_bytes,
        "host_bytes": memory and memory.host_bytes,
        "empty_reason": problem.empty_reason,
        "find_db_key": _key_or_none(problem.find_db_key),
        "perf_db_key": _key_or_none(problem.perf_db_key),
    }


def _key_or_none(key: Callable[[], str]) -> str | None:
    from pytest_miopen_perf.errors import ProblemError

    try:
        return key()
    except ProblemError:
        return None


def _memory(problem: ConvProblem) -> MemoryEstimate | None:
    """What it takes without a workspace; None of a problem that computes nothing."""
    from pytest_miopen_perf.measuring.memory import estimate_memory

    return None if problem.is_empty else estimate_memory(problem.canonical(), 0)


def _list_bundled(screen: Screen, *, as_json: bool) -> None:
    from pytest_miopen_perf.problems import workload
    from pytest_miopen_perf.report.text_table import Column

    lists = {name: workload.read_workload(workload.bundled_path(name)) for name in workload.bundled()}
    counts = {name: len(workload.distinct(found.problems)) for name, found in lists.items()}
    if as_json:
        screen.json({"bundled": counts})
    else:
        screen.table(
            (Column("bundled workload"), Column("problems", "right")), ((n, str(c)) for n, c in counts.items())
        )


SUBCOMMAND = Subcommand(
    name="problems",
    summary="convolutions of a workload: sizes, memory, keys",
    description="Reads MIOpenDriver lines wherever they stand (files of lines, scripts, library logs made with "
    "MIOPEN_ENABLE_LOGGING_CMD, JSON logs), names each convolution once, and tells the floating-point operations, the "
    "memory of its tensors on the device and of reference and check on the host.",
    examples=(
        ("miopen-perf problems resnet50.txt", "one row a problem"),
        ("grep LogCmd app.log | miopen-perf problems - --print lines", "the distinct commands of a library log"),
        ('miopen-perf problems "MIOpenDriver convfp16 -n 8 -F 1" --print find-db', "the find-db key of a command"),
        ("miopen-perf problems 64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F --print lines", "and back"),
    ),
    findings="lines were skipped, each with its reason",
    add_arguments=_add_arguments,
    run=_run,
)
