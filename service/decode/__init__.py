"""Message databases: loading them, reading frames with them, making frames from them."""
