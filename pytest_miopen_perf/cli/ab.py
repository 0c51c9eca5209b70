"""`miopen-perf ab`: two versions against each other, in interleaved processes of pytest."""

from __future__ import annotations

import secrets
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, INTERRUPTED, Subcommand
from pytest_miopen_perf.moments import now

if TYPE_CHECKING:
    import argparse

    from pytest_miopen_perf.ab.processes import PytestRounds
    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.gate.campaign import Campaign, CampaignRule

_SEEDS = 2**32


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--a", required=True, metavar="ARM", help="the version that ratios are against")
    parser.add_argument("--b", required=True, metavar="ARM", help="the version under test")
    parser.add_argument("--budget", metavar="TIME", help="time for all of it, such as 10m (default: what it takes)")
    parser.add_argument("--processes", type=int, metavar="N", help="rounds of processes at most (default: 24)")
    parser.add_argument("--margin", metavar="SHARE", help="the change that does not matter, such as 2%% (default: 1%%)")
    parser.add_argument("--blocks", type=int, default=6, metavar="N", help="blocks A B B A of a case (default: 6)")
    parser.add_argument("--launches", type=int, default=5, metavar="N", help="launches of one slot (default: 5)")
    parser.add_argument("--seed", type=int, metavar="N", help="of every order (default: drawn, and told)")
    parser.add_argument("--strict", action="store_true", help="exit code 1 also for what could not be decided")
    parser.add_argument("--keep", metavar="DIR", help="keep plans, results and output of every process there")
    parser.add_argument(
        "--baselines", default=".miopen-perf", metavar="DIR", help="where noise floors lie (default: .miopen-perf)"
    )
    parser.add_argument("arguments", nargs="*", metavar="PYTEST", help="what pytest is given, behind --")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.errors import InputError
    from pytest_miopen_perf.gate import why_unavailable

    if reason := why_unavailable():
        raise InputError(reason)
    if arguments.keep is None:
        with tempfile.TemporaryDirectory(prefix="miopen-perf-ab-") as scratch:
            return _compare(arguments, screen, Path(scratch))
    folder = Path(arguments.keep).absolute()
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"--keep names {folder}, which is there and not an empty folder; give another one")
    return _compare(arguments, screen, folder)


def _compare(arguments: argparse.Namespace, screen: Screen, scratch: Path) -> int:
    from pytest_miopen_perf.gate.campaign import run_campaign
    from pytest_miopen_perf.gate.suspects import suspect_lines
    from pytest_miopen_perf.report.verdict_table import verdict_lines

    rule = _rule(arguments)
    rounds, versus = _rounds(arguments, rule.seed, scratch)
    start = time.monotonic()
    screen.remark(f"seed {rule.seed}; {_how(rounds)}")

    def told(campaign: Campaign) -> None:
        of_budget = "" if rule.budget_seconds is None else f" of {rule.budget_seconds:.0f}"
        screen.remark(f"{campaign.progress}; {time.monotonic() - start:.0f}{of_budget} s")

    campaign = run_campaign(rule, rounds.measure, time.monotonic, told)
    report = campaign.report(versus)
    if arguments.json:
        screen.json(report.to_json(now()))
    else:
        screen.lines(verdict_lines(report, width=screen.width, has_colour=screen.has_colour))
        screen.paragraph(f"rounds   {len(campaign.rounds)}, ended by {campaign.ended_by}, seed {rule.seed}")
    for sentence in suspect_lines(campaign):
        screen.remark(sentence)
    for sentence in campaign.lost:
        screen.remark(f"lost {sentence}")
    if campaign.ended_by == "interrupted":
        return INTERRUPTED
    return FINDINGS if report.has_findings(is_strict=arguments.strict) else FINE


def _rule(arguments: argparse.Namespace) -> CampaignRule:
    from pytest_miopen_perf.errors import InputError
    from pytest_miopen_perf.gate.campaign import CampaignRule
    from pytest_miopen_perf.gate.margins import DEFAULT_MARGIN, parse_margin
    from pytest_miopen_perf.gate.store import known_floors
    from pytest_miopen_perf.options.values import parse_duration

    try:
        budget = None if arguments.budget is None else parse_duration(arguments.budget)
    except ValueError as error:
        raise InputError(f"--budget is {arguments.budget!r}: {error}") from error
    for name in ("processes", "blocks", "launches"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise InputError(f"--{name} is {value}; give a whole number of at least 1")
    floors = known_floors(Path(arguments.baselines))
    return CampaignRule(
        seed=secrets.randbelow(_SEEDS) if arguments.seed is None else arguments.seed,
        margin=DEFAULT_MARGIN if arguments.margin is None else parse_margin(arguments.margin),
        noise_floors={key: floor.paired for key, floor in floors.items()},
        most_rounds=arguments.processes,
        budget_seconds=budget,
    )


def _rounds(arguments: argparse.Namespace, seed: int, scratch: Path) -> tuple[PytestRounds, str]:
    """How a round is measured, and what arm A is for the reader."""
    from pytest_miopen_perf.ab.processes import PytestRounds
    from pytest_miopen_perf.ab.versions import versions_of
    from pytest_miopen_perf.gate.arms import parse_arm

    versions = versions_of(parse_arm(arguments.a), parse_arm(arguments.b), scratch / "kernels")
    rounds = PytestRounds(
        base=versions.base,
        new=versions.new,
        arguments=("-p", "no:cacheprovider", *arguments.arguments),
        seed=seed,
        scratch=scratch,
        kernels=versions.kernels,
        blocks=arguments.blocks,
        launches=arguments.launches,
    )
    return rounds, versions.sentence


def _how(rounds: PytestRounds) -> str:
    if rounds.kernels is not None:
        return "both versions run in one process, in blocks A B B A; a round is a fresh process"
    return "each version runs in a process of its own; a round is one process of each, in an order that is drawn"


SUBCOMMAND = Subcommand(
    name="ab",
    summary="two versions against each other, in interleaved processes of pytest",
    description="Runs the tests with two versions and judges the kernel times. An arm is shell words: NAME=VALUE sets "
    "a variable, python=PATH takes another interpreter, kernels=FOLDER|REVISION another text of the kernels, and a "
    "word that begins with - is an option of pytest; {process} stands for the number of the process. Arms that differ "
    "in their kernels alone run in one process, in blocks A B B A. Each process measures every undecided case, in an "
    "order that is drawn; what looks slower is confirmed by fresh processes before it is called so. Ctrl-C keeps what "
    "was measured.",
    examples=(
        ("miopen-perf ab --a kernels=main --b kernels=. --budget 10m -- tests/perf", "the working tree against main"),
        ("miopen-perf ab --a MIOPEN_FIND_MODE=1 --b MIOPEN_FIND_MODE=2 -- tests/perf -k resnet", "two environments"),
    ),
    findings="regressions, disturbed cases, or cases without a result",
    add_arguments=_add_arguments,
    run=_run,
)
