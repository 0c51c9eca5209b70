"""What users may write into an own solver by mistake is told by its field, in a sentence."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.solvers.own import (
    WORKSPACE,
    Direction,
    KernelSource,
    Launch,
    OwnSolver,
    PerformanceConfig,
    Scalar,
    W,
    X,
    Y,
)

KERNEL = KernelSource(file="/own.hip", entry="own")
LAUNCH = Launch(kernel=KERNEL, grid=(2, 1, 1), block=(64, 1, 1), args=(X, W, Y))


@dataclass(frozen=True)
class Block(PerformanceConfig):
    size: int


@dataclass(frozen=True)
class Sizes(PerformanceConfig):
    sizes: list


@dataclass(frozen=True)
class Named(PerformanceConfig):
    name: str
    size: int


@dataclass(frozen=True, eq=False)
class Apart(PerformanceConfig):
    """Equal to all of its class, as the fields of its base are compared."""

    size: int


class Plain:
    size = 64


def own(**fields):
    usual = {"name": "Own", "solver_id": 20001, "direction": Direction.FORWARD, "launches": lambda *_: [LAUNCH]}
    return OwnSolver(**(usual | fields))


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("name", None, "an own solver's name must be letters, digits and underscores, not None"),
        ("name", "", "an own solver's name must be letters, digits and underscores, not ''"),
        ("name", "a b,c", "an own solver's name must be letters, digits and underscores, not 'a b,c'"),
        ("name", "Own\n", "an own solver's name must be letters, digits and underscores, not 'Own\\n'"),
        ("solver_id", None, "Own: solver_id must be a number from 20000 on, not None"),
        ("solver_id", "7", "Own: solver_id must be a number from 20000 on, not '7'"),
        ("solver_id", 19999, "Own: solver_id must be a number from 20000 on, not 19999"),
        ("solver_id", 2**63, "Own: solver_id must be a number from 20000 on, not 9223372036854775808"),
        ("direction", "F", "Own: direction must be of the type Direction, not 'F'"),
        ("algorithm", "direct", "Own: algorithm must be of the type Algorithm, not 'direct'"),
        ("is_deterministic", None, "Own: is_deterministic must be of the type bool, not None"),
        ("launches", None, "Own: launches must be a function, not None"),
        ("refuses", None, "Own: refuses must be a function, not None"),
        ("workspace", 64, "Own: workspace must be a function, not 64"),
        ("choices", None, "Own: choices must be a tuple of configs, not None"),
        ("choices", [Block(64)], "Own: choices must be a tuple of configs, not [Block(size=64)]"),
        ("choices", Block(64), "Own: choices must be a tuple of configs, not Block(size=64)"),
        ("choices", (64, 128), "Own: choices must be dataclasses that derive from PerformanceConfig, not 64"),
        ("choices", (None,), "Own: choices must be dataclasses that derive from PerformanceConfig, not None"),
    ],
)
def test_a_wrong_field_is_refused_when_the_solver_is_made(field, value, words):
    with pytest.raises(SettingsError, match=f"^{re.escape(words)}$"):
        own(**{field: value})


def test_a_generator_of_choices_is_refused_since_it_can_be_asked_once():
    with pytest.raises(SettingsError, match=r"^Own: choices must be a tuple of configs, not <generator"):
        own(choices=(Block(size) for size in (64, 128)))


def test_configs_are_dataclasses():
    with pytest.raises(
        SettingsError, match=r"^Own: choices must be dataclasses that derive from PerformanceConfig, not <"
    ):
        own(choices=(Plain(),))


@pytest.mark.parametrize(
    ("config", "text"),
    [(Sizes([64]), "[64]"), (Named("a,b", 64), "a,b,64"), (Block(6.5), "6.5"), (Block("x"), "x")],
)
def test_a_config_is_read_back_from_its_text(config, text):
    with pytest.raises(SettingsError, match=re.escape(f"is not read back from its text {text!r}")):
        own(choices=(config,))


@pytest.mark.parametrize("choices", [(Block(64), Block(128), Block(64)), (Apart(64), Apart(128))])
def test_choices_differ(choices):
    with pytest.raises(SettingsError, match=r"^the choices of Own hold a config twice; give each once"):
        own(choices=choices)


def test_a_config_may_be_a_text_and_a_number():
    assert own(choices=(Named("", 64), Named(" wide", 128))).parse_config(" wide,128") == Named(" wide", 128)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "launches must give a list of Launch, not None"),
        (LAUNCH, "launches must give a list of Launch, not Launch(kernel="),
        (["own"], "launches must give a list of Launch, not 'own'"),
        ([], "launches gives none; let refuses say why a problem cannot be computed"),
        ([replace(LAUNCH, kernel="own.hip")], "the kernel of a Launch must be a KernelSource, not 'own.hip'"),
        ([replace(LAUNCH, grid=64)], "grid of own must be three integers from 1 on, not 64"),
        ([replace(LAUNCH, grid=(64, 1))], "grid of own must be three integers from 1 on, not (64, 1)"),
        ([replace(LAUNCH, grid=(1.5, 1, 1))], "grid of own must be three integers from 1 on, not (1.5, 1, 1)"),
        ([replace(LAUNCH, grid=(0, 1, 1))], "grid of own must be three integers from 1 on, not (0, 1, 1)"),
        ([replace(LAUNCH, block=(0, 1, 1))], "block of own must be three integers from 1 on, not (0, 1, 1)"),
        ([replace(LAUNCH, block=(-64, 1, 1))], "block of own must be three integers from 1 on, not (-64, 1, 1)"),
        ([replace(LAUNCH, args=None)], "args of own must be a tuple, not None"),
        ([replace(LAUNCH, args=(X, 3))], "an argument of own must be X, W, Y, WORKSPACE, a Pointer or a Scalar, not 3"),
        ([replace(LAUNCH, args=(X, WORKSPACE))], "own takes WORKSPACE, and workspace asks for no bytes"),
        ([replace(LAUNCH, shared_bytes=-1)], "shared_bytes of own must be a number of bytes, not -1"),
        ([replace(LAUNCH, shared_bytes=None)], "shared_bytes of own must be a number of bytes, not None"),
        (
            [replace(LAUNCH, kernel=replace(KERNEL, defines=(("BLOCK", 64),)))],
            "defines of own must be pairs of texts, not ('BLOCK', 64)",
        ),
        (
            [replace(LAUNCH, kernel=replace(KERNEL, defines=[("BLOCK", "64")]))],
            "defines of own must be a tuple of pairs of texts, not [('BLOCK', '64')]",
        ),
        (
            [replace(LAUNCH, kernel=replace(KERNEL, options="-O3"))],
            "options of own must be a tuple of texts, not '-O3'",
        ),
        ([replace(LAUNCH, kernel=replace(KERNEL, file=None))], "file of a KernelSource must be a text, not None"),
    ],
)
def test_a_wrong_answer_of_launches_is_told(make_problem, gpu_info, answer, words):
    solver = own(launches=lambda problem, info, config: answer)
    for ask in (
        lambda: solver.refusal(make_problem(), gpu_info),
        lambda: solver.solution(make_problem(), gpu_info, PerformanceConfig()),
    ):
        with pytest.raises(SettingsError, match=f"^Own: {re.escape(words)}"):
            ask()


@pytest.mark.parametrize(
    ("argument", "words"),
    [
        (Scalar("n", "i31", 1), "is of one of the types i32, i64, f32, f64, not 'i31'"),
        (Scalar("n", "i32", 2**31), "is 2147483648, which is no i32"),
        (Scalar("n", "i32", -(2**31) - 1), "is -2147483649, which is no i32"),
        (Scalar("n", "i64", 2**63), "is 9223372036854775808, which is no i64"),
        (Scalar("n", "i32", 1.0), "is 1.0, which is no i32"),
        (Scalar("n", "i64", "1"), "is '1', which is no i64"),
        (Scalar("n", "f32", 1e39), "is 1e+39, which is no f32"),
        (Scalar("n", "f64", 10**400), f"is 1{'0' * 79}..., which is no f64"),
        (Scalar("n", "f32", None), "is None, which is no f32"),
        (Pointer("y", "y"), "points into a Slot, not into 'y'"),
        (Pointer("y", Slot.OUTPUT, None), "has an offset of bytes from 0 on, not None"),
        (Pointer("y", Slot.OUTPUT, -4), "has an offset of bytes from 0 on, not -4"),
    ],
)
def test_an_argument_that_no_kernel_can_be_given_is_told(make_problem, gpu_info, argument, words):
    solver = own(launches=lambda problem, info, config: [replace(LAUNCH, args=(X, W, argument))])
    with pytest.raises(SettingsError, match=f"^Own: an argument of own {re.escape(words)}$"):
        solver.refusal(make_problem(), gpu_info)


@pytest.mark.parametrize(
    "argument",
    [
        *(Scalar("n", "i32", value) for value in (-(2**31), 2**31 - 1, np.int64(3), True)),
        *(Scalar("n", "i64", value) for value in (-(2**63), 2**63 - 1)),
        *(Scalar("n", "f32", value) for value in (0, 1.5, float("-inf"), np.float32(0.1))),
        Scalar("n", "f64", 1e300),
        Pointer("y", Slot.OUTPUT, 4),
    ],
)
def test_arguments_at_the_edge_are_given(make_problem, gpu_info, argument):
    solver = own(launches=lambda problem, info, config: [replace(LAUNCH, args=(X, W, argument))])
    assert solver.refusal(make_problem(), gpu_info) is None


@pytest.mark.parametrize("answer", [None, -1, 64.5, "64", 2**63])
def test_a_workspace_is_a_number_of_bytes(make_problem, answer):
    with pytest.raises(SettingsError, match=f"^Own: workspace must give a number of bytes, not {answer!r}$"):
        own(workspace=lambda problem: answer).workspace_bytes(make_problem())


@pytest.mark.parametrize("answer", [True, False, "", " ", ["no"]])
def test_a_refusal_has_words(make_problem, gpu_info, answer):
    with pytest.raises(SettingsError, match=r"^Own: refuses must give a reason in words, or None when it can, not "):
        own(refuses=lambda problem, info: answer).refusal(make_problem(), gpu_info)


def test_generators_lists_and_numbers_of_numpy_are_as_good(make_problem, gpu_info):
    def launches(problem, info, config):
        grid = [np.int64(2), 1, 1]
        yield replace(LAUNCH, grid=grid, args=[X, W, Y, WORKSPACE, Scalar("n", "i32", 1)], shared_bytes=np.int32(4))

    solver = own(launches=launches, workspace=lambda problem: np.int64(16))
    assert solver.refusal(make_problem(), gpu_info) is None
    solution = solver.solution(make_problem(), gpu_info, PerformanceConfig())
    assert repr(solution.workspace_bytes) == "16"
    args = (X, W, Y, WORKSPACE, Scalar("n", "i32", 1))
    assert repr(solution.launches) == repr((replace(LAUNCH, args=args, shared_bytes=4),))


@pytest.mark.parametrize(
    ("field", "what"),
    [("launches", "launches of the config ''"), ("refuses", "refuses"), ("workspace", "workspace")],
)
def test_a_function_that_raises_is_told_with_what_it_was_asked(make_problem, gpu_info, field, what):
    def fails(*_):
        return {}["tile"]

    with pytest.raises(SettingsError, match=f"^Own: {what} raises KeyError: 'tile'$"):
        own(**{field: fails}).refusal(make_problem(), gpu_info)
