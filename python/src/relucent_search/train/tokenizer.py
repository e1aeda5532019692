"""Token ids of pairs, as the engine makes them."""
from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from relucent_search.train.batch import Batch
from relucent_search.train.errors import TrainingError
from relucent_search.train.families import FAMILIES, read_config
from relucent_search.train.sentences import sentences_of

FILES = ("vocab.txt", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json",
         "vocab.json", "merges.txt", "sentencepiece.bpe.model")
SENTENCE_START = "[SOS]"
# [CLS], and what follows the query and the document
Template = tuple[int, list[int], list[int]]


class PairTokenizer:
    """A Hugging Face folder's tokenizer: vocab.txt (BERT) or tokenizer.json. Strings such as "[SEP]" are text."""

    def __init__(self, folder: Path):
        path = folder / "tokenizer_config.json"
        try:
            settings = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            settings = {}
        except OSError as error:
            raise TrainingError.of_file(error, path) from None
        except ValueError as error:
            raise TrainingError(path, f"is not JSON ({error})", "download it again") from None
        try:
            self._tokenizer = _load(folder, settings)
        except Exception as error:  # the tokenizers library raises bare Exceptions
            raise TrainingError(folder, f"its tokenizer cannot be read ({error})",
                                "it needs vocab.txt or tokenizer.json") from None
        stated = None if (folder / "vocab.txt").exists() else _stated_template(folder, self._tokenizer)
        self.cls, self.between, self.after = stated or self._usual_template(folder, settings)
        self.sep = self.after[0]
        # Without a token of its own, what separates query and document also stands before sentences.
        own = self._tokenizer.token_to_id(SENTENCE_START)
        self.sentence = self.sep if own is None else own
        limit = settings.get("model_max_length")
        self.max_length: int | None = int(limit) if limit and limit < 2**31 else None

    def _usual_template(self, folder: Path, settings: dict[str, Any]) -> Template:
        roberta = FAMILIES[read_config(folder)["model_type"]].after_padding
        usual = ("<s>", "</s>") if roberta else ("[CLS]", "[SEP]")
        cls, sep = (self._special(folder, settings, *of) for of in zip(("cls_token", "sep_token"), usual, strict=True))
        # BERT's tokenizer puts one separator there, whatever the model.
        return cls, [sep, sep] if roberta and not (folder / "vocab.txt").exists() else [sep], [sep]

    def _special(self, folder: Path, settings: dict[str, Any], key: str, usual: str) -> int:
        token = _name(settings, key, usual)
        number = self._tokenizer.token_to_id(token)
        if number is None:
            raise TrainingError(folder, f"its vocabulary has no {token}", "use the tokenizer of the model")
        return number

    def batch(self, pairs: Sequence[tuple[str, str]], max_length: int, document_type: int = 1,
              share: bool = False, sentences: bool = False, query_limit: int | None = None) -> Batch:
        """Cut as the engine cuts: the query to query_limit pieces, if there is one, and then the longer text first, so
        that the input fits max_length. sentences: whether a token stands before each sentence of the document."""
        ids = self.pieces(query for query, _ in pairs)
        documents = self._marked if sentences else self.pieces
        document_ids = documents(document for _, document in pairs)
        cut = []
        places = max(0, max_length - 1 - len(self.between) - len(self.after))
        for query, document in pairs:
            query_ids = ids[query][:query_limit]
            of_query, of_document = cut_pair(len(query_ids), len(document_ids[document]), places)
            cut.append(([*query_ids[:of_query], *self.between], [*document_ids[document][:of_document], *self.after]))
        starts = None
        if sentences:
            starts = [[i for i, piece in enumerate(document[: -len(self.after)]) if piece == self.sentence]
                      for _, document in cut]
        return Batch.of(cut, self.cls, document_type, share, starts)

    def _marked(self, texts: Iterable[str]) -> dict[str, list[int]]:
        """The ids of each text's sentences, each behind the token before sentences."""
        found = {text: sentences_of(text) for text in texts}
        ids = self.pieces(sentence for of_text in found.values() for sentence in of_text)
        return {text: [piece for sentence in of_text if ids[sentence] for piece in (self.sentence, *ids[sentence])]
                for text, of_text in found.items()}

    def pieces(self, texts: Iterable[str]) -> dict[str, list[int]]:
        """The ids of each text's word pieces, without [CLS] and [SEP]."""
        different = list(dict.fromkeys(texts))
        encoded = self._tokenizer.encode_batch(different, add_special_tokens=False)
        return {text: encoding.ids for text, encoding in zip(different, encoded, strict=True)}


def cut_pair(query: int, document: int, places: int) -> tuple[int, int]:
    """How many pieces of both texts are kept in so many places, as model/families/pair_lengths.h has it: the longer
    text loses its end first. If they are equally long, the query is the shorter one."""
    if query + document <= places:
        return query, document
    shorter = min(query, document)
    longer = max(shorter, places - shorter)
    if shorter + longer > places:
        shorter, longer = places // 2, places - places // 2
    return (shorter, longer) if query <= document else (longer, shorter)


def _name(settings: dict[str, Any], key: str, usual: str) -> str:
    """The text of a special token, as tokenizer_config.json may give it."""
    token = settings.get(key) or usual
    return token["content"] if isinstance(token, dict) else token


def _stated_template(folder: Path, tokenizer: Tokenizer) -> Template | None:
    """What tokenizer.json puts around two texts; None if it puts nothing there."""
    encoding = tokenizer.encode("a", "b")
    texts = encoding.sequence_ids  # None: a special token
    if None not in texts or 0 not in texts or 1 not in texts:
        return None
    special = [[id for id, _ in group] for is_special, group in itertools.groupby(
        zip(encoding.ids, texts, strict=True), lambda pair: pair[1] is None) if is_special]
    if len(special) != 3 or len(special[0]) != 1:
        raise TrainingError(folder / "tokenizer.json", "does not put one token before the query, and others behind "
                            "query and document", "use the tokenizer of a cross-encoder")
    return special[0][0], special[1], special[2]


def _load(folder: Path, settings: dict[str, Any]) -> Tokenizer:
    vocabulary = folder / "vocab.txt"
    if vocabulary.exists():
        lines = vocabulary.read_bytes().decode("utf-8").removesuffix("\n").split("\n")
        entries = {line.removesuffix("\r"): i for i, line in enumerate(lines)}
        tokenizer = Tokenizer(models.WordPiece(entries, unk_token=_name(settings, "unk_token", "[UNK]")))
        tokenizer.normalizer = normalizers.BertNormalizer(
            handle_chinese_chars=settings.get("tokenize_chinese_chars", True),
            strip_accents=settings.get("strip_accents"), lowercase=settings.get("do_lower_case", True))
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        return tokenizer
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer
