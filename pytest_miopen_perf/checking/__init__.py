"""Whether a result is right: seeded data, the float64 reference, MIOpen's tolerances and a bound on every element."""
