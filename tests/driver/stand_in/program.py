"""A stand-in for MIOpenDriver: it prints what the real one prints, in all its dialects and with all its faults.

It computes no convolution and there is no GPU behind it. Its sizes, keys and counts follow from its command line by
formulas of its own, its times and errors from those and the seed, so that nothing in a test can be fitted to it. It
uses nothing of the package under test.

`STAND_IN` in the environment says how it behaves: words joined with commas.
  dialects   text (as before the JSON logs), oldest (of 2019), shared (one state for library and program)
  times      slow=FACTOR
  faults     wrong, not-run, error-line, exception, signal=NAME, late-signal=NAME, hang, stubborn, flood, exit=N, torn,
             glued, nan, no-last-record, latin1, silent, unverified, other-problem, liar, unknown, rubbish, no-stats,
             guessed-layout
"""

import math
import os
import random
import signal
import struct
import subprocess
import sys
import time
from pathlib import Path

from command_line import TYPES, Problem, parsed

BLOCKS = {1: "Forward", 2: "Backward Data", 4: "Backward Weights"}
VERIFIED = {1: "Forward Convolution", 2: "Backward Convolution Data", 4: "Backward Convolution Weights"}
FOUND = {1: "forward", 2: "backward-data", 4: "backward-weights"}
PERFORMED = {1: "forward", 2: "backward", 4: "backward-weights"}
CHECKED = {1: "forward", 2: "backward_data", 4: "backward_weights"}
SUFFIX = {1: "Fwd", 2: "Bwd", 4: "WrW"}
SWITCHES = (
    *("DISABLE_FIND_DB", "CONV_FFT", "CONV_DIRECT", "CONV_GEMM", "CONV_WINOGRAD", "CONV_IMPLICIT_GEMM"),
    *("CONV_IMMED_FALLBACK", "ENABLE_AI_IMMED_MODE_FALLBACK", "FORCE_IMMED_MODE_FALLBACK"),
)


def number(value):
    """As a C++ stream prints a float."""
    return f"{struct.unpack('f', struct.pack('f', value))[0]:.6g}"


def median(ordered):
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def figures(times):
    """Mean without high outliers, deviation, least and greatest: the first two of several times are left out."""
    if not times:
        return 0.0, 0.0, 0.0, 0.0
    steady = times[2:] if len(times) > 2 else times
    middle = median(sorted(steady))
    spread = median(sorted(abs(t - middle) for t in steady))
    kept = [t for t in steady if spread == 0 or 0.6745 * (t - middle) / spread <= 2.0]
    mean = sum(kept) / len(kept)
    return mean, math.sqrt(sum((t - mean) ** 2 for t in steady) / len(steady)), min(steady), max(steady)


class StandIn:
    """One run."""

    def __init__(self, arguments, environment):
        self.words = dict(word.partition("=")[::2] for word in environment.get("STAND_IN", "").split(",") if word)
        self.arguments, self.environment = arguments, environment
        self.level = int(environment.get("MIOPEN_PERFORMANCE_LOGS", "0"))
        self.seed = int(environment.get("MIOPEN_DEBUG_DRIVER_PRNG_SEED", "12345678"))
        self.is_text = self.level == 0 or "text" in self.words or "oldest" in self.words
        self.random = random.Random(f"{self.seed} {' '.join(arguments)}")
        self.found = random.Random(f"find {self.seed}")
        self.status = 0
        self.pending = []

    def out(self, line):
        sys.stdout.buffer.write(line.encode() + b"\n")
        sys.stdout.buffer.flush()

    def err(self, line, *, end="\n"):
        sys.stderr.buffer.write((line + end).encode())
        sys.stderr.buffer.flush()

    def both(self, json_line, text_line):
        self.out(text_line if self.is_text else json_line)

    # --- the run ---

    def run(self):
        if "silent" in self.words:
            return 0
        if "rubbish" in self.words:
            sys.stdout.buffer.write(bytes(self.random.randrange(256) for _ in range(100_000)))
            return 0
        command = f"MIOpenDriver{':' if 'oldest' in self.words else ''} {' '.join(self.arguments)}"
        self.both(f'{{"command":"{command}"}}', command)
        if "error-line" in self.words or self.arguments[0] not in TYPES:
            self.both('{"error":"Incorrect BaseArg"}', "FAILED: Invalid Base Input Argument")
            return 0
        if "exception" in self.words:
            self.both('{"error":"/src/"quoted" path: no kernel"}', "MIOpen Error: no kernel")
            self.err("terminate called after throwing an instance of 'miopen::Exception'")
            return 1
        values = parsed(self.arguments)
        self.both(f'{{"prng_seed":{self.seed}}}', f"PRNG seed: {self.seed}")
        if values["time"]:
            self.machine()
        self.misbehave()
        for bit in BLOCKS:
            if not values["forw"] or values["forw"] & bit:
                self.direction(Problem(self.arguments[0], values, bit))
        for line in [] if "no-last-record" in self.words else self.pending:
            self.record(line)
        if name := self.words.get("late-signal"):
            self.err("double free or corruption (!prev)")
            os.kill(os.getpid(), getattr(signal, name))
        return int(self.words.get("exit", 0)) or self.status % 256  # as POSIX does

    def machine(self):
        gpu = "2 x Stand-in GPU"
        self.both(
            '{"timestamp":"2026-04-01 12:00:00 UTC","system_info":{"hostname":"secret-host","os":"Linux 6.8.0",'
            f'"cpu_vendor":"AMD","cpu_model":"1 x CPU","ram_size":"64 GB","gpu_model":"{gpu}"}},'
            '"build_info":{"rocm":"7.1.0","miopen_version":"3.5.1","amdgpu_driver":"6.14.15"}}',
            "Timestamp: 2026-04-01 12:00:00 UTC; Host Name: secret-host; Operating System: Linux; ROCm: 7.1.0; "
            f"MIOpen Driver: 3.5.1; CPU Vendor: AMD; CPU Model: 1 x CPU; RAM Size: 64 GB; GPU Model: {gpu}; "
            "AMDGPU Driver: 6.14.15",
        )

    def misbehave(self):
        if name := self.words.get("signal"):
            self.err("MIOpen(HIP): Warning [Invoke] the device does not answer")
            self.err("Memory access fault by GPU node-1 (Host Name: secret-host; )")
            os.kill(os.getpid(), getattr(signal, name))
        if "stubborn" in self.words:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
            Path(self.environment["STAND_IN_PIDS"]).write_text(f"{os.getpid()} {child.pid}")
        if "hang" in self.words or "stubborn" in self.words:
            self.err("MIOpen(HIP): Info [Compile] still compiling")
            time.sleep(600)
        if "flood" in self.words:
            while True:
                self.err("x" * 65536)
        if "latin1" in self.words:
            sys.stderr.buffer.write(b"MIOpen(HIP): Warning [Open] the folder Se\xf1or is not writable\n\xff\xfe\x00\n")

    # --- one direction ---

    def direction(self, problem):
        if "other-problem" in self.words:
            problem = Problem(problem.base, {**problem.values, "batchsize": problem.n + 1}, problem.bit)
        is_known = self.use_folders(problem)
        solver, number_ = f"ConvStandIn{SUFFIX[problem.filed_bit]}", 900 + problem.filed_bit
        base_ms = (problem.counts[0] / 2e9 + 0.004) * float(self.words.get("slow", 1))
        if not self.is_text:
            self.find(problem, base_ms, solver, number_, is_known=is_known)
        times = [base_ms * factor * self.noise() for factor in (3.0, 1.2, *[1.0] * problem.values["iter"])]
        times = times[: problem.values["iter"]]
        average = (sum(times) - times[0]) / (len(times) - 1) if len(times) > 1 else times[0]
        if "not-run" in self.words:
            call = "RunForwardGPU" if problem.bit == 1 else "RunBackwardGPU"
            status = f"{7 << 16 if problem.bit == 4 else 7:#x}"
            self.both(f'{{"error":"{call}() FAILED, rc = {status}"}}', f"{call}() FAILED, rc = {status}")
        elif self.is_text:
            self.text_figures(problem, average, solver, number_)
        else:
            self.json_figures(problem, times, average, solver, number_)
        if problem.values["verify"] and "unverified" not in self.words:
            self.verify(problem)

    def noise(self, source=None):
        return math.exp((source or self.random).gauss(0, 0.005))

    def use_folders(self, problem):
        """Keep what was found and compiled where the real one does; whether it was known."""
        database = Path(self.environment["MIOPEN_USER_DB_PATH"]) / "gfx942130.HIP.3_5_1.ufdb.txt"
        known = database.read_text().splitlines() if database.exists() else []
        (Path(self.environment["MIOPEN_CUSTOM_CACHE_DIR"]) / "gfx942.ukdb").touch()
        if any(line.startswith(f"{problem.db_key}=") for line in known):
            return True
        with database.open("a") as file:
            file.write(
                f"{problem.db_key}=ConvStandIn{SUFFIX[problem.filed_bit]}:0.1,0,miopenConvolutionFwdAlgoDirect\n"
            )
        return False

    def find(self, problem, base_ms, solver, number_, *, is_known):
        names = ["MIOPEN_FIND_MODE", "MIOPEN_FIND_ENFORCE", *(f"MIOPEN_DEBUG_{switch}" for switch in SWITCHES)]
        values = [f'"{name}":{self.environment.get(name, "0")}' for name in names]
        values += ['"MIOPEN_DEBUG_FIND_ONLY_SOLVER":""', '"MIOPEN_TUNING_PATIENCE":18446744073709551615']
        values += ['"MIOPEN_TUNING_TIME_MS_MAX":7200000', '"MIOPEN_SEARCH_CUTOFF":0', '"MIOPEN_SEARCH_CUTOFF_MUL":10']
        values += ['"MIOPEN_SEARCH_SKIP_PCT":0', '"MIOPEN_DEVICE_ARCH":""', '"MIOPEN_DEVICE_CU":""']
        values += ['"MIOPEN_DEBUG_CHECK_SUB_BUFFER_OOB_MEMORY_ACCESS":0', '"MIOPEN_LOG_LEVEL":0']
        if self.level >= 3 and not is_known:
            if problem.values["search"]:
                configs = [
                    self.config(
                        solver,
                        [base_ms * f * self.noise(self.found) for f in (3, 1.2, 1.2 + i / 9, 1.1 + i / 9)],
                        f"{i},8",
                    )
                    for i in range(4)
                ]
                self.record(self.solution(solver, number_, "solver_tuning", configs, workspace=1024))
            for name, slower in ((f"ConvOther{SUFFIX[problem.filed_bit]}", 1.7), (solver, 1.0)):
                times = [base_ms * slower * self.noise(self.found) for _ in range(7)]
                self.record(self.solution(name, number_, "solver_tuning", [self.config(name, times)], workspace=1024))
        self.out(
            f'{{"find_time_conv_ms":{number(0.5 if is_known else 80.25)},"direction":"{FOUND[problem.bit]}",'
            f'"environment_variables":{{{",".join(values)}}}}}'
        )

    def config(self, name, times, descriptor=""):
        mean, deviation, least, greatest = map(number, figures([float(number(t)) for t in times]))
        kernels = "null"
        if self.level in (2, 4):
            own = [(f"{name}_kernel", times, "false"), ("transpose_in", [t / 9 for t in times], "true")]
            kernels = "[" + ",".join(
                f'{{"kernel_name":"{kernel}","time_executions_ms":[{",".join(map(number, launched))}],'
                f'"is_transformation":{flag}}}'
                for kernel, launched, flag in (own if "shared" in self.words or descriptor else [])
            )
            kernels += "]"
        listed = ",".join(map(number, times))
        if "nan" in self.words and not descriptor:
            listed, mean = listed.replace(number(times[-1]), "nan"), "-nan"
        extra = f'"config_descriptor":"{descriptor}",' if descriptor else ""
        return (
            f'{{"config_name":"{name}",{extra}"exec_number":1,"time_executions_ms":[{listed}],"time_ms":{mean},'
            f'"time_std_ms":{deviation},"time_min_ms":{least},"time_max_ms":{greatest},'
            f'"number_of_transformations":{int(len(kernels) > 4)},"kernels":{kernels}}}'
        )

    def solution(self, name, number_, phase, configs, workspace=0):
        return (
            f'{{"solution":"{name}","solver_id":{number_},"workspace_bytes":{workspace},"phase":"{phase}",'
            f'"performance_configs":[{",".join(configs)}]}}'
        )

    def record(self, line):
        if "torn" in self.words:
            self.err(f"{line[:70]}MIOpen(HIP): Info [Other] in between")
            self.err(line[70:90])
            self.err("lost")
        elif "glued" in self.words:
            self.err(f"MIOpen(HIP): Info [Other] x{line}", end="")
        else:
            self.err(line)

    def json_figures(self, problem, times, average, solver, number_):
        # The record of a direction is written when the next one begins its own, the last one at the end.
        for line in self.pending:
            self.record(line)
        self.pending = [self.solution(solver, number_, "execution", [self.config(solver, times)])]
        flops, read, written = problem.counts
        sizes = dict(zip(("do", "ho", "wo")[-problem.rank :], problem.output, strict=True))
        filters = dict(zip(("z", "y", "x")[-problem.rank :], problem.filter, strict=True))
        parts = {"dimensions": problem.rank, "n": problem.n, "c": problem.c, **sizes, **filters, "k": problem.k}
        listed = ",".join(f'"{name}":{value}' for name, value in parts.items())
        shown = float(number(average))
        named = "0/UNKNOWN" if "unknown" in self.words else f"{number_}/{solver}"
        mean, rates = number(average), [number(count / shown / 1e6) for count in (flops, read + written)]
        if "nan" in self.words:
            mean, rates = "nan", ["inf", "inf"]
        self.out(
            f'{{"performance":{{"name":"{problem.row}","algorithm":1,"solution":"{named}",'
            f'"direction":"{PERFORMED[problem.bit]}","operation":"conv",{listed},"db_key":"{problem.db_key}",'
            f'"perf_db_key":"{problem.perf_db_key}","results":{{"average_time_ms":{mean},'
            f'"flop_count":{flops},"bytes_read":{read},"bytes_written":{written},"gflops":{rates[0]},'
            f'"gb_per_s":{rates[1]}}}}}}}'
        )

    def text_figures(self, problem, average, solver, number_):
        block, is_oldest = BLOCKS[problem.bit], "oldest" in self.words
        named = "" if is_oldest else f", Solution: {number_}/{'UNKNOWN' if 'unknown' in self.words else solver}"
        self.out(f"MIOpen {block} Conv. Algorithm: 1{named}")
        self.out(f"GPU Kernel Time {block} Conv. Elapsed: {average:.6f} ms (average)")
        if problem.rank == 3 or "no-stats" in self.words:
            return
        flops, read, written = problem.counts
        if problem.bit == 2:
            read = problem.n * problem.c * problem.k + problem.k * problem.c // problem.g * math.prod(problem.filter)
            read, written = read * problem.width, problem.n * problem.k * math.prod(problem.output) * problem.width
        if problem.bit == 4:
            read = written = 0
        sizes = [problem.n, problem.c, *problem.output, *problem.filter, problem.k]
        if problem.bit == 2:
            sizes = [problem.n, problem.c, *problem.filter, problem.k, *problem.output]
        rates = f"{flops / average / 1e6:.0f}, {(read + written) / average / 1e6:.0f}, {average:.6f}"
        self.out("stats: name, n, c, ho, wo, x, y, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs")
        self.out(f"stats: {problem.row}, {', '.join(map(str, sizes))},  {flops}, {read}, {written}, {rates}")

    def verify(self, problem):
        tolerance = problem.tolerance * (2 if problem.bit == 4 else 1)
        error = tolerance * self.random.uniform(0.001, 0.4)
        if "wrong" in self.words or "liar" in self.words:
            error = tolerance * self.random.uniform(2, 50)
        if "not-run" in self.words:
            error = sys.float_info.max
        is_ok = error <= tolerance or "liar" in self.words
        if not is_ok:
            self.status |= {1: 0x100, 2: 0x200, 4: 0x400}[problem.bit]
        name = VERIFIED[problem.bit]
        text = f"{name} {'Verifies OK on GPU reference' if is_ok else 'FAILED:'} "
        text += f"({error:.6g} < {tolerance:.6g})" if is_ok else f"{error:.6g} > {tolerance:.6g}"
        if "oldest" in self.words:
            text = (
                f"{name} Verifies on CPU and GPU ({error:.6g})"
                if is_ok
                else f"{name} Failed: {error:.6g} > {tolerance}"
            )
        self.both(
            f'{{"verification":{{"direction":"{CHECKED[problem.bit]}","status":"{"OK" if is_ok else "FAILED"}",'
            f'"reference":"GPU","error":{error:.6g},"tolerance":{tolerance:.6g}}}}}',
            text,
        )


if __name__ == "__main__":
    sys.exit(StandIn(sys.argv[1:], os.environ).run())
