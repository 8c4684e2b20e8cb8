"""The fake provider: who is let in, what is answered, and how fast."""
