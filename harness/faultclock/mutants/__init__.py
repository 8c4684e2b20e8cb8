"""Wrong subjects as rows: a reference, one operator, and the check that has to catch it.

    row          what a row may say: its operator, and when that applies
    rows         the reader of the YAML files, one for each reference
    paths        values that a row names, and the conditions on them
    operators    what an operator does at a step of a reference
    events       what an operator does with an event that a reference declares
    references   the references, their parts, and where their events pass
    registry     from rows to the subjects that are run

A row is data: it names a step or an event, and what is done to it. What takes more than an
operator is code, and stands beside the references in `subjects`.
"""
