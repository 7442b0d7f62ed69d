"""Exact texts, written out by hand for the tiny room."""

import itertools

import pytest
from tiny import TASK, game

from sandgym.alfworld import rules, text
from sandgym.alfworld.rules import Action


def said(room, *commands, grammar="file"):
    """What the last of some commands is answered with."""
    state, answer = room.start, text.intro(room)
    for spelt in commands:
        action = rules.parse(room, spelt, grammar)
        assert action is not None, spelt
        assert rules.possible(room, state, action), spelt
        state = rules.apply(room, state, action)
        answer = text.feedback(room, state, action, grammar)
    return answer


def test_the_intro_lists_every_receptacle_in_the_order_of_ids():
    assert text.intro(game()) == (
        "-= Welcome to TextWorld, ALFRED! =-\n\n"
        "You are in the middle of a room. Looking quickly around you, you see a countertop 1, a desk 1, a drawer 1, "
        "a fridge 1, a microwave 1, a shelf 2, a shelf 1, and a sinkbasin 1.\n\n" + TASK
    )


@pytest.mark.parametrize(
    ("commands", "answer"),
    [
        (["go to desk 1"], "You arrive at desk 1. On the desk 1, you see a desklamp 1, and a mug 2."),
        (["go to sinkbasin 1"], "You arrive at sinkbasin 1. On the sinkbasin 1, you see nothing."),
        (["go to countertop 1"], "You arrive at countertop 1. On the countertop 1, you see a apple 2, and a knife 1."),
        (["go to fridge 1"], "You arrive at fridge 1. The fridge 1 is closed."),
        (["go to fridge 1", "examine fridge 1"], "The fridge 1 is closed."),
        (["go to fridge 1", "open fridge 1"], "You open the fridge 1. The fridge 1 is open. In it, you see a apple 1."),
        (["go to fridge 1", "open fridge 1", "examine fridge 1"], "The fridge 1 is open. In it, you see a apple 1."),
        (["go to fridge 1", "open fridge 1", "close fridge 1"], "You close the fridge 1."),
        (
            ["go to microwave 1", "open microwave 1"],
            "You open the microwave 1. The microwave 1 is open. In it, you see nothing.",
        ),
        (["go to desk 1", "take mug 2 from desk 1"], "You pick up the mug 2 from the desk 1."),
        (["go to desk 1", "take mug 2 from desk 1", "inventory"], "You are carrying: a mug 2."),
        (["inventory"], "You are not carrying anything."),
        (["look"], "You are in the middle of a room. Looking quickly around you, you see nothing."),
        (["go to desk 1", "look"], "You are facing the desk 1, and drawer 1. Next to it, you see nothing."),
        (["go to shelf 1", "look"], "You are facing the shelf 1. Next to it, you see nothing."),
        (["go to desk 1", "use desklamp 1"], "You turn on the desklamp 1."),
        (["go to desk 1", "take mug 2 from desk 1", "move mug 2 to desk 1"], "You move the mug 2 to the desk 1."),
    ],
)
def test_answers(commands, answer):
    assert said(game(), *commands) == answer


@pytest.mark.parametrize(("verb", "place"), [("clean", "sinkbasin 1"), ("heat", "microwave 1"), ("cool", "fridge 1")])
def test_treatments(verb, place):
    commands = ["go to desk 1", "take mug 2 from desk 1", f"go to {place}", f"{verb} mug 2 with {place}"]
    assert said(game(), *commands) == f"You {verb} the mug 2 using the {place}."


def test_slicing():
    commands = ["go to countertop 1", "take knife 1 from countertop 1", "slice apple 2 with knife 1"]
    assert said(game(), *commands) == "You sliced the apple 2 with the knife 1."


def test_the_older_texts():
    room = game(generation="put")
    assert said(room, "go to desk 1") == "You arrive at loc 6. On the desk 1, you see a desklamp 1, and a mug 2."
    commands = ["go to desk 1", "take mug 2 from desk 1", "go to shelf 1", "put mug 2 in/on shelf 1"]
    assert said(room, *commands) == "You put the mug 2 in/on the shelf 1."
    assert said(game(), *commands, grammar="put") == "You put the mug 2 in/on the shelf 1."
    assert said(game(), "go to desk 1", grammar="put") == said(room, "go to desk 1")
    assert said(room, "go to desk 1", grammar="move") == said(game(), "go to desk 1")


def test_help():
    answer = said(game(), "help")
    assert answer.startswith(
        "Available commands:\n  look:                             look around your current location\n"
    )
    assert answer.endswith("\n  slice (object) with (object):     slice an object using a sharp object\n")
    assert "  move (object) to (receptacle):  place an object in or on a receptacle\n" in answer
    assert len(answer.splitlines()) == 14


EXAMINED = {
    ("hot", "clean", "sliced"): "This is a hot and clean sliced apple 2.",
    ("cool", "clean", "sliced"): "This is a cool and clean sliced apple 2.",
    ("clean", "sliced"): "This is a clean sliced apple 2.",
    ("hot", "sliced"): "This is a hot sliced apple 2.",
    ("cool", "sliced"): "This is a cool sliced apple 2.",
    ("hot", "clean"): "This is a hot and clean apple 2.",
    ("cool", "clean"): "This is a cool and clean apple 2.",
    ("hot",): "This is a hot apple 2.",
    ("clean",): "This is a clean apple 2.",
    ("cool",): "This is a cold apple 2.",
    ("sliced",): "This is a sliced apple 2.",
    (): "There's nothing special about apple 2.",
}


@pytest.mark.parametrize("having", EXAMINED)
def test_examining_a_held_object(having):
    room = game()
    apple = room.objects.index("apple 2")
    state = room.start._replace(held=apple, **dict.fromkeys(having, 1 << apple))
    assert text.feedback(room, state, Action("examine", apple)) == EXAMINED[having]


def test_examining_knows_every_combination_that_can_be():
    conditions = ("hot", "cool", "clean", "sliced")
    combinations = {
        tuple(each for each in ("hot", "cool", "clean", "sliced") if each in some)
        for count in range(5)
        for some in itertools.combinations(conditions, count)
        if not {"hot", "cool"} <= set(some)
    }
    assert set(EXAMINED) == combinations


def test_examining_what_holds_other_things_lists_them_for_ever():
    room = game()
    there = ["go to shelf 2", "take creditcard 1 from shelf 2", "move creditcard 1 to shelf 2"]
    commands = ["take bowl 1 from shelf 2", "examine bowl 1"]
    assert said(room, *there, *commands) == "This is a normal bowl 1. In it, you see a creditcard 1."
    away = ["go to shelf 2", "take creditcard 1 from shelf 2", "go to shelf 1", "move creditcard 1 to shelf 1"]
    assert said(room, *away, "go to shelf 2", *commands) == "This is a normal bowl 1. In it, you see a creditcard 1."
    mug = ["go to desk 1", "take mug 2 from desk 1", "examine mug 2"]
    holding = game(facts="(isReceptacleObject Mug_bar_1)")
    assert said(holding, *mug) == "This is a normal mug 2. In it, you see nothing."


def test_examining_a_lamp_that_was_switched_on_and_can_be_carried():
    room = game(facts="(pickupable DeskLamp_bar_1)")
    commands = ["go to desk 1", "take desklamp 1 from desk 1", "examine desklamp 1"]
    assert said(room, *commands) == "There's nothing special about desklamp 1."
    commands = ["go to desk 1", "use desklamp 1", "take desklamp 1 from desk 1", "examine desklamp 1"]
    assert said(room, *commands) == "This desklamp 1 is on."
