"""A bench: a process of its own that runs scenarios for another one, such as pytest.

values    what is asked and answered; plain, so that asking costs nothing
wire      how it goes from one process to the other
client    starts the process and asks
process   answers, as the command line would
judging   loads, runs, judges: the only module here that is not cheap to import
"""
