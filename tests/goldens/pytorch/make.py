"""Writes small pytorch_model.bin files by PyTorch itself, whole, in two parts and hostile. Run from this folder, with the
packages of requirements.txt: python make.py
"""
import json
import os
import pathlib
from collections import OrderedDict

import torch

HERE = pathlib.Path(__file__).parent


class Calls:
    def __reduce__(self):
        return os.system, ("touch called",)


def main() -> None:
    shared = torch.arange(20, dtype=torch.float32)
    tensors = OrderedDict({
        "a.weight": torch.arange(12, dtype=torch.float32).view(3, 4) / 8,
        "b.bias": torch.nn.Parameter(torch.tensor([1.5, -2.0], dtype=torch.bfloat16)),
        "c.half": torch.tensor([[0.25]], dtype=torch.float16),
        "d.ids": torch.arange(3)[None],
        "e.first": shared[:8].view(2, 4), "f.second": shared[8:],
        "g.scalar": torch.tensor(7.0, dtype=torch.float64), "h.empty": torch.zeros(0, 4)})
    tensors._metadata = OrderedDict({"": {"version": 1}})
    torch.save(tensors, HERE / "whole.bin")
    names = list(tensors)
    parts = {"pytorch_model-00001-of-00002.bin": names[:3], "pytorch_model-00002-of-00002.bin": names[3:]}
    for file, some in parts.items():
        torch.save({name: tensors[name] for name in some}, HERE / file)
    index = {"metadata": {}, "weight_map": {name: file for file, some in parts.items() for name in some}}
    (HERE / "pytorch_model.bin.index.json").write_text(json.dumps(index, indent=1) + "\n")
    torch.save({**tensors, "x": Calls()}, HERE / "calls.bin")
    torch.save({"state_dict": tensors}, HERE / "nested.bin")
    torch.save({"a": torch.zeros(3, 4).t()}, HERE / "transposed.bin")
    torch.save({"a": torch.zeros(3)}, HERE / "old.bin", _use_new_zipfile_serialization=False)
    print(torch.__version__)


if __name__ == "__main__":
    main()
