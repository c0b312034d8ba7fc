"""Values that every layer shares: frames, their text form, the answer envelope."""
