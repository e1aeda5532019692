"""The MIR equals the specification's answers and the engine, and is trained as cross-encoders are."""
import csv
import gzip
import json
import os
import random
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from relucent_search.train import settings
from relucent_search.train.cli import main
from relucent_search.train.errors import TrainingError
from relucent_search.train.mir import (
    VIEWS,
    DocumentGraph,
    GraphFile,
    Mir,
    Passage,
    key_by_text,
    name_of,
    write_documents,
)
from relucent_search.train.tokenizer import PairTokenizer
from relucent_search.train.trainer import Interrupted, Trainer
from safetensors.torch import load_file, save_file
from support import engine_logits, program, relucent, sentences, text, write_base, write_teacher

GOLDENS = Path(os.environ.get("RELUCENT_GOLDENS", "")) / "mir"
MODELS = sorted(path.parent.name for path in GOLDENS.glob("*/config.json"))
with_goldens = pytest.mark.skipif(not MODELS, reason="RELUCENT_GOLDENS names no folder with mir/*/config.json")


POOLINGS = Path(__file__).parents[1] / "goldens" / "mir-pooling"


@pytest.mark.parametrize("name", ["max", "transformer", "two-views"])
def test_poolings_equal_the_goldens(name):
    """All cases in one batch, and each alone."""
    model = Mir.load(POOLINGS / name).eval()
    with gzip.open(POOLINGS / "cases.jsonl.gz", "rt") as file:
        cases = [case for line in file if (case := json.loads(line))["model"] == name]
    documents = [(case["query_ids"], golden_graph(case)) for case in cases]
    expected = [case["score"] for case in cases]
    together = model(model.batch_of(documents))
    assert together.tolist() == pytest.approx(expected, abs=2e-5)
    alone = [model(model.batch_of([document])).item() for document in documents]
    assert alone == pytest.approx(expected, abs=2e-5)
    together.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())


def golden_cases(name: str) -> list[dict]:
    cases = []
    for path in sorted(GOLDENS.glob("forward*.jsonl.gz")):
        with gzip.open(path, "rt") as file:
            cases += [case for line in file if (case := json.loads(line))["model"] == name]
    return cases


def golden_graph(case: dict) -> DocumentGraph:
    """Their nodes' places are tokens of the passages."""
    passages = [Passage(one["ids"], one["sentence_starts"]) for one in case["passages"]]
    pieces = []  # of each passage: the piece of each token, or behind each sentence's token
    for passage in passages:
        of = {}
        place = 1 + len(case["query_ids"])
        for piece in range(len(passage.pieces)):
            if piece in passage.sentences:
                of[place] = piece
                place += 1
            of[place] = piece
            place += 1
        pieces.append(of)

    def seen(lists: list[list[int]]) -> torch.Tensor:
        matrix = torch.zeros(len(lists), len(lists), dtype=torch.bool)
        for i, nodes in enumerate(lists):
            matrix[i, nodes] = True
        return matrix

    return DocumentGraph(passages, [(i, pieces[i][place]) for i, place in case["s_nodes"]],
                         [(i, [pieces[i][place] for place in places]) for i, places in case["t_nodes"]],
                         (seen(case["p2p"]), seen(case["s2s"]), seen(case["t2t"])))


@with_goldens
@pytest.mark.parametrize("name", MODELS)
def test_scores_equal_the_specifications(name):
    """All cases in one batch, so that passages and graphs differ in size, and each alone."""
    model, cases = Mir.load(GOLDENS / name).eval(), golden_cases(name)
    assert cases
    documents = [(case["query_ids"], golden_graph(case)) for case in cases]
    with torch.no_grad():
        together = model(model.batch_of(documents)).tolist()
        alone = [model(model.batch_of([document])).item() for document in documents]
    for case, one, other in zip(cases, together, alone, strict=True):
        assert one == pytest.approx(case["score"], abs=1e-5), case["id"]
        assert other == pytest.approx(case["score"], abs=1e-5), case["id"]


@with_goldens
@pytest.mark.parametrize("name", MODELS)
def test_a_batch_has_the_specifications_tokens(name):
    for case in golden_cases(name):
        batch = Mir.load(GOLDENS / name).batch_of([(case["query_ids"], golden_graph(case))])
        table = batch.tokens.padded(torch.stack([batch.ids, batch.positions, batch.types], dim=1))
        for row, valid, expected in zip(table, batch.tokens.valid, case["input_ids"], strict=True):
            ids, positions, types = row[valid].unbind(1)
            assert ids.tolist() == expected
            assert positions.tolist() == list(range(len(expected)))
            assert types.tolist() == [0] * (1 + len(case["query_ids"])) + [1] * (len(expected) - 1
                                                                                 - len(case["query_ids"]))


def dense_score(model: Mir, query: list[int], graph: DocumentGraph) -> torch.Tensor:
    """The specification written out for one document: passage by passage, pivots by a matrix of means, graphs by
    matrices of 0 and -inf."""
    config, weights = model.config, dict(model.named_parameters())
    heads = config["num_attention_heads"]

    def linear(name, x):
        bias = weights.get(f"{name}.bias")
        return x @ weights[f"{name}.weight"].T + (0 if bias is None else bias)

    def norm(name, x):
        return F.layer_norm(x, x.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"],
                            config["layer_norm_eps"])

    def transformer(layer, x, seen):
        q, k, v = (linear(f"{layer}attention.self.{name}", x).view(len(x), heads, -1)
                   for name in ("query", "key", "value"))
        scores = torch.einsum("ihd,jhd->hij", q, k) / q.shape[-1] ** 0.5
        scores = scores + torch.where(seen, 0.0, float("-inf"))
        mixed = torch.einsum("hij,jhd->ihd", scores.softmax(-1), v).flatten(1)
        o = norm(f"{layer}attention.output.LayerNorm", x + linear(f"{layer}attention.output.dense", mixed))
        inner = F.gelu(linear(f"{layer}intermediate.dense", o))
        return norm(f"{layer}output.LayerNorm", o + linear(f"{layer}output.dense", inner))

    tokens, places, starts, begins = [], [], [], []  # of all passages, one after another
    for passage in graph.passages:
        begins.append(len(tokens))
        tokens += [(config["psg_token_id"], 0, 0)] + [(i, 1 + j, 0) for j, i in enumerate(query)]
        place, of, before = 1 + len(query), {}, {}
        for j, piece in enumerate(passage.pieces):
            if j in passage.sentences:
                before[j] = len(tokens)
                tokens.append((config["snt_token_id"], place, 1))
                place += 1
            of[j] = len(tokens)
            tokens.append((piece, place, 1))
            place += 1
        places.append(of)
        starts.append(before)
    pivots = [[[begin] for begin in begins], [[starts[i][j]] for i, j in graph.sentences],
              [[places[i][j] for j in pieces] for i, pieces in graph.tokens]]
    means = [torch.zeros(len(of), len(tokens)) for of in pivots]
    for matrix, of in zip(means, pivots, strict=True):
        for i, rows in enumerate(of):
            matrix[i, rows] = 1 / len(rows)
    ids, positions, types = torch.tensor(tokens).T
    table = "bert.embeddings.{}_embeddings.weight"
    x = sum(weights[table.format(name)][rows] for name, rows in (("word", ids), ("position", positions),
                                                                ("token_type", types)))
    x = norm("bert.embeddings.LayerNorm", x)
    passage_of = torch.tensor([sum(begin <= i for begin in begins) for i in range(len(tokens))])
    for i in range(config["num_hidden_layers"]):
        layer = f"bert.encoder.layer.{i}."
        h = transformer(layer, x, passage_of[:, None] == passage_of[None, :])
        last = i + 1 == config["num_hidden_layers"]
        if config.get("mir_exchanges") == "last" and not last:
            x = h
            continue
        between = layer if config.get("mir_shared_layers") else f"{layer}inter."
        linked = {"none": lambda seen: torch.eye(len(seen)) > 0, "all": torch.ones_like, "graph": lambda seen: seen}
        sees = [linked[config.get("mir_links", {}).get(view, "graph")](seen)
                for view, seen in zip(VIEWS, graph.seen, strict=True)]
        g = [transformer(between, matrix @ h, seen) if len(matrix) else matrix @ h
             for matrix, seen in zip(means, sees, strict=True)]
        g = {view: states for view, states in zip(VIEWS, g, strict=True) if view in config.get("mir_views", VIEWS)}
        if not last:
            rows = list(h)
            for view, of in zip(VIEWS, pivots, strict=True):
                for state, its in zip(g.get(view, []), of, strict=False):
                    for row in its:
                        rows[row] = weights[f"{layer}combine.weight"] @ torch.cat([h[row], state])
            x = torch.stack(rows)
    found = []
    for view, states in g.items():
        part = f"aggregation.{view}."
        if not len(states):
            found.append(torch.zeros(config["hidden_size"]))
            continue
        if config.get("mir_pooling") == "max":
            found.append(states.amax(0))
            continue
        if config.get("mir_pooling") == "transformer":
            rows = torch.cat([weights[f"{part}pooling_vector"][None], states])
            for i in range(config.get("mir_pooling_layers", 2)):
                rows = transformer(f"{part}layer.{i}.", rows, torch.ones(len(rows), len(rows)) > 0)
            found.append(rows[0])
            continue
        q = (weights[f"{part}query.weight"] @ weights[f"{part}pooling_vector"]).view(heads, -1)
        k, v = (linear(f"{part}{name}", states).view(len(states), heads, q.shape[1]) for name in ("key", "value"))
        o = torch.einsum("nh,nhd->hd", (k * q).sum(2).softmax(0), v)
        found.append(weights[f"{part}output.weight"] @ o.flatten())
    return linear("classifier", weights["aggregation.combine.weight"] @ torch.cat(found))[0]


@with_goldens
@pytest.mark.parametrize("name", MODELS)
def test_gradients_equal_a_dense_formulation(name):
    model = Mir.load(GOLDENS / name).eval()
    groups = ("plain", "one_passage", "no_token_pivots", "isolated_node", "many_pieces", "passages_only", "no_query")
    cases = list({case["group"]: case for case in golden_cases(name) if case["group"] in groups}.values())
    documents = [(case["query_ids"], golden_graph(case)) for case in cases]
    factors = torch.tensor([1.0, -0.5, 0.7, 2.0, -1.0, 1.5, 0.3])[: len(documents)]
    assert len(documents) > 3
    names, parameters = zip(*model.named_parameters(), strict=True)
    scores = model(model.batch_of(documents))
    expected = torch.stack([dense_score(model, *document) for document in documents])
    torch.testing.assert_close(scores, expected, atol=1e-5, rtol=1e-5)
    gradients = [torch.autograd.grad((x * factors).sum(), parameters) for x in (scores, expected)]
    for parameter, found, wanted in zip(names, *gradients, strict=True):
        torch.testing.assert_close(found, wanted, atol=5e-5, rtol=2e-4, msg=lambda text, p=parameter: f"{p}: {text}")
        # A key's bias adds the same to all logits of a softmax.
        assert wanted.abs().max() > 1e-5 or parameter.endswith("self.key.bias"), parameter


def mir_base(folder: Path, *options: object, scale: float = 4.0) -> Path:
    """Makes a MIR from a random BERT. The new weights are enlarged, so that they matter."""
    bert = write_base(folder / "bert", hidden_dropout_prob=0.1)
    vocabulary = bert / "vocab.txt"
    lines = vocabulary.read_text(encoding="utf-8").splitlines()
    vocabulary.write_text("\n".join(["[unused0]", *lines[1:4], "[unused1]", *lines[5:]]) + "\n", encoding="utf-8")
    base = folder / "base"
    relucent("model", "init", "--from", bert, "--as", "mir", "--window", 24, "--stride", 16, "--document-length", 100,
             *options, base)
    tensors = load_file(base / "model.safetensors")
    for name in tensors:
        if name.startswith(("aggregation.", "classifier.")):
            tensors[name] *= scale
        elif ".inter." in name or ".combine." in name:
            noise = torch.randn(tensors[name].shape, generator=torch.Generator().manual_seed(7))
            tensors[name] += 0.05 * scale * noise
    save_file(tensors, base / "model.safetensors", metadata={"format": "pt"})
    return base


def write_index(folder: Path, texts: list[str]) -> Path:
    (folder / "documents.tsv").write_text("".join(f"d{i}\t{one}\n" for i, one in enumerate(texts)))
    relucent("index", "--corpus", "tsv", "--input", folder / "documents.tsv", "--index", folder / "index", "--quiet")
    return folder / "index"


def graphs_of(folder: Path, base: Path, index: Path, texts: list[str]) -> GraphFile:
    write_documents(folder / "documents.jsonl", ((f"d{i}", text) for i, text in enumerate(texts)))
    relucent("graphs", "--index", index, "--model", base, "--input", folder / "documents.jsonl", "--output",
             folder / "graphs.jsonl", "--quiet")
    key_by_text(folder / "graphs.jsonl", folder / "documents.jsonl", folder / "keyed.jsonl")
    return GraphFile(folder / "keyed.jsonl")


# Those of the paper's Tables 2 to 4 that are keys of a checkpoint.
ABLATIONS = {
    "none": [], "without p2p": ["--links", "passage=none"], "without s2s": ["--links", "sentence=none"],
    "without t2t": ["--links", "token=none"], "without links": ["--links", "passage=none,sentence=none,token=none"],
    "fully connected": ["--links", "passage=all,sentence=all,token=all"], "shared": ["--share-layers"],
    "exchange on top": ["--exchanges", "last"], "passages alone": ["--views", "passage"],
    "without passages": ["--views", "sentence,token"],
    "max pooling": ["--view-pooling", "max"], "Transformer pooling": ["--view-pooling", "transformer"],
    "several": ["--views", "passage,token", "--links", "token=all", "--exchanges", "last", "--share-layers"],
}


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_engine_scores_a_saved_model_alike(ablation, tmp_path):
    """And both a dense formulation, pair by pair."""
    base = mir_base(tmp_path, *ABLATIONS[ablation])
    generator = random.Random(1)
    documents = [sentences(generator, words) for words in (1, 5, 30, 45, 60, 90, 20)]
    documents += ["bø [SEP] ß\u0301 [unused0] [MASK] 漢字. X" * 3]
    index = write_index(tmp_path, documents)
    queries = [text(generator, 3), text(generator, 40), "ba"]
    pairs = [(queries[i % 3], document) for i, document in enumerate(documents)] + [(queries[1], documents[3])]
    model = Mir.load(base).eval()
    model.save(tmp_path / "saved", base)
    relucent("model", "check", tmp_path / "saved")
    model.graphs = graphs_of(tmp_path, base, index, documents)
    assert max(len(model.graphs.of(document).passages) for document in documents) > 3
    with torch.no_grad():
        scores = model(model.batch(PairTokenizer(base), pairs)).tolist()
    for device in ("ref", "cpu"):
        found = engine_logits(tmp_path / "saved", pairs, tmp_path, device, "--index", index)
        assert scores == pytest.approx(found, abs=1e-4, rel=0), device
    ids = PairTokenizer(base).pieces(queries)
    with torch.no_grad():
        dense = [dense_score(model, ids[query][: model.config["max_query_tokens"]], model.graphs.of(document)).item()
                 for query, document in pairs]
    assert scores == pytest.approx(dense, abs=1e-4, rel=0)
    assert len({round(score, 4) for score in scores}) == len(scores)


def test_documents_without_pieces_score_nothing(tmp_path):
    base = mir_base(tmp_path)
    model = Mir.load(base).train()
    model.graphs = graphs_of(tmp_path, base, write_index(tmp_path, ["ba be."]), ["", "\u0301", "ba be bi."])
    tokenizer = PairTokenizer(base)
    scores = model(model.batch(tokenizer, [("ba", ""), ("ba", "ba be bi."), ("ba", "\u0301")]))
    assert scores[[0, 2]].tolist() == [0, 0]
    scores.sum().backward()
    assert all(torch.isfinite(parameter.grad).all() for parameter in model.parameters())
    assert model(model.batch(tokenizer, [("ba", "")])).tolist() == [0]


def test_gradient_checkpointing_changes_nothing(tmp_path):
    base = mir_base(tmp_path)
    generator = random.Random(2)
    documents = [sentences(generator, 60), sentences(generator, 20)]
    index = write_index(tmp_path, documents)
    found = []
    for checkpointing in (False, True):
        model = Mir.load(base).train()
        model.graphs = graphs_of(tmp_path, base, index, documents)
        model.gradient_checkpointing = checkpointing
        torch.manual_seed(8)
        model(model.batch(PairTokenizer(base), [("ba be", one) for one in documents])).sum().backward()
        found.append({name: parameter.grad for name, parameter in model.named_parameters()})
    assert all(gradient is not None for gradient in found[0].values())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


@pytest.fixture
def folder(tmp_path):
    mir_base(tmp_path, scale=1.0)
    write_teacher(tmp_path)
    with open(tmp_path / "teacher.jsonl") as file:
        write_index(tmp_path, [json.loads(line)["text"] for line in file])
    return tmp_path


def recipe(folder: Path, *changes: str) -> list[str]:
    file = folder / "recipe.toml"
    file.write_text(file.read_text().replace("max_length = 60\n", "").replace('[data]\n', '[data]\nindex = "index"\n'))
    return [str(file), "model.dropout=0", "loss.kl=0", "loss.localized_contrastive=1", *changes]


def test_a_training_learns_and_ends_in_a_folder_that_the_engine_scores_alike(folder):
    arguments = recipe(folder, "training.learning_rate=3e-3")
    assert main(arguments) == 0
    out = folder / "out"
    with open(out / "training/log.csv") as file:
        rows = list(csv.DictReader(file))
    assert float(rows[-1]["loss"]) < 0.8 * float(rows[1]["loss"])
    assert [row["step"] for row in rows if row["measure"]] == ["0", "12", "24"]
    card = (out / "README.md").read_text()
    assert "A MIR for reranking" in card
    assert "passages of 24 word pieces, one per 16, of at most 100" in card
    assert float(card.split("differ from PyTorch's by at most ")[1].split()[0]) <= 1e-4
    relucent("model", "check", out)
    assert sorted(path.name for path in (out / "training").iterdir()) == ["best", "log.csv", "pairs.jsonl", "pairs.tsv",
                                                                          "run.txt"]


def test_a_training_with_weights_and_entities_is_scored_alike(folder, capsys):
    """And its checkpoint states them, so that other graphs are noticed."""
    with open(folder / "teacher.jsonl") as file:
        records = [json.loads(line) for line in file]
    documents = {record["docno"]: record["text"] for record in records}
    (folder / "weights.jsonl").write_text("".join(
        json.dumps({"id": name, "weights": {text.lower().split()[-1].strip("."): 2.5}}) + "\n"
        for name, text in list(documents.items())[::2]))
    (folder / "entities.jsonl").write_text("".join(
        json.dumps({"id": name, "entities": [{"start": 0, "end": 5, "id": "first"}]}) + "\n" for name in documents))
    (folder / "log.tsv").write_text("".join(f"{i}\t{record['query']}\n" for i, record in enumerate(records[:5])))
    shutil.rmtree(folder / "index")  # a log's queries find documents by their ids
    (folder / "documents.tsv").write_text("".join(f"{name}\t{text}\n" for name, text in documents.items()))
    relucent("index", "--corpus", "tsv", "--input", folder / "documents.tsv", "--index", folder / "index", "--quiet")
    quick = recipe(folder, "training.steps=2", "evaluation.every=0")
    logits = {}
    for name, notes in {"plain": [], "weights": ["weights", "entities"], "log": ["log"]}.items():
        files = {"weights": "weights.jsonl", "entities": "entities.jsonl", "log": "log.tsv"}
        changes = [f"data.{key}={folder / files[key]}" for key in notes]
        assert main([*quick, *changes, f"output={folder / name}"]) == 0
        logits[name] = (folder / name / "training/pairs.tsv").read_text()
        config = json.loads((folder / name / "config.json").read_text())
        assert config["graph_entities"] == ("entities" in notes)
        assert config["graph_weights"] == {"plain": "tfidf", "weights": "file", "log": "prf"}[name]
    assert len(set(logits.values())) == 3
    done = subprocess.run([program(), "rerank", "--input", folder / "weights/training/pairs.jsonl", "--output", "-",
                           "--model", folder / "weights", "--index", folder / "index", "--quiet"],
                          capture_output=True, text=True, check=True)
    assert ("the graphs have tfidf weights without entities, but the model was trained on graphs with file weights and "
            "entities") in done.stderr
    capsys.readouterr()
    both = [f"data.weights={folder / 'weights.jsonl'}", f"data.log={folder / 'log.tsv'}"]
    assert main([*quick, *both]) == 1
    assert "key data.log: has no effect" in capsys.readouterr().err


def test_a_resumed_training_keeps_its_graphs_though_the_index_has_changed(folder, monkeypatch):
    arguments = recipe(folder, "training.steps=8", "evaluation.every=0", "training.save_every=2")
    assert main(arguments) == 0
    again = [*arguments, f"output={folder / 'again'}"]
    trainer = Trainer(settings.load(Path(again[0]), again[1:]))
    train_step = trainer._train_step

    def interrupted():
        if trainer.step == 3:
            signal.raise_signal(signal.SIGTERM)
        return train_step()

    monkeypatch.setattr(trainer, "_train_step", interrupted)
    with pytest.raises(Interrupted):
        trainer.run()
    shutil.rmtree(folder / "index")
    write_index(folder, ["Ba be bi. Bo bu.", "Da ba."])
    other = [*arguments, f"output={folder / 'other'}"]
    assert main(again) == main(other) == 0
    plain, resumed, changed = ((folder / name / "model.safetensors").read_bytes() for name in ("out", "again", "other"))
    assert resumed == plain
    assert changed != plain


def test_all_losses_and_bf16_train_it(folder):
    losses = [f"loss.{name}=0.1" for name in ("margin_mse", "ranknet", "kl", "cross_entropy", "localized_contrastive",
                                              "centred_mse")]
    assert main([*recipe(folder, "training.steps=2", "evaluation.every=0", "training.bf16=true"), *losses]) == 0


@pytest.mark.parametrize(("change", "message"), [
    ("model.pattern=sparse", "key model.pattern: is for cross-encoders, and the base is a MIR"),
    ("model.max_length=60", "key model.max_length: does not apply to a MIR"),
    ("data.index=absent", "absent"),
])
def test_settings_of_other_models_are_refused_by_name(folder, change, message, capsys):
    assert main(recipe(folder, change)) == 1
    assert message in capsys.readouterr().err


def test_an_index_is_for_a_mir_alone(folder, capsys):
    assert main([str(folder / "recipe.toml"), "model.max_length=60"]) == 1
    assert "key model.max_length: does not apply to a MIR" in capsys.readouterr().err
    arguments = recipe(folder)
    assert main([*arguments, f"model.base={folder / 'bert'}"]) == 1
    assert "key data.index: has no effect: the base is a cross-encoder" in capsys.readouterr().err
    (folder / "recipe.toml").write_text((folder / "recipe.toml").read_text().replace('index = "index"\n', ""))
    assert main(arguments) == 1
    assert "key data.index: is missing: a MIR needs statistics" in capsys.readouterr().err


@pytest.mark.parametrize(("key", "value", "message"), [
    ("passage_window", 0, "key passage_window: is not an integer from 1"),
    ("passage_window", 80, "key passage_window: asks for 191 positions of 160"),
    ("psg_token_id", None, "key psg_token_id: is not an integer from 0"),
    ("snt_token_id", 5000, "key snt_token_id: is not below the vocabulary's size"),
    ("hidden_size", 48, "has shape"),
])
def test_bad_bases_are_refused_by_name(tmp_path, key, value, message):
    base = mir_base(tmp_path)
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps({**config, key: value}))
    with pytest.raises(TrainingError, match=message):
        Mir.load(base)


def test_graphs_that_cannot_be_read_to_their_end_are_named(tmp_path):
    documents = tmp_path / "documents.jsonl"
    documents.write_text('{"id": "d", "text": "ba"}\n')
    unreadable = Path("/proc/self/mem")  # opens, and its first byte cannot be read
    for graphs, texts in ((unreadable, documents), (documents, unreadable)):
        with pytest.raises(TrainingError, match="^/proc/self/mem: Input/output error"):
            key_by_text(graphs, texts, tmp_path / "keyed.jsonl")


def test_bad_graph_files_are_refused_by_name(tmp_path):
    path = tmp_path / "graphs.jsonl"
    path.write_text('{"id": 1')
    with pytest.raises(TrainingError, match="graphs.jsonl: cannot be read"):
        GraphFile(path)
    path.write_text(json.dumps({"id": name_of("ba")}) + "\n")
    with pytest.raises(TrainingError, match="graphs.jsonl: has no graph of the document 'be'"):
        GraphFile(path).of("be")
