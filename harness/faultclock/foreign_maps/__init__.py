"""Maps of event logs: one YAML file for each system, in the words of its error model."""
