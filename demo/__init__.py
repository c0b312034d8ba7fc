"""An agent's session on the simulated rig, through the real relay and the real service."""
