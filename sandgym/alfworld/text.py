"""What a player reads.

Invariant: character for character what TextWorld writes for the same game and actions,
always with the article "a", whatever the noun.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sandgym.alfworld.game import Game, bits
from sandgym.alfworld.rules import Action, spelling
from sandgym.alfworld.state import NOTHING, State

NOTHING_HAPPENS = "Nothing happens."
_ROOM = "You are in the middle of a room. Looking quickly around you, you see {}."
HELP = """\
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""


def intro(game: Game) -> str:
    """The first observation: every receptacle, and the task."""
    seen = _ROOM.format(_listing(game.receptacles))
    return f"-= Welcome to TextWorld, ALFRED! =-\n\n{seen}\n\n{game.task}"


def feedback(game: Game, after: State, action: Action, grammar: str = "file") -> str:
    """The observation after a possible action.

    Args:
        game: whose names are used.
        after: the state that the action led to.
        action: what was done.
        grammar: see ``rules.spelling``.
    """
    verb, thing, receptacle, tool = action
    there = game.receptacles[receptacle] if receptacle != NOTHING else ""
    it = game.objects[thing] if thing != NOTHING else ""
    if verb == "go":
        place = there if spelling(game, grammar) == "move" else game.locations[after.location]
        return f"You arrive at {place}. {_examine_receptacle(game, after, receptacle)}"
    if verb == "take":
        return f"You pick up the {it} from the {there}."
    if verb == "move":
        new = spelling(game, grammar) == "move"
        return f"You move the {it} to the {there}." if new else f"You put the {it} in/on the {there}."
    if verb == "open":
        return f"You open the {there}. {_examine_receptacle(game, after, receptacle)}"
    if verb == "close":
        return f"You close the {there}."
    if verb in ("clean", "heat", "cool"):
        return f"You {verb} the {it} using the {there}."
    if verb == "use":
        return f"You turn on the {it}."
    if verb == "slice":
        return f"You sliced the {it} with the {game.objects[tool]}."
    if verb == "examine":
        if receptacle != NOTHING:
            return _examine_receptacle(game, after, receptacle)
        return _examine_object(game, after, thing)
    if verb == "inventory":
        return inventory(game, after)
    return look(game, after) if verb == "look" else HELP


def inventory(game: Game, state: State) -> str:
    """What the agent holds."""
    if state.held == NOTHING:
        return "You are not carrying anything."
    return f"You are carrying: a {game.objects[state.held]}."


def look(game: Game, state: State) -> str:
    """The receptacles here, and what the original believes to lie on the floor."""
    here = game.at[state.location]
    if not here:
        return _ROOM.format("nothing")
    facing = _joined([game.receptacles[receptacle] for receptacle in here])
    present = state.present[state.location]
    floor = sorted((thing, r) for r in here if state.taken[r] & present for thing in bits(state.taken[r] & present))
    return f"You are facing the {facing}. Next to it, you see {_listing(game.objects[thing] for thing, _ in floor)}."


def _examine_receptacle(game: Game, state: State, receptacle: int) -> str:
    name = game.receptacles[receptacle]
    if game.openable >> receptacle & 1:
        if not state.opened >> receptacle & 1:
            return f"The {name} is closed."
        start = f"The {name} is open. In it"
    else:
        start = f"On the {name}"
    names = game.objects
    return f"{start}, you see {_listing([names[thing] for thing in bits(state.contents[receptacle])])}."


def _examine_object(game: Game, state: State, thing: int) -> str:
    name = game.objects[thing]
    if game.holders >> thing & 1:
        inside = game.inside[thing] & ~(1 << thing)
        return f"This is a normal {name}. In it, you see {_listing(game.objects[index] for index in bits(inside))}."
    clean, hot, cool, sliced, toggled = (
        bool(mask >> thing & 1) for mask in (state.clean, state.hot, state.cool, state.sliced, state.toggled)
    )
    if cool and not hot and not clean and not sliced:
        return f"This is a cold {name}."
    words = ["hot"] if hot else ["cool"] if cool else []
    words += ["clean"] if clean else []
    if words:
        return f"This is a {' and '.join(words)}{' sliced' if sliced else ''} {name}."
    if toggled and game.toggleable >> thing & 1:
        return f"This {name} is on."
    return f"This is a sliced {name}." if sliced and game.sliceable >> thing & 1 else _plain(name)


def _plain(name: str) -> str:
    return f"There's nothing special about {name}."


def _listing(names: Iterable[str]) -> str:
    return _joined([f"a {name}" for name in names])


def _joined(items: Sequence[str]) -> str:
    if len(items) < 2:
        return items[0] if items else "nothing"
    return f"{', '.join(items[:-1])}, and {items[-1]}"
