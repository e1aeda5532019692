"""Writes tiny embedding models with random weights and what sentence-transformers' encode_query() and
encode_document() give. Run from this folder, with the packages of requirements.txt: python make.py
"""
import gzip
import json
import pathlib
import random
import shutil

import sentence_transformers
import tokenizers
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.models import Dense, Normalize, Pooling, Transformer

HERE = pathlib.Path(__file__).parent
WORDS = [a + b + c for a in "bdfgklmnprst" for b in "aeiou" for c in ("", "n", "s")]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
VOCABULARY = [*SPECIAL, *WORDS, *(f"##{word}" for word in WORDS), ".", ",", ":", "query", "passage"]
SIZES = {"hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 72,
         "max_position_embeddings": 64}


def word_piece(folder: pathlib.Path, first: str, last: str) -> None:
    vocabulary = [{"[CLS]": first, "[SEP]": last}.get(entry, entry) for entry in VOCABULARY]
    if first == "<s>":
        vocabulary[:2] = "[UNK]", "[PAD]"  # RoBERTa's positions start behind that of the padding
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece({w: i for i, w in enumerate(vocabulary)},
                                                                 unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single=f"{first} $A {last}", pair=f"{first} $A {last} $B {last}",
        special_tokens=[(first, vocabulary.index(first)), (last, vocabulary.index(last))])
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, cls_token=first, sep_token=last,
                                         pad_token="[PAD]", unk_token="[UNK]", mask_token="[MASK]",
                                         model_max_length=60).save_pretrained(folder)


def randomized(model: torch.nn.Module) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name.lower():
                parameter.add_(torch.randn_like(parameter), alpha=0.2)
            else:
                parameter.normal_(0, 0.2)


def encoder(folder: pathlib.Path, cls: type, first: str = "[CLS]", last: str = "[SEP]", **config) -> None:
    model = cls(cls.config_class(vocab_size=len(VOCABULARY), **SIZES, **config))
    randomized(model)
    model.save_pretrained(folder)
    word_piece(folder, first, last)


def make(name: str, cls: type, modules, settings: dict, length: int | None = None, **config) -> None:
    torch.manual_seed(len(name))
    scratch, folder = HERE / "scratch", HERE / name
    shutil.rmtree(folder, ignore_errors=True)
    encoder(scratch, cls, **config)
    transformer = Transformer(str(scratch), max_seq_length=length)
    more = modules()
    for module in more:
        if isinstance(module, Dense):
            randomized(module)
    model = SentenceTransformer(modules=[transformer, *more], **settings)
    model.save(str(folder), create_model_card=False)
    shutil.rmtree(scratch)
    model = SentenceTransformer(str(folder), device="cpu").eval().double()
    generator = random.Random(1)
    with gzip.open(HERE / f"{name}.jsonl.gz", "wt") as out:
        for number in range(24):
            query = " ".join(generator.choices(WORDS, k=1 + number % 9))
            text = " ".join(generator.choice(WORDS) + generator.choice(["", "", ".", ","])
                            for _ in range(1 + 5 * (number % 17)))
            vectors = {"query_vector": model.encode_query(query), "document_vector": model.encode_document(text)}
            score = model.similarity(vectors["query_vector"], vectors["document_vector"]).item()
            line = {"query": query, "text": text, "score": score}
            line |= {key: [round(float(x), 9) for x in vector] for key, vector in vectors.items()}
            out.write(json.dumps(line) + "\n")


def main() -> None:
    make("bert-mean", transformers.BertModel, lambda: [Pooling(32, "mean"), Normalize()], {}, layer_norm_eps=1e-12)
    make("bert-cls-dot", transformers.BertModel, lambda: [Pooling(32, "cls")], {
        "similarity_fn_name": "dot", "prompts": {"query": "query: ", "passage": "passage: "}}, length=40)
    make("roberta-dense", transformers.RobertaModel, lambda: [
        Pooling(32, "mean"), Dense(32, 24, activation_function=torch.nn.Tanh())], {
            "prompts": {"any": "query: "}, "default_prompt_name": "any"},
        first="<s>", last="</s>", pad_token_id=1, type_vocab_size=1)
    make("modernbert-cls", transformers.ModernBertModel, lambda: [Pooling(32, "cls"), Normalize()], {},
         local_attention=12, pad_token_id=0, bos_token_id=2, cls_token_id=2, eos_token_id=3, sep_token_id=3)
    print(sentence_transformers.__version__, transformers.__version__, torch.__version__)


if __name__ == "__main__":
    main()
