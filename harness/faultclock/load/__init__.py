"""Text to model: strictly, once, with path, line and column in every message.

Below this room nothing opens a file and nothing sees YAML. Start at `yaml_file`. What writes the
same texts (`scenario_file`, `trace_file`) is beside what reads them; `foreign/` reads the event
logs of other systems as traces.
"""
