"""What an error model may say: signals, policies, rules and the ordering language."""
