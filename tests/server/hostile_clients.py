"""Clients that behave badly on purpose. Each returns what became of it: a status, "cut", "left", or "unanswered" if the
server did neither answer nor close in time."""

import json
import re
import socket
import time

PATIENCE = 120  # seconds; longer than any limit of the servers that these clients meet
HEAD = b"POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


def with_body(body, length=None):
    return HEAD + b"Content-Length: %d\r\n\r\n%s" % (len(body) if length is None else length, body)


def end_of(connection):
    """Reads until the server has answered or closed."""
    connection.settimeout(PATIENCE)
    data = b""
    try:
        while not (found := re.match(rb"HTTP/1\.[01] (\d{3}) ", data)):
            part = connection.recv(65536)
            if not part:
                return "cut"
            data += part
        return int(found[1])
    except TimeoutError:
        return "unanswered"
    except OSError:
        return "cut"


def reset(connection):
    """Closing sends a reset, as the system of a program that crashed does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    connection.close()
    return "left"


def send_generated(connection, generator, _):
    connection.sendall(generator.request())
    if generator.random.random() < 0.1:
        return "left"
    connection.shutdown(socket.SHUT_WR)
    return end_of(connection)


def send_wrong_json(connection, generator, _):
    body = json.dumps({"query": "q", "texts": ["a", 5, None], "x": generator.value()}).encode()
    connection.sendall(with_body(body[:generator.random.randrange(len(body))]))
    return end_of(connection)


def send_too_much(connection, generator, _):
    """Five megabytes, announced or in chunks."""
    if generator.random.random() < 0.5:
        connection.sendall(with_body(b" " * 65536, 5_000_000))
    else:
        connection.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(80):
            connection.sendall(b"10000\r\n" + b" " * 65536 + b"\r\n")
    return end_of(connection)


def send_headers_without_end(connection, _generator, _until):
    connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n")
    for number in range(1_000_000):
        connection.sendall(b"X-%d: %s\r\n" % (number, b"y" * 1000))
    return "unanswered"


def trickle(connection, generator, until):
    """A byte now and then."""
    for byte in with_body(b'{"query":"q","texts":["a"]}'):
        connection.sendall(bytes([byte]))
        time.sleep(generator.random.uniform(0, 0.3))
        if time.monotonic() > until:
            return "left"
    return end_of(connection)


def leave_midway(connection, generator, _):
    """Within the request, or before its answer."""
    whole = with_body(json.dumps({"query": "egg", "texts": ["how to boil an egg " * 20] * 20}).encode())
    connection.sendall(whole[:generator.random.choice([len(whole), generator.random.randrange(len(whole))])])
    time.sleep(generator.random.uniform(0, 0.1))
    return reset(connection) if generator.random.random() < 0.5 else "left"


def read_slowly(connection, generator, until):
    """A megabyte of answer, of which it takes little."""
    body = json.dumps({"query": "q", "texts": ["x" * 250_000] * 4, "return_text": True}).encode()
    connection.sendall(with_body(body))
    connection.settimeout(PATIENCE)
    end = min(until, time.monotonic() + generator.random.uniform(0, 20))
    while time.monotonic() < end:
        if not connection.recv(512):
            return "cut"
        time.sleep(0.2)
    return "left"


KINDS = [send_generated, send_wrong_json, send_too_much, send_headers_without_end, trickle, leave_midway, read_slowly]


def attack(port, kind, generator, until, source="127.0.0.2"):
    """Slow clients leave at `until`. They have another address than the others, so that the server takes them for
    somebody else."""
    with socket.socket() as connection:
        connection.settimeout(PATIENCE)
        if kind is read_slowly:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            connection.bind((source, 0))
            connection.connect(("127.0.0.1", port))
            return kind(connection, generator, until)
        except TimeoutError:
            return "unanswered"
        except OSError:
            return "cut"
