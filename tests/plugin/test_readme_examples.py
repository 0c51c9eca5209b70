"""What the README shows, run as it stands there."""

import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text()


def blocks(heading, language):
    section = README.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"^```{language}\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)


def test_the_first_example_collects_what_it_says(pytester):
    (test,) = blocks("A test", "python")
    pytester.makepyfile(test_example=test)
    result = pytester.runpytest("--collect-only", "-q", "-k", "test_layer")
    assert result.ret == 0
    assert sum("::test_layer[" in line for line in result.outlines) == 3


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_an_own_kernel_is_tuned_and_right(pytester, layout):
    (kernel,), (conftest,) = blocks("Own kernels", "hip"), blocks("Own kernels", "python")
    (pytester.path / "pointwise.hip").write_text(kernel)
    pytester.makeconftest(conftest)
    words = f"--in_layout {layout} --fil_layout {layout} --out_layout {layout}"
    pytester.makefile(".miopen.txt", own=f"MIOpenDriver convfp16 -n 2 -c 5 -H 6 -W 7 -k 3 -y 1 -x 1 {words} -F 1")
    options = ("--miopen-perf-solver=PointwiseFwd", "--miopen-perf-tune=missing", "--miopen-perf-iter=3")
    result = pytester.runpytest("--miopen-perf-backend=cpu", "--miopen-perf-level=3", *options)
    assert result.parseoutcomes() == {"passed": 1}
    result.stdout.re_match_lines([r" *tuned PointwiseFwd +3 .*", r" *of 3 valid, all tried"])


def test_an_own_kernel_says_what_it_does_not_compute(pytester):
    (conftest,) = blocks("Own kernels", "python")
    pytester.makeconftest(conftest)
    pytester.makefile(".miopen.txt", own="MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -F 1")
    result = pytester.runpytest("-rs", "--miopen-perf-backend=scripted", "--miopen-perf-solver=PointwiseFwd")
    assert result.parseoutcomes() == {"skipped": 1}
    result.stdout.fnmatch_lines(["*Pointwise computes 1x1 filters with stride 1, no pad and one group*"])
