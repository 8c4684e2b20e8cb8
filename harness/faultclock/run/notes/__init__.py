"""Notes of a run for people: what was raised, written and waited for."""
