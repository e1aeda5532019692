"""The program `relucent-train`."""
from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from relucent_search.train import settings
from relucent_search.train.errors import TrainingError
from relucent_search.train.memory import keep_freed_memory
from relucent_search.train.plan import Plan
from relucent_search.train.trainer import Interrupted, Trainer

EPILOG = """Settings, each in a section of the file or as SECTION.KEY=VALUE: docs/training.md.
A training that was interrupted resumes when the same command is given again.
Several GPUs: accelerate launch --multi_gpu -m relucent_search.train recipe.toml

Example:
  relucent-train recipe.toml
  relucent-train recipe.toml training.steps=100 output=/tmp/trial
  relucent-train --plan config/training/ecir2024-table1.toml --data DIR

Exit codes: 0 ok, 1 failed, 130 interrupted
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="relucent-train",
                                     description="Train a cross-encoder, a MixEncoder or a MIR for Relucent.",
                                     epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("settings", nargs="*", metavar="FILE|KEY=VALUE",
                        help="a TOML file, then settings that override it")
    parser.add_argument("--show", action="store_true", help="print all settings and exit")
    parser.add_argument("--plan", type=Path, metavar="FILE", help="train all rows of a table; settings hold for each")
    parser.add_argument("--data", type=Path, metavar="DIR",
                        help="with --plan: the folder of its data and models (default: the plan's)")
    parsed = parser.parse_args(arguments)
    changes = list(parsed.settings)
    file = Path(changes.pop(0)) if changes and "=" not in changes[0] else None
    if file is None and not changes and not parsed.plan:
        parser.error("name a TOML file or settings")
    if parsed.plan and (file or parsed.show):
        parser.error("--plan takes the recipes that the plan names, and no --show")
    if parsed.data and not parsed.plan:
        parser.error("--data belongs to --plan")
    try:
        if parsed.plan:
            plan = Plan.load(parsed.plan, parsed.data, changes)
            keep_freed_memory()
            plan.carry_out(lambda text: print(f"relucent-train: {text}", file=sys.stderr, flush=True))
            return 0
        loaded = settings.load(file, changes)
        if parsed.show:
            print(settings.as_toml(loaded), end="")
            return 0
        keep_freed_memory()
        trainer = Trainer(loaded)
        finished = trainer.run()
        if trainer.processes.main:
            print(finished)
    except Interrupted:
        print("relucent-train: interrupted; the same command resumes it", file=sys.stderr)
        return 130
    except (TrainingError, OSError) as error:
        shown = TrainingError.of_file(error) if isinstance(error, OSError) else error
        print(f"relucent-train: error: {shown}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
