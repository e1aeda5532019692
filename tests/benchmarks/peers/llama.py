"""Times Relucent's CPU backend against llama.cpp (llama-cpp-python) on a decoder of Qwen3-Reranker's smallest size with
random weights: one query's candidates, from token ids to the difference of two words' logits.

llama.cpp has the same weights as GGUF, in F32 against Relucent's fp32 and in Q8_0 against its int8. Like Relucent it
computes template and query once; then it decodes the candidates together, each as a sequence of its own. A precision is
timed only if the scores of the first two layers agree: ggml computes parts of the attention in 16 bits, and a random
model of 28 layers multiplies such differences until the scores have nothing in common.
"""
import argparse
import ctypes
import importlib.metadata
import os
import pathlib
import statistics
import tempfile
import time

import checkpoints
from compare import processor
from families import ANSWER, PROMPT, Relucent

TOLERANCE = {"fp32": 0.05, "int8": 0.25}  # of two layers, relative to the largest score
LAYERS = 2
TYPES = {"fp32": "F32", "int8": "Q8_0"}


def write_gguf(model, path: pathlib.Path, kind: str) -> None:
    import gguf
    import numpy

    config = model.config
    writer = gguf.GGUFWriter(path, "qwen3")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(4096)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    # Ids are given, so the words do not matter.
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([f"<{i}>" for i in range(config.vocab_size)])
    writer.add_token_types([gguf.TokenType.NORMAL] * config.vocab_size)
    writer.add_token_merges(["< 0"])  # at least one is needed
    names = {"input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm", "self_attn.q_proj": "attn_q",
             "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.q_norm": "attn_q_norm",
             "self_attn.k_norm": "attn_k_norm", "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate",
             "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down"}
    for name, tensor in model.state_dict().items():
        name = name.removeprefix("model.").removesuffix(".weight")
        if name == "lm_head":
            continue  # the embeddings
        if name.startswith("layers."):
            _, number, part = name.split(".", 2)
            name = f"blk.{number}.{names[part]}"
        else:
            name = {"embed_tokens": "token_embd", "norm": "output_norm"}[name]
        data = tensor.float().numpy()
        kind_of = gguf.GGMLQuantizationType[kind if data.ndim == 2 else "F32"]
        data = data.astype(numpy.float32) if kind_of.name == "F32" else gguf.quants.quantize(data, kind_of)
        writer.add_tensor(f"{name}.weight", data, raw_dtype=kind_of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


class Llama:
    def __init__(self, path: pathlib.Path, threads: int, candidates: int):
        import llama_cpp

        self.api = llama_cpp
        self.quiet = llama_cpp.llama_log_callback(lambda _level, _text, _data: None)
        llama_cpp.llama_log_set(self.quiet, ctypes.c_void_p(0))
        llama_cpp.llama_backend_init()
        of_model = llama_cpp.llama_model_default_params()
        self.model = llama_cpp.llama_model_load_from_file(str(path).encode(), of_model)
        if not self.model:
            raise SystemExit(f"llama.cpp cannot load {path}")
        of_context = llama_cpp.llama_context_default_params()
        of_context.n_ctx, of_context.n_batch, of_context.n_ubatch = 4096, 4096, 512
        of_context.n_seq_max, of_context.kv_unified = candidates, True
        of_context.type_k = of_context.type_v = llama_cpp.GGML_TYPE_F32  # as precise as the weights
        of_context.n_threads = of_context.n_threads_batch = threads
        self.context = llama_cpp.llama_init_from_model(self.model, of_context)
        self.vocabulary = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model))

    def decode(self, tokens: list[tuple[int, int, int, bool]]) -> None:
        """Tokens as (id, position, sequence, whether its logits are wanted)."""
        batch = self.api.llama_batch_init(len(tokens), 0, 1)
        batch.n_tokens = len(tokens)
        for i, (token, position, sequence, wanted) in enumerate(tokens):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0] = token, position, 1, sequence
            batch.logits[i] = wanted
        if self.api.llama_decode(self.context, batch) != 0:
            raise SystemExit("llama.cpp could not decode the batch")
        self.api.llama_batch_free(batch)

    def score(self, prefix: list[int], candidates: list[list[int]], yes: int, no: int) -> list[float]:
        memory = self.api.llama_get_memory(self.context)
        self.api.llama_memory_clear(memory, False)
        self.decode([(token, i, 0, False) for i, token in enumerate(prefix)])
        for sequence in range(1, len(candidates)):
            self.api.llama_memory_seq_cp(memory, 0, sequence, -1, -1)
        tokens, ends = [], []
        for sequence, ids in enumerate(candidates):
            tokens += [(token, len(prefix) + i, sequence, i + 1 == len(ids)) for i, token in enumerate(ids)]
            ends.append(len(tokens) - 1)
        self.decode(tokens)
        rows = [self.api.llama_get_logits_ith(self.context, end) for end in ends]
        return [row[yes] - row[no] for row in rows]


class Contenders:
    """Both with the same checkpoint and inputs."""

    def __init__(self, precision: str, options, folder: pathlib.Path, **changes):
        import tokenizers

        model, _ = checkpoints.make("qwen3", options.vocabulary, folder, **changes)
        tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.ours = Relucent(options, folder)
        self.query, self.documents = self.ours.texts(options.tokens)

        def ids(text: str) -> list[int]:
            return tokenizer.encode(text).ids

        self.prefix, self.end = ids(PROMPT.format(query=self.query)), ids(ANSWER)
        self.words = [ids(" " + document) for document in self.documents]
        self.answers = ids("yes")[0], ids("no")[0]
        write_gguf(model, folder / "model.gguf", TYPES[precision])
        self.theirs = Llama(folder / "model.gguf", options.threads, options.candidates)


    def score_theirs(self, limit: int) -> list[float]:
        """llama.cpp's scores of inputs of at most so many tokens."""
        room = limit - len(self.prefix) - len(self.end)
        return self.theirs.score(self.prefix, [ids[:room] + self.end for ids in self.words], *self.answers)


def compare(precision: str, options) -> float:
    """The largest difference of the scores of the first layers, relative to the largest score."""
    with tempfile.TemporaryDirectory() as folder:
        both = Contenders(precision, options, pathlib.Path(folder), num_hidden_layers=LAYERS)
        wanted = both.score_theirs(checkpoints.LONGEST)
        found = both.ours.scores(precision, both.query, both.documents)
        difference = max(abs(a - b) for a, b in zip(wanted, found, strict=True)) / max(map(abs, wanted))
        if not difference <= TOLERANCE[precision]:
            raise SystemExit(f"{precision}: the scores differ by {difference:g} of the largest")
        return difference


def measure(precision: str, options) -> list[float]:
    """Medians in milliseconds: llama.cpp's and Relucent's."""
    with tempfile.TemporaryDirectory() as folder:
        both = Contenders(precision, options, pathlib.Path(folder))
        both.score_theirs(options.tokens)  # to warm up
        times: tuple[list[float], list[float]] = ([], [])

        def time_theirs():
            for _ in range(options.runs):
                start = time.perf_counter()
                both.score_theirs(options.tokens)
                times[0].append(1000 * (time.perf_counter() - start))

        def time_ours():
            times[1].append(both.ours.bench(precision, options.tokens))

        for number in range(options.rounds):
            for work in (time_ours, time_theirs) if number % 2 == 0 else (time_theirs, time_ours):
                work()
        return [statistics.median(each) for each in times]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--vocabulary", type=pathlib.Path, required=True)
    parser.add_argument("--tokens", type=int, default=174, help="of an input, template and query included")
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--precisions", default="fp32,int8")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    os.environ["HF_HUB_OFFLINE"] = "1"
    print(f"{processor()}, {options.threads} threads; llama-cpp-python "
          f"{importlib.metadata.version('llama-cpp-python')}; {options.candidates} candidates, medians of "
          f"{options.rounds} rounds\n")
    print("| tokens | precision | llama.cpp ms | Relucent ms | ratio | difference of two layers |\n"
          "|---|---|---|---|---|---|")
    for precision in options.precisions.split(","):
        difference = compare(precision, options)
        of_llama, of_relucent = measure(precision, options)
        print(f"| {options.tokens} | {precision} | {of_llama:,.0f} | {of_relucent:,.0f} | "
              f"{of_llama / of_relucent:.2f} | {difference:.1e} |", flush=True)


if __name__ == "__main__":
    main()
