"""The disk of the power-cut simulation forgets what was not synced, and nothing else."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st

from bench.disk import SECTOR, Disk


def after_many_cuts(disk: Disk) -> list[dict[str, bytes]]:
    return [disk.after_cut(random.Random(seed)) for seed in range(200)]


def disk_with(name: str, content: bytes) -> Disk:
    disk = Disk()
    disk.write(name, 0, content)
    disk.sync(name)
    return disk


def test_writes_arrive_in_no_particular_order():
    disk = disk_with("a", b"..")
    disk.write("a", 0, b"1")
    disk.write("a", 1, b"2")
    assert {left["a"] for left in after_many_cuts(disk)} == {b"..", b"1.", b".2", b"12"}


def test_a_long_write_is_torn_at_sectors():
    disk = disk_with("a", bytes(3 * SECTOR))
    disk.write("a", 0, b"x" * 3 * SECTOR)

    torn = {left["a"] for left in after_many_cuts(disk)}

    assert len(torn) > 2
    for image in torn:
        assert all(len(set(image[at : at + SECTOR])) == 1 for at in range(0, len(image), SECTOR))


def test_a_new_name_may_not_be_there_until_its_first_sync():
    disk = Disk()
    disk.write("a", 0, b"new")
    assert {} in after_many_cuts(disk)

    disk.sync("a")

    assert {} not in after_many_cuts(disk)


def test_a_deleted_file_may_come_back_until_the_folder_is_synced():
    disk = disk_with("a", b"gone")
    disk.delete("a", at_once=False)
    assert {"a": b"gone"} in after_many_cuts(disk)

    disk.write("b", 0, b"")
    disk.sync("b")

    assert all("a" not in left for left in after_many_cuts(disk))


def test_a_truncation_may_be_lost_too():
    disk = disk_with("a", b"long")
    disk.truncate("a", 1)
    assert {left["a"] for left in after_many_cuts(disk)} == {b"long", b"l"}


@given(st.lists(st.tuples(st.integers(0, 2_000), st.binary(max_size=700)), max_size=10), st.integers())
def test_after_a_sync_the_disk_holds_what_a_file_would(writes: list[tuple[int, bytes]], seed: int):
    disk, file = Disk(), bytearray()
    for offset, data in writes:
        disk.write("a", offset, data)
        file.extend(bytes(max(0, offset - len(file))))
        file[offset : offset + len(data)] = data
    disk.sync("a")

    assert disk.after_cut(random.Random(seed)) == {"a": bytes(file)}
