"""What a server may ask a client in the middle of a request, in whichever era.

The three questions are the same in all revisions; before 2026-07-28 they were requests of the
server, since then they stand in a result (2026-07-28, basic/patterns/mrtr).
"""

from __future__ import annotations

import msgspec

from relay.core.messages import Fields, fields_of, text_of

ASKING_METHODS = frozenset({"tools/call", "prompts/get", "resources/read"})
"""The requests whose results may hold questions."""

ELICITATION = "elicitation/create"
SAMPLING = "sampling/createMessage"
ROOTS = "roots/list"

_SAMPLING_WITH_TOOLS = ("tools", "toolChoice")


class Question(msgspec.Struct, frozen=True):
    """One question: its method and its params as the server wrote them."""

    method: str
    params: Fields

    @property
    def by_url(self) -> bool:
        """Whether it sends the user to a URL instead of showing a form."""
        return self.method == ELICITATION and text_of(self.params.get("mode")) == "url"

    def needs(self, capabilities: Fields) -> str | None:
        """The capability that it calls for and that a client has not declared."""
        if self.method == ROOTS:
            return None if "roots" in capabilities else "roots"
        if self.method == SAMPLING:
            return self._sampling_needs(fields_of(capabilities.get("sampling")))
        elicitation = fields_of(capabilities.get("elicitation"))
        if elicitation is None:
            return "elicitation"
        mode = "url" if self.by_url else "form"
        offered = elicitation or ("form",)  # an empty declaration means forms
        return None if mode in offered else f"elicitation.{mode}"

    def _sampling_needs(self, sampling: Fields | None) -> str | None:
        if sampling is None:
            return "sampling"
        with_tools = any(member in self.params for member in _SAMPLING_WITH_TOOLS)
        return "sampling.tools" if with_tools and "tools" not in sampling else None
