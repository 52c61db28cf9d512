"""A child process says lines, is told lines, and is dead at the end."""

from __future__ import annotations

import pytest

from bench import child
from bench.child import Child
from bench.crash import pin_until_killed
from recollect.base.errors import RecollectError


def test_a_child_that_fails_is_an_error_not_silence(capfd: pytest.CaptureFixture[str]):
    with Child(child.answer) as broken, pytest.raises(RecollectError) as failed:
        broken.answer()

    assert failed.value.exit_code == 1
    assert "bench.child:answer" in failed.value.message
    assert "Traceback" in capfd.readouterr().err


def test_a_child_whose_parent_is_gone_ends():
    with Child(pin_until_killed, 1) as waiting:
        assert waiting.answer() == "ready"
        waiting._to.close()
        assert list(waiting.heard()) == []


def test_a_killed_child_has_said_what_it_said():
    with Child(pin_until_killed, 1) as waiting:
        waiting.answer()
        waiting.kill()
        assert list(waiting.heard()) == []
