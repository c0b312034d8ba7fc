"""The error for what a user gave and the relay cannot use."""

from __future__ import annotations


class UsageError(Exception):
    """An option or a variable cannot be used; the text names it, what is wrong and the remedy."""

    def __init__(self, option: str, problem: str, remedy: str) -> None:
        super().__init__(f"{option}: {problem}; {remedy}")
        self.option = option
        self.problem = problem
        self.remedy = remedy
