"""Programs that ask a served provider, as somebody in another language would write them."""

from __future__ import annotations

import sys

#: Asks until it is answered, waits as long as Retry-After says, and prints the reply.
ASK = """
import json, os, sys, time, urllib.error, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Say hello."}]}
head = {"authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
head["content-type"] = "application/json"
while True:
    asked = urllib.request.Request(url, json.dumps(body).encode(), head)
    try:
        with urllib.request.urlopen(asked, timeout=5) as answer:
            print(json.load(answer)["choices"][0]["message"]["content"])
            sys.exit(int(os.environ.get("EXIT_CODE", "0")))
    except urllib.error.HTTPError as error:
        error.close()
        time.sleep(float(os.environ.get("WAIT_S") or error.headers["retry-after"]))
"""


def command(program: str) -> tuple[str, ...]:
    """Return the command that runs a program."""
    return (sys.executable, "-S", "-c", program)
