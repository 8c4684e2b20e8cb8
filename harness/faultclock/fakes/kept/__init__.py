"""What an API keeps from one request to the next, and the requests that are about it.

    items           items of a conversation as they are kept, and pages of them
    responses       OpenAI's responses: what a request goes on from, polling, cancels
    conversations   OpenAI's conversations

All of it is a pure function of the request and the shelf. The provider puts `keeps` of an answer on
its shelf as soon as that answer goes out.
"""
