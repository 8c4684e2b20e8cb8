"""What the wire shows: signals, attempts and calls, as the provider observed them."""
