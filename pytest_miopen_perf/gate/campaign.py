"""The loop of a paired comparison: ask for a round, add what it says, until all is decided or the time is used up.

Nothing here starts a process: how a round is measured is given, so that a round may also come from a simulation.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from pytest_miopen_perf.errors import ArmError
from pytest_miopen_perf.gate.decision import Evidence, GateRule, Stage, next_stage, shown_estimate
from pytest_miopen_perf.gate.margins import DEFAULT_MARGIN, effective_margin
from pytest_miopen_perf.gate.paired import PairedCase, paired_report
from pytest_miopen_perf.gate.phases import CaseRule
from pytest_miopen_perf.gate.plan import PairedPlan, first_process, next_process, with_process

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_miopen_perf.gate.baseline import EntryKey
    from pytest_miopen_perf.gate.estimators import Estimate
    from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
    from pytest_miopen_perf.gate.phases import PhaseValues
    from pytest_miopen_perf.gate.plan import ProcessPlan
    from pytest_miopen_perf.gate.report import VerdictReport
    from pytest_miopen_perf.gate.what_changed import Execution


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one round says of one case.

    Attributes:
        key: The case.
        device: What arm B ran on.
        nodeid: The test that ran it.
        log_ratio: Of B over A; None when a side has no valid time.
        base: What ran in arm A.
        new: What ran in arm B.
        base_seconds: Median time of arm A.
        new_seconds: Median time of arm B.
        rule: What the test asks of the gate.
        base_phases: What arm A took beside the time.
        new_phases: What arm B took beside it.
        record_seconds: Where the arms are two levels of the log: what a record takes of the host.
        disturbed: Why its times say nothing; "" where nothing disturbed them.
    """

    key: CaseKey
    device: Fingerprint
    nodeid: str
    log_ratio: float | None
    base: Execution
    new: Execution
    base_seconds: float
    new_seconds: float
    rule: CaseRule = field(default_factory=CaseRule)
    base_phases: PhaseValues = field(default_factory=dict)
    new_phases: PhaseValues = field(default_factory=dict)
    record_seconds: float | None = None
    disturbed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """What one round says.

    Attributes:
        cases: By the sentence of their keys.
        failures: Cases that came to no time in an arm, by problem: why.
        lost: Why it says nothing at all, as when a process of it has died; "" when it says something.
    """

    cases: Mapping[str, Measured]
    failures: Mapping[str, str] = field(default_factory=dict)
    lost: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One round to measure.

    Attributes:
        process: Number, arm that starts, and the cases in run order with their blocks; no cases: all there are.
        nodeids: The tests of these cases in that order.
    """

    process: ProcessPlan
    nodeids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignRule:
    """How a comparison is run.

    Attributes:
        seed: Of every order.
        rule: When to look, and what counts as proof.
        margin: For cases that have none of their own.
        noise_floors: What identical code differs by in a paired comparison, by case and device.
        most_rounds: Rounds at most; None is as many as the rule asks for.
        budget_seconds: Time for all rounds; None is as long as the rule asks for.
    """

    seed: int
    rule: GateRule = field(default_factory=GateRule)
    margin: float = DEFAULT_MARGIN
    noise_floors: Mapping[EntryKey, float] = field(default_factory=dict)
    most_rounds: int | None = None
    budget_seconds: float | None = None

    def margin_of(self, measured: Measured) -> float:
        """The margin of a case, its noise floor included."""
        floor = self.noise_floors.get((measured.key, measured.device))
        return effective_margin(measured.rule.margin or self.margin, floor)


@dataclass(slots=True, kw_only=True)
class Campaign:
    """A comparison as far as it has come.

    Attributes:
        rule: How it is run.
        rounds: What was measured, in order, with the plan that it was measured by.
        suite: The evidence on each case.
        failures: Cases that came to no time, by problem: why.
        seconds: What each round took.
        ended_by: "decided", "budget", "rounds" or "interrupted"; "" while it runs.
    """

    rule: CampaignRule
    rounds: list[tuple[ProcessPlan, Round]] = field(default_factory=list)
    suite: dict[str, Evidence] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    ended_by: str = ""

    def next_request(self) -> Request | None:
        """What is to be measured next; None when every case is decided."""
        index = len(self.rounds)
        if not index:
            return Request(process=first_process(self.rule.seed), nodeids=())
        if not self.suite:
            return None
        # Rounds are counted as they come, whatever is in them; time is short, and a suspect is worth more of it.
        order: Literal["together", "suspects"] = "together" if self.rule.budget_seconds is None else "suspects"
        plan = PairedPlan(cases=tuple(self.suite), seed=self.rule.seed, rule=self.rule.rule, order=order)
        process = next_process(plan, self.suite, index)
        if process is None:
            return None
        nodeids = dict.fromkeys(self.measured(case.case)[-1].nodeid for case in process.cases)
        return Request(process=process, nodeids=tuple(nodeids))

    def add(self, process: ProcessPlan, found: Round) -> None:
        """Take what a round says; a case that failed is out, one that the round did not ask for is not evidence."""
        self.rounds.append((process, found))
        stages = {case.case: case.stage for case in process.cases}
        for sentence, measured in found.cases.items():
            if not process.cases:
                self.suite[sentence] = Evidence(margin=self.rule.margin_of(measured))
            stage = stages.get(sentence, None if process.cases else Stage.SCREENING)
            if stage is not None:
                why = measured.disturbed or self._why_elsewhere(measured)
                self.suite[sentence] = with_process(self.suite[sentence], stage, measured.log_ratio, why)
        for sentence in stages.keys() - found.cases.keys():
            why = found.lost or "it did not run"
            self.suite[sentence] = with_process(self.suite[sentence], stages[sentence], None, why)
        self.failures |= found.failures

    def _why_elsewhere(self, measured: Measured) -> str:
        """Why a process is not one of the others: it ran on another kind of device; "" when it did not."""
        first = self.measured(measured.key.sentence)[0].device
        changes = first.hardware_differences(measured.device)
        return f"another device: {', '.join(changes)}" if changes else ""

    def open_cases(self, stage: Stage) -> list[str]:
        """The cases that need more of a stage."""
        size = len(self.suite)
        return [name for name, evidence in self.suite.items() if next_stage(evidence, self.rule.rule, size) is stage]

    def expected_seconds(self, request: Request) -> float:
        """What a round will take: as long as the last one, and longer where it has more cases."""
        if not self.rounds:
            return 0.0
        process, found = self.rounds[-1]
        before = len(process.cases) or len(found.cases)
        return self.seconds[-1] * max(1.0, len(request.process.cases) / max(1, before))

    @property
    def lost(self) -> tuple[str, ...]:
        """What is to be said of rounds that say nothing."""
        return tuple(f"round {number}: {found.lost}" for number, (_, found) in enumerate(self.rounds, 1) if found.lost)

    def report(self, versus: str) -> VerdictReport:
        """The verdicts with the evidence there is."""
        report = paired_report([self._case(sentence) for sentence in self.suite], self.rule.rule, versus=versus)
        return replace(report, unmeasured=tuple(f"{name}: {why}" for name, why in self.failures.items()))

    @property
    def progress(self) -> str:
        """How far it has come, on one line."""
        suspects = len(self.open_cases(Stage.CONFIRMATION))
        undecided = len(self.open_cases(Stage.SCREENING)) + suspects
        return f"round {len(self.rounds)}: {undecided} of {len(self.suite)} cases undecided, {suspects} of them suspect"

    def measured(self, sentence: str) -> list[Measured]:
        """What each round says of a case, in order."""
        return [found.cases[sentence] for _, found in self.rounds if sentence in found.cases]

    def _case(self, sentence: str) -> PairedCase:
        measured = self.measured(sentence)
        shown = _nearest(measured, shown_estimate(self.suite[sentence]))
        return PairedCase(
            key=measured[-1].key,
            evidence=self.suite[sentence],
            base=measured[-1].base,
            new=measured[-1].new,
            base_seconds=shown.base_seconds,
            new_seconds=shown.new_seconds,
            rules=measured[-1].rule.phases,
            phases=[(one.base_phases, one.new_phases) for one in measured],
            record_seconds=[one.record_seconds for one in measured if one.record_seconds is not None],
        )


def _nearest(measured: Sequence[Measured], estimate: Estimate | None) -> Measured:
    """The round whose ratio is nearest to the estimate: its times are a pair, as those of different rounds are not."""
    told = [(one.log_ratio, one) for one in measured if one.log_ratio is not None]
    if estimate is None or not told:
        return measured[-1]
    return min(told, key=lambda pair: abs(pair[0] - estimate.log_ratio))[1]


def run_campaign(
    rule: CampaignRule,
    measure: Callable[[Request], Round],
    clock: Callable[[], float],
    report: Callable[[Campaign], None],
) -> Campaign:
    """Measure round after round; an interrupt ends it and keeps what there is, and a process that dies costs a round.

    Args:
        rule: How.
        measure: Measures one round.
        clock: Seconds.
        report: Told after each round.

    Raises:
        ArmError: the first round came to nothing, so that nobody knows the cases.
    """
    campaign = Campaign(rule=rule)
    start = began = clock()
    try:
        while True:
            request = campaign.next_request()
            if request is None:
                ended_by = "decided"
                break
            ended_by = _why_stop(campaign, request, began - start)
            if ended_by:
                break
            found = _measured(measure, request, is_first=not campaign.rounds)
            began, before = clock(), began
            campaign.seconds.append(began - before)
            campaign.add(request.process, found)
            report(campaign)
    except KeyboardInterrupt:
        ended_by = "interrupted"
    campaign.ended_by = ended_by
    return campaign


def _measured(measure: Callable[[Request], Round], request: Request, *, is_first: bool) -> Round:
    try:
        return measure(request)
    except ArmError as error:
        if is_first:
            raise
        return Round(cases={}, lost=str(error).splitlines()[0].rstrip(":"))


def _why_stop(campaign: Campaign, request: Request, spent_seconds: float) -> str:
    """What ends it before all is decided; a round that would overrun the budget is not begun."""
    rule, done = campaign.rule, len(campaign.rounds)
    if rule.most_rounds is not None and done >= rule.most_rounds:
        return "rounds"
    if rule.budget_seconds is None or not done:
        return ""
    return "budget" if spent_seconds + campaign.expected_seconds(request) > rule.budget_seconds else ""
