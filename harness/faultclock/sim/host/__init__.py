"""The machine that a subject sees: its disk, its processes, and what may not leave the world."""
