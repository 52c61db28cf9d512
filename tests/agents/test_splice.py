"""Hooks in and out of a JSON text: every other byte stays."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.agents import splice
from recollect.base.errors import NotPlain

Hooks = tuple[tuple[str, Mapping[str, object]], ...]
SCRIPT = "'/home/ada/.recollect/bin/hook' "
EVENTS = ("SessionStart", "PreToolUse", "Stop")


def hook(event: str, timeout: int = 5) -> Mapping[str, object]:
    return {"type": "command", "command": f"{SCRIPT}{event} || :", "timeout": timeout}


HOOKS: Hooks = tuple((event, hook(event)) for event in EVENTS)
OTHER = {"type": "command", "command": "notify-send done"}


def ours(command: str) -> bool:
    return command.startswith(SCRIPT)


def added(text: str, hooks: Hooks = HOOKS) -> str:
    return splice.inserted(text, splice.insertions(text, hooks))


def back(text: str, hooks: Hooks = HOOKS) -> str | None:
    what = splice.insertions(text, hooks)
    return splice.taken_back(splice.inserted(text, what), what)


def loaded(text: str) -> object:
    """Figures stay text: one of five thousand digits is valid JSON too."""
    return json.loads(text.removeprefix("\ufeff"), parse_int=lambda digits: digits)


# How it looks

FRESH = """\
{
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "'/home/ada/.recollect/bin/hook' Stop || :",
            "timeout": 5
          }
        ]
      }
    ]
  }
}
"""
ONE: Hooks = (("Stop", hook("Stop")),)


@pytest.mark.parametrize("text", ["", "{}\n", "{\n}\n"])
def test_a_file_of_our_own_is_plain_to_read(text: str):
    assert added(text, ONE) == FRESH


def test_hooks_are_written_as_the_file_is_written():
    assert added('{\n\t"model": "x"\n}', ONE) == (
        '{\n\t"model": "x",\n\t"hooks": {\n\t\t"Stop": [\n\t\t\t{\n\t\t\t\t"hooks": [\n\t\t\t\t\t{\n'
        '\t\t\t\t\t\t"type": "command",\n'
        '\t\t\t\t\t\t"command": "\'/home/ada/.recollect/bin/hook\' Stop || :",\n'
        '\t\t\t\t\t\t"timeout": 5\n\t\t\t\t\t}\n\t\t\t\t]\n\t\t\t}\n\t\t]\n\t}\n}'
    )


def test_line_ends_stay_what_they_are():
    text = '{\r\n    "model": "x"\r\n}\r\n'

    assert added(text).count("\n") == added(text).count("\r\n")
    assert '\r\n    "hooks": {\r\n        "SessionStart": [' in added(text)


def test_a_text_of_one_line_stays_one():
    assert "\n" not in added('{"model":"x","hooks":{"Stop":[]}}')
    assert added('{"a":1}', ONE).startswith('{"a":1,"hooks":{"Stop":[{"hooks":[{"type":"command",')


def test_a_byte_order_mark_stays_first():
    assert added("\ufeff{}").startswith("\ufeff{")
    assert added("\ufeff").startswith("\ufeff{")


# In and out again

SHAPES = {
    "empty": "",
    "blank": " \n\n",
    "only a mark": "\ufeff",
    "nothing in it": "{}",
    "space in it": "{ \n\n }",
    "mark": '\ufeff{"a": 1}',
    "crlf": '{\r\n  "a": 1\r\n}\r\n',
    "tabs": '{\n\t"a": {\n\t\t"b": []\n\t}\n}\n',
    "four": '{\n    "a": 1\n}',
    "one line": '{"a":1,"b":[1,2]}',
    "odd": '{ "a" :1 ,"b":\n2}',
    "no events": '{"hooks": {}}',
    "empty lists": '{\n  "hooks": {\n    "Stop": [],\n    "PreToolUse": [\n    ]\n  }\n}\n',
    "others": json.dumps({"hooks": {"Stop": [{"matcher": "", "hooks": [OTHER]}]}, "z": None}, indent=2),
    "others in a line": json.dumps({"hooks": {"Stop": [{"hooks": [OTHER]}, {"hooks": [OTHER, OTHER]}]}}),
    "hooks not last": '{\n  "hooks": {\n    "Setup": [{"hooks": []}]\n  },\n  "model": "x"\n}\n',
    "escaped key": '{"\\u0068ooks": {"St\\u006fp": []}}',
    "odd values": '{"hooks": {"Notification": null, "Other": {}}, "n": 1e400, "i": ' + "9" * 5000 + "}",
    "groups of no shape": '{"hooks": {"Stop": [null, 5, {}, {"hooks": null}, {"hooks": [null, {"command": 5}]}]}}',
    "twice elsewhere": '{"env": {"A": "1", "A": "2"}}',
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_in_and_out_leaves_every_byte(text: str):
    after = added(text)

    assert back(text) == text
    standing = splice.standing(after, ours)
    assert [(one.event, one.hook) for one in standing if one.alone] == sorted(HOOKS, key=lambda h: _place(after, h[0]))
    assert loaded(after)


def _place(text: str, event: str) -> int:
    return text.index(f"{SCRIPT}{event} ||")


space = st.text(alphabet=" \t\r\n", max_size=4)


@st.composite
def spelt(draw: st.DrawFn, value: object) -> str:
    """A JSON text of a value, with space wherever JSON allows it."""

    def gap() -> str:
        return draw(space)

    match value:
        case dict():
            inner = ",".join(
                f"{gap()}{json.dumps(key, ensure_ascii=draw(st.booleans()))}{gap()}:{gap()}{draw(spelt(v))}{gap()}"
                for key, v in value.items()
            )
            return "{" + (inner or gap()) + "}"
        case list():
            inner = ",".join(f"{gap()}{draw(spelt(v))}{gap()}" for v in value)
            return "[" + (inner or gap()) + "]"
        case _:
            return json.dumps(value, ensure_ascii=draw(st.booleans()))


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
groups = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.just(OTHER) | values, max_size=2)}, optional={"matcher": st.just("Bash")}
    )
    | values,
    max_size=3,
)
events = st.dictionaries(st.sampled_from([*EVENTS, "Notification"]), groups, max_size=3)
settings = st.builds(
    lambda before, hooks, after: {**before, **hooks, **after},
    st.dictionaries(words, values, max_size=2),
    st.just({}) | st.fixed_dictionaries({"hooks": events}),
    st.dictionaries(words, values, max_size=2),
)


@st.composite
def settings_texts(draw: st.DrawFn) -> str:
    value = draw(settings)
    if not isinstance(value.get("hooks", {}), dict):
        value.pop("hooks")
    return draw(st.sampled_from(["", "\ufeff"])) + draw(space) + draw(spelt(value)) + draw(space)


@given(settings_texts())
def test_in_and_out_leaves_every_byte_of_any_settings(text: str):
    after = added(text)

    assert back(text) == text
    assert sorted(one.event for one in splice.standing(after, ours)) == sorted(EVENTS)
    assert loaded(splice.without(after, ours, keep=splice.containers(text))) == loaded(text)


@given(settings_texts())
def test_other_tools_hooks_stay_where_they_are(text: str):
    after = loaded(added(text))
    assert isinstance(after, dict)

    for event, _ in HOOKS:
        last = after["hooks"][event].pop()
        assert last == {"hooks": [{**hook(event), "timeout": "5"}]}
        if not after["hooks"][event] and event not in splice.containers(text):
            del after["hooks"][event]
    if "hooks" not in splice.containers(text):
        assert after.pop("hooks") == {}
    assert after == loaded(text)


# After others wrote into it


def test_only_our_hooks_go_from_a_file_that_was_edited():
    text = added('{\n  "model": "x"\n}\n')
    edited = text.replace('"x"', '"y"').replace('"Stop": [', '"Stop": [{"hooks": [' + json.dumps(OTHER) + "]}, ")

    left = splice.without(edited, ours)

    assert loaded(left) == {"model": "y", "hooks": {"Stop": [{"hooks": [OTHER]}]}}
    assert left.startswith('{\n  "model": "y",\n')


def test_our_hook_goes_from_a_group_that_holds_another():
    text = json.dumps({"hooks": {"Stop": [{"hooks": [OTHER, hook("Stop"), OTHER]}]}}, indent=2)

    assert splice.without(text, ours) == json.dumps({"hooks": {"Stop": [{"hooks": [OTHER, OTHER]}]}}, indent=2)


@pytest.mark.parametrize("indent", [None, 2, "\t"])
@pytest.mark.parametrize("text", ['{"a": 1}', '{"hooks": {"Stop": [{"hooks": [{"command": "x"}]}]}, "z": 0}'])
def test_a_file_that_the_agent_wrote_anew_is_cleaned_as_well(text: str, indent: int | str | None):
    rewritten = json.dumps(json.loads(added(text)), indent=indent)

    assert splice.without(rewritten, ours) == json.dumps(json.loads(text), indent=indent)


def test_what_stood_empty_before_us_may_stay():
    text = '{"hooks": {"Stop": []}}'

    assert splice.without(added(text), ours, keep=splice.containers(text)) == text
    assert splice.without(added(text), ours) == "{}"


def test_where_we_are_not_nothing_is_touched():
    for text in SHAPES.values():
        assert splice.without(text, ours) == text
        assert splice.standing(text, ours) == ()


# What is left alone


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
    with pytest.raises(NotPlain) as caught:
        added(text)

    assert (caught.value.line, problem in caught.value.problem) == (line, True)


def test_a_text_that_changed_is_not_taken_back_blindly():
    text = "{}"
    what = splice.insertions(text, HOOKS)

    assert splice.taken_back(added(text).replace("Stop", "Halt"), what) is None


def test_a_switch_is_seen_only_when_it_is_on():
    assert splice.is_on('{"off": true}', "off")
    assert not any(splice.is_on(text, "off") for text in ("", "{}", '{"off": false}', '{"off": "true"}'))
