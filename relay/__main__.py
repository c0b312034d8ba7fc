"""``python -m relay`` is ``canferry-relay``."""

from __future__ import annotations

import sys

from relay.cli import main

sys.exit(main())
