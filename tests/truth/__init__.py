"""Whether `upgrade_gate` tells the truth: random stores, judged by the target's real API server."""
