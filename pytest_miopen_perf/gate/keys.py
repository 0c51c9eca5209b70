"""What makes two measurements comparable: the same problem, policy, caches and data, on the same kind of device."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.records.run_records import OWN_SOLVER_IDS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.results import Result


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class CaseKey:
    """What was measured, whatever the test is called.

    Attributes:
        problem: The MIOpenDriver line of one direction; layout, type and sizes are in it.
        policy: Which solvers could be chosen and how their configs were found; never which one won.
        cache_mode: State of the caches during the timed run, and the launch mode that was asked for where it was not
            the isolated one; "not known" of a log, which tells neither.
        data: Distribution and seed of the data, as far as they are known.
    """

    problem: str
    policy: str
    cache_mode: str
    data: str

    @staticmethod
    def of(result: Result) -> CaseKey:
        """The key of a result."""
        return CaseKey(
            problem=result.problem.to_driver(),
            policy=_policy(result),
            cache_mode=_cache_mode(result),
            data=_data(result),
        )

    @property
    def name(self) -> str:
        """The problem's short name."""
        (problem,) = ConvProblem.from_driver(self.problem)
        return str(problem)

    @property
    def sentence(self) -> str:
        """All of it on one line."""
        return f"{self.problem}  [{self.policy}; caches {self.cache_mode}; {self.data}]"


def _data(result: Result) -> str:
    distribution = "data not known" if result.data is None else result.data
    return f"{distribution}, seed {'not known' if result.seed is None else result.seed}"


def _cache_mode(result: Result) -> str:
    launch_mode = result.circumstances.launch_mode
    if result.cache_mode is None or launch_mode is None:
        return "not known"
    # Batched is isolated where the timer was too coarse for the kernel: what was asked for, not how long it took.
    return f"{result.cache_mode}, launches {launch_mode}" if launch_mode == "back-to-back" else result.cache_mode


def _policy(result: Result) -> str:
    if result.config_origin == "logged" and result.solver_id < OWN_SOLVER_IDS:
        return "MIOpen's choice"
    names = sorted({trial.solver for trial in result.find})
    solvers = f"fastest of {', '.join(names)}" if names else result.solver
    if result.device.backend == "log":  # which tells how a config was found only where the search is in it
        return f"{solvers}; as logged"
    if result.config_origin == "given":
        return f"{solvers}; config {result.config}"
    # Whether tuned configs are searched once or anew, a tuned config is what runs.
    is_tuned = result.tune != "off" or result.config_origin == "tuned"
    return f"{solvers}; tuned config" if is_tuned else f"{solvers}; default config"


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Fingerprint:
    """A kind of device with its software: times are comparable only where all of it is equal."""

    backend: str
    arch: str
    name: str
    compute_units: int
    driver: str
    runtime: str
    compiler: str

    @staticmethod
    def of(info: DeviceInfo) -> Fingerprint:
        """The fingerprint of a device; what tells it from its sisters on the machine is left out."""
        return Fingerprint(**{field.name: getattr(info, field.name) for field in fields(Fingerprint)})

    @property
    def key(self) -> str:
        """A short name for files: readable in front, exact behind."""
        text = json.dumps(asdict(self), sort_keys=True)
        return f"{self.backend}-{self.arch}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @property
    def sentence(self) -> str:
        """All of it on one line."""
        return ", ".join(f"{field.name} {getattr(self, field.name) or '-'}" for field in fields(self))

    def hardware_differences(self, other: Fingerprint) -> tuple[str, ...]:
        """As `differences`, but of the device alone: two versions of its software may well be compared."""
        return self._differences(other, _HARDWARE)

    def differences(self, other: Fingerprint) -> tuple[str, ...]:
        """Each field that differs, with both values."""
        return self._differences(other, [field.name for field in fields(self)])

    def _differences(self, other: Fingerprint, names: Iterable[str]) -> tuple[str, ...]:
        pairs = [(name, getattr(self, name), getattr(other, name)) for name in names]
        return tuple(f"{name} {mine or '-'} -> {theirs or '-'}" for name, mine, theirs in pairs if mine != theirs)


_HARDWARE = ("backend", "arch", "name", "compute_units")
