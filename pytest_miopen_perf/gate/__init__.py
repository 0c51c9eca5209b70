"""The gate on kernel time: baselines, paired comparisons, verdicts.

Pure functions over frozen data, with no pytest and no device. scipy, which the statistics need, is imported by the
functions that use it.
"""

from __future__ import annotations

import importlib.util


def why_unavailable() -> str:
    """Why nothing can be judged here, with what to do; "" when the gate can work."""
    if importlib.util.find_spec("scipy") is None:
        return "verdicts on kernel time need scipy: pip install 'scipy>=1.11'"
    return ""
