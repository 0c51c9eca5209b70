"""What the tests ask of MIOpenDriver."""

from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.settings import Settings

LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"


def one(line):
    (problem,) = ConvProblem.from_driver(line)
    return problem


PROBLEM = one(LINE)


def settings_of(level=1, **how):
    return Settings(level=level, **{"driver_timeout_seconds": 60.0, **how})
