"""`miopen-perf doctor`: what is set, what it does, and whether a measurement can be trusted."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand
from pytest_miopen_perf.severity import WORST_FIRST, Severity

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.doctor.findings import Finding

_COLOURS = {"error": "\x1b[31;1m", "warning": "\x1b[33m", "info": ""}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "settings",
        nargs="*",
        metavar="NAME=VALUE",
        help="explain these instead of the variables that are set; a NAME alone takes the value that it has",
    )


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    import os

    from pytest_miopen_perf.doctor.diagnosis import diagnose
    from pytest_miopen_perf.doctor.installation import examine
    from pytest_miopen_perf.doctor.redaction import Redaction
    from pytest_miopen_perf.environment import versions

    redaction = Redaction.of_this_process()
    variables = _given(arguments.settings, os.environ) if arguments.settings else os.environ
    found = [redaction.finding(finding) for finding in diagnose(variables)]
    installation = [] if arguments.settings else [redaction.finding(finding) for finding in examine()]
    if arguments.json:
        screen.json(
            {
                "versions": versions(),
                "variables": [finding.to_json() for finding in found],
                "installation": [finding.to_json() for finding in installation],
            }
        )
    else:
        _write(found, "variables", "no variable is set that concerns MIOpen, HIP, ROCm or CUDA", screen)
        if not arguments.settings:
            screen.line()
            _write(installation, "installation", "", screen)
            screen.line()
            screen.paragraph(", ".join(f"{name} {version}" for name, version in versions().items()))
    return FINDINGS if any(finding.severity is not Severity.INFO for finding in (*found, *installation)) else FINE


def _given(settings: Sequence[str], environment: Mapping[str, str]) -> dict[str, str]:
    from pytest_miopen_perf.environment import PREFIXES
    from pytest_miopen_perf.errors import InputError

    given: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not name.startswith(PREFIXES):
            raise InputError(f"{name!r} is no variable that is looked at; their names begin with {', '.join(PREFIXES)}")
        if not equals and name not in environment:
            raise InputError(f"{name} is not set; give a value: {name}=...")
        given[name] = value if equals else environment[name]
    return given


def _write(findings: Sequence[Finding], heading: str, nothing: str, screen: Screen) -> None:
    if not findings:
        screen.line(nothing)
        return
    counts = Counter(finding.severity for finding in findings)
    screen.line(f"{heading}: " + ", ".join(one.counted(counts[one]) for one in WORST_FIRST if counts[one]))
    for finding in findings:
        _write_one(finding, screen)


def _write_one(finding: Finding, screen: Screen) -> None:
    word = finding.severity.value
    colour = _COLOURS[word] if screen.has_colour else ""
    value = f"={finding.value}" if finding.value and ", " not in finding.variable else ""
    head = f"{finding.variable}{value}"
    effective = f"  -> {finding.effective}" if finding.effective and finding.effective != finding.value else ""
    screen.line(f"{colour}{word:<7}{colour and chr(27) + '[0m'} {head}{effective}")
    screen.paragraph(finding.sentence, indent="        ")
    if finding.advice:
        screen.paragraph(finding.advice, indent="        ")


SUBCOMMAND = Subcommand(
    name="doctor",
    summary="explain the environment, and whether a measurement can be trusted",
    description="Explains every set variable of MIOpen, HIP, the ROCm runtime, rocBLAS and CUDA: what it does and what "
    "MIOpen really reads in its text. Warns of values that are misread, of combinations that are unsafe, and of "
    "whatever spoils a benchmark; then looks at this installation. Names of people and machines are left out.",
    examples=(
        ("miopen-perf doctor", "the environment as it is"),
        ("miopen-perf doctor MIOPEN_FIND_MODE=FAST MIOPEN_FIND_ENFORCE=3", "what these two would do"),
        ("miopen-perf doctor --json > environment.json", "to be kept with a result"),
    ),
    findings="warnings or errors",
    add_arguments=_add_arguments,
    run=_run,
)
