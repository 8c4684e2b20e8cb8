"""Dialects from files: one engine, which fills what stands in a file of `dialects/`.

    sheet       what a file may say, name by name; reads one, over the one that it is `like`
    template    plain data with holes, and the expressions in them
    paths       where something stands in JSON
    reading     requests: what is asked for, and what the provider refuses itself
    spoken      the dialect: answers, headers and errors
    steps       a stream, event by event
    hearing     an answer back to what it says

It knows no API. Start at `sheet` beside `dialects/anthropic-messages.yaml`.
"""
