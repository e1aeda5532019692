"""What every contender is given: the checkpoint, the texts and the threads."""
import dataclasses
import json
import pathlib


@dataclasses.dataclass
class Task:
    checkpoint: pathlib.Path  # with full attention, as every library can load it
    sparse: pathlib.Path      # the same with its own attention pattern
    scratch: pathlib.Path     # for files that contenders make
    query: str
    documents: list[str]      # all equally long in word pieces
    threads: int

    def batch_sizes(self) -> list[int]:
        """Sizes to try; all divide the number of documents, so that a compiled shape fits every batch."""
        count = len(self.documents)
        return sorted({count} | {size for size in (5, 10, 25) if size < count and count % size == 0})


def dense_copy(model: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The same weights with every token attending to every other: what a plain BERT classifier computes."""
    folder.mkdir()
    for file in model.iterdir():
        if file.name != "config.json":
            (folder / file.name).symlink_to(file.resolve())
    config = json.loads((model / "config.json").read_text())
    config = {key: value for key, value in config.items()
              if not key.endswith("_attention") and key != "attention_window_size"}
    config["architectures"] = ["BertForSequenceClassification"]
    (folder / "config.json").write_text(json.dumps(config))
    return folder


class Encoded:
    """Word pieces by Hugging Face's fast tokenizer: from text to arrays of [documents, tokens]."""

    def __init__(self, task: Task):
        from transformers import AutoTokenizer

        self.task = task
        self.tokenizer = AutoTokenizer.from_pretrained(task.checkpoint)

    def __call__(self) -> dict:
        count = len(self.task.documents)
        return dict(self.tokenizer([self.task.query] * count, self.task.documents, padding=True, return_tensors="np"))


def batches(inputs: dict, size: int):
    count = len(inputs["input_ids"])
    for first in range(0, count, size):
        yield first, {name: values[first:first + size] for name, values in inputs.items()}
