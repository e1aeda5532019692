"""Checkpoints of usual sizes with random weights, made and saved by transformers' own classes.

Their tokenizers are cut to a few thousand whole words, the same ones in the same order for every family, as a
vocab.txt: `relucent bench model` generates its texts from that file. So the table of word embeddings is smaller than a
published checkpoint's; everything that takes time is as large. Decoders have a byte-level BPE of these words.
"""
import dataclasses
import json
import pathlib

WORDS = 8000
NEEDED = [":", "query", "document", "relevant", "true", "false"]  # of monoT5's prompt and answers

BASE = {"hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12, "intermediate_size": 3072,
        "max_position_embeddings": 512, "initializer_range": 0.04}


CHAT = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]  # of Qwen; no text has them
LONGEST = 512     # tokens that every family reads


@dataclasses.dataclass
class Family:
    title: str
    architecture: str
    special: list[str]  # the first entries of the vocabulary
    config: dict
    shortest: int = 32  # tokens of an input with words of a document


# The weights of BERT's kind are larger than a new model's usual 0.02, so that the scores of documents differ.
FAMILIES = {
    "bert": Family("BERT base", "BertForSequenceClassification", ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], BASE),
    "electra": Family("ELECTRA base", "ElectraForSequenceClassification", ["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
                      BASE | {"embedding_size": 768}),
    "xlm-roberta": Family("XLM-RoBERTa base", "XLMRobertaForSequenceClassification",
                          ["[CLS]", "[PAD]", "[SEP]", "[UNK]"],
                          BASE | {"max_position_embeddings": 514, "type_vocab_size": 1, "layer_norm_eps": 1e-5,
                                  "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}),
    "modernbert": Family("ModernBERT base", "ModernBertForSequenceClassification",
                         ["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
                         {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 3,
                          "sep_token_id": 3, "initializer_range": 0.04}),  # the class's defaults are base
    "deberta": Family("DeBERTa-v3 base", "DebertaV2ForSequenceClassification", ["[PAD]", "[UNK]", "[CLS]", "[SEP]"],
                      BASE | {"relative_attention": True, "position_buckets": 256, "norm_rel_ebd": "layer_norm",
                              "share_att_key": True, "pos_att_type": ["p2c", "c2p"], "layer_norm_eps": 1e-7,
                              "max_relative_positions": -1, "position_biased_input": False, "type_vocab_size": 0,
                              "pooler_hidden_size": 768, "pooler_hidden_act": "gelu"}),
    "gte": Family("gte-multilingual base", "GteForSequenceClassification", ["[CLS]", "[PAD]", "[SEP]", "[UNK]"],
                  BASE | {"max_position_embeddings": 8192, "type_vocab_size": 1, "pad_token_id": 1,
                          "rope_parameters": {"rope_type": "linear", "rope_theta": 160000.0, "factor": 1.68179}}),
    "t5": Family("T5 base (monoT5)", "T5ForConditionalGeneration", ["[PAD]", "[SEP]", "[UNK]", "[CLS]"],
                 {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12, "pad_token_id": 0,
                  "eos_token_id": 1, "decoder_start_token_id": 0, "n_positions": 512}),
    "qwen3": Family("Qwen3-Reranker 0.6B", "Qwen3ForCausalLM", [],
                    {"hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
                     "head_dim": 128, "intermediate_size": 3072, "max_position_embeddings": 40960,
                     "tie_word_embeddings": True, "initializer_range": 0.04}, shortest=160),
}


def vocabulary(family: Family, source: pathlib.Path) -> list[str]:
    """The family's special tokens and whole words of the vocab.txt `source`."""
    words = [word for word in source.read_text(encoding="utf-8").splitlines()
             if len(word) >= 3 and word.isascii() and word.isalpha() and word.islower()]
    return family.special + NEEDED + [word for word in words if word not in NEEDED][:WORDS]


def byte_level_bpe(words: list[str]) -> dict:
    """Qwen's tokenizer.json: words are one token each with a space before them, and some without, as yes and no."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(256 - len(printable))]
    space = "\u0120"
    vocabulary, merges = {letter: i for i, letter in enumerate(letters)}, []
    for word in [*(space + word for word in words), *words[:200], "yes", "no"]:
        for end in range(1, len(word)):
            if word[:end + 1] not in vocabulary:
                vocabulary[word[:end + 1]] = len(vocabulary)
                merges.append([word[:end], word[end]])
    added = [{"id": len(vocabulary) + i, "content": token, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False, "special": token in CHAT}
             for i, token in enumerate([*CHAT, "<think>", "</think>"])]
    expression = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
                  r"|\s+(?!\S)|\s+")
    bytes_only = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    split = {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}
    return {"version": "1.0", "added_tokens": added, "normalizer": {"type": "NFC"},
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, bytes_only]}, "post_processor": bytes_only,
            "decoder": bytes_only, "model": {"type": "BPE", "vocab": vocabulary, "merges": merges}}


def make(name: str, source: pathlib.Path, folder: pathlib.Path, **changes):
    """Writes the checkpoint, with changes to its configuration, and returns (the model, its vocabulary)."""
    import torch
    import transformers

    family = FAMILIES[name]
    entries = vocabulary(family, source)
    cls = getattr(transformers, family.architecture)
    labels = {} if name in ("t5", "qwen3") else {"num_labels": 1}
    torch.manual_seed(1)
    if name == "qwen3":
        tokenizer = byte_level_bpe(entries)
        size = len(tokenizer["model"]["vocab"]) + len(tokenizer["added_tokens"])
        model = cls(cls.config_class(vocab_size=size, **{**family.config, **changes})).eval()
        model.save_pretrained(folder)
        (folder / "tokenizer.json").write_text(json.dumps(tokenizer), encoding="utf-8")
        (folder / "tokenizer_config.json").write_text(json.dumps({"model_max_length": LONGEST}))
        return model, entries
    model = cls(cls.config_class(vocab_size=len(entries), **labels, **{**family.config, **changes})).eval()
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("".join(entry + "\n" for entry in entries), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"do_lower_case": True}))
    return model, entries
