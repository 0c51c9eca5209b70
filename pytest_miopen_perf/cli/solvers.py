"""`miopen-perf solvers`: which solvers there are, and which can compute a problem."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import Solver
    from pytest_miopen_perf.solvers.served import Served

_LISTED_FOR = "gfx942"


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_miopen_perf.cli.named_problems import HELP

    parser.add_argument("problems", nargs="*", metavar="PROBLEMS", help=f"{HELP}; none lists the solvers")
    parser.add_argument("--solver", action="append", default=[], metavar="GLOB", help="only these; may be repeated")
    parser.add_argument("--all", action="store_true", help="a row also for each solver of another direction")
    parser.add_argument("--backend", default="auto", metavar="NAME", help="the device to ask for (default: auto)")
    parser.add_argument("--device", default="", metavar="N|PATH", help="which device of the back-end")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.solvers import builtin_solvers
    from pytest_miopen_perf.solvers.selection import select

    solvers = select(arguments.solver, builtin_solvers())
    if not arguments.problems:
        _list(solvers, screen, as_json=arguments.json)
        return FINE
    from pytest_miopen_perf.cli.named_problems import named_problems
    from pytest_miopen_perf.devices import DeviceOptions
    from pytest_miopen_perf.devices.opening import open_first

    problems = named_problems(arguments.problems)
    with contextlib.closing(open_first(arguments.backend, DeviceOptions(device=arguments.device))) as device:
        info = device.info
    answers = {problem: [_ask(solver, problem, info) for solver in solvers] for problem in problems.counts}
    if arguments.json:
        screen.json(_json(answers, info))
    else:
        _table(answers, info, screen, has_all=arguments.all)
    is_covered = all(any(answer.applies for answer in of_problem) for of_problem in answers.values())
    return FINE if is_covered else FINDINGS


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """What a solver says of a problem.

    Attributes:
        solver: Its name.
        refusal: Why it cannot, "" when it can.
        workspace_bytes: Workspace.
        default_config: The config that an untuned run uses, "" without parameters.
        configs: How many configs are valid.
        is_of_other_direction: It computes no problem of this direction.
    """

    solver: str
    is_of_other_direction: bool = False
    refusal: str = ""
    workspace_bytes: int = 0
    default_config: str = ""
    configs: int = 0

    @property
    def applies(self) -> bool:
        return not self.refusal


def _ask(solver: Solver, problem: ConvProblem, info: DeviceInfo) -> _Answer:
    if problem.empty_reason:
        return _Answer(solver=solver.name, refusal=f"nothing to compute: {problem.empty_reason}")
    from pytest_miopen_perf.solvers.refusals import is_of_other_direction

    plain = problem.canonical()
    refusal = solver.refusal(plain, info)
    if refusal is not None:
        is_other = is_of_other_direction(solver, plain)
        return _Answer(solver=solver.name, refusal=refusal, is_of_other_direction=is_other)
    return _Answer(
        solver=solver.name,
        workspace_bytes=solver.workspace_bytes(plain),
        default_config=solver.default_config(plain, info).serialize(),
        configs=sum(1 for _ in solver.configs(plain, info)),
    )


def _table(answers: dict[ConvProblem, list[_Answer]], info: DeviceInfo, screen: Screen, *, has_all: bool) -> None:
    from pytest_miopen_perf.report.text_table import Column
    from pytest_miopen_perf.solvers.refusals import OTHER_DIRECTIONS

    columns = (
        Column("problem, solver"),
        Column("workspace", "right"),
        Column("configs", "right"),
        Column("default config, or why not", folds=True),
    )
    rows: list[tuple[str, ...]] = []
    for problem, of_problem in answers.items():
        rows.append((str(problem),))
        told = [answer for answer in of_problem if has_all or not answer.is_of_other_direction]
        rows += [_row(answer) for answer in sorted(told, key=lambda answer: not answer.applies)]
        if others := len(of_problem) - len(told):
            rows.append((f"  {others} more", "", "no", f"{OTHER_DIRECTIONS} (--all tells each)"))
    screen.table(columns, rows, styles={"no": "yellow"})
    screen.line()
    screen.paragraph(f"asked for {info.name} ({info.backend}, {info.arch})")


def _row(answer: _Answer) -> tuple[str, ...]:
    from pytest_miopen_perf.measuring.memory import byte_size
    from pytest_miopen_perf.solvers.refusals import bare

    if not answer.applies:
        return (f"  {answer.solver}", "", "no", bare(answer.solver, answer.refusal))
    return (f"  {answer.solver}", byte_size(answer.workspace_bytes), str(answer.configs), answer.default_config)


def _json(answers: dict[ConvProblem, list[_Answer]], info: DeviceInfo) -> dict[str, Any]:
    return {
        "device": {"backend": info.backend, "name": info.name, "arch": info.arch},
        "problems": [
            {
                "name": str(problem),
                "driver": problem.to_driver(),
                "solvers": [
                    {
                        "solver": answer.solver,
                        "applies": answer.applies,
                        "refusal": answer.refusal,
                        "workspace_bytes": answer.workspace_bytes,
                        "default_config": answer.default_config,
                        "configs": answer.configs,
                    }
                    for answer in of_problem
                ],
            }
            for problem, of_problem in answers.items()
        ],
    }


def _list(solvers: Sequence[Solver], screen: Screen, *, as_json: bool) -> None:
    from pytest_miopen_perf.codeobject.architectures import planned_device
    from pytest_miopen_perf.report.text_table import Column
    from pytest_miopen_perf.solvers.served import served

    info = planned_device(_LISTED_FOR)
    serves = {solver.name: served(solver, info) for solver in solvers}
    if as_json:
        screen.json({"arch": info.arch, "solvers": [_listed(solver, serves[solver.name]) for solver in solvers]})
        return
    columns = (
        Column("solver"),
        Column("id", "right"),
        Column("algorithm"),
        Column("dir"),
        Column("types: layouts", folds=True),
    )
    rows = (
        (
            solver.name,
            str(solver.solver_id),
            solver.algorithm.name,
            _directions(solver),
            "; ".join([*map(str, serves[solver.name]), *([] if solver.is_deterministic else ["not deterministic"])]),
        )
        for solver in solvers
    )
    screen.table(columns, rows)
    screen.line()
    screen.paragraph(f"types and layouts as answered for {info.arch}; name problems for the device at hand")


def _listed(solver: Solver, serves: Sequence[Served]) -> dict[str, Any]:
    return {
        "solver": solver.name,
        "id": solver.solver_id,
        "algorithm": solver.algorithm.name,
        "directions": _directions(solver),
        "deterministic": solver.is_deterministic,
        "serves": [{"types": [dtype.value for dtype in some.types], "layouts": list(some.layouts)} for some in serves],
    }


def _directions(solver: Solver) -> str:
    return "".join(sorted(direction.value for direction in solver.directions))


SUBCOMMAND = Subcommand(
    name="solvers",
    summary="which solvers there are, and which can compute a problem",
    description="Asks every solver of this project whether it can compute a problem on a device. Those that cannot say "
    "why; those that can tell workspace, how many configs a search has to try, and the config of an untuned run.",
    examples=(
        ("miopen-perf solvers", "all solvers, with the types and layouts that they accept"),
        ('miopen-perf solvers "MIOpenDriver convbfp16 -n 1 -c 64 -k 64 -F 4"', "those that can compute one problem"),
        ("miopen-perf solvers smoke --solver '*Naive*' --json", "one family over a bundled workload, for a program"),
    ),
    findings="a problem that no solver can compute",
    add_arguments=_add_arguments,
    run=_run,
)
