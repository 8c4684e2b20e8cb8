"""The reference of the stud-cli model: a small, correct agent runtime, to read and to run.

It is made of the core in `agents`; what its document asks for beside that is here.

runtime        the object: start, run_turn, ask, cancel, close; the message loop; the subject
tools          the calls of an answer: decided on, executed, and a typed result
provider       one request to the model, with the transport's retries
person         asking the person, and who decides whether a call is executed
session        what all of these share, and what each audience reads of a failure
persistence    saving the session, opening a stored one, and making whole a turn that was cut off
stages         an attached state machine
lifecycle      extensions
cancellation   the tree of scopes
"""
