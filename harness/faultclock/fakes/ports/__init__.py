"""The fakes behind a runtime's ports: tools, person, store, programs, services."""
