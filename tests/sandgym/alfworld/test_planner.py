"""Plans: valid, never longer than any other way, and absent only where there is none."""

import math

from hypothesis import event, given, settings
from hypothesis import strategies as st
from sample import real_games, small_games

from sandgym.alfworld import rules
from sandgym.alfworld.commands import admissible
from sandgym.alfworld.planner import plan

CHANGES_NOTHING = ("examine", "look", "inventory", "help")


def following(game, state, command):
    action = rules.parse(game, command)
    assert rules.possible(game, state, action), f"{command!r} is not possible"
    return rules.apply(game, state, action)


def shortest_way(game, start, limit):
    """Length of the shortest way to the goal if it is less than ``limit``, by trying every command in every state.

    What only listings of the floor and slicing depend on is left out of the states.
    """
    length, layer, reached = 0, [start], {start}
    while layer and length < limit:
        if any(rules.won(game, state) for state in layer):
            return length
        states = {
            following(game, state, command)._replace(present=start.present, taken=start.taken)
            for state in layer
            for command in admissible(game, state)
            if not command.startswith(CHANGES_NOTHING)
        }
        layer = list(states - reached)
        reached |= states
        length += 1
    return None


@settings(max_examples=400, deadline=None)
@given(small_games())
def test_no_way_is_shorter_than_the_plan(game):
    commands = plan(game, game.start)
    length = math.inf if commands is None else len(commands)
    event(f"length {length}")
    assert shortest_way(game, game.start, length) is None
    state = game.start
    for command in commands or ():
        assert not rules.won(game, state)
        state = following(game, state, command)
    assert commands is None or rules.won(game, state)


def test_real_games_are_solved_in_at_most_the_walkthroughs_length():
    for name, game in real_games():
        commands = plan(game, game.start)
        assert commands is not None, name
        assert len(commands) <= len(game.walkthrough), name
        state = game.start
        for command in commands:
            assert command in admissible(game, state), name
            state = following(game, state, command)
        assert rules.won(game, state), name


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_rest_of_a_plan_is_the_plan_of_the_rest_and_detours_do_not_gain(random):
    game = random.choice(real_games())[1]
    state, left = game.start, len(plan(game, game.start))
    for _ in range(12):
        commands = plan(game, state)
        assert len(commands) >= left - 1
        left = len(commands)
        if not commands:
            return
        if random.random() < 0.6:
            after = following(game, state, commands[0])
            assert plan(game, after) == commands[1:]
        else:
            after = following(game, state, random.choice(admissible(game, state)))
        state = after


def test_grammar_of_the_commands():
    game = next(game for _, game in real_games() if game.task_type == 1)
    new, old = plan(game, game.start), plan(game, game.start, "put")
    assert new[-1].startswith("move ")
    assert old == (*new[:-1], new[-1].replace("move ", "put ").replace(" to ", " in/on "))
