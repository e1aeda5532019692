"""`relucent search` over an index of the bundled collection."""

import gzip
import json
import os
import pty
import re
import signal
import subprocess
import time

from program_support import DEMO, PROGRAM, DemoIndexTest, main, run

QUESTION = "how to stop crying when cutting onions"


class Search(DemoIndexTest):
    def search(self, *arguments, code=0, **options):
        return self.expect(run("search", "--index", self.index, *arguments, **options), code)

    def terminal(self):
        try:
            return pty.openpty()
        except OSError as error:
            self.skipTest(f"SKIPPED: no pseudo-terminal: {error}")

    def hits(self, *arguments):
        return json.loads(self.search("--json", *arguments).stdout)

    def test_json_has_bm25s_ranks_beside_the_rescored_ones(self):
        found = self.hits(QUESTION, "--hits", "20")
        plain = self.hits(QUESTION, "--hits", "100", "--no-rescore")
        self.assertEqual([hit["rank"] for hit in found["hits"]], list(range(1, len(found["hits"]) + 1)))
        self.assertFalse(found["degraded"])
        by_id = {hit["id"]: hit for hit in plain["hits"]}
        for hit in found["hits"]:
            self.assertEqual(hit["first_stage_rank"], by_id[hit["id"]]["rank"])
            self.assertEqual(hit["first_stage_score"], by_id[hit["id"]]["score"])
            self.assertEqual((hit["status"], hit["score"]), ("rescored", hit["logit"]))
            self.assertTrue(hit["text"])
        scores = [hit["score"] for hit in found["hits"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual(plain["hits"][0]["logit"], None)

    def test_a_repeated_question_is_answered_from_the_cache_with_the_same_bits(self):
        profile = self.folder / "cache.toml"
        profile.write_text("[rescorer]\ncache_mb = 1\n")
        asked = f"{QUESTION}\n{QUESTION}\n"
        first, again = map(json.loads, self.search("--json", "--config", profile, stdin=asked).stdout.splitlines())
        plain, _ = map(json.loads, self.search("--json", stdin=asked).stdout.splitlines())
        self.assertNotIn("cached", first)
        self.assertEqual(again["cached"], again["rescored"])
        self.assertNotIn("cached", plain)
        self.assertEqual(first["hits"], plain["hits"])
        self.assertEqual(again["hits"], plain["hits"])

    def test_a_hit_shows_the_passage_that_scored_best(self):
        corpus, profile = self.folder / "long.tsv", self.folder / "long.toml"
        filler = "The weather was fine and the roads were dry. " * 60
        answer = "Chill the onion before cutting it, so that its vapours do not make you cry."
        corpus.write_text(f"long\t{filler}Ünïcode. {answer} {filler}\nshort\tOnions grow in gardens.\n")
        profile.write_text('[rescorer]\nlong_documents = "maxp"\nchunk = 40\nstride = 20\n')
        index = self.folder / "long.index"
        self.expect(run("index", "--corpus", "tsv", "--input", corpus, "--index", index), 0)
        options = ["search", "--index", index, "--config", profile, QUESTION]
        hits = {hit["id"]: hit for hit in json.loads(self.expect(run(*options, "--json"), 0).stdout)["hits"]}
        for hit in hits.values():
            passage, text = hit["passage"], hit["text"].encode()
            self.assertEqual(passage["field"], "text")
            self.assertEqual(text[passage["begin"]:passage["end"]].decode(), passage["text"])
        self.assertIn("vapours", hits["long"]["passage"]["text"])
        self.assertLess(len(hits["long"]["passage"]["text"]), 300)
        self.assertEqual(hits["short"]["passage"]["text"], hits["short"]["text"])
        self.assertRegex(self.expect(run(*options), 0).stdout, "… .*onion before cutting")
        plain = json.loads(self.expect(run(*options, "--json", "--no-rescore"), 0).stdout)
        self.assertEqual([hit["passage"] for hit in plain["hits"]], [None, None])

    def test_the_model_may_read_several_stored_fields(self):
        profile = self.folder / "fields.toml"
        profile.write_text('[index]\ntext_fields = ["id", "text"]\n[rescorer]\nwindow = 5\n')
        alone = {hit["id"]: hit for hit in self.hits(QUESTION, "--window", "5")["hits"]}
        for hit in self.hits(QUESTION, "--config", profile)["hits"][:5]:
            other = alone[hit["id"]]
            self.assertEqual(hit["text"], f"{hit['id']} {other['text']}")
            self.assertNotEqual(hit["logit"], other["logit"])
            self.assertEqual(hit["first_stage_score"], other["first_stage_score"])
            self.assertEqual(hit["passage"], other["passage"])
        profile.write_text('[index]\ntext_fields = ["title", "text"]\n')
        self.expect_error(2, "title", arguments=["search", "--index", self.index, "--config", profile, QUESTION])

    def test_a_page_is_the_beginning_of_the_longer_answer(self):
        ten, thirty = (self.hits(QUESTION, "--window", "40", "--hits", hits) for hits in ("10", "30"))
        self.assertEqual([hit["id"] for hit in ten["hits"]], [hit["id"] for hit in thirty["hits"]][:10])

    def test_a_page_continues_the_page_before(self):
        whole = self.hits(QUESTION, "--window", "10", "--hits", "30")["hits"]
        pages = [self.hits(QUESTION, "--window", "10", "--hits", "8", "--offset", str(offset))["hits"]
                 for offset in (0, 8, 16, 24)]
        self.assertEqual(sum(pages, [])[:30], whole)
        last = self.search("--hits", "10", "--offset", "90000", QUESTION)
        self.assertIn("no hits from rank 90001 on", last.stderr)
        for wrong, message in (("100000", "--offset"), ("-1", "--offset"), ("99991", "more than 100000")):
            mistake = self.search("--hits", "10", "--offset", wrong, QUESTION, code=2)
            self.assertIn(message, mistake.stderr)

    def test_words_need_no_quotes_and_syntax_is_plain_text(self):
        self.assertEqual(*(self.hits("--window", "5", *words)["hits"] for words in (QUESTION.split(), [QUESTION])))
        self.assertTrue(self.hits('what is "AND ( +[ fish?', "--window", "5")["hits"])

    def test_lucene_syntax_where_asked_for(self):
        must = self.hits("+onions +crying", "--syntax", "lucene")
        self.assertLess(must["total_hits"], self.hits("onions crying")["total_hits"] + 1)
        self.expect_error(2,
                          "query",
                          arguments=["search", "--index", self.index, "--syntax", "lucene", "(((", "--no-rescore"])

    def test_mistakes_in_lucenes_syntax_are_told_in_a_line(self):
        for query, problem in (("onions AND (", "a parenthesis is never closed"),
                               ('"onions', "a quotation mark is never closed"),
                               ("onions[", "a range is never closed"),
                               ("onions AND", "ends where a word is expected"),
                               ("onions \\", "ends with a \\"),
                               ("contents:a:b c", '":b" is not expected at character 11'),
                               ("käse)", '")" is not expected at character 5'),
                               ("onions^^2", '"^2" is not expected at character 8'),
                               ("AND onions", '"AND" is not expected at character 1'),
                               ("*onions", "'*' or '?' not allowed as first character")):
            result = self.expect_error(2, f"query: cannot be parsed: {problem}", "search for plain words",
                                       arguments=["search", "--index", self.index, "--syntax", "lucene", query])
            self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
            self.assertNotIn("Cannot parse", result.stderr)

    def test_texts_that_were_cut_are_told(self):
        long = "bread " + " ".join(f"word{i}" for i in range(600))
        documents = self.write("long.tsv", f"a\t{long}\nb\tbread and butter\nc\t{long} x\n")
        index = self.folder / "long.index"
        self.expect(run("index", "--corpus", "tsv", "--input", documents, "--index", index), 0)
        result = self.expect(run("search", "--index", index, "bread"), 0)
        self.assertIn("the best 3 rescored (2 cut to what the model reads)", result.stdout)
        self.assertEqual(result.stderr.count('long_documents = "maxp"'), 1, result.stderr)
        lines = self.expect(run("search", "--index", index, stdin="bread\nbread\n"), 0)
        self.assertEqual(lines.stdout.count("2 cut"), 2)
        self.assertEqual(lines.stderr.count('long_documents = "maxp"'), 1)  # once
        topics = self.write("t.tsv", "1\tbread\n2\tbutter\n3\tword7\n")
        result = self.expect(run("search", "--index", index, "--topics", topics, "--run", self.folder / "x.run"), 0)
        self.assertIn("note: 4 texts of 2 queries were cut\n", result.stderr)
        whole = self.write("whole.toml", '[rescorer]\nlong_documents = "maxp"\n')
        result = self.expect(run("search", "--index", index, "--config", whole, "bread"), 0)
        self.assertNotIn("cut", result.stdout + result.stderr)

    def test_explain_shows_each_scores_origin(self):
        result = self.search("--explain", "--hits", "2", "--window", "5", QUESTION)
        rows = [line for line in result.stdout.splitlines() if line.startswith("    ")]
        explanation = [line for line in rows if line.startswith("      ")]
        self.assertTrue(any("BM25" in line for line in explanation), result.stdout)
        self.assertTrue(any("relucent-minilm" in line for line in explanation), result.stdout)
        found = self.hits("--explain", "--hits", "2", "--window", "5", QUESTION)
        for hit in found["hits"]:
            self.assertAlmostEqual(hit["explanation"]["value"], hit["score"], places=6)
            self.assertTrue(hit["explanation"]["details"])
        self.assertNotIn("explanation", self.hits("--hits", "1", "--window", "5", QUESTION)["hits"][0])
        self.expect_error(2, "--explain", arguments=["search", "--index", self.index, "--explain", "--topics", "x"])

    def test_what_is_set_already_is_not_advised(self):
        result = self.search("--timings", "--hits", "1", "--window", "5", QUESTION)
        if "no GPU is used" not in result.stderr:
            self.skipTest("SKIPPED: this machine has a GPU")
        self.assertNotIn("use device", result.stderr)
        failed = run("search", "--index", self.index, "--precision", "fp16", QUESTION)
        self.assertEqual(failed.stderr.count("; "), 1, failed.stderr)
        self.assertIn('use precision = "auto"', failed.stderr)

    def test_a_question_that_was_not_read_to_its_end_is_told(self):
        long = " ".join([QUESTION] * 20)
        self.assertTrue(self.hits(long, "--window", "5")["query_truncated"])
        self.assertFalse(self.hits(QUESTION, "--window", "5")["query_truncated"])
        self.assertFalse(self.hits(long, "--window", "5", "--max-query-length", "400")["query_truncated"])
        self.assertIn("(by the beginning of the query)", self.search(long, "--window", "5").stdout)
        self.assertIn("at most 512 tokens, 30 of the query", self.search(long, "--window", "5", "--timings").stderr)
        topics = self.write("topics.tsv", f"1\t{long}\n2\t{QUESTION}\n")
        result = self.search("--topics", topics, "--run", self.folder / "x.run", "--window", "5")
        self.assertIn("1 of 2 queries were too long for the model, which did not read their ends", result.stderr)

    def test_the_table_is_plain_text_without_a_terminal(self):
        table = self.search(QUESTION, "--timings")
        self.assertNotIn("\033", table.stdout)
        self.assertIn("BM25 #", table.stdout)
        self.assertRegex(table.stdout, r"[↑↓] \d+|=")
        self.assertIn("encode", table.stderr)

    def test_on_a_terminal_the_querys_words_are_marked(self):
        def on_terminal(**environment):
            parent, child = self.terminal()
            process = subprocess.Popen([PROGRAM, "search", "--index", self.index, "--window", "5", QUESTION],
                                       stdout=child,
                                       stderr=subprocess.DEVNULL,
                                       stdin=subprocess.DEVNULL,
                                       env={**os.environ, "TERM": "xterm", **environment})
            os.close(child)
            output = b""
            while True:
                try:
                    piece = os.read(parent, 65536)
                except OSError:
                    break
                if not piece:
                    break
                output += piece
            os.close(parent)
            self.assertEqual(process.wait(), 0)
            return output.decode()

        self.assertRegex(on_terminal(NO_COLOR=""), re.compile("\033\\[1;33monions?\033\\[0m", re.I))
        self.assertNotIn("\033", on_terminal(NO_COLOR="1"))
        self.assertNotIn("\033", on_terminal(TERM="dumb"))

    def test_questions_from_standard_input(self):
        result = self.search("--json", stdin=f"{QUESTION}\n\nwhy did my bread not rise\n")
        self.assertEqual([json.loads(line)["query"] for line in result.stdout.splitlines()],
                         [QUESTION, "why did my bread not rise"])

    def test_a_person_is_asked(self):
        parent, child = self.terminal()
        process = subprocess.Popen([PROGRAM, "search", "--index", self.index, "--no-rescore"],
                                   stdin=child,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE,
                                   encoding="utf-8")
        os.close(child)
        time.sleep(1)
        os.write(parent, b"onions\n\n")
        out, err = process.communicate(timeout=60)
        os.close(parent)
        self.assertEqual(process.returncode, 0)
        self.assertIn("> ", err)
        self.assertIn("hits", out)

    def test_topics_become_a_run_that_evaluates_better_than_bm25(self):
        values = {}
        for name, flags in (("model", ["--window", "20"]), ("bm25", ["--no-rescore"])):
            file = self.folder / f"{name}.run"
            result = self.search("--topics", DEMO / "queries.tsv", "--run", file, *flags)
            self.assertEqual(result.stdout, "")
            self.assertIn("time per query", result.stderr)
            line = self.expect(run("evaluate", "--qrels", DEMO / "qrels.txt", "--run", file, "--measures", "nDCG@10"),
                               0).stdout
            values[name] = float(line.split("\t")[2])
        self.assertGreater(values["model"], values["bm25"])

    def test_a_rerank_file_reranks_to_what_search_gives(self):
        """Other rerankers get the candidates that our own rescorer sees, down to the run's bytes."""
        rerank, run_file = self.folder / "rerank.jsonl.gz", self.folder / "search.run"
        reranked = self.folder / "rerank.run"
        bm25, again = self.folder / "bm25.run", self.folder / "again.run"
        some = "".join((DEMO / "queries.tsv").read_text(encoding="utf-8").splitlines(keepends=True)[::10])
        topics = ["--topics", self.write("topics.tsv", some)]
        self.assertEqual(self.search(*topics, "--rerank-file", rerank, "--run", bm25).stdout, "")
        self.search(*topics, "--run", run_file)
        self.expect(run("rerank", "--input", rerank, "--output", reranked), 0)
        self.assertEqual(reranked.read_bytes(), run_file.read_bytes())
        self.search(*topics, "--run", again, "--no-rescore")
        self.assertEqual(bm25.read_bytes(), again.read_bytes())
        with gzip.open(rerank, "rt", encoding="utf-8") as lines:
            records = [json.loads(line) for line in lines]
        self.assertEqual(list(records[0]), ["qid", "query", "docno", "text", "rank", "score"])
        collection, queries = (dict(line.split("\t", 1)
                                    for line in (DEMO / name).read_text(encoding="utf-8").splitlines())
                               for name in ("collection.tsv", "queries.tsv"))
        for record in records:
            self.assertEqual((record["text"], record["query"]), (collection[record["docno"]], queries[record["qid"]]))
        self.assertEqual([(r["qid"], r["docno"], str(r["rank"])) for r in records],
                         [tuple(line.split()[i] for i in (0, 2, 3)) for line in bm25.read_text().splitlines()])
        self.assertEqual(self.search(*topics, "--rerank-file", rerank).stdout, "")
        self.expect_error(2,
                          "--rerank-file",
                          "--topics",
                          arguments=["search", "--index", self.index, "a", "--rerank-file", rerank])

    def test_a_run_goes_to_standard_output_without_a_file(self):
        topics = self.write("t.tsv", "7\tonions\n8\tbread\n")
        result = self.search("--topics", topics, "--no-rescore", "--hits", "3")
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()], ["7"] * 3 + ["8"] * 3)
        found = [
            json.loads(line) for line in self.search("--topics", topics, "--no-rescore", "--json").stdout.splitlines()
        ]
        self.assertEqual([answer["qid"] for answer in found], ["7", "8"])

    def test_names_that_users_of_anserini_and_pyserini_know(self):
        topics = self.write("t.tsv", "7\tonions\n")
        files = [self.folder / f"{i}.run" for i in range(4)]
        profile = self.write("k.toml", "[first_stage]\nk1 = 1.2\nb = 0.75\n")
        shared = ["--topics", topics, "--hits", "5"]
        self.search(*shared, "--config", profile, "--no-rescore", "--tag", "x", "--run", files[0])
        self.search(*shared, "--bm25", "--bm25.k1", "1.2", "--bm25.b", "0.75", "--runtag", "x", "--output", files[1],
                    "--topicfield", "title")
        self.search(*shared, "--bm25", "--k1", "1.2", "--b", "0.75", "--runtag", "x", "--output", files[2])
        self.search(*shared, "--bm25", "--runtag", "x", "--output", files[3])
        self.assertEqual(files[0].read_text(), files[1].read_text())
        self.assertEqual(files[0].read_text(), files[2].read_text())
        self.assertNotEqual(files[0].read_text(), files[3].read_text())
        self.expect_error(2, "k1", arguments=["search", "--index", self.index, "a", "--k1", "-3"])

    def test_stop_words_alone_find_nothing_and_report_it(self):
        self.assertIn("only stop words", self.search("the of and").stdout)
        self.assertEqual(self.hits("the of and")["hits"], [])
        self.assertIn("No hits", self.search("xyzzyplugh").stdout)

    def test_a_missed_deadline_gives_bm25s_order_and_4(self):
        result = self.search("--json", QUESTION, "--timeout-ms", "1", "--device", "ref", code=4)
        found = json.loads(result.stdout)
        self.assertTrue(found["degraded"])
        self.assertIn("degraded", result.stderr)
        self.assertEqual(result.stderr.count(found["reason"]), 1, result.stderr)
        plain = self.hits(QUESTION, "--no-rescore")
        self.assertEqual([hit["id"] for hit in found["hits"]], [hit["id"] for hit in plain["hits"]])

    def test_a_question_of_more_words_than_lucene_allows_clauses(self):
        words = " ".join(f"word{i}" for i in range(3000))
        found = json.loads(self.search("--json", "--no-rescore", stdin=f"{words} onions\n").stdout)
        plain = self.hits("onions", "--no-rescore")
        self.assertEqual([(hit["id"], hit["score"]) for hit in found["hits"]],
                         [(hit["id"], hit["score"]) for hit in plain["hits"]])

    def test_a_bad_topic_is_reported_and_the_rest_is_answered(self):
        topics = self.write("t.tsv", "7\tonions\n8\t(((\n9\tbread\n")
        lucene = ["--syntax", "lucene", "--no-rescore", "--hits", "3"]
        run_file, rerank_file = self.folder / "x.run", self.folder / "rerank.jsonl"
        result = self.search("--topics", topics, *lucene, "--run", run_file, "--rerank-file", rerank_file, code=4)
        self.assertIn("topic 8: query: ", result.stderr)
        self.assertIn("1 of 3 queries could not be answered", result.stderr)
        self.assertEqual([line.split()[0] for line in run_file.read_text().splitlines()], ["7"] * 3 + ["9"] * 3)
        self.assertEqual([json.loads(line)["qid"] for line in rerank_file.read_text().splitlines()],
                         ["7"] * 3 + ["9"] * 3)
        lines = self.search("--topics", topics, *lucene, "--json", code=4).stdout.splitlines()
        found = [json.loads(line) for line in lines]
        self.assertEqual([answer["qid"] for answer in found], ["7", "8", "9"])
        self.assertEqual(found[1]["query"], "(((")
        self.assertIn("query: ", found[1]["error"])
        self.assertNotIn("hits", found[1])

    def test_several_topics_at_once_give_the_same_bytes(self):
        questions = [line.split("\t")[1] for line in (DEMO / "queries.tsv").read_text().splitlines()]
        questions += ["(((", "onions"]

        def answers(jobs, topics, *flags):
            run_file, rerank_file = self.folder / "x.run", self.folder / "rerank.jsonl"
            arguments = ["--topics", topics, "--syntax", "lucene", *flags]
            result = self.search(*arguments, "--jobs", jobs, "--run", run_file, code=4)
            outputs = [run_file.read_bytes()]
            self.search(*arguments, "--jobs", jobs, "--rerank-file", rerank_file, code=4)
            outputs.append(rerank_file.read_bytes())
            for line in self.search(*arguments, "--jobs", jobs, "--json", code=4).stdout.splitlines():
                answer = json.loads(line)
                answer.pop("milliseconds", None)
                outputs.append(answer)
            return outputs, [line for line in result.stderr.splitlines() if line.startswith("relucent: ")]

        for asked, flags in ((questions * 10, ["--no-rescore", "--hits", "50"]),
                             (questions[-6:], ["--hits", "10", "--window", "10"])):
            topics = self.write("t.tsv", "".join(f"{i}\t{question}\n" for i, question in enumerate(asked)))
            one = answers(1, topics, *flags)
            self.assertIn(f"{asked.count('(((')} of {len(asked)} queries could not be answered", "".join(one[1]))
            for jobs in (2, 8):
                self.assertEqual(answers(jobs, topics, *flags), one)

    def test_an_interrupt_ends_several_at_once_and_leaves_no_run(self):
        topics = self.write("t.tsv", "".join(f"{i}\t{QUESTION}\n" for i in range(3000)))
        run_file = self.folder / "x.run"
        process = subprocess.Popen([PROGRAM, "search", "--index", self.index, "--topics", topics, "--window", "2",
                                    "--jobs", "3", "--run", run_file], stderr=subprocess.PIPE, encoding="utf-8")
        deadline = time.monotonic() + 60
        while not list(self.folder.glob("x.run.tmp*")) and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, log = process.communicate(timeout=300)
        self.assertEqual(process.returncode, 130, log)
        self.assertEqual(list(self.folder.glob("x.run*")), [])

    def test_a_topic_without_the_text_asked_for_is_reported(self):
        topics = self.write("t.trec", "<top>\n<num> Number: 1\n<title> onions\n<desc> Description:\nonions\n</top>\n"
                            "<top>\n<num> Number: 2\n<title> bread\n</top>\n")
        result = self.search("--topics", topics, "--topic-text", "description", "--no-rescore", "--hits", "2", code=4)
        self.assertEqual([line.split()[0] for line in result.stdout.splitlines()], ["1", "1"])
        self.assertIn("topic 2", result.stderr)

    def test_topics_of_which_none_is_answered_are_an_error(self):
        topics = self.write("t.tsv", "7\t)))\n8\t(((\n")
        self.expect_error(2, "t.tsv", "no query could be answered", "topic 7", "topic 8",
                          arguments=["search", "--index", self.index, "--topics", topics, "--syntax", "lucene",
                                     "--no-rescore", "--run", self.folder / "x.run"])
        self.assertFalse((self.folder / "x.run").exists())

    def test_a_bad_question_of_standard_input_does_not_end_the_others(self):
        lucene = ["--syntax", "lucene", "--no-rescore", "--json"]
        result = self.search(*lucene, stdin="onions\n(((\nbread\n", code=4)
        self.assertEqual([json.loads(line)["query"] for line in result.stdout.splitlines()], ["onions", "bread"])
        self.assertIn("query 2", result.stderr)
        self.expect_error(2, "no query could be answered",
                          arguments=["search", "--index", self.index, *lucene], stdin="(((\n")

    def test_a_query_without_text_is_bm25s_and_no_failure(self):
        for query in ["*:*", "onion*", "contents:[a TO c]"]:
            result = self.search("--json", "--syntax", "lucene", query)
            found = json.loads(result.stdout)
            self.assertEqual((found["status"], found["degraded"], found["rescored"]), ("no_query_text", False, 0))
            self.assertIn("no text", found["reason"])
            self.assertEqual({hit["status"] for hit in found["hits"]}, {"not_rescored"})
            self.assertEqual(result.stderr.count("not rescored"), 1, result.stderr)
            plain = self.hits("--syntax", "lucene", query, "--no-rescore")
            self.assertEqual([hit["id"] for hit in found["hits"]], [hit["id"] for hit in plain["hits"]])
        self.assertIn("in BM25's order (not rescored: the query has no text for the model)",
                      self.search("--syntax", "lucene", "onion*").stdout)
        self.assertEqual(self.hits(QUESTION)["status"], "rescored")
        self.assertEqual(self.hits("xyzzyplugh")["status"], "no_hits")

    def test_several_stages_put_what_a_later_one_scored_first(self):
        profile = self.write("stages.toml", '[rescorer]\nprecision = "fp32"\n'
                                            '[[rescorer.stages]]\nwindow = 20\npattern = "full"\n'
                                            '[[rescorer.stages]]\nwindow = 5\n')
        first = self.write("first.toml", '[rescorer]\nprecision = "fp32"\nwindow = 20\npattern = "full"\n')
        second = self.write("second.toml", '[rescorer]\nprecision = "fp32"\nwindow = 100\n')
        found = self.hits(QUESTION, "--hits", "30", "--config", profile)
        by_first = self.hits(QUESTION, "--hits", "30", "--config", first)["hits"]
        logits = {hit["id"]: hit["logit"] for hit in self.hits(QUESTION, "--hits", "100", "--config", second)["hits"]}
        best = [hit["id"] for hit in by_first[:5]]
        self.assertEqual([hit["id"] for hit in found["hits"]],
                         sorted(best, key=lambda name: -logits[name]) + [hit["id"] for hit in by_first[5:]])
        earlier = {hit["id"]: hit["logit"] for hit in by_first}
        for place, hit in enumerate(found["hits"]):
            expected = [earlier[hit["id"]]] if place < 20 else []
            self.assertEqual(hit["stage_logits"], expected + ([logits[hit["id"]]] if place < 5 else []))
        scores = [hit["score"] for hit in found["hits"]]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual([stage["rescored"] for stage in found["stages"]], [20, 5])
        for stage in found["stages"]:
            self.assertGreater(stage["milliseconds"]["encode"], 0)
        self.assertNotIn("stages", self.hits(QUESTION, "--config", first))
        timings = self.search(QUESTION, "--config", profile, "--timings").stderr
        self.assertIn("stage 1: 20 hits", timings)
        self.assertIn("stage 2: 5 hits", timings)
        self.expect_error(2, "--window", "does not name the profile's stage",
                          arguments=("search", "--index", self.index, "--config", profile, "--window", "9", QUESTION))

    def test_mistakes(self):
        search = ["search", "--index", self.index]
        self.expect_error(2, "empty", arguments=[*search, "  "])
        self.expect_error(2, "cannot be combined", arguments=[*search, "a", "--topics", "x"])
        self.expect_error(2, "--topics", arguments=[*search, "a", "--run", "x"])
        self.expect_error(2, "--hits", arguments=[*search, "a", "--hits", "0"])
        self.expect_error(2, "--jobs", "--topics", arguments=[*search, "a", "--jobs", "2"])
        self.expect_error(2, "--jobs", arguments=[*search, "--topics", "x", "--jobs", "0"])
        self.expect_error(1, "absent.index", arguments=["search", "--index", self.folder / "absent.index", "a"])
        empty = self.folder / "empty.index"
        empty.mkdir()
        self.expect_error(3, "empty.index", arguments=["search", "--index", empty, "a"])
        self.expect_error(2, "index", arguments=["search", "a"])
        self.expect_error(1, "absent", arguments=[*search, "a", "--model", self.folder / "absent"])
        bad = self.write("bad.tsv", "1\tgood\nno tab\n")
        self.expect_error(3, "bad.tsv:2", arguments=[*search, "--topics", bad, "--run", self.folder / "x.run"])
        self.assertFalse((self.folder / "x.run").exists())


if __name__ == "__main__":
    main()
