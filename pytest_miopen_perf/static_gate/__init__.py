"""The static gate under pytest: tests of what kernels take on AMD targets, with no GPU and nothing executed.

plugin     hooks, registered where the gate is asked for
planning   a problem, its solvers and configs: the kernels that are looked at
items      the tests
fixture    kernels of the user's own, from a test's body
session    the compiler and the baseline of a process
closing    what the end of a session leaves: table, file, baseline
"""
