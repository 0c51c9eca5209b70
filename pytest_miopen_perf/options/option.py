"""One option, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Option:
    """One option: `--miopen-perf-<name>`, its ini twin `miopen_perf_<name>`, and the field of `Settings` it fills.

    `parse` raises ValueError with what to give instead. `flag` is the value of an option that takes none.
    """

    name: str
    field: str
    metavar: str
    parse: Callable[[str], Any]
    help: str
    repeats: bool = False
    flag: str | None = None

    @property
    def option(self) -> str:
        """The command-line spelling."""
        return f"--miopen-perf-{self.name}"

    @property
    def key(self) -> str:
        """The ini name, which is also pytest's name of the option's value."""
        return f"miopen_perf_{self.name.replace('-', '_')}"
