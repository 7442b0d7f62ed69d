"""The tree: tokens once, paths, branching inside and between segments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import FAILED, build

from algos.tree import ROOT, Outcome, Segment, Tree


def episode() -> tuple[Tree, int]:
    tree = Tree("task")
    tree.segments[ROOT].read([10, 11], 0)
    leaf = tree.grow(ROOT)
    tree.segments[leaf].write([20, 21], [-0.1, -0.2], [0.3, 0.4], 0)
    tree.segments[leaf].pay(0.5)
    tree.segments[leaf].read([30], 1)
    tree.segments[leaf].write([22], [-0.5], [0.6], 1)
    tree.segments[leaf].outcome = Outcome(return_=0.5, steps=2)
    return tree, leaf


def test_columns_have_one_entry_a_token():
    tree, leaf = episode()
    segment = tree.segments[leaf]
    assert segment.tokens == [20, 21, 30, 22]
    assert segment.written == [True, True, False, True]
    assert segment.logprobs == [-0.1, -0.2, 0.0, -0.5]
    assert segment.entropies == [0.3, 0.4, 0.0, 0.6]
    assert segment.rewards == [0.0, 0.5, 0.0, 0.0]
    assert segment.steps == [0, 0, 1, 1]


def test_branch_inside_a_segment_moves_the_tail():
    tree, leaf = episode()
    head, tail = tree.branch(leaf, 3)
    assert (head, tail) == (leaf, 2)
    assert tree.segments[head].tokens == [20]
    assert tree.segments[head].outcome is None
    assert tree.segments[tail].tokens == [21, 30, 22]
    assert tree.segments[tail].rewards == [0.5, 0.0, 0.0]
    assert tree.segments[tail].outcome == Outcome(return_=0.5, steps=2)
    assert tree.path(tail) == [ROOT, head, tail]
    assert tree.leaves() == [tail]


def test_branch_at_the_start_of_a_segment_leaves_an_empty_head():
    tree, leaf = episode()
    head, tail = tree.branch(leaf, 2)
    assert tree.segments[head].tokens == []
    assert tree.segments[head].children == [tail]
    assert tree.segments[ROOT].children == [head]
    assert tree.path_length(tail) == 6


def test_branch_above_a_branch_keeps_the_children_below_it():
    tree, leaf = episode()
    head, tail = tree.branch(leaf, 4)
    sibling = tree.grow(head)
    upper, lower = tree.branch(tail, 3)
    assert upper == head
    assert tree.segments[lower].children == [tail, sibling]
    assert tree.path(sibling) == [ROOT, upper, lower, sibling]
    assert tree.path(tail) == [ROOT, upper, lower, tail]


def test_parents_come_first_also_when_they_were_made_later():
    tree, leaf = episode()
    head, tail = tree.branch(leaf, 4)
    sibling = tree.grow(head)
    upper, lower = tree.branch(tail, 3)
    assert lower > sibling > tail
    assert tree.parents_first() == [ROOT, upper, lower, tail, sibling]


@pytest.mark.parametrize("position", [-1, 7])
def test_branch_outside_the_path_is_an_error(position):
    tree, leaf = episode()
    with pytest.raises(ValueError, match=f"position {position} is outside"):
        tree.branch(leaf, position)


@given(st.lists(st.integers(0, 6), max_size=5))
def test_branching_never_changes_a_path(positions):
    tree, leaf = episode()
    for position in positions:
        head, tail = tree.branch(leaf, position)
        leaf = tail if head == leaf else leaf
        assert [t for i in tree.path(leaf) for t in tree.segments[i].tokens] == [10, 11, 20, 21, 30, 22]
        assert tree.leaves() == [leaf]
        assert tree.unique_tokens() == 6
        assert tree.path_length(leaf) == 6
        for index, segment in enumerate(tree.segments):
            assert all(tree.segments[child].parent == index for child in segment.children)


def test_outcomes_leave_out_failed_leaves():
    tree = build((2, 1.0), (1, FAILED), (3, 0.25))
    assert [o.return_ for o in tree.outcomes()] == [1.0, 0.25]
    assert tree.leaves() == [1, 2, 3]
    assert tree.unique_tokens() == 8


def test_cut_at_the_end_gives_an_empty_tail():
    segment = Segment(None)
    segment.read([1, 2], 0)
    tail = segment.cut(2)
    assert (len(segment), len(tail)) == (2, 0)
