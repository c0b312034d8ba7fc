"""What may be sent, decided in one place."""
