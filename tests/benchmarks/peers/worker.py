"""A peer in a process of its own, so that no library's threads or settings touch another's."""
import os
import time
import traceback


def serve(connection, settings, precision: str, task) -> None:
    """Answers ("ready", setting, logits), ("missing", why) or ("failed", trace), then times of as many runs as are asked for."""
    os.dup2(2, 1)  # progress that libraries print is not part of the table
    try:
        setting, scorer = fastest(settings(task, precision))
    except ImportError as error:
        connection.send(("missing", str(error)))
        return
    except Exception:  # whatever a library throws is told to the user, not hidden in a worker
        connection.send(("failed", traceback.format_exc()))
        return
    connection.send(("ready", setting, scorer()))
    while (runs := connection.recv()) > 0:
        scorer()  # after the others' turns caches are cold: Relucent has such a run before too
        connection.send([timed(scorer) for _ in range(runs)])


def timed(scorer) -> float:
    start = time.perf_counter()
    scorer()
    return 1e3 * (time.perf_counter() - start)


def fastest(settings):
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


def limit_threads(count: int) -> None:
    """For libraries loaded from now on, in this process and those it starts."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(count)
