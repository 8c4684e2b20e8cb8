"""The kinds of events, a file for each side of a run; `model.events` puts them together."""
