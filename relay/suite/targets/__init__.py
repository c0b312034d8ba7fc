"""Servers under test: a child process, a URL, or a URL behind the relay's own process."""
