"""Programs for Node: `host.cjs` runs one in lock step, the files of Python start and find it."""
