"""Which rules of an error model can be broken: a search with mutants of one correct subject.

    mutant         what a mutant is: a change of a finished trace, or of the subject before a run
    values         other values of a field
    event_edits    what is done to the events by which a subject speaks
    told_edits     what is done to the results of tools that it tells the model
    event_mutants  all such edits that the traces of a subject give reason for
    call_mutants   defects of any subject: of its calls, and of how it waits
    step_mutants   operators on every step and constant of a shipped reference
    shipped        the shipped wrong subjects of a reference
    trial          one mutant in one scenario: what it kills
    search         all mutants, in rounds, until every rule is killed or everything was tried
    matrix         what comes of it, as data

A mutant of events is judged on the stored trace: nothing in the simulated world reads what a
subject says of itself. Every other mutant is run.
"""
