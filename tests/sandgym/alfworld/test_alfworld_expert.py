"""The demonstrators: they win, they give admissible commands in every state, and a snapshot carries their memory."""

import pickle
from collections import Counter
from random import Random

import gymnasium
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandgym.alfworld.env import EXPERTS, ALFWorldEnv
from sandgym.alfworld.game import bits
from sandgym.alfworld.planner import plan

SPLITS = ("train", "valid_seen", "valid_unseen")


@pytest.fixture(scope="module")
def envs(real_folder):
    """An environment of each split of the real games."""
    return {split: ALFWorldEnv(real_folder, split) for split in SPLITS}


def play(env, expert):
    """Actions of an episode from the present state to its end, and whether it was won."""
    actions, over, info = [], False, {"success": False}
    while not over:
        actions.append(expert.act())
        *_, terminated, truncated, info = env.step(actions[-1])
        over = terminated or truncated
    return actions, info["success"]


def test_the_explorer_wins_nearly_all_real_games(envs):
    results = []
    for env in envs.values():
        expert = env.expert()
        for task in env.task_ids:
            env.reset(options={"task": task})
            results.append(play(env, expert))
            assert not expert.slipped
    assert len(results) == 394
    assert sum(won for _, won in results) >= 0.97 * 394
    assert sum(len(actions) for actions, _ in results) / 394 < 8.5


@pytest.mark.parametrize("options", [{"grammar": "put"}, {"domain_randomization": True}, {"grammar": "both"}])
def test_careless_explorers_win_most_games_of_every_kind(real_folder, options):
    env = ALFWorldEnv(real_folder, "train", **options)
    won, slips, dawdles, actions = 0, 0, 0, 0
    for number, task in enumerate(env.task_ids[::2]):
        expert = env.expert(noise=0.2, seed=number)
        env.reset(seed=number, options={"task": task})
        over = False
        while not over:
            action = expert.act()
            assert expert.slipped or action in env.snapshot().last[1]["admissible_actions"]
            before = env.state
            _, _, terminated, truncated, info = env.step(action)
            if expert.slipped:
                assert before.contents == env.state.contents
                slips += 1
            dawdles += before == env.state and not expert.slipped
            actions += 1
            over = terminated or truncated
        won += info["success"]
    assert won >= 0.95 * 60
    assert 0.15 < dawdles / actions < 0.25
    assert 0.03 < slips / actions < 0.08  # 0.8 * 0.2 / 3


def test_same_arguments_same_actions_and_seeds_differ(envs):
    env = envs["valid_unseen"]
    task = env.task_ids[60]

    def actions(**arguments):
        env.reset(options={"task": task})
        return tuple(play(env, env.expert(**arguments))[0])

    for noise in (0.0, 0.3):
        assert actions(noise=noise, seed=1) == actions(noise=noise, seed=1)
    assert len({actions(noise=0.3, seed=seed) for seed in range(8)}) > 4
    env.reset(options={"task": task})
    expert = env.expert(noise=1.0, seed=2)
    for _ in range(10):
        assert expert.act().partition(" ")[0] in ("look", "inventory", "examine")
        assert not expert.slipped


def test_a_restore_and_a_fork_carry_the_memory(envs, real_folder):
    env = envs["valid_seen"]
    for task in env.task_ids[::14]:
        env.reset(options={"task": task})
        expert = env.expert(noise=0.25, seed=3)
        snapshots = [env.snapshot()]
        actions, over = [], False
        while not over:
            actions.append(expert.act())
            *_, terminated, truncated, _ = env.step(actions[-1])
            over = terminated or truncated
            snapshots.append(env.snapshot())
        middle = len(actions) // 2
        env.restore(snapshots[middle])  # the same expert, set back
        (fork,) = env.fork(1)
        assert play(env, expert)[0] == actions[middle:]
        assert play(fork, fork.expert(noise=0.25, seed=3))[0] == actions[middle:]
        other = ALFWorldEnv(real_folder, "valid_seen")  # another expert, that has seen nothing
        other.restore(pickle.loads(pickle.dumps(snapshots[middle])))
        assert play(other, other.expert(noise=0.25, seed=3))[0] == actions[middle:]


def test_it_is_memory_that_a_restore_brings_back(envs):
    """In one state of the game the explorer goes where it has not been, or where it has seen the thing."""
    env = envs["valid_unseen"]
    expert = env.expert()
    results = Counter()
    for task in env.task_ids[::3]:
        env.reset(options={"task": task})
        first = expert.act()
        options = env.snapshot().last[1]["admissible_actions"]
        aside = [command for command in options if command.startswith("go") and command != first][-1]
        start = env.snapshot()
        env.step(aside)
        ignorant = env.snapshot()
        if expert.act() != first:  # what was met on the way is better
            continue
        env.restore(start)
        observation, *_ = env.step(first)
        if observation.endswith("closed."):
            continue
        seen = any(env.game.objects[thing] in observation for thing in bits(env.game.wanted))
        env.step(aside)
        assert env.state == ignorant.state.state.state
        results[seen] += 1
        assert (expert.act() == first) == seen
        env.restore(ignorant)
        assert expert.act() == first
    assert results[True] > 5
    assert results[False] > 5


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_no_expert_raises_in_any_state(envs, data):
    random = data.draw(st.randoms(use_true_random=False))
    env = envs[random.choice(SPLITS)]
    env.reset(options={"task": random.randrange(len(env.task_ids))})
    experts = [env.expert(noise=random.choice([0.0, 0.5, 1.0]), seed=random.randrange(9))]
    for kind in EXPERTS:
        other = env.fork(1)[0]
        other._expert = kind
        experts.append(other)
    for _ in range(25):
        options = env.snapshot().last[1]["admissible_actions"]
        action = experts[0].act()
        assert experts[0].slipped or action in options
        for fork in experts[1:]:
            fork.restore(env.snapshot())
            assert fork.expert().act() in options
        disturb = random.random()
        if disturb < 0.3:
            action = random.choice(options)
        elif disturb < 0.4:
            action = data.draw(st.text(max_size=20))
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            with pytest.raises(gymnasium.error.ResetNeeded):
                experts[0].act()
            return


def test_the_explorer_recovers_from_what_others_did(real_folder):
    env = ALFWorldEnv(real_folder, "valid_unseen", max_steps=100)
    results = Counter()
    for number, task in enumerate(env.task_ids[::4]):
        env.reset(options={"task": task})
        expert = env.expert(seed=number)
        random = Random(number)
        for _ in range(25):
            options = [c for c in env.snapshot().last[1]["admissible_actions"] if not c.startswith("examine")]
            if env.step(random.choice([c for c in options if not c.startswith("go")] + options[:3]))[2]:
                break
        else:
            results[play(env, expert)[1]] += 1
    assert results[True] >= 0.95 * results.total() > 25


def test_planner_and_walkthrough(real_folder):
    for task_type in range(1, 7):
        for kind in ("planner", "walkthrough"):
            env = ALFWorldEnv(real_folder, "valid_seen", task_types=task_type, expert=kind)
            env.reset(options={"task": 0})
            expected = list(env.game.walkthrough) if kind == "walkthrough" else list(plan(env.game, env.state))
            start = env.snapshot()
            assert play(env, env.expert()) == (expected, True)
            env.restore(start)
            env.step(expected[0])
            env.step(next(c for c in env.snapshot().last[1]["admissible_actions"] if c.startswith("go to")))
            left = plan(env.game, env.state)
            actions, won = play(env, env.expert())
            assert (len(actions), won) == (len(left), True)


def test_where_nothing_helps_the_experts_still_act(make):
    for kind in EXPERTS:
        env = make({"thing": "Vase", "walkthrough": None}, expert=kind).unwrapped
        env.reset()
        assert len(play(env, env.expert())[0]) == 50


def test_a_game_that_is_won_from_the_start(make):
    for kind in EXPERTS:
        env = make({"target": "Desk", "walkthrough": None}, expert=kind).unwrapped
        env.reset()
        actions, won = play(env, env.expert())
        assert (len(actions), won) == (1, True)


def test_bad_arguments(make):
    env = make().unwrapped
    expert = env.expert()
    with pytest.raises(gymnasium.error.ResetNeeded):
        expert.act()
    for noise in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="noise is a probability"):
            env.expert(noise=noise)
