"""What a command line of MIOpenDriver asks the stand-in for: sizes, keys and counts, by formulas of its own."""

import math
import os

SHORT = {
    "n": "batchsize",
    "c": "in_channels",
    "k": "out_channels",
    "g": "group_count",
    "F": "forw",
    "m": "mode",
    "z": "pad_mode",
    "!": "in_d",
    "H": "in_h",
    "W": "in_w",
    "@": "fil_d",
    "y": "fil_h",
    "x": "fil_w",
    "$": "pad_d",
    "p": "pad_h",
    "q": "pad_w",
    "#": "conv_stride_d",
    "u": "conv_stride_h",
    "v": "conv_stride_w",
    "^": "dilation_d",
    "l": "dilation_h",
    "j": "dilation_w",
    "%": "trans_output_pad_d",
    "Y": "trans_output_pad_h",
    "X": "trans_output_pad_w",
    "_": "spatial_dim",
    "I": "in_layout",
    "f": "fil_layout",
    "O": "out_layout",
    "i": "iter",
    "V": "verify",
    "t": "time",
    "s": "search",
}
DEFAULTS = {
    "batchsize": 100,
    "in_channels": 3,
    "out_channels": 32,
    "group_count": 1,
    "forw": 0,
    "spatial_dim": 2,
    "in_d": 32,
    "in_h": 32,
    "in_w": 32,
    "fil_d": 3,
    "fil_h": 3,
    "fil_w": 3,
    **{
        f"{name}_{axis}": value
        for axis in "dhw"
        for name, value in (("pad", 0), ("conv_stride", 1), ("dilation", 1), ("trans_output_pad", 0))
    },
    "mode": "conv",
    "iter": 10,
    "verify": 1,
    "time": 0,
    "search": 0,
}
TYPES = {"conv": ("FP32", 4, 1.5e-6), "convfp16": ("FP16", 2, 8.2e-3), "convbfp16": ("BF16", 2, 6.56e-2)}
ROWS = {1: "fwd-conv", 2: "bwdd-conv", 4: "bwdw-conv"}


def parsed(arguments):
    """The values of a command line by their long names; what it does not say is the driver's default."""
    values = dict(DEFAULTS)
    for flag, text in zip(arguments[1::2], arguments[2::2], strict=True):
        name = flag[2:] if flag.startswith("--") else SHORT[flag[1]]
        values[name] = text if "layout" in name or "mode" in name else int(text)
    return values


class Problem:
    """What one direction of a command asks for."""

    def __init__(self, base, values, bit):
        self.values, self.bit, self.base = values, bit, base
        self.type, self.width, self.tolerance = TYPES[base]
        self.rank = values["spatial_dim"]
        self.n, self.c, self.k, self.g = (
            values[name] for name in ("batchsize", "in_channels", "out_channels", "group_count")
        )
        self.spatial, self.filter = self.axes("in"), self.axes("fil")
        self.pad, self.stride, self.dilation = self.axes("pad"), self.axes("conv_stride"), self.axes("dilation")
        # The library computes a transposed convolution as the plain one that it mirrors, and files it under that one.
        self.is_transposed = values["mode"] == "trans"
        self.filed_bit = {1: 2, 2: 1, 4: 4}[bit] if self.is_transposed else bit
        axes = zip(self.spatial, self.filter, self.pad, self.stride, self.dilation, strict=True)
        if self.is_transposed:
            self.output = [
                max(1, s * (i - 1) + 1 + d * (f - 1) - 2 * p + extra)
                for (i, f, p, s, d), extra in zip(axes, self.axes("trans_output_pad"), strict=True)
            ]
        else:
            self.output = [max(1, (i - (1 + d * (f - 1)) + 2 * p) // s + 1) for i, f, p, s, d in axes]

    def axes(self, name):
        return [self.values[f"{name}_{axis}"] for axis in "dhw"[-self.rank :]]

    @property
    def counts(self):
        x = self.n * self.c * math.prod(self.spatial) * self.width
        w = self.k * self.c // self.g * math.prod(self.filter) * self.width
        y = self.n * self.k * math.prod(self.output) * self.width
        flops = 2 * self.n * self.c * self.k // self.g * math.prod(self.filter) * math.prod(self.output)
        read, written = {1: (x + w, y), 2: (y + w, x), 4: (x + y, w)}[self.bit]
        return flops, read, written

    @property
    def layouts(self):
        default = "NCHW" if self.rank == 2 else "NCDHW"
        if "guessed-layout" in os.environ.get("STAND_IN", ""):  # MIOpen guesses it from strides, which may fit several
            return [default] * 3
        return [self.values.get(f"{name}_layout", default) for name in ("in", "fil", "out")]

    @property
    def db_key(self):
        first, second = (self.c, self.spatial), (self.k, self.output)
        layouts = self.layouts
        if self.is_swapped:
            first, second, layouts = second, first, layouts[::-1]
        default = "NCHW" if self.rank == 2 else "NCDHW"
        layout = default if set(layouts) == {default} else "-".join(layouts)
        crosses = ["x".join(map(str, sizes)) for sizes in (self.pad, self.stride, self.dilation)]
        parts = [first[0], *first[1], "x".join(map(str, self.filter)), second[0], *second[1], self.n, *crosses, 0]
        group = f"_g{self.g}" if self.g != 1 else ""
        return f"{'-'.join(map(str, parts))}-{layout}-{self.type}-{self.filed_letter}{group}"

    @property
    def is_swapped(self):
        """Whether the keys name y in front of x: they name the tensor first that the filed direction reads, or dy."""
        return self.bit == 2 if self.is_transposed else self.bit != 1

    @property
    def filed_letter(self):
        return "FBW"[(1, 2, 4).index(self.filed_bit)]

    @property
    def perf_db_key(self):
        def hwd(sizes, least):
            return [*sizes[-2:], *(sizes[:1] if self.rank == 3 else [least])]

        first, second = ((self.k, self.output), self.c) if self.is_swapped else ((self.c, self.spatial), self.k)
        parts = [self.rank, first[0], *hwd(first[1], 1), *hwd(self.filter, 1), second, self.n]
        parts += [*hwd(self.pad, 0), *hwd(self.stride, 1), *hwd(self.dilation, 1), 0, self.g]
        layout = "NCHW" if self.rank == 2 else "NCDHW"
        return "x".join(map(str, [*parts, layout, self.type, self.filed_letter]))

    @property
    def row(self):
        return f"{ROWS[self.bit]}{'x'.join(map(str, self.filter))}u{self.stride[0]}"
