"""A modern server, 2026-07-28: requests that describe themselves, for clients of either era."""
