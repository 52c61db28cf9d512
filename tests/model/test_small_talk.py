"""Prompts that name nothing to look for are told from those that do, in each language that is supported."""

import pytest

from recollect.model.small_talk import is_small_talk, names_nothing


@pytest.mark.parametrize(
    "prompt",
    [
        "", "?", "👍", "2", "hi", "Hello there!", "yes", "ok go on", "Thanks a lot :)", "commit this",
        "commit and push",
        "looks good, continue", "try again", "yeah, do it", "/compact", "/review", "[Image #1]", "option 3",
        "fix it", "danke, mach weiter", "passt so", "guten Morgen", "sí, por favor", "dale, sigue", "muchas gracias",
        "oui, vas-y", "s'il te plaît continue", "merci", "sim, pode continuar", "bom dia", "obrigado",
        "да, давай дальше", "спасибо", "хорошо, продолжай", "好的，请继续", "谢谢", "はい、お願いします", "了解です",
        "được rồi, tiếp tục đi", "cảm ơn bạn",
    ],
)  # fmt: skip
def test_greetings_thanks_and_nods_are_small_talk(prompt: str):
    assert is_small_talk(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "install lodash", "why does the nightly build fail?", "push it to staging", "yes, but keep the old parser",
        "/fix the login redirect loop", "/etc/hosts is wrong", "3000", "look at #1234", "run the migrations again",
        "und jetzt die Tests", "arregla el buscador", "corrige la recherche", "conserta a busca", "почини поиск",
        "修复搜索", "検索を直して", "sửa tìm kiếm giúp tôi", "ok " * 300,
    ],
)  # fmt: skip
def test_whatever_names_a_matter_is_not(prompt: str):
    assert not is_small_talk(prompt)


@pytest.mark.parametrize(
    "prompt", ["commit this and update the changelog", "push it to a branch, and create a PR", "fix the failing tests"]
)
def test_a_chore_of_every_project_names_nothing(prompt: str):
    assert names_nothing(prompt)


@pytest.mark.parametrize("prompt", ["which branch is merged last?", "fix the failing tests in the importer"])
def test_a_question_or_a_matter_is_no_chore(prompt: str):
    assert not names_nothing(prompt)
