"""The simulated world: virtual time, threads, network, disk, entropy; it knows nothing of LLMs.

Map of the room, bottom up:

    clock.py       units of time and the two bases that a subject's clocks start from
    env.py         the one queue: a SimPy environment in whole nanoseconds (only SimPy importer)
    recorder.py    stamps facts;  context.py  which call is running
    ledger.py      what a world remembers;  ending.py  limits, and how a run ended
    flood.py       ends a run that records without end
    actors.py      simulated threads and what they wait on;  escapes.py  refusing by name
    kernel.py      the dispatcher: whoever blocks steps the world;  waits.py  who waits for what
    promise.py     what the world owes to an operation that began;  interrupts.py  Ctrl-C
    handles.py, loop.py     asyncio on the same queue
    locks.py, threads.py, executors.py     blocking code on the same queue
    disk.py, disk_file.py, disk_state.py     a folder with a page cache, which can fail and crash
    processes.py, process_files.py, process_transports.py, shell_words.py     programs, their pipes
    net/           names, connections, sockets, TLS that passes bytes through
    patches/       how an unmodified subject gets all this instead of the real thing
    surroundings.py, world.py     one run: set up, run, put everything back

A newcomer starts at `world.py`, then `kernel.py`.
"""
