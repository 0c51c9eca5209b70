"""`conv_problem` and `conv_solver`: named by problems and solvers, never by hardware."""

import pytest

LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 0"


@pytest.fixture
def solver_test(pytester):
    pytester.makepyfile(
        test_solvers=f"""
        import pytest

        @pytest.mark.miopen_perf(problems=[{LINE!r}])
        def test_solver(miopen_perf, conv_problem, conv_solver):
            miopen_perf(conv_problem, conv_solver)
        """
    )


@pytest.mark.usefixtures("solver_test")
def test_a_solver_meets_only_the_directions_that_it_serves(run):
    result = run("--collect-only", "-q", "--miopen-perf-solver=*Naive*")
    assert sorted(line for line in result.outlines if "::" in line) == [
        "test_solvers.py::test_solver[fp32-B-1x4x6x6-k4-3x3-p1-HipConvNaiveBwd]",
        "test_solvers.py::test_solver[fp32-F-1x4x6x6-k4-3x3-p1-HipConvNaiveFwd]",
        "test_solvers.py::test_solver[fp32-W-1x4x6x6-k4-3x3-p1-HipConvNaiveWrw]",
    ]
    assert run("--miopen-perf-solver=*Naive*").parseoutcomes() == {"passed": 3}


@pytest.mark.usefixtures("solver_test")
def test_every_solver_that_applies_passes_and_the_others_say_why_not(run):
    outcomes = run("-rs").parseoutcomes()
    assert "failed" not in outcomes
    assert outcomes["passed"] >= 6


@pytest.mark.usefixtures("solver_test")
def test_the_solver_option_selects(run):
    assert run("--miopen-perf-solver=*Naive*").parseoutcomes() == {"passed": 3}
    refused = run("--miopen-perf-solver=*Fft*")
    assert refused.ret != 0
    assert any("no solver is called '*Fft*'; there are: HipConv" in x for x in refused.outlines + refused.errlines)


@pytest.mark.parametrize(
    ("arguments", "solver", "reason"),
    [
        ("", "*Direct1x1*", "HipConvDirect1x1Fwd, HipConvDirect1x1Bwd: none computes the direction of a problem*"),
        ("solvers=['*Naive*']", "*Gemm*", "--miopen-perf-solver leaves none of the solvers that the marker*"),
    ],
)
def test_where_no_solver_is_left_the_skip_says_so(pytester, run, arguments, solver, reason):
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.miopen_perf(problems=[{LINE.replace("-F 0", "-F 4")!r}], {arguments})
        def test_solver(miopen_perf, conv_problem, conv_solver):
            miopen_perf(conv_problem, conv_solver)

        @pytest.mark.miopen_perf({arguments})
        def test_name(conv_solver):
            pass
        """
    )
    result = run("-rs", f"--miopen-perf-solver={solver}")
    assert "failed" not in result.parseoutcomes()
    result.stdout.fnmatch_lines([f"SKIPPED * {reason}"])
    assert "empty parameter set" not in result.stdout.str()


def test_collect_only_opens_no_device_and_compiles_nothing(pytester, convolution_test, monkeypatch):
    convolution_test()
    monkeypatch.setattr("pytest_miopen_perf.session.open_device", lambda settings: pytest.fail("a device was opened"))
    result = pytester.runpytest("--collect-only", "-q", "--miopen-perf-level=4")
    assert result.ret == 0
    assert "test_conv.py::test_conv[fp32-F-1x4x6x6-k4-3x3-p1]" in result.outlines


def test_problems_of_the_command_line_replace_those_of_the_marker(run, convolution_test):
    convolution_test()
    result = run("--collect-only", "-q", "--miopen-perf-problems=convfp16 -n 1 -c 8 -H 5 -W 5 -k 8 -y 1 -x 1 -F 2")
    assert [line for line in result.outlines if "::" in line] == ["test_conv.py::test_conv[fp16-B-1x8x5x5-k8-1x1]"]


def test_problems_come_from_files_beside_the_test_and_from_bundled_lists(pytester, run, convolution_test):
    (pytester.path / "mine.txt").write_text(f"# mine\n{LINE}\nnot a command\n{LINE}\n")
    convolution_test("mine.txt", "smoke")
    result = run("--collect-only", "-q")
    ids = [line for line in result.outlines if "::" in line]
    assert len(ids) == len(set(ids)) > 40
    assert "test_conv.py::test_conv[fp32-W-1x4x6x6-k4-3x3-p1]" in ids


@pytest.mark.parametrize("name", ["no_such_list", "no/such/file.txt"])
def test_an_unknown_list_says_what_exists(run, convolution_test, name):
    convolution_test(name)
    result = run()
    assert result.ret != 0
    assert any(name in line and "smoke" in line for line in result.outlines + result.errlines)


def test_problem_objects_are_problems(pytester, run):
    pytester.makepyfile(
        f"""
        import pytest
        from pytest_miopen_perf.problem import ConvProblem

        @pytest.mark.miopen_perf(problems=ConvProblem.from_driver({LINE!r}))
        def test_conv(miopen_perf, conv_problem):
            miopen_perf(conv_problem)
        """
    )
    assert run().parseoutcomes() == {"passed": 3}


def test_keyword_selection_works_on_the_names(run, convolution_test):
    convolution_test("smoke")
    assert run("--collect-only", "-q", "-k", "bf16 and NHWC").ret == 0
