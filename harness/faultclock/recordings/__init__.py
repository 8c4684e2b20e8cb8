"""Recordings of real exchanges, and the scenarios that are made of them."""
