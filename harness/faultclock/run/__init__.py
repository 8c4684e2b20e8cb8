"""The story in one place: build a world, run a subject in it, seal the trace, have it judged.

`execute` is one run, and `suite` is many runs and one Report. `replay` runs a stored trace again;
`prepare` binds a subject under the patches.

A subject of any role is driven in one way:

    lives            life by life, each a world of its own;  mishaps, triggers  what befalls it
    agenda           what it is still to be asked: all that a crash leaves of its program
    program          what a role says of a life: the steps, the calls, the facts about them
    drive            carries them out, with a coroutine or with threads
    roles/           the program of each role, and what is put around its subject
    surroundings     the fakes of a life, as a runtime is given them;  script_values  its values
    expand           from one scenario, those in which the process dies after each event

    run_request      one run to make, and what came of it;  run_result  what happened in it
    process/         one process a run: started, confined, ended, and made a second time
    notes/           what a subject raised, wrote and waited for, kept for people
    doctor/          whether a subject is bound well, in a world where nothing goes wrong
"""
