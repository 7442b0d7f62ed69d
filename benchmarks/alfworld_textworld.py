"""Plays games in TextWorld as ALFWorld sets it up, and writes down what is seen: one JSON line an episode.

    PYTHON_WITH_TEXTWORLD benchmarks/alfworld_textworld.py SEED STEPS < game files, one a line > recordings

Two episodes a game: random commands of which some are not admissible, and the walkthrough with a look or an
examination after about every second command.
This file imports nothing of sandgym, since it runs where TextWorld is installed.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import sys
from typing import Any

import textworld
import textworld.gym
from alfworld.agents.environment.alfred_tw_env import AlfredDemangler, AlfredInfos

INADMISSIBLE_SHARE = 0.2
LOOKING = ("examine", "help", "inventory", "look")
NONSENSE = ("", "Look", "look around", "xyzzy", "go to nowhere 1", "inventory.", "examine agent1 ", "put it down")


def make_env(game_file: str, steps: int) -> Any:
    """ALFWorld's environment of one game."""
    infos = textworld.EnvInfos(won=True, admissible_commands=True, extras=["gamefile"])
    env_id = textworld.gym.register_games(
        [game_file],
        infos,
        batch_size=1,
        asynchronous=False,
        max_episode_steps=steps,
        wrappers=[AlfredDemangler(shuffle=False), AlfredInfos],
    )
    return textworld.gym.make(env_id)


def choose(rng: random.Random, admissible: list[str], seen: set[str]) -> str:
    """A random command: each verb of the admissible ones is as likely as the others."""
    if rng.random() < INADMISSIBLE_SHARE:
        elsewhere = sorted(seen.difference(admissible))
        kind = rng.randrange(4)
        if kind == 0 or not elsewhere:
            return rng.choice(NONSENSE)
        command = rng.choice(elsewhere)
        if kind == 1:
            command = command.replace("take ", "examine ").partition(" from ")[0]
        return command
    verbs = {command.partition(" ")[0] for command in admissible}
    if rng.random() < 0.7:
        verbs.difference_update(LOOKING)
    verb = rng.choice(sorted(verbs))
    command = rng.choice([command for command in admissible if command.partition(" ")[0] == verb])
    return f" {command}  " if rng.random() < 0.05 else command


def play(env: Any, walkthrough: list[str] | None, rng: random.Random) -> list[dict[str, Any]]:
    """One episode, random without a walkthrough: what was seen after the reset and after each command."""
    observations, infos = env.reset()
    frames = [_frame(None, observations, (0,), (False,), infos)]
    seen: set[str] = set()
    left = list(walkthrough or ())
    while not frames[-1]["done"]:
        admissible = frames[-1]["admissible"]
        seen.update(admissible)
        if walkthrough is None:
            command = choose(rng, admissible, seen)
        elif rng.random() < 0.5:
            command = rng.choice([command for command in admissible if command.startswith(LOOKING)])
        elif left:
            command = left.pop(0)
        else:
            break
        observations, scores, dones, infos = env.step([command])
        frames.append(_frame(command, observations, scores, dones, infos))
    return frames


def _frame(command: str | None, observations: Any, scores: Any, dones: Any, infos: Any) -> dict[str, Any]:
    return {
        "command": command,
        "observation": observations[0],
        "score": scores[0],
        "done": bool(dones[0]),
        "won": bool(infos["won"][0]),
        "admissible": list(infos["admissible_commands"][0]),
    }


def main() -> None:
    """Record the games that are named on the standard input."""
    seed, steps = int(sys.argv[1]), int(sys.argv[2])
    for number, line in enumerate(sys.stdin):
        game_file = line.rstrip("\n")
        with open(game_file, encoding="utf-8") as file:
            walkthrough = json.load(file).get("walkthrough")
        with contextlib.redirect_stdout(io.StringIO()):
            env = make_env(game_file, steps)
            episodes = {"random": play(env, None, random.Random(f"{seed}:{number}"))}
            if walkthrough:
                episodes["walkthrough"] = play(env, walkthrough, random.Random(f"{seed}:{number}:walkthrough"))
            env.close()
        for kind, frames in episodes.items():
            print(json.dumps({"game": game_file, "kind": kind, "frames": frames}), flush=True)


if __name__ == "__main__":
    main()
