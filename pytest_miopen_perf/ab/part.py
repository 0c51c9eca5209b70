"""The part of a paired comparison that one process runs: a file from the leading process to the measuring one."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.canary import is_slowed
from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.gate.plan import ProcessPlan, orders_of
from pytest_miopen_perf.running.runner import Levels, Pairing

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pytest

    from pytest_miopen_perf.gate.estimators import Order
    from pytest_miopen_perf.perflog import Sink
    from pytest_miopen_perf.problem import ConvProblem

FORMAT = "pytest-miopen-perf part"


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one process runs.

    Attributes:
        seed: Of every order.
        process: The plan of the round.
        nodeids: The tests, in run order; none: all there are, shuffled.
        arms: The kernels of both arms, where one process runs both; None where it runs one version.
        blocks: Blocks of a case.
        launches: Launches of one slot of a block.
        canary: What arm B of the chosen cases is slowed by; 0 is the usual comparison.
        levels: The levels of the log that are the arms; None where kernels are.
    """

    seed: int
    process: ProcessPlan
    nodeids: tuple[str, ...] = ()
    arms: tuple[Path, Path] | None = None
    blocks: int = 6
    launches: int = 5
    canary: float = 0.0
    levels: tuple[int, int] | None = None

    def arranged(self, items: Sequence[pytest.Item]) -> list[pytest.Item]:
        """The tests of this part in the order of the plan."""
        if not self.nodeids:
            shuffled = list(items)
            random.Random(f"{self.seed}/{self.process.index}").shuffle(shuffled)  # noqa: S311 - an order, no secret
            return shuffled
        by_nodeid = {item.nodeid: item for item in items}
        return [by_nodeid[nodeid] for nodeid in self.nodeids if nodeid in by_nodeid]

    def pairing(self, problem: ConvProblem) -> Pairing:
        """How both arms are interleaved on a problem, where one process runs both.

        The key of a case is known only when it has run: the blocks of a problem are ordered as planned for the first
        case of that problem, and as the seed says where the plan has none.
        """
        assert self.arms is not None, "one process runs both arms"
        share = self.canary if self.canary and is_slowed(problem, self.seed) else 0.0
        return Pairing(arms=self.arms, orders=self._orders(problem), launches=self.launches, delay_share=share)

    def levels_of(self, problem: ConvProblem, sink: Sink) -> Levels:
        """How both levels of the log are interleaved on a problem."""
        assert self.levels is not None, "the arms are levels"
        base, new = self.levels
        return Levels(base=base, new=new, orders=self._orders(problem), launches=self.launches, sink=sink)

    def _orders(self, problem: ConvProblem) -> Sequence[Order]:
        line = problem.to_driver()
        planned = (part.orders for part in self.process.cases if part.case.startswith(f"{line}  ["))
        return next(planned, None) or orders_of(self.seed, self.process.index, line, self.blocks)

    def write(self, path: Path) -> None:
        """Write the file."""
        data = {
            "format": FORMAT,
            "seed": self.seed,
            "process": self.process.to_json(),
            "nodeids": list(self.nodeids),
            "arms": None if self.arms is None else list(map(str, self.arms)),
            "blocks": self.blocks,
            "launches": self.launches,
            "canary": self.canary,
            "levels": None if self.levels is None else list(self.levels),
        }
        write_atomically(path, json.dumps(data, indent=1))


def read_part(path: Path) -> Part:
    """Read the file.

    Raises:
        SettingsError: it is not there, damaged, or another file.
    """
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if data["format"] != FORMAT:
            raise SettingsError(f"{path} is no part of a comparison; it is written by miopen-perf ab")
        arms = None if data["arms"] is None else (Path(data["arms"][0]), Path(data["arms"][1]))
        return Part(
            seed=data["seed"],
            process=ProcessPlan.from_json(data["process"]),
            nodeids=tuple(data["nodeids"]),
            arms=arms,
            blocks=data["blocks"],
            launches=data["launches"],
            canary=data["canary"],
            levels=None if data["levels"] is None else (data["levels"][0], data["levels"][1]),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"the part {path} of a comparison cannot be read: {error}") from error
