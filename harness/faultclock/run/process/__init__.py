"""One process a run: how it is started, confined, ended, and what it hands over."""
