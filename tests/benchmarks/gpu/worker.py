"""A peer in a process of its own: what it leaves in the GPU's memory goes with it."""
import gc
import os
import time
import traceback

from contenders import PEERS


def is_out_of_memory(error: Exception) -> bool:
    return "out of memory" in str(error).lower()


def timed(scorer) -> tuple[float, float]:
    start = time.perf_counter()
    _, device = scorer()
    return 1e3 * (time.perf_counter() - start), device


def fastest(settings):
    """(name, scorer) of the fastest that fits into memory: each warmed up, then timed twice."""
    best, refused = None, None
    for name, make in settings:
        try:
            scorer = make()
            scorer()
            took = min(timed(scorer)[0] for _ in range(2))
        except Exception as error:
            if not is_out_of_memory(error):
                raise
            refused = error
            continue
        finally:
            gc.collect()
        if best is None or took < best[0]:
            best = (took, name, scorer)
    if best is None:
        raise refused or ValueError("there is no setting to try")
    return best[1:]


def serve(connection, peer: str, task) -> None:
    """Answers ("ready", setting, logits, bytes a run takes beyond the weights), ("missing", why) or ("failed", trace),
    then [(wall ms, device ms)] of as many runs as asked for."""
    os.dup2(2, 1)  # progress that libraries print is not part of the table
    try:
        import torch

        if not torch.cuda.is_available():
            raise ImportError("PyTorch sees no GPU")
        settings, dtype = PEERS[peer]
        setting, scorer = fastest(settings(task, dtype))
        gc.collect()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        logits, _ = scorer()
        used = torch.cuda.max_memory_allocated() - before
    except ImportError as error:
        connection.send(("missing", str(error)))
        return
    except Exception:  # whatever a library throws is told to the user, not hidden in a worker
        connection.send(("failed", traceback.format_exc()))
        return
    connection.send(("ready", setting, logits, used))
    while (runs := connection.recv()) > 0:
        scorer()
        connection.send([timed(scorer) for _ in range(runs)])
