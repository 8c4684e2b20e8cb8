"""Agents of frameworks, taken as they are: their tools, their approvals, their sessions.

`known` recognises them, `life` is what all of them have in common, `own_tools` is the seam at which
their tools are observed, and each other file is one framework. A new one is a file beside these and
a row in `known`.
"""
