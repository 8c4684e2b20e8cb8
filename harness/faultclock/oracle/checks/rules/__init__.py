"""Checks that are ordering rules: those of the error model, and the rows that every model has."""
