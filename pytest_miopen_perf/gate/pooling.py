"""Times of one case that count as one process's, though nobody may have meant them to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.baseline import timed_results

if TYPE_CHECKING:
    from pytest_miopen_perf.gate.baseline import Run


def pooled_sentence(run: Run, name: str) -> str:
    """What was measured again in the process that had measured it, and counts once; "" where nothing was.

    Args:
        run: What was measured.
        name: Of the file that holds it, for the reader.
    """
    runs = [len(results) for processes in timed_results(run).values() for results in processes if len(results) > 1]
    if not runs:
        return ""
    words = "a case of it was" if len(runs) == 1 else f"{len(runs)} cases of it were"
    is_logged = any(case.result is not None and case.result.cache_mode is None for case in run.cases)
    doubt = _DOUBT if is_logged else ""
    return f"{name}: {words} run {sum(runs)} times in one process, and the times are pooled{doubt}"


_DOUBT = (
    "; a log does not tell whether their caches were alike, nor where a session begins: "
    "keep the log of each session in a file of its own"
)
