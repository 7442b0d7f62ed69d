"""The environment's interface: episodes, info, options, task choice, digests."""

import gymnasium
import pytest
from tiny import TASK, TINY, document, game, write

from sandgym.alfworld.gamefile import TASK_TYPES

WAY = ("go to desk 1", "take mug 2 from desk 1", "go to shelf 1", "move mug 2 to shelf 1")


def test_an_episode(make, tmp_path):
    env = make()
    observation, info = env.reset(seed=0)
    assert observation.endswith(TASK)
    assert info == {
        "task_id": TINY,
        "step": 0,
        "success": False,
        "score": 0.0,
        "won": False,
        "data": str(tmp_path),
        "task_type": "pick_and_place_simple",
        "admissible_actions": info["admissible_commands"],
        "admissible_commands": (
            *("go to countertop 1", "go to desk 1", "go to drawer 1", "go to fridge 1", "go to microwave 1"),
            *("go to shelf 1", "go to shelf 2", "go to sinkbasin 1", "help", "inventory", "look"),
        ),
        "extra.gamefile": str(tmp_path / TINY / "game.tw-pddl"),
        "action_valid": True,
    }
    results = [env.step(command) for command in WAY]
    assert [result[1:4] for result in results] == [(0.0, False, False)] * 3 + [(1.0, True, False)]
    info = results[-1][4]
    assert (info["step"], info["success"], info["score"], info["won"]) == (4, True, 1.0, True)
    assert "take mug 2 from shelf 1" in info["admissible_actions"]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("look")


def test_the_horizon(make):
    env = make(max_steps=3)
    env.reset()
    assert [env.step("nonsense")[2:4] for _ in range(3)] == [(False, False), (False, False), (False, True)]
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("look")
    env = make(max_steps=4)
    env.reset()
    assert [env.step(command)[2:4] for command in WAY][-1] == (True, False)


def test_fifty_steps_by_default(make):
    env = make()
    env.reset()
    assert [env.step("look")[3] for _ in range(50)] == [False] * 49 + [True]


def test_facts(make):
    env = make(infos=("facts",))
    _, info = env.reset()
    start = set(info["facts"])
    assert list(info["facts"]) == sorted(start)
    assert {
        "atlocation(agent1 : agent, loc 8: location)",
        "inreceptacle(mug 2: object, desk 1: receptacle)",
        "objecttype(mug 2: object, mugtype : otype)",
        "cancontain(shelftype : rtype, mugtype : otype)",
        "openable(drawer 1: receptacle)",
        "iscool(apple 1: object)",
        "inreceptacleobject(creditcard 1: object, bowl 1: object)",
    } <= start
    assert set(env.step("go to desk 1")[4]["facts"]) - start == {
        "atlocation(agent1 : agent, loc 6: location)",
        "not_atlocation(agent1 : agent, loc 8: location)",
    }
    after = set(env.step("take mug 2 from desk 1")[4]["facts"])
    assert {"holds(agent1 : agent, mug 2: object)", "holdsany(agent1 : agent)"} <= after
    assert "inreceptacle(mug 2: object, desk 1: receptacle)" not in after
    assert set(env.step("dance")[4]["facts"]) == after
    assert set(env.step("look")[4]["facts"]) - after == {"checked(loc 6: location)"}
    assert "facts" not in make().reset()[1]


def test_the_expert_s_plan(make):
    pytest.importorskip("sandgym.alfworld.planner")
    env = make(infos="expert_plan")
    _, info = env.reset()
    assert len(info["extra.expert_plan"]) == 4
    for command in info["extra.expert_plan"]:
        *_, info = env.step(command)
    assert info["won"]
    assert info["extra.expert_plan"] == ()
    older = make(infos="expert_plan", grammar="put")
    assert older.reset()[1]["extra.expert_plan"][-1].startswith("put mug")
    assert "extra.expert_plan" not in make().reset()[1]


def test_a_goal_without_a_way_has_an_empty_plan(make):
    pytest.importorskip("sandgym.alfworld.planner")
    assert make({"thing": "Vase"}, infos="expert_plan").reset()[1]["extra.expert_plan"] == ()


@pytest.fixture
def house(tmp_path):
    """Two games of each task type, in three splits."""
    for split in ("train", "valid_seen", "valid_unseen"):
        for number, name in TASK_TYPES.items():
            target = "DeskLamp" if number == 2 else "Shelf"
            for trial in ("trial_b", "trial_a"):
                write(tmp_path, f"{split}/{name}-Mug-None-{target}-1/{trial}", document(number, target=target))
    return tmp_path


def build(folder, **kwargs):
    return gymnasium.make("sandgym/ALFWorld-v0", **({"data": folder, "split": "train"} | kwargs))


def test_tasks_are_chosen_by_id_by_index_or_by_seed(house):
    env = build(house)
    ids = env.unwrapped.task_ids
    assert len(ids) == 12
    assert list(ids) == sorted(ids)
    for task in (5, ids[5]):
        assert env.reset(options={"task": task})[1]["task_id"] == ids[5]
    drawn = [env.reset(seed=seed)[1]["task_id"] for seed in range(60)]
    assert drawn == [build(house).reset(seed=seed)[1]["task_id"] for seed in range(60)]
    assert set(drawn) == set(ids)
    env.reset(seed=3)
    following = [env.reset()[1]["task_id"] for _ in range(5)]
    env.reset(seed=3)
    assert [env.reset()[1]["task_id"] for _ in range(5)] == following


@pytest.mark.parametrize(
    ("task_types", "numbers"),
    [
        ((1, 2), {1, 2}),
        ((2, 1, 2), {1, 2}),
        (("look_at_obj_in_light",), {2}),
        (["pick_two_obj_and_place", 3], {3, 6}),
        (4, {4}),
        ("pick_cool_then_place_in_recep", {5}),
        (None, {1, 2, 3, 4, 5, 6}),
    ],
)
def test_task_types(house, task_types, numbers):
    env = build(house, task_types=task_types)
    assert {task.split("/")[1].partition("-")[0] for task in env.unwrapped.task_ids} == {TASK_TYPES[n] for n in numbers}
    assert len(env.unwrapped.task_ids) == 2 * len(numbers)
    assert env.reset()[1]["task_type"] in {TASK_TYPES[number] for number in numbers}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        *(("train", "train"), ("valid_seen", "valid_seen"), ("dev", "valid_seen"), ("test", "valid_unseen")),
        *(("eval_in_distribution", "valid_seen"), ("eval_out_of_distribution", "valid_unseen")),
    ],
)
def test_names_of_splits(house, name, found):
    env = build(house, split=name)
    assert {task.partition("/")[0] for task in env.unwrapped.task_ids} == {found}
    assert env.reset()[1]["task_id"].startswith(f"{found}/")


def test_hashes_tell_tasks_and_splits_apart(house, tmp_path_factory):
    env = build(house).unwrapped
    ids = env.task_ids
    assert env.task_hash(ids[0]) == env.task_hash(ids[1])  # the same file twice
    assert len({env.task_hash(task) for task in ids}) == 6
    with pytest.raises(KeyError):
        env.task_hash("valid_seen/x/y")
    assert env.data_hash == build(house, task_types=1).unwrapped.data_hash
    assert env.data_hash != build(house, split="valid_seen").unwrapped.data_hash
    elsewhere = tmp_path_factory.mktemp("copy")
    for task in reversed(ids):
        write(elsewhere / "json_2.1.1", task, (house / task / "game.tw-pddl").read_text())
    assert build(elsewhere).unwrapped.data_hash == env.data_hash
    write(elsewhere / "json_2.1.1", ids[0], document(facts="(isClean Mug_bar_1)"))
    (elsewhere / "json_2.1.1" / "train" / "another").mkdir()  # a change of the folder itself is noticed
    assert build(elsewhere).unwrapped.data_hash != env.data_hash


def test_domain_randomization_deals_numbers_out_anew_in_training_only(house):
    env = build(house, domain_randomization=True)
    plain = build(house)
    task = env.unwrapped.task_ids[0]
    seen = set()
    for seed in range(30):
        observation, _ = env.reset(seed=seed, options={"task": task})
        assert env.reset(seed=seed, options={"task": task})[0] == observation
        seen.add(env.step("go to desk 1")[0])
        assert {len(env.unwrapped.game.objects), env.unwrapped.game.task} == {9, TASK}
    assert seen == {
        "You arrive at desk 1. On the desk 1, you see a desklamp 1, and a mug 2.",
        "You arrive at desk 1. On the desk 1, you see a desklamp 1, and a mug 1.",
    }
    for split in ("valid_seen", "valid_unseen"):
        random, fixed = build(house, split=split, domain_randomization=True), build(house, split=split)
        assert [random.reset(seed=s)[0] for s in range(9)] == [fixed.reset(seed=s)[0] for s in range(9)]
        assert random.unwrapped.world == fixed.unwrapped.world
    assert plain.unwrapped.world != env.unwrapped.world


def test_a_shuffled_episode_goes_on_after_a_restore(house):
    env = build(house, domain_randomization=True)
    task = env.unwrapped.task_ids[0]
    numbers, snapshots = [], []
    for seed in range(8):
        env.reset(seed=seed, options={"task": task})
        numbers.append(env.step("go to desk 1")[0])
        snapshots.append(env.snapshot())
    assert len(set(numbers)) == 2
    for number, snapshot in zip(numbers, snapshots, strict=True):
        mug = number.removesuffix(".").rpartition("a ")[2]
        for one in (env, *env.unwrapped.fork(1)):
            one.restore(snapshot)
            assert one.step(f"take {mug} from desk 1")[0] == f"You pick up the {mug} from the desk 1."


def test_a_walkthrough_follows_the_numbers(house):
    env = build(house, domain_randomization=True, task_types=1)
    for seed in range(8):
        env.reset(seed=seed)
        rewards = [env.step(command)[1] for command in env.unwrapped.game.walkthrough]
        assert rewards == [0.0, 0.0, 0.0, 1.0]


def test_instructions_name_the_spelling(make):
    assert "move (object) to (receptacle)" in make().unwrapped.instructions
    assert "put (object) in/on (receptacle)" in make(grammar="put").unwrapped.instructions


def test_what_an_environment_tells_about_itself(make, tmp_path):
    env = make(render_mode="ansi")
    observation, _ = env.reset()
    inner = env.unwrapped
    assert (inner.data, inner.grammar, inner.skipped, inner.reward_version) == (str(tmp_path), "file", (), "alfworld-1")
    assert inner.game.record() == game().record()
    assert inner.state == inner.game.start
    assert env.render() == observation


def test_games_that_are_played_are_shared(house):
    env, other = build(house), build(house)
    env.reset(options={"task": 0}), other.reset(options={"task": 0})
    assert env.unwrapped.game is other.unwrapped.game
    assert all(fork.game is env.unwrapped.game for fork in env.unwrapped.fork(3))
