"""What can be said about a table of frames: pure functions over polars columns."""
