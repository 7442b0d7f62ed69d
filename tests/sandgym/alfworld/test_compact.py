"""The compact observations, written out by hand for the tiny room."""

import gymnasium
import pytest
from tiny import TINY, document, write

ROOM = "countertop 1, desk 1, drawer 1, fridge 1, microwave 1, shelf 2 1, sinkbasin 1"


DESK = "desk 1: wanted mug 2, desklamp 1. drawer 1: closed."


def without(*places):
    return ", ".join(place for place in ROOM.split(", ") if place not in places)


@pytest.fixture
def env(tmp_path):
    write(tmp_path, TINY, document())
    return gymnasium.make("sandgym/ALFWorld-v0", data=tmp_path, observation_mode="compact")


def test_the_first_observation_has_the_task_and_every_receptacle(env):
    observation, _ = env.reset()
    assert observation == f"put a mug in shelf. hold nothing. unseen: {ROOM}"


@pytest.mark.parametrize(
    ("commands", "last"),
    [
        ("go to fridge 1", f"hold nothing. fridge 1: closed. unseen: {ROOM}"),
        ("go to fridge 1; open fridge 1", f"hold nothing. fridge 1: apple 1. unseen: {without('fridge 1')}"),
        ("go to sinkbasin 1", f"hold nothing. sinkbasin 1: nothing. unseen: {without('sinkbasin 1')}"),
        ("go to shelf 1", f"hold nothing. wanted shelf 1: nothing. unseen: {ROOM.replace('shelf 2 1', 'shelf 2')}"),
        ("go to desk 1", f"hold nothing. {DESK} unseen: {without('desk 1')}"),
        (
            "go to desk 1; take mug 2 from desk 1",
            f"hold wanted mug 2. desk 1: desklamp 1. drawer 1: closed. unseen: {without('desk 1')}",
        ),
        (
            "go to countertop 1; take apple 2 from countertop 1; go to microwave 1; heat apple 2 with microwave 1",
            f"hold hot apple 2. microwave 1: closed. unseen: {without('countertop 1')}",
        ),
        (
            "go to fridge 1; open fridge 1; take apple 1 from fridge 1; go to sinkbasin 1; "
            "clean apple 1 with sinkbasin 1",
            f"hold clean cool apple 1. sinkbasin 1: nothing. unseen: {without('fridge 1', 'sinkbasin 1')}",
        ),
    ],
)
def test_what_is_held_and_what_is_here(env, commands, last):
    env.reset()
    for command in commands.split("; "):
        observation, *_, info = env.step(command)
        assert info["action_valid"]
    assert observation == f"put a mug in shelf. {last}"


def test_a_command_that_does_nothing_says_so(env):
    env.reset()
    env.step("go to desk 1")
    observation, *_ = env.step("go to desk 1")
    assert observation == f"nothing happens. put a mug in shelf. hold nothing. {DESK} unseen: {without('desk 1')}"


def test_when_everything_was_looked_into(env):
    env.reset()
    for place in ROOM.replace("shelf 2 1", "shelf 2, shelf 1").split(", "):
        env.step(f"go to {place}")
        observation, *_ = env.step(f"open {place}")
        assert ("unseen" in observation) == (place != "sinkbasin 1")
    assert observation == "nothing happens. put a mug in shelf. hold nothing. sinkbasin 1: nothing. all seen"
