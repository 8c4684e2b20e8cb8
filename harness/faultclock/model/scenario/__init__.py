"""What a scenario file may say, section by section."""
