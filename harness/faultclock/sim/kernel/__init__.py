"""Virtual time: one queue, the loop and the threads that wait on it, and what is recorded."""
