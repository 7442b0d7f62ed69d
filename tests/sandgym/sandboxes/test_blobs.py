"""Blobs: one for each content, removed with the last that refers to it."""

import gc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from sandgym.sandboxes import blobs, reaper


def test_threads_that_keep_the_same_content_have_the_same_blob(tmp_path: Path) -> None:
    files = [tmp_path / str(number) for number in range(16)]
    for file in files:
        file.write_text("the same")
    with ThreadPoolExecutor(16) as pool:
        kept = list(pool.map(lambda file: blobs.keep(str(file), "d" * 64), files))
    assert all(blob is kept[0] for blob in kept)
    path = kept[0].path
    del kept[1:]
    gc.collect()
    assert path.read_text() == "the same"
    kept.clear()
    gc.collect()
    reaper.wait_for_removals()
    assert not path.exists()
    again = blobs.keep(str(files[0]), "d" * 64)
    assert again.path.read_text() == "the same"
