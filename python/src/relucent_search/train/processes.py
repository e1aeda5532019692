"""The processes of a data-parallel training: one, or those that `accelerate launch` or `torchrun` started."""
from __future__ import annotations

import datetime
import os
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

from relucent_search.train.errors import TrainingError

# The others wait while the main process has the engine measure.
LONGEST_WAIT = datetime.timedelta(days=1)


class Processes:
    """Which of `count` processes this is, its device, and what all agree on."""

    def __init__(self, device: str):
        """device: auto, or what torch.device takes; of several processes each has a GPU of its own, or the CPU."""
        self.index, self.count = 0, 1
        self._state: Any = None
        cuda = torch.cuda.is_available()
        if int(os.environ.get("WORLD_SIZE", "1")) == 1:
            self.device = torch.device(("cuda" if cuda else "cpu") if device == "auto" else device)
            return
        if device not in ("auto", "cpu", "cuda"):
            raise TrainingError("key training.device", f"is {device!r}, but there are several processes",
                                "write auto: each takes a GPU of its own")
        try:
            from accelerate import PartialState
        except ImportError:
            raise TrainingError("WORLD_SIZE", "asks for several processes, which needs the package accelerate",
                                "pip install accelerate") from None
        self._state = PartialState(cpu=device == "cpu" or not cuda, timeout=LONGEST_WAIT)
        self.index, self.count = self._state.process_index, self._state.num_processes
        # A state that "cpu:0" saves cannot be loaded.
        self.device = torch.device("cpu") if self._state.device.type == "cpu" else self._state.device

    @property
    def main(self) -> bool:
        return self.index == 0

    def average(self, gradients: Iterable[Tensor], loss: float) -> float:
        """Replaces the gradients by their means over the processes; returns that of the loss."""
        if self.count == 1:
            return loss
        tensors = list(gradients)
        joined = torch.cat([tensors[0].new_tensor([loss]), *(tensor.flatten() for tensor in tensors)])
        torch.distributed.all_reduce(joined)
        joined /= self.count
        parts = joined[1:].split([tensor.numel() for tensor in tensors])
        for tensor, part in zip(tensors, parts, strict=True):
            tensor.copy_(part.view_as(tensor))
        return joined[0].item()

    def gather(self, rows: Tensor) -> Tensor:
        """The rows of all processes, which have equally many, in their order; without a graph."""
        if self.count == 1:
            return rows.detach().clone()
        found = [torch.empty_like(rows) for _ in range(self.count)]
        torch.distributed.all_gather(found, rows.detach().contiguous())
        return torch.cat(found)

    def sum(self, tensor: Tensor) -> Tensor:
        """Over the processes."""
        if self.count > 1:
            torch.distributed.all_reduce(tensor)
        return tensor

    def any(self, flag: bool) -> bool:
        """Whether `flag` is true in any process."""
        if self.count == 1:
            return flag
        flags = torch.tensor([float(flag)], device=self.device)
        torch.distributed.all_reduce(flags)
        return flags.item() > 0

    def from_main(self, value: float | None) -> float:
        """The main process's value; the others give None."""
        if self.count == 1:
            assert value is not None
            return value
        shared = torch.tensor([value or 0.0], device=self.device, dtype=torch.float64)
        torch.distributed.broadcast(shared, 0)
        return shared.item()

    def wait(self) -> None:
        if self._state is not None:
            self._state.wait_for_everyone()

    def close(self) -> None:
        """Ends the group once all processes have come here."""
        if self._state is not None:
            self.wait()
            torch.distributed.destroy_process_group()
