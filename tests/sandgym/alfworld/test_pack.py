"""A pack answers like the folder that it was built from, and says what is wrong with a file that is none."""

import json
import multiprocessing
import os
import shutil
import struct

import gymnasium
import pytest

from sandgym.alfworld import pack
from sandgym.alfworld.pack import PACK, PackError, build_pack, is_pack, open_pack
from sandgym.alfworld.tasks import GameFolder
from sandgym.alfworld.world import load_world
from sandgym.core import SandboxError
from sandgym.data import DATA_SETS


@pytest.fixture(scope="module")
def source(real_folder, tmp_path_factory):
    """Three games of each split, and one for each reason to leave a game out."""
    root = tmp_path_factory.mktemp("source")
    for split in ("train", "valid_unseen"):
        for game in sorted((real_folder / "json_2.1.1" / split).glob("*/*/game.tw-pddl"))[:90:30]:
            target = root / split / game.parent.parent.name / game.parent.name
            target.mkdir(parents=True)
            shutil.copy(game, target)
    content = json.loads(game.read_text())
    for name, change in {"T1": {"solvable": False}, "T2": {"solvable": None}}.items():
        (root / "train" / "odd" / name).mkdir(parents=True)
        changed = {key: value for key, value in (content | change).items() if value is not None}
        (root / "train" / "odd" / name / "game.tw-pddl").write_text(json.dumps(changed))
    (root / "train" / "odd" / "T3").mkdir()
    (root / "train" / "look-AppleSliced-Desk-1" / "T4").mkdir(parents=True)
    return root


@pytest.fixture
def built(source, tmp_path):
    return build_pack(source, tmp_path / "built").parent


def same(folder, packed):
    """Assert that two stores give the same answers; returns the number of games."""
    assert packed.splits == folder.splits
    for split in folder.splits:
        assert packed.ids(split) == folder.ids(split)
        assert packed.skipped(split) == folder.skipped(split)
        for task_id in folder.ids(split):
            assert packed.hash(task_id) == folder.hash(task_id)
            assert packed.task_type(task_id) == folder.task_type(task_id)
            assert packed.game(task_id).record() == folder.game(task_id).record()
            assert packed.game_file(task_id).endswith(f"/{task_id}/game.tw-pddl")
    return sum(len(folder.ids(split)) for split in folder.splits)


def test_all_games_of_the_sample(real_folder, tmp_path):
    told = []
    path = build_pack(real_folder, tmp_path / "built", progress=told.append)
    assert path == tmp_path / "built" / DATA_SETS["alfworld"].whole
    assert told == list(range(1, 395))
    assert same(GameFolder(real_folder), open_pack(path)) == 394
    open_pack(path).check()
    assert path.stat().st_size < 2_000_000


def test_games_that_are_left_out_are_known(source, built):
    assert is_pack(built)
    assert not is_pack(source)
    packed = open_pack(built)
    assert same(GameFolder(source), packed) == 6
    assert [skipped.task_id for skipped in packed.skipped("train")] == [
        "train/look-AppleSliced-Desk-1/T4",
        "train/odd/T1",
        "train/odd/T2",
        "train/odd/T3",
    ]


def test_hashes_of_data_and_tasks_are_those_of_the_folder(source, built):
    of_folder, of_pack = load_world(source), load_world(built)
    assert type(of_pack.store) is pack.GamePack
    for name in ("train", "test", "valid_unseen"):
        assert of_pack.split(name).key == of_folder.split(name).key
        assert of_pack.split(name).ids == of_folder.split(name).ids
        assert of_pack.split(name, (1, 2)).ids == of_folder.split(name, (1, 2)).ids


def test_an_episode_is_the_same_and_goes_on_in_the_other(source, built):
    """The walkthrough's first half is played from the folder, the second from the pack."""
    from_folder, from_pack = (
        gymnasium.make("sandgym/ALFWorld-v0", data=data, split="test").unwrapped for data in (source, built)
    )
    assert from_folder.task_ids == from_pack.task_ids
    for task_id in from_folder.task_ids:
        assert from_folder.task_hash(task_id) == from_pack.task_hash(task_id)
        assert (
            from_folder.reset(seed=1, options={"task": task_id})[0]
            == from_pack.reset(seed=1, options={"task": task_id})[0]
        )
        commands = from_folder.game.walkthrough
        for command in commands[: len(commands) // 2]:
            seen, played = from_folder.step(command), from_pack.step(command)
            assert seen[:4] == played[:4]
            assert seen[4]["admissible_commands"] == played[4]["admissible_commands"]
            assert from_folder.state_digest == from_pack.state_digest
        from_pack.reset()
        from_pack.restore(from_folder.snapshot())
        for command in commands[len(commands) // 2 :]:
            *_, info = from_pack.step(command)
        assert info["won"]
        assert info["extra.gamefile"] == str(built / PACK / task_id / "game.tw-pddl")


def test_the_same_games_make_the_same_file(source, built, tmp_path):
    again = build_pack(source, tmp_path / "again")
    assert again.read_bytes() == (built / PACK).read_bytes()
    assert open_pack(again).key == open_pack(built).key
    assert os.listdir(again.parent) == [PACK]


def test_values_in_common_are_stored_once(real_folder, tmp_path):
    """Eight tasks of one game take little more than one."""
    game = next((real_folder / "json_2.1.1" / "train").glob("*/*/game.tw-pddl"))
    for number in range(8):
        (tmp_path / "eight" / "train" / "task" / str(number)).mkdir(parents=True)
        shutil.copy(game, tmp_path / "eight" / "train" / "task" / str(number))
    packed = open_pack(build_pack(tmp_path / "eight", tmp_path / "built"))
    first, *others = (packed.game(task_id) for task_id in packed.ids("train"))
    assert len(others) == 7
    assert all(other.can_contain is first.can_contain and other.receptacles is first.receptacles for other in others)


def test_unknown_tasks_and_splits(built):
    packed = open_pack(built)
    with pytest.raises(KeyError):
        packed.ids("valid_seen")
    for task_id in ("train/no/such", "valid_seen/no/such", ""):
        with pytest.raises(KeyError):
            packed.game(task_id)
        with pytest.raises(KeyError):
            packed.hash(task_id)


def digest_of_all(path):
    packed = open_pack(path)
    return [hash(packed.game(task_id).record()[1:3]) for split in packed.splits for task_id in packed.ids(split)]


def test_processes_share_a_file_and_leave_it_as_it_is(built):
    before = (built / PACK).read_bytes()
    (built / PACK).chmod(0o444)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        answers = pool.map(digest_of_all, [built] * 8)
    assert all(answer == answers[0] for answer in answers)
    assert (built / PACK).read_bytes() == before


# What is no pack.


def damaged(built, change):
    path = built / PACK
    path.write_bytes(change(path.read_bytes()))
    return path


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"x" * 500])
def test_a_foreign_file(built, content):
    damaged(built, lambda whole: content)
    with pytest.raises(PackError, match=r"is not a pack of ALFWorld games; run `sandgym data build alfworld` again"):
        open_pack(built)


def test_no_file(tmp_path):
    assert not is_pack(tmp_path)
    with pytest.raises(PackError, match=r"there is no pack .*sandgym data build alfworld"):
        open_pack(tmp_path)


@pytest.mark.parametrize("length", [100, -1])
def test_a_truncated_file(built, length):
    damaged(built, lambda whole: whole[:length])
    with pytest.raises(
        PackError, match=r"is cut off or damaged: it has [\d,]+ bytes of [\d,]+; run `sandgym data build"
    ):
        open_pack(built)


def test_a_file_of_another_format(built):
    damaged(built, lambda whole: whole[:16] + struct.pack("<I", 99) + whole[20:])
    with pytest.raises(PackError, match="has format 99, this version reads 1; run `sandgym data build alfworld` again"):
        open_pack(built)


def test_a_file_of_games_with_other_fields(built, monkeypatch):
    monkeypatch.setattr(pack, "_FIELDS", (*pack._FIELDS, "smell"))
    with pytest.raises(PackError, match="built by another version of sandgym; run `sandgym data build"):
        open_pack(built)


def test_every_changed_byte_is_noticed(built):
    whole = (built / PACK).read_bytes()
    for place in [*range(pack._HEADER.size), *range(pack._HEADER.size, len(whole), len(whole) // 150)]:
        damaged(built, lambda _, place=place: whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(PackError, match="sandgym data build alfworld"):
            open_pack(built).check()


# What cannot be packed.


def test_a_damaged_game_is_named_and_the_old_pack_stays(source, built, tmp_path):
    before = (built / PACK).read_bytes()
    broken = tmp_path / "broken"
    shutil.copytree(source, broken)
    game = sorted((broken / "train").glob("*/*/game.tw-pddl"))[0]
    game.write_text(game.read_text()[:5000])
    with pytest.raises(SandboxError, match=game.parent.name):
        build_pack(broken, built)
    assert (built / PACK).read_bytes() == before
    assert os.listdir(built) == [PACK]


def test_a_folder_without_games(tmp_path):
    with pytest.raises(SandboxError, match="sandgym data download alfworld"):
        build_pack(tmp_path, tmp_path / "built")
    assert not (tmp_path / "built").exists()


def test_an_output_that_cannot_be_written(source, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SandboxError, match=r"cannot write .*nothing was changed"):
        build_pack(source, tmp_path / "file" / "built")


def test_a_pack_is_opened_again_after_another_build(source, built, real_folder):
    first = load_world(built)
    assert load_world(built) is first
    build_pack(real_folder, built)
    assert len(load_world(built).split("train").ids) == 120
