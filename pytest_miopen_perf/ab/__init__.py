"""Paired comparisons of two versions in processes of pytest."""
