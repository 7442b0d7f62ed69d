"""Runs a small training run in a process of its own, and waits in the middle of an update to be killed.

Usage: ``python trained.py FOLDER`` with a run folder that holds ``config.yaml``.
"""

import sys
import time
from pathlib import Path

import letters  # noqa: F401  registers the environment
import torch

import sandgym  # noqa: F401
from algos.runfolder import RunFolder
from algos.train import Trainer

KILLED_IN = 3


def main(path: Path) -> None:
    torch.set_num_threads(1)
    folder, config = RunFolder.open(path)
    turns = 0

    def listen(event, data) -> None:
        nonlocal turns
        turns += event == "rollout" and data["update"] == KILLED_IN
        if turns == 2:
            print("in the middle", flush=True)
            time.sleep(600)

    Trainer(config, folder, listen).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
