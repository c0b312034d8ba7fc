"""How a run is told: to a person, to a program, to a CI server.

``text`` tells a run while it goes on. ``json``, ``junit`` and ``github`` write what came of it,
case by case, so that the length of a report is nobody's memory. All of them take what they say
from ``details`` and ``masking``, which let no credential through, and write it by way of
``visible``, which lets through nothing that a terminal would act on.
"""
