"""Lines of performance logs in MIOpen's format, with made-up values: S1 to S21 of the format's description."""

import json


def config(name, times, figures, *, descriptor="", kernels="null", transformations=0, exec_number=1):
    """A config as MIOpen prints it; `figures` are time, std, min and max, as texts."""
    text = f'"config_descriptor":"{descriptor}",' if descriptor else ""
    mean, std, least, greatest = figures.split()
    return (
        f'{{"config_name":"{name}",{text}"exec_number":{exec_number},"time_executions_ms":[{times}],"time_ms":{mean},'
        f'"time_std_ms":{std},"time_min_ms":{least},"time_max_ms":{greatest},'
        f'"number_of_transformations":{transformations},"kernels":{kernels}}}'
    )


def kernel(name, times, *, is_transformation=False):
    flag = "true" if is_transformation else "false"
    return f'{{"kernel_name":"{name}","time_executions_ms":[{times}],"is_transformation":{flag}}}'


def solution(name, *configs, solver_id=137, workspace=0, phase="execution"):
    return (
        f'{{"solution":"{name}","solver_id":{solver_id},"workspace_bytes":{workspace},"phase":"{phase}",'
        f'"performance_configs":[{",".join(configs)}]}}'
    )


def performance(solver, average, direction="forward", solver_id=137):
    """A performance line of a 3x3 convolution of 128 channels, 256x256, in bf16, whose counts and rates are right."""
    word, letter = {
        "forward": ("fwd", "F"),
        "backward": ("bwdd", "B"),
        "backward-weights": ("bwdw", "W"),
    }[direction]
    flops, weights, tensor = 19327352832, 294912, 16777216
    read, written = {"F": (tensor + weights, tensor), "B": (tensor + weights, tensor), "W": (2 * tensor, weights)}[
        letter
    ]
    results = {
        "average_time_ms": average,
        "flop_count": flops,
        "bytes_read": read,
        "bytes_written": written,
        "gflops": float(f"{flops / average / 1e6:.6g}"),
        "gb_per_s": float(f"{(read + written) / average / 1e6:.6g}"),
    }
    return json.dumps(
        {
            "performance": {
                "name": f"{word}-conv3x3u1",
                "algorithm": 5,
                "solution": f"{solver_id}/{solver}",
                "direction": direction,
                "operation": "conv",
                "dimensions": 2,
                "n": 1,
                "c": 128,
                "ho": 256,
                "wo": 256,
                "y": 3,
                "x": 3,
                "k": 128,
                "db_key": f"128-256-256-3x3-128-256-256-1-1x1-1x1-1x1-0-NCHW-BF16-{letter}",
                "perf_db_key": f"2x128x256x256x1x3x3x1x128x1x1x1x0x1x1x0x1x1x0x0x1xNCHWxBF16x{letter}",
                "results": results,
            }
        },
        separators=(",", ":"),
    )


COMMAND = '{"command":"MIOpenDriver convbfp16 -n 1 -c 128 -H 256 -W 256 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1"}'
SEED = '{"prng_seed":12345678}'
SYSTEM = (
    '{"timestamp":"2026-04-01 12:00:00 UTC","system_info":{"hostname":"h1","os":"Linux 6.8.0-31-generic",'
    '"cpu_vendor":"AMD","cpu_model":"2 x EPYC 9654","ram_size":"1511 GB","gpu_model":"8 x AMD Instinct MI300X"},'
    '"build_info":{"rocm":"7.1.25424","miopen_version":"3.5.1","amdgpu_driver":"6.14.15"}}'
)
FIND = (
    '{"find_time_conv_ms":812.345,"direction":"forward","environment_variables":{"MIOPEN_FIND_MODE":5,'
    '"MIOPEN_FIND_ENFORCE":1,"MIOPEN_DEBUG_DISABLE_FIND_DB":0,"MIOPEN_DEBUG_CONV_FFT":0,"MIOPEN_DEBUG_CONV_DIRECT":0,'
    '"MIOPEN_DEBUG_CONV_GEMM":0,"MIOPEN_DEBUG_CONV_WINOGRAD":0,"MIOPEN_DEBUG_CONV_IMPLICIT_GEMM":0,'
    '"MIOPEN_DEBUG_CONV_IMMED_FALLBACK":0,"MIOPEN_DEBUG_ENABLE_AI_IMMED_MODE_FALLBACK":0,'
    '"MIOPEN_DEBUG_FORCE_IMMED_MODE_FALLBACK":0,"MIOPEN_DEBUG_FIND_ONLY_SOLVER":"",'
    '"MIOPEN_TUNING_PATIENCE":18446744073709551615,"MIOPEN_TUNING_TIME_MS_MAX":7200000,"MIOPEN_SEARCH_CUTOFF":0,'
    '"MIOPEN_SEARCH_CUTOFF_MUL":10,"MIOPEN_SEARCH_SKIP_PCT":0,"MIOPEN_DEVICE_ARCH":"","MIOPEN_DEVICE_CU":"",'
    '"MIOPEN_DEBUG_CHECK_SUB_BUFFER_OOB_MEMORY_ACCESS":0,"MIOPEN_LOG_LEVEL":0}}'
)
VERIFIED = (
    '{"verification":{"direction":"forward","status":"OK","reference":"GPU","error":2.19793e-08,"tolerance":1.5e-06}}'
)

S1 = solution(
    "ConvHipImplicitGemmGroupFwdXdlops",
    config(
        "ConvHipImplicitGemmGroupFwdXdlops",
        "5.12,1.9,1.5,1.52,1.48,1.51,1.49,1.53,9.75,1.5",
        "1.50429 2.91534 1.48 9.75",
    ),
)
S2 = solution(
    "ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC",
    config(
        "igemm_fwd_gtcx3_nhwc_bf16_bx0",
        "1.58,1.4",
        "1.49 0.09 1.4 1.58",
        transformations=2,
        kernels="["
        + ",".join(
            (
                kernel("SubTensorOpWithScalar1d", "0.08,0.07", is_transformation=True),
                kernel("batched_transpose_32x32_half", "0.33,0.27,0.31,0.26", is_transformation=True),
                kernel("igemm_fwd_gtcx3_nhwc_bf16_bx0", "0.9,0.76"),
            )
        )
        + "]",
    ),
    solver_id=98,
)
S4 = solution(
    "ConvHipImplicitGemmGroupFwdXdlops",
    config(
        "DeviceGroupedConvFwd<64, 64, 16>",
        "3.2,1.1",
        "2.15 1.05 1.1 3.2",
        descriptor="DeviceGroupedConvFwd<64, 64, 16>",
    ),
    config(
        "DeviceGroupedConvFwd<256, 128, 32>",
        "0.9,0.52,0.5,0.51,0.5,0.49,0.5,0.5,0.51,0.5,0.5",
        "0.501111 0.00566557 0.49 0.51",
        descriptor="DeviceGroupedConvFwd<256, 128, 32>",
    ),
    config(
        "ConvHipImplicitGemmGroupFwdXdlops",
        "",
        "0 0 0 0",
        descriptor="DeviceGroupedConvFwd<128, 32, 64>",
        exec_number=2**64 - 1,
    ),
    workspace=1048576,
    phase="solver_tuning",
)
S5 = solution(
    "ConvDirectNaiveConvFwd",
    config("ConvDirectNaiveConvFwd", "0.21,0.205,0.2,0.202,0.198,0.201,0.26", "0.20025 0.0267537 0.198 0.26"),
    solver_id=85,
    phase="solver_tuning",
)
S7 = solution("ConvA", config("ConvA", "7,3,1,1,1,1,1,50", "9.16667 18.2612 1 50"))
S9 = solution("note nan inf", config("note ,nan,inf", "0.1,nan,0.1", "-nan -nan 0.1 inf"))
S9_PERFORMANCE = performance("ConvA", 1.5).replace('"average_time_ms":1.5', '"average_time_ms":0')
S9_PERFORMANCE = S9_PERFORMANCE[: S9_PERFORMANCE.index('"gflops"')] + '"gflops":inf,"gb_per_s":inf}}}'
S10 = solution(
    "ConvBinWinogradRxSf2x3",
    config("ConvBinWinogradRxSf2x3", "0.3,0.12,0.1,0.1,0.1", "0.1 0 0.1 0.1"),
    config("ConvBinWinogradRxSf2x3", "0.4,0.22,0.2,0.2,0.2", "0.2 0 0.2 0.2"),
    solver_id=53,
)
S10_FORWARD = performance("ConvBinWinogradRxSf2x3", 0.105, solver_id=53)
S10_BACKWARD = performance("ConvBinWinogradRxSf2x3", 0.205, "backward", solver_id=53)
A, B = (solution(name, config(name, "1,2", "1.5 0.5 1 2"), solver_id=1) for name in "AB")
S12 = f"MIOpen(HIP): Info [Find] x{A}{B}"
S13_TAIL = A[A.index("ace_bytes") :]
S13 = (f"{A[: A.index('ace_bytes')]}MIOpen(HIP): Info [X] y", S13_TAIL)
S16 = solution(
    "ConvAsmImplicitGemmGTCDynamicBwdXdlopsNHWC",
    config(
        "igemm_fwd_gtcx3_nhwc_fp32",
        "0.71,0.7,0.7,0.7",
        "0.7 0 0.7 0.7",
        descriptor="bwd,nhwc,fp32,0,1,64",
        kernels="["
        + ",".join(
            (
                kernel("igemm_bwd_gtcx3_nhwc_fp32", "0.7,0.7,0.7,0.7"),
                kernel("igemm_fwd_gtcx3_nhwc_fp32", "0.4,0.4"),
                kernel("naive_conv_ab_nonpacked_fwd_nchw_float_double_float", "9.1"),
            )
        )
        + "]",
    ),
    solver_id=99,
    workspace=8192,
    phase="solver_tuning",
)
S18 = '{"command":"MIOpenDriver conv -d "my file.bin" -F 1"}'
S18_BACKSLASH = r'{"command":"MIOpenDriver conv -d a\new.bin"}'
S21 = (
    '{"verification":{"direction":"backward_data","status":"FAILED","reference":"GPU","error":1.79769e+308,'
    '"tolerance":1.5e-05}}'
)

DRAFTS = (
    (
        '{"solution":"A","solver_id":1,"phase":"execution","kernels":[{"exec_id":0,"kernel_name":"k","time_ms":1,'
        '"timestamp":5,"is_transform":false}]}'
    ),
    '{"exec_id":0,"kernel_name":"k","time_ms":1,"timestamp":5,"is_transform":false}',
    (
        '{"solution":"A","solver_id":1,"phase":"tuning","kernels":[{"kernel_name":"k","time_executions_ms":[1,2],'
        '"time_ms":2,"time_std_ms":0,"time_min_ms":2,"time_max_ms":2,"number_of_transformations":0,'
        '"transformation_kernels":[],"exec_number":1,"is_transformation":false}]}'
    ),
)

EVERY_LINE = (
    *(COMMAND, SEED, SYSTEM, FIND, VERIFIED, S1, S2, S4, S5, S7, S9, S9_PERFORMANCE, S10, S10_FORWARD, S10_BACKWARD),
    *(S12, *S13, S16, S18, S18_BACKSLASH, S21, *DRAFTS, '{"error":"RunForwardGPU() FAILED, rc = 0x7"}'),
)


def timed_run(*times_ms, verified=VERIFIED, solver="ConvHipImplicitGemmGroupFwdXdlops"):
    """The lines of a run whose timed executions took so long."""
    times_ms = [float(f"{time:.6g}") for time in times_ms]
    steady = times_ms[2:]
    mean = sum(steady) / len(steady)
    deviation = (sum((time - mean) ** 2 for time in steady) / len(steady)) ** 0.5
    average = sum(times_ms[1:]) / (len(times_ms) - 1)
    figures = f"{mean:.6g} {deviation:.6g} {min(steady):.6g} {max(steady):.6g}"
    return [
        COMMAND,
        solution(solver, config(solver, ",".join(map(str, times_ms)), figures)),
        performance(solver, float(f"{average:.6g}")),
        *([verified] if verified else []),
    ]
