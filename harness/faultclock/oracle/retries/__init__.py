"""What had to be tried again: a policy folded over what failed, for every kind of work.

redo            one try after the other, by any policy: how often, how late, with which answer
predict         the same for requests to a provider, with what their answers say of waiting
breaker_fold    the state of each circuit breaker
plans, providers    over chains, redoes and breakers: what had to happen, who may be asked
"""
