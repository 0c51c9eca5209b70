"""Which of the processes that hold a device belong to this session."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

_PROC = Path("/proc")


@dataclass(frozen=True, slots=True, kw_only=True)
class Household:
    """The processes of one session.

    Attributes:
        root: The process that all others of the session descend from.
        size: How many of them may hold the device: the workers of pytest-xdist, each with an understudy, and a process
            that measures for one.
    """

    root: int
    size: int = 1

    @staticmethod
    def of_process(worker_count: int | None = None) -> Household:
        """That of this process, which is one of so many workers, or alone."""
        return Household(root=os.getpid() if worker_count is None else os.getppid(), size=2 * (worker_count or 1))

    def with_one_more(self) -> Household:
        """The same while one of its processes has started another one, which has an understudy too."""
        return replace(self, size=self.size + 2)

    def strangers(self, pids: Collection[int]) -> int | None:
        """How many of the processes that hold a device are of somebody else; None where that cannot be told.

        In a container the numbers may be those of the host: then this process, which does hold the device, is not
        among them, and as many as the session has are taken for its own.
        """
        found = set(pids)
        if os.getpid() in found:
            return sum(not self._holds(pid) for pid in found)
        return max(0, len(found) - self.size) if found else None

    def _holds(self, pid: int) -> bool:
        while pid > 1:
            if pid == self.root:
                return True
            pid = _parent_of(pid)
        return False


def _parent_of(pid: int) -> int:
    """0 of a process that has gone."""
    try:
        # The name in the second field may hold blanks and brackets itself.
        return int((_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
