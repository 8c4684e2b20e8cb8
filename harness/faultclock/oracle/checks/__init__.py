"""The checks, by what they are about. Each is a function of a history and an error model."""
