"""The warm start: demonstrations, transcripts, fitting; the cache of warm-started policies."""

import copy
import dataclasses
import math

import numpy as np
import pytest
import torch
from letters import LettersEnv
from sizes import SMALL
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from algos.config import TrainConfig
from algos.demonstrations import as_tree, demonstrate
from algos.learner import score
from algos.packing import pack
from algos.policy import Policy
from algos.sft import (
    SFTConfig,
    _cropped,
    _rare,
    _renamed,
    _stretch,
    _turns,
    _with_observations,
    copy_drill,
    fine_tune,
)
from algos.tiny import TinyConfig, build_model
from algos.tree import ROOT, Segment, Tree
from algos.warmstart import starting_policy, warm_start_folder

QUICK = SFTConfig(
    demonstrations=10,
    noise=0.0,
    steps=25,
    batch_tokens=400,
    lr=5e-3,
    warmup=5,
    drill_steps=5,
    turn_steps=5,
    crop_steps=5,
)


def test_demonstrations_are_the_experts_games(letters):
    games = demonstrate(letters, letters.task_ids, 12, 0.0, 0)
    assert len(games) == 12
    for game in games:
        assert game.actions == ("a", "ai", "d")
        assert len(game.observations) == 3
        assert (game.score, game.success, game.instructions) == (0.5, True, "Say words.")
        assert game.observations[1].endswith("paid 1 of 4 so far")
    words = [game.observations[0].split()[1] for game in games]
    assert sorted(set(words)) == sorted(letters.task_ids)
    assert max(words.count(w) for w in set(words)) == 3, "round the tasks: 12 games of 5 tasks"
    assert demonstrate(letters, letters.task_ids, 12, 0.0, 0) == games


def test_webshop_demonstrations_are_seeded(shop):
    tasks = list(shop.unwrapped.task_ids)
    noisy = demonstrate(shop, tasks, 6, 0.5, 3)
    assert demonstrate(shop, tasks, 6, 0.5, 3) == noisy
    assert demonstrate(shop, tasks, 6, 0.5, 4) != noisy


def test_a_transcript_is_the_tree_of_a_rollout(policy, letters):
    (game,) = demonstrate(letters, ["apple"], 1, 0.0, 0)
    prompts = policy.prompts.transcript()
    segment = as_tree(game, policy.prompts).segments[0]
    expected = prompts.opening(game.instructions, game.observations[0]) + prompts.encode_action("a")
    expected += prompts.following(game.observations[1], True) + prompts.encode_action("ai")
    expected += prompts.following(game.observations[2], True) + prompts.encode_action("d")
    assert segment.tokens == expected
    written = [
        [t for t, w, s in zip(segment.tokens, segment.written, segment.steps, strict=True) if w and s == step]
        for step in range(3)
    ]
    assert [prompts.action(tokens) for tokens in written] == ["a", "ai", "d"]
    assert all(tokens[-1] in policy.prompts.stop for tokens in written)


def test_a_slip_is_read_and_not_learned(policy, letters):
    (game,) = demonstrate(letters, ["apple"], 1, 0.0, 0)
    right = as_tree(game, policy.prompts).segments[0]
    slipped = as_tree(dataclasses.replace(game, slips=(False, True, False)), policy.prompts).segments[0]
    assert slipped.tokens == right.tokens
    changed = [s for a, b, s in zip(right.written, slipped.written, right.steps, strict=True) if a != b]
    assert changed == [1] * len(policy.prompts.transcript().encode_action("ai"))
    tree = as_tree(dataclasses.replace(game, slips=(False, True, False)), policy.prompts)
    chosen = _with_observations(tree, 1.0, np.random.default_rng(0)).segments[0].written
    action = len(policy.prompts.transcript().encode_action("ai"))
    assert chosen.count(False) == 1 + action, "all but the first token, which nothing precedes, and the slip"


def test_a_stretch_grows_from_one_turn_to_all_and_ends_with_an_action_to_learn(policy, letters):
    (game,) = demonstrate(letters, ["apple"], 1, 0.0, 0)
    tree = as_tree(dataclasses.replace(game, slips=(False, False, True)), policy.prompts)
    equal = np.ones(len(policy.tokenizer))

    def stretches(share, openings):
        drawn = (_stretch(tree, share, openings, np.random.default_rng(n)).segments[0].steps for n in range(20))
        return [tuple(sorted(set(steps))) for steps in drawn]

    steps = {share: set(stretches(share, equal)) for share in (0.0, 0.5, 0.6, 0.99)}
    assert steps == {0.0: {(0,), (1,)}, 0.5: {(0,), (1,)}, 0.6: {(0, 1)}, 0.99: {(0, 1, 2)}}
    prompts = policy.prompts.transcript()
    expected = prompts.following(game.observations[1], True) + prompts.encode_action("ai")
    assert _turns(tree, 1, 1).segments[0].tokens == expected


def test_a_stretch_prefers_rare_actions():
    tree = transcript(([50], [1, 9]), ([51], [2, 9]), ([52], [3, 9]))
    openings = np.array([0, 10, 10, 1])  # the third action is drawn 10 times of 12
    drawn = [_stretch(tree, 0.0, openings, np.random.default_rng(n)).segments[0].steps[0] for n in range(600)]
    assert 460 < drawn.count(2) < 540  # 500 expected, standard deviation 9


def test_slips_alone_cannot_be_learned_from(policy, letters):
    (game,) = demonstrate(letters, ["apple"], 1, 0.0, 0)
    only_slips = as_tree(dataclasses.replace(game, slips=(True, True, True)), policy.prompts)
    with pytest.raises(ValueError, match="no demonstration has an action to learn"):
        fine_tune(policy, [only_slips], QUICK)
    late = as_tree(dataclasses.replace(game, slips=(True, True, False)), policy.prompts)
    config = dataclasses.replace(QUICK, opening_steps=5, steps=5, observation_share=0.0, drill_steps=0)
    assert math.isfinite(fine_tune(policy, [late], config)["loss"]), "the opening goes on to the first such action"


def test_fitting_raises_the_likelihood_of_the_actions_and_is_repeatable(policy, letters_tokenizer, letters):
    trees = [as_tree(d, policy.prompts) for d in demonstrate(letters, letters.task_ids, 10, 0.0, 0)]
    twin = copy.deepcopy(policy)

    def likelihood(p) -> float:
        return float(score(p, pack(trees), 1.0).logprobs.detach().mean())

    before = likelihood(policy)
    steps: list[int] = []
    config = dataclasses.replace(QUICK, steps=60)
    metrics = fine_tune(policy, trees, config, progress=lambda step, _: steps.append(step))
    assert steps == list(range(60))
    assert likelihood(policy) > before + 1.0
    assert all(math.isfinite(v) for v in metrics.values())
    assert fine_tune(twin, trees, config) == metrics
    assert likelihood(twin) == likelihood(policy)


def test_rare_tokens_change_places_and_the_rest_stays():
    def tree_of(*tokens: int) -> Tree:
        segment = Segment(None)
        segment.write(list(tokens), [0.0] * len(tokens), [0.0] * len(tokens), 0)
        return Tree("", segments=[segment])

    trees = [tree_of(1, 2, *pair, *pair, 1) for pair in ((n, n + 1) for n in range(10, 50, 2))]
    rare = _rare(trees)
    assert rare.tolist() == list(range(10, 50)), "each in one of twenty"
    seen = set()
    for seed in range(8):
        one, two, a, b, again, also, last = _renamed(trees[3], rare, np.random.default_rng(seed)).segments[0].tokens
        assert (one, two, last) == (1, 2, 1)
        assert (a, b) == (again, also)
        assert a != b
        seen |= {a, b}
    assert len(seen) > 8
    assert seen <= set(range(10, 50))
    assert trees[3].segments[0].tokens == [1, 2, 16, 17, 16, 17, 1]


def test_fitting_leaves_the_demonstrations_alone(shop_policy, shop_demonstrations):
    trees = [as_tree(d, shop_policy.prompts) for d in shop_demonstrations[:6]]
    before = [(list(t.segments[0].tokens), list(t.segments[0].written)) for t in trees]
    config = dataclasses.replace(QUICK, steps=3, batch_tokens=1500)
    fine_tune(shop_policy, trees, config)
    assert [(t.segments[0].tokens, t.segments[0].written) for t in trees] == before


READ, ACT, END, VERB = 1, 2, 3, 4


def transcript(*turns: tuple[list[int], list[int]]) -> Tree:
    """A demonstration by hand: each turn is a page and what is said about it."""
    tree = Tree("task")
    for step, (page, said) in enumerate(turns):
        tree.segments[ROOT].read([READ, *page, ACT], step)
        tree.segments[ROOT].write([*said, END], [-1.0 - step] * (len(said) + 1), [0.0] * (len(said) + 1), step)
    return tree


def column(tree: Tree, step: int, written: bool) -> list[int]:
    s = tree.segments[ROOT]
    return [t for t, w, n in zip(s.tokens, s.written, s.steps, strict=True) if w == written and n == step]


@pytest.mark.parametrize("width", [8, 20])
@pytest.mark.parametrize("copied", [100, 101, 117, 138, 139])
def test_a_cropped_page_keeps_markers_action_and_what_is_copied(width, copied):
    """VERB stands on every page too and is common; the crop is around the rare token, also at a page's ends."""
    first = list(range(50, 90))
    page = [t if t == copied or t % 7 else VERB for t in range(100, 140)]
    tree = transcript((first, [VERB, 60]), (page, [VERB, copied]), (page, [VERB, copied]))
    counts = np.bincount(tree.segments[ROOT].tokens, minlength=200)
    for seed in range(30):
        cropped = _cropped(tree, width, counts, np.random.default_rng(seed))
        assert column(cropped, 0, False) == [READ, *first, ACT], "the first page stays whole"
        assert column(cropped, 0, True) == [VERB, 60, END]
        for step in (1, 2):
            assert column(cropped, step, True) == [VERB, copied, END]
            start, *inside, end = column(cropped, step, False)
            assert (start, end) == (READ, ACT)
            assert copied in inside
            assert width // 4 <= len(inside) <= width
            at = next(n for n in range(len(page)) if page[n : n + len(inside)] == inside)
            assert page[at : at + len(inside)] == inside, "one piece of the page"
        segment = cropped.segments[ROOT]
        logprobs = [-1.0 - n if w else 0.0 for n, w in zip(segment.steps, segment.written, strict=True)]
        assert segment.logprobs == logprobs, "columns stay aligned"
    assert tree == transcript((first, [VERB, 60]), (page, [VERB, copied]), (page, [VERB, copied]))


def test_a_page_of_which_nothing_is_copied_is_cropped_too():
    tree = transcript(([50], [60]), (list(range(100, 140)), [VERB]))
    cropped = _cropped(tree, 8, np.bincount(tree.segments[ROOT].tokens), np.random.default_rng(0))
    start, *inside, end = column(cropped, 1, False)
    assert (start, end) == (READ, ACT)
    assert inside == list(range(100, 108))
    assert column(cropped, 1, True) == [VERB, END]


def test_weights_of_sixteen_bits_take_steps_smaller_than_their_spacing(policy, letters):
    """Those above 0.03 are at least 1.2e-4 apart in bfloat16; a step is about 1e-5."""
    trees = [as_tree(d, policy.prompts) for d in demonstrate(letters, letters.task_ids, 10, 0.0, 0)]
    policy.model.bfloat16()
    before = torch.cat([p.detach().flatten().float() for p in policy.model.parameters()])
    fine_tune(policy, trees, dataclasses.replace(QUICK, steps=100, lr=1e-5, warmup=0, weight_decay=0.0))
    after = torch.cat([p.detach().flatten().float() for p in policy.model.parameters()])
    large = before.abs() > 0.03
    assert (before != after)[large].float().mean() > 0.1


@pytest.fixture
def eight_words() -> Policy:
    """A fresh model of a language of eight words."""
    words = {word: n for n, word in enumerate(["<eos>", *"abcdefg"])}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer(models.WordLevel(words, unk_token="<eos>")), eos_token="<eos>"
    )
    size = TinyConfig(hidden=32, layers=2, heads=4, kv_heads=2, intermediate=48, context=128)
    return Policy.of(build_model(tokenizer, size, 0), tokenizer)


@pytest.mark.parametrize("lr", [5e-3, 0.0])
def test_the_copy_drill_raises_the_length_when_copying_is_learned(eight_words, lr):
    """Repeating one token needs no learning, since the embeddings favour it; copying three does."""
    config = dataclasses.replace(QUICK, lr=lr, drill_steps=150, drill_tokens=256)
    optimizer = torch.optim.AdamW(eight_words.model.parameters(), lr=lr)
    reached = copy_drill(eight_words, optimizer, config, np.random.default_rng(0))
    assert reached > 3.0 if lr else reached < 3.0


@pytest.fixture
def config() -> TrainConfig:
    sft = dataclasses.replace(QUICK, steps=3)
    return TrainConfig("tests/Letters-v0", "rloo", tiny=SMALL, sft=sft)


def test_a_warm_started_policy_is_kept_and_used_again(config, tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path))
    env = LettersEnv()
    steps: list[int] = []
    first = starting_policy(config, env, fitted=lambda step, _: steps.append(step))
    assert steps == [0, 1, 2]
    folder = warm_start_folder(env, config.tiny, config.sft)
    assert folder.is_dir()
    assert [p.name for p in folder.parent.iterdir()] == [folder.name]
    second = starting_policy(config, env, fitted=lambda step, _: steps.append(step))
    assert steps == [0, 1, 2]
    for mine, theirs in zip(first.parameters(), second.parameters(), strict=True):
        assert mine.equal(theirs)
    other = dataclasses.replace(config.sft, seed=1)
    assert warm_start_folder(env, config.tiny, other) != folder
    assert warm_start_folder(LettersEnv("dev"), config.tiny, config.sft) != folder
    assert warm_start_folder(env, dataclasses.replace(config.tiny, layers=3), config.sft) != folder


def test_without_a_warm_start_the_policy_is_random_and_reads_the_same_words(config, tmp_path, monkeypatch):
    monkeypatch.setenv("SANDGYM_DATA", str(tmp_path))
    cold = starting_policy(dataclasses.replace(config, warm_start=False), LettersEnv())
    warm = starting_policy(config, LettersEnv())
    assert cold.tokenizer.get_vocab() == warm.tokenizer.get_vocab()
    weights = [np.concatenate([p.detach().numpy().ravel() for p in policy.parameters()]) for policy in (cold, warm)]
    assert weights[0].shape == weights[1].shape
    assert not np.array_equal(*weights)


def test_another_model_is_loaded_as_it_is(policy, config, tmp_path):
    policy.save(tmp_path)
    loaded = starting_policy(dataclasses.replace(config, model=str(tmp_path)), LettersEnv())
    for mine, theirs in zip(loaded.parameters(), policy.parameters(), strict=True):
        assert mine.equal(theirs)
    with pytest.raises(OSError, match="nowhere"):
        starting_policy(dataclasses.replace(config, model=str(tmp_path / "nowhere")), LettersEnv())
