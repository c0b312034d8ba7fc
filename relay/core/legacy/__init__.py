"""A legacy server, 2024-11-05 to 2025-11-25: sessions with it, and who may have one."""
