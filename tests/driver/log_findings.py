"""What the checks find in lines of a log."""

from pytest_miopen_perf.driver.log_reader import read_log
from pytest_miopen_perf.driver.semantics import check_log


def check(*lines, level=None):
    return check_log(read_log([f"{line}\n" for line in lines]), level)


def codes(*lines, level=None):
    return [finding.code for finding in check(*lines, level=level)]


def message(*lines):
    (finding,) = check(*lines)
    return finding.message
