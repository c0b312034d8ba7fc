"""What puts traffic on a virtual bus: the simulated rigs and the replay of a recording."""
