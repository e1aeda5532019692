"""Profiles and settings as the library reads them (docs/configuration.md)."""
from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from relucent_search._library import native
from relucent_search.errors import UsageError

Config: TypeAlias = str | os.PathLike[str] | Mapping[str, Mapping[str, Any]] | None
"""A profile: a TOML file's path, a mapping {section: {key: value}}, or None for the defaults."""


def version() -> str:
    """The library's version."""
    return native.version()


def load_config(file: str | os.PathLike[str]) -> dict[str, dict[str, Any]]:
    """A profile with every key's effective value, to be changed and passed as a `config`. Relative paths in the file
    count from its folder."""
    return tomllib.loads(native.load_config(os.fspath(file)))


def _value(value: Any) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, Sequence):
        return "[" + ", ".join(map(_value, value)) + "]"
    raise UsageError("settings", f"{value!r} is not a value of a profile", "see docs/configuration.md")


def as_json(value: Mapping[str, Any], name: str) -> str:
    """The mapping as JSON; `name` is what it is in errors."""
    if not isinstance(value, Mapping):
        raise UsageError(name, f"is {value!r}", "give a mapping of keys to values")
    try:
        return json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise UsageError(name, f"is not JSON: {error}", "use strings, numbers, lists and mappings") from None


def _is_tables(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and bool(value) \
        and all(isinstance(item, Mapping) for item in value)


def to_toml(config: Mapping[str, Mapping[str, Any]]) -> str:
    """The mapping as TOML; None means that a key is not set."""
    lines: list[str] = []

    def write(heading: str, section: Mapping[str, Any]) -> None:
        lines.append(heading)
        tables = {key: value for key, value in section.items() if _is_tables(value)}
        lines.extend(f"{json.dumps(key)} = {_value(value)}" for key, value in section.items()
                     if value is not None and key not in tables)
        for key, items in tables.items():
            for item in items:
                write(f"[[{heading.strip('[]')}.{key}]]", item)

    for name, section in config.items():
        if not isinstance(section, Mapping):
            raise UsageError("settings", f"{name!r} is not a section", "write {section: {key: value}}")
        write(f"[{name}]", section)
    return "\n".join(lines) + "\n"


def as_toml(config: Config) -> tuple[str, str]:
    """The TOML text of a profile, and what errors call it."""
    if config is None:
        return "", "config"
    if isinstance(config, Mapping):
        return to_toml(config), "config"
    return native.load_config(os.fspath(config)), os.fspath(config)


class OwnProcess:
    """An object whose threads are of this process: a fork does not have them, and would wait for them forever."""

    def __init__(self) -> None:
        self._process = os.getpid()

    def _check_process(self) -> None:
        if self._process != os.getpid():
            raise UsageError(type(self).__name__, "was made by the process that this one was forked from",
                             "make it after the fork, or start processes with multiprocessing's \"spawn\"")
