"""What the functions of an own solver answer, looked at before anybody relies on it.

They are written by users, in conftest files that no type checker sees: a wrong answer is named with its solver and its
place, where it comes from, and not by whoever trips over it later.
"""

from __future__ import annotations

import operator
import re
import struct
from dataclasses import is_dataclass, replace
from typing import TYPE_CHECKING, SupportsIndex

from pytest_miopen_perf.errors import ConfigError, PerfError, SettingsError
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Scalar, Slot
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_miopen_perf.solvers.own import OwnSolver

_FIRST_ID = 20000
"""MIOpen's solvers and the built-in ones have the numbers below."""

_INT64 = 2**63

_FORMS = {"i32": "=i", "i64": "=q", "f32": "=f", "f64": "=d"}
"""The types of a scalar as `struct` writes them."""

_SHOWN = 80
"""Characters of a wrong answer in a message."""


def check_identity(solver: OwnSolver) -> None:
    """Look at who a solver says that it is.

    Raises:
        SettingsError: its name is no name, its number none that a log can hold, or its kind none of the known ones.
    """
    name = solver.name
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise SettingsError(f"an own solver's name must be letters, digits and underscores, not {_shown(name)}")
    if not isinstance(solver.solver_id, int) or not _FIRST_ID <= solver.solver_id < _INT64:
        raise _wrong(name, f"solver_id must be a number from {_FIRST_ID} on", solver.solver_id)
    kinds = {"direction": Direction, "algorithm": Algorithm, "is_deterministic": bool}
    for field, kind in kinds.items():
        if not isinstance(getattr(solver, field), kind):
            raise _wrong(name, f"{field} must be of the type {kind.__name__}", getattr(solver, field))


def check_function(solver: str, field: str, value: object) -> None:
    """Look at a field that is to be a function.

    Raises:
        SettingsError: it cannot be called.
    """
    if not callable(value):
        raise _wrong(solver, f"{field} must be a function", value)


def check_choices(solver: str, choices: object) -> None:
    """Look at the configs: a tuple of one class, whose texts are read back, since that is how they are kept.

    Raises:
        SettingsError: they are something else.
    """
    if not isinstance(choices, tuple):
        raise _wrong(solver, "choices must be a tuple of configs", choices)
    classes = {type(config).__name__ for config in choices}
    if len(classes) != 1:
        raise SettingsError(
            f"the choices of {solver} are {', '.join(sorted(classes)) or 'nothing'}; give configs of one class"
        )
    for config in choices:
        if not (isinstance(config, PerformanceConfig) and is_dataclass(config)):
            raise _wrong(solver, "choices must be dataclasses that derive from PerformanceConfig", config)
        if _read_back(config) != config:
            raise SettingsError(
                f"{solver}: the config {_shown(config)} is not read back from its text {config.serialize()!r}; give it "
                "integers, and texts without commas"
            )
    if len(set(choices)) < len(choices):
        raise SettingsError(f"the choices of {solver} hold a config twice; give each once, and a class with eq=True")


def asked(solver: str, what: str, function: Callable[..., object], *arguments: object) -> object:
    """What a function answers.

    Raises:
        SettingsError: it raises, whatever that is.
    """
    try:
        return function(*arguments)
    except PerfError:
        raise
    except Exception as error:  # it is the user's text, and may do anything
        raise SettingsError(f"{solver}: {what} raises {type(error).__name__}: {error}") from error


def launches_of(solver: str, answer: object, workspace_bytes: int) -> tuple[Launch, ...]:
    """The launches that a function names.

    Args:
        solver: Whose.
        answer: What it gave.
        workspace_bytes: What there is for arguments that name the workspace.

    Raises:
        SettingsError: they are none, or one could never be made.
    """
    try:
        launches: list[object] = list(answer)  # type: ignore[call-overload]  # what is no sequence is refused
    except TypeError:
        raise _wrong(solver, "launches must give a list of Launch", answer) from None
    if not launches:
        raise SettingsError(f"{solver}: launches gives none; let refuses say why a problem cannot be computed")
    return tuple(_checked(solver, launch, workspace_bytes) for launch in launches)


def bytes_of(solver: str, answer: object) -> int:
    """The size of a workspace.

    Raises:
        SettingsError: it is none.
    """
    if not isinstance(answer, SupportsIndex) or not 0 <= operator.index(answer) < _INT64:
        raise _wrong(solver, "workspace must give a number of bytes", answer)
    return operator.index(answer)


def refusal_of(solver: str, answer: object) -> str | None:
    """Why not, or None.

    Raises:
        SettingsError: it is neither words nor None.
    """
    if answer is None or (isinstance(answer, str) and answer.strip()):
        return answer
    raise _wrong(solver, "refuses must give a reason in words, or None when it can", answer)


def _read_back(config: PerformanceConfig) -> PerformanceConfig | None:
    try:
        return type(config).parse(config.serialize())
    except (ConfigError, TypeError):
        return None


def _checked(solver: str, launch: object, workspace_bytes: int) -> Launch:
    """One launch, its sizes as plain integers."""
    if not isinstance(launch, Launch):
        raise _wrong(solver, "launches must give a list of Launch", launch)
    _check_kernel(solver, launch.kernel)
    if not isinstance(launch.args, tuple | list):
        raise _wrong(solver, f"args of {launch.kernel.entry} must be a tuple", launch.args)
    for argument in launch.args:
        if (fault := _fault(argument)) is not None:
            raise SettingsError(f"{solver}: an argument of {launch.kernel.entry} {fault}")
    if not workspace_bytes and any(isinstance(one, Pointer) and one.slot is Slot.WORKSPACE for one in launch.args):
        raise SettingsError(f"{solver}: {launch.kernel.entry} takes WORKSPACE, and workspace asks for no bytes")

    def sizes(name: str, value: object) -> tuple[int, int, int]:
        found = _integers(value)
        if len(found) != 3 or min(found) < 1:
            raise _wrong(solver, f"{name} of {launch.kernel.entry} must be three integers from 1 on", value)
        return found[0], found[1], found[2]

    shared = _integers([launch.shared_bytes])
    if not shared or shared[0] < 0:
        raise _wrong(solver, f"shared_bytes of {launch.kernel.entry} must be a number of bytes", launch.shared_bytes)
    return replace(
        launch,
        grid=sizes("grid", launch.grid),
        block=sizes("block", launch.block),
        args=tuple(launch.args),
        shared_bytes=shared[0],
    )


def _fault(argument: object) -> str | None:
    """Why no kernel can be given an argument; None when one can."""
    if isinstance(argument, Scalar):
        return _scalar_fault(argument)
    if not isinstance(argument, Pointer):
        return f"must be X, W, Y, WORKSPACE, a Pointer or a Scalar, not {_shown(argument)}"
    slot: object = argument.slot
    offset: object = argument.offset_bytes
    if not isinstance(slot, Slot):
        return f"points into a Slot, not into {_shown(slot)}"
    if not isinstance(offset, SupportsIndex) or operator.index(offset) < 0:
        return f"has an offset of bytes from 0 on, not {_shown(offset)}"
    return None


def _scalar_fault(scalar: Scalar) -> str | None:
    """A device may cut off what does not fit, and compute with the rest."""
    form = _FORMS.get(scalar.type)
    if form is None:
        return f"is of one of the types {', '.join(_FORMS)}, not {_shown(scalar.type)}"
    try:
        struct.pack(form, scalar.value)
    except (struct.error, OverflowError):
        return f"is {_shown(scalar.value)}, which is no {scalar.type}"
    return None


def _check_kernel(solver: str, kernel: object) -> None:
    if not isinstance(kernel, KernelSource):
        raise _wrong(solver, "the kernel of a Launch must be a KernelSource", kernel)
    for name in ("file", "entry"):
        if not isinstance(getattr(kernel, name), str):
            raise _wrong(solver, f"{name} of a KernelSource must be a text", getattr(kernel, name))
    for macro in _members(solver, kernel, "defines", "pairs of texts"):
        if not (isinstance(macro, tuple) and len(macro) == 2 and all(isinstance(word, str) for word in macro)):
            raise _wrong(solver, f"defines of {kernel.entry} must be pairs of texts", macro)
    for option in _members(solver, kernel, "options", "texts"):
        if not isinstance(option, str):
            raise _wrong(solver, f"options of {kernel.entry} must be texts", option)


def _members(solver: str, kernel: KernelSource, field: str, what: str) -> tuple[object, ...]:
    """The members of a field that is a tuple, so that kernels can be told apart by their hash."""
    value: object = getattr(kernel, field)
    if not isinstance(value, tuple):
        raise _wrong(solver, f"{field} of {kernel.entry} must be a tuple of {what}", value)
    return value


def _integers(values: object) -> list[int]:
    """Whole numbers of any kind, such as numpy's, as plain ones; [] when one is something else."""
    if not isinstance(values, tuple | list) or not all(isinstance(one, SupportsIndex) for one in values):
        return []
    return [operator.index(one) for one in values]


def _wrong(solver: str, rule: str, value: object) -> SettingsError:
    return SettingsError(f"{solver}: {rule}, not {_shown(value)}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
