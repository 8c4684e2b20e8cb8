"""Tests of the code as text: imports, house style, documentation."""
