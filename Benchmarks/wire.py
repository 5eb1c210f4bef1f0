"""Load and a stand-in over bare sockets and epoll: what a benchmark asks and answers must cost less than what it measures.

Everything sent was made before; nothing is looked at while the clock runs but where a message ends.
"""

import collections
import re
import select
import socket
import time

LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")


def length_of(message):
    """How long the first message in these bytes is; None while its head is not whole. Only with Content-Length."""
    end = message.find(b"\r\n\r\n")
    if end < 0:
        return None
    length = LENGTH.search(message, 0, end + 2)
    return end + 4 + (int(length.group(1)) if length else 0)


def post_all(port, requests, connections):
    """Sends every request, each connection its next one when it has the answer to the one before.

    Returns the answers in no particular order.
    """
    waiting = iter(requests)
    answers, open_sockets = [], {}
    poll = select.epoll()

    def next_request(connection):
        request = next(waiting, None)
        if request is None:
            poll.unregister(connection)
            del open_sockets[connection.fileno()]
            connection.close()
        else:
            connection.sendall(request)

    for _ in range(min(connections, len(requests))):
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poll.register(connection, select.EPOLLIN)
        open_sockets[connection.fileno()] = [connection, b""]
        next_request(connection)
    while open_sockets:
        for number, _ in poll.poll(30):
            entry = open_sockets[number]
            received = entry[0].recv(65536)
            if not received:
                raise SystemExit("the server closed a connection in the middle of the load")
            message = entry[1] + received
            if length_of(message) == len(message):
                entry[1] = b""
                answers.append(message)
                next_request(entry[0])
            else:
                entry[1] = message
    poll.close()
    return answers


def post_at(port, requests, rate, connections):
    """Sends so many requests a second, whether or not earlier ones were answered. Returns the seconds from when each was
    due until its answer was whole, so that a stall counts for all that were due meanwhile; sorted.
    """
    poll = select.epoll()
    free, busy, late = {}, {}, collections.deque()

    def connect():
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        poll.register(connection, select.EPOLLIN)
        free[connection.fileno()] = connection

    for _ in range(connections):
        connect()
    begin, sent, times = time.monotonic(), 0, []
    while len(times) < len(requests):
        now = time.monotonic()
        while sent < len(requests) and begin + sent / rate <= now:
            late.append((begin + sent / rate, requests[sent]))
            sent += 1
        while late and free:
            (due, request), (number, connection) = late.popleft(), free.popitem()
            busy[number] = [connection, b"", due]
            connection.sendall(request)
        wait = begin + sent / rate - time.monotonic() if sent < len(requests) else 30
        for number, _ in poll.poll(max(0, wait)):
            if number in free:  # The server ends connections that are idle for long.
                free.pop(number).close()
                connect()
                continue
            entry = busy[number]
            received = entry[0].recv(65536)
            if not received:
                raise SystemExit("the server closed a connection in the middle of the load")
            entry[1] += received
            if length_of(entry[1]) == len(entry[1]):
                if not entry[1].startswith(b"HTTP/1.1 303"):
                    raise SystemExit(f"a sign-in was refused: {entry[1].decode()}")
                times.append(time.monotonic() - entry[2])
                free[number] = busy.pop(number)[0]
    for connection in free.values():
        connection.close()
    poll.close()
    return sorted(times)


def answer_all(listener, answer, control=None):
    """Answers requests on every connection that comes, by what `answer(head, body)` says; for a process of its own.

    `control`: a descriptor, and what is called when it is readable.
    """
    poll = select.epoll()
    poll.register(listener, select.EPOLLIN)
    if control:
        poll.register(control[0], select.EPOLLIN)
    connections = {}
    while True:
        for number, _ in poll.poll():
            if control and number == control[0]:
                control[1]()
            elif number == listener.fileno():
                connection, _ = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connections[connection.fileno()] = [connection, b""]
                poll.register(connection, select.EPOLLIN)
            else:
                entry = connections[number]
                try:
                    received = entry[0].recv(65536)
                except ConnectionError:
                    received = b""
                if not received:
                    poll.unregister(entry[0])
                    del connections[number]
                    entry[0].close()
                    continue
                message = entry[1] + received
                size = length_of(message)
                while size is not None and len(message) >= size:
                    head = message.find(b"\r\n\r\n") + 4
                    entry[0].sendall(answer(message[:head], message[head:size]))
                    message = message[size:]
                    size = length_of(message)
                entry[1] = message
