"""Settings are one table; each layer is taken as far as it may be, and what is wrong is said."""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from recollect.base import settings
from recollect.base.settings import SETTINGS, Setting, Settings, load

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")
NAMES = [setting.name for setting in SETTINGS]
PROMISED = """
    MEMORY_RECALL MEMORY_UPDATE MEMORY_FORGETTING MEMORY_VALIDATION MEMORY_RECALL_SCHEME
    MEMORY_RECALL_MODELS MEMORY_RECALL_PROMPTS MEMORY_RECALL_PRESEARCH MEMORY_RECALL_PRESEARCH_CONTENT
    MEMORY_FORGETTING_SCHEDULE MEMORY_VALIDATION_SCHEDULE MEMORY_VALIDATION_AMOUNT MEMORY_LLM
    MEMORY_LLM_COMMAND MEMORY_LLM_CALLS_PER_DAY MEMORY_LLM_TOKENS_PER_DAY MEMORY_EMBEDDING_MODEL
    MEMORY_RULES_SYNC MEMORY_SKILLS MEMORY_TOASTS
""".split()


def written(folder: Path, text: str | bytes, name: str = "agent.conf") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def user(folder: Path, text: str | bytes) -> Settings:
    return load(written(folder, text), None, {})


def project(folder: Path, text: str | bytes, *, over: str = "") -> Settings:
    return load(written(folder, over, "user.conf"), written(folder, text), {})


def source(loaded: Settings, name: str) -> str:
    return next(value.source for value in loaded.values if value.name == name)


# The table


def test_every_promised_setting_is_in_the_table_once():
    assert set(PROMISED) <= set(NAMES)
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("setting", SETTINGS, ids=NAMES)
def test_every_setting_takes_its_own_default_has_a_reason_and_a_policy_that_fits_its_kind(
    setting: Setting,
):
    assert settings.canonical(setting, setting.default) == setting.default
    assert setting.reason.endswith(".")
    assert setting.name.startswith("MEMORY_")
    assert settings.expected(setting)
    assert setting.narrow != "off_only" or setting.kind == "switch" or "off" in setting.choices
    assert setting.narrow != "lower_only" or setting.kind in {"count", "figure"}
    if setting.kind in {"text", "pair", "choice", "schedule"} and "off" not in setting.choices:
        assert setting.narrow == "never"


def test_values_have_the_type_that_was_asked_for():
    defaults = load(None, None, {})
    assert defaults.switch("MEMORY_RECALL") is True
    assert defaults.count("MEMORY_BUSY_TIMEOUT_MS") == 15_000
    assert defaults.figure("MEMORY_HALF_LIFE_DAYS") == 3.0
    assert defaults.text("MEMORY_RECALL_SCHEME") == "off"
    assert defaults.schedule("MEMORY_VALIDATION_SCHEDULE") == (75, 100)
    for written_as, floor in (("0.7", 0.7), (".3", 0.3), ("off", 0.0), ("OFF", 0.0), ("1", 1.0)):
        loaded = load(None, None, {"MEMORY_RECALL_FLOOR": written_as})
        assert (loaded.figure("MEMORY_RECALL_FLOOR"), loaded.problems) == (floor, ())
    for name in ("MEMORY_LLM", "MEMORY_RULES_SYNC", "MEMORY_SKILLS", "MEMORY_TOASTS"):
        assert defaults.switch(name) is False, (
            "nothing that costs or writes elsewhere is on by default"
        )


# The layers


def test_each_layer_lies_over_the_one_before(tmp_path: Path):
    mine = written(
        tmp_path, "MEMORY_LLM_CALLS_PER_DAY=40\nMEMORY_TOASTS=on\nMEMORY_SKILLS=on\n", "user.conf"
    )
    theirs = written(tmp_path, "\nMEMORY_LLM_CALLS_PER_DAY=30\nMEMORY_TOASTS=off\n")

    loaded = load(mine, theirs, {"MEMORY_LLM_CALLS_PER_DAY": "60", "PATH": "/bin"})

    assert loaded.problems == ()
    assert loaded.count("MEMORY_LLM_CALLS_PER_DAY") == 60
    assert source(loaded, "MEMORY_LLM_CALLS_PER_DAY") == "environment"
    assert source(loaded, "MEMORY_TOASTS") == f"{theirs}:3"
    assert source(loaded, "MEMORY_SKILLS") == f"{mine}:3"
    assert source(loaded, "MEMORY_RECALL") == "default"


@pytest.mark.parametrize(
    "here", ["http://127.0.0.1:1/v1#m", "http://localhost/v1", "http://[::1]:8/v1", "/models/x"]
)
def test_what_stays_on_this_machine_may_be_set_in_the_environment(here: str):
    loaded = load(None, None, {"MEMORY_EMBEDDING_MODEL": here})
    assert (loaded.text("MEMORY_EMBEDDING_MODEL"), loaded.problems) == (here, ())


@pytest.mark.parametrize(
    "away",
    [
        "https://api.example.com/v1#m",
        "http://10.0.0.7/v1",
        "http://localhost.example.com/v1",
        "http://[::1/v1",
    ],
)
def test_another_machine_is_named_by_the_user_s_own_file_alone(tmp_path: Path, away: str):
    mine = written(tmp_path, f"MEMORY_EMBEDDING_MODEL={away}", "user.conf")
    assert load(mine, None, {}).text("MEMORY_EMBEDDING_MODEL") == away
    loaded = load(None, None, {"MEMORY_EMBEDDING_MODEL": away})
    assert loaded.text("MEMORY_EMBEDDING_MODEL") == "shipped"
    (problem,) = loaded.problems
    assert "only your own agent.conf" in problem


NARROWING = [
    # what stands, what a stranger says, what then stands
    ("MEMORY_RECALL=on", "MEMORY_RECALL=off", "off"),
    ("MEMORY_RECALL=off", "MEMORY_RECALL=on", "off"),
    ("MEMORY_LLM=off", "MEMORY_LLM=on", "off"),
    ("MEMORY_LLM=on", "MEMORY_LLM=no", "off"),
    ("MEMORY_LLM_CALLS_PER_DAY=50", "MEMORY_LLM_CALLS_PER_DAY=9", "9"),
    ("MEMORY_LLM_CALLS_PER_DAY=50", "MEMORY_LLM_CALLS_PER_DAY=100", "50"),
    ("MEMORY_LLM_TOKENS_PER_DAY=90", "MEMORY_LLM_TOKENS_PER_DAY=100", "90"),
    ("MEMORY_LLM_COMMAND=claude", "MEMORY_LLM_COMMAND=curl evil.example", "claude"),
    ("MEMORY_RECALL_MODELS=a/b", "MEMORY_RECALL_MODELS=c/d", "a/b"),
    ("MEMORY_RECALL_PROMPTS=a/b", "MEMORY_RECALL_PROMPTS=c/d", "a/b"),
    ("MEMORY_EMBEDDING_MODEL=shipped", "MEMORY_EMBEDDING_MODEL=/tmp/x", "shipped"),
    (
        "MEMORY_EMBEDDING_MODEL=shipped",
        "MEMORY_EMBEDDING_MODEL=http://127.0.0.1:99/v1#x",
        "shipped",
    ),
    ("MEMORY_HALF_LIFE_DAYS=3", "MEMORY_HALF_LIFE_DAYS=0.1", "3"),
    ("MEMORY_JOURNAL_DAYS=365", "MEMORY_JOURNAL_DAYS=30", "365"),
    ("MEMORY_BACKUPS_KEPT=5", "MEMORY_BACKUPS_KEPT=3", "5"),
    ("MEMORY_FORGETTING_SCHEDULE=0/200", "MEMORY_FORGETTING_SCHEDULE=0/1", "0/200"),
]


@pytest.mark.parametrize(("stands", "says", "then"), NARROWING)
def test_a_project_and_a_hooks_environment_only_narrow(
    tmp_path: Path, stands: str, says: str, then: str
):
    key, _, value = says.partition("=")
    mine = written(tmp_path, stands, "user.conf")
    by_file = load(mine, written(tmp_path, says), {})
    by_hook = load(mine, None, {key: value}, hook=True)
    by_shell = load(mine, None, {key: value})

    for loaded, owner in ((by_file, "a project"), (by_hook, "a hook's environment")):
        assert loaded.text(key) == then
        if then != stands.partition("=")[2]:
            assert not loaded.problems
        else:
            (problem,) = loaded.problems
            assert (f": {owner} may" in problem, problem.endswith(f" Using {then}.")) == (
                True,
                True,
            )
            assert source(loaded, key) == f"{mine}:1"
    assert (by_shell.problems, source(by_shell, key)) == ((), "environment"), (
        "the user's own shell may set anything"
    )


def test_saying_what_already_stands_is_no_problem(tmp_path: Path):
    loaded = project(tmp_path, "MEMORY_LLM_COMMAND=claude\nMEMORY_RECALL=on\n")
    assert loaded.problems == ()
    assert source(loaded, "MEMORY_LLM_COMMAND") == "default"


WILD = st.sampled_from(
    ["on", "off", "0", "1", "7", "50", "99999", "0.5", "single", "a/b", "0/3", "rm -rf", ""]
)


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(*2 * [st.dictionaries(st.sampled_from(NAMES), WILD)])
def test_no_hook_environment_ever_widens(
    tmp_path: Path, mine: dict[str, str], hook: dict[str, str]
):
    before = user(tmp_path, "\n".join(f"{name}={value}" for name, value in mine.items()))
    after = load(tmp_path / "agent.conf", None, hook, hook=True)

    for setting in SETTINGS:
        was, now = before.text(setting.name), after.text(setting.name)
        if setting.narrow == "never":
            assert now == was
        elif setting.narrow == "off_only":
            assert now in {was, "off"}
        else:
            assert float(now) <= float(was)


# What a file may look like


@pytest.mark.parametrize(
    "line",
    ["MEMORY_TOASTS=on", "  MEMORY_TOASTS = on  ", "export MEMORY_TOASTS=on", "MEMORY_TOASTS='on'",
     'MEMORY_TOASTS="on" # so that I see it', "MEMORY_TOASTS=on\t# comment", "MEMORY_TOASTS=ON", "MEMORY_TOASTS=yes",
     "\ufeffMEMORY_TOASTS=on", "MEMORY_TOASTS=on\r", "# first\r\n\r\nMEMORY_TOASTS=on\r\n",
     "#\rMEMORY_TOASTS=on\r"],
)  # fmt: skip
def test_every_usual_way_to_write_a_line_is_read(tmp_path: Path, line: str):
    loaded = user(tmp_path, line)
    assert (loaded.switch("MEMORY_TOASTS"), loaded.problems) == (True, ())
    command = user(tmp_path, "MEMORY_LLM_COMMAND=\"my llm --tag #1 'x'\"").text(
        "MEMORY_LLM_COMMAND"
    )
    assert command == "my llm --tag #1 'x'", "a command keeps its words and its inner marks"


BAD = {
    "on or off": ["RECALL=maybe", "RECALL="],
    "a whole number from 3 to 1000": [
        f"BACKUPS_KEPT={value}" for value in ("2", "many", "٥", "5_0", "9" * 900)
    ],
    "a whole number from 30 to 36500": ["JOURNAL_DAYS=29"],
    "a number from 0.1 to 3650": ["HALF_LIFE_DAYS=nan", "HALF_LIFE_DAYS=inf", "HALF_LIFE_DAYS=0"],
    "a number from 0 to 1": ["SUSPEND_BELOW=-1"],
    "a number from 0 to 1 or off": [
        f"RECALL_FLOOR={value}" for value in ("1.5", "-1", "low", "55%")
    ],
    "off or single or double": ["RECALL_SCHEME=triple"],
    "offset/cycle": [f"FORGETTING_SCHEDULE={value}" for value in ("200/200", "0/0", "7")],
    "two names": ["RECALL_PROMPTS=../../x", "RECALL_MODELS=opus"],
    "one line": ["LLM_COMMAND=a\x1b[2Jb", "LLM_COMMAND=" + "x" * 2_000],
}


@pytest.mark.parametrize(
    ("line", "expected"),
    [(f"MEMORY_{line}", expected) for expected, lines in BAD.items() for line in lines],
)
def test_a_bad_value_is_reported_with_file_and_line_and_the_default_is_used(
    tmp_path: Path, line: str, expected: str
):
    loaded = user(tmp_path, f"# mine\n{line}\n")
    key = line.partition("=")[0]
    default = load(None, None, {}).text(key)
    (problem,) = loaded.problems
    assert problem.startswith(f"{tmp_path / 'agent.conf'}:2: {key}")
    assert f"must be {expected}" in problem
    assert problem.endswith(f". Using {default}.")
    assert loaded.text(key) == default
    assert len(problem) <= len(str(tmp_path)) + 300


def test_a_bad_value_leaves_the_layer_below_standing_and_of_a_key_set_twice_the_last_counts(
    tmp_path: Path,
):
    mine = written(tmp_path, "MEMORY_BACKUPS_KEPT=7\nMEMORY_TOASTS=on\nMEMORY_BACKUPS_KEPT=8\n")
    loaded = load(mine, None, {"MEMORY_BACKUPS_KEPT": "lots"})
    assert loaded.count("MEMORY_BACKUPS_KEPT") == 8
    twice, bad = loaded.problems
    assert ("agent.conf:1: " in twice, "set again on line 3" in twice) == (True, True)
    assert (bad.startswith("environment: "), bad.endswith(" Using 8.")) == (True, True)


@pytest.mark.parametrize(
    ("line", "meant"),
    [("MEMORY_RECAL=off", "MEMORY_RECALL"), ("memory_toasts=on", "MEMORY_TOASTS"), ("RECALL=off", "MEMORY_RECALL"),
     ("MEMORY_HALFLIFE_DAYS=2", "MEMORY_HALF_LIFE_DAYS"), ("EDITOR=vi", "")],
)  # fmt: skip
def test_an_unknown_key_is_reported_with_what_was_probably_meant(
    tmp_path: Path, line: str, meant: str
):
    (problem,) = user(tmp_path, line).problems
    assert problem.endswith(
        f"unknown setting (did you mean {meant}?)." if meant else "unknown setting."
    )


def test_other_programs_variables_are_not_our_business():
    assert (
        load(None, None, {"MEMORY_LIMIT": "2G", "MEMORY_RECALL": "", "EDITOR": "vi"}).problems == ()
    )
    assert len(load(None, None, {"MEMORY_TOAST": "on"}).problems) == 1


@pytest.mark.parametrize(
    "line", ["just words", "=on", "MEMORY-TOASTS=on", 'MEMORY_TOASTS="on', "MEMORY_TOASTS='on'x"]
)
def test_a_line_that_is_no_setting_is_reported_and_the_rest_is_read(tmp_path: Path, line: str):
    loaded = user(tmp_path, f"{line}\nMEMORY_SKILLS=on\n")
    (problem,) = loaded.problems
    assert "agent.conf:1: " in problem
    assert loaded.switch("MEMORY_SKILLS") is True


# Files that are none


def test_no_file_is_no_problem(tmp_path: Path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "none", tmp_path / "file" / "none", None):
        assert load(path, path, {}) == load(None, None, {})


@pytest.mark.parametrize(
    "content",
    [
        b"\x7fELF\x00\x01MEMORY_TOASTS=on",
        b"\xff\xfeM\x00",
        b"MEMORY_TOASTS=on\n\xc3\x28",
        b"MEMORY_TOASTS=on\n" * 700_000,
    ],
    ids=["binary", "utf-16", "not utf-8", "10 MB"],
)
def test_a_file_that_is_no_settings_file_is_left_whole_and_reported_once(
    tmp_path: Path, content: bytes
):
    loaded = user(tmp_path, content)
    (problem,) = loaded.problems
    assert problem.startswith(f"{tmp_path / 'agent.conf'}: cannot be read")
    assert loaded.values == load(None, None, {}).values


@posix
def test_a_folder_a_pipe_and_a_device_are_reported(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", Path("/dev/zero")):
        assert len(load(path, None, {}).problems) == 1


@posix
def test_the_users_file_may_be_a_link_and_a_projects_may_not(tmp_path: Path):
    written(tmp_path, "MEMORY_RECALL=off", "real")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert load(tmp_path / "link", None, {}).switch("MEMORY_RECALL") is False
    assert load(None, tmp_path / "link", {}).switch("MEMORY_RECALL") is True


def test_a_file_full_of_mistakes_does_not_flood(tmp_path: Path):
    loaded = user(tmp_path, "x\n" * 10_000)
    assert len(loaded.problems) == 21
    assert loaded.problems[-1].endswith("9980 more lines could not be used.")


@pytest.mark.parametrize(
    "line", ["MEMORY_TOASTS=a" + " " * 60_000 + "b", "export" + " " * 60_000, "'\" " * 20_000]
)
def test_a_hostile_line_takes_no_time(tmp_path: Path, line: str):
    assert len(user(tmp_path, line).problems) == 1


@hypothesis_settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.one_of(st.binary(), st.text().map(lambda t: t.encode("utf-8", "surrogatepass"))), st.data()
)
def test_nothing_makes_it_raise(tmp_path: Path, content: bytes, data: st.DataObject):
    environ = data.draw(
        st.dictionaries(st.sampled_from([*NAMES, "MEMORY_X"]), st.text(st.characters()))
    )

    loaded = load(
        written(tmp_path, content), tmp_path / "agent.conf", environ, hook=data.draw(st.booleans())
    )

    assert [value.name for value in loaded.values] == NAMES
    for setting in SETTINGS:
        assert settings.canonical(setting, loaded.text(setting.name)) == loaded.text(setting.name)
    for problem in loaded.problems:
        problem.encode()


# Changing one setting


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("", "0.6", "X=0.6\n"),
        ("A=1", "0.6", "A=1\nX=0.6\n"),
        ("A=1\r\n", "0.6", "A=1\r\nX=0.6\r\n"),
        ("# X=1\n  export X = 0.5   # why\nB=2", "0.6", "# X=1\n  export X = 0.6   # why\nB=2"),
        ("\ufeffX='a b'\t# why\r\n\r\n", "c", "\ufeffX=c\t# why\r\n\r\n"),
        ("X=1\nX=2\n", "3", "X=1\nX=3\n"),
        ("X='open\n", "3", "X=3\n"),
        ("X=1\n", "a # b", 'X="a # b"\n'),
        ("A=1\nX=1\n\nX=2\nB=2", None, "A=1\n\nB=2"),
        ("A=1\n", None, "A=1\n"),
    ],
)
def test_one_setting_is_changed_and_no_other_byte(before: str, value: str | None, after: str):
    assert settings.change_text(before, "X", value) == after


def test_a_setting_is_found_by_its_name_in_any_case_with_or_without_the_prefix():
    found = {
        settings.find_setting(name)
        for name in ("MEMORY_RECALL_FLOOR", "recall-floor", " recall_floor ")
    }
    assert [one.name for one in found if one] == ["MEMORY_RECALL_FLOOR"]
    assert settings.find_setting("floor") is None
