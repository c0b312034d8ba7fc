"""Credentials that the user keeps in files, which something else may write anew."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence

from relay.given_headers import GivenHeader
from relay.http.errors import HttpConfigError
from relay.http.headers import Headers, check_headers
from relay.usage import UsageError

_log = logging.getLogger(__name__)


class FileCredentials:
    """Headers with files in them (:class:`relay.http.credentials.Credentials`).

    The files are read at the start and when the server answers 401, if they can be.
    """

    def __init__(self, given: Sequence[GivenHeader]) -> None:
        """Blocks.

        :raises UsageError: if a file cannot be used.
        :raises InvalidHeaderError: if what is in it cannot be sent.
        """
        self._given = given
        self._lasting = all(file.lasting for header in given for file in header.files)
        self._headers = self._read()

    async def headers(self) -> Headers:
        return self._headers

    async def refused(self, status: int, headers: Mapping[str, str]) -> bool:
        if status != 401 or not self._lasting:
            return False
        before = self._headers
        try:
            self._headers = await asyncio.to_thread(self._read)
        except (UsageError, HttpConfigError) as error:
            _log.warning("the credentials stay as they are: %s", error)
        return self._headers != before

    def _read(self) -> Headers:
        headers = [(header.name, header.value()) for header in self._given]
        check_headers(headers)
        return headers
