"""The ratchet sees what it is there to see."""

from __future__ import annotations

from pathlib import Path

from tools.ratchet import measure


def figures(folder: Path, **files: str) -> dict[str, int]:
    for name, text in files.items():
        path = folder / "recollect" / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (folder / "tests").mkdir()
    return {name: figure for name, (figure, _) in measure(folder / "recollect", folder / "tests").items()}


def test_lines_and_long_files_are_counted(tmp_path: Path):
    found = figures(tmp_path, a__long="x = 1\n" * 400, a__short="x = 1\n" * 399)
    assert (found["source_lines"], found["files_of_400_lines_or_more"]) == (799, 1)


def test_a_folder_of_31_files_is_one_too_many(tmp_path: Path):
    found = figures(tmp_path, **{f"a__f{n}": "" for n in range(31)}, **{f"b__g{n}": "" for n in range(30)})
    assert found["folders_of_more_than_30_files"] == 1


def test_a_file_name_that_two_rooms_use_is_counted(tmp_path: Path):
    assert figures(tmp_path, a__same="", b__same="", b__other="")["file_names_in_two_rooms"] == 1


def test_a_cycle_behind_a_lazy_import_is_found_and_one_of_types_alone_is_none(tmp_path: Path):
    lazy = "def f():\n    from recollect.a import one\n"
    typed = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from recollect.a import three\n"

    found = figures(
        tmp_path,
        a__one="import recollect.a.two\n",
        a__two=lazy,
        a__three="from recollect.a import four\n",
        a__four=typed,
    )

    assert found["modules_in_import_cycles"] == 2
