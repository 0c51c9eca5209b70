"""What tests ask of compiled kernels: their figures as a baseline, and whatever is wrong with them."""

from pytest_miopen_perf.codeobject.baseline import figures_of, key_of
from pytest_miopen_perf.codeobject.limits import StaticLimits
from pytest_miopen_perf.codeobject.table import Compiled, memory_faults, misfits


def baseline_of(rows):
    """The figures of every row that compiled."""
    return {key_of(row): figures_of(row.outcome) for row in rows if isinstance(row.outcome, Compiled)}


def faults(row):
    """What is wrong with a kernel whatever any baseline says, a sentence each; () when nothing is.

    A kernel that ships keeps its registers and nothing in scratch, fits the compute unit, and reads the arguments that
    the launch passes. Scalar registers that move to lanes of a vector register cost no memory, and are no fault of a
    user's kernel; of ours they are.
    """
    spilled = row.outcome.resources.sgpr_spills if isinstance(row.outcome, Compiled) else 0
    scalars = (f"it spills {spilled} scalar registers",) if spilled else ()
    return (*misfits(row), *memory_faults(row, StaticLimits()), *scalars)
