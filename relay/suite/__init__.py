"""Suites of MCP tests: the file format, its checks, and the verdict on what a server answered.

``load`` is the entry: a file's bytes become a ``suite``, or the issues that stand against it
(``validation``, ``schema_validation``, ``issues``). ``judge`` holds an answer against the
assertions of a case, by way of ``schema_match`` and ``extraction``. All of them stand on JSON as
ECMAScript reads and writes it (``document``, ``reader``, ``canonical``), which makes a suite mean
the same here as in the runner that the format comes from. None of these talks to a server.

``runner`` carries a suite out on one of the ``targets`` and tells what happens as ``events``;
``reports`` write them and the ``outcome`` down. ``generate`` makes a first suite from what a server
lists, ``surface`` and ``surface_diff`` keep and compare the list itself.
"""
