"""The errors of the HTTP layer.

``HttpError``               an exchange ended without a complete response
``HttpConfigError``         something given to a client cannot be used; no exchange was started
├── ``InvalidUrlError``     the server's URL
├── ``InvalidHeaderError``  a header to send
└── ``TlsConfigError``      a certificate or key file
"""

from __future__ import annotations

from relay.core.events import Failure


class HttpError(Exception):
    """An exchange ended without a complete response.

    ``may_have_executed`` is false only where no byte of the request can have reached the server,
    so that the same request may be sent again whatever it does.
    """

    def __init__(self, failure: Failure, detail: str, *, may_have_executed: bool) -> None:
        super().__init__(detail)
        self.failure = failure
        self.detail = detail
        self.may_have_executed = may_have_executed


class HttpConfigError(ValueError):
    """Something given to a client cannot be used; the text says what, and what to do."""


class InvalidUrlError(HttpConfigError):
    """The server's URL is not one that an exchange can be made with."""


class InvalidHeaderError(HttpConfigError):
    """A header cannot be sent as it is given. The text never holds its value."""


class TlsConfigError(HttpConfigError):
    """A certificate or key file cannot be used; the text names the option it came from."""
