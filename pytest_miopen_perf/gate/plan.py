"""What a paired comparison runs next, as data: the same seed and evidence give the same plan on every machine."""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.gate.decision import Evidence, GateRule, Stage, next_stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_miopen_perf.gate.estimators import Order


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedPlan:
    """A paired comparison.

    Attributes:
        cases: The cases, each a text that the runner understands.
        seed: Of every shuffle.
        rule: When to look, and what counts as proof.
        blocks: Blocks of a case in one process.
        launches: Launches of one slot of a block.
        order: "together": a process runs every open case; "suspects": none but suspects, as long as there are any.

    Raises:
        SettingsError: there is no case, a case twice, or a count below 1.
    """

    cases: tuple[str, ...]
    seed: int
    rule: GateRule = field(default_factory=GateRule)
    blocks: int = 6
    launches: int = 5
    order: Literal["together", "suspects"] = "together"

    def __post_init__(self) -> None:
        if not self.cases or len(set(self.cases)) != len(self.cases):
            raise SettingsError("a paired comparison needs cases, each of them once")
        if self.blocks < 1 or self.launches < 1:
            raise SettingsError(f"{self.blocks} blocks of {self.launches} launches; both must be at least 1")


@dataclass(frozen=True, slots=True, kw_only=True)
class CasePlan:
    """The part of one case in one process.

    Attributes:
        case: The case.
        stage: What its result is evidence for.
        orders: The order of the arms in each block, in run order; as many ABBA as BAAB, give or take one.
    """

    case: str
    stage: Stage
    orders: tuple[Order, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPlan:
    """All that one fresh process runs.

    Attributes:
        index: Which process it is, from 0.
        first_arm: The arm that starts, where each arm has a process of its own.
        cases: The cases in run order.
    """

    index: int
    first_arm: Literal["A", "B"]
    cases: tuple[CasePlan, ...]

    def to_json(self) -> dict[str, Any]:
        """As builtins: the order is stored beside what was measured in it."""
        cases = [asdict(case) | {"stage": case.stage.value, "orders": list(case.orders)} for case in self.cases]
        return {"index": self.index, "first_arm": self.first_arm, "cases": cases}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> ProcessPlan:
        """The inverse of `to_json`."""
        cases = tuple(
            CasePlan(case=case["case"], stage=Stage(case["stage"]), orders=tuple(case["orders"]))
            for case in data["cases"]
        )
        return ProcessPlan(index=data["index"], first_arm=data["first_arm"], cases=cases)


def first_process(seed: int) -> ProcessPlan:
    """The process that finds out which cases there are: all of them, in an order of its own."""
    chance = random.Random(f"{seed}/0")  # noqa: S311 - an order of measurements, no secret
    return ProcessPlan(index=0, first_arm=chance.choice(("A", "B")), cases=())


def next_process(plan: PairedPlan, suite: Mapping[str, Evidence], index: int) -> ProcessPlan | None:
    """What the process with that index runs: undecided cases, shuffled; None when all are decided.

    Decided cases stop, so that a time budget goes to the others, and to suspects first where the plan says so: the
    caller asks again until the budget is used up.

    Args:
        plan: The comparison.
        suite: The evidence so far, of every case of the plan.
        index: How many processes there were before this one.
    """
    stages = {case: next_stage(suite[case], plan.rule, len(plan.cases)) for case in plan.cases}
    open_cases = [case for case, stage in stages.items() if stage is not Stage.DECIDED]
    if not open_cases:
        return None
    if plan.order == "suspects":
        open_cases = [case for case in open_cases if stages[case] is Stage.CONFIRMATION] or open_cases
    # A text seeds the generator the same way in every process, whatever the hash seed.
    chance = random.Random(f"{plan.seed}/{index}")  # noqa: S311 - an order of measurements, no secret
    chance.shuffle(open_cases)
    cases = tuple(CasePlan(case=case, stage=stages[case], orders=_orders(plan.blocks, chance)) for case in open_cases)
    return ProcessPlan(index=index, first_arm=chance.choice(("A", "B")), cases=cases)


def orders_of(seed: int, index: int, case: str, blocks: int) -> tuple[Order, ...]:
    """The orders of the blocks of a case that no plan names yet."""
    return _orders(blocks, random.Random(f"{seed}/{index}/{case}"))  # noqa: S311 - an order, no secret


def _orders(blocks: int, chance: random.Random) -> tuple[Order, ...]:
    both: list[Order] = ["ABBA", "BAAB"]
    chance.shuffle(both)
    orders = [both[i % 2] for i in range(blocks)]
    chance.shuffle(orders)
    return tuple(orders)


def with_process(evidence: Evidence, stage: Stage, log_ratio: float | None, disturbed: str = "") -> Evidence:
    """The evidence with one more process.

    Args:
        evidence: So far.
        stage: The stage that the process was planned for.
        log_ratio: What the process says; None when it has no valid time.
        disturbed: Why its times say nothing; "" when nothing disturbed them.
    """
    if disturbed or log_ratio is None:
        return replace(evidence, disturbed=(*evidence.disturbed, disturbed or "no valid time"))
    if stage is Stage.SCREENING:
        return replace(evidence, screening=(*evidence.screening, log_ratio))
    return replace(evidence, confirmation=(*evidence.confirmation, log_ratio))
