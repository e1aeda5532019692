#!/usr/bin/env python3
"""`relucent model fetch` against a hub of our own, over TLS with an authority of our own.

    python3 tests/index_tools/program/program_fetch_test.py build/release/bin/relucent

Needs the program `openssl`. Whether huggingface_hub finds what we brought, and we what it did, is tested if Python has
it.
"""
import hashlib
import http.server
import importlib.util
import json
import os
import resource
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

PROGRAM = str(Path(sys.argv.pop(1)).resolve())
COMMIT = "0123456789abcdef0123456789abcdef01234567"
WORK = Path(tempfile.mkdtemp(prefix="relucent-hub-"))


def checkpoint():
    """A BERT of random weights small enough to read, as {path: bytes}; the weights are some MB, for interruptions."""
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"] + [chr(c) for c in range(ord("a"), ord("z") + 1)]
    hidden, rows = 64, 20000
    shapes = {"bert.embeddings.word_embeddings.weight": (rows, hidden),
              "bert.embeddings.position_embeddings.weight": (64, hidden),
              "bert.embeddings.token_type_embeddings.weight": (2, hidden)}
    linears = {"bert.encoder.layer.0.attention.self.query": (hidden, hidden),
               "bert.encoder.layer.0.attention.self.key": (hidden, hidden),
               "bert.encoder.layer.0.attention.self.value": (hidden, hidden),
               "bert.encoder.layer.0.attention.output.dense": (hidden, hidden),
               "bert.encoder.layer.0.intermediate.dense": (hidden, hidden),
               "bert.encoder.layer.0.output.dense": (hidden, hidden),
               "bert.pooler.dense": (hidden, hidden), "classifier": (1, hidden)}
    for name, shape in linears.items():
        shapes[name + ".weight"], shapes[name + ".bias"] = shape, shape[:1]
    for name in ("bert.embeddings.LayerNorm", "bert.encoder.layer.0.attention.output.LayerNorm",
                 "bert.encoder.layer.0.output.LayerNorm"):
        shapes[name + ".weight"] = shapes[name + ".bias"] = (hidden,)
    header, data = {}, b""
    for number, (name, shape) in enumerate(shapes.items()):
        count = shape[0] * (shape[1] if len(shape) > 1 else 1)
        block = struct.pack("<64f", *(((i * 37 + number * 11) % 101 - 50) / 200 for i in range(64)))
        values = (block * (count // 64 + 1))[:4 * count]
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    config = {"model_type": "bert", "architectures": ["BertForSequenceClassification"], "hidden_size": hidden,
              "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": hidden, "vocab_size": rows,
              "max_position_embeddings": 64, "id2label": {"0": "LABEL_0"}}
    return {"config.json": json.dumps(config).encode(), "vocab.txt": "\n".join(words).encode() + b"\n",
            "tokenizer_config.json": b"{}", "model.safetensors": struct.pack("<Q", len(text)) + text + data,
            "pytorch_model.bin": b"not ours", "README.md": b"# a model", "onnx/model.onnx": b"not ours"}


FILES = checkpoint()
WEIGHTS = FILES["model.safetensors"]


def git_hash(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


def is_large(name):
    return name.endswith(".safetensors")


def hash_of(name, content):
    return hashlib.sha256(content).hexdigest() if is_large(name) else git_hash(content)


def listing(files=None):
    siblings = []
    for name, content in (files or FILES).items():
        entry = {"rfilename": name, "size": len(content), "blobId": git_hash(content)}
        if is_large(name):
            entry["lfs"] = {"sha256": hash_of(name, content), "size": len(content), "pointerSize": 135}
        siblings.append(entry)
    return {"id": "org/model", "sha": COMMIT, "siblings": siblings}


class Hub(http.server.ThreadingHTTPServer):
    """Serves FILES; `hook(handler, path)` may answer a request itself and return True."""
    daemon_threads = True

    def __init__(self, tls=True):
        super().__init__(("127.0.0.1", 0), Handler)
        self.hook, self.requests, self.list = None, [], listing()
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(WORK / "hub.pem", WORK / "hub.key")
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://localhost:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        pass  # clients that go away


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def send(self, status, body=b"", headers=()):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def send_file(self, name, content, ranges=True):
        first = 0
        if ranges and "Range" in self.headers:
            first = int(self.headers["Range"].split("=")[1].rstrip("-"))
        headers = [("ETag", '"%s"' % hash_of(name, content)), ("X-Repo-Commit", COMMIT)]
        if first:
            headers.append(("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}"))
        self.send(206 if first else 200, content[first:], headers)

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.split("?")[0]
        self.server.requests.append((path, dict(self.headers)))
        if self.server.hook and self.server.hook(self, path):
            return
        if path.startswith("/api/models/org/model/revision/"):
            self.send(200, json.dumps(self.server.list).encode())
        elif path.startswith(f"/org/model/resolve/") and path.split("/", 5)[5] in FILES:
            name = path.split("/", 5)[5]
            self.send_file(name, FILES[name])
        else:
            self.send(404, headers=[("X-Error-Code", "EntryNotFound")])


def make_authority():
    run = lambda *args: subprocess.run(["openssl", *args], cwd=WORK, check=True, capture_output=True)
    run("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2",
        "-subj", "/CN=ours")
    run("req", "-newkey", "rsa:2048", "-nodes", "-keyout", "hub.key", "-out", "hub.csr", "-subj", "/CN=localhost")
    (WORK / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    run("x509", "-req", "-in", "hub.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2", "-out",
        "hub.pem", "-extfile", "names")


class Fetch(unittest.TestCase):
    def setUp(self):
        self.hub = Hub()
        self.cache = Path(tempfile.mkdtemp(dir=WORK))
        self.model = self.cache / "models--org--model"

    def tearDown(self):
        self.hub.shutdown()
        self.hub.server_close()

    def environment(self, **changes):
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith("HF_") and name not in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")}
        clean |= {"HF_ENDPOINT": self.hub.url, "HF_HUB_CACHE": str(self.cache), "HF_HOME": str(WORK / "none"),
                  "SSL_CERT_FILE": str(WORK / "ca.pem"), "no_proxy": "*"}
        return {name: value for name, value in (clean | changes).items() if value is not None}

    def start(self, name="org/model", limit=None, **changes):
        def limits():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        return subprocess.Popen([PROGRAM, "model", "fetch", name], env=self.environment(**changes), text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limits if limit else None)

    def fetch(self, *args, **changes):
        process = self.start(*args, **changes)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def succeeds(self, **changes):
        code, out, err = self.fetch(**changes)
        self.assertEqual(code, 0, err)
        info = subprocess.run([PROGRAM, "model", "check", "org/model", "--device", "cpu"], env=self.environment(),
                              text=True, capture_output=True)
        self.assertEqual(info.returncode, 0, info.stdout + info.stderr)
        return out

    def fails(self, *texts, args=(), **changes):
        """Nothing of the model has a name afterwards."""
        code, _, err = self.fetch(*args, **changes)
        self.assertNotIn(code, (0, -signal.SIGABRT, -signal.SIGSEGV), err)
        for text in texts:
            self.assertIn(text, err)
        self.assertFalse((self.model / "refs").is_dir() and any((self.model / "refs").iterdir()))
        self.assertFalse((self.model / "snapshots" / COMMIT / "config.json").exists())
        return err

    def files_asked_for(self):
        return sorted(path.split("/", 5)[5] for path, _ in self.hub.requests if "/resolve/" in path)

    def test_brings_what_the_reader_opens_and_nothing_twice(self):
        self.succeeds()
        needed = sorted(["config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"])
        self.assertEqual(self.files_asked_for(), needed)
        for name in needed:
            link = self.model / "snapshots" / COMMIT / name
            self.assertEqual(os.readlink(link), f"../../blobs/{hash_of(name, FILES[name])}")
            self.assertEqual(link.read_bytes(), FILES[name])
        self.assertEqual((self.model / "refs/main").read_text(), COMMIT)
        self.assertEqual(sorted(p.name for p in (self.model / "blobs").iterdir()),
                         sorted(hash_of(name, FILES[name]) for name in needed))
        self.hub.requests.clear()
        self.assertIn("0.0 MB were fetched", self.succeeds())
        self.assertEqual(self.files_asked_for(), [])

    def test_revisions(self):
        code, _, err = self.fetch("org/model@v1")
        self.assertEqual(code, 0, err)
        self.assertEqual((self.model / "refs/v1").read_text(), COMMIT)
        self.assertFalse((self.model / "refs/main").exists())
        code, _, err = self.fetch("org/model@refs/pr/1")
        self.assertEqual(code, 0, err)
        self.assertIn("/api/models/org/model/revision/refs%2Fpr%2F1", [path for path, _ in self.hub.requests])

    def test_a_cut_connection_is_resumed_by_the_same_call(self):
        starts = []

        def hook(handler, path):
            if not path.endswith("model.safetensors"):
                return False
            starts.append(handler.headers.get("Range"))
            first = int(starts[-1].split("=")[1].rstrip("-")) if starts[-1] else 0
            handler.send_response(206 if first else 200)
            if first:
                handler.send_header("Content-Range", f"bytes {first}-{len(WEIGHTS) - 1}/{len(WEIGHTS)}")
            handler.send_header("Content-Length", str(len(WEIGHTS) - first))
            handler.end_headers()
            handler.wfile.write(WEIGHTS[first:first + 600000])
            handler.wfile.flush()
            handler.close_connection = True
            handler.connection.shutdown(socket.SHUT_RDWR)
            return True
        self.hub.hook = hook
        self.succeeds()
        self.assertEqual(starts[0], None)
        self.assertTrue(all(start for start in starts[1:]), starts)
        self.assertGreater(len(starts), 7)

    def test_a_hub_that_never_ends_a_file(self):
        self.hub.hook = lambda handler, path: path.endswith("/config.json") and (
            handler.connection.shutdown(socket.SHUT_RDWR) or True)
        self.fails("fails", "run the command again")

    def test_ctrl_c_is_resumed_by_the_next_call(self):
        begun = threading.Event()

        def hook(handler, path):
            if not path.endswith("model.safetensors") or begun.is_set():
                return False
            handler.send_response(200)
            handler.send_header("Content-Length", str(len(WEIGHTS)))
            handler.end_headers()
            handler.wfile.write(WEIGHTS[:2000000])
            handler.wfile.flush()
            begun.set()
            time.sleep(30)
            return True
        self.hub.hook = hook
        process = self.start()
        self.assertTrue(begun.wait(20))
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 130)
        self.assertFalse((self.model / "refs/main").exists())
        self.hub.requests.clear()
        self.succeeds()
        ranges = [headers.get("Range") for path, headers in self.hub.requests if path.endswith("model.safetensors")]
        self.assertEqual(ranges, ["bytes=2000000-"])

    def test_a_server_without_ranges_sends_the_whole_again(self):
        part = self.model / "blobs" / (hash_of("model.safetensors", WEIGHTS) + ".incomplete")
        part.parent.mkdir(parents=True)
        part.write_bytes(b"x" * 1000)
        self.hub.hook = lambda handler, path: path.endswith("model.safetensors") and (
            handler.send_file("model.safetensors", WEIGHTS, ranges=False) or True)
        self.succeeds()

    def test_a_wrong_beginning_is_found_by_the_hash(self):
        part = self.model / "blobs" / (hash_of("model.safetensors", WEIGHTS) + ".incomplete")
        part.parent.mkdir(parents=True)
        part.write_bytes(b"x" * 1000)
        self.fails("hash")
        self.assertFalse(part.exists())
        self.succeeds()

    def test_contents_that_are_not_what_the_list_states(self):
        for name in ("model.safetensors", "config.json"):
            self.hub.hook = lambda handler, path: path.endswith("/" + name) and (
                handler.send_file(name, FILES[name][:-1] + b"!") or True)
            self.fails("hash", name)

    def test_sizes_that_lie(self):
        self.hub.hook = lambda handler, path: path.endswith("/config.json") and (
            handler.send_file("config.json", FILES["config.json"] + b" " * 100) or True)
        self.fails("more than the", "config.json")
        self.hub.hook = None
        self.hub.list = listing()
        for entry in self.hub.list["siblings"]:
            if entry["rfilename"] == "model.safetensors":
                entry["size"] = 1 << 60
        self.fails("free space")

    def test_refusals(self):
        def answer(status, code="", **headers):
            extra = [(name.replace("_", "-"), value) for name, value in headers.items()]
            self.hub.hook = lambda handler, path: handler.send(status, b"{}", [("X-Error-Code", code), *extra]) or True
        answer(401, "RepoNotFound")
        self.fails("has no such model", "HF_TOKEN")
        answer(404)
        self.fails("has no such model")
        answer(404, "RevisionNotFound")
        self.fails("no such revision")
        answer(403, "GatedRepo")
        self.fails("accept its conditions")
        answer(401)
        self.fails("asks for a token")
        answer(429, Retry_After="4000")
        self.fails("429", "4000 s")
        answer(418)
        self.fails("418")

    def test_waits_if_asked_to(self):
        answers = iter([429, 503, 500])

        def hook(handler, path):
            status = next(answers, None)
            return status is not None and (handler.send(status, b"", [("Retry-After", "1")]) or True)
        self.hub.hook = hook
        self.succeeds()

    def test_the_token_goes_to_the_hub_alone(self):
        other = Hub()
        other.url = other.url.replace("localhost", "127.0.0.1")
        self.hub.hook = lambda handler, path: "/resolve/" in path and path.endswith("model.safetensors") and (
            handler.send(302, b"", [("Location", other.url + path)]) or True)
        self.succeeds(HF_TOKEN="hf_secret")
        self.assertTrue(all(headers.get("Authorization") == "Bearer hf_secret" for _, headers in self.hub.requests))
        self.assertEqual(len(other.requests), 1)
        self.assertNotIn("Authorization", other.requests[0][1])
        other.shutdown(), other.server_close()

    def test_the_stored_token_is_used(self):
        home = Path(tempfile.mkdtemp(dir=WORK))
        (home / "token").write_text("hf_stored\n")
        self.fails("is not a token", HF_TOKEN="a\nb: c")
        self.succeeds(HF_HOME=str(home))
        self.assertEqual(self.hub.requests[0][1].get("Authorization"), "Bearer hf_stored")

    def test_redirects(self):
        def to(location):
            self.hub.hook = lambda handler, path: "/resolve/" in path and (
                handler.send(307, b"", [("Location", location or path)]) or True)
        to(None)
        self.fails("redirects without end")
        for unsafe in ("http://192.0.2.1/x", "ftp://localhost/x", "file:///etc/passwd", ""):
            to(unsafe or "http://")
            self.fails("https")

    def test_hostile_lists(self):
        files = dict(FILES) | {"../x": b"1", "/etc/x": b"2", "1_A/../../config.json": b"3", "a\\b": b"4", "..": b"5"}
        self.hub.list = listing(files)
        self.succeeds()
        self.assertEqual(sorted(p.name for p in (self.model / "snapshots" / COMMIT).iterdir()),
                         sorted(["config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"]))
        shutil.rmtree(self.model)
        self.hub.list["siblings"] += [{"rfilename": f"f{i}", "size": 1, "blobId": "0" * 40} for i in range(300000)]
        self.succeeds()
        shutil.rmtree(self.model)
        for wrong in ([], {"sha": COMMIT}, {"sha": "x", "siblings": []}, {"sha": "../../../x", "siblings": []},
                      {"sha": COMMIT, "siblings": 3}):
            self.hub.list = wrong
            self.fails("revision/main")
        entries = [3, {}, {"rfilename": 1}, {"rfilename": "model.safetensors", "size": -1}]
        self.hub.list = {"sha": COMMIT, "siblings": entries}
        self.fails("no model.safetensors")
        self.hub.hook = lambda handler, path: handler.send(200, b"[" * 100000) or True
        self.fails("JSON")
        self.hub.hook = lambda handler, path: handler.send(200, b" " * (70 << 20)) or True
        self.fails("64 MB")

    def test_models_that_the_reader_does_not_read(self):
        self.hub.list = listing({name: content for name, content in FILES.items() if name != "model.safetensors"})
        self.fails("pytorch_model.bin")
        self.hub.list = listing({name: content for name, content in FILES.items() if name != "config.json"})
        self.fails("config.json")

    def test_two_at_once(self):
        first, second = self.start(), self.start()
        for process in (first, second):
            _, err = process.communicate(timeout=120)
            self.assertEqual(process.returncode, 0, err)
        self.assertEqual(len(self.files_asked_for()), 4)
        self.succeeds()

    def test_a_full_disk(self):
        self.fails("model", limit=1 << 20)
        self.succeeds()

    def test_places_that_may_not_be_asked(self):
        self.fails("HF_HUB_OFFLINE", HF_HUB_OFFLINE="1")
        self.fails("HF_ENDPOINT", HF_ENDPOINT="http://192.0.2.1")
        self.fails("HF_ENDPOINT", HF_ENDPOINT="hub")
        self.fails("certificate", SSL_CERT_FILE="/etc/ssl/certs/ca-certificates.crt")
        self.assertEqual(self.hub.requests, [])
        for name in ("model", "../x/y", "org/model@../x", "/org/model"):
            self.fails("is not the name of a model", args=(name,))
        plain = Hub(tls=False)
        code, _, err = self.fetch(HF_ENDPOINT=plain.url)
        self.assertEqual(code, 0, err)
        plain.shutdown(), plain.server_close()

    @unittest.skipUnless(importlib.util.find_spec("huggingface_hub"), "SKIPPED: Python has no huggingface_hub")
    def test_huggingface_hub_finds_what_we_brought_and_we_what_it_did(self):
        plain = Hub(tls=False)
        ask = ("import sys, huggingface_hub as h\n"
               "print(h.hf_hub_download('org/model', sys.argv[1], local_files_only=sys.argv[2] == 'local'))")

        def theirs(name, where):
            return subprocess.run([sys.executable, "-c", ask, name, where], text=True, capture_output=True,
                                  env=self.environment(HF_ENDPOINT=plain.url))
        code, _, err = self.fetch(HF_ENDPOINT=plain.url)
        self.assertEqual(code, 0, err)
        for name in ("config.json", "model.safetensors"):
            found = theirs(name, "local")
            self.assertEqual(Path(found.stdout.strip()).read_bytes(), FILES[name], found.stderr)
        shutil.rmtree(self.cache)
        for name in ("config.json", "vocab.txt", "tokenizer_config.json", "model.safetensors"):
            found = theirs(name, "hub")
            self.assertEqual(found.returncode, 0, found.stderr)
        plain.requests.clear()
        code, out, err = self.fetch(HF_ENDPOINT=plain.url)
        self.assertEqual(code, 0, err)
        self.assertIn("0.0 MB were fetched", out)
        plain.shutdown(), plain.server_close()


if __name__ == "__main__":
    make_authority()
    try:
        unittest.main(verbosity=2)
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
