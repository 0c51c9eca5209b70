"""`miopen-perf compare`: two logs, results files or baselines, judged by the gate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand

if TYPE_CHECKING:
    import argparse

    from pytest_miopen_perf.cli.measurements import Measurements
    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.gate.baseline import Baseline, Run


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="a baseline, a results file or a performance log; - is stdin")
    parser.add_argument("new", metavar="NEW", help="a results file or a performance log")
    parser.add_argument("--margin", metavar="SHARE", help="the change that does not matter, such as 2%% (default: 1%%)")
    parser.add_argument(
        "--gate",
        metavar="WHAT",
        help="what is judged: some of time, compile, tuning, first-launch, workspace, accuracy (default: time)",
    )
    parser.add_argument(
        "--strict", action="store_true", help="exit code 1 also for what could not be judged or has vanished"
    )


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.cli.inputs import check_stdin_once, shown
    from pytest_miopen_perf.cli.measurements import read_measurements
    from pytest_miopen_perf.errors import InputError
    from pytest_miopen_perf.gate import why_unavailable

    check_stdin_once([arguments.old, arguments.new])
    if reason := why_unavailable():
        raise InputError(reason)
    from pytest_miopen_perf.gate.compare import UnpairedRule, compare
    from pytest_miopen_perf.gate.margins import DEFAULT_MARGIN, parse_margin
    from pytest_miopen_perf.gate.phases import TIME_ALONE, parse_phases
    from pytest_miopen_perf.gate.pooling import pooled_sentence

    phases = TIME_ALONE if arguments.gate is None else parse_phases(arguments.gate)
    margin = DEFAULT_MARGIN if arguments.margin is None else parse_margin(arguments.margin)
    baseline, remarks = _baseline(arguments.old)
    new = read_measurements(arguments.new)
    run = _as_run(new)
    rule = UnpairedRule(margin=margin, phases=phases)
    report = compare(baseline, run, name=shown(arguments.old), rule=rule)
    if arguments.json:
        screen.json(report.to_json(new.ended))
    else:
        from pytest_miopen_perf.report.verdict_table import verdict_lines

        screen.lines(verdict_lines(report, width=screen.width, has_colour=screen.has_colour))
    for remark in (*remarks, *new.remarks, pooled_sentence(run, shown(arguments.new))):
        if remark:
            screen.remark(remark)
    return FINDINGS if report.has_findings(is_strict=arguments.strict) else FINE


def _baseline(name: str) -> tuple[Baseline, tuple[str, ...]]:
    """The old side, whatever file it is, and what of it could not be read."""
    from pytest_miopen_perf.cli.documents import BASELINE, Document, document_or_log
    from pytest_miopen_perf.cli.inputs import opened, shown
    from pytest_miopen_perf.cli.measurements import of_document, of_log
    from pytest_miopen_perf.gate.baseline import baseline_of
    from pytest_miopen_perf.gate.baseline_file import parse_baseline
    from pytest_miopen_perf.gate.pooling import pooled_sentence

    with opened(name) as file:
        found = document_or_log(file, shown(name))
        if isinstance(found, Document) and found.format == BASELINE:
            return parse_baseline(found.text, shown(name)), ()
        old = of_document(found, shown(name)) if isinstance(found, Document) else of_log(found, name)
    run = _as_run(old, only_passed=True)
    return baseline_of(run), (*old.remarks, pooled_sentence(run, shown(name)))


def _as_run(found: Measurements, *, only_passed: bool = False) -> Run:
    """A session for the gate; of an old one what failed has no time to compare with."""
    from pytest_miopen_perf.gate.baseline import Run

    processes = found.processes
    if only_passed:
        processes = tuple(tuple(case for case in process if case.outcome == "passed") for process in processes)
    return Run(processes=processes, ended=found.ended, environment=tuple(sorted(found.environment.items())))


SUBCOMMAND = Subcommand(
    name="compare",
    summary="two logs, results files or baselines, judged by the gate",
    description="Judges the kernel times of NEW against OLD: a change counts where it is beyond the margin and beyond "
    "what the noise explains. The comparison is unpaired, the weak one. In a log of MIOpenDriver every command is a "
    "process: with five runs of a command on each side their spread speaks, with fewer the margin has to cover what "
    "sessions are off by.",
    examples=(
        ("miopen-perf compare old.log new.log --margin 2%", "two logs of MIOpenDriver"),
        ("miopen-perf compare main.json branch.json --strict --json", "two results files, for a program"),
    ),
    findings="regressions, wrong numbers, or cases without a result",
    add_arguments=_add_arguments,
    run=_run,
)
