"""The logs of other systems, read as traces."""
