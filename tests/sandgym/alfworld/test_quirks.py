"""Oddities of the original that an agent meets, played through the environment, with the exact texts."""

import pytest
from tiny import document

NOTHING = "Nothing happens."


@pytest.fixture
def play(make):
    """Resets a new environment of the tiny room and plays; returns it and the last result."""

    def run(*commands, content=None, **kwargs):
        env = make(content, **kwargs)
        observation, info = env.reset()
        result = observation, 0.0, False, False, info
        for each in commands:
            result = env.step(each)
        return env, result

    return run


def test_a_second_receptacle_at_the_same_place_cannot_be_gone_to(play):
    env, (observation, *_, info) = play("go to desk 1", "go to drawer 1")
    assert (observation, info["action_valid"], info["step"]) == (NOTHING, False, 2)
    assert "go to drawer 1" not in info["admissible_actions"]
    assert "open drawer 1" in info["admissible_actions"]
    assert env.step("go to desk 1")[0] == NOTHING
    assert env.step("look")[0] == "You are facing the desk 1, and drawer 1. Next to it, you see nothing."
    assert env.step("go to shelf 1")[0] == "You arrive at shelf 1. On the shelf 1, you see nothing."
    assert env.step("go to drawer 1")[0] == "You arrive at drawer 1. The drawer 1 is closed."


def test_an_object_can_be_examined_only_while_it_is_held(play):
    env, (observation, *_) = play("go to desk 1", "examine mug 2")
    assert observation == NOTHING
    env.step("take mug 2 from desk 1")
    assert env.step("examine mug 2")[0] == "There's nothing special about mug 2."
    assert env.step("examine desklamp 1")[0] == NOTHING


def test_what_was_moved_between_receptacles_of_one_place_is_seen_on_the_floor(play):
    env, _ = play("go to desk 1", "open drawer 1", "take mug 2 from desk 1")
    assert env.step("look")[0] == "You are facing the desk 1, and drawer 1. Next to it, you see nothing."
    env.step("move mug 2 to drawer 1")
    assert env.step("look")[0] == "You are facing the desk 1, and drawer 1. Next to it, you see a mug 2."
    env.step("take mug 1 from drawer 1"), env.step("move mug 1 to desk 1")
    assert env.step("look")[0] == "You are facing the desk 1, and drawer 1. Next to it, you see a mug 2, and a mug 1."
    env.step("take mug 2 from drawer 1"), env.step("move mug 2 to desk 1"), env.step("take mug 2 from desk 1")
    env.step("move mug 2 to desk 1")  # now it was taken from the drawer only
    assert env.step("look")[0] == "You are facing the desk 1, and drawer 1. Next to it, you see a mug 2, and a mug 1."
    assert env.step("go to shelf 1")[0] == "You arrive at shelf 1. On the shelf 1, you see nothing."
    assert env.step("look")[0] == "You are facing the shelf 1. Next to it, you see nothing."


def test_a_lamp_is_only_ever_turned_on(play):
    content = {"task_type": 2, "target": "DeskLamp"}
    env, _ = play("go to desk 1", content=content)
    for _ in range(2):
        observation, reward, *_, info = env.step("use desklamp 1")
        assert (observation, reward, info["action_valid"]) == ("You turn on the desklamp 1.", 0.0, True)
        assert "use desklamp 1" in info["admissible_actions"]
    _, reward, terminated, _, info = env.step("take mug 2 from desk 1")
    assert (reward, terminated, info["won"], info["success"], info["score"]) == (1.0, True, True, True, 1.0)


def test_white_space_around_a_command_is_ignored_and_nothing_else(play):
    arrived = "You arrive at desk 1. On the desk 1, you see a desklamp 1, and a mug 2."
    for spelt in ("go to desk 1", " go to desk 1", "go to desk 1 ", "\tgo to desk 1\n", "go to desk 1\r\n"):
        assert play(spelt)[1][0] == arrived
    for spelt in (
        *("go to  desk 1", "Go to desk 1", "go to desk 1.", "go to Desk 1", "GO TO DESK 1", "go to desk 1 now"),
        *("go to desk", "go to desk 2", "go to the desk 1", "> go to desk 1", "go to desk 1\nlook", "go to desk 01"),
    ):
        assert play(spelt)[1][0] == NOTHING


@pytest.mark.parametrize(
    "spelt", ["", " ", "\n", "Look", "LOOK", "look.", "l", "wait", "None", "[", "\x00", "\ud800", "é" * 9999]
)
def test_what_is_no_command_costs_a_step_and_changes_nothing(play, spelt):
    env, (_, *_, before) = play("go to desk 1")
    state = env.unwrapped.state
    observation, reward, terminated, truncated, info = env.step(spelt)
    assert (observation, reward, terminated, truncated) == (NOTHING, 0.0, False, False)
    assert info == before | {"step": 2, "action_valid": False}
    assert env.unwrapped.state == state


def test_put_is_no_command_of_a_newer_game_unless_both_spellings_are_accepted(play):
    there = ("go to desk 1", "take mug 2 from desk 1", "go to countertop 1")
    put, move = "put mug 2 in/on countertop 1", "move mug 2 to countertop 1"
    assert play(*there, put)[1][0] == NOTHING
    assert play(*there, move)[1][0] == "You move the mug 2 to the countertop 1."
    assert play(*there, put, grammar="both")[1][0] == "You move the mug 2 to the countertop 1."
    assert play(*there, put, grammar="put")[1][0] == "You put the mug 2 in/on the countertop 1."
    assert play(*there, move, grammar="put")[1][0] == NOTHING


def test_an_older_game(play):
    older = {"generation": "put"}
    env, (observation, *_, info) = play("go to desk 1", content=older)
    assert observation == "You arrive at loc 6. On the desk 1, you see a desklamp 1, and a mug 2."
    assert "help" not in info["admissible_actions"]
    assert env.step("help")[0] == NOTHING
    assert "put (object) in/on (receptacle)" in env.unwrapped.instructions
    assert play("go to desk 1", content=older, grammar="move")[1][0].startswith("You arrive at desk 1. ")


def test_help_ends_with_a_line_break(play):
    observation = play("help")[1][0]
    assert observation.startswith("Available commands:\n  look: ")
    assert observation.endswith("using a sharp object\n")


def test_numbers_count_down_and_every_noun_has_the_article_a(play):
    content = {"facts": "(inReceptacle Apple_bar_2 CounterTop_bar_1)"}
    observation = play("go to countertop 1", content=content)[1][0]
    assert (
        observation == "You arrive at countertop 1. On the countertop 1, you see a apple 2, a apple 1, and a knife 1."
    )
    intro = play()[1][0]
    assert "a shelf 2, a shelf 1, and a sinkbasin 1." in intro
    assert "painting" not in intro


def test_heating_needs_no_open_door_and_takes_the_cold_away(play):
    env, _ = play("go to fridge 1", "open fridge 1", "take apple 1 from fridge 1")
    assert env.step("examine apple 1")[0] == "This is a cold apple 1."
    assert env.step("go to microwave 1")[0] == "You arrive at microwave 1. The microwave 1 is closed."
    assert env.step("heat apple 1 with microwave 1")[0] == "You heat the apple 1 using the microwave 1."
    assert env.step("examine apple 1")[0] == "This is a hot apple 1."
    assert env.step("move apple 1 to microwave 1")[0] == NOTHING
    assert env.step("heat apple 1 with microwave 1")[0] == "You heat the apple 1 using the microwave 1."


def test_slicing_reaches_into_a_closed_receptacle_and_renames_nothing(play):
    env, _ = play("go to countertop 1", "take knife 1 from countertop 1", "go to fridge 1")
    assert env.step("slice apple 1 with knife 1")[0] == "You sliced the apple 1 with the knife 1."
    assert env.step("open fridge 1")[0] == "You open the fridge 1. The fridge 1 is open. In it, you see a apple 1."


def test_admissible_commands_are_in_string_order(play):
    facts = " ".join(
        f"(receptacleType Shelf_bar_{number} ShelfType) (receptacleAtLocation Shelf_bar_{number} loc_bar_6)"
        for number in range(3, 12)
    )
    objects = " ".join(f"Shelf_bar_{number}" for number in range(3, 12))
    content = {"facts": facts}
    problem = document(**content)["pddl_problem"].replace("Shelf_bar_2 Sink", f"Shelf_bar_2 {objects} Sink")
    commands = play(content={"pddl_problem": problem})[1][4]["admissible_commands"]
    assert commands == (
        *(
            "go to countertop 1",
            "go to desk 1",
            "go to drawer 1",
            "go to fridge 1",
            "go to microwave 1",
            "go to shelf 1",
        ),
        *("go to shelf 10", "go to shelf 11", "go to shelf 2", "go to shelf 3", "go to shelf 4", "go to shelf 5"),
        *("go to shelf 6", "go to shelf 7", "go to shelf 8", "go to shelf 9", "go to sinkbasin 1"),
        *("help", "inventory", "look"),
    )


def test_a_goal_that_holds_from_the_start_is_won_by_the_first_command(play):
    env, (_, _, _, _, info) = play(content={"thing": "Mug", "target": "Drawer"})
    assert (info["won"], info["success"], info["score"]) == (True, True, 1.0)
    assert env.step("look")[1:4] == (1.0, True, False)
    env, _ = play(content={"thing": "Mug", "target": "Drawer"})
    _, reward, terminated, _, info = env.step("dance")
    assert (reward, terminated, info["action_valid"]) == (1.0, True, False)
