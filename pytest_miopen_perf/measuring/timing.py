"""How the executions of one problem are timed, and what is kept of the circumstances."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.measuring.batching import Batches, LaunchRule
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.measuring.instruments import Instruments
from pytest_miopen_perf.measuring.measure import measure
from pytest_miopen_perf.telemetry import BlockWatch

if TYPE_CHECKING:
    from pytest_miopen_perf.measuring.execution import Prepared
    from pytest_miopen_perf.measuring.measure import Measurement
    from pytest_miopen_perf.statistics import StoppingRule


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What the timed runs of a problem share.

    Attributes:
        launches: What is batched.
        instruments: The device's clock and sensors.
        cache_note: How the caches are brought into their state, in words.
    """

    launches: LaunchRule = field(default_factory=LaunchRule)
    instruments: Instruments = field(default_factory=Instruments)
    cache_note: str = ""

    def measure(self, prepared: Prepared, rule: StoppingRule) -> Measurement:
        """Execute until the rule says stop, with a look at the device before and after.

        Raises:
            LaunchError: a kernel failed, or the device's clock cannot be believed.
        """
        watch = BlockWatch(self.instruments.sensor)
        measurement = measure(prepared.execute, rule, self.batches(prepared, rule))
        watch.end_block()
        return replace(measurement, blocks=watch.blocks)

    def batches(self, prepared: Prepared, rule: StoppingRule) -> Batches | None:
        """Whether and how executions of a solution share one time."""
        if not self.launches.may_batch:
            return None

        def length(seconds: float) -> int:
            launches = len(prepared.solution.launches)
            return self.launches.length(seconds, launches=launches, budget_seconds=rule.budget_seconds)

        return Batches(length=length, execute=prepared.execute_batch)

    def circumstances(self, measurement: Measurement | None) -> Circumstances:
        """What a result keeps of the circumstances of a measurement; of none where nothing was timed."""
        if measurement is None:
            return Circumstances()
        instruments = self.instruments
        return Circumstances(
            launch_mode=self.launches.taken_mode(measurement.sample.batch),
            cache_note=self.cache_note,
            timer_step_seconds=instruments.timer_step_seconds,
            empty_launch_seconds=instruments.empty_launch_seconds,
            sensor=instruments.sensor.name,
            blocks=measurement.blocks,
        )
