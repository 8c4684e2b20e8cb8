"""Reports beside what was known, beside their other parts, and beside an earlier one.

Every function here is pure: values of the model in, values of the model out. Nothing here reads a
clock or a file, and nothing judges a trace: that was done when the report was made.
"""
