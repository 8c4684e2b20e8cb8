"""The other side of every wire: fake providers with typed faults, speaking real bytes.

Start at `provider` (mounting and the ledger), then `injector` (which fault fires), `delivery`
(what a fault does to an answer) and `openai_chat` (what an answer looks like). A new provider is
a new file beside `openai_chat` that fills the protocol in `dialect`.

Fakes know the scenario's script and never an error model, so they cannot agree with the oracle
by construction.
"""
