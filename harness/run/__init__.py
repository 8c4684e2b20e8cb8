"""The story in one place: build a world, run a subject in it, seal the trace, have it judged.

`execute` is one run; `isolate` puts it into a child process; `suite` is many runs and one
Report; `replay` runs a stored trace again; `prepare` binds a subject under the patches.
"""
