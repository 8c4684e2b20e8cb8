"""What had to be tried again: a policy folded over what failed, for every kind of work."""
