"""The reference runtime: a small, correct agent runtime of the stud-cli model, to read and to run.

runtime        the object: start, run_turn, ask, cancel, close
loop           the message loop, from the request to the tools and back
provider       one request to the model, with the transport's retries
tool_call      a call that the model proposes, read and checked
tools          executing it: deadline, retries, typed results
approvals      who decides whether it is executed
interaction    asking the person
stages         an attached state machine
persistence    snapshots and the journal
resume         opening a stored session
history        messages, and how a broken-off turn is made whole
lifecycle      extensions
cancellation   the tree of scopes
retries        the waits
telling        what each audience is told
session        what all of these share
bound          the subject
"""
