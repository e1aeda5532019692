"""Tables 2, 4 and 6 of MixEncoder's paper as one run: the time per query of 1,000 stored candidates, the speed-up over
a cross-encoder, and the bytes kept per candidate, for Cross-BERT, Dual-BERT, Deformer, Poly-Encoders, ColBERT and
MixEncoders.

python tests/benchmarks/mixencoder_tables.py [--layers 12 --hidden 768] [--candidates 1000] [--rounds 3]

The models have random weights, which cost what trained ones do; effectiveness is that of an experiment. Needs numpy and
safetensors. The rounds go through the models in both orders; printed is the median. VIRT is not computed.
"""
import argparse
import json
import pathlib
import shutil
import statistics
import subprocess
import tempfile

import numpy as np
from safetensors.numpy import load_file, save_file

ROOT = pathlib.Path(__file__).parents[2]
BUNDLED = ROOT / "model/relucent-minilm-l6-w4"
MIX = {"MixEncoder-a": [], "MixEncoder-b": ["--layers", "{2},{1},{0}"], "MixEncoder-c":
       ["--layers", "{2},{1},{0}", "--vectors", "2"],
       **{f"MixEncoder k={k}": ["--vectors", str(k)] for k in (2, 3, 4, 10)}}


def write_bert(folder: pathlib.Path, layers: int, hidden: int) -> None:
    """A cross-encoder with random weights and the bundled model's tokenizer."""
    folder.mkdir()
    for name in ("vocab.txt", "tokenizer_config.json"):
        shutil.copy(BUNDLED / name, folder)
    vocabulary = sum(1 for _ in open(folder / "vocab.txt", encoding="utf-8"))
    config = {"architectures": ["BertForSequenceClassification"], "model_type": "bert", "vocab_size": vocabulary,
              "hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": hidden // 64,
              "intermediate_size": 4 * hidden, "max_position_embeddings": 512, "type_vocab_size": 2,
              "hidden_act": "gelu", "layer_norm_eps": 1e-12, "pad_token_id": 0, "id2label": {"0": "LABEL_0"}}
    (folder / "config.json").write_text(json.dumps(config))
    generator = np.random.default_rng(1)
    tensors = {}

    def linear(name: str, outputs: int, inputs: int) -> None:
        tensors[name + ".weight"] = (generator.standard_normal((outputs, inputs)) * 0.02).astype(np.float32)
        tensors[name + ".bias"] = np.zeros(outputs, np.float32)

    def norm(name: str) -> None:
        tensors[name + ".weight"], tensors[name + ".bias"] = np.ones(hidden, np.float32), np.zeros(hidden, np.float32)

    for table, rows in (("word", vocabulary), ("position", 512), ("token_type", 2)):
        linear(f"bert.embeddings.{table}_embeddings", rows, hidden)
        del tensors[f"bert.embeddings.{table}_embeddings.bias"]
    norm("bert.embeddings.LayerNorm")
    for i in range(layers):
        layer = f"bert.encoder.layer.{i}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            linear(layer + "attention." + part, hidden, hidden)
        linear(layer + "intermediate.dense", 4 * hidden, hidden)
        linear(layer + "output.dense", hidden, 4 * hidden)
        norm(layer + "attention.output.LayerNorm")
        norm(layer + "output.LayerNorm")
    linear("bert.pooler.dense", hidden, hidden)
    linear("classifier", 1, hidden)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


def write_dual(bert: pathlib.Path, folder: pathlib.Path, hidden: int) -> None:
    """The same encoder as an embedding model of sentence-transformers: mean pooling, cosine."""
    shutil.copytree(bert, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["BertModel"]}))
    modules = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]
    (folder / "modules.json").write_text(json.dumps(
        [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
         for i, (path, kind) in enumerate(modules)]))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 180, "do_lower_case": False}))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps(
        {"word_embedding_dimension": hidden, "pooling_mode_mean_tokens": True}))


def write_colbert(bert: pathlib.Path, folder: pathlib.Path, hidden: int) -> None:
    """The same encoder as a ColBERT of colbert-ai: 128 numbers per token."""
    shutil.copytree(bert, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": ["HF_ColBERT"]}))
    tensors = {name: tensor for name, tensor in load_file(folder / "model.safetensors").items()
               if not name.startswith(("bert.pooler", "classifier"))}
    tensors["linear.weight"] = (np.random.default_rng(2).standard_normal((128, hidden)) * 0.02).astype(np.float32)
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    settings = {"query_token_id": "[unused0]", "doc_token_id": "[unused1]", "query_maxlen": 32, "doc_maxlen": 180,
                "dim": 128, "similarity": "cosine", "mask_punctuation": True, "attend_to_mask_tokens": False}
    (folder / "artifact.metadata").write_text(json.dumps(settings))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--cross-candidates", type=int, default=20,
                        help="that the cross-encoder's time is measured on; Deformer's: five times as many")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--relucent", default="relucent")
    parsed = parser.parse_args()

    def relucent(*arguments: object) -> str:
        command = [parsed.relucent, *map(str, arguments)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout

    def measured(*arguments: object) -> list[dict]:
        return json.loads(relucent("bench", *arguments, "--precision", parsed.precision, "--runs", 3, "--json"))

    with tempfile.TemporaryDirectory() as temporary:
        work = pathlib.Path(temporary)
        bert = work / "bert"
        write_bert(bert, parsed.layers, parsed.hidden)
        write_dual(bert, work / "Dual-BERT", parsed.hidden)
        write_colbert(bert, work / "ColBERT", parsed.hidden)
        for codes in (64, 360):
            relucent("model", "init", "--from", bert, "--as", "polyencoder", "--codes", codes,
                     work / f"Poly-Encoder {codes}")
        relucent("model", "init", "--from", bert, "--as", "deformer", work / "Deformer")
        last = parsed.layers - 1
        for name, options in MIX.items():
            chosen = [option.format(last, last - 1, last - 2) for option in options]
            relucent("model", "init", "--from", bert, "--as", "mixencoder", *chosen, work / name)

        def cross() -> tuple[float, float]:
            entries = measured("mixencoder", "--model", work / "MixEncoder-a", "--cross-encoder", bert, "--candidates",
                               parsed.candidates, "--cross-candidates", parsed.cross_candidates, "--stored", 0,
                               "--texts", 1)
            of = next(entry for entry in entries if entry["name"].startswith("cross"))
            return of["median_ms"] * parsed.candidates / parsed.cross_candidates, 0.0

        def mix(name: str) -> tuple[float, float]:
            entries = measured("mixencoder", "--model", work / name, "--candidates", parsed.candidates, "--stored", 0,
                               "--texts", 1)
            return entries[-1]["median_ms"], entries[0]["bytes_per_text"] / 2

        def late(name: str, candidates: int = parsed.candidates) -> tuple[float, float]:
            entries = measured("late-interaction", "--model", work / name, "--candidates", candidates, "--texts", 1)
            of = next(entry for entry in entries if f" fp16 {candidates}" in entry["name"])
            return of["median_ms"] * parsed.candidates / candidates, of["bytes_per_document"]

        contenders = {"Cross-BERT": cross, "Deformer": lambda: late("Deformer", 5 * parsed.cross_candidates)}
        for name in ("Dual-BERT", "Poly-Encoder 64", "Poly-Encoder 360", "ColBERT"):
            contenders[name] = lambda name=name: late(name)
        for name in MIX:
            contenders[name] = lambda name=name: mix(name)
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
        for number in range(parsed.rounds):
            order = list(contenders) if number % 2 == 0 else list(contenders)[::-1]
            for name in order:
                found[name].append(contenders[name]())
    usual = statistics.median(time for time, _ in found["Cross-BERT"])
    print(f"| {parsed.layers} x {parsed.hidden}, {parsed.precision} | ms per query of {parsed.candidates} candidates | "
          "speed-up | bytes per candidate (fp16) |\n|---|---|---|---|")
    for name, figures in found.items():
        time = statistics.median(time for time, _ in figures)
        kept = f"{figures[0][1]:,.0f}" if figures[0][1] else ""
        print(f"| {name} | {time:,.1f} | {usual / time:,.1f} | {kept} |")


if __name__ == "__main__":
    main()
