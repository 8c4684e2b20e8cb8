"""The simulated network: endpoints, sockets, asyncio transports, pass-through TLS.

It intercepts at the socket, the loop and the SSL context, never at an HTTP library, so every
client that reaches the network through them works unmodified.
"""
