"""The simulated world: virtual time, threads, network, disk, entropy; it knows nothing of LLMs.

    kernel/     virtual time: the one queue (`env`, the only importer of SimPy), the dispatcher
                (`kernel`: what blocks steps the world), asyncio on it (`loop`), threads and locks
                on it, what is recorded (`recorder`, `ledger`), what is left to chance (`choices`)
    host/       the machine: a folder with a page cache that can fail and crash, over the files of
                the system; SQLite in it; programs with pipes
    net/        names, connections, sockets, TLS that passes bytes through
    loop        the event loop of a subject: the kernel's, with network and programs
    patches/    how an unmodified subject gets all this instead of the real thing
    surroundings  what a run borrows from the real process
    world       one run: set up, run, put everything back

Each imports only what stands above it. A newcomer starts at `world`, then `kernel.kernel`.
"""
