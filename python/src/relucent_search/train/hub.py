"""Models in Hugging Face's cache, by name, as the engine finds them (model/checkpoint/hub_cache.h)."""
from __future__ import annotations

import re
from pathlib import Path

from relucent_search.train.errors import TrainingError

NAME = re.compile(r"[\w.-]+/[\w.-]+(@.+)?")


def model_folder(named: str, folder: Path) -> Path:
    """A folder's path, which may be relative to `folder`; or, if there is no such folder, that of ORG/NAME or
    ORG/NAME@REVISION in the cache. Raises TrainingError for a name whose model is in neither place."""
    path = folder / Path(named).expanduser()
    if path.exists() or not NAME.fullmatch(named):
        return path
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    name, _, revision = named.partition("@")
    try:
        return Path(snapshot_download(name, revision=revision or None, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError):
        raise TrainingError(named, "is neither a folder nor a model in Hugging Face's cache",
                            f"name a folder, or run `relucent model fetch {named}`") from None


def label(folder: Path) -> str:
    """What a reader knows a model's folder by: its name, or that of its model on the hub."""
    cache = folder.parents[1].name if len(folder.parts) > 2 else ""
    if folder.parent.name != "snapshots" or not cache.startswith("models--"):
        return folder.name
    return f"{cache.removeprefix('models--').replace('--', '/', 1)}@{folder.name[:8]}"
