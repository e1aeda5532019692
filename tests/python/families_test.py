"""The relatives of BERT equal transformers' own classes and the engine, and are trained like BERT."""
import gzip
import json
import random
from pathlib import Path

import pytest
import torch
from relucent_search.train.batch import Batch
from relucent_search.train.cli import main
from relucent_search.train.errors import TrainingError
from relucent_search.train.families import read_config
from relucent_search.train.model import CrossEncoder
from relucent_search.train.modernbert import ModernBert
from relucent_search.train.pattern import AttentionPattern
from relucent_search.train.tokenizer import PairTokenizer
from safetensors.torch import load_file, save_file
from support import (
    CONFIG,
    SPECIAL,
    VOCABULARY,
    WORDS,
    engine_logits,
    random_model,
    relucent,
    sentences,
    text,
    write_base,
    write_teacher,
)
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

TRAINED = ("bert", "electra", "roberta", "xlm-roberta", "modernbert")
GOLDENS = Path(__file__).parents[1] / "goldens/families"
MODELS = sorted(path.parent.name for path in GOLDENS.glob("*/config.json")
                if json.loads(path.read_text())["model_type"] in TRAINED)
SPARSE = AttentionPattern.named("sparse", 3)
FAMILIES = ("electra", "roberta", "xlm-roberta")


@pytest.mark.parametrize("name", MODELS)
def test_logits_equal_those_of_transformers(name):
    config = read_config(GOLDENS / name)
    if config.get("type_vocab_size") == 1:
        config["token_type_embedding"] = False  # the golden cases have type 0 everywhere
    modern = config["model_type"] == "modernbert"
    model = (ModernBert if modern else CrossEncoder)(config, AttentionPattern())._read(GOLDENS / name).eval()
    with gzip.open(GOLDENS / name / "cases.jsonl.gz", "rt") as file:
        cases = [json.loads(line) for line in file]
    if modern:
        cases = [case for case in cases if "sentence_id" not in (case["pattern"] or {})]  # not trained
    assert len(cases) >= 64
    for case in cases:
        pattern, document, starts = case["pattern"] or {}, case["doc_ids"], None
        if mark := pattern.get("sentence_id"):
            starts = [[i for i, piece in enumerate(document) if piece == mark]]
        model.pattern = AttentionPattern.from_config(pattern)
        if modern:  # some cases have the pattern without the local layers' windows
            model.reach = config["local_attention"] // 2 if pattern.get("family_window", True) else 200
        if starts:
            model.pattern = AttentionPattern(**{**vars(model.pattern), "sentences": True})
        batch = Batch.of([(case["query_ids"], document)], case["cls_ids"][0], model.document_type, sentences=starts)
        with torch.no_grad():
            assert model(batch).item() == pytest.approx(case["logit"], abs=1e-4), case["id"]


def byte_level(post_processor=None) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return trained(tokenizer, trainers.BpeTrainer, post_processor,
                   initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def unigram(post_processor=None) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())  # with what XLM-R's own class makes of a tokenizer.json
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return trained(tokenizer, trainers.UnigramTrainer, post_processor, unk_token="<unk>")


def trained(tokenizer: Tokenizer, trainer, post_processor, **settings) -> Tokenizer:
    names = ["<s>", "<pad>", "</s>", "<unk>"]
    generator = random.Random(2)
    texts = [sentences(generator, 40) for _ in range(50)]
    tokenizer.train_from_iterator(texts, trainer(vocab_size=330, special_tokens=names, show_progress=False, **settings))
    if post_processor is not None:
        tokenizer.post_processor = post_processor
    return tokenizer


DOUBLE = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
SINGLE = processors.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>",
                                       special_tokens=[("<s>", 0), ("</s>", 2)])


def write_relative(folder: Path, family: str, tokenizer: Tokenizer | None = None, **changes) -> Path:
    if family == "electra":
        return write_base(folder, model_type=family, embedding_size=16, **changes)
    folder.mkdir()
    if family == "modernbert":
        tokenizer = byte_level(SINGLE)
        tokenizer.save(str(folder / "tokenizer.json"))
        random_model(1, AttentionPattern(), ModernBert, model_type=family, vocab_size=tokenizer.get_vocab_size(),
                     num_hidden_layers=4, local_attention=24, hidden_activation="gelu", **changes).save(folder, folder)
        return folder
    tokenizer = tokenizer or (byte_level(DOUBLE) if family == "roberta" else unigram())
    tokenizer.save(str(folder / "tokenizer.json"))
    random_model(1, AttentionPattern(), model_type=family, vocab_size=tokenizer.get_vocab_size(), type_vocab_size=1,
                 pad_token_id=1, **changes).save(folder, folder)
    return folder


def some_pairs() -> list[tuple[str, str]]:
    generator = random.Random(1)
    sizes = [(3, 20), (1, 1), (40, 30), (5, 300), (2, 45), (300, 4), (100, 100), (90, 300)]
    pairs = [(text(generator, query), sentences(generator, document)) for query, document in sizes]
    return [*pairs, ("bø ß\u0301", "Ba 漢字. x" * 3)]


def torch_logits(model: CrossEncoder, folder: Path, pairs) -> list[float]:
    tokenizer = PairTokenizer(folder)
    with torch.no_grad():
        return model.eval()(model.batch(tokenizer, pairs, model.engine_length(tokenizer))).tolist()


@pytest.mark.parametrize("pattern", [AttentionPattern(), SPARSE, AttentionPattern.named("qds", 4)], ids=str)
@pytest.mark.parametrize("family", FAMILIES)
def test_engine_scores_a_saved_model_alike(family, pattern, tmp_path):
    base = write_relative(tmp_path / "base", family)
    model = CrossEncoder.load(base, pattern)
    model.save(tmp_path / "saved", base)
    relucent("model", "check", tmp_path / "saved")
    expected = torch_logits(model, base, some_pairs())
    found = engine_logits(tmp_path / "saved", some_pairs(), tmp_path, "ref", *model.engine_flags())
    assert expected == pytest.approx(found, abs=1e-4)
    assert len(set(expected)) == len(expected)
    reloaded = CrossEncoder.load(tmp_path / "saved", pattern if pattern.told else None)
    assert torch_logits(reloaded, tmp_path / "saved", some_pairs()) == expected


PATTERNS = [AttentionPattern(), SPARSE, AttentionPattern.named("local", 5), AttentionPattern.named("longformer", 40),
            AttentionPattern(cls_query_attention=False, query_doc_attention=False, doc_cls_attention=False, window=0)]


@pytest.mark.parametrize("changes", [{}, {"classifier_pooling": "mean", "norm_bias": True, "attention_bias": True},
                                     {"layer_types": ["sliding_attention"] * 4, "global_attn_every_n_layers": 1}],
                         ids=["cls", "mean", "local"])
@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_engine_scores_a_saved_modernbert_alike(pattern, changes, tmp_path):
    base = write_relative(tmp_path / "base", "modernbert", **changes)
    model = ModernBert.load(base, pattern)
    model.save(tmp_path / "saved", base)
    expected = torch_logits(model, base, some_pairs())
    found = engine_logits(tmp_path / "saved", some_pairs(), tmp_path, "ref", *model.engine_flags())
    assert expected == pytest.approx(found, abs=1e-4)
    assert len(set(expected)) > 4  # [CLS] may see nothing but the start of a long query
    # A query's rows, shared, give what they give alone; and so do gradients without what is kept for them.
    pairs = [("bade fo", document) for _, document in some_pairs()[:4]]
    alone = [torch_logits(model, base, [pair])[0] for pair in pairs]
    assert torch_logits(model, base, pairs) == pytest.approx(alone, abs=1e-5)
    gradients = []
    for again in (False, True):
        model.gradient_checkpointing = again
        model.train().zero_grad()
        model(model.batch(PairTokenizer(base), pairs, 160)).sum().backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters() if parameter.grad is not None])
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))
    assert len(gradients[0]) == len(list(model.parameters()))


def test_modernbert_without_a_head_or_with_what_is_unknown(tmp_path):
    base = write_relative(tmp_path / "base", "modernbert")
    whole = load_file(base / "model.safetensors")
    body = {name.removeprefix("model."): tensor for name, tensor in whole.items() if name.startswith("model.")}
    save_file(body, base / "model.safetensors")
    model = ModernBert.load(base, SPARSE)
    assert model.new_parameters == ["head.dense.weight", "head.norm.weight", "classifier.weight", "classifier.bias"]
    assert torch.equal(model.state_dict()["model.layers.1.attn.Wqkv.weight"], body["layers.1.attn.Wqkv.weight"])
    with pytest.raises(TrainingError, match="qds"):
        ModernBert.load(base, AttentionPattern.named("qds"))
    config = json.loads((base / "config.json").read_text())
    for key, value in (("classifier_pooling", "max"), ("layer_types", ["sliding_attention"]),
                       ("rope_parameters", {"full_attention": {"rope_type": "yarn"}}), ("hidden_activation", "x")):
        (base / "config.json").write_text(json.dumps({**config, key: value}))
        with pytest.raises(TrainingError, match=key):
            ModernBert.load(base)


@pytest.mark.parametrize(("post_processor", "separators"), [(None, 2), (DOUBLE, 2), (SINGLE, 1),
                                                            (processors.ByteLevel(), 2)],
                         ids=["none", "double", "single", "no template"])
def test_separators_are_those_of_the_tokenizer(post_processor, separators, tmp_path):
    base = write_relative(tmp_path / "base", "roberta", byte_level(post_processor))
    if post_processor is SINGLE:  # RoBERTa's own class has two, whatever the file contains; this one reads it as it is
        (base / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"}))
    tokenizer = PairTokenizer(base)
    assert (tokenizer.cls, tokenizer.between, tokenizer.after) == (0, [2] * separators, [2])
    expected = torch_logits(CrossEncoder.load(base), base, some_pairs())
    assert expected == pytest.approx(engine_logits(base, some_pairs(), tmp_path, "ref"), abs=1e-4)


@pytest.mark.parametrize("pair", ["$A </s> $B </s>", "<s> <s> $A </s> $B </s>", "<s> $A </s> $B"])
def test_other_templates_are_refused(pair, tmp_path):
    template = processors.TemplateProcessing(single="<s> $A", pair=pair, special_tokens=[("<s>", 0), ("</s>", 2)])
    base = write_relative(tmp_path / "base", "roberta", byte_level(template))
    with pytest.raises(TrainingError, match="tokenizer.json: does not put one token before the query"):
        PairTokenizer(base)


def test_the_vocabulary_of_a_bert_has_one_separator(tmp_path):
    base = write_base(tmp_path / "base", model_type="xlm-roberta", type_vocab_size=1)
    names = {"cls_token": "<s>", "sep_token": {"content": "</s>"}, "unk_token": "<unk>"}
    (base / "tokenizer_config.json").write_text(json.dumps(names))
    lines = ["[PAD]", "<unk>", "<s>", "</s>", *VOCABULARY[len(SPECIAL) - 1 :]]
    (base / "vocab.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    expected = torch_logits(CrossEncoder.load(base), base, some_pairs())
    assert expected == pytest.approx(engine_logits(base, some_pairs(), tmp_path, "ref"), abs=1e-4)


@pytest.mark.parametrize(("family", "prefix", "foreign"), [
    ("electra", "electra.", "discriminator_predictions.dense.weight"),
    ("electra", "", "pooler.dense.weight"),
    ("roberta", "roberta.", "lm_head.dense.weight"),
    ("xlm-roberta", "", "pooler.dense.weight")])
def test_a_base_without_a_head_gets_one(family, prefix, foreign, tmp_path):
    base = write_relative(tmp_path / "base", family)
    own = "electra." if family == "electra" else "roberta."
    tensors = {prefix + name.removeprefix(own): tensor
               for name, tensor in load_file(base / "model.safetensors").items() if name.startswith(own)}
    save_file({**tensors, foreign: torch.zeros(2, 2)}, base / "model.safetensors")
    model = CrossEncoder.load(base, SPARSE)
    assert model.new_parameters == [f"classifier.{part}.{kind}" for part in ("dense", "out_proj")
                                    for kind in ("weight", "bias")]
    name = "encoder.layer.2.output.dense.weight"
    assert torch.equal(model.state_dict()[own + name], tensors[prefix + name])


@pytest.mark.parametrize("family", [*FAMILIES, "modernbert"])
def test_they_are_trained_and_checked(family, tmp_path, capsys):
    write_relative(tmp_path / "base", family)
    recipe = write_teacher(tmp_path) / "recipe.toml"
    assert main([str(recipe), "training.learning_rate=3e-3"]) == 0
    assert "loss" in capsys.readouterr().err
    out = tmp_path / "out"
    saved = json.loads((out / "config.json").read_text())
    assert saved["model_type"] == family
    assert saved["attention_window_size"] == 4
    assert "MIR" not in (out / "README.md").read_text()
    rows = [line.split(",") for line in (out / "training/log.csv").read_text().splitlines()[1:]]
    assert float(rows[-1][1]) < 0.8 * float(rows[1][1])
    pairs = [(word, f"{word} {text(random.Random(7), 9)}") for word in WORDS[:4]]
    kind = ModernBert if family == "modernbert" else CrossEncoder
    expected = torch_logits(kind.load(out), out, pairs)
    assert expected == pytest.approx(engine_logits(out, pairs, tmp_path), abs=1e-4)


def test_keys_that_are_null_have_their_defaults(tmp_path):
    base = write_relative(tmp_path / "base", "roberta")
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "pad_token_id": None}))
    assert CrossEncoder.load(base).first_position == 2
    for pad, key in ((-1, "pad_token_id"), ("x", "pad_token_id"), (CONFIG["max_position_embeddings"], "max_position")):
        (base / "config.json").write_text(json.dumps({**config, "pad_token_id": pad}))
        with pytest.raises(TrainingError, match=f"config.json, key {key}"):
            CrossEncoder.load(base)


def test_documents_need_their_type(tmp_path):
    base = write_relative(tmp_path / "base", "electra", type_vocab_size=1, token_type_embedding=False)
    assert CrossEncoder.load(base).document_type == 0
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "token_type_embedding": True}))
    with pytest.raises(TrainingError, match="key type_vocab_size: is 1, but documents have token type 1"):
        CrossEncoder.load(base)
    assert "token_type_embedding" not in CONFIG
