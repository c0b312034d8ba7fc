"""Benchmarks: every figure is a ratio against a peer or a limit that ran beside it."""
