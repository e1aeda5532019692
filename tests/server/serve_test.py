"""`relucent serve` over the bundled checkpoint: forms of requests, equal bits, fairness, deadlines, signals, tokens."""

import concurrent.futures
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

from serve_support import DEVICE, Server, bits, build_index, passages, program_path, queries

PROGRAM = program_path()
SCRATCH = tempfile.TemporaryDirectory(prefix="relucent-serve-test-")
INDEX = Path(SCRATCH.name) / "demo.index"
EGG = "how to boil an egg"
TEXTS = ["Paris is the capital of France.", "To boil an egg, put it in boiling water for seven minutes.", "", "Eggs."]


def logits_of_rerank(query, texts):
    """{index: logit} by `relucent rerank`, which does not score empty texts."""
    with tempfile.TemporaryDirectory(dir=SCRATCH.name) as folder:
        rows = [{"qid": "1", "query": query, "docno": str(i), "text": text, "rank": i + 1, "score": -i}
                for i, text in enumerate(texts)]
        (Path(folder) / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        subprocess.run([PROGRAM, "rerank", "--input", f"{folder}/in.jsonl", "--output", f"{folder}/out.tsv", "--quiet",
                        *DEVICE], check=True)
        lines = (Path(folder) / "out.tsv").read_text(encoding="utf-8").splitlines()
    return {int(line.split("\t")[1]): float(line.split("\t")[2]) for line in lines}


def by_index(answer):
    return {rank["index"]: rank["score"] for rank in answer.json}


def id_at(server, rank):
    """The id of the hit at a rank."""
    return server.post("/search", {"query": EGG, "k": rank}).json["hits"][-1]["id"]


def wait_until_here(server, requests):
    """Waits until the server has read so many requests for scores."""
    def read():
        answered = server.metric('requests_total{path="/rerank"')
        return answered + server.metric("computing") + server.metric("queue_length")
    while read() < requests:
        time.sleep(0.01)


class OneServer(unittest.TestCase):
    """Tests that share a server with the demo index."""

    @classmethod
    def setUpClass(cls):
        cls.server = Server(PROGRAM, "--index", INDEX, *DEVICE)
        cls.addClassCleanup(cls.server.__exit__)

    def test_rerank_answers_as_text_embeddings_inference_does(self):
        answer = self.server.post("/rerank", {"query": EGG, "texts": TEXTS})
        self.assertEqual(answer.status, 200, answer)
        ranks = answer.json
        self.assertEqual(ranks[0]["index"], 1)
        self.assertEqual(sorted(rank["index"] for rank in ranks), [0, 1, 2, 3])
        self.assertEqual(list(ranks[0]), ["index", "score"])
        self.assertEqual([rank["score"] for rank in ranks], sorted((r["score"] for r in ranks), reverse=True))
        self.assertTrue(all(0 <= rank["score"] <= 1 for rank in ranks))
        for header in ("x-compute-time", "x-total-time", "x-queue-time", "x-inference-time"):
            self.assertIn(header, answer.headers)
        ranks = self.server.post("/", {"query": EGG, "texts": TEXTS, "return_text": True, "raw_scores": True}).json
        self.assertEqual(ranks[0]["text"], TEXTS[1])
        self.assertTrue(any(rank["score"] < 0 for rank in ranks))

    def test_scores_have_the_bits_of_the_command(self):
        for query in queries()[:3]:
            texts = [text for _, text in passages()[:40]]
            expected = logits_of_rerank(query, texts)
            got = by_index(self.server.post("/rerank", {"query": query, "texts": texts, "raw_scores": True}))
            self.assertEqual({i: bits(score) for i, score in got.items()},
                             {i: bits(score) for i, score in expected.items()})

    def test_concurrent_clients_get_the_bits_of_a_single_one(self):
        texts = [text for _, text in passages()]
        random.seed(5)
        requests = []
        for query in queries()[:12]:
            for size in (1, 2, 7, 30):
                requests.append({"query": query, "texts": random.sample(texts, size), "raw_scores": True})
        alone = [self.server.post("/rerank", request).json for request in requests]
        order = list(range(len(requests)))
        random.shuffle(order)
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            together = list(pool.map(lambda i: self.server.post("/rerank", requests[i]).json, order))
        for place, i in enumerate(order):
            self.assertEqual(together[place], alone[i])

    def test_cohere_and_jina(self):
        body = {"model": "any", "query": EGG, "documents": [TEXTS[0], {"text": TEXTS[1]}, "x"], "top_n": 2,
                "return_documents": True}
        for version in ("1", "2"):
            answer = self.server.post(f"/v{version}/rerank", body)
            self.assertEqual(answer.status, 200, answer)
            self.assertEqual([result["index"] for result in answer.json["results"]][0], 1)
            self.assertEqual(len(answer.json["results"]), 2)
            self.assertEqual(answer.json["results"][0]["document"], {"text": TEXTS[1]})
            self.assertEqual(answer.json["meta"]["api_version"]["version"], version)
        del body["return_documents"], body["top_n"]
        results = self.server.post("/v1/rerank", body).json["results"]
        self.assertEqual(len(results), 3)
        self.assertNotIn("document", results[0])

    def test_documents_are_answered_in_the_form_of_their_clients_wherever_these_ask(self):
        body = {"model": "any", "query": EGG, "documents": [TEXTS[0], {"text": TEXTS[1]}], "return_documents": True}
        expected = self.server.post("/v1/rerank", body).json
        for path in ("/rerank", "/reranking", "/v1/reranking", "/"):
            self.assertEqual(self.server.post(path, body).json, expected, path)
        texts = {"query": EGG, "texts": TEXTS}
        for path in ("/reranking", "/v1/rerank", "/v1/reranking"):
            self.assertEqual(self.server.post(path, texts).json, self.server.post("/rerank", texts).json, path)
        self.assertEqual(len(self.server.post("/rerank", {**body, "top_n": 0}).json["results"]), 2)
        infinity = self.server.post("/infinity/rerank", body).json
        self.assertEqual(infinity["object"], "rerank")
        self.assertEqual([{**result, "document": result["document"]["text"]} for result in expected["results"]],
                         infinity["results"])

    def test_the_access_log_has_the_trace_of_a_request(self):
        trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
        self.server.post("/rerank", {"query": EGG, "texts": ["a"]}, traceparent=f"00-{trace}-{parent}-00")
        line = self.server.logged(trace_id=trace)
        self.assertEqual(line["parent_span_id"], parent)
        self.assertRegex(line["span_id"], "^[0-9a-f]{16}$")

    def test_search_gives_what_the_command_gives(self):
        for query in queries()[:5]:
            line = subprocess.run([PROGRAM, "search", "--index", INDEX, "--json", *DEVICE, query], check=True,
                                  stdout=subprocess.PIPE, encoding="utf-8").stdout
            expected = json.loads(line)
            answer = self.server.post("/search", {"query": query, "k": 10, "texts": "full"}).json
            self.assertEqual(answer["total_hits"], expected["total_hits"])
            for hit, wanted in zip(answer["hits"], expected["hits"], strict=True):
                for key in ("rank", "id", "first_stage_rank", "status", "truncated", "text"):
                    self.assertEqual(hit[key], wanted[key])
                for key in ("logit", "score", "first_stage_score"):
                    self.assertEqual(bits(hit[key]), bits(wanted[key]))
                    self.assertLessEqual(len(str(hit[key]).lstrip("-").replace(".", "").lstrip("0")), 9, hit[key])
                self.assertEqual((hit["passage"]["begin"], hit["passage"]["end"]),
                                 (wanted["passage"]["begin"], wanted["passage"]["end"]))
            self.assertIn("encode", answer["milliseconds"])
            self.assertFalse(answer["degraded"])

    def test_pages_are_parts_of_one_list(self):
        for body in ({"query": "rice"}, {"query": EGG}, {"query": EGG, "rescore": False}, {"query": "the of"}):
            whole = self.server.post("/search", {**body, "k": 300}).json
            for size in (10, 90, 299):
                pages = [self.server.post("/search", {**body, "k": min(size, 1000 - offset), "offset": offset}).json
                         for offset in range(0, 900, size)]
                self.assertEqual(sum((page["hits"] for page in pages), [])[:300], whole["hits"])
                self.assertEqual({page["total_hits"] for page in pages}, {whole["total_hits"]})
        one = self.server.post("/search", {"query": EGG, "k": 5, "offset": 5, "id": id_at(self.server, 7)}).json
        self.assertEqual([hit["rank"] for hit in one["hits"]], [7])
        self.assertEqual(self.server.post("/search", {"query": EGG, "k": 10, "offset": 991}).status, 413)
        self.assertEqual(self.server.post("/search", {"query": EGG, "offset": -1}).status, 422)

    def test_search_explains_on_demand_and_shows_snippets(self):
        answer = self.server.post("/search", {"query": queries()[0], "k": 3, "explain": True}).json
        for hit in answer["hits"]:
            self.assertAlmostEqual(hit["explanation"]["value"], hit["score"], places=5)
            self.assertTrue(hit["explanation"]["details"])
            self.assertTrue(hit["snippet"])
            self.assertNotIn("text", hit["passage"])
        self.assertNotIn("explanation", self.server.post("/search", {"query": "rice"}).json["hits"][0])

    def test_one_hit_is_answered_alone(self):
        body = {"query": queries()[0], "k": 20, "texts": "passage"}
        hits = self.server.post("/search", body).json["hits"]
        self.assertNotIn("snippet", hits[3])
        self.assertTrue(hits[3]["passage"]["text"])
        answer = self.server.post("/search", {**body, "id": hits[3]["id"], "explain": True}).json
        explanation = answer["hits"][0].pop("explanation")
        self.assertEqual(answer["hits"], [hits[3]])
        self.assertEqual(explanation["value"], hits[3]["score"])
        full = self.server.post("/search", {**body, "id": hits[3]["id"], "texts": "full", "rescore": False}).json
        self.assertEqual([hit["text"] for hit in full["hits"]], [dict(passages())[hits[3]["id"]]])
        self.assertEqual(self.server.post("/search", {**body, "id": "no such id"}).json["hits"], [])

    def test_explanations_score_the_window_once(self):
        def seconds(**more):
            start = time.monotonic()
            body = {"query": queries()[0], "k": 10, "texts": "none", **more}
            self.assertEqual(self.server.post("/search", body).status, 200)
            return time.monotonic() - start

        plain, explained = (min(seconds(**more) for _ in range(3)) for more in ({}, {"explain": True}))
        self.assertLess(explained, 3 * plain + 0.1)  # ten hits, each by itself, took ten times as long

    def test_counts_in_the_access_log_are_whole_numbers(self):
        self.server.post("/search", {"query": queries()[0], "k": 7})
        line = self.server.logged(path="/search", hits=7)
        self.server.post("/rerank", {"query": EGG, "texts": TEXTS})
        line.update(self.server.logged(path="/rerank", texts=4))
        for name in ("hits", "rescored", "cached", "texts", "tokens", "status"):
            self.assertIs(type(line[name]), int, name)
        for name in ("queue_ms", "compute_ms", "milliseconds"):
            self.assertIs(type(line[name]), float, name)

    def test_a_body_of_many_values_is_refused_before_it_becomes_a_tree(self):
        if self.server.sanitized():
            self.skipTest("AddressSanitizer keeps what was freed")
        for path, field in (("/search", "k"), ("/rerank", "texts")):
            body = '{"query":"q","%s":[' % field + "[]," * 1_380_000 + "0]}"
            grown = self.server.growth()
            self.assertEqual(self.server.post(path, body).status, 413)
            self.assertLess(grown(), 16)

    def test_relative_paths_are_hidden_too(self):
        folder = Path(SCRATCH.name) / "private place" / "parts"
        folder.mkdir(parents=True)
        build_index(PROGRAM, folder / "a.index")
        here, program = os.getcwd(), str(Path(PROGRAM).resolve())
        try:
            os.chdir(SCRATCH.name)
            server = Server(program, "--index", "private place/parts/a.index", *DEVICE,
                            profile='[index]\nid_field = "absent"\n')
        finally:
            os.chdir(here)
        with server:
            answer = server.post("/search", {"query": "rice"})
            self.assertEqual(answer.status, 424, answer)  # the server's fault, not the client's
            self.assertIn("a.index: document", answer.json["error"])
            self.assertNotIn("parts", answer.json["error"])

    def test_stop_words_and_nothing_found(self):
        self.assertIn("note", self.server.post("/search", {"query": "the of"}).json)
        self.assertEqual(self.server.post("/search", {"query": "xyzzyqwerty"}).json["hits"], [])

    def test_no_path_of_this_machine_is_in_an_answer(self):
        texts = [self.server.get("/info").body, self.server.get("/metrics").body,
                 self.server.post("/search", {"query": queries()[0], "k": 5, "explain": True, "timeout_ms": 1}).body,
                 self.server.post("/search", {"query": queries()[0], "k": 5, "explain": True}).body]
        for text in texts:
            for part in (SCRATCH.name, os.getcwd(), "/share/relucent", str(INDEX.parent)):
                self.assertNotIn(part.encode(), text)

    def test_info_health_ready_metrics(self):
        self.assertEqual(self.server.get("/health").status, 200)
        self.assertEqual(self.server.get("/ready").json, {"status": "ready"})
        info = self.server.get("/info").json
        self.assertEqual(info["model_id"], "relucent-minilm-l6-w4")
        self.assertEqual(info["model_dtype"], "fp32")
        self.assertEqual(info["max_input_length"], 512)
        self.assertIn("reranker", info["model_type"])
        self.assertEqual(info["max_client_batch_size"], 1000)
        before = self.server.metric("texts_total")
        self.server.post("/rerank", {"query": "q", "texts": ["a", "b"]})
        self.assertEqual(self.server.metric("texts_total"), before + 2)
        self.assertGreater(self.server.metric('requests_total{path="/rerank",status="200"}'), 0)
        head = self.server.request("HEAD", "/health")
        self.assertEqual((head.status, head.body), (200, b""))

    def test_a_query_that_was_not_read_to_its_end_is_told(self):
        for query, told in ((EGG, None), (" ".join([EGG] * 20), "true")):
            answer = self.server.post("/rerank", {"query": query, "texts": ["a", "b"]})
            self.assertEqual((answer.status, answer.headers.get("x-query-truncated")), (200, told))
            found = self.server.post("/search", {"query": query, "k": 3, "explain": True})
            self.assertEqual((found.status, found.json["query_truncated"]), (200, told is not None))
            self.assertEqual("the end of the query was cut off" in json.dumps(found.json), told is not None)
        answer = self.server.post("/rerank", {"query": " ".join([EGG] * 20), "texts": ["a"], "truncate": False})
        self.assertEqual(answer.status, 413)

    def test_keep_alive_and_several_requests_at_once_on_a_connection(self):
        connection = self.server.connect()
        for _ in range(3):
            self.assertEqual(self.server.get("/health", connection=connection).status, 200)
        connection.close()
        with self.server.socket() as one:
            one.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3)
            data = b""
            while data.count(b"HTTP/1.1 200") < 3:
                part = one.recv(65536)
                self.assertTrue(part, data)
                data += part

    def test_what_is_wrong_gets_an_answer_that_reports_it(self):
        def status(method, path, body=None, **headers):
            answer = self.server.request(method, path, body, **headers)
            self.assertEqual(set(answer.json) >= {"error", "error_type"}, True, answer)
            return answer.status

        self.assertEqual(status("GET", "/nothing"), 404)
        self.assertEqual(status("POST", "/nothing", {}), 404)
        self.assertEqual(status("GET", "/rerank"), 405)
        self.assertEqual(status("DELETE", "/health"), 405)
        self.assertEqual(status("POST", "/rerank", "{"), 400)
        self.assertEqual(status("POST", "/rerank", {"query": 1, "texts": []}), 422)
        self.assertEqual(status("POST", "/rerank", {"query": "q", "texts": []}), 413)
        self.assertEqual(status("POST", "/rerank", {"query": "q", "texts": ["a"] * 1001}), 413)
        self.assertEqual(status("POST", "/rerank", {"query": "q", "texts": ["egg " * 600], "truncate": False}), 413)
        self.assertEqual(status("POST", "/rerank", {"query": "q", "texts": ["a"]}, Content_Type="text/plain"), 415)
        self.assertEqual(status("POST", "/search", {"query": "q"}, X_Request_Timeout_Ms="soon"), 422)
        self.assertEqual(status("POST", "/search", {"query": " "}), 422)
        self.assertEqual(status("POST", "/rerank", b"[" * (5 << 20)), 413)

    def test_deadlines(self):
        texts = [text for _, text in passages()] * 3
        start = time.monotonic()
        answer = self.server.post("/rerank", {"query": EGG, "texts": texts, "timeout_ms": 30})
        self.assertEqual((answer.status, answer.json["error_type"]), (504, "Timeout"))
        self.assertLess(time.monotonic() - start, 2)
        answer = self.server.post("/rerank", {"query": EGG, "texts": texts}, X_Request_Timeout_Ms="30")
        self.assertEqual(answer.status, 504)
        # A search that has begun keeps BM25's order; one that has not is refused.
        answer = self.server.post("/search", {"query": queries()[0], "timeout_ms": 8})
        if answer.status == 200:
            self.assertEqual((answer.json["degraded"], answer.json["hits"][0]["rank"]), (True, 1))
            self.assertEqual([hit["first_stage_rank"] for hit in answer.json["hits"]],
                             list(range(1, len(answer.json["hits"]) + 1)))
        else:
            self.assertEqual(answer.status, 504)

    def test_web_pages_of_other_sites_are_refused(self):
        body = {"query": "q", "texts": ["a"]}
        here = f"127.0.0.1:{self.server.port}"
        self.assertEqual(self.server.post("/rerank", body, Origin="http://" + here).status, 200)
        self.assertEqual(self.server.post("/rerank", body, Origin="http://evil.example").status, 403)
        rebound = f"evil.example:{self.server.port}"
        self.assertEqual(self.server.post("/rerank", body, Origin="http://" + rebound, Host=rebound).status, 403)

    def test_the_page_is_there_and_loads_nothing_from_elsewhere(self):
        page = self.server.get("/")
        self.assertEqual(page.headers["content-type"], "text/html; charset=utf-8")
        self.assertIn("default-src 'none'", page.headers["content-security-policy"])
        self.assertNotIn(b"http", page.body)
        for file in ("page.css", "page.js"):
            source = Path(__file__).resolve().parents[2] / "server" / "page" / file
            self.assertEqual(self.server.get("/" + file).body, source.read_bytes())

    def test_the_access_log_is_json_with_what_happened(self):
        self.server.post("/rerank", {"query": "q", "texts": ["a", "b"]}, User_Agent="log-test")
        line = self.server.logged(user_agent="log-test")
        self.assertEqual((line["method"], line["path"], line["status"], line["texts"]), ("POST", "/rerank", 200, 2))
        self.assertGreaterEqual(line["milliseconds"], line["compute_ms"])


class Signals(unittest.TestCase):
    def test_sigterm_finishes_what_it_has_and_accepts_nothing_new(self):
        texts = [text for _, text in passages()][:40]
        profile = "[server]\ndrain_timeout_ms = 60000\n"
        with Server(PROGRAM, *DEVICE, profile=profile) as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(server.post, "/rerank", {"query": q, "texts": texts}) for q in queries()[:8]]
            wait_until_here(server, 8)
            idle = server.connect()
            server.get("/health", connection=idle)
            server.process.send_signal(signal.SIGTERM)
            server.wait_for("finishing")
            with self.assertRaises(OSError):
                server.get("/health")
            self.assertEqual([answer.result().status for answer in answers], [200] * 8)
            self.assertEqual(server.process.wait(60), 0)
            idle.close()

    def test_a_second_signal_ends_at_once(self):
        texts = [text for _, text in passages()] * 3
        with Server(PROGRAM, *DEVICE) as server, concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = [pool.submit(server.post, "/rerank", {"query": q, "texts": texts}) for q in queries()[:8]]
            wait_until_here(server, 8)
            server.process.send_signal(signal.SIGTERM)
            server.wait_for("finishing")
            start = time.monotonic()
            self.assertEqual(server.stop(signal.SIGTERM), 4)
            self.assertLess(time.monotonic() - start, 3)
            for answer in answers:
                with self.assertRaises(Exception):
                    answer.result()
            self.assertIn("dropped", server.said())

    def test_sighup_reloads_index_and_profile_without_a_lost_request(self):
        index = Path(SCRATCH.name) / "changing.index"
        build_index(PROGRAM, index, [("old", "the onion makes people cry")])
        with Server(PROGRAM, "--index", index, *DEVICE) as server:
            self.assertEqual([h["id"] for h in server.post("/search", {"query": "onion"}).json["hits"]], ["old"])
            failures, counts, stop = [], [0], threading.Event()

            def ask():
                connection = server.connect()
                while not stop.is_set():
                    answer = server.post("/search", {"query": "onion"}, connection=connection)
                    counts[0] += 1
                    if answer.status != 200 or len(answer.json["hits"]) not in (1, 2):
                        failures.append(answer)
                connection.close()

            threads = [threading.Thread(target=ask) for _ in range(4)]
            for thread in threads:
                thread.start()
            build_index(PROGRAM, index, [("old", "the onion makes people cry"), ("new", "an onion without tears")])
            for reload in range(1, 4):
                server.profile.write_text(f"[rescorer]\nwindow = {reload * 10}\n", encoding="utf-8")
                server.process.send_signal(signal.SIGHUP)
                server.wait_for(r"reloaded in", count=reload)
            self.assertEqual({h["id"] for h in server.post("/search", {"query": "onion"}).json["hits"]},
                             {"old", "new"})
            server.profile.write_text("[rescorer]\nwindow = -1\n", encoding="utf-8")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("not reloaded, and serving as before")
            self.assertEqual(server.metric("reload_failures_total"), 1)
            stop.set()
            for thread in threads:
                thread.join()
            self.assertEqual(failures, [])
            self.assertGreater(counts[0], 20)
            self.assertEqual(server.stop(), 0)

    def test_sighup_opens_the_index_that_the_profile_names_now(self):
        folder = Path(SCRATCH.name)
        profile = '[index]\npath = "%s"\n[rescorer]\ncache_mb = 1\n'
        for name, documents in (("first", [("a", "an onion")]), ("second", [("b", "an onion")])):
            build_index(PROGRAM, folder / f"{name}.index", documents)
        with Server(PROGRAM, *DEVICE, profile=profile % (folder / "first.index")) as server:
            for reload, (name, wanted) in enumerate((("first", "a"), ("second", "b"), ("first", "a")), 1):
                server.profile.write_text(profile % (folder / f"{name}.index"), encoding="utf-8")
                server.process.send_signal(signal.SIGHUP)
                server.wait_for(r"reloaded in", count=reload)
                hits = server.post("/search", {"query": "onion"}).json["hits"]
                self.assertEqual([hit["id"] for hit in hits], [wanted])
            self.assertEqual(server.metric("cache_hits_total"), 2)  # the model and its cache stayed
            self.assertEqual(server.stop(), 0)

    def test_a_server_that_writes_keeps_its_index(self):
        folder = Path(SCRATCH.name)
        profile = '[index]\npath = "%s"\n'
        for name, documents in (("written", [("a", "an onion")]), ("foreign", [("b", "an onion")])):
            build_index(PROGRAM, folder / f"{name}.index", documents)
        with Server(PROGRAM, "--writable", *DEVICE, profile=profile % (folder / "written.index")) as server:
            server.profile.write_text(profile % (folder / "foreign.index"), encoding="utf-8")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("not reloaded, and serving as before: .*names another index")
            self.assertEqual([hit["id"] for hit in server.post("/search", {"query": "onion"}).json["hits"]], ["a"])


class Overload(unittest.TestCase):
    def test_a_full_queue_refuses_at_once_and_the_others_are_answered(self):
        texts = [text for _, text in passages()][:60]
        profile = "[server]\nqueue = 3\nconcurrency = 1\n"
        with Server(PROGRAM, *DEVICE, profile=profile) as server, concurrent.futures.ThreadPoolExecutor(20) as pool:
            started = time.monotonic()

            def ask(query):
                start = time.monotonic()
                return server.post("/rerank", {"query": query, "texts": texts}), time.monotonic() - start

            results = list(pool.map(ask, queries()[:20]))
            refused = [(answer, took) for answer, took in results if answer.status == 429]
            served = [answer for answer, _ in results if answer.status == 200]
            self.assertEqual(len(refused) + len(served), 20)
            self.assertGreaterEqual(len(served), 4)
            self.assertGreaterEqual(len(refused), 10)
            whole = time.monotonic() - started
            for answer, took in refused:
                self.assertLess(took, max(0.5, whole / 2))
                self.assertEqual(answer.json["error_type"], "Overloaded")
                self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
            self.assertEqual(server.post("/rerank", {"query": EGG, "texts": TEXTS}).status, 200)

    def test_a_greedy_client_does_not_starve_another_one(self):
        texts = [text for _, text in passages()][:15]
        profile = '[server]\nqueue = 100\nconcurrency = 1\nclient_header = "X-Client"\n'
        with Server(PROGRAM, *DEVICE, profile=profile) as server, concurrent.futures.ThreadPoolExecutor(40) as pool:
            done = []

            def ask(client, query):
                self.assertEqual(server.post("/rerank", {"query": query, "texts": texts}, X_Client=client).status, 200)
                done.append(client)

            greedy = [pool.submit(ask, "greedy", query) for query in queries()[:16]]
            while server.metric("queue_length") < 10:
                time.sleep(0.005)
            at = len(done)
            modest = pool.submit(ask, "modest", EGG)
            modest.result()
            # One that was being computed, one whose turn was before, and what ended meanwhile.
            self.assertLessEqual(done.index("modest") - at, 4)
            for one in greedy:
                one.result()

    def test_a_deadline_in_the_queue_is_answered_when_it_passes(self):
        texts = [text for _, text in passages()]
        profile = "[server]\nconcurrency = 1\n"
        with Server(PROGRAM, *DEVICE, profile=profile) as server, concurrent.futures.ThreadPoolExecutor(4) as pool:
            long = [pool.submit(server.post, "/rerank", {"query": q, "texts": texts}) for q in queries()[:3]]
            while server.metric("queue_length") < 2:
                time.sleep(0.005)
            start = time.monotonic()
            answer = server.post("/rerank", {"query": EGG, "texts": TEXTS}, X_Request_Timeout_Ms="50")
            self.assertEqual(answer.status, 504)
            self.assertLess(time.monotonic() - start, 0.5)
            for one in long:
                self.assertEqual(one.result().status, 200)

    def test_a_client_that_leaves_frees_its_place(self):
        texts = [text for _, text in passages()] * 3
        body = json.dumps({"query": EGG, "texts": texts}).encode()
        head = ("POST /rerank HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\n\r\n")
        with Server(PROGRAM, *DEVICE, profile="[server]\nconcurrency = 1\n") as server:
            sockets = [server.socket() for _ in range(10)]
            for one in sockets:
                one.sendall(head.encode() + body)
            while server.metric("queue_length") < 9:
                time.sleep(0.005)
            for one in sockets:
                one.close()
            start = time.monotonic()
            self.assertEqual(server.post("/rerank", {"query": EGG, "texts": TEXTS}).status, 200)
            self.assertLess(time.monotonic() - start, 3)
            self.assertEqual(server.metric("queue_length"), 0)


class Reopening(unittest.TestCase):
    def test_a_commit_is_searched_without_a_signal(self):
        folder = Path(SCRATCH.name) / "reopened.index"
        build_index(PROGRAM, folder, [("1", "rice in a bowl")])
        with Server(PROGRAM, "--index", folder, "--reopen", "1", *DEVICE) as server:
            def found():
                return [hit["id"] for hit in server.post("/search", {"query": "rice"}).json["hits"]]

            self.assertEqual(found(), ["1"])
            time.sleep(2.5)
            self.assertNotIn("reopened", server.said())  # without a commit nothing happens
            self.assertEqual(server.metric("reloads_total"), 0)
            source = Path(SCRATCH.name) / "more.tsv"
            source.write_text("1\trice in a bowl\n2\trice in a pot\n", encoding="utf-8")
            subprocess.run([PROGRAM, "index", "--corpus", "tsv", "--input", source, "--index", folder, "--overwrite"],
                           check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            server.wait_for("reopened the index in", 20)
            end = time.monotonic() + 20
            while sorted(found()) != ["1", "2"]:  # --overwrite also commits the empty index with which it begins
                self.assertLess(time.monotonic(), end)
                time.sleep(0.1)
            self.assertEqual(server.metric("reloads_total"), server.said().count("reopened the index in"))
            (folder / "segments.gen").unlink(missing_ok=True)
            for file in folder.glob("segments_*"):
                file.write_bytes(b"damaged")
            newer = folder / "segments_zz"
            newer.write_bytes(b"damaged")
            server.wait_for("the index was not reopened, and is served as before", 20)
            self.assertEqual(sorted(found()), ["1", "2"])
            time.sleep(2.5)
            self.assertEqual(server.said().count("was not reopened"), 1)
            self.assertEqual(server.stop(), 0)

    def test_a_front_has_nothing_to_reopen(self):
        ended = subprocess.run([PROGRAM, "serve", "--shards", "http://127.0.0.1:1", "--reopen", "5"],
                               stderr=subprocess.PIPE, encoding="utf-8")
        self.assertEqual(ended.returncode, 2)
        self.assertIn("pass it to the server of each shard", ended.stderr)


class Cache(unittest.TestCase):
    def test_repeated_texts_are_scored_once_with_the_same_bits(self):
        texts = [text for _, text in passages()][:30]
        body = {"query": EGG, "texts": texts, "raw_scores": True}
        with Server(PROGRAM, "--index", INDEX, *DEVICE, profile="[rescorer]\ncache_mb = 16\n") as server:
            first, second = server.post("/rerank", body), server.post("/rerank", body)
            self.assertEqual(first.headers["x-cache-hits"], "0")
            self.assertEqual(second.headers["x-cache-hits"], "30")
            self.assertEqual(second.body, first.body)
            self.assertEqual(server.metric("cache_hits_total"), 30)
            before = server.post("/search", {"query": queries()[0]}).json
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("reloaded in")
            again = server.post("/search", {"query": queries()[0]}).json
            self.assertEqual(again["hits"], before["hits"])
            self.assertEqual(again["cached"], again["rescored"])  # the cache outlives a reload of the same model
            server.logged(path="/search", cached=again["rescored"])


class Shards(unittest.TestCase):
    def test_a_front_gives_the_hits_of_one_index_with_the_same_bits(self):
        documents = passages()
        parts = [documents[:90], documents[90:100], documents[100:]]
        servers = []
        try:
            for i, part in enumerate(parts):
                index = build_index(PROGRAM, Path(SCRATCH.name) / f"part{i}.index", part)
                servers.append(Server(PROGRAM, "--index", index, profile="[rescorer]\nenabled = false\n"))
            urls = [f"http://127.0.0.1:{server.port}" for server in servers]
            with (Server(PROGRAM, *DEVICE, "--shards", *urls) as front,
                  Server(PROGRAM, "--index", INDEX, *DEVICE) as one):
                long = " ".join([EGG] * 20)
                for i, query in enumerate([*queries()[::4], "the of", "xyzzyqwerty", "rice rice tears", long]):
                    body = {"query": query, "k": 20, "texts": ("full", "snippet", "none")[i % 3]}
                    merged, whole = front.post("/search", body).json, one.post("/search", body).json
                    for answer in (merged, whole):
                        del answer["milliseconds"]
                    self.assertEqual(merged, whole)
                    pages = [front.post("/search", {**body, "k": 7, "offset": 7 * page}).json["hits"]
                             for page in range(3)]
                    self.assertEqual(sum(pages, [])[:20], whole["hits"])
                body = {"query": EGG, "texts": TEXTS}
                self.assertEqual(front.post("/rerank", body).body, one.post("/rerank", body).body)
                self.assertEqual(front.post("/search", {"query": "rice", "explain": True}).status, 422)
                for wrong in (1, {}, {"fields": 1}, {"fields": {}}):
                    self.assertEqual(servers[0].post("/search", {"query": "rice", "statistics": wrong}).status, 422)
                servers[1].stop()
                answer = front.post("/search", {"query": "rice"})
                self.assertEqual(answer.status, 424)
                self.assertIn("shard 2 of 3", answer.json["error"])
        finally:
            for server in servers:
                server.__exit__()

    def test_shards_with_a_token_get_the_fronts(self):
        tokens = Path(SCRATCH.name) / "shard-tokens"
        tokens.write_text("shared\n")
        tokens.chmod(0o600)
        with Server(PROGRAM, "--index", INDEX, "--token-file", tokens,
                    profile="[rescorer]\nenabled = false\n") as shard:
            url = f"http://127.0.0.1:{shard.port}"
            with Server(PROGRAM, "--shards", url, "--token-file", tokens, *DEVICE) as front:
                answer = front.post("/search", {"query": "rice"}, Authorization="Bearer shared")
                self.assertEqual(answer.status, 200, answer)
            with Server(PROGRAM, "--shards", url, *DEVICE) as front:
                self.assertEqual(front.post("/search", {"query": "rice"}).status, 424)


class Access(unittest.TestCase):
    def test_a_token_is_needed_where_one_is_set(self):
        body = {"query": "q", "texts": ["a"]}
        with Server(PROGRAM, *DEVICE, environment={"RELUCENT_TOKEN": "secret"}) as server:
            for wrong in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
                answer = server.post("/rerank", body, **wrong)
                self.assertEqual((answer.status, answer.headers["www-authenticate"]), (401, "Bearer"))
                self.assertEqual(server.get("/info", **wrong).status, 401)
                self.assertEqual(server.get("/metrics", **wrong).status, 401)
            right = {"Authorization": "Bearer secret"}
            self.assertEqual(server.post("/rerank", body, **right).status, 200)
            self.assertEqual(server.get("/info", **right).status, 200)
            for free in ("/health", "/ready", "/"):
                self.assertEqual(server.get(free).status, 200)
            self.assertNotIn("secret", server.said() + server.log.read_text())

    def test_token_files_are_read_again_by_a_reload(self):
        tokens = Path(SCRATCH.name) / "tokens"
        tokens.write_text("one\n")
        tokens.chmod(0o600)
        body = {"query": "q", "texts": ["a"]}
        with Server(PROGRAM, "--token-file", tokens, *DEVICE) as server:
            self.assertEqual(server.post("/rerank", body, Authorization="Bearer one").status, 200)
            tokens.write_text("two\nthree\n")
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("reloaded in")
            self.assertEqual(server.post("/rerank", body, Authorization="Bearer one").status, 401)
            self.assertEqual(server.post("/rerank", body, Authorization="Bearer three").status, 200)
            self.assertEqual(server.logged(status=200, client="token 2")["path"], "/rerank")

    def test_mistakes_end_the_program_with_a_message(self):
        def fails(code, *flags, message):
            result = subprocess.run([PROGRAM, "serve", *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                    encoding="utf-8", timeout=120)
            self.assertEqual(result.returncode, code, result.stderr)
            self.assertIn(message, result.stderr)

        fails(2, "--shards", "ftp://x", message="http://HOST:PORT")
        fails(2, "--shards", "http://x", "--index", str(INDEX), message="cannot be combined")
        fails(2, "--host", "example.org", message="is not an IP address")
        fails(2, "--port", "70000", message="port")
        fails(1, "--index", "/nonexistent-index", message="/nonexistent-index")
        fails(1, "--token-file", "/nonexistent-tokens", message="/nonexistent-tokens")
        with Server(PROGRAM, *DEVICE) as server:
            fails(1, "--port", str(server.port), message="choose another --host or --port")

    def test_bm25_alone_is_served_too(self):
        with Server(PROGRAM, "--index", INDEX, profile="[rescorer]\nenabled = false\n") as server:
            answer = server.post("/search", {"query": queries()[0]}).json
            self.assertIsNone(answer["hits"][0]["logit"])
            self.assertEqual(server.post("/rerank", {"query": "q", "texts": ["a"]}).status, 404)


if __name__ == "__main__":
    build_index(PROGRAM, INDEX)
    unittest.main(argv=[sys.argv[0]] + sys.argv[2:], verbosity=2)
