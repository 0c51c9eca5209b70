"""Lines in MIOpen's shape, one of each kind, and what breaks them."""

import json
import math

UNMEASURED = 2**64 - 1
NUMBER_VARIABLES = """
MIOPEN_FIND_MODE=5 MIOPEN_FIND_ENFORCE=1 MIOPEN_DEBUG_DISABLE_FIND_DB=0 MIOPEN_DEBUG_CONV_FFT=0
MIOPEN_DEBUG_CONV_DIRECT=0 MIOPEN_DEBUG_CONV_GEMM=0 MIOPEN_DEBUG_CONV_WINOGRAD=0 MIOPEN_DEBUG_CONV_IMPLICIT_GEMM=0
MIOPEN_DEBUG_CONV_IMMED_FALLBACK=0 MIOPEN_DEBUG_ENABLE_AI_IMMED_MODE_FALLBACK=0
MIOPEN_DEBUG_FORCE_IMMED_MODE_FALLBACK=0 MIOPEN_DEBUG_FIND_ONLY_SOLVER= MIOPEN_TUNING_PATIENCE=18446744073709551615
MIOPEN_TUNING_TIME_MS_MAX=7200000 MIOPEN_SEARCH_CUTOFF=0 MIOPEN_SEARCH_CUTOFF_MUL=10 MIOPEN_SEARCH_SKIP_PCT=0
MIOPEN_DEVICE_ARCH= MIOPEN_DEVICE_CU= MIOPEN_DEBUG_CHECK_SUB_BUFFER_OOB_MEMORY_ACCESS=0 MIOPEN_LOG_LEVEL=0
"""
ENVIRONMENT = {
    name: int(value) if value else "" for name, value in (pair.split("=") for pair in NUMBER_VARIABLES.split())
}


def config_json(times="[1.5,1.25]", figures=("1.375", "0.125", "1.25", "1.5"), exec_number=1, rest=""):
    mean, std, least, greatest = figures
    return (
        f'{{"config_name":"ConvFwd",{rest}"exec_number":{exec_number},"time_executions_ms":{times},"time_ms":{mean},'
        f'"time_std_ms":{std},"time_min_ms":{least},"time_max_ms":{greatest},"number_of_transformations":0,'
        f'"kernels":null}}'
    )


def solution_json(*configs, phase="execution"):
    return (
        f'{{"solution":"ConvFwd","solver_id":137,"workspace_bytes":0,"phase":"{phase}",'
        f'"performance_configs":[{",".join(configs)}]}}'
    )


FAILED_CONFIG = config_json("[]", "0000", UNMEASURED, '"config_descriptor":"DeviceGroupedConv<128, 32, 64>",')
WITH_KERNELS = config_json().replace(
    '"kernels":null',
    '"kernels":[{"kernel_name":"SubTensorOp","time_executions_ms":[0.08,0.07],"is_transformation":true},'
    '{"kernel_name":"igemm","time_executions_ms":[],"is_transformation":false}]',
)
PERFORMANCE_2D = (
    '{"performance":{"name":"fwd-conv3x3u1","algorithm":5,"solution":"137/ConvFwd<2-3>","direction":"forward",'
    '"operation":"conv","dimensions":2,"n":1,"c":128,"ho":256,"wo":256,"y":3,"x":3,"k":128,'
    '"db_key":"128-256-256-3x3-128-256-256-1-1x1-1x1-1x1-0-NCHW-BF16-F",'
    '"perf_db_key":"2x128x256x256x1x3x3x1x128x1x1x1x0x1x1x0x1x1x0x0x1xNCHWxBF16xF",'
    '"results":{"average_time_ms":0.145735,"flop_count":19327352832,"bytes_read":17072128,"bytes_written":16777216,'
    '"gflops":132620,"gb_per_s":232.266}}}'
)
PERFORMANCE_3D = (
    PERFORMANCE_2D.replace('"dimensions":2', '"dimensions":3')
    .replace("conv3x3u1", "conv3x3x3u2")
    .replace('"ho"', '"do":4,"ho"')
    .replace('"y"', '"z":3,"y"')
)
LINES = {
    "command": '{"command":"MIOpenDriver conv -n 1 -c 128 -H 256 -W 256 -k 128 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1"}',
    "prng seed": '{"prng_seed":12345678}',
    "system": (
        '{"timestamp":"2026-04-01 12:00:00 UTC","system_info":{"hostname":"h1","os":"Linux 6.8.0","cpu_vendor":"AMD",'
        '"cpu_model":"2 x EPYC 9654","ram_size":"1511 GB","gpu_model":"8 x AMD Instinct MI300X"},'
        '"build_info":{"rocm":"7.1.25424","miopen_version":"3.5.1","amdgpu_driver":"6.14.15"}}'
    ),
    "build": '{"build_info":{"miopen_version":"3.5.1"}}',
    "find": json.dumps(
        {"find_time_conv_ms": 812.345, "direction": "backward-data", "environment_variables": ENVIRONMENT},
        separators=(",", ":"),
    ),
    "performance 2-D": PERFORMANCE_2D,
    "performance 3-D": PERFORMANCE_3D,
    "verification": (
        '{"verification":{"direction":"backward_bias","status":"OK","reference":"GPU","error":2.19793e-08,'
        '"tolerance":1.5e-06}}'
    ),
    "verification of a run that failed": (
        '{"verification":{"direction":"backward_data","status":"FAILED","reference":"GPU","error":1.79769e+308,'
        '"tolerance":1.5e-05}}'
    ),
    "error": '{"error":"ParseCmdLineArgs() FAILED, rc = 1"}',
    "executed solution": solution_json(config_json()),
    "solution with kernels": solution_json(WITH_KERNELS),
    "search with a failed config": solution_json(config_json(), FAILED_CONFIG, phase="solver_tuning"),
}


# --- Broken lines -----------------------------------------------------------------------------------------------------


def broken(line, path, value):
    """The decoded line with the value at a path replaced, or taken away for `...`."""
    data = json.loads(LINES[line])
    *parents, last = path.split("/")
    place = data
    for step in parents:
        place = place[int(step) if step.isdigit() else step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return data


CONFIG = "performance_configs/0"
SEARCH = "search with a failed config"
KERNEL = f"{CONFIG}/kernels/0"
BROKEN = [
    ("executed solution", "phase", "warm-up", "$.phase"),
    ("executed solution", "solution", "", "$.solution"),
    ("executed solution", "solver_id", -1, "$.solver_id"),
    ("executed solution", "solver_id", 2**64, "$.solver_id"),
    ("executed solution", "workspace_bytes", 0.5, "$.workspace_bytes"),
    ("executed solution", "workspace_bytes", ..., "$: 'workspace_bytes'"),
    ("executed solution", "performance_configs", [], "$.performance_configs"),
    ("executed solution", "note", 1, "'note'"),
    ("executed solution", f"{CONFIG}/time_ms", -1, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_ms", math.nan, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_ms", math.inf, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_ms", None, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_ms", True, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_executions_ms", [1, "2"], "$.performance_configs[0].time_executions_ms[1]"),
    ("executed solution", f"{CONFIG}/time_executions_ms", [1.5, math.nan], "time_executions_ms[1]"),
    ("executed solution", f"{CONFIG}/time_executions_ms", [], "$.performance_configs[0].time_executions_ms"),
    ("executed solution", f"{CONFIG}/exec_number", 2, "$.performance_configs[0].exec_number"),
    ("executed solution", f"{CONFIG}/exec_number", 0, "$.performance_configs[0].exec_number"),
    ("executed solution", f"{CONFIG}/exec_number", True, "$.performance_configs[0].exec_number"),
    ("executed solution", f"{CONFIG}/config_descriptor", "", "$.performance_configs[0].config_descriptor"),
    ("executed solution", f"{CONFIG}/kernels", ..., "'kernels' is a required property"),
    ("executed solution", f"{CONFIG}/kernels", {}, "$.performance_configs[0].kernels"),
    ("executed solution", f"{CONFIG}/number_of_transformations", -1, "number_of_transformations"),
    ("solution with kernels", f"{KERNEL}/is_transformation", 1, "$.performance_configs[0].kernels[0].is_transf"),
    ("solution with kernels", f"{KERNEL}/time_ms", 1, "'time_ms'"),
    ("prng seed", "prng_seed", 2**32, "$.prng_seed"),
    ("command", "command", "", "$.command"),
    ("command", "time", 1, "'time'"),
    ("system", "timestamp", "yesterday", "$.timestamp"),
    ("system", "system_info/gpus", "8", "$.system_info"),
    ("build", "build_info/rocm", "7", "$.build_info"),
    ("find", "environment_variables/MIOPEN_FIND_MODE", "5", "$.environment_variables.MIOPEN_FIND_MODE"),
    ("find", "environment_variables/MIOPEN_LOG_LEVEL", ..., "'MIOPEN_LOG_LEVEL'"),
    ("find", "direction", "backward", "$.direction"),
    ("performance 2-D", "performance/do", 1, "'do'"),
    ("performance 3-D", "performance/do", ..., "'do'"),
    ("performance 2-D", "performance/direction", "backward-data", "$.performance.direction"),
    ("performance 2-D", "performance/solution", "ConvFwd", "$.performance.solution"),
    ("performance 2-D", "performance/results/gflops", math.inf, "$.performance.results.gflops"),
    ("performance 3-D", "performance/name", "fwd-conv3x3u1", "$.performance.name"),
    ("verification", "verification/status", "PASSED", "$.verification.status"),
    ("verification", "verification/direction", "backward-data", "$.verification.direction"),
    ("error", "error", None, "$.error"),
    ("executed solution", f"{CONFIG}/time_ms", 3.5e38, "$.performance_configs[0].time_ms"),
    ("executed solution", f"{CONFIG}/time_max_ms", 10**400, "$.performance_configs[0].time_max_ms"),
    ("find", "find_time_conv_ms", 10**400, "$.find_time_conv_ms"),
    ("performance 2-D", "performance/results/average_time_ms", 10**400, "$.performance.results.average_time_ms"),
    ("performance 2-D", "performance/results/gb_per_s", 10**400, "$.performance.results.gb_per_s"),
    ("verification", "verification/error", 10**400, "$.verification.error"),
    ("verification", "verification/tolerance", 10**400, "$.verification.tolerance"),
]
