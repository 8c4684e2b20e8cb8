"""Keeps each name once, and each list of names once: what runs reach is much the same."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence


class NameLists:
    """The lists of names of one file, by number; what was looked up is remembered."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._name_ids: dict[str, int] = {}
        self._names: dict[int, str] = {}
        self._list_ids: dict[tuple[str, ...], int] = {}
        self._lists: dict[int, tuple[str, ...]] = {}

    def number_of(self, names: Sequence[str]) -> int:
        """Return the number of a list, which is written on the way if it is new."""
        wanted = tuple(names)
        if wanted not in self._list_ids:
            ids = [self._name_id(name) for name in wanted]
            text = json.dumps(ids, separators=(",", ":"))
            self._list_ids[wanted] = self._id("name_list", "names", text)
        return self._list_ids[wanted]

    def of_number(self, number: int) -> tuple[str, ...]:
        """Return a list by its number."""
        if number not in self._lists:
            row = self._connection.execute(
                "SELECT names FROM name_list WHERE id = ?", (number,)
            ).fetchone()
            self._lists[number] = tuple(self._name(id_) for id_ in json.loads(row[0]))
        return self._lists[number]

    def forget(self) -> None:
        """Look up everything anew: what was written with a failed transaction is not there."""
        for known in (self._name_ids, self._names, self._list_ids, self._lists):
            known.clear()

    def _name_id(self, name: str) -> int:
        if name not in self._name_ids:
            self._name_ids[name] = self._id("name", "name", name)
        return self._name_ids[name]

    def _name(self, id_: int) -> str:
        if id_ not in self._names:
            row = self._connection.execute("SELECT name FROM name WHERE id = ?", (id_,)).fetchone()
            self._names[id_] = row[0]
        return self._names[id_]

    def _id(self, table: str, column: str, value: str) -> int:
        query = f"SELECT id FROM {table} WHERE {column} = ?"  # noqa: S608 - our own words
        row = self._connection.execute(query, (value,)).fetchone()
        if row is not None:
            return int(row[0])
        statement = f"INSERT INTO {table} ({column}) VALUES (?)"  # noqa: S608 - our own words
        id_ = self._connection.execute(statement, (value,)).lastrowid
        assert id_ is not None
        return id_
