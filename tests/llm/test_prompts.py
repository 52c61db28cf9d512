"""What is asked comes from a file: the user's where there is one, else the shipped one."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.app import language_model
from recollect.base.errors import NotFound


def test_a_template_of_the_user_goes_before_the_shipped_one(tmp_path: Path):
    shipped = language_model.load_prompt("capture-classify", tmp_path)
    (tmp_path / "capture-classify.md").write_text("Mine: {{said}}", encoding="utf-8")

    assert language_model.load_prompt("capture-classify", tmp_path) == "Mine: {{said}}"
    assert "{{said}}" in shipped


@pytest.mark.parametrize("name", ["", "../agent", "a/b", ".hidden", "nosuch", "x" * 200, "a\0b"])
def test_no_other_file_is_ever_read(name: str, tmp_path: Path):
    with pytest.raises(NotFound):
        language_model.load_prompt(name, tmp_path)


def test_a_template_that_is_no_text_is_said_to_be_the_problem(tmp_path: Path):
    (tmp_path / "capture-classify.md").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(NotFound, match="cannot be read"):
        language_model.load_prompt("capture-classify", tmp_path)


def test_instructions_that_name_no_place_get_everything_at_their_end():
    assert language_model.fill_prompt("Choose well.\n", (("a", "<user_prompt>{{b}}"), ("b", "x"))) == (
        "Choose well.\n\n<user_prompt>{{b}}\n\nx"
    )
    assert language_model.fill_prompt("Choose {{b}}.", (("a", "x"), ("b", "well"))) == "Choose well."


def test_it_is_filled_in_one_pass():
    filled = language_model.fill_prompt("{{a}} {{ b }} {{unknown}}.", (("a", "{{b}} \\1 {b}"), ("b", "{{a}}")))

    assert filled == "{{b}} \\1 {b} {{a}} ."
