"""Files too large for memory: lines are found by their places in the file, and read when they are needed."""
from __future__ import annotations

import contextlib
import itertools
import time
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

import torch

from relucent_search.train.errors import TrainingError, naming

STEP = 16  # lines per kept place
BYTES_AT_ONCE = 1 << 24
SECONDS = 10  # between two lines of progress


def open_plain(path: Path) -> BinaryIO:
    """Raises TrainingError, also for a compressed file."""
    if path.suffix == ".gz":
        raise TrainingError(path, "is compressed, and its lines are read in any order", "unpack it with gzip -d")
    try:
        return open(path, "rb")
    except OSError as error:
        raise TrainingError(path, error.strerror or str(error), "check the path") from None


def decoded(place: str, line: bytes) -> str:
    try:
        return line.rstrip(b"\r\n").decode("utf-8")
    except UnicodeDecodeError as error:
        raise TrainingError(place, f"is not UTF-8 ({error.reason})", "convert it") from None


class LineFile:
    """The lines of a file that are not empty, by number from 0: a few bits of memory per line."""

    def __init__(self, path: Path, are_sound: Callable[[list[str]], bool], check: Callable[[str, str], object],
                 say: Callable[[str], None] = lambda _: None):
        """are_sound: of many lines at once. If they are not, check() gets "file, line N" and each of them, and raises
        TrainingError. say: gets the progress every ten seconds."""
        self.path = path
        self.checksum = 0  # crc32 of the whole file
        self._places = array("q")  # of each STEP-th line: where it begins
        self._numbers = array("q")  # and its number in the file
        self._size = 0
        self._file = open_plain(path)
        begin, number, spoken = 0, 1, time.monotonic()
        while lines := self._next_lines():
            self.checksum = zlib.crc32(b"".join(lines), self.checksum)
            begins = list(itertools.accumulate(map(len, lines), initial=begin))
            kept = [i for i, line in enumerate(lines) if not line.isspace()]
            self._check([lines[i] for i in kept], [number + i for i in kept], are_sound, check)
            first = -self._size % STEP
            self._places.extend(begins[i] for i in kept[first::STEP])
            self._numbers.extend(number + i for i in kept[first::STEP])
            self._size += len(kept)
            begin = begins[-1]
            number += len(lines)
            if time.monotonic() - spoken > SECONDS:
                spoken = time.monotonic()
                say(f"has checked {self._size:,} lines of {path}, {begin / path.stat().st_size:.0%}")

    def _next_lines(self) -> list[bytes]:
        with naming(self.path):
            return self._file.readlines(BYTES_AT_ONCE)

    def _check(self, lines: list[bytes], numbers: list[int], are_sound: Callable[[list[str]], bool],
               check: Callable[[str, str], object]) -> None:
        with contextlib.suppress(UnicodeDecodeError):
            if are_sound([line.decode("utf-8") for line in lines]):
                return
        for number, line in zip(numbers, lines, strict=True):
            place = f"{self.path}, line {number}"
            check(place, decoded(place, line))

    def __len__(self) -> int:
        return self._size

    def line(self, number: int) -> tuple[str, str]:
        """("file, line N", line)"""
        if not 0 <= number < self._size:
            raise IndexError(number)
        block, left = divmod(number, STEP)
        at = self._numbers[block]
        with naming(self.path):
            self._file.seek(self._places[block])
            for line in self._file:
                if not line.isspace():
                    if left == 0:
                        place = f"{self.path}, line {at}"
                        return place, decoded(place, line)
                    left -= 1
                at += 1
        raise TrainingError(self.path, "has become shorter while it was read", "start again with the whole file")


def _sorted_together(keys: array[int], values: array[int]) -> tuple[array[int], array[int]]:
    """Both in the order of the keys; equal keys as they were."""
    if not keys:
        return keys, values
    of_keys, of_values = (torch.frombuffer(of, dtype=torch.int64) for of in (keys, values))
    ordered, order = torch.sort(of_keys, stable=True)
    of_keys.copy_(ordered)
    of_values.copy_(of_values[order])
    return keys, values


class TextFile(Mapping[str, str]):
    """The texts of a file by id: 16 bytes of memory per text. Ids that occur again: the last one."""

    def __init__(self, path: Path, parse: Callable[[str, str], tuple[str, str]]):
        """parse: gets "file, line N" and a line, and returns id and text."""
        self.path, self._parse = path, parse
        self.checksum = 0
        hashes, places = array("q"), array("q")
        self._file = open_plain(path)
        begin = 0
        with naming(path):
            for number, line in enumerate(self._file, 1):
                self.checksum = zlib.crc32(line, self.checksum)
                if not line.isspace():
                    place = f"{path}, line {number}"
                    hashes.append(hash(parse(place, decoded(place, line))[0]))
                    places.append(begin)
                begin += len(line)
        self._hashes, self._places = _sorted_together(hashes, places)

    def __len__(self) -> int:
        return len(self._hashes)

    def __iter__(self) -> Iterator[str]:
        return (self._read(place)[0] for place in self._places)

    def _read(self, place: int) -> tuple[str, str]:
        name = f"{self.path}, byte {place}"
        with naming(self.path):
            self._file.seek(place)
            line = self._file.readline()
        return self._parse(name, decoded(name, line))

    def _found(self, key: str) -> Iterator[int]:
        """Indices of the lines whose id has the key's hash."""
        wanted = hash(key)
        at = bisect_left(self._hashes, wanted)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            yield at
            at += 1

    def __contains__(self, key: object) -> bool:
        """Without reading the file: a wrong answer has a chance of 2^-64 per text."""
        wanted = hash(key)
        at = bisect_left(self._hashes, wanted)
        return at < len(self._hashes) and self._hashes[at] == wanted

    def has_all(self, keys: Iterable[str]) -> bool:
        """The same for many keys, quickly."""
        wanted = torch.tensor(list(map(hash, keys)), dtype=torch.int64)
        if not self._hashes:
            return not len(wanted)
        known = torch.frombuffer(self._hashes, dtype=torch.int64)
        at = torch.searchsorted(known, wanted).clamp_(max=len(known) - 1)
        return bool((known[at] == wanted).all())

    def __getitem__(self, key: str) -> str:
        for at in reversed(list(self._found(key))):
            identifier, text = self._read(self._places[at])
            if identifier == key:
                return text
        raise KeyError(key)
