"""What a trace shows, paired once: its history, and what is read from it without a verdict.

pairing, port_facts, turn_facts    persons, store, stages; lives, tool calls, executions
history                            all of these: one trace, paired once. Start here
nodes, run_end, stored_state       where the subject was; how a turn ended; what was stored
tool_fates, tool_messages          what became of each tool call, and what the model read of it
permissions, uses                  who allowed a call; how turns stand to their limits
"""
