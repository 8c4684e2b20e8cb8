"""What a client really does: inferred from a battery of runs, or side by side in a census."""
