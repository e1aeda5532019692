"""Requests from harmless to hostile, generated from a seed."""

import json
import random
import string


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self):
        kind = self.random.randrange(6)
        if kind == 0:
            return ""
        if kind == 1:
            return "".join(chr(self.random.choice([0, 1, 9, 34, 92, 0x7F, 0xE9, 0x3042, 0xFFFD, 0xFFFF, 0x1F600]))
                           for _ in range(self.random.randrange(20)))
        if kind == 2:
            return "egg " * self.random.randrange(300)
        return "".join(self.random.choices(string.ascii_letters + " ", k=self.random.randrange(1, 60)))

    def value(self, depth=0):
        kind = self.random.randrange(11 if depth < 4 else 8)
        if kind < 3:
            return self.text()
        if kind < 8:
            return [None, True, -1, 1e308, 1 << 70][kind - 3]
        if kind == 8:
            return {self.text(): self.value(depth + 1) for _ in range(self.random.randrange(4))}
        return [self.value(depth + 1) for _ in range(self.random.randrange(4))]

    def fields(self):
        known = {"query": self.text, "texts": lambda: [self.text() for _ in range(self.random.randrange(5))],
                 "documents": lambda: [self.text(), {"text": self.text()}], "k": lambda: self.random.randrange(-2, 30),
                 "top_n": lambda: self.random.randrange(-2, 5), "raw_scores": lambda: True, "return_text": lambda: True,
                 "explain": lambda: self.random.random() < 0.2, "truncate": lambda: False, "texts ": self.value,
                 "truncation_direction": lambda: "left", "timeout_ms": lambda: self.random.choice([0, 1, 5, 10**9])}
        chosen = {name: make() for name, make in known.items() if self.random.random() < 0.9}
        for name in list(chosen):
            if self.random.random() < 0.04:
                chosen[name] = self.value()
        return chosen

    def body(self):
        kind = self.random.randrange(20)
        if kind == 0:
            return self.random.randbytes(self.random.randrange(200))
        if kind == 1:
            opening = self.random.choice(["[", '{"a":', '{"query":[', '"', "[[{"])
            return (opening * self.random.choice([10, 300, 30000])).encode()
        body = json.dumps(self.fields(), ensure_ascii=self.random.random() < 0.5).encode("utf-8", "surrogatepass")
        if kind == 2:
            return body[:self.random.randrange(len(body))]
        if kind == 3:
            place = self.random.randrange(len(body))
            return body[:place] + self.random.randbytes(1) + body[place + 1:]
        return body

    def request(self):
        method = self.random.choice(["POST"] * 30 + ["GET", "HEAD", "PUT", "OPTIONS", "TRACE", "G" * 50, "P\x01ST"])
        path = self.random.choice(["/rerank"] * 4 + ["/search"] * 4 + ["/v1/rerank", "/v2/rerank", "/", "/info",
                                                                      "/metrics", "/../../etc/passwd", "/%00", "*",
                                                                      "/" + "a" * self.random.choice([10, 20000])])
        body = self.body()
        headers = [f"Content-Length: {len(body)}", "Content-Type: application/json", "Host: localhost"]
        trick = self.random.randrange(25)
        if trick == 0:
            headers[0] = "Content-Length: " + self.random.choice(
                ["-1", "1" * 30, "0x10", "5, 5", "", str(len(body) + 9)])
        elif trick == 1:
            headers.append("Transfer-Encoding: chunked")
        elif trick == 2:
            headers = [f"X-{i}: {self.text()!r}" for i in range(self.random.choice([3, 3000]))] + headers
        elif trick == 3:
            headers[1] = self.random.choice(
                ["Content-Type: text/plain", "Content-Type", ": application/json", "\x00: y"])
        elif trick == 4:
            headers.append("X-Request-Timeout-Ms: " + self.random.choice(["1", "0", "-5", "x", "9" * 40]))
        elif trick == 5:
            headers.append("Authorization: Bearer " + "z" * self.random.randrange(3000))
        version = self.random.choice(["HTTP/1.1"] * 40 + ["HTTP/1.0", "HTTP/2.0", "HTTP/1.1 ", ""])
        head = f"{method} {path} {version}\r\n" + "\r\n".join(headers) + "\r\n\r\n"
        raw = head.encode("utf-8", "replace") + body
        return raw[:self.random.randrange(len(raw))] if self.random.random() < 0.05 else raw
