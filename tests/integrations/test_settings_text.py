"""Entries in and out of a settings text, in each notation: every other byte stays."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents import Form
from recollect.integrations import settings_text
from recollect.integrations.agent_pieces import find_hooks
from recollect.integrations.settings_text import KeyPath, NotPlain, Tree, value_at

EVENTS = ("SessionStart", "PreToolUse", "Stop")
OTHER = {"type": "command", "command": "notify-send done"}
SERVER = {"mcp": {"ours": {"type": "local"}}}


def group(event: str) -> dict[str, Any]:
    return {"hooks": [{"type": "command", "command": f"ours {event}", "timeout": 5}]}


HOOKS = {"hooks": {event: [group(event)] for event in EVENTS}}
STOP = {"hooks": {"Stop": [group("Stop")]}}


def added(text: str, tree: Tree = HOOKS, form: Form = Form.JSON) -> str:
    """And that taking it back leaves every byte."""
    what = settings_text.insertions(form, text, tree)
    after = settings_text.insert(text, what)
    assert settings_text.take_back(after, what) == text
    return after


def ours(text: str, form: Form = Form.JSON) -> list[KeyPath]:
    return find_hooks("ours ", settings_text.load(form, text))


def cleaned(text: str, keep: Sequence[KeyPath] = ()) -> str:
    return settings_text.without(Form.JSON, text, ours(text), keep)


def containers(text: str) -> list[KeyPath]:
    settings = settings_text.load(Form.JSON, text)
    ways: list[KeyPath] = [("hooks",), *(("hooks", event) for event in EVENTS)]
    return [way for way in ways if value_at(settings, way) is not None]


def loaded(text: str) -> Any:
    """Numbers stay text: one of five thousand digits is valid JSON too."""
    return json.loads(text.removeprefix("\ufeff"), parse_int=lambda digits: digits)


# How it looks

FRESH = json.dumps(STOP, indent=2) + "\n"


@pytest.mark.parametrize("text", ["", "{}\n", "{\n}\n"])
def test_a_file_of_our_own_is_plain_to_read(text: str):
    assert added(text, STOP) == FRESH


def test_entries_are_written_as_the_file_is_written():
    tabs = added('{\n\t"model": "x"\n}', STOP)
    assert tabs == json.dumps({"model": "x", **STOP}, indent="\t")
    dos = added('{\r\n    "model": "x"\r\n}\r\n')
    assert dos.count("\n") == dos.count("\r\n")
    assert '\r\n    "hooks": {\r\n        "SessionStart": [' in dos
    assert "\n" not in added('{"model":"x","hooks":{"Stop":[]}}')
    assert all(added(text).startswith("\ufeff{") for text in ("\ufeff{}", "\ufeff"))


# In and out again

SHAPES = {
    "empty": "",
    "blank": " \n\n",
    "only a mark": "\ufeff",
    "space in it": "{ \n\n }",
    "mark": '\ufeff{"a": 1}',
    "odd": '{ "a" :1 ,"b":\n2}',
    "empty lists": '{\n  "hooks": {\n    "Stop": [],\n    "PreToolUse": [\n    ]\n  }\n}\n',
    "escaped key": '{"\\u0068ooks": {"St\\u006fp": []}}',
    "odd values": '{"hooks": {"Notification": null, "Other": {}}, "n": 1e400, "i": '
    + "9" * 5000
    + "}",
    "groups of no shape": '{"hooks": {"Stop": [null, 5, {}, {"hooks": null}, {"hooks": [null, {"command": 5}]}]}}',
    "twice elsewhere": '{"env": {"A": "1", "A": "2"}}',
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_in_and_out_leaves_every_byte(text: str):
    after = added(text)
    assert sorted(str(way[1]) for way in ours(after)) == sorted(EVENTS)
    assert loaded(after)
    assert ours(text) == []
    assert cleaned(text) == text


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
groups = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.just(OTHER) | values, max_size=2)},
        optional={"matcher": st.just("Bash")},
    )
    | values,
    max_size=3,
)
events = st.dictionaries(st.sampled_from([*EVENTS, "Notification"]), groups, max_size=3)
settings = st.builds(
    lambda before, hooks, after: {**before, **hooks, **after},
    st.dictionaries(words, values, max_size=2),
    st.just({}) | st.fixed_dictionaries({"hooks": events}),
    st.dictionaries(words.filter(lambda word: word != "hooks"), values, max_size=2),
)


@given(
    settings, st.booleans(), st.sampled_from([None, 0, 3, "\t"]), st.sampled_from([(",", ":"), ("\n,", " :\r\n")]),
    st.sampled_from(["", "\ufeff", "\ufeff\n\t"]), st.text(alphabet=" \t\r\n", max_size=4),
)  # fmt: skip
def test_in_and_out_leaves_every_byte_of_any_settings(
    value: object,
    ascii: bool,
    indent: int | str | None,
    separators: tuple[str, str],
    before: str,
    after_it: str,
):
    text = (
        before
        + json.dumps(value, ensure_ascii=ascii, indent=indent, separators=separators)
        + after_it
    )
    after = added(text)
    assert sorted(str(way[1]) for way in ours(after)) == sorted(EVENTS)
    assert loaded(cleaned(after, containers(text))) == loaded(text)


# After others wrote into it


def test_only_ours_go_from_a_file_that_was_edited():
    text = added('{\n  "model": "x"\n}\n')
    edited = text.replace('"x"', '"y"').replace(
        '"Stop": [', '"Stop": [{"hooks": [' + json.dumps(OTHER) + "]}, "
    )
    left = cleaned(edited)
    assert loaded(left) == {"model": "y", "hooks": {"Stop": [{"hooks": [OTHER]}]}}
    assert left.startswith('{\n  "model": "y",\n')
    mixed = json.dumps(
        {"hooks": {"Stop": [{"hooks": [OTHER, group("Stop")["hooks"][0], OTHER]}]}}, indent=2
    )
    assert cleaned(mixed) == json.dumps({"hooks": {"Stop": [{"hooks": [OTHER, OTHER]}]}}, indent=2)


@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize(
    "text", ['{"a": 1}', '{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}, "z": 0}']
)
def test_a_file_that_the_agent_wrote_anew_is_cleaned_as_well(text: str, indent: int | str | None):
    rewritten = json.dumps(json.loads(added(text)), indent=indent)
    assert cleaned(rewritten) == json.dumps(json.loads(text), indent=indent)


def test_what_stood_empty_before_us_may_stay_and_a_text_that_changed_is_not_taken_back_blindly():
    text = '{"hooks": {"Stop": []}}'
    assert cleaned(added(text), containers(text)) == text
    assert cleaned(added(text)) == "{}"
    what = settings_text.insertions(Form.JSON, "{}", HOOKS)
    assert settings_text.take_back(added("{}").replace("Stop", "Halt"), what) is None


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('{\n  "a": 1,\n}', 3, "not plain JSON"),
        ('{\n  // mine\n  "a": 1\n}', 2, "not plain JSON"),
        ('{"a": 1} {', 1, "not plain JSON"),
        ('{"a": NaN}', 1, "not plain JSON"),
        ('{\n"a": 1,\n"b": "\t"}', 3, "not plain JSON"),
        ("[]", 1, "not a JSON object"),
        ("\n7", 2, "not a JSON object"),
        ('{"hooks": {},\n "hooks": {}}', 2, "written twice"),
        ('{"hooks": {"Stop": [],\n\n "Stop": []}}', 3, "written twice"),
        ('{"hooks": []}', 1, "'hooks' is not an object"),
        ('{\n"hooks": null}', 2, "'hooks' is not an object"),
        ('{"hooks": {"Stop":\n {}}}', 2, "'Stop' is not a list"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", 1, "nested too deeply"),
    ],
)
def test_what_is_not_clear_is_left_alone(text: str, line: int, problem: str):
    with pytest.raises(NotPlain, match=f"^line {line}: .*{problem}"):
        added(text)
    if "twice" in problem:
        with pytest.raises(NotPlain):
            settings_text.load(Form.JSON, text, HOOKS)


# With comments

COMMENTED = [
    '{\n  // with "quotes", and a }\n  "a": "http://x", /* b */\n  "mcp": {\n    "o": {"x": [1,],},\n  },\n}\n',
    '{"a": "/* no comment */, ]", "mcp": {}}',
    "// before\n{\n}\n// after\n",
    "",
]


@pytest.mark.parametrize("text", COMMENTED)
def test_comments_and_trailing_commas_stay_where_they_are(text: str):
    after = added(text, {**SERVER, **STOP}, Form.COMMENTED)
    assert (
        value_at(settings_text.load(Form.COMMENTED, after), ("mcp", "ours"))
        == SERVER["mcp"]["ours"]
    )
    assert ours(after, Form.COMMENTED) == [("hooks", "Stop", 0)]
    if '"mcp"' in text:
        edited = added(text, SERVER, Form.COMMENTED).replace("{", "{ /* new */", 1)
        cut = settings_text.without(Form.COMMENTED, edited, [("mcp", "ours")], [("mcp",)])
        assert cut == text.replace("{", "{ /* new */", 1)


@pytest.mark.parametrize("text", ['{"a": 1 "b": 2}', "[1]", '{"mcp": 3}'])
def test_with_comments_too_what_is_not_clear_is_refused(text: str):
    with pytest.raises(NotPlain):
        added(text, SERVER, Form.COMMENTED)


# TOML

TABLE = {"mcp_servers": {"recollect": {"command": '/home/ada/it\'s "here"/bin/mcp', "args": []}}}
WAY: KeyPath = ("mcp_servers", "recollect")
TABLES = [
    "", "a = 1\n", "a = 1", "a = 1\r\n", "# only a comment\n", "[mcp_servers]\n",
    "[mcp_servers.other]\ncommand = 'x'\n\n", "[b]\nz = [\n[1],\n[2]]\n",
]  # fmt: skip


@pytest.mark.parametrize("text", TABLES)
def test_a_table_goes_in_and_out(text: str):
    after = added(text, TABLE, Form.TOML)
    theirs = "\n# a note of theirs\n[projects.'/x']\ntrust_level = 'trusted'\n"
    assert value_at(settings_text.load(Form.TOML, after), WAY) == value_at(TABLE, WAY)
    if text.endswith("\n") or not text:
        assert settings_text.without(Form.TOML, after + theirs, [WAY]) == text + theirs
    # Tables below it go with it.
    text = "[mcp_servers.recollect]\ncommand = 'x'\n[mcp_servers.recollect.env]\nA = 'b'\n[mcp_servers.recollected]\n"
    assert settings_text.without(Form.TOML, text, [WAY]) == "[mcp_servers.recollected]\n"


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers.recollect.command = 'x'\n",
        "mcp_servers = {recollect = {command = 'x'}}\n",
        "[mcp_servers]\nrecollect = {command = 'x'}\n",
        'x = """\n[mcp_servers.recollect]\n"""\n[mcp_servers.recollect]\ncommand = "x"\n',
    ],
)
def test_a_table_that_is_written_otherwise_is_not_cut(text: str):
    with pytest.raises(NotPlain):
        settings_text.without(Form.TOML, text, [WAY])


@pytest.mark.parametrize("text", ["a = \n", "[x\n", "a = 1\na = 2\n", "mcp_servers = {}\n"])
def test_toml_that_nothing_can_be_added_to_is_refused(text: str):
    with pytest.raises(NotPlain, match=r"^line [1-9]"):
        added(text, TABLE, Form.TOML)
