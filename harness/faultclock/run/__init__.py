"""The story in one place: build a world, run a subject in it, seal the trace, have it judged.

`execute` is one run; `isolate` puts it into a child process; `suite` is many runs and one
Report; `replay` runs a stored trace again; `prepare` binds a subject under the patches, and
`doctor` examines one.

How a subject is driven depends on its role:

    calls            a provider adapter
    lives            a runtime, life by life;  mishaps, moments  what befalls it, and when
    agenda, program  what it is still to be asked, and in which order;  turns  how that is done
    surroundings     the fakes of a life, as a runtime is given them;  script_values  its values
    drive_store      a session store;  store_program, store_calls  what it is asked
    drive_tool, drive_extension  each in one world (`one_world`), with its cancels (`cancels`)

and `expand` makes of one scenario those in which the process dies after each event.
"""
