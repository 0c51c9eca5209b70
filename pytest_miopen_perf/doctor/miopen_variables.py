"""MIOpen's variables, except the switches of solvers; from its source and its page of environment variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.doctor.readings import (
    Reading,
    read_enforce,
    read_find_mode,
    read_fusion_find_mode,
    read_mask,
    read_one_of,
)
from pytest_miopen_perf.doctor.variables import (
    Group,
    Variable,
    is_off,
    is_on,
    is_set,
    number,
    switch,
    text,
    unlike_normal_use_when,
    worthless_when,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_FIND, _DATABASES, _LOGGING = Group.FIND, Group.DATABASES, Group.LOGGING
_CHECKS, _DRIVER, _DEVICE, _SOLVERS = Group.CHECKS, Group.DRIVER, Group.DEVICE, Group.SOLVERS
_UNSET = "unset it while measuring"


def _is(*values: int) -> Callable[[Reading], bool]:
    return lambda reading: reading.value in values


def _at_least(least: int) -> Callable[[Reading], bool]:
    return lambda reading: isinstance(reading.value, int) and reading.value >= least


_FIND_VARIABLES = (
    Variable(
        name="MIOPEN_FIND_MODE",
        group=_FIND,
        read=read_find_mode,
        meaning="says how much a Find call does: NORMAL times every applicable solver, FAST times none (find-db, else "
        "a guess), HYBRID times on a miss only, DYNAMIC_HYBRID (the default) then only solvers that compile nothing, "
        "TRUST_VERIFY checks a hit by timing",
        concern=unlike_normal_use_when(
            _is(2),
            "on a miss FAST reports a solver that was guessed, with a time that was never measured",
            "set NORMAL to compare solvers; never store times of FAST",
        ),
    ),
    Variable(
        name="MIOPEN_FIND_MODE_FUSION",
        group=_FIND,
        read=read_fusion_find_mode,
        meaning="is MIOPEN_FIND_MODE of fused operations; the default is FAST",
    ),
    Variable(
        name="MIOPEN_FIND_ENFORCE",
        group=_FIND,
        read=read_enforce,
        meaning="makes every Find call search the configs of tunable solvers, write them, or delete them",
        concern=worthless_when(
            _is(5),
            "DB_CLEAN deletes tuned configs from the user's perf-db with every Find call",
            "unset it, unless losing them is what you want",
        ),
    ),
    switch("MIOPEN_SEARCH_CUTOFF", _FIND, "ends a search early when it seems to lead nowhere; off by default"),
    number("MIOPEN_SEARCH_CUTOFF_MUL", _FIND, "is the factor of MIOPEN_SEARCH_CUTOFF; 10 by default"),
    number("MIOPEN_SEARCH_SKIP_PCT", _FIND, "skips a config that is slower than this percentage of the best; 0 is off"),
    number("MIOPEN_FIND_SKIP_PCT", _FIND, "skips a solver whose first samples exceed this percentage of the best"),
    switch("MIOPEN_NAIVE_TIMEOUT", _FIND, "gives up naive solvers that take too long; on by default"),
    number("MIOPEN_NAIVE_TIMEOUT_FACTOR", _FIND, "is that limit, in percent of the best solver's time; 300 by default"),
    number("MIOPEN_NAIVE_MAX_DRAINING", _FIND, "is how many given-up naive launches may still be running"),
    number("MIOPEN_CONV_DIRECT_MAX_SIZE", _FIND, "leaves direct solvers out of problems beyond this size"),
    switch("MIOPEN_TUNING_ALLOW_OUTLIERS", _FIND, "leaves outliers in the times of a search"),
    number(
        "MIOPEN_TUNING_PATIENCE", _FIND, "ends a search after so many configs without improvement; no limit by default"
    ),
    number("MIOPEN_TUNING_TIME_MS_MAX", _FIND, "ends a search after so many milliseconds; 7200000 by default"),
    number("MIOPEN_DEBUG_TUNING_ITERATIONS_MAX", _FIND, "ends a search after so many configs; no limit by default"),
    number("MIOPEN_COMPILE_PARALLEL_LEVEL", _FIND, "is how many threads compile; half of the cores by default"),
    switch(
        "MIOPEN_FIND_CONV_INSUFFICIENT_WORKSPACE_ALLOW_FINDDB_UPDATE",
        _FIND,
        "lets a Find call that had too little workspace for some solvers write the find-db all the same",
        unlike_normal_use_when(
            is_on, "a choice that lacked workspace is stored and served to later runs", "unset it, and give workspace"
        ),
    ),
    switch("MIOPEN_DEBUG_CONV_IMMED_FALLBACK", _FIND, "lets immediate mode guess when the find-db has no entry"),
    switch("MIOPEN_DEBUG_ENABLE_AI_IMMED_MODE_FALLBACK", _FIND, "lets that guess be made by the AI models"),
    switch("MIOPEN_DEBUG_LGBM_ONLY", _FIND, "leaves only the LightGBM models for that guess"),
    switch(
        "MIOPEN_DEBUG_FORCE_IMMED_MODE_FALLBACK",
        _FIND,
        "makes immediate mode guess although the find-db has an entry",
        unlike_normal_use_when(is_on, "solvers are guessed, and their times are no measurements", _UNSET),
    ),
)

_SOLVER_VARIABLES = (
    text(
        "MIOPEN_DEBUG_FIND_ONLY_SOLVER",
        _SOLVERS,
        "leaves only these solvers, ids or names with ; between them, to a Find call",
        unlike_normal_use_when(
            is_set, "other solvers cannot win, so that times tell nothing about the choice that MIOpen makes", _UNSET
        ),
    ),
    text(
        "MIOPEN_DEBUG_PERFDB_OVERRIDE",
        _SOLVERS,
        "pins configs, as solver;params:solver;params, whatever the perf-db says",
        unlike_normal_use_when(is_set, "the pinned configs run instead of the tuned ones", _UNSET),
    ),
    switch(
        "MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC",
        _SOLVERS,
        "leaves out solvers whose result depends on the order of additions",
        unlike_normal_use_when(is_on, "the solvers with atomics, often the fastest for weights, are left out", _UNSET),
    ),
    number(
        "MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP16_ALT_IMPL",
        _SOLVERS,
        "computes fp16 convolutions with the range of bf16 on gfx90a, whatever the attribute of the call says",
        unlike_normal_use_when(is_on, "fp16 runs other kernels with another precision", _UNSET),
    ),
    number(
        "MIOPEN_CONVOLUTION_ATTRIB_FP16_ALT_IMPL",
        _SOLVERS,
        "computes fp16 convolutions with the range of bf16 on gfx90a",
        unlike_normal_use_when(is_on, "fp16 runs other kernels with another precision", _UNSET),
    ),
    number("MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP8_ROUNDING_MODE", _SOLVERS, "is how fp8 results are rounded"),
    number("MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP8_ROUNDING_SEED", _SOLVERS, "is the seed of stochastic fp8 rounding"),
    Variable(
        name="MIOPEN_GEMM_ENFORCE_BACKEND",
        group=_SOLVERS,
        read=read_one_of({1: "rocBLAS", 3: "no GEMM at all", 5: "hipBLASLt"}, other="the default"),
        meaning="chooses the library of the GEMM solvers",
        concern=unlike_normal_use_when(_is(3), "the GEMM solvers are left out", _UNSET),
    ),
    number(
        "MIOPEN_DEBUG_AMD_WINOGRAD_MPASS_WORKSPACE_MAX",
        _SOLVERS,
        "caps the workspace of the multi-pass Winograd solvers for weights, in bytes; 0 is the default, 1 forbids it",
    ),
    number(
        "MIOPEN_DEBUG_AMD_MP_BD_WINOGRAD_WORKSPACE_MAX",
        _SOLVERS,
        "caps the workspace of the multi-pass Winograd solvers for data, in bytes; 0 is the default, 1 forbids it",
    ),
    text("MIOPEN_CK_LIB_PATH", _SOLVERS, "is where the libraries of Composable Kernel solvers are looked for"),
)

_DATABASE_VARIABLES = (
    text("MIOPEN_USER_DB_PATH", _DATABASES, "is the directory of the user's find-db and perf-db"),
    text("MIOPEN_SYSTEM_DB_PATH", _DATABASES, "is the directory of the data bases that come with the library"),
    text("MIOPEN_CUSTOM_CACHE_DIR", _DATABASES, "is the directory of compiled kernels"),
    switch(
        "MIOPEN_DISABLE_CACHE",
        _DATABASES,
        "keeps no compiled kernels, so that every process compiles its own",
        unlike_normal_use_when(is_on, "set-up times contain compiling in every run", _UNSET),
    ),
    switch(
        "MIOPEN_DEBUG_DISABLE_FIND_DB",
        _DATABASES,
        "hides the find-dbs",
        unlike_normal_use_when(
            is_on, "every problem is a miss, and logs name the solver 0/UNKNOWN", "use an empty MIOPEN_USER_DB_PATH"
        ),
    ),
    switch(
        "MIOPEN_DEBUG_DISABLE_SYSTEM_DB",
        _DATABASES,
        "hides the data bases that come with the library",
        unlike_normal_use_when(is_on, "solvers and configs are guessed instead of looked up", _UNSET),
    ),
    switch("MIOPEN_DEBUG_DISABLE_USER_DB", _DATABASES, "neither reads nor writes the user's data bases"),
    switch("MIOPEN_USE_SQLITE_PERFDB", _DATABASES, "keeps the perf-db in SQLite, which needs file locks"),
    switch("MIOPEN_DEBUG_DISABLE_SQL_WAL", _DATABASES, "keeps SQLite from a write-ahead log, for shared file systems"),
    switch(
        "MIOPEN_DBSYNC_CLEAN",
        _DATABASES,
        "lets MIOpen's data-base test drop entries that do not fit",
        worthless_when(is_on, "it deletes entries of the data bases", "unset it outside MIOpen's own tests"),
    ),
)

_LOG_LEVELS = {
    0: "default, warnings in a release build",
    1: "quiet",
    2: "fatal errors",
    3: "errors",
    4: "warnings",
    5: "info",
    6: "details",
    7: "trace",
}
_COSTS_TIME = "writing its lines takes host time between kernels"
_HOST_NAME = "its lines carry the machine's name, which is personal data in a shared log"

_LOGGING_VARIABLES = (
    Variable(
        name="MIOPEN_LOG_LEVEL",
        group=_LOGGING,
        read=read_one_of(_LOG_LEVELS, other="as 7"),
        meaning="is how much MIOpen writes to stderr",
        concern=unlike_normal_use_when(_at_least(5), _COSTS_TIME, "set 4 or less while measuring"),
    ),
    switch(
        "MIOPEN_ENABLE_LOGGING",
        _LOGGING,
        "writes every API call to stderr",
        unlike_normal_use_when(is_on, _COSTS_TIME, _UNSET),
    ),
    switch("MIOPEN_ENABLE_LOGGING_CMD", _LOGGING, "writes the MIOpenDriver command of every call to stderr"),
    switch(
        "MIOPEN_ENABLE_LOGGING_MPMT",
        _LOGGING,
        "puts process and thread before every line",
        unlike_normal_use_when(is_on, _HOST_NAME, "unset it, or remove the name before you share the log"),
    ),
    switch("MIOPEN_ENABLE_LOGGING_ELAPSED_TIME", _LOGGING, "puts the time since the last line before every line"),
    switch("MIOPEN_ENABLE_LOGGING_DATE_TIME", _LOGGING, "puts the time of day before every line"),
    switch(
        "MIOPEN_ENABLE_LOGGING_ROCTX",
        _LOGGING,
        "tells a profiler of every API call",
        unlike_normal_use_when(is_on, "calls into the profiler take host time", _UNSET),
    ),
    switch("MIOPEN_DEBUG_LOGGING_QUIETING_DISABLE", _LOGGING, "writes also what warm-ups would keep quiet"),
    number("MIOPEN_LOG_BUFFER_SIZE", _LOGGING, "is how many lines are kept back for a dump after an error"),
    switch("MIOPEN_WARN_SEARCH", _LOGGING, "writes the progress of a search as warnings"),
    Variable(
        name="MIOPEN_PERFORMANCE_LOGS",
        group=_LOGGING,
        read=read_one_of(
            {
                0: "off",
                1: "executed solution",
                2: "executed solution with kernels",
                3: "everything tried",
                4: "everything tried, with kernels",
            },
            other="as 3: everything tried, without kernels",
        ),
        meaning="writes JSON performance records to stderr; MIOpenDriver then times every launch, also with -t 0",
        concern=unlike_normal_use_when(
            _at_least(5), "there is no such level; it acts as 3", "give a level from 0 to 4, in decimal"
        ),
    ),
)

_CHECK_VARIABLES = (
    Variable(
        name="MIOPEN_CHECK_NUMERICS",
        group=_CHECKS,
        read=read_mask({0x01: "tell all", 0x02: "warn", 0x04: "throw", 0x08: "abort", 0x10: "statistics"}),
        meaning="scans all inputs and outputs of every call for infinities, NaN and zeros",
        concern=worthless_when(is_on, "its scans run between the kernels and slow everything", _UNSET),
    ),
    number(
        "MIOPEN_DEBUG_CHECK_SUB_BUFFER_OOB_MEMORY_ACCESS",
        _CHECKS,
        "guards buffers against accesses in front (1) or behind (2)",
        worthless_when(is_on, "buffers lie elsewhere and are checked, which costs time", _UNSET),
    ),
    switch(
        "MIOPEN_DEBUG_COMPILE_ONLY",
        _CHECKS,
        "compiles kernels and runs none",
        worthless_when(is_on, "nothing is executed, so that there is nothing to measure", "unset it to run"),
    ),
)

_DRIVER_VARIABLES = (
    switch("MIOPEN_DRIVER_USE_GPU_REFERENCE", _DRIVER, "computes the driver's reference on the GPU; on by default"),
    switch(
        "MIOPEN_DRIVER_PAD_BUFFERS_2M",
        _DRIVER,
        "rounds the driver's buffers up to 2 MiB",
        unlike_normal_use_when(is_on, "padded buffers have other page sizes than those of an application", _UNSET),
    ),
    number(
        "MIOPEN_DRIVER_SUBNORM_PERCENTAGE",
        _DRIVER,
        "makes so many percent of the driver's data subnormal",
        unlike_normal_use_when(is_on, "subnormal numbers can be slower, and lose digits", _UNSET),
    ),
    text(
        "MIOPEN_DRIVER_CONV_WORKSPACE_SIZE_ADJUST",
        _DRIVER,
        "changes the workspace that the driver allocates",
        unlike_normal_use_when(is_set, "with too little workspace solvers drop out without a word", _UNSET),
    ),
    number("MIOPEN_DEBUG_DRIVER_PRNG_SEED", _DRIVER, "is the seed of the driver's data; 12345678 by default, 0 random"),
)

_OTHER_DEVICE = "MIOpen takes the device for another one, and chooses, compiles and stores for that"
_DEVICE_VARIABLES = (
    text("MIOPEN_DEVICE_ARCH", _DEVICE, "pretends another GPU", worthless_when(is_set, _OTHER_DEVICE, "unset it")),
    text(
        "MIOPEN_DEVICE_CU",
        _DEVICE,
        "pretends another count of compute units",
        worthless_when(is_set, _OTHER_DEVICE, "unset it"),
    ),
    text(
        "MIOPEN_DEBUG_ENFORCE_DEVICE",
        _DEVICE,
        "pretends another GPU",
        worthless_when(is_set, _OTHER_DEVICE, "unset it"),
    ),
    number("MIOPEN_DEBUG_AMD_ROCM_METADATA_ENFORCE", _DEVICE, "forces a version of the code objects"),
    switch("MIOPEN_DEBUG_AMD_ROCM_METADATA_PREFER_OLDER", _DEVICE, "prefers the older version of the code objects"),
    number("MIOPEN_DEBUG_OPENCL_ENFORCE_CODE_OBJECT_VERSION", _DEVICE, "forces it for OpenCL kernels"),
)

_OWN_VARIABLES = (
    text("MIOPEN_PERF_CXX", Group.OWN, "is the C++ compiler of this project's CPU back-end; MIOpen does not read it"),
)

_FAMILY_OFF = "a whole family of solvers is left out"


def _family(name: str, solvers: str) -> Variable:
    concern = unlike_normal_use_when(is_off, _FAMILY_OFF, "unset it, unless leaving them out is what you measure")
    return switch(name, _SOLVERS, f"leaves out {solvers} when it is off", concern)


FAMILIES = (
    _family("MIOPEN_DEBUG_CONV_GEMM", "the GEMM solvers"),
    _family("MIOPEN_DEBUG_CONV_DIRECT", "the direct solvers, naive ones among them"),
    _family("MIOPEN_DEBUG_CONV_WINOGRAD", "the Winograd solvers"),
    _family("MIOPEN_DEBUG_CONV_FFT", "the FFT solver"),
    _family("MIOPEN_DEBUG_CONV_IMPLICIT_GEMM", "the implicit GEMM solvers"),
)
"""The switches of the five algorithms: with all of them off nothing is left."""

MIOPEN_VARIABLES = (
    *_FIND_VARIABLES,
    *_SOLVER_VARIABLES,
    *FAMILIES,
    _family("MIOPEN_DEBUG_GCN_ASM_KERNELS", "kernels written in assembly"),
    _family("MIOPEN_DEBUG_HIP_KERNELS", "convolution kernels written in HIP"),
    _family("MIOPEN_DEBUG_OPENCL_CONVOLUTIONS", "convolution kernels written in OpenCL"),
    *_DATABASE_VARIABLES,
    *_LOGGING_VARIABLES,
    *_CHECK_VARIABLES,
    *_DRIVER_VARIABLES,
    *_DEVICE_VARIABLES,
    *_OWN_VARIABLES,
)
