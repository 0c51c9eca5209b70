"""The doctor: what the environment does to MIOpen and to a benchmark, and whether this installation is whole.

`diagnosis.diagnose` explains variables, `installation.examine` looks at the machine. Both return findings, plain data.
"""
