"""Checks of the run itself: whether it shows anything, and whether it comes to an end."""
