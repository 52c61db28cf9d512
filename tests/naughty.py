"""Strings that break programs: for every place that takes text.

Written as escapes where the character itself could not be seen or would confuse an editor.
"""

from __future__ import annotations

_EMPTY_AND_BLANK = ["", " ", "\t", "\n", "\r\n", "\u00a0", "\u2003", "\u3000", "\x0b\x0c", " \n\t ", "\u2028", "\u2029"]
_WORDS_WITH_A_MEANING = [
    "undefined", "null", "NULL", "None", "nil", "true", "False", "NaN", "-Infinity", "inf", "0", "-0", "1e400",
    "0x7fffffffffffffff", "9" * 400, "1/0", "¹²³", "٣٫١٤", "1_000", "--", "-", "-h", "--help", "-", "@", "~", "*",
    "?",
]  # fmt: skip
_SQL = [
    "'", "''", '"', "`", "\\", "\\'", "'; DROP TABLE memory; --", "1' OR '1'='1", '" OR ""="',
    "Robert'); DELETE FROM journal;", "%", "_", "%%", "/* */", "--\n", "?1", ":name", "$1", "x'00'",
    "json_each('[1]')", "[1, \"a\"]", '{"a": {"b": []}}',
]  # fmt: skip
_FULL_TEXT = [
    "AND", "OR", "NOT", "NEAR", "NEAR(a b, 2)", "a AND", "OR b", "NOT NOT", '"unclosed', '"a" + "b"', "title:dark",
    "{title body}: x", "-title:x", "^start", "pre*", "(", ")", "((((", ")(", "a:b:c", "words:words", "rank",
    "rowid:1", "+", "a + b", "'integrity-check'", '"""', "*", "* *", "\\*", "a\"b", "col : {", "AND OR NOT NEAR",
]  # fmt: skip
_FORMATS = [
    "%s%s%n%x", "%d", "%(name)s", "{0}", "{}", "{name.__class__}", "${HOME}", "$(id)", "`id`", "{{7*7}}",
    "<%= 7 %>", "#{7}", "!!python/object", "[bold red]x[/]", "[/]", "[link=file:///etc/passwd]x[/link]", ":smile:",
    "<script>alert(1)</script>", "</private>", "<private>", "]]>", "&amp;&#0;", "<!--", "---\ntitle: x\n---",
    "# heading", "```", "| a | b |", "key=value", "a=b\nc=d",
]  # fmt: skip
_PATHS = [
    "../../../etc/passwd", "..\\..\\windows\\system32", "/dev/null", "/", ".", "..", "C:\\CON", "NUL",
    "file:///etc/passwd", "a/b//c", "~root/.ssh", "memory.db", "-wal", "a\\", "%2e%2e%2f", "//host/share", ".git",
    ".ai/recall/x", "a" * 300,
]  # fmt: skip
_CONTROL = [
    "a\x00b", "\x00", "\x01\x02\x03", "\x07bell", "back\x08space", "\x1b[31mred\x1b[0m", "\x1b]0;title\x07",
    "\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "\x1b[2J\x1b[H", "\x1b[6n", "\x9b31m", "\x90q\x9c", "\x7f", "\x85",
    "cr\ronly", "a\rb\nc\r\nd", "\x1a", "\x04", "\x1c\x1d\x1e\x1f",
]  # fmt: skip
_INVISIBLE = [
    "zero\u200bwidth", "\u200c\u200d", "\ufeffmark", "soft\u00adhyphen", "\u2060", "\u180e", "\u061c",
    "tag\U000e0041\U000e007f", "\ufff9a\ufffab\ufffb", "\ufffe\uffff", "\ufdd0", "\U0001ffff", "\U0010ffff",
    "\ue000", "\ufffd", "\ufffc", "variation\ufe0f", "\u034f",
]  # fmt: skip
_DIRECTION = [
    "\u202egpj.exe", "\u2067right\u2069", "\u202a\u202b\u202c", "\u200f\u200e", "שלום עולם", "مرحبا بالعالم",
    "abc אבג 123", "الكود user_name",
]  # fmt: skip
_SCRIPTS = [
    "日本語テキスト", "中文分词", "한국어 문장", "日", "あ", "a日b本c", "𠮷野家", "ｱｲｳ", "ＦＵＬＬ width",
    "Ελληνικά", "ΣΊΣΥΦΟΣ", "русский", "ไทยไม่มีช่องว่าง", "हिन्दी", "தமிழ்", "ქართული", "አማርኛ", "ᏣᎳᎩ", "𝒳𝓎𝓏",
    "ﬁligature", "Straße", "İstanbul ı", "naïve café", "cafe\u0301", "Å\u212b\u0041\u030a", "ﷺ", "ǅ", "Ǆ",
]  # fmt: skip
_EMOJI = [
    "🎉", "👩‍👩‍👧‍👦", "🏳️‍🌈", "🇩🇪🇪", "👍🏿", "1️⃣", "❤️ text", "🀄", "(╯°□°）╯︵ ┻━┻", "¯\\_(ツ)_/¯", "😀" * 50,
]  # fmt: skip
_HUGE = [
    "Z\u0351\u036b\u0343" * 200, "e" + "\u0301" * 2000, "\u0301", "x" * 5_000, "ab " * 2_000, "日" * 3_000,
    "_" * 500, "a_" * 700, "aB" * 700, "\n" * 1_500, "." * 1_300, "(" * 1_000, "[" * 1_000 + "]" * 1_000,
    "word" * 20_000, "É" * 40_000,
]  # fmt: skip
_SURROGATES = ["\ud800", "\udfff", "a\udc80b", "\ud83d", "\ude00\ud83d"]
_NAMES = [
    "getUserName", "HTTPServerError", "snake_case_name", "__init__", "SCREAMING_SNAKE", "kebab-case-name", "a.b.c",
    "x86_64", "iOS17", "C++", "C#", "F#", ".NET", "node.js", "O'Reilly", "pre-commit",
    "src/recollect/store/sqlite.py", "v1.2.3-rc.1+build", "user@example.com", "https://example.com/a?b=c#d", "_",
    "__", "a_", "_a", "A1B2", "éÉé", "camelCaseÜber",
]  # fmt: skip

NAUGHTY: tuple[str, ...] = tuple(
    dict.fromkeys(
        _EMPTY_AND_BLANK + _WORDS_WITH_A_MEANING + _SQL + _FULL_TEXT + _FORMATS + _PATHS + _CONTROL + _INVISIBLE
        + _DIRECTION + _SCRIPTS + _EMOJI + _HUGE + _SURROGATES + _NAMES
    )
)  # fmt: skip
