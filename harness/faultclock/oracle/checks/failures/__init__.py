"""Checks of what becomes of a failure: its record, its outcome, and who learns of it."""
