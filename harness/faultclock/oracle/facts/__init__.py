"""What a trace shows, paired once: its history, and what is read from it without an error model."""
