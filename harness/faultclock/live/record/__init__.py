"""Recording of real programs: started with an agent inside that reports each of its exchanges.

Everything that the program says to a provider reaches us over a socket and stays in memory until
its secrets are taken out. Nothing is judged here, and nothing is written.
"""
