"""Database servers: which one a port belongs to. None is simulated, so each is refused by name.

A refused connection would be taken for a fault, and a subject would be judged by how it lives
without its database.
"""

from __future__ import annotations

from faultclock.sim.kernel.escapes import refuse

#: What to use in a run.
INSTEAD = " (no database server is simulated: use sqlite3, a file, or the surroundings' store)"
#: Ports as the Service Name and Port Number Registry of IANA has them, or the server's manual.
_SERVERS = {
    1433: "SQL Server",
    1521: "Oracle",
    3306: "MySQL",
    5432: "PostgreSQL",
    6379: "Redis",
    7687: "Neo4j",
    9042: "Cassandra",
    11211: "memcached",
    27017: "MongoDB",
}


def refuse_database(host: str, port: int) -> None:
    """Refuse a connection to a database server; do nothing for any other port.

    Raises:
        SimEscape: it is one.
    """
    if port in _SERVERS:
        refuse(f"a connection to {_SERVERS[port]} at {host}:{port}{INSTEAD}")
