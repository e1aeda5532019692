"""The model equals a plain BERT under a dense mask, and the engine."""
import dataclasses
import itertools
import json
import random
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from relucent_search.train.attention import banded, flex
from relucent_search.train.batch import Batch
from relucent_search.train.errors import TrainingError
from relucent_search.train.model import CrossEncoder
from relucent_search.train.pattern import AttentionPattern
from relucent_search.train.sentences import sentences_of
from relucent_search.train.tokenizer import PairTokenizer, cut_pair
from safetensors.torch import load_file, save_file
from support import CLS, CONFIG, engine_logits, random_model, relucent, sentences, text, write_base

PATTERNS = [AttentionPattern.named("full"), AttentionPattern.named("longformer", 7), AttentionPattern.named("sparse"),
            AttentionPattern.named("sparse", 0), AttentionPattern(*[False] * 6, window=2),
            AttentionPattern.named("local", 5)]
PATTERNS += [AttentionPattern(*random.Random(seed).choices([False, True], k=6), window=window)
             for seed, window in enumerate([0, 1, 3, 16, 17, 40, None, 1000])]


def random_pairs(seed: int, sizes: list[tuple[int, int]]) -> list[tuple[list[int], list[int]]]:
    generator = random.Random(seed)
    return [tuple(generator.choices(range(5, 125), k=size) for size in pair) for pair in sizes]


def dense_logit(weights, pattern: AttentionPattern, query: list[int], document: list[int],
                sentences: tuple[int, ...] = ()) -> torch.Tensor:
    """BERT written out for one pair, all tokens in all layers, with a mask made token by token of the pattern's
    definition. sentences: which tokens of the document stand before sentences."""
    groups = ["cls"] + ["query"] * len(query) + ["doc"] * len(document)
    visible = torch.zeros(len(groups), len(groups), dtype=torch.bool)
    for (i, source), (j, target) in itertools.product(enumerate(groups), enumerate(groups)):
        if pattern.local:
            visible[i, j] = abs(i - j) <= pattern.window
        elif source != target:
            visible[i, j] = getattr(pattern, f"{source}_{target}_attention")
        else:
            marked = any(place - 1 - len(query) in sentences for place in (i, j))
            visible[i, j] = source != "doc" or pattern.window is None or abs(i - j) <= pattern.window or marked

    def linear(name, x):
        return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], 1e-12)

    table = "bert.embeddings.{}_embeddings.weight"
    types = torch.tensor([int(group == "doc") for group in groups])
    x = weights[table.format("word")][[CLS, *query, *document]] + weights[table.format("position")][: len(groups)]
    x = norm("bert.embeddings.LayerNorm", x + weights[table.format("token_type")][types])
    for i in range(CONFIG["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}."
        q, k, v = (linear(f"{layer}attention.self.{name}", x).view(len(groups), CONFIG["num_attention_heads"], -1)
                   for name in ("query", "key", "value"))
        scores = torch.einsum("ihd,jhd->hij", q, k) / q.shape[-1] ** 0.5
        probabilities = scores.masked_fill(~visible, float("-inf")).softmax(-1)
        mixed = torch.einsum("hij,jhd->ihd", probabilities, v).flatten(1)
        x = norm(f"{layer}attention.output.LayerNorm", x + linear(f"{layer}attention.output.dense", mixed))
        inner = F.gelu(linear(f"{layer}intermediate.dense", x))
        x = norm(f"{layer}output.LayerNorm", x + linear(f"{layer}output.dense", inner))
    return linear("classifier", torch.tanh(linear("bert.pooler.dense", x[0])))[0]


SIZES = [(4, 37), (1, 1), (9, 80), (3, 16), (6, 5)]


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_forward_and_gradients_equal_a_dense_mask(pattern):
    model = random_model(3, pattern).eval()
    model.document_attention = banded
    pairs = random_pairs(5, SIZES)
    weights = dict(model.named_parameters())
    factors = torch.tensor([1.0, -0.5, 0.7, 2.0, -1.0])

    def gradients(logits):
        return torch.autograd.grad((logits * factors).sum(), list(weights.values()), allow_unused=True)

    expected = torch.stack([dense_logit(weights, pattern, *pair) for pair in pairs])
    logits = model(Batch.of(pairs, CLS))
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    for name, found, wanted in zip(weights, gradients(logits), gradients(expected), strict=True):
        wanted = torch.zeros_like(weights[name]) if wanted is None else wanted
        found = torch.zeros_like(weights[name]) if found is None else found
        torch.testing.assert_close(found, wanted, atol=2e-5, rtol=1e-4, msg=lambda text, name=name: f"{name}: {text}")


QDS = AttentionPattern.named("qds", 3)


@pytest.mark.parametrize("attention", [banded, flex], ids=["bands", "block masks"])
@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("pattern", [QDS, dataclasses.replace(QDS, window=0), dataclasses.replace(QDS, window=200),
                                     AttentionPattern(*[False] * 6, window=2, sentences=True),
                                     AttentionPattern(query_doc_attention=False, doc_cls_attention=False, window=5,
                                                      sentences=True)], ids=str)
def test_sentences_equal_a_dense_mask(pattern, attention):
    """The tokens before sentences are seen by, and see, the whole document, and count as tokens in windows."""
    model = random_model(3, pattern).eval()
    model.document_attention = attention
    pairs, starts = random_pairs(5, SIZES), [(0, 9, 10, 36), (), (0, 30, 79), (3, 15), (0,)]
    weights = dict(model.named_parameters())
    expected = torch.stack([dense_logit(weights, pattern, *pair, of) for pair, of in zip(pairs, starts, strict=True)])
    plain = torch.stack([dense_logit(weights, pattern, *pair) for pair in pairs])
    if attention is flex:
        with torch.no_grad():
            logits = model(Batch.of(pairs, CLS, sentences=starts))
    else:
        logits = model(Batch.of(pairs, CLS, sentences=starts))
        factors = torch.tensor([1.0, -0.5, 0.7, 2.0, -1.0])
        found, wanted = (torch.autograd.grad((x * factors).sum(), list(weights.values()), retain_graph=True)
                         for x in (logits, expected))
        torch.testing.assert_close(found, wanted, atol=2e-5, rtol=1e-4)
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=1e-5)
    if pattern.window < 100 and pattern.doc_cls_attention:
        assert (expected - plain)[[0, 2]].abs().min() > 1e-4


def test_white_space_belongs_to_the_next_sentence():
    assert sentences_of("Ba be.  Bi!\n Bo.\u3000Ø.\t") == ["Ba be.", "  Bi!", "\n Bo.\u3000", "Ø.\t"]
    assert sentences_of("") == []


@pytest.mark.parametrize("own_token", [True, False])
@pytest.mark.parametrize("window", [0, 4, 64])
def test_engine_scores_qds_alike(own_token, window, tmp_path):
    base = write_base(tmp_path / "base")
    if own_token:
        vocabulary = (base / "vocab.txt").read_text(encoding="utf-8")
        (base / "vocab.txt").write_text(vocabulary.replace("[MASK]", "[SOS]"), encoding="utf-8")
    model = CrossEncoder.load(base, AttentionPattern.named("qds", window)).eval()
    model.save(tmp_path / "saved", base)
    generator = random.Random(1)
    pairs = [(text(generator, 3), sentences(generator, words)) for words in (1, 9, 40, 90)]
    pairs += [("ba", "Ba be.  Bi bo!\n\n \u0301 \nDa? [SEP] [SOS]. 漢字。ø"), ("ba", "Dr. ba. 3.5 be. x... Y")]
    assert [len(sentences_of(document)) for _, document in pairs[:4]] == [1, 2, 6, 13]
    batch = model.batch(PairTokenizer(base), pairs, 160)
    assert len(batch.sentence_slots) > 20
    with torch.no_grad():
        logits = model(batch).tolist()
    found = engine_logits(tmp_path / "saved", pairs, tmp_path, "ref", "--pattern", "qds")
    assert logits == pytest.approx(found, abs=1e-4)
    without = engine_logits(tmp_path / "saved", pairs, tmp_path, "ref")
    assert max(abs(x - y) for x, y in zip(found, without, strict=True)) > 1e-3


@pytest.mark.parametrize("pattern", [PATTERNS[2], AttentionPattern(*[False] * 6, window=2)], ids=str)
def test_sharing_a_querys_rows_changes_nothing(pattern):
    """Neither logits nor gradients change where queries see themselves alone."""
    (query, other), documents = ([ids for ids, _ in random_pairs(5, [(4, 1), (7, 1)])],
                                 [ids for _, ids in random_pairs(6, [(1, 37), (1, 12), (1, 60), (1, 1)])])
    pairs = list(zip([query, other, query, query], documents, strict=True))
    found = []
    for share in (False, True):
        model = random_model(3, pattern)
        batch = Batch.of(pairs, CLS, share=share)
        logits = model(batch)
        (logits * torch.tensor([1.0, -0.5, 0.7, 2.0])).sum().backward()
        gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        found.append((logits.detach(), gradients, len(batch.ids)))
    assert found[0][2] - found[1][2] == 2 * len(query)
    torch.testing.assert_close(found[1][0], found[0][0], atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found[1][1], found[0][1], atol=2e-5, rtol=1e-4)


def test_queries_that_see_documents_are_not_shared():
    with pytest.raises(ValueError, match="the batch shares queries"):
        random_model(3, PATTERNS[0])(Batch.of(random_pairs(5, [(4, 8)]) * 2, CLS, share=True))


@pytest.mark.filterwarnings("ignore:flex_attention called without")
@pytest.mark.parametrize("pattern", PATTERNS[1:4], ids=str)
def test_block_masks_equal_bands(pattern):
    """FlexAttention also computes on the CPU, but has no gradients there."""
    model = random_model(3, pattern).eval()
    batch = Batch.of(random_pairs(5, SIZES), CLS)
    with torch.no_grad():
        expected = model(batch)
        model.document_attention = flex
        torch.testing.assert_close(model(batch), expected, atol=1e-5, rtol=1e-5)


def test_patterns_differ():
    batch = Batch.of(random_pairs(5, [(4, 60)]), CLS)
    with torch.no_grad():
        logits = [random_model(3, pattern).eval()(batch).item() for pattern in PATTERNS[:5]]
    assert len({round(logit, 4) for logit in logits}) == 5, logits


def test_gradient_checkpointing_changes_nothing():
    batch = Batch.of(random_pairs(6, [(4, 30), (2, 50)]), CLS)
    found = []
    for checkpointing in (False, True):
        model = random_model(4, PATTERNS[2], hidden_dropout_prob=0.2).train()
        model.gradient_checkpointing = checkpointing
        torch.manual_seed(8)
        model(batch).sum().backward()
        found.append([parameter.grad for parameter in model.parameters() if parameter.grad is not None])
    assert len(found[0]) > 10
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


@pytest.mark.parametrize("pattern", [PATTERNS[2], AttentionPattern.named("longformer", 8)], ids=str)
def test_memory_is_linear_in_length(pattern):
    """What the gradient keeps doubles when documents double."""
    kept = []
    for length in (500, 1000):
        storages = {}

        def keep(tensor, storages=storages):
            storages[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        model = random_model(4, pattern, max_position_embeddings=1024)
        parameters = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            logits = model(Batch.of(random_pairs(2, [(5, length)]), CLS))
        kept.append(sum(size for pointer, size in storages.items() if pointer not in parameters))
        del logits
    assert kept[1] < 2.1 * kept[0], kept


def test_pairs_are_cut_as_hugging_faces_tokenizers_cut_them():
    rows = (Path(__file__).parents[1] / "goldens/queries/longest_first.tsv").read_text().splitlines()[1:]
    assert len(rows) > 500
    for row in rows:
        places, query, document, *kept = map(int, row.split("\t"))
        assert cut_pair(query, document, places) == tuple(kept), row


@pytest.mark.parametrize(("stated", "pattern", "limit"), [
    ({}, AttentionPattern(), None), ({"query_length": 7}, AttentionPattern(), 7),
    ({"query_length": 7}, AttentionPattern.named("sparse"), 7),
    ({"architectures": ["ListformerModelForSequenceClassification"]}, None, 30),
    ({"attention_window_size": 4}, None, 30), ({"attention_window_size": 4, "query_length": None}, None, None)])
def test_a_query_is_cut_where_the_base_asks_for_it(stated, pattern, limit, tmp_path):
    base = write_base(tmp_path / "base")
    config = json.loads((base / "config.json").read_text())
    del config["query_length"]
    (base / "config.json").write_text(json.dumps({**config, **stated}))
    model = CrossEncoder.load(base, pattern).eval()
    assert model.query_limit == limit
    model.save(tmp_path / "saved", base)
    assert json.loads((tmp_path / "saved/config.json").read_text())["query_length"] == limit
    generator = random.Random(1)
    pairs = [(text(generator, words), text(generator, 9)) for words in (5, 8, 29, 40, 100)]
    with torch.no_grad():
        logits = model(model.batch(PairTokenizer(base), pairs, CONFIG["max_position_embeddings"])).tolist()
    assert logits == pytest.approx(engine_logits(tmp_path / "saved", pairs, tmp_path, "ref"), abs=1e-4)


def test_a_limit_of_queries_that_is_none_is_refused(tmp_path):
    base = write_base(tmp_path / "base")
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, "query_length": 0}))
    with pytest.raises(TrainingError, match="key query_length: is neither null nor a count of word pieces"):
        CrossEncoder.load(base)


@pytest.mark.parametrize("pattern", PATTERNS[:4] + PATTERNS[5:10], ids=str)
def test_engine_scores_a_saved_model_alike(pattern, tmp_path):
    base = write_base(tmp_path / "base")
    model = CrossEncoder.load(base, pattern).eval()
    model.save(tmp_path / "saved", base)
    relucent("model", "check", tmp_path / "saved")
    generator = random.Random(1)
    sizes = [(3, 20), (1, 1), (40, 30), (5, 300), (2, 45)]
    pairs = [(text(generator, query), text(generator, document)) for query, document in sizes]
    pairs.append(("bø [SEP] [cls] ß\u0301", "[SEP] ba [MASK] 漢字 x" * 3))
    max_length = CONFIG["max_position_embeddings"]
    with torch.no_grad():
        logits = model(model.batch(PairTokenizer(base), pairs, max_length)).tolist()
    found = engine_logits(tmp_path / "saved", pairs, tmp_path, "ref", *model.engine_flags())
    assert logits == pytest.approx(found, abs=1e-4)
    reloaded = CrossEncoder.load(tmp_path / "saved", pattern if pattern.told else None).eval()
    assert reloaded.pattern == pattern
    with torch.no_grad():
        assert reloaded(reloaded.batch(PairTokenizer(tmp_path / "saved"), pairs, max_length)).tolist() == logits


def test_a_base_without_prefix_and_head_gets_them(tmp_path):
    base = write_base(tmp_path / "base")
    tensors = {name.removeprefix("bert."): tensor for name, tensor in load_file(base / "model.safetensors").items()
               if not name.startswith(("bert.pooler", "classifier"))}
    save_file(tensors, base / "model.safetensors")
    model = CrossEncoder.load(base, PATTERNS[2])
    assert model.new_parameters == ["bert.pooler.dense.weight", "bert.pooler.dense.bias", "classifier.weight",
                                    "classifier.bias"]
    name = "encoder.layer.2.output.dense.weight"
    assert torch.equal(model.state_dict()[f"bert.{name}"], tensors[name])


def change_config(folder, **changes):
    (folder / "config.json").write_text(json.dumps({**CONFIG, **changes}))


@pytest.mark.parametrize(("damage", "message"), [
    (lambda folder: (folder / "config.json").unlink(), "config.json: No such file"),
    (lambda folder: (folder / "config.json").write_text("{"), "config.json: is not JSON"),
    (lambda folder: change_config(folder, model_type="t5"), "key model_type: is 't5'"),
    (lambda folder: change_config(folder, num_attention_heads=5), "key num_attention_heads: does not divide"),
    (lambda folder: change_config(folder, hidden_act="mish"), "key hidden_act: is 'mish'"),
    (lambda folder: change_config(folder, attention_window_size=-1), "key attention_window_size"),
    (lambda folder: change_config(folder, doc_cls_attention=1), "key doc_cls_attention: is not a boolean"),
    (lambda folder: change_config(folder, num_hidden_layers=4), "lacks the tensor bert.encoder.layer.3"),
    (lambda folder: change_config(folder, intermediate_size=41), "has shape"),
    (lambda folder: (folder / "model.safetensors").unlink(), "has neither model.safetensors"),
    (lambda folder: (folder / "model.safetensors").write_bytes(b"x"), "model.safetensors: cannot be read"),
])
def test_bad_bases_are_refused_by_name(tmp_path, damage, message):
    base = write_base(tmp_path / "base")
    damage(base)
    with pytest.raises(TrainingError, match=message):
        CrossEncoder.load(base)


def test_bad_tokenizers_are_refused_by_name(tmp_path):
    base = write_base(tmp_path / "base")
    (base / "vocab.txt").write_text("[UNK]\nba\n")
    with pytest.raises(TrainingError, match=r"its vocabulary has no \[CLS\]"):
        PairTokenizer(base)
    (base / "vocab.txt").unlink()
    with pytest.raises(TrainingError, match="needs vocab.txt or tokenizer.json"):
        PairTokenizer(base)
