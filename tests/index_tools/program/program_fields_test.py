"""Metadata, filters, facets and fields on the command line: `relucent index --keyword --number --text`, `search
--filter --facets --fields --search-fields` and `doc`."""

import json

from program_support import ProgramTest, main, run

DOCUMENTS = [
    {"id": "a", "text": "rice and beans", "lang": "en", "year": 2019, "source": ["x", "y"]},
    {"docno": "b", "contents": "rice", "lang": "de", "year": 2021.5, "nested": {"k": [1, {"m": None}]}, "docid": 7},
    {"id": "c", "title": "Rice", "text": "boiled", "lang": "de", "year": 2023, "source": "x"},
    {"id": "d", "text": "rice alone"},
]


class Fields(ProgramTest):
    def setUp(self):
        super().setUp()
        self.index = self.folder / "my.index"

    def relucent(self, *arguments, code=0):
        return self.expect(run(*arguments), code)

    def make(self, *flags, documents=DOCUMENTS, code=0, start=("--overwrite",), text=None):
        source = self.write("docs.jsonl", text or "".join(json.dumps(one) + "\n" for one in documents))
        return self.relucent("index", "--corpus", "jsonl", "--input", source, "--index", self.index, *start, *flags,
                             code=code)

    def search(self, *flags, code=0):
        done = self.relucent("search", "--index", self.index, "--no-rescore", "--json", *flags, "rice", code=code)
        return json.loads(done.stdout) if code == 0 else done.stderr

    def ids(self, *flags):
        return sorted(hit["id"] for hit in self.search(*flags)["hits"])

    def test_search_with_filters_facets_and_fields(self):
        self.make("--keyword", "lang", "--keyword", "source", "--number", "year")
        self.assertEqual(self.ids(), ["a", "b", "c", "d"])
        self.assertEqual(self.ids("--filter", '{"lang": "de"}'), ["b", "c"])
        self.assertEqual(self.ids("--filter", '{"source": "x", "year": {"lt": 2020}}'), ["a"])
        self.assertEqual(self.ids("--filter", '{"year": {"gt": 2019, "lte": 2023}}'), ["b", "c"])
        found = self.search("--fields", "nested,year", "--facets", "lang,source")
        fields = {hit["id"]: hit["fields"] for hit in found["hits"]}
        self.assertEqual(fields, {"a": {"year": 2019}, "b": {"year": 2021.5, "nested": {"k": [1, {"m": None}]}},
                                  "c": {"year": 2023}, "d": {}})
        self.assertEqual(found["facets"]["lang"], {"distinct": 2, "counts": [{"value": "de", "count": 2},
                                                                             {"value": "en", "count": 1}]})
        everything = {hit["id"]: hit["fields"] for hit in self.search("--fields", "all")["hits"]}
        self.assertEqual(everything["b"], {"lang": "de", "year": 2021.5, "nested": {"k": [1, {"m": None}]},
                                           "docid": 7})
        self.assertEqual(everything["c"]["title"], "Rice")
        table = self.relucent("search", "--index", self.index, "--no-rescore", "--fields", "lang", "--facets", "lang",
                              "rice").stdout
        self.assertIn('{"lang":"de"}', table)
        self.assertIn("lang:  de (2)  en (1)", table)
        topics = self.write("topics.tsv", "1\trice\n")
        lines = self.relucent("search", "--index", self.index, "--no-rescore", "--topics", topics, "--filter",
                              '{"lang": "en"}').stdout.splitlines()
        self.assertEqual([line.split()[2] for line in lines], ["a"])
        self.assertIn("--json", self.relucent("search", "--index", self.index, "--topics", topics, "--fields", "all",
                                              code=2).stderr)
        self.relucent("verify", "--index", self.index, "--quiet")

    def test_the_profile_declares_fields_as_well(self):
        profile = self.write("profile.toml", '[index]\nkeyword_fields = ["lang"]\nnumber_fields = ["year"]\n')
        self.make("--config", profile)
        self.assertEqual(self.ids("--filter", '{"lang": "en", "year": 2019}'), ["a"])

    def test_a_text_field_is_searched_with_its_weight(self):
        titled = [{"id": "long", "text": "rice rice rice", "heading": "Flour"}, {"id": "none", "text": "x"},
                  {"id": "titled", "text": "How to cook it", "heading": ["Basmati", "Rice"]},
                  {"id": "both", "text": "rice", "heading": "Rice"}]
        self.make("--text", "heading", "--keyword", "lang", documents=[*DOCUMENTS, *titled])
        self.assertNotIn("titled", self.ids())
        weighted = self.search("--search-fields", "contents,heading^9")["hits"]
        self.assertEqual(weighted[0]["id"], "both")  # in both fields
        self.assertEqual(weighted[1]["id"], "titled")
        self.assertEqual({hit["id"] for hit in weighted}, {*self.ids(), "titled"})
        self.assertEqual(self.ids("--search-fields", "heading"), ["both", "titled"])
        profile = self.write("profile.toml", '[first_stage]\nfields = ["contents", "heading^9"]\n')
        self.assertEqual(self.search("--config", profile)["hits"], weighted)
        self.assertEqual(self.ids("--config", profile, "--search-fields", "contents"), self.ids())
        topics = self.write("topics.tsv", "1\trice\n")
        lines = self.relucent("search", "--index", self.index, "--no-rescore", "--topics", topics, "--config", profile)
        self.assertEqual([line.split()[2] for line in lines.stdout.splitlines()], [hit["id"] for hit in weighted])
        more = self.write("more.jsonl", json.dumps({"id": "titled", "text": "rice", "heading": "Flour"}) + "\n")
        self.relucent("index", "--corpus", "jsonl", "--input", more, "--index", self.index, "--update")
        self.assertEqual(self.ids("--search-fields", "heading"), ["both"])
        self.relucent("verify", "--index", self.index, "--quiet")

    def test_fields_that_cannot_be_searched_are_named(self):
        self.make("--text", "heading", "--keyword", "lang")
        for fields, part in (("lang", "contents, heading"), ("absent", "contents, heading"), ("heading^0", "weight"),
                             ("heading^1e9", "weight"), ("heading,heading^2", "repeated"), ("^2", "weight")):
            self.assertIn(part, self.search("--search-fields", fields, code=2))
        self.assertIn("rm3", self.search("--search-fields", "contents,heading", "--rm3", code=2))
        profile = self.write("profile.toml", '[first_stage]\nfields = ["heading^-1"]\n')
        self.assertIn("profile.toml:2", self.search("--config", profile, code=3))
        self.assertIn("declared twice", self.make("--keyword", "a", "--text", "a", code=2).stderr)
        error = self.make("--text", "heading", documents=[{"id": "bad", "text": "x", "heading": 3}], code=3).stderr
        self.assertIn('document "bad"', error)
        self.assertIn('"heading"', error)

    def test_documents_by_id(self):
        self.make()
        done = self.relucent("doc", "--index", self.index, "--json", "b", "d")
        first, second = map(json.loads, done.stdout.splitlines())
        self.assertEqual(first, {"id": "b", "text": "rice", "metadata": {"lang": "de", "year": 2021.5, "docid": 7,
                                                                          "nested": {"k": [1, {"m": None}]}}})
        self.assertEqual(second, {"id": "d", "text": "rice alone", "metadata": {}})
        self.assertEqual(self.relucent("doc", "--index", self.index, "d").stdout, "d\nrice alone\n")
        done = self.relucent("doc", "--index", self.index, "absent", "d", code=1)
        self.assertIn('no document "absent"', done.stderr)
        self.assertEqual(done.stdout, "d\nrice alone\n")

    def test_long_metadata_is_left_out_and_told(self):
        long = {"id": "long", "text": "rice", "lang": "fr", "blob": "x" * 70_000}
        done = self.make("--keyword", "lang", documents=[*DOCUMENTS, long])
        self.assertIn("the metadata of 1 document left out because it is longer than 64 KiB: long (", done.stdout)
        self.assertEqual(self.ids("--filter", '{"lang": "fr"}'), ["long"])
        self.assertEqual(self.search("--filter", '{"lang": "fr"}', "--fields", "all")["hits"][0]["fields"], {})
        self.assertEqual(json.loads(self.make("--json", documents=[long]).stdout)["metadata_left_out"], 1)
        error = self.make("--strict", documents=[*DOCUMENTS, long], code=3).stderr
        self.assertIn("docs.jsonl:5", error)
        self.assertIn('"long"', error)

    def test_bad_documents_are_named(self):
        for value, part in (("2020", "not a number"), (2**53 + 2, "2^53"), ({"a": 1}, "not a number")):
            error = self.make("--number", "year", documents=[*DOCUMENTS, {"id": "bad", "text": "x", "year": value}],
                              code=3).stderr
            self.assertIn('document "bad"', error)
            self.assertIn('"year"', error)
            self.assertIn(part, error)
        self.assertIn('"lang"', self.make("--number", "lang", code=3).stderr)

    def test_bad_declarations_and_filters(self):
        self.assertIn("declared twice", self.make("--keyword", "a", "--number", "a", code=2).stderr)
        self.assertIn("repeated", self.make("--keyword", "a", "--keyword", "a", code=2).stderr)
        self.assertIn("contents", self.make("--keyword", "contents", code=2).stderr)
        self.make("--keyword", "lang")
        for text, part in (("{", "JSON"), ('{"colour": 1}', "colour"), ('{"lang": 1}', "lang")):
            self.assertIn(part, self.search("--filter", text, code=2))
        self.assertIn("number fields (year)", self.make("--number", "year", start=["--force-resume"], code=2).stderr)

    def test_resuming_keeps_the_declared_fields(self):
        self.make("--keyword", "lang", documents=DOCUMENTS[:2])
        self.make(start=["--force-resume"])
        self.assertEqual(self.ids("--filter", '{"lang": "de"}'), ["b", "c"])

    def test_members_keep_their_spelling(self):
        self.make(text='[\n {"id": "a", "text": "rice", "n":  1.50, "big": 123456789012345678901234567890},\n'
                       ' {"id": "b",\n  "text": "rice",\n  "a,}\\"": {"x":\n "]" }}\n]\n')
        found = {hit["id"]: hit["fields"] for hit in self.search("--fields", "all")["hits"]}
        self.assertEqual(found["a"]["n"], 1.5)
        self.assertEqual(found["b"], {'a,}"': {"x": "]"}})


if __name__ == "__main__":
    main()
