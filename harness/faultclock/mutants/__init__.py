"""Wrong subjects as rows: a reference, one operator, and the check that has to catch it.

    row          what a row may say: its operator, and when that applies
    rows         the reader of the YAML files, one for each reference
    paths        values that a row names, and the conditions on them
    made         constants, objects and exceptions that a row names
    operators    what an operator does at a step of a reference
    events       what an operator does with an event that a reference declares
    reference    a reference, its parts, and how operators are put on it
    references   the references that there are, and where their events pass
    checked      what a row names and a reference does not have
    talks        the reference adapters and the reference tool, with more steps
    by_hand/     wrong subjects that are code
    registry     from rows to the subjects that are run

A row is data: it names a step or an event, and what is done to it. What takes more than
an operator is code, in `by_hand`.
"""
