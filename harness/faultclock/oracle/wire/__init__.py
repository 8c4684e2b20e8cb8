"""What the wire shows: signals, attempts and calls, as the provider observed them.

timing          how exactly the times of a trace may be taken
signals         what a subject can see of one failure
exchanges       which events belong to one attempt, and how the attempt ended
requests        attempts, calls, and the attempts for one answer
grouping        which attempts are for one answer: retries, and requests at once
retry_hints     when an answer asks not to be asked again before
chain, stops    the errors that a call ended with; what stopped a call from outside
attempts        the calls of a trace
"""
