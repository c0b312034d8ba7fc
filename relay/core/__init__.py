"""The relay's protocol logic without I/O: events in, commands out, no clock and no sockets.

``session`` is the entry and ``events``, ``commands`` and ``options`` are its language. Below it
are the eras (``era``): ``detect`` finds out which one a server is of, ``legacy`` and ``modern``
are the two, each for clients of both. They stand on ``exchanges`` (HTTP exchanges, read as
JSON-RPC), ``inflight`` (the client's open requests), ``outcomes`` (what a failed exchange means),
``retries`` (what may be sent again), ``headers``, ``messages``, ``sse`` and ``errors``.
"""
