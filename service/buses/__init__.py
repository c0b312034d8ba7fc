"""Live buses: one owner per channel, and the only code that speaks python-can to hardware."""
