#!/usr/bin/env python3
"""Makes the models and answers of this folder, or with --check computes the answers of the stored ones again.

    python3 tests/goldens/queries/make.py [--check] [MODEL...]

Needs torch, transformers and sentence-transformers (pip install -r tests/goldens/queries/requirements.txt). The answers
are those of sentence-transformers' CrossEncoder; of T5, which it has not, those of Hugging Face's class on the ids that
monoT5's code makes, with the words "Document:" and "Relevant:" kept.
"""
import json
import os
import shutil
import sys
import zlib
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers
from sentence_transformers import CrossEncoder
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

sys.path.insert(0, str(Path(__file__).parent.parent))
from goldens import CHECK, FOLDER, finish

here = FOLDER / "queries"
TOLERANCE = 1e-5
torch.set_num_threads(1)
transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()

# Text number `seed` of the kind 0, 1, ...: word number i is WORDS[kind][(7 i + seed) % the number of words].
WORDS = [["rice", "how", "long", "is", "brown", "boiled", "water", "grain", "pot", "lid", "salt", "hour", "heat"],
         ["rice", "unboiled", "米饭煮多久", "long-grain", "ข้าวสวย", "café", "(rice)", "أرز", "x1", "Reis", "boilings"]]
# Words of the query and of the document, and their kind.
LENGTHS = [(1, 1, 0), (1, 3000, 0), (20, 20, 1), (29, 40, 0), (30, 3, 0), (31, 3, 0), (31, 500, 0), (40, 40, 1),
           (45, 2, 0), (60, 1, 0), (62, 63, 0), (63, 62, 0), (64, 64, 0), (63, 63, 0), (100, 10, 1), (100, 1000, 0),
           (140, 300, 1), (250, 20, 0), (253, 3000, 0), (254, 254, 0), (254, 255, 0), (255, 254, 0), (255, 255, 0),
           (256, 1000, 0), (300, 100, 0), (300, 240, 0), (400, 107, 1), (506, 3, 0), (509, 1, 0), (510, 0, 0),
           (600, 300, 0), (300, 600, 0), (1000, 1000, 1), (1000, 1, 0), (3000, 1, 0), (3000, 200, 1), (1200, 3000, 0),
           (3000, 1200, 0), (3000, 3000, 0)]
SIZE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
        "hidden_act": "gelu"}
MODELS = {  # class, configuration, tokens of the input, kind of tokenizer
    "bert": ("Bert", SIZE | {"max_position_embeddings": 512}, 512, "wordpiece"),
    "electra": ("Electra", SIZE | {"max_position_embeddings": 128, "embedding_size": 8}, 128, "wordpiece"),
    "roberta": ("Roberta", SIZE | {"max_position_embeddings": 514, "type_vocab_size": 1, "pad_token_id": 1,
                                   "bos_token_id": 0, "eos_token_id": 2}, 512, "bytes"),
    "xlm-roberta": ("XLMRoberta", SIZE | {"max_position_embeddings": 131, "type_vocab_size": 1, "pad_token_id": 1,
                                          "bos_token_id": 0, "eos_token_id": 2}, 129, "unigram"),
    "modernbert": ("ModernBert", SIZE | {"max_position_embeddings": 8192, "local_attention": 32, "pad_token_id": 0,
                                         "num_hidden_layers": 3, "cls_token_id": 1, "bos_token_id": 1,
                                         "sep_token_id": 2, "eos_token_id": 2}, 2100, "bytes"),
    "t5": ("T5", {"d_model": 16, "d_kv": 8, "d_ff": 24, "num_heads": 2, "num_layers": 2, "pad_token_id": 0,
                  "eos_token_id": 1, "decoder_start_token_id": 0, "n_positions": 512}, 512, "unigram"),
}


def text_of(words: int, seed: int, kind: int) -> str:
    return " ".join(WORDS[kind][(7 * i + seed) % len(WORDS[kind])] for i in range(words))


def cases():
    for number, (query, document, kind) in enumerate(LENGTHS):
        yield [query, number, kind], [document, 3 * number + 1, kind]


def corpus() -> list[str]:
    return [text_of(40, seed, kind) for seed in range(40) for kind in (0, 1)]


def bert_tokenizer(folder: Path, length: int) -> int:
    pieces = sorted({piece for word in WORDS[0] + ["café", "米", "饭", "un", "boil", "long", "cafe", "reis", "x", "1"]
                     for piece in (word, "##" + word)}
                    | {"##ing", "##ings", "##s", "##ed", "(", ")", "-", "##1", "ข", "##้", "##า", "##ว", "أ", "##ر",
                       "##ز", "ا", "煮", "多", "久"})
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *pieces]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n", encoding="utf-8")
    entries = {piece: i for i, piece in enumerate(vocabulary)}
    transformers.BertTokenizer(vocab=entries, model_max_length=length).save_pretrained(folder)
    (folder / "tokenizer.json").unlink(missing_ok=True)
    stated = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": length}
    (folder / "tokenizer_config.json").write_text(json.dumps(stated) + "\n")
    return len(vocabulary)


def json_tokenizer(folder: Path, length: int, kind: str, family: str) -> int:
    if family == "ModernBert":
        special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]"]
        template = ("[CLS] $A [SEP]", "[CLS] $A [SEP] $B [SEP]")
        roles = {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"}
    elif family == "T5":
        special = ["<pad>", "</s>", "<unk>"]
        template = ("$A </s>", "$A </s> $B </s>")
        roles = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    else:
        special = ["<s>", "<pad>", "</s>", "<unk>"]
        template = ("<s> $A </s>", "<s> $A </s> </s> $B </s>")
        roles = {"bos_token": "<s>", "cls_token": "<s>", "pad_token": "<pad>", "eos_token": "</s>", "sep_token": "</s>",
                 "unk_token": "<unk>"}
    if kind == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=special, show_progress=False,
                                      initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
        tokenizer.train_from_iterator(corpus(), trainer)
    else:
        pieces = sorted({"▁" + word for word in WORDS[0]} | set("abcdefghijklmnopqrstuvwxyzR1()-é米饭煮多久:QD") |
                        {"▁", "▁un", "boil", "▁true", "▁false", "▁Query", "▁Document", "▁Relevant", "ed", "ing"})
        entries = [(token, 0.0) for token in special] + [(piece, -1.0 - 0.01 * i) for i, piece in enumerate(pieces)]
        tokenizer = Tokenizer(models.Unigram(entries, unk_id=special.index("<unk>"), byte_fallback=False))
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")])
        tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    ids = {token: tokenizer.token_to_id(token) for token in special}
    if kind == "unigram":
        tokenizer.add_special_tokens(special)
    tokenizer.post_processor = processors.TemplateProcessing(single=template[0], pair=template[1],
                                                             special_tokens=list(ids.items()))
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    stated = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": length, **roles}
    if family != "T5":
        stated["model_input_names"] = ["input_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(stated) + "\n")
    return tokenizer.get_vocab_size()


def make(name: str) -> None:
    family, settings, length, kind = MODELS[name]
    folder = here / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    if kind == "wordpiece":
        vocabulary = bert_tokenizer(folder, length)
    else:
        vocabulary = json_tokenizer(folder, length, kind, family)
    config_class = getattr(transformers, family + "Config")
    labels = {} if family == "T5" else {"num_labels": 1}
    config = config_class(vocab_size=vocabulary, **settings, **labels)
    torch.manual_seed(zlib.crc32(name.encode()))
    head = "ForConditionalGeneration" if family == "T5" else "ForSequenceClassification"
    model = getattr(transformers, family + head)(config)
    for parameter in model.parameters():
        if parameter.ndim > 1:  # attention that prefers some tokens: a piece more or less changes the score
            torch.nn.init.normal_(parameter, std=0.4 if name == "modernbert" else 0.6)
    model.save_pretrained(folder)
    (folder / "generation_config.json").unlink(missing_ok=True)


class MonoT5:
    """monoT5's own form: query and document are one text, whose end is cut before "Relevant:"."""

    def __init__(self, folder: Path, length: int):
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.T5ForConditionalGeneration.from_pretrained(folder, dtype=torch.float64).eval()
        self.length = length
        self.answers = [self.ids("true"), self.ids("false")]

    def ids(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def predict(self, pair: tuple[str, str]) -> float:
        query, document = map(self.ids, pair)
        start, middle, end = self.ids("Query:"), self.ids("Document:"), self.ids("Relevant:")
        room = self.length - len(start) - len(middle) - len(end) - 1
        query = query[:room]
        document = document[: room - len(query)]
        ids = torch.tensor([[*start, *query, *middle, *document, *end, 1]])
        logits = self.model(input_ids=ids, decoder_input_ids=torch.tensor([[0]])).logits[0, 0]
        return logits[[self.answers[0][0], self.answers[1][0]]].log_softmax(0)[0].item()


class Pairs:
    def __init__(self, folder: Path, length: int):
        self.model = CrossEncoder(str(folder), device="cpu", activation_fn=torch.nn.Identity(),
                                  model_kwargs={"attn_implementation": "eager", "dtype": torch.float64})
        assert self.model.max_seq_length == length, (self.model.max_seq_length, length)

    def predict(self, pair: tuple[str, str]) -> float:
        return float(self.model.predict([pair], batch_size=1)[0])


@torch.no_grad()
def answer(name: str) -> list[dict]:
    _, _, length, _ = MODELS[name]
    scorer = (MonoT5 if name == "t5" else Pairs)(here / name, length)
    return [{"query": query, "document": document,
             "logit": scorer.predict((text_of(*query), text_of(*document)))} for query, document in cases()]


def lengths() -> list[str]:
    """How many pieces Hugging Face's tokenizers keep of two texts."""
    tokenizer = Tokenizer(models.WordLevel({"a": 0}, unk_token="a"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    rows = ["# places, pieces of the query and of the document, and what is kept of both"]
    for places in (1, 2, 3, 7, 10, 61, 508, 509):
        tokenizer.enable_truncation(places, strategy="longest_first")
        around = sorted({0, 1, 2, 5, places // 2 - 1, places // 2, places // 2 + 1, places - 1, places, places + 1,
                         3 * places} - {-1})
        for query in around:
            for document in around:
                encoding = tokenizer.encode("a " * query, "a " * document)
                kept = [encoding.sequence_ids.count(text) for text in (0, 1)]
                rows.append("\t".join(map(str, (places, query, document, *kept))))
    return rows


def main() -> None:
    names = [name for name in sys.argv[1:] if not name.startswith("-")] or list(MODELS)
    worst = 0.0
    table = here / "longest_first.tsv"
    rows = "\n".join(lengths()) + "\n"
    if CHECK:
        assert table.read_text() == rows, "longest_first.tsv differs"
    else:
        table.write_text(rows)
    for name in names:
        path = here / name / "cases.json"
        if CHECK:
            stored = json.loads(path.read_text())
            for old, new in zip(stored["cases"], answer(name), strict=True):
                worst = max(worst, abs(old["logit"] - new["logit"]))
            continue
        make(name)
        made = answer(name)
        lines = ",\n".join(json.dumps(case) for case in made)
        path.write_text(json.dumps({"words": WORDS}, ensure_ascii=False)[:-1] + ', "cases": [\n' + lines + "\n]}\n",
                        encoding="utf-8")
        values = [case["logit"] for case in made]
        print(name, len(made), "answers from", min(values), "to", max(values))
    if CHECK:
        print("greatest difference", worst)
        assert worst <= TOLERANCE


main()
finish()
