"""What logs of MIOpenDriver, and ours, say was run: as the cases that our own sessions have."""
