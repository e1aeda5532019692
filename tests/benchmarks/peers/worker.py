"""A peer in a process of its own, so that no library's threads or settings touch another's."""
import os
import traceback

from settings import fastest, fixed, timed


def serve(connection, settings, precision: str, task, wanted: str | None) -> None:
    """Answers ("ready", setting, logits), ("missing", why) or ("failed", trace), then times of as many runs as asked.

    `wanted` is the name of the setting to run with; without one the fastest is searched for.
    """
    os.dup2(2, 1)  # progress that libraries print is not part of the table
    try:
        tried = settings(task, precision)
        setting, scorer = fastest(tried) if wanted is None else fixed(tried, wanted)
        if wanted is not None:
            scorer()  # the search warms up too
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


def limit_threads(count: int) -> None:
    """Sets the variables for libraries loaded from now on, in this process and those it starts."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = str(count)
