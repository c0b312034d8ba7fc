"""Relays side by side: the same work against the same server, in turns."""
