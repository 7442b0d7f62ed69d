"""Playing cards: hands, tricks, points."""

from sandgym.swebench.packages import describe

FAMILY = describe(
    "cards",
    "Cards as short texts such as KH, and what hands of them are worth.",
    r'''
### cards/card.py
"""Single cards."""

RANKS = "23456789TJQKA"
SUITS = "CDHS"


def rank(card):
    """Place of a card's rank, from 0."""
    return RANKS.index(card[0])


def suit(card):
    """Letter of a card's suit."""
    return card[-1]


def valid(card):
    """Whether a text is a card."""
    return len(card) == 2 and card[0] in RANKS and card[1] in SUITS


def red(card):
    """Whether a card is of hearts or diamonds."""
    return suit(card) == "H" or suit(card) == "D"


def deck(lowest="2"):
    """All cards from a rank on, suit by suit."""
    start = RANKS.index(lowest)
    return [letter + mark for mark in SUITS for letter in RANKS[start:]]

### cards/hand.py
"""Hands of cards."""

from cards.card import RANKS, rank, suit


def sort_hand(hand):
    """The highest card first; equal ranks by suit."""
    return sorted(hand, key=lambda card: (-rank(card), suit(card)))


def counts(hand):
    """How often each rank is in a hand, the largest numbers first."""
    letters = [card[0] for card in hand]
    return sorted((letters.count(letter) for letter in set(letters)), reverse=True)


def is_flush(hand):
    """Whether all cards are of one suit."""
    return len({suit(card) for card in hand}) == 1


def is_straight(hand):
    """Whether the ranks follow each other; an ace may come before a two."""
    ranks = sorted(rank(card) for card in hand)
    if ranks == [0, 1, 2, 3, 12]:
        return True
    return all(high - low == 1 for low, high in zip(ranks, ranks[1:]))


def name(hand):
    """Name of a hand of five."""
    shape = counts(hand)
    if is_flush(hand) and is_straight(hand):
        return "straight flush"
    if shape[0] == 4:
        return "four"
    if shape[0] == 3 and shape[1] == 2:
        return "full house"
    if is_flush(hand):
        return "flush"
    if is_straight(hand):
        return "straight"
    if shape[0] == 3:
        return "three"
    if shape[0] == 2:
        return "two pairs" if shape[1] == 2 else "pair"
    return "high " + RANKS[max(rank(card) for card in hand)]

### cards/scoring.py
"""Points and tricks."""

from cards.card import rank, suit

POINTS = {"A": «ACE», "K": «KING», "Q": 3, "J": 2, "T": 10}


def points(cards):
    """Points of several cards; the low ones have none."""
    return sum(POINTS.get(card[0], 0) for card in cards)


def blackjack(cards, limit=21):
    """Points at blackjack; an ace counts 11, or 1 where that would be too much."""
    total = 0
    aces = 0
    for card in cards:
        if card[0] == "A":
            aces += 1
            total += 11
        elif card[0] in "TJQK":
            total += 10
        else:
            total += int(card[0])
    while total > limit and aces > 0:
        total -= 10
        aces -= 1
    return total


def winner(trick, trump=None):
    """Place of the winning card: the highest trump, or the highest of the first suit."""
    best = 0
    for place, card in enumerate(trick):
        if beats(card, trick[best], trump):
            best = place
    return best


def beats(card, other, trump):
    """Whether a later card wins against an earlier one."""
    if suit(card) == suit(other):
        return rank(card) > rank(other)
    return suit(card) == trump

### tests/test_card.py
import unittest

from cards.card import deck, rank, red, suit, valid


class CardTest(unittest.TestCase):
    def test_lowest_rank(self):
        self.assertEqual(rank("2C"), 0)

    def test_rank(self):
        self.assertEqual(rank("TS"), 8)

    def test_suit(self):
        self.assertEqual(suit("7D"), "D")

    def test_valid(self):
        self.assertEqual(valid("QH"), True)

    def test_unknown_rank(self):
        self.assertEqual(valid("1H"), False)

    def test_unknown_suit(self):
        self.assertEqual(valid("QX"), False)

    def test_too_long(self):
        self.assertEqual(valid("QHH"), False)

    def test_hearts_are_red(self):
        self.assertEqual(red("2H"), True)

    def test_diamonds_are_red(self):
        self.assertEqual(red("2D"), True)

    def test_spades_are_not_red(self):
        self.assertEqual(red("2S"), False)

    def test_deck(self):
        self.assertEqual(len(deck()), 52)

    def test_short_deck(self):
        self.assertEqual(deck("K"), ["KC", "AC", "KD", "AD", "KH", "AH", "KS", "AS"])

### tests/test_hand.py
import unittest

from cards.hand import counts, is_flush, is_straight, name, sort_hand


class HandTest(unittest.TestCase):
    def test_sort_hand(self):
        self.assertEqual(sort_hand(["3S", "KH", "KC"]), ["KC", "KH", "3S"])

    def test_counts(self):
        self.assertEqual(counts(["3S", "KH", "KC", "KD", "4H"]), [3, 1, 1])

    def test_is_flush(self):
        self.assertEqual(is_flush(["2H", "9H", "KH"]), True)

    def test_is_no_flush(self):
        self.assertEqual(is_flush(["2H", "9H", "KS"]), False)

    def test_is_straight(self):
        self.assertEqual(is_straight(["7H", "5D", "6C"]), True)

    def test_straight_from_an_ace(self):
        self.assertEqual(is_straight(["AH", "2D", "3C", "4S", "5S"]), True)

    def test_straight_with_a_gap(self):
        self.assertEqual(is_straight(["4H", "5D", "7C"]), False)

    def test_straight_with_a_pair(self):
        self.assertEqual(is_straight(["4H", "4D", "5C"]), False)

    def test_straight_flush(self):
        self.assertEqual(name(["5H", "6H", "7H", "8H", "9H"]), "straight flush")

    def test_four(self):
        self.assertEqual(name(["5H", "5C", "5D", "5S", "9H"]), "four")

    def test_full_house(self):
        self.assertEqual(name(["5H", "5C", "5D", "9S", "9H"]), "full house")

    def test_flush(self):
        self.assertEqual(name(["2H", "6H", "7H", "8H", "9H"]), "flush")

    def test_straight(self):
        self.assertEqual(name(["5H", "6C", "7H", "8H", "9H"]), "straight")

    def test_three(self):
        self.assertEqual(name(["5H", "5C", "5D", "8H", "9H"]), "three")

    def test_two_pairs(self):
        self.assertEqual(name(["5H", "5C", "9D", "8H", "9H"]), "two pairs")

    def test_pair(self):
        self.assertEqual(name(["5H", "5C", "KD", "8H", "9H"]), "pair")

    def test_high_card(self):
        self.assertEqual(name(["2H", "5C", "QD", "8H", "9H"]), "high Q")

### tests/test_scoring.py
import unittest

from cards.scoring import beats, blackjack, points, winner


class ScoringTest(unittest.TestCase):
    def test_points(self):
        self.assertEqual(points(["AH", "KD"]), «ACE + KING»)

    def test_points_of_pictures(self):
        self.assertEqual(points(["QH", "JD", "TS"]), 15)

    def test_no_points(self):
        self.assertEqual(points(["9H", "2D"]), 0)

    def test_blackjack(self):
        self.assertEqual(blackjack(["AH", "KD"]), 21)

    def test_blackjack_low_cards(self):
        self.assertEqual(blackjack(["7H", "5D"]), 12)

    def test_blackjack_small_ace(self):
        self.assertEqual(blackjack(["AH", "KD", "5S"]), 16)

    def test_blackjack_two_aces(self):
        self.assertEqual(blackjack(["AH", "AD"]), 12)

    def test_blackjack_bust(self):
        self.assertEqual(blackjack(["KH", "QD", "JS"]), 30)

    def test_blackjack_with_limit(self):
        self.assertEqual(blackjack(["AH", "5D"], 15), 6)

    def test_winner(self):
        self.assertEqual(winner(["7H", "KH", "9H"]), 1)

    def test_winner_of_the_first_suit(self):
        self.assertEqual(winner(["7H", "AS"]), 0)

    def test_trump_wins(self):
        self.assertEqual(winner(["AH", "2S", "KH"], "S"), 1)

    def test_higher_trump_wins(self):
        self.assertEqual(winner(["AH", "2S", "9S"], "S"), 2)

    def test_beats(self):
        self.assertEqual(beats("9H", "7H", None), True)

    def test_other_suit_beats_not(self):
        self.assertEqual(beats("KD", "7H", "S"), False)
''',
    names={
        "cards": ("cards", "cardgame", "playing"),
        "scoring": ("scoring", "tally", "pointing"),
        "rank": ("rank", "height", "order_of"),
        "suit": ("suit", "colour", "family_of"),
        "deck": ("deck", "pack", "full_deck"),
        "sort_hand": ("sort_hand", "ordered", "fan"),
        "is_flush": ("is_flush", "one_suit", "flushed"),
        "is_straight": ("is_straight", "in_sequence", "consecutive"),
        "blackjack": ("blackjack", "twenty_one", "jack_points"),
        "winner": ("winner", "taker", "best_place"),
        "beats": ("beats", "defeats", "wins_over"),
        "trump": ("trump", "strong_suit", "trumps"),
        "valid": ("valid", "is_card", "legal"),
    },
    constants={"ACE": (11, 12, 14), "KING": (4, 5, 6)},
)
