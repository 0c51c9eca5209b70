"""How often the gate is wrong, measured on synthetic machines: `python -m pytest_miopen_perf.gate.simulate`."""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from pytest_miopen_perf.gate.decision import Evidence, GateRule, Stage, judge_suite, next_stage
from pytest_miopen_perf.gate.margins import DEFAULT_MARGIN
from pytest_miopen_perf.gate.noise_model import SCENARIOS, Scenario, measure_paired
from pytest_miopen_perf.gate.rival_rules import RIVALS, rival_share
from pytest_miopen_perf.gate.verdict import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

Units: TypeAlias = "Callable[[int], NDArray[np.float64]]"
"""Log ratios of that many cases, each of as many processes as a stage can have."""

_CHUNK = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """What came of many trials.

    Attributes:
        trials: How many.
        red: How many were called a regression.
        passed: How many passed or improved.
        processes: Processes that they took, all together.
    """

    trials: int
    red: int
    passed: int
    processes: int

    @property
    def red_share(self) -> float:
        """The share of regressions."""
        return self.red / self.trials


def simulate_gate(
    scenario: Scenario,
    change: float,
    *,
    trials: int,
    suite_size: int,
    rule: GateRule,
    seed: int,
    margin: float = DEFAULT_MARGIN,
) -> Tally:
    """Judge many cases of one true change, each alone among cases of its suite that never changed.

    A lone regression is the hardest one to keep through Benjamini and Hochberg.
    """
    rng = np.random.default_rng(seed)

    def units(cases: int) -> NDArray[np.float64]:
        effects = np.full(cases, math.log1p(change))
        return measure_paired(scenario, effects, rng, processes=rule.looks[-1]).process_log_ratios()

    red = passed = processes = 0
    for start in range(0, trials, _CHUNK):
        for evidence in _gather(units, min(_CHUNK, trials - start), margin, rule, suite_size):
            decision = judge_suite({"case": evidence}, rule, suite_size)["case"]
            red += decision.verdict is Verdict.REGRESSION
            passed += decision.verdict in (Verdict.PASS, Verdict.IMPROVED)
            processes += len(evidence.screening) + len(evidence.confirmation)
    return Tally(trials=trials, red=red, passed=passed, processes=processes)


def _gather(units: Units, cases: int, margin: float, rule: GateRule, suite_size: int) -> list[Evidence]:
    """Evidence as the gate asks for it, look by look; only suspects are measured afresh."""
    gathered = [_screened(row, margin, rule, suite_size) for row in units(cases)]
    suspects = [i for i, e in enumerate(gathered) if next_stage(e, rule, suite_size) is Stage.CONFIRMATION]
    for i, row in zip(suspects, units(len(suspects)), strict=True):
        gathered[i] = _confirmed(gathered[i], row, rule, suite_size)
    return gathered


def _screened(log_ratios: NDArray[np.float64], margin: float, rule: GateRule, suite_size: int) -> Evidence:
    values = log_ratios.tolist()
    for look in rule.looks:
        evidence = Evidence(margin=margin, screening=tuple(values[:look]))
        if next_stage(evidence, rule, suite_size) is not Stage.SCREENING:
            break
    return evidence


def _confirmed(evidence: Evidence, log_ratios: NDArray[np.float64], rule: GateRule, suite_size: int) -> Evidence:
    values = log_ratios.tolist()
    for look in rule.looks:
        evidence = replace(evidence, confirmation=tuple(values[:look]))
        if next_stage(evidence, rule, suite_size) is Stage.DECIDED:
            break
    return evidence


# --- The table --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """How many trials each figure of the table is drawn from."""

    unchanged: int = 3000
    at_margin: int = 2000
    two_percent: int = 2000
    five_percent: int = 1000
    rivals: int = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of one scenario; a suite has 300 kernels, the margin is 1 %.

    Attributes:
        scenario: Its name.
        unchanged: Identical code.
        at_margin: Slower by exactly the margin, in a suite of one: the hardest null that there is.
        two_percent: Slower by 2 %, alone in its suite.
        five_percent: Slower by 5 %, alone in its suite.
        rivals: What other rules say, by their name: the share of red at no change, at +2 % and at +5 %.
    """

    scenario: str
    unchanged: Tally
    at_margin: Tally
    two_percent: Tally
    five_percent: Tally
    rivals: Mapping[str, tuple[float, ...]]

    @property
    def suite_alarm_share(self) -> float:
        """The chance that a suite of 300 unchanged kernels shows a regression."""
        return 1 - (1 - self.unchanged.red_share) ** SUITE_SIZE


SUITE_SIZE = 300


def figures_of(scenario: Scenario, trials: Trials, *, seed: int, rule: GateRule | None = None) -> Figures:
    """Measure the figures of one scenario."""
    used = rule or GateRule()

    def tally(change: float, count: int, suite_size: int) -> Tally:
        return simulate_gate(scenario, change, trials=count, suite_size=suite_size, rule=used, seed=seed)

    return Figures(
        scenario=scenario.name,
        unchanged=tally(0.0, trials.unchanged, 1),
        at_margin=tally(DEFAULT_MARGIN, trials.at_margin, 1),
        two_percent=tally(0.02, trials.two_percent, SUITE_SIZE),
        five_percent=tally(0.05, trials.five_percent, SUITE_SIZE),
        rivals={
            name: tuple(
                rival_share(name, scenario, change, trials=trials.rivals, seed=seed) for change in (0, 0.02, 0.05)
            )
            for name in RIVALS
        },
    )


def table_lines(rows: Sequence[Figures]) -> list[str]:
    """The table: the share of red verdicts, and the processes that a case took on average."""
    heading = f"{'scenario':<18}{'A/A':>8}{'suite':>8}{'margin':>9}{'+2 %':>8}{'+5 %':>8}   processes A/A, +2 %, +5 %"
    lines = [heading]
    for row in rows:
        tallies = (row.unchanged, row.two_percent, row.five_percent)
        processes = ", ".join(f"{tally.processes / tally.trials:.1f}" for tally in tallies)
        lines.append(
            f"{row.scenario:<18}{row.unchanged.red_share:>8.3%}{row.suite_alarm_share:>8.2%}"
            f"{row.at_margin.red_share:>9.2%}{row.two_percent.red_share:>8.2%}{row.five_percent.red_share:>8.2%}"
            f"   {processes}"
        )
    return [*lines, "", *_rival_lines(rows)]


def _rival_lines(rows: Sequence[Figures]) -> list[str]:
    """Other rules on the same times: A/A, +2 %, +5 % in percent."""
    width = max(map(len, RIVALS)) + 2
    lines = [f"{'A/A / +2 % / +5 %':<{width}}" + "".join(f"{row.scenario:>18}" for row in rows)]
    for name in RIVALS:
        cells = ("/".join(f"{share:.0%}"[:-1] for share in row.rivals[name]) for row in rows)
        lines.append(f"{name:<{width}}" + "".join(f"{cell:>18}" for cell in cells))
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; more trials make it sharper."""
    parser = argparse.ArgumentParser(description="How often the gate is wrong, on synthetic machines.")
    parser.add_argument("--scale", type=float, default=1.0, help="times as many trials (default: 1)")
    parser.add_argument("--seed", type=int, default=1, help="of all noise (default: 1)")
    given = parser.parse_args(arguments)
    trials = Trials(**{name: max(1, round(count * given.scale)) for name, count in asdict(Trials()).items()})
    rows = [figures_of(scenario, trials, seed=given.seed) for scenario in SCENARIOS]
    sys.stdout.write("\n".join(table_lines(rows)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
