"""HTTP as a provider speaks it: requests in, answers out, and the faults in between."""
