"""The written games: a problem in ALFRED's shape, its domain, and its grammar."""

import json
import re
import tarfile
from collections import Counter

import pytest
from sample import ARCHIVE

from sandgym.alfworld.domain import DOMAIN, grammar
from sandgym.alfworld.gamefile import Goal, parse_game
from sandgym.alfworld.generate import game_document, iter_trials
from sandgym.alfworld.houses import Names, build_room
from sandgym.alfworld.problem import problem_text
from sandgym.alfworld.trials import Task, make_trial

ID = re.compile(r"[A-Z][A-Za-z]*(_bar_(_plus_|_minus_)?\d\d_dot_\d\d){3}(_bar_(SinkBasin|BathtubBasin))?")
PLACE = re.compile(r"loc_bar_(_minus_)?\d+_bar_(_minus_)?\d+_bar_[0-3]_bar_(_minus_)?\d+")
# Arguments of each predicate that an official problem states.
SIGNATURES = {
    "receptacletype": ("receptacle", "rtype"),
    "objecttype": ("object", "otype"),
    "cancontain": ("rtype", "otype"),
    "pickupable": ("object",),
    "isreceptacleobject": ("object",),
    "openable": ("receptacle",),
    "atlocation": ("agent", "location"),
    "cleanable": ("object",),
    "heatable": ("object",),
    "coolable": ("object",),
    "toggleable": ("object",),
    "sliceable": ("object",),
    "iscool": ("object",),
    "inreceptacleobject": ("object", "object"),
    "inreceptacle": ("object", "receptacle"),
    "receptacleatlocation": ("receptacle", "location"),
    "objectatlocation": ("object", "location"),
}


@pytest.fixture(scope="module")
def games():
    """The first 120 train games: trial, problem text and parsed document."""
    found = []
    for name, trial in iter_trials("train", 120):
        document = game_document(trial, name)
        found.append((trial, document["pddl_problem"], parse_game(json.dumps(document))))
    return found


def official_problems():
    """Problem texts of the shared official games."""
    if not ARCHIVE.is_file():
        pytest.skip(f"the real games are not in {ARCHIVE}")
    with tarfile.open(ARCHIVE) as archive:
        members = [member for member in archive if member.name.endswith("game.tw-pddl")]
        return [json.loads(archive.extractfile(member).read())["pddl_problem"] for member in members[::8]]


def shape(problem):
    """Predicates with the types of their arguments, and ids that are no known symbol, of a problem."""
    types = dict(re.findall(r"^\s*(\S+) - (\w+)\s*$", problem, re.MULTILINE))
    facts = [
        tuple(f.split())
        for f in re.findall(r"\(([^():]+)\)", problem[problem.index("(:init") : problem.index("(:goal")])
    ]
    signatures = {(name.lower(), tuple(types[argument] for argument in arguments)) for name, *arguments in facts}
    ids = {symbol: types[symbol] for _, *arguments in facts for symbol in arguments}
    strange = {
        symbol
        for symbol, kind in ids.items()
        if not (
            (kind == "agent" and symbol == "agent1")
            or (kind in ("otype", "rtype") and re.fullmatch(r"[A-Za-z]+Type", symbol))
            or (kind == "location" and PLACE.fullmatch(symbol))
            or (kind in ("object", "receptacle") and ID.fullmatch(symbol))
        )
    }
    return signatures, strange


def test_official_problems_have_the_shape_that_generated_ones_must_have():
    for problem in official_problems():
        signatures, strange = shape(problem)
        assert signatures <= set(SIGNATURES.items())
        assert not strange


def test_generated_problems_have_the_official_shape(games):
    seen = set()
    for _, problem, _ in games:
        signatures, strange = shape(problem)
        seen |= signatures
        assert not strange
    assert seen == set(SIGNATURES.items())


def test_every_symbol_is_declared_once(games):
    for _, _, source in games:
        declared = Counter(symbol for symbol, _ in source.types)
        assert set(declared.values()) == {1}
        used = {symbol for _, *arguments in source.init for symbol in arguments}
        assert used <= declared.keys()
        needed = {"sinkbasintype", "microwavetype", "fridgetype", "knifetype", "butterknifetype"}
        assert needed <= declared.keys()
        assert len(set(source.init)) == len(source.init)


def test_every_receptacle_has_one_place_and_every_thing_is_at_its_receptacle(games):
    for _, _, source in games:
        facts = {name: [arguments for n, *arguments in source.init if n == name] for name in SIGNATURES}
        places = dict(facts["receptacleatlocation"])
        kinds = dict(source.types)
        assert len(places) == len(facts["receptacleatlocation"]) == sum(k == "receptacle" for k in kinds.values())
        at = dict(facts["objectatlocation"])
        assert len(at) == len(facts["objectatlocation"]) == sum(kind == "object" for kind in kinds.values())
        inside = {}
        for thing, receptacle in facts["inreceptacle"]:
            inside.setdefault(thing, []).append(places[receptacle])
        assert all(at[thing] in found for thing, found in inside.items())
        (start,) = facts["atlocation"]
        assert start[1] not in places.values()


def test_what_may_be_put_where_covers_what_is_there(games):
    for trial, _, source in games:
        can = {fact[1:] for fact in source.init if fact[0] == "cancontain"}
        for thing in trial.things:
            for receptacle in thing.inside:
                assert (f"{receptacle.kind}type".lower(), f"{thing.kind}type".lower()) in can


def test_nested_things_lie_in_the_same_receptacle(games):
    pairs = 0
    for trial, _, _ in games:
        inside = {thing.id: thing.inside[0] for thing in trial.things}
        for inner, outer in trial.nested:
            assert inner != outer
            assert inside[inner] == inside[outer]
            pairs += 1
    assert pairs > 5


@pytest.mark.parametrize(
    ("task_type", "scene", "folder"),
    [
        (1, 201, "pick_and_place_simple"),
        (2, 301, "look_at_obj_in_light"),
        (3, 401, "pick_clean_then_place_in_recep"),
        (4, 1, "pick_heat_then_place_in_recep"),
        (5, 1, "pick_cool_then_place_in_recep"),
        (6, 1, "pick_two_obj_and_place"),
    ],
)
def test_the_goal_is_the_official_one_of_the_task(task_type, scene, folder):
    trial = make_trial(build_room(scene), task_type, "x")
    source = parse_game(json.dumps(game_document(trial, "trial_x")))
    task = trial.task
    assert source.goal == Goal(task_type, f"{task.thing}type".lower(), f"{task.target}type".lower())
    assert task.folder == f"{folder}-{task.thing}-None-{task.target}"
    assert source.task == trial.sentence
    assert source.walkthrough == trial.walkthrough
    assert source.grammar == "move"


def test_both_sentences_of_every_task_type_occur():
    forms = {
        1: ("put a mug in desk", "put some mug on desk"),
        2: ("look at mug under the desk", "examine the mug with the desk"),
        3: ("put a clean mug in desk", "clean some mug and put it in desk"),
        4: ("put a hot mug in desk", "heat some mug and put it in desk"),
        5: ("put a cool mug in desk", "cool some mug and put it in desk"),
        6: ("put two mug in desk", "find two mug and put them in desk"),
    }
    seen = {task_type: set() for task_type in forms}
    for _, trial in iter_trials("dev", 100):
        task = trial.task
        sentence = trial.sentence.removeprefix("Your task is to: ").removesuffix(".")
        for word, general in ((task.thing.lower(), "mug"), (task.target.lower(), "desk")):
            sentence = re.sub(rf"\b{word}\b", general, sentence)
        seen[task.task_type].add(sentence)
    assert seen == {task_type: set(sentences) for task_type, sentences in forms.items()}


def test_the_problem_is_named_after_its_trial():
    _, trial = next(iter_trials("test", 1))
    assert problem_text(trial, "trial_T1").startswith("(define (problem plan_trial_T1)\n(:domain alfred)\n")


def test_domain_and_grammar_have_the_same_actions():
    text = grammar("Your task is to: wait.")
    assert re.findall(r"^\(:action (\w+)", DOMAIN, re.MULTILINE) != []
    assert set(re.findall(r"^\(:action (\w+)", DOMAIN, re.MULTILINE)) == set(
        re.findall(r"^action (\w+)", text, re.MULTILINE)
    )
    assert DOMAIN.count("(") == DOMAIN.count(")")


def test_every_symbol_of_the_grammar_is_defined():
    text = grammar('Your task is to: find the "best" mug.')
    rules = json.loads(text[text.index("{") : text.index('""";')])
    used = set(re.findall(r"#(\w+)#", text))
    assert used | {"intro", "list_empty", "list_separator", "list_last_separator"} == rules.keys()
    assert rules["task"] == [{"rhs": 'Your task is to: find the "best" mug.'}]
    for choices in rules.values():
        assert all("condition" in choice for choice in choices[:-1])
        assert "condition" not in choices[-1]


def test_predicates_of_the_grammar_are_in_the_domain():
    predicates = re.findall(r"\((\w+) ", DOMAIN[DOMAIN.index("(:predicates") : DOMAIN.index("(:functions")])
    text = grammar("Your task is to: wait.")
    conditions = re.findall(r"(\w+)\((?:\w+:\w+(?:, )?)+\)", text)
    assert conditions
    assert {name.removeprefix("not_") for name in conditions} <= {predicate.lower() for predicate in predicates}


def test_ids_hold_coordinates_and_are_never_equal():
    names = Names()
    assert names.new("Mug", (-58, 0, 312)) == "Mug_bar__minus_00_dot_58_bar_00_dot_00_bar__plus_03_dot_12"
    assert names.new("Mug", (-58, 0, 312)) == "Mug_bar__minus_00_dot_58_bar_00_dot_00_bar__plus_03_dot_13"
    assert Task(1, "Mug", "Desk").folder == "pick_and_place_simple-Mug-None-Desk"
