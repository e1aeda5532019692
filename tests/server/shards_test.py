"""A front (`relucent serve --shards`) whose shards are hostile or damaged: whatever they answer, its memory stays
within what was asked for, the client hears that a shard is at fault, and no work outlives the client."""

import contextlib
import json
import socket
import threading
import time
import unittest

from serve_support import Server, program_path, run_tests

PROGRAM = program_path()
BM25 = "[rescorer]\nenabled = false\n"
MIB = 1 << 20


def statistics(documents=3, tokens=30, **frequencies):
    """What a shard states about the words of a query; each word of `frequencies` in so many documents."""
    return {"fields": {"contents": {"documents": documents, "tokens": tokens,
                                    "frequencies": frequencies or {"rice": 2}}}}


def hits(count, total=None, **changed):
    """An answer to /search with so many hits."""
    one = {"id": "d", "text": "rice", "first_stage_score": 1.5, **changed}
    return {"total_hits": count if total is None else total,
            "hits": [{**one, "id": f"{one['id']}{i}"} if isinstance(one["id"], str) else one for i in range(count)]}


def reply(body, status=200):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    head = b"HTTP/1.1 %d X\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
    return [head, body]


class Shard:
    """Answers each path with the pieces of bytes that `answers` has for it: a list, an endless iterator, or a function
    of the request that returns either."""

    def __init__(self, answers):
        self.answers = answers
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.asked = []      # (path, JSON) of each request
        self.headers = []    # of each request, names in lower case
        self.left = threading.Event()  # a connection was closed before its answer was taken
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                connection = self.listener.accept()[0]
                threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection, connection.makefile("rb") as stream:
            try:
                path = stream.readline().split()[1].decode()
                headers = {}
                while (line := stream.readline().strip()):
                    name, value = line.decode().split(":", 1)
                    headers[name.lower()] = value.strip()
                request = json.loads(stream.read(int(headers["content-length"])))
                self.headers.append(headers)
                self.asked.append((path, request))
                pieces = self.answers[path]
                for piece in pieces(request) if callable(pieces) else pieces:
                    if piece is None:  # wait for the other end to leave
                        if stream.read(1) == b"":
                            raise ConnectionResetError
                    connection.sendall(piece)
            except ConnectionError:
                self.left.set()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()


class Front(unittest.TestCase):
    def front(self, *answers, profile="", query="rice", k=10, seconds=60):
        """A front's answer to a search over shards with these answers, and by how many MiB its memory grew at most."""
        with contextlib.ExitStack() as stack:
            shards = [stack.enter_context(Shard(one)) for one in answers]
            front = stack.enter_context(Server(PROGRAM, "--shards", *[shard.url for shard in shards],
                                               profile=BM25 + "[server]\nrequest_timeout_ms = 20000\n" + profile))
            # The first search loads what every search needs.
            grown = front.growth()
            start = time.monotonic()
            answer = front.post("/search", {"query": query, "k": k})
            self.assertLess(time.monotonic() - start, seconds)
            self.assertIsNone(front.process.poll())
            self.assertEqual(front.get("/health").status, 200)
            return answer, grown()

    def is_the_shards_fault(self, *answers, names="shard", status=424, **more):
        answer, grown = self.front(*answers, **more)
        self.assertEqual(answer.status, status, answer)
        self.assertIn(names, answer.json["error"])
        self.assertLess(len(answer.json["error"]), 600)
        return grown

    def test_honest_answers_are_merged(self):
        first = {"/statistics": reply(statistics()), "/search": reply(hits(3, first_stage_score=1.5))}
        second = {"/statistics": reply(statistics()), "/search": reply(hits(2, id="e", first_stage_score=2.5))}
        answer, _ = self.front(first, second)
        self.assertEqual([hit["id"] for hit in answer.json["hits"]], ["e0", "e1", "d0", "d1", "d2"])
        self.assertEqual(answer.json["total_hits"], 5)

    def test_a_large_answer_costs_no_more_than_its_size(self):
        for name, element in (("arrays", b"[],"), ("objects", b'{"a":1},'), ("numbers", b"1,"),
                              ("hits", b'{"id":"x"},')):
            body = b'{"total_hits":5,"hits":[' + element * (60_000_000 // len(element)) + b"0]}"
            grown = self.is_the_shards_fault({"/statistics": reply(statistics()), "/search": reply(body)}, k=100)
            print(f"an answer of {len(body) / MIB:.0f} MiB of {name}: {grown:+.0f} MiB")
            self.assertLess(grown, 2.5 * len(body) / MIB, name)

    def test_statistics_are_bounded_too(self):
        many = {f"w{i}": 1 for i in range(2_000_000)}
        cases = {"words": statistics(**many), "fields": {"fields": {f"f{i}": {} for i in range(2_000_000)}},
                 "arrays": b'{"fields":[' + b"[]," * 20_000_000 + b"0]}"}
        for name, body in cases.items():
            grown = self.is_the_shards_fault({"/statistics": reply(body)})
            print(f"statistics of many {name}: {grown:+.0f} MiB")
            self.assertLess(grown, 8, name)

    def test_an_answer_is_cut_off_where_it_exceeds_what_was_asked_for(self):
        small = "text_bytes = 1000\n"
        head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

        def endless(start, piece):
            yield start
            while True:
                yield piece

        chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        cases = {"length": [b"HTTP/1.1 200 OK\r\nContent-Length: 900000000\r\n\r\n", b" " * 900_000],
                 "body": endless(head, chunk),
                 "until the end": endless(b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65536),
                 "chunk extension": endless(head + b"1;", b"x" * 65536),
                 "trailers": endless(head + b"1\r\nx\r\n0\r\n", b"a: b\r\n" * 10000),
                 "header": endless(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n" * 10000),
                 "nesting": reply(b"[" * 100_000)}
        for name, pieces in cases.items():
            grown = self.is_the_shards_fault({"/statistics": reply(statistics()), "/search": pieces},
                                             profile=small, seconds=10)
            print(f"an endless {name}: {grown:+.1f} MiB")
            self.assertLess(grown, 8, name)

    def test_totals_are_counts_of_documents(self):
        right = {"/statistics": reply(statistics()), "/search": reply(hits(2))}
        for total in (-1, 2**63 - 1, 2**63, 2**31, 1, 1.5, "2", None, [2]):
            wrong = {"/statistics": reply(statistics()), "/search": reply({**hits(2), "total_hits": total})}
            self.is_the_shards_fault(right, wrong, names="shard 2 of 2")

    def test_hits_are_as_many_as_were_asked_for(self):
        for answer in (hits(11), hits(11, total=11), hits(3, total=4), hits(10, total=9), {"total_hits": 1},
                       {"total_hits": 1, "hits": {}}, {"total_hits": 1, "hits": ["d"]}, [], hits(1, id=5),
                       hits(1, text=None), hits(1, text=["rice"]), hits(1, first_stage_score="1"),
                       b'{"total_hits":1,"hits":[{"id":"d","text":"t","first_stage_score":1e999}]}',
                       b'{"total_hits":1,"hits":[{"id":"\xff","text":"t","first_stage_score":1}]}', b"", b"<html>"):
            self.is_the_shards_fault({"/statistics": reply(statistics()), "/search": reply(answer)},
                                     names="shard 1 of 1")

    def test_a_shards_fault_is_not_the_clients(self):
        for answer in (reply({}), reply({"fields": {"contents": 1}}), reply([]), reply(b"nonsense"),
                       reply(statistics(documents=-1)), reply(statistics(tokens=2)), reply(statistics(rice=4)),
                       reply({"error": "unknown"}, 422), reply({"error": "x" * 100_000}, 500),
                       reply({"error": "not here"}, 404), reply({"error": 5}, 401), reply(b"gone", 400),
                       [b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"], [b"SSH-2.0\r\n"], []):
            self.is_the_shards_fault({"/statistics": answer}, names="shard 1 of 1")
        for status in (429, 503):
            self.is_the_shards_fault({"/statistics": reply({"error": "busy"}, status)}, status=503)

    def test_counts_that_no_collections_have_are_refused(self):
        large = {"/statistics": reply(statistics(documents=2**62, tokens=2**63 - 1, rice=2**62)),
                 "/search": reply(hits(1))}
        self.is_the_shards_fault(large, large)

    def test_shards_that_read_the_query_otherwise_are_at_fault(self):
        rice = {"/statistics": reply(statistics(rice=1)), "/search": reply(hits(1))}
        for other in ({"fields": {}}, statistics(ric=1), statistics(rice=1, bowl=1),
                      {"fields": {"body": statistics()["fields"]["contents"]}}):
            self.is_the_shards_fault(rice, {"/statistics": reply(other), "/search": reply(hits(1))},
                                     names="shard 2 of 2")
        self.is_the_shards_fault({"/statistics": reply({"fields": {}})}, names="shard 1 of 1")
        answer, _ = self.front({"/statistics": reply({"fields": {}})}, query="the of")
        self.assertIn("stop words", answer.json["note"])

    def test_statistics_without_the_querys_words_are_the_clients_fault(self):
        with (Shard({"/search": reply({"error": "the statistics lack a term"}, 422)}) as shard,
              Server(PROGRAM, "--shards", shard.url, profile=BM25) as front):
            for wrong in ({"fields": {}}, statistics(bowl=1)):
                answer = front.post("/search", {"query": "rice", "statistics": wrong})
                self.assertEqual(answer.status, 422, answer)

    def test_nothing_is_asked_for_a_client_that_has_left(self):
        for path in ("/statistics", "/search"):
            answers = {"/statistics": reply(statistics()), "/search": reply(hits(1)), path: [None]}
            with Shard(answers) as shard, Server(PROGRAM, "--shards", shard.url, profile=BM25) as front:
                with front.socket() as client:
                    body = json.dumps({"query": "rice"}).encode()
                    client.sendall(b"POST /search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                                   b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                    while not shard.asked or shard.asked[-1][0] != path:
                        time.sleep(0.01)
                self.assertTrue(shard.left.wait(5), f"the front still waits for {path}")
                end = time.monotonic() + 5
                while front.metric("computing") > 0:
                    self.assertLess(time.monotonic(), end)
                    time.sleep(0.02)

    def test_shards_learn_the_trace_of_a_request(self):
        trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
        with (Shard({"/statistics": reply(statistics()), "/search": reply(hits(1))}) as shard,
              Server(PROGRAM, "--shards", shard.url, profile=BM25) as front):
            front.post("/search", {"query": "rice"}, traceparent=f"00-{trace}-{parent}-01", tracestate="a=1")
            logged = front.logged(trace_id=trace, parent_span_id=parent)
            for headers in shard.headers:
                self.assertEqual(headers["traceparent"], f"00-{trace}-{logged['span_id']}-01")
                self.assertEqual(headers["tracestate"], "a=1")
            self.assertEqual(len(shard.headers), 2)
            front.post("/search", {"query": "rice"}, traceparent=f"00-{trace}-{parent}-1", User_Agent="malformed")
            self.assertNotIn("traceparent", shard.headers[-1])
            self.assertNotIn("trace_id", front.logged(user_agent="malformed"))

    def test_texts_are_asked_for_where_they_are_needed(self):
        with (Shard({"/statistics": reply(statistics()), "/search": reply(hits(1))}) as shard,
              Server(PROGRAM, "--shards", shard.url, profile=BM25) as front):
            for texts in ("none", "snippet", "full"):
                self.assertEqual(front.post("/search", {"query": "rice", "texts": texts}).status, 200)
                self.assertEqual(shard.asked[-1][1]["texts"], "none" if texts == "none" else "full")


if __name__ == "__main__":
    run_tests()
