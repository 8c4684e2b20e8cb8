"""What a client really does, and no verdict on it.

infer/      from a battery of runs of one client: attempts, waits, headers, deadlines
census, census_clients, census_merge    many clients side by side in the same scenarios
census_drift    what changed from one census to a later one
vectors         which rows of a retry table of others a client reproduces
"""
