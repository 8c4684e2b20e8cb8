"""Checks of an agent: its turns, tools, approvals, cancels, sessions and extensions."""
