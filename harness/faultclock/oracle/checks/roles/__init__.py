"""Checks of a tool, a session store or an extension under test."""
