"""Files that pytest collects as tests: lists of problems, runs of MIOpenDriver, logs."""
