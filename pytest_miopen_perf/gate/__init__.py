"""The gate on kernel time: baselines, paired comparisons, verdicts. Pure functions over frozen data, no pytest, no device.

scipy, which the statistics need, is imported by the functions that use it.
"""
