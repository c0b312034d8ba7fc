"""Development helpers that are no part of the distribution."""
