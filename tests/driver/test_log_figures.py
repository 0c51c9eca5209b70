"""Figures against their own printed times: exact, within rounding, and wrong."""

import random

import pytest

from pytest_miopen_perf.driver.directions import B, F, W, kernel_direction, solver_direction
from pytest_miopen_perf.driver.figures import Agreement, dominating_time, judge_figures
from pytest_miopen_perf.records import ConfigRecord
from pytest_miopen_perf.statistics import miopen_statistics


def printed(times):
    """The config that a program prints which measured these times: all figures with six digits."""

    def digits(value):
        return float(f"{value:.6g}")

    figures = miopen_statistics(times)
    return ConfigRecord(
        config_name="c",
        exec_number=1,
        time_executions_ms=tuple(map(digits, times)),
        time_ms=digits(figures.time_ms),
        time_std_ms=digits(figures.std_ms),
        time_min_ms=digits(figures.min_ms),
        time_max_ms=digits(figures.max_ms),
        number_of_transformations=0,
        kernels=None,
    )


def changed(config, **fields):
    return ConfigRecord(**{name: getattr(config, name) for name in config.__slots__} | fields)


def test_no_sound_config_is_called_wrong():
    numbers = random.Random(5)
    judged = dict.fromkeys(Agreement, 0)
    for _ in range(4000):
        scale = 10 ** numbers.uniform(-4, 4)
        spread = 10 ** numbers.uniform(-6, 0)
        times = [scale * (1 + spread * numbers.expovariate(1)) for _ in range(numbers.randint(1, 40))]
        judged[judge_figures(printed(times))[0]] += 1
    assert judged[Agreement.DISAGREE] == 0
    assert judged[Agreement.NOT_REPRODUCIBLE] < 400


def test_a_rounded_away_spread_is_not_reproducible_rather_than_wrong():
    times = [1, 1, *[1 + 2e-7 * i for i in range(6)], 1.001]
    agreement, contradiction = judge_figures(printed(times))
    assert agreement is Agreement.NOT_REPRODUCIBLE
    assert contradiction == "time_ms is 1, but its times give 1.00014"


@pytest.mark.parametrize("figure", ["time_ms", "time_std_ms", "time_min_ms", "time_max_ms"])
@pytest.mark.parametrize("factor", [0.5, 0.999, 1.001, 2.0])
def test_a_wrong_figure_is_named(figure, factor):
    config = printed([5.12, 1.9, 1.5, 1.52, 1.48, 1.51, 1.49, 1.53, 9.75, 1.5])
    agreement, contradiction = judge_figures(changed(config, **{figure: getattr(config, figure) * factor}))
    assert agreement is Agreement.DISAGREE
    assert contradiction.startswith(f"{figure} is ")


def test_the_plain_mean_is_a_wrong_figure():
    times = [5.12, 1.9, 1.5, 1.52, 1.48, 1.51, 1.49, 1.53, 9.75, 1.5]
    mean = sum(times[2:]) / 8
    assert judge_figures(changed(printed(times), time_ms=mean))[0] is Agreement.DISAGREE


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((7, 3, 1, 1, 1, 1, 1, 50), 50),
        ((1, 1, 1, 1.1, 0.9), None),
        ((5, 1), None),
        ((5, 5, 5, 1), None),
    ],
)
def test_a_time_that_carries_the_mean(times, expected):
    assert dominating_time(printed(times)) == expected


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("ConvDirectNaiveConvFwd", F),
        ("ConvDirectNaiveConvBwd", B),
        ("ConvDirectNaiveConvWrw", W),
        ("ConvAsmBwdWrW3x3", W),
        ("ConvHipImplicitGemmBwdDataV4R1Xdlops", B),
        ("ConvHipImplicitGemmForwardV4R4Xdlops_Padded_Gemm", F),
        ("ConvWinograd3x3MultipassWrW<3-4>", W),
        ("GemmWrw1x1_stride1", W),
        ("GemmBwd1x1_stride2", B),
        ("ConvBinWinogradRxSf2x3", None),
        ("ConvOclDirectFwd1x1", None),
        ("ConvAsm5x10u2v2f1", None),
    ],
)
def test_directions_in_the_names_of_solvers(name, direction):
    assert solver_direction(name) is direction


@pytest.mark.parametrize(
    ("name", "direction"),
    [
        ("igemm_fwd_gtcx3_nhwc_bf16_bx0", F),
        ("igemm_wrw_gtcx_nhwc", W),
        ("naive_conv_ab_nonpacked_bwd_nchw_float_double_float", B),
        ("gridwise_convolution_backward_weights_implicit_gemm_v4r4r4_xdlops", W),
        ("gridwise_convolution_forward_implicit_gemm_v4r4", F),
        ("DeviceGroupedConvBwdDataMultipleD_Xdl_CShuffle<64>", B),
        ("DeviceGroupedConvBwdWeight_Xdl_CShuffle<64>", W),
        ("miopenSp3AsmConv_v21_1_3_gfx9_fp32_f2x3_stride1", None),
        ("batched_transpose_32x32_half", None),
    ],
)
def test_directions_in_the_names_of_kernels(name, direction):
    assert kernel_direction(name) is direction
