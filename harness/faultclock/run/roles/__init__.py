"""What a subject of each role is asked, what is put around it, and what is recorded of it."""
