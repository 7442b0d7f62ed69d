"""What a player knows is true, and what the explorer makes of it is admissible, whatever is said."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from sample import real_games

from sandgym.alfworld import rules, text
from sandgym.alfworld.commands import admissible
from sandgym.alfworld.explorer import best_order, dawdle, decide, promise, random_order, slip
from sandgym.alfworld.game import bits
from sandgym.alfworld.knowledge import Knowledge, Place, Task, begin, learn
from sandgym.alfworld.priors import LEAST, TABLE, estimate, weight
from sandgym.alfworld.state import NOTHING
from sandgym.draws import Draw

PUT_A_MUG = Task(1, "mug", "shelf")
INTRO = "You are in the middle of a room. Looking quickly around you, you see a {}.\n\nYour task is to: {}."


def test_every_task_sentence_is_understood():
    sentences = Counter()
    for _, game in real_games():
        known = begin(text.intro(game))
        wanted = {game.objects[thing].split()[0] for thing in bits(game.wanted)}
        holders = game.objects if game.task_type == 2 else game.receptacles
        targets = {holders[target].split()[0] for target in bits(game.targets)}
        assert (known.task.type, {known.task.thing}, {known.task.target}) == (game.task_type, wanted, targets)
        assert tuple(place.name for place in known.places) == game.receptacles
        sentences[game.task_type, game.task.split(": ")[1].split()[0]] += 1
    assert len(sentences) == 11  # two sentences of each type; those of type 1 both begin with "put"


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from(["move", "put"]))
def test_what_is_known_is_true(random, grammar):
    game = random.choice(real_games())[1]
    state, known = game.start, begin(text.intro(game))
    for _ in range(40):
        options = admissible(game, state, grammar)
        eager = [command for command in options if not command.startswith(("go", "examine"))]
        command = random.choice(eager if random.random() < 0.6 else options)
        action = rules.parse(game, command, grammar)
        state = rules.apply(game, state, action)
        known = learn(known, text.feedback(game, state, action, grammar), admissible(game, state, grammar))
        assert known.held == ("" if state.held == NOTHING else game.objects[state.held])
        assert known.here == game.at[state.location]
        for index, place in enumerate(known.places):
            things = {game.objects[thing] for thing in bits(state.contents[index])}
            assert set(place.things) == things or not place.seen
            assert not place.seen or place.closed == (not rules.accessible(game, state, index))
        treated = {3: state.clean, 4: state.hot, 5: state.cool & ~game.start.cool}.get(game.task_type, 0)
        assert known.ready == {game.objects[thing] for thing in bits(treated)}


PHRASES = st.sampled_from(
    ["You are", "open.", "closed.", "In it, you see", "a mug 1", ", and", "The shelf 1 is", "On the shelf 1"]
)


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(st.text(), st.just(INTRO.format("shelf 1", "put a mug in shelf"))),
    st.lists(st.one_of(st.text(), st.lists(PHRASES).map(" ".join)), max_size=5),
    st.lists(st.one_of(st.text(), st.sampled_from(["look", "examine shelf 1", "take mug 1 from shelf 1"])), max_size=4),
)
def test_nothing_raises_whatever_is_said(intro, observations, options):
    known = begin(intro)
    for observation in observations:
        known = learn(known, observation, options)
    for order in (best_order, random_order):
        command = decide(known, options, order(known, Draw("test")))
        assert command in options or (command == "look" and not options)
        assert isinstance(slip(known, options, command, Draw("test")), str)
        assert dawdle(options, command, Draw("test")) in {*options, command}


def known_room(*names, task=PUT_A_MUG, **changes):
    return Knowledge(task, tuple(Place(name) for name in names), **changes)


def test_places_are_searched_in_proportion_to_what_they_promise():
    known = known_room("toaster 1", "coffeemachine 1", "cabinet 1")
    likely, cabinet = weight("mug", "coffeemachine"), weight("mug", "cabinet") // 2  # its door costs a second step
    assert [promise(known, index) for index in range(3)] == [LEAST, likely, weight("mug", "cabinet")]
    count = 2000
    first = Counter(random_order(known, Draw("test", seed))[0] for seed in range(count))
    for index, share in enumerate((LEAST, likely, cabinet)):
        assert abs(first[index] / count - share / (LEAST + likely + cabinet)) < 0.03
    assert best_order(known, Draw("test"))[0] == 1


def test_best_order_draws_among_equals_only():
    known = known_room("drawer 1", "drawer 2", "drawer 3", "coffeemachine 1")
    orders = {tuple(best_order(known, Draw("test", seed))) for seed in range(50)}
    assert len(orders) == 6
    assert {order[0] for order in orders} == {3}


def test_a_thing_that_cannot_serve_is_put_away_and_another_is_sought():
    known = known_room("fridge 1", "countertop 1", "cabinet 1", task=Task(5, "mug", "cabinet"), held="mug 1")
    options = ("examine fridge 1", "go to cabinet 1", "go to countertop 1", "look", "move mug 1 to fridge 1")
    known = learn(known, "You arrive at fridge 1. The fridge 1 is closed.", options)
    assert known.failed == {"cool mug 1"}
    assert decide(known, options, []) == "move mug 1 to fridge 1"
    known = learn(known, "You move the mug 1 to the fridge 1.", ("examine fridge 1", "take mug 1 from fridge 1"))
    assert known.sought() == ("mug",)
    assert decide(known, ("go to countertop 1", "take mug 1 from fridge 1"), [1]) == "go to countertop 1"


def test_of_two_the_second_goes_where_the_first_is():
    known = known_room("shelf 1", "shelf 2", "desk 1", task=Task(6, "pen", "shelf"), held="pen 2", here=(2,))
    shelf = known.places[1]._replace(seen=True, things=("pen 1",))
    known = known._replace(places=(known.places[0], shelf, known.places[2]))
    assert decide(known, ("go to shelf 1", "go to shelf 2", "move pen 2 to desk 1"), []) == "go to shelf 2"
    known = known._replace(held="", here=())
    assert decide(known, ("go to desk 1", "go to shelf 1", "go to shelf 2"), [2]) == "go to desk 1"


def test_slips_change_no_thing_and_are_not_the_best_step():
    known = known_room("coffeemachine 1", "desk 1", "toaster 1", here=(1,))
    options = ("close desk 1", "examine desk 1", "go to coffeemachine 1", "go to toaster 1", "inventory", "look")
    options += ("move pen 1 to desk 1", "take mug 1 from desk 1")
    slips = Counter(slip(known, options, "look", Draw("test", seed)) for seed in range(200))
    useless = {"close desk 1", "go to toaster 1"}
    impossible = {"go to desk 1", "go to coffeemachine 10", "go to desk 10", "go to toaster 10"}
    assert set(slips) == useless | impossible
    assert slip(known, ("take mug 1 from desk 1",), "take mug 1 from desk 1", Draw("test")) in impossible


def test_dawdling_changes_nothing():
    options = ("close desk 1", "examine desk 1", "examine mug 1", "go to toaster 1", "inventory", "look")
    found = Counter(dawdle(options, "close desk 1", Draw("test", seed)) for seed in range(300))
    assert set(found) == {"examine desk 1", "examine mug 1", "inventory", "look"}
    assert all(70 < found[verb] < 130 for verb in ("inventory", "look"))  # 100 expected, standard deviation 8
    assert dawdle(("close desk 1",), "close desk 1", Draw("test")) == "close desk 1"


def test_a_thing_that_is_elsewhere_is_taken_in_error():
    known = known_room("desk 1", "shelf 1", here=(0,))
    known = known._replace(places=(known.places[0], known.places[1]._replace(things=("mug 1",))))
    slips = {slip(known, (), "look", Draw("test", seed)) for seed in range(100)}
    assert slips == {"go to desk 1", "go to desk 10", "go to shelf 10", "take mug 1 from desk 1"}


def test_priors_are_those_of_the_training_games():
    games = [game for name, game in real_games() if "/train/" in f"/{name}"]
    assert len(games) == 120
    table = {thing: dict(places) for thing, places in estimate(games).items()}
    lines = (f'"{thing}": {places}'.replace("'", '"') for thing, places in table.items())
    assert TABLE.read_text() == "{\n" + ",\n".join(lines) + "\n}\n"
