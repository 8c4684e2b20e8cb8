"""Whether a subject is bound well: it is tried in a world where nothing goes wrong."""
