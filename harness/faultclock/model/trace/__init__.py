"""What happened in a run: the kinds of events, their fields, and the trace that they make up."""
