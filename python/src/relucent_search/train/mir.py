"""A MIR (docs/mir.md) that computes what the engine computes."""
from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from relucent_search.train import pooling
from relucent_search.train.batch import Table
from relucent_search.train.bert import Bert, bert_layer
from relucent_search.train.errors import TrainingError, naming, writing
from relucent_search.train.families import read_config
from relucent_search.train.texts import attend
from relucent_search.train.tokenizer import PairTokenizer

VIEWS = ("passage", "sentence", "token")
LINKS = ("graph", "none", "all")  # what pivots of a view see of each other
POOLINGS = ("attention", "max", "transformer")
USUAL = {"passage_window": 128, "passage_stride": 96, "max_document_tokens": 2048, "max_query_tokens": 30}
LEAST = {"passage_window": 1, "passage_stride": 1, "max_document_tokens": 1, "max_query_tokens": 0, "psg_token_id": 0,
         "snt_token_id": 0}


@dataclasses.dataclass
class Passage:
    pieces: list[int]  # ids
    sentences: list[int]  # before which pieces a sentence's token stands


@dataclasses.dataclass
class DocumentGraph:
    """A document's passages and pivots. Places are pieces of the passage."""

    passages: list[Passage]  # each is a pivot
    sentences: list[tuple[int, int]]  # pivots: the passage, and the piece that the sentence's token stands before
    tokens: list[tuple[int, list[int]]]  # pivots: the passage, and their pieces
    seen: tuple[Tensor, Tensor, Tensor]  # [n, n] of each view: whether pivot i sees pivot j

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> DocumentGraph:
        """record: a line of `relucent graphs --output`."""
        passages = [Passage(record["pieces"][begin:end], starts) for begin, end, starts in record["passages"]]
        sentences = [(passage, piece) for passage, piece in record["sentences"]]
        tokens = [(passage, list(range(first, first + size))) for passage, first, size, _ in record["tokens"]]
        keys = torch.tensor([key for *_, key in record["tokens"]])
        return cls(passages, sentences, tokens,
                   (_linked(len(passages), record["passage_links"]), _linked(len(sentences), record["sentence_links"]),
                    keys[:, None] == keys[None, :]))


    def with_links(self, links: Mapping[str, str]) -> DocumentGraph:
        """The same with other links, and without the pivots of views that `links` does not name."""
        def changed(view: str, seen: Tensor) -> Tensor:
            if view not in links:
                return seen[:0, :0]
            return {"graph": seen, "none": torch.eye(len(seen), dtype=torch.bool),
                    "all": torch.ones_like(seen)}[links[view]]

        passages, sentences, tokens = map(changed, VIEWS, self.seen)
        return DocumentGraph(self.passages, self.sentences[: len(sentences)], self.tokens[: len(tokens)],
                             (passages, sentences, tokens))


def _linked(nodes: int, pairs: Sequence[Sequence[int]]) -> Tensor:
    seen = torch.eye(nodes, dtype=torch.bool)
    i, j = torch.tensor(pairs, dtype=torch.long).view(-1, 2).unbind(1)
    seen[i, j] = seen[j, i] = True
    return seen


def name_of(text: str) -> str:
    """The key by which a text's graph is found."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def write_documents(path: Path, documents: Iterable[tuple[str, str]]) -> None:
    """Writes (id, text), each text once, for `relucent graphs --input`."""
    written: set[str] = set()
    with writing(path), open(path, "w", encoding="utf-8") as file:
        for document, text in documents:
            name = name_of(text)
            if name not in written:
                file.write(json.dumps({"id": document, "text": text}) + "\n")
                written.add(name)


def _lines(path: Path) -> Iterator[str]:
    with naming(path), open(path, encoding="utf-8") as file:
        yield from file


def key_by_text(graphs: Path, documents: Path, output: Path) -> None:
    """Writes the graphs of write_documents(), in the same order, for GraphFile."""
    unfinished = output.with_name(output.name + ".unfinished")
    with writing(unfinished), open(unfinished, "w", encoding="utf-8") as file:
        for graph, document in zip(_lines(graphs), _lines(documents), strict=True):
            file.write(json.dumps({**json.loads(graph), "id": name_of(json.loads(document)["text"])}) + "\n")
    unfinished.replace(output)


class GraphFile:
    """Graphs by the text, as key_by_text() writes them. Only their places in the file are in memory."""

    def __init__(self, path: Path):
        """Raises TrainingError."""
        self.path = path
        self._places: dict[str, int] = {}
        try:
            with open(path, "rb") as file:
                place = 0
                for line in file:
                    self._places[json.loads(line)["id"]] = place
                    place += len(line)
            self._file = open(path, "rb")  # noqa: SIM115
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TrainingError(path, f"cannot be read ({error})", "remove it and start again") from None

    def of(self, text: str) -> DocumentGraph:
        place = self._places.get(name_of(text))
        if place is None:
            raise TrainingError(self.path, f"has no graph of the document {text[:40]!r}", "remove it and start again")
        with naming(self.path):
            self._file.seek(place)
            return DocumentGraph.of(json.loads(self._file.readline()))


@dataclasses.dataclass
class MirBatch:
    """The tokens of all passages of D documents as rows: first the K tokens of pivots, then the others. The N pivots
    are those of all passages, then of all sentences, then of all tokens, each document by document."""

    ids: Tensor  # [T]
    types: Tensor  # [T]
    positions: Tensor  # [T]
    tokens: Table  # [passages, L]
    pivot_tokens: Table  # [passages, ...]: the first K rows alone
    pivot_of: Tensor  # [K]
    share: Tensor  # [K]: of the token in its pivot's mean
    pivots: list[Table]  # of each view: [D, n]
    seen: list[Tensor]  # of each view: [D, n, n]; pivots that fill up a table see themselves

    def to(self, device: torch.device) -> MirBatch:
        def moved(value: Any) -> Any:
            return [one.to(device) for one in value] if isinstance(value, list) else value.to(device)

        return MirBatch(*(moved(getattr(self, field.name)) for field in dataclasses.fields(self)))

    @classmethod
    def of(cls, documents: Sequence[tuple[Sequence[int], DocumentGraph]], psg: int, snt: int) -> MirBatch:
        """documents: each with its query's ids."""
        ids: list[list[int]] = []  # of each passage
        types: list[int] = []
        rows: list[list[list[int]]] = [[], [], []]  # of each view's pivots: (passage, place) of their tokens
        for query, graph in documents:
            first = len(ids)
            front = 1 + len(query)
            places = []  # of each passage's pieces
            for passage in graph.passages:
                starts = set(passage.sentences)
                before = itertools.accumulate(int(piece in starts) for piece in range(len(passage.pieces)))
                places.append([front + piece + count for piece, count in enumerate(before)])
                inside = [[snt, piece] if i in starts else [piece] for i, piece in enumerate(passage.pieces)]
                ids.append([psg, *query, *itertools.chain.from_iterable(inside)])
                types += [0] * front + [1] * (len(ids[-1]) - front)
            rows[0] += [[(first + i, 0)] for i in range(len(graph.seen[0]))]
            rows[1] += [[(first + i, places[i][piece] - 1)] for i, piece in graph.sentences]
            rows[2] += [[(first + i, places[i][piece]) for piece in pieces] for i, pieces in graph.tokens]
        pivots = list(itertools.chain.from_iterable(rows))
        tokens = Table.of([len(passage) for passage in ids])
        sizes = torch.tensor([len(passage) for passage in ids], dtype=torch.long)
        begins = (sizes.cumsum(0) - sizes).tolist()
        in_front = torch.tensor([begins[passage] + place for pivot in pivots for passage, place in pivot],
                                dtype=torch.long)
        behind = torch.ones(len(types), dtype=torch.bool)
        behind[in_front] = False
        order = torch.cat([in_front, behind.nonzero().squeeze(1)])
        flat = torch.tensor(list(itertools.chain.from_iterable(ids)), dtype=torch.long)
        slots = tokens.slots[order]
        width = tokens.valid.shape[1]
        tables = [Table.of([len(graph.seen[view]) for _, graph in documents]) for view in range(len(VIEWS))]
        seen = []
        for view, table in enumerate(tables):
            mask = torch.eye(table.valid.shape[1], dtype=torch.bool).repeat(len(documents), 1, 1)
            for i, (_, graph) in enumerate(documents):
                count = len(graph.seen[view])
                mask[i, :count, :count] = graph.seen[view]
            seen.append(mask)
        return cls(flat[order], torch.tensor(types, dtype=torch.long)[order],
                   slots.remainder(max(1, width)), Table(slots, tokens.valid),
                   _table_by_passage([passage for pivot in pivots for passage, _ in pivot], len(ids)),
                   torch.tensor([i for i, pivot in enumerate(pivots) for _ in pivot], dtype=torch.long),
                   torch.tensor([1 / len(pivot) for pivot in pivots for _ in pivot]), tables, seen)

    def attention(self, query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
        """Each token sees its whole passage. query: [T, hidden], or the pivots' tokens alone."""
        table = self.tokens if len(query) == len(key) else self.pivot_tokens
        return table.rows(attend(table.padded(query), self.tokens.padded(key), self.tokens.padded(value),
                                 self.tokens.valid[:, None, :], heads))

    def exchange(self, query: Tensor, key: Tensor, value: Tensor, heads: int) -> Tensor:
        """Each pivot sees those of its document that its graph names."""
        mixed = [table.rows(attend(*(table.padded(x) for x in parts), seen, heads))
                 for table, seen, *parts in zip(self.pivots, self.seen, *map(self.by_view, (query, key, value)),
                                                strict=True)]
        return torch.cat(mixed)

    def by_view(self, rows: Tensor) -> tuple[Tensor, ...]:
        return rows.split([len(table.slots) for table in self.pivots])

    def means(self, states: Tensor) -> Tensor:
        """[T or K, hidden] -> [N, hidden], of the pivots' tokens."""
        pivots = sum(len(table.slots) for table in self.pivots)
        own = states[: len(self.pivot_of)] * self.share[:, None]
        return own.new_zeros(pivots, own.shape[1]).index_add(0, self.pivot_of, own)


def _table_by_passage(passage_of: Sequence[int], passages: int) -> Table:
    """The table for rows in any order."""
    counts = [0] * passages
    places = []
    for passage in passage_of:
        places.append(counts[passage])
        counts[passage] += 1
    table = Table.of(counts)
    slots = torch.tensor(passage_of, dtype=torch.long) * table.valid.shape[1] + torch.tensor(places, dtype=torch.long)
    return Table(slots, table.valid)


class Mir(Bert):
    """Scores of documents by their passages, whose pivots exchange information after every layer."""

    kind = "MIR"
    score = "the raw logit"
    longer = "`relucent model init --as mir` makes a base that reads more"
    usual_length = None
    needs_graphs = True

    def __init__(self, config: dict[str, Any]):
        super().__init__(config)
        hidden = config["hidden_size"]
        layers = self.body["encoder"]["layer"]
        self.views = [view for view in VIEWS if view in config.get("mir_views", VIEWS)]
        self.exchanges_often = config.get("mir_exchanges", "every") == "every"
        self.shares_layers = config.get("mir_shared_layers", False)
        for layer in [] if self.shares_layers else layers if self.exchanges_often else layers[-1:]:
            layer["inter"] = bert_layer(config)
        for layer in layers[:-1] if self.exchanges_often else []:
            layer["combine"] = nn.Linear(2 * hidden, hidden, bias=False)
        poolings = {"attention": lambda: _Pooling(hidden), "max": nn.ModuleDict,
                    "transformer": lambda: _LayersPooling(config)}
        self.pooling = config.get("mir_pooling", "attention")
        self.aggregation = nn.ModuleDict({view: poolings[self.pooling]() for view in self.views})
        self.aggregation["combine"] = nn.Linear(len(self.views) * hidden, hidden, bias=False)
        self.classifier = nn.Linear(hidden, 1, bias=False)
        self._initialise()
        self.graphs: GraphFile | None = None

    @classmethod
    def load(cls, folder: Path) -> Mir:
        """Raises TrainingError."""
        config = {**USUAL, **read_config(folder)}
        _check(folder / "config.json", config)
        return cls(config)._read(folder)

    def batch(self, tokenizer: PairTokenizer, pairs: Sequence[tuple[str, str]], _max_length: int = 0) -> MirBatch:
        """For documents in `graphs`, which also state how far they are read."""
        assert self.graphs is not None
        ids = tokenizer.pieces(query for query, _ in pairs)
        graphs = {document: self.graphs.of(document) for document in dict.fromkeys(document for _, document in pairs)}
        return self.batch_of([(ids[query][: self.config["max_query_tokens"]], graphs[document])
                              for query, document in pairs])

    def batch_of(self, documents: Sequence[tuple[Sequence[int], DocumentGraph]]) -> MirBatch:
        """documents: each with its query's ids, without special tokens."""
        links = {view: self.config.get("mir_links", {}).get(view, "graph") for view in self.views}
        return MirBatch.of([(query, graph.with_links(links)) for query, graph in documents],
                           self.config["psg_token_id"], self.config["snt_token_id"])

    def engine_length(self, _tokenizer: PairTokenizer) -> int:
        """Word pieces of a document that the engine reads."""
        return self.config["max_document_tokens"]

    def forward(self, batch: MirBatch) -> Tensor:
        """[D] logits, fp32; 0 for documents without passages, which the engine does not score."""
        count = len(batch.pivot_of)
        states = self._embedded(self.body["embeddings"]["word_embeddings"](batch.ids), batch.positions, batch.types)
        layers = self.body["encoder"]["layer"]
        for i, layer in enumerate(layers):
            last = i + 1 == len(layers)
            states = self._layer(layer, states, count if last else len(states), batch.attention)
            if not last and not self.exchanges_often:
                continue
            pivots = batch.means(states)
            between = layer if self.shares_layers else layer["inter"]
            pivots = self._layer(between, pivots, len(pivots), batch.exchange)
            if not last:
                own = layer["combine"](torch.cat([states[:count], pivots.index_select(0, batch.pivot_of)], dim=1))
                states = torch.cat([own, states[count:]])
        views = [self._pooled(view, table.padded(rows), table.valid)
                 for view, table, rows in zip(VIEWS, batch.pivots, batch.by_view(pivots), strict=True)
                 if view in self.views]
        return self.classifier(self.aggregation["combine"](torch.cat(views, dim=1))).squeeze(1).float()

    def _pooled(self, view: str, states: Tensor, valid: Tensor) -> Tensor:
        """[D, n, hidden], [D, n] -> [D, hidden]"""
        of_view = self.aggregation[view]
        if self.pooling == "max":
            return pooling.maximum(states, valid)
        if self.pooling == "transformer":
            return pooling.through_layers(
                states, valid, of_view.pooling_vector, None, of_view.layer,
                lambda layer, x, attention: self._layer(layer, x, len(x), attention))
        return of_view(states, valid, self.config["num_attention_heads"])

    def _config_to_save(self) -> dict[str, Any]:
        return {"architectures": ["MirForSequenceClassification"]}

    def __str__(self) -> str:
        config = self.config
        return (f"passages of {config['passage_window']} word pieces, one per {config['passage_stride']}, of at most "
                f"{config['max_document_tokens']}")


class _Pooling(nn.Module):
    """Weighs the pivots of a view by what a vector of its own finds in them."""

    def __init__(self, hidden: int):
        super().__init__()
        self.pooling_vector = nn.Parameter(torch.zeros(hidden))
        self.query, self.key, self.value, self.output = (nn.Linear(hidden, hidden, bias=False) for _ in range(4))

    def forward(self, states: Tensor, valid: Tensor, heads: int) -> Tensor:
        """[D, n, hidden], [D, n] -> [D, hidden]; 0 for a document without such pivots."""
        query = self.query(self.pooling_vector).view(heads, -1)
        keys, values = (layer(states).unflatten(2, (heads, -1)) for layer in (self.key, self.value))
        likeness = (keys * query).sum(3, keepdim=True)  # not scaled
        valid = valid[:, :, None, None]
        weights = likeness.masked_fill(~valid, torch.finfo(likeness.dtype).min).softmax(1) * valid
        return self.output((weights.to(values.dtype) * values).sum(1).flatten(1))


class _LayersPooling(nn.Module):
    """What pooling.through_layers() computes of the pivots of a view."""

    def __init__(self, config: dict[str, Any]):
        super().__init__()
        self.pooling_vector = nn.Parameter(torch.zeros(config["hidden_size"]))
        self.layer = nn.ModuleList(bert_layer(config) for _ in range(config.get("mir_pooling_layers", 2)))


def _check(path: Path, config: dict[str, Any]) -> None:
    def require(condition: bool, key: str, problem: str) -> None:
        if not condition:
            raise TrainingError(f"{path}, key {key}", problem, "`relucent model init --as mir` makes such folders")

    if config.get("model_type") != "mir":
        raise TrainingError(f"{path}, key model_type", "is not mir")
    for key, least in LEAST.items():
        require(isinstance(config.get(key), int) and config[key] >= least, key, f"is not an integer from {least}")
    for key in ("psg_token_id", "snt_token_id"):
        require(config[key] < config["vocab_size"], key, f"is not below the vocabulary's size, {config['vocab_size']}")
    views, links = config.get("mir_views", list(VIEWS)), config.get("mir_links", {})
    require(isinstance(views, list) and bool(views) and len(set(views)) == len(views) and set(views) <= set(VIEWS),
            "mir_views", f"is not a list of {', '.join(VIEWS)}")
    require(isinstance(links, dict) and set(links) <= set(views) and set(links.values()) <= set(LINKS), "mir_links",
            f"does not map views to {', '.join(LINKS)}")
    require(config.get("mir_exchanges", "every") in ("every", "last"), "mir_exchanges", "is neither every nor last")
    require(config.get("mir_pooling", "attention") in POOLINGS, "mir_pooling", f"is none of {', '.join(POOLINGS)}")
    layers = config.get("mir_pooling_layers", 2)
    require(isinstance(layers, int) and layers >= 1, "mir_pooling_layers", "is not an integer from 1")
    require(config.get("mir_graph_encoder", "transformer") == "transformer", "mir_graph_encoder", "is not transformer")
    require(isinstance(config.get("mir_shared_layers", False), bool), "mir_shared_layers", "is neither true nor false")
    positions = 1 + config["max_query_tokens"] + 2 * config["passage_window"]
    require(positions <= config["max_position_embeddings"], "passage_window",
            f"asks for {positions} positions of {config['max_position_embeddings']}")
