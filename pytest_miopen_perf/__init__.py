"""pytest-miopen-perf: test, time and gate GPU convolution kernels under pytest."""

__version__ = "0.1.0"
