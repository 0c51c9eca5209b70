"""The loop of a comparison, on rounds that are drawn instead of measured."""

import math
import random
from dataclasses import replace

import pytest

from pytest_miopen_perf.errors import ArmError
from pytest_miopen_perf.gate.campaign import CampaignRule, Measured, Round, run_campaign
from pytest_miopen_perf.gate.decision import GateRule, Stage
from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.gate.phases import CaseRule
from pytest_miopen_perf.gate.verdict import Verdict
from pytest_miopen_perf.gate.what_changed import Execution

DEVICE = Fingerprint(backend="b", arch="a", name="n", compute_units=1, driver="", runtime="", compiler="c")


def key(channels):
    line = f"conv -n 1 -c {channels} -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1"
    return CaseKey(problem=line, policy="p", cache_mode="warm", data="d")


class Machine:
    """Measures rounds: each case has a true change; remembers what was asked for."""

    def __init__(self, changes, noise=0.003, failing=(), margins=None):
        self.margins = {key(channels): margin for channels, margin in (margins or {}).items()}
        self.changes = {key(channels): change for channels, change in changes.items()}
        self.noise = noise
        self.failing = failing
        self.requests = []
        self.clock = 0.0

    def measure(self, request):
        self.requests.append(request)
        self.clock += 10.0
        chance = random.Random(f"{request.process.index}")
        asked = {case.case for case in request.process.cases}
        wanted = [case for case in self.changes if not asked or case.sentence in asked]
        cases = {
            case.sentence: Measured(
                key=case,
                device=DEVICE,
                nodeid=f"test[{case.problem}]",
                log_ratio=math.log1p(self.changes[case]) + chance.gauss(0, self.noise),
                base=Execution(solver="s", config=""),
                new=Execution(solver="s", config=""),
                base_seconds=1e-3,
                new_seconds=1e-3 * (1 + self.changes[case]),
                rule=CaseRule(margin=self.margins.get(case)),
            )
            for case in wanted
            if (case, request.process.index) not in self.failing
        }
        return Round(cases=cases)

    def compare(self, **rule):
        told = []
        rules = CampaignRule(**{"seed": 1} | rule)
        campaign = run_campaign(rules, self.measure, lambda: self.clock, told.append)
        assert len(told) == len(campaign.rounds)
        return campaign

    def verdicts(self, **rule):
        rows = self.compare(**rule).report("A").rows
        return {row.key: row.verdict for row in rows}


def test_each_case_gets_its_verdict_and_red_is_confirmed_afresh():
    machine = Machine({4: 0.0, 8: 0.03, 12: -0.04})
    verdicts = machine.verdicts()
    assert verdicts == {key(4): Verdict.PASS, key(8): Verdict.REGRESSION, key(12): Verdict.IMPROVED}
    stages = [case.stage for request in machine.requests for case in request.process.cases]
    assert Stage.CONFIRMATION in stages


def test_decided_cases_are_not_measured_again_and_only_their_tests_run():
    machine = Machine({4: 0.0, 8: 0.0095})
    machine.compare()
    last = machine.requests[-1]
    assert [case.case for case in last.process.cases] == [key(8).sentence]
    assert last.nodeids == (f"test[{key(8).problem}]",)
    assert machine.requests[0].nodeids == ()


def test_the_same_seed_asks_for_the_same_rounds():
    first, again, other = (Machine({4: 0.01, 8: 0.01, 12: 0.01, 16: 0.01}) for _ in range(3))
    first.compare()
    again.compare()
    other.compare(seed=2)
    assert [r.process for r in first.requests] == [r.process for r in again.requests]
    assert [r.process for r in first.requests] != [r.process for r in other.requests]


def test_a_budget_ends_it_undecided():
    machine = Machine({4: 0.01})
    campaign = machine.compare(budget_seconds=35)
    assert (campaign.ended_by, len(campaign.rounds)) == ("budget", 3)
    assert campaign.report("A").counts[Verdict.INCONCLUSIVE] == 1


def test_rounds_end_it_and_decisions_do():
    assert Machine({4: 0.01}).compare(most_rounds=2).ended_by == "rounds"
    assert Machine({4: 0.0}).compare().ended_by == "decided"
    assert Machine({}).compare().ended_by == "decided"


@pytest.mark.parametrize("interrupted", [0, 2])
def test_an_interrupt_keeps_the_rounds_before_it(interrupted):
    machine = Machine({4: 0.5})
    measure = machine.measure

    def stops(request):
        if request.process.index == interrupted:
            raise KeyboardInterrupt
        return measure(request)

    campaign = run_campaign(CampaignRule(seed=1), stops, lambda: 0.0, lambda campaign: None)
    assert (campaign.ended_by, len(campaign.rounds)) == ("interrupted", interrupted)
    assert all(row.verdict is Verdict.INCONCLUSIVE for row in campaign.report("A").rows)


def test_what_goes_missing_now_and_then_is_measured_again_and_tainted_in_the_end():
    once = Machine({4: 0.0}, failing={(key(4), 2)})
    assert once.verdicts() == {key(4): Verdict.PASS}
    always = Machine({4: 0.0, 8: 0.0}, noise=0.02, failing={(key(4), index) for index in range(1, 99)})
    assert always.verdicts()[key(4)] is Verdict.TAINTED


def test_margins_and_noise_floors_are_those_of_the_case_and_device():
    rule = CampaignRule(seed=1, noise_floors={(key(8), DEVICE): 0.07, (key(4), DEVICE): 0.02})
    machine = Machine({4: 0.0, 8: 0.0, 12: 0.0}, margins={4: 0.05})
    report = run_campaign(rule, machine.measure, lambda: 0.0, lambda campaign: None).report("A")
    assert {row.key: row.margin for row in report.rows} == {key(4): 0.05, key(8): 0.07, key(12): 0.01}
    elsewhere = replace(rule, noise_floors={(key(8), replace(DEVICE, name="other")): 0.07})
    assert run_campaign(elsewhere, machine.measure, lambda: 0.0, lambda campaign: None).suite[
        key(8).sentence
    ].margin == pytest.approx(0.01)


def test_failures_are_told():
    def fails(request):
        return Round(cases={}, failures={"fp32": "arm B: wrong"})

    report = run_campaign(CampaignRule(seed=1, rule=GateRule()), fails, lambda: 0.0, lambda campaign: None).report("A")
    assert report.unmeasured == ("fp32: arm B: wrong",)
    assert report.has_findings(is_strict=False)


@pytest.mark.parametrize("dies", [{2}, set(range(1, 99))])
def test_a_process_that_dies_costs_a_round_and_what_was_measured_stays(dies):
    machine = Machine({4: 0.0, 8: 0.0})
    measure = machine.measure

    def fails(request):
        if request.process.index in dies:
            raise ArmError("the process pytest ended with -9 and left no results:\nits last words")
        return measure(request)

    campaign = run_campaign(CampaignRule(seed=1), fails, lambda: 0.0, lambda campaign: None)
    verdict = Verdict.PASS if len(dies) == 1 else Verdict.TAINTED
    rows = campaign.report("A").rows
    assert {row.verdict for row in rows} == {verdict}
    assert campaign.lost[0] == f"round {min(dies) + 1}: the process pytest ended with -9 and left no results"
    assert all(row.base_seconds == pytest.approx(1e-3) for row in rows)
    if verdict is Verdict.TAINTED:
        assert "ended with -9" in rows[0].decision.sentence


def test_a_first_process_that_dies_says_why():
    def fails(request):
        raise ArmError("no results")

    with pytest.raises(ArmError, match="no results"):
        run_campaign(CampaignRule(seed=1), fails, lambda: 0.0, lambda campaign: None)


def test_a_process_on_another_device_is_no_evidence():
    machine = Machine({4: 0.0})
    measure = machine.measure

    def moves(request):
        found = measure(request)
        if request.process.index != 1:
            return found
        other = replace(DEVICE, name="other", driver="7")
        return Round(cases={name: replace(one, device=other) for name, one in found.cases.items()})

    campaign = run_campaign(CampaignRule(seed=1), moves, lambda: 0.0, lambda campaign: None)
    (evidence,) = campaign.suite.values()
    assert evidence.disturbed == (f"another device: name {DEVICE.name} -> other",)
    assert {row.verdict for row in campaign.report("A").rows} == {Verdict.PASS}


@pytest.mark.parametrize("budget_seconds", [35, 100, 125])
def test_a_budget_is_never_overrun(budget_seconds):
    machine = Machine({4: 0.01, 8: 0.03})
    machine.compare(budget_seconds=budget_seconds)
    assert budget_seconds - 10 < machine.clock <= budget_seconds


def test_a_round_that_as_the_last_one_would_not_end_in_time_is_not_begun():
    """Rounds take 1, 2, 3 ... seconds: their mean would let the fifth one begin."""
    machine = Machine({4: 0.01})

    def grows(request):
        machine.clock += len(machine.requests) + 1 - 10
        return machine.measure(request)

    campaign = run_campaign(CampaignRule(seed=1, budget_seconds=13), grows, lambda: machine.clock, lambda _: None)
    assert (campaign.seconds, campaign.ended_by) == ([1, 2, 3, 4], "budget")


def test_under_a_budget_suspects_are_confirmed_before_others_are_screened():
    changes = {4: 0.0098, 8: 0.05, 12: 0.0098}
    asked = {}
    for name, rule in {"free": {}, "short": {"budget_seconds": 1000}}.items():
        machine = Machine(changes)
        verdicts = machine.verdicts(**rule)
        assert verdicts[key(8)] is Verdict.REGRESSION
        asked[name] = [{case.stage for case in request.process.cases} for request in machine.requests]
    assert {Stage.SCREENING, Stage.CONFIRMATION} in asked["free"]
    assert {Stage.SCREENING, Stage.CONFIRMATION} not in asked["short"]
    confirmed = [index for index, stages in enumerate(asked["short"]) if Stage.CONFIRMATION in stages]
    assert confirmed == list(range(confirmed[0], confirmed[-1] + 1))


def test_the_times_that_are_shown_are_a_pair_of_one_process():
    """Processes are fast or slow as a whole: medians over all of them would be of different ones."""
    machine = Machine({4: 0.0})

    def either(request):
        found = machine.measure(request)
        pace = 2.0 if request.process.index % 2 else 1.0
        (measured,) = found.cases.values()
        times = {"base_seconds": pace, "new_seconds": pace * math.exp(measured.log_ratio)}
        return Round(cases={measured.key.sentence: replace(measured, **times)})

    (row,) = run_campaign(CampaignRule(seed=1), either, lambda: 0.0, lambda _: None).report("A").rows
    assert row.new_seconds / row.base_seconds - 1 == pytest.approx(row.change, abs=0.003)
