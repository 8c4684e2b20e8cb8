"""The fake provider on real sockets, in real time: for programs that no simulation can host.

kernel        a real clock, with the ledger that the provider writes its facts into
routes        which call a request belongs to, by the path that it is sent to
endpoint      the provider's side of one real connection
provider      the fake provider of a scenario, separated by calls
servable      what a listening socket cannot play, found beforehand
server        one provider on one port of the loopback interface
environment   the variables by which the clients of each API find it
sealing       facts in real time, made into a trace
command       a program that is run against it
"""
