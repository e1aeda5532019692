"""`relucent index --language` and searches that follow the index."""

import json

from program_support import ProgramTest, main, run


class Languages(ProgramTest):
    def build(self, language, text="Die Häuser der Stadt\n"):
        corpus, index = self.write("corpus.tsv", "a\t" + text), self.folder / "my.index"
        self.expect(run("index", "--corpus", "tsv", "--input", corpus, "--index", index, "--overwrite", "--language",
                        language), 0)
        return index

    def found(self, index, query, *arguments):
        result = self.expect(run("search", "--index", index, "--no-rescore", "--json", *arguments, query), 0)
        return [hit["id"] for hit in json.loads(result.stdout)["hits"]]

    def test_a_search_follows_the_language_that_the_index_records(self):
        for name in ("german", "de", "DE"):
            index = self.build(name)
            self.assertEqual(self.found(index, "hauses"), ["a"])
            self.assertEqual(self.found(index, "der"), [])
            self.assertEqual(self.found(index, "hauses", "--language", "german"), ["a"])
        index = self.build("en")
        self.assertEqual(self.found(index, "hauses"), [])
        self.assertEqual(self.found(index, "der"), ["a"])

    def test_another_language_is_an_error_that_names_both(self):
        index = self.build("german")
        self.expect_error(2, '"german", not "french"', arguments=("search", "--index", index, "--language", "fr", "x"))
        profile = self.write("profile.toml", '[index]\nlanguage = "french"\n')
        self.expect_error(2, '"german", not "french"', arguments=("search", "--index", index, "--config", profile, "x"))
        unknown = ("search", "--index", index, "--language", "klingon", "x")
        self.expect_error(2, "klingon", "german (de)", arguments=unknown)
        self.expect_error(2, "german", arguments=("index", "--corpus", "tsv", "--input", self.folder / "corpus.tsv",
                                                  "--index", index, "--resume", "--language", "fr"))

    def test_a_profile_names_the_language(self):
        profile = self.write("profile.toml", '[index]\nlanguage = "fr"\n')
        corpus, index = self.write("corpus.tsv", "a\tL’eau des océans\n"), self.folder / "french.index"
        self.expect(run("index", "--corpus", "tsv", "--input", corpus, "--index", index, "--config", profile), 0)
        self.assertEqual(self.found(index, "eaux"), ["a"])
        self.assertEqual(self.found(index, "océan"), ["a"])

    def test_matching_words_are_marked_and_the_index_is_sound(self):
        index = self.build("turkish", "Şehirdeki EVLER\n")
        shown = self.expect(run("search", "--index", index, "--no-rescore", "evde"), 0).stdout
        self.assertIn("EVLER", shown)
        self.expect(run("verify", "--index", index), 0)


if __name__ == "__main__":
    main()
