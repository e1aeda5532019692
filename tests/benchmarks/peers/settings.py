"""Which setting each peer runs with: searched for, or fixed by a file of an earlier search.

The file is JSON, {"OpenVINO int8": "bf16, 2 streams, batches of 10", ...}; settings have the names that the table
prints.
"""
import json
import pathlib
import time


def read(path: pathlib.Path, peers) -> dict[str, str]:
    """Raises ValueError, which names the file and the remedy, where it is not such a file."""
    try:
        chosen = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}; write it with --save-settings") from None
    except ValueError as error:
        raise ValueError(f"{path}: no JSON ({error}); write it again with --save-settings") from None
    if not isinstance(chosen, dict) or not all(isinstance(setting, str) for setting in chosen.values()):
        raise ValueError(f"{path}: no object of strings; write it again with --save-settings")
    if unknown := [name for name in chosen if name not in peers]:
        raise ValueError(f"{path}: no peer is called {unknown[0]!r}; known are {', '.join(peers)}")
    return chosen


def write(path: pathlib.Path, chosen: dict[str, str]) -> None:
    path.write_text(json.dumps(chosen, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def timed(scorer) -> float:
    start = time.perf_counter()
    scorer()
    return 1e3 * (time.perf_counter() - start)


def fixed(settings, wanted: str):
    """(name, scorer) of the setting called `wanted`, the only one that is made."""
    names = []
    for name, make in settings:
        if name == wanted:
            return name, make()
        names.append(name)
    raise ValueError(f"no setting is called {wanted!r} with so many candidates and threads; "
                     f"known are: {'; '.join(names)}")


def fastest(settings):
    """(name, scorer) of the fastest: each warmed up, then timed twice, or once where it is far behind."""
    best = None
    for name, make in settings:
        scorer = make()
        scorer()
        took = timed(scorer)
        if best is not None and took > 1.5 * best[0]:
            continue  # no second run will make up for that
        took = min(took, timed(scorer))
        if best is None or took < best[0]:
            best = (took, name, scorer)
    return best[1:]
