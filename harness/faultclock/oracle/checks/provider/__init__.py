"""Checks of what a client makes of its provider's answers, and of how it asks again."""
