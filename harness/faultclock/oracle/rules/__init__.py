"""The engine of the ordering rules: all rules of a model in one pass over the events.

    patterns   the pass: keys, stretches, lives, guards, and what each rule comes to
    match      which events a rule speaks of, and the index that leads from an event to its rules
    figures    bounds that are looked up in an event or in the scenario
    joins      which two events have equal fields
    stretch    what one stretch of a trace keeps in mind, the base of all patterns

The patterns, a file for each family: `counts` (absence, existence, exactly_one, at_most), `course`
(universality, last, sequence, increasing), `pairs` (precedence, response) and `automaton`.
"""
