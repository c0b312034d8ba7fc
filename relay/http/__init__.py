"""HTTP/1.1 under the relay: one small interface, and what implements it."""
