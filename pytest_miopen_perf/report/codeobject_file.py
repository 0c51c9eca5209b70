"""The report of the static gate as a document: what every kernel takes, and the verdict on it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf import __version__
from pytest_miopen_perf.moments import now

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_miopen_perf.codeobject.judgement import StaticJudgement
    from pytest_miopen_perf.codeobject.limits import StaticLimits

FORMAT = "pytest-miopen-perf code objects"
VERSION = 1


def static_document(
    judgements: Iterable[StaticJudgement], limits: StaticLimits, versus: str = "", *, is_complete: bool = True
) -> dict[str, Any]:
    """The whole file as builtins.

    Args:
        judgements: In the order in which they were made.
        limits: What they were held to.
        versus: The baseline, as the user named it; "" where nothing was compared.
        is_complete: False when the session was interrupted, so that a reader does not take absence for passing.
    """
    return {
        "format": FORMAT,
        "version": VERSION,
        "generator": f"pytest-miopen-perf {__version__}",
        "created": now(),
        "complete": is_complete,
        "limits": str(limits),
        "versus": versus,
        "kernels": [judgement.to_json() for judgement in judgements],
    }


def document_text(document: dict[str, Any]) -> str:
    """The text of the file."""
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
