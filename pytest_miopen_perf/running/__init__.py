"""One problem from the question to the result, in MIOpen's phases."""
