r"""Rows for secrets known by what stands around them: key blocks, URLs, headers, command lines, cookies.

A password in a URL or a header has no shape of its own, so these rows capture whatever stands in its
place; what is plainly a stand-in for one (`user:password@`, `$TOKEN`) is left by judge.py.
"""

from __future__ import annotations

from recollect.redact.pattern import Pattern

# Between two lines of a key: real line ends, their escapes, and what quoting or a diff puts there.
_BREAK = r"(?:[\s\"'+>|,]|\\{1,4}[nrt\"])"
_BASE64_LINE = r"[A-Za-z0-9+/=]{16,}"
_BEGIN = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_FINISH = r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_HEADERS = rf"(?:{_BREAK}{{1,4}}[A-Z][A-Za-z-]{{2,20}}: [^\n\\\xff]*)*"

_QUOTE = r"[\\\"']{0,8}"
_NEWLINE = r"(?:\r?\n|\\{1,4}n)"
_DATA_LINES = rf"(?:[ \t]+[\w.-]+:[ \t]*{_QUOTE}[A-Za-z0-9+/]{{6,}}={{0,2}}{_QUOTE}[ \t]*{_NEWLINE})+"
# What else stands in one, so that the `data` of the next document is not taken for its own.
_OF_SECRET = r"(?:[ \t]+|apiVersion|metadata|type|immutable)[^\n\\\xff]{0,200}"

# A name and its value side by side, each under its own word.
_NAMED = r"(?:key|name|variable|id)[\\\"']{0,4}[ \t]{0,4}[:=]?[ \t]{0,4}[\\\"']{0,4}[\w.-]{0,60}"
_VALUE = (
    rf"{_QUOTE}(?:[\s,{{>]|\\{{1,4}}n){{1,24}}"
    rf"(?:[a-z]{{1,20}}[ \t]{{0,8}}=[^\n\\\xff]{{0,80}}{_NEWLINE}[ \t]{{0,16}}){{0,3}}"
    rf"{_QUOTE}(?:value|default){_QUOTE}[ \t]{{0,8}}[:=][ \t]{{0,8}}{_QUOTE}"
)

CONTEXTS: tuple[Pattern, ...] = (
    # A body has no two hyphens in a row, so a mere mention of the first line swallows little.
    Pattern("private-key", ("private key-----", "private key block"), rf"{_BEGIN}(?:-?[^-\xff])*{_FINISH}"),
    # Cut short at either end: what a tool's output limit leaves.
    Pattern(
        "private-key",
        ("private key-----", "private key block"),
        rf"{_BEGIN}{_HEADERS}(?:{_BREAK}{{1,8}}{_BASE64_LINE})+(?:(?:\n|\\{{1,4}}n)[A-Za-z0-9+/]+=*)?",
    ),
    Pattern(
        "private-key",
        ("private key-----", "private key block"),
        rf"(?:{_BASE64_LINE}{_BREAK}{{1,8}})+(?:[A-Za-z0-9+/=]+{_BREAK}{{1,8}})?{_FINISH}",
    ),
    Pattern(
        "putty-key",
        ("private-lines",),
        rf"Private-Lines: [0-9]+((?:{_BREAK}{{1,4}}[A-Za-z0-9+/=]{{16,}})+(?:\s{{1,2}}[A-Za-z0-9+/]+=*)?)",
        group=1,
    ),
    Pattern("putty-key", ("private-mac",), r"Private-MAC: ([0-9a-f]{40,})", group=1),
    Pattern(
        "jwt",
        ("eyj",),
        r"eyJ[A-Za-z0-9_-]{10,}\.(?:[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*){0,3}|(?:\.[A-Za-z0-9_-]{10,}){2,3})",
    ),
    # The password may hold an @ itself: up to the last one before the host.
    Pattern(
        "url-password",
        ("://",),
        r"://[^\s:/@?#\"'<>\x60\xff]*:([^\s/?\"'<>\x60\xff]+)@",
        group=1,
        free=True,
    ),
    Pattern(
        "url-token",
        ("://",),
        r"://([A-Za-z0-9_-]{20,})@",
        group=1,
        opaque=True,
        min_entropy=3.0,
    ),
    Pattern(
        "authorization",
        ("authorization",),
        r"(?i)authorization[\\\"']*\s{0,4}[:=,]\s{0,4}[\\\"'\x60]*"
        r"(?:[a-z][a-z0-9-]{2,20}[ \t]+)?([a-z0-9+/_.~%:=-]{8,})",
        group=1,
        min_entropy=2.5,
        opaque=True,
    ),
    Pattern(
        "bearer",
        ("bearer ",),
        r"(?i)bearer[ \t]+([a-z0-9+/_.~-]{16,}=*)",
        group=1,
        min_entropy=3.3,
        opaque=True,
    ),
    Pattern(
        "bearer",
        ("basic ",),
        r"(?i)basic[ \t]+([a-z0-9+/]{16,}=*)",
        group=1,
        min_entropy=3.3,
        opaque=True,
    ),
    Pattern(
        "bearer",
        ("apikey ", "authtoken "),
        r"(?i)(?:apikey|authtoken)[ \t]+([a-z0-9+/_-]{30,}=*)",
        group=1,
        min_entropy=3.3,
        opaque=True,
    ),
    # <add key="…Password" value="…" />, - name: …_TOKEN⏎  value: …, variable "…_key" { default = "…" }
    Pattern(
        "named-value",
        ("<add key",),
        rf"<add key=[\"'][\w.-]{{0,60}}(?i:passw(?:or)?d){_VALUE}([^\"'\\\n\xff]{{4,}})",
        group=1,
        free=True,
    ),
    Pattern(
        "named-value",
        ("value=", "value:", "value'", 'value"', "value =", "default=", "default:", 'default"', "default ="),
        rf"(?i){_NAMED}(?:passw(?:or)?d|secret|token|key)[\w.-]{{0,12}}{_VALUE}([^\"'\\\s<\xff]{{8,}})",
        group=1,
        opaque=True,
    ),
    # A Secret of Kubernetes: whatever stands under `data`, which `kubectl` prints before `kind`.
    Pattern(
        "kubernetes-secret",
        ("secret",),
        rf"kind:[ \t]*{_QUOTE}Secret{_QUOTE}[ \t]*(?:{_NEWLINE}{_OF_SECRET})*"
        rf"{_NEWLINE}[ \t]*data:[ \t]*{_NEWLINE}({_DATA_LINES})",
        group=1,
    ),
    Pattern(
        "kubernetes-secret",
        ("secret",),
        rf"data:[ \t]*{_NEWLINE}({_DATA_LINES})[ \t]*kind:[ \t]*{_QUOTE}Secret\b",
        group=1,
    ),
    Pattern(
        "kubernetes-secret",
        ("secret",),
        rf"data{_QUOTE}:\s{{0,8}}\{{([^{{}}\xff]{{8,}})\}},?(?:[ \t]|{_NEWLINE}){{0,16}}"
        rf"{_QUOTE}kind{_QUOTE}:\s{{0,4}}{_QUOTE}Secret\b",
        group=1,
    ),
    Pattern(
        "cookie",
        ("cookie:",),
        r"(?i)cookie:[ \t]*([^\s=;\xff]+=[^\n\r\"'\\\xff]{4,})",
        group=1,
        free=True,
    ),
    Pattern(
        "url-signature",
        ("?signature=", "&signature=", "-signature="),
        r"(?i)(?:[?&]|X-Amz-|X-Goog-)signature=([a-z0-9_.~%+/-]{16,}=*)",
        group=1,
        min_entropy=3.3,
        opaque=True,
    ),
    Pattern(
        "cli-password",
        ("curl",),
        r"curl[ \t][^\n\xff]{0,200}?(?:-u|--user|--proxy-user)[ =]?[\"']?[\w.@+-]+:([^\s\"'\xff]{4,})",
        group=1,
        free=True,
    ),
    Pattern(
        "cli-password",
        ("sshpass",),
        r"sshpass[ \t]+-p[ \t]*[\"']?([^\s\"'\xff]{4,})",
        group=1,
        free=True,
    ),
    Pattern(
        "cli-password",
        ("mysql",),
        r"mysql[a-z_-]*[ \t][^\n|;\xff]{0,200}?[ \t]-p[\"']?([^\s\"'\xff-][^\s\"'\xff]{3,})",
        group=1,
        free=True,
    ),
    # A pattern that begins with plain letters is many times faster, so each tool has a row of its own.
    *(
        Pattern(
            "cli-password",
            (tool,),
            tool + r"[^\n|;\xff]{0,200}?[ \t]-[apwk][ \t]+[\"']?([^\s\"'\xff-][^\s\"'\xff]{3,})",
            group=1,
            free=True,
        )
        for tool in ("redis-cli", "mongo", "ldap", "openssl")
    ),
    # echo … | sudo -S, printf … | docker login --password-stdin, echo … | gh secret set NAME
    *(
        Pattern(
            "cli-password",
            (f"{tool} ",),
            rf"{tool}[ \t]+(?:-n[ \t]+)?[\"']?([^\s\"'|\xff]{{8,}})[\"']?[ \t]*\|[^\n|\xff]{{0,100}}"
            rf"(?:{words})",
            group=1,
            free=sure,
            opaque=not sure,
        )
        for tool in ("echo", "printf")
        for words, sure in ((r"sudo[ \t]+-S|password-stdin", True), ("secret|token|key", False))
    ),
    # gh secret set NAME --body …, put-parameter --name /app/key --value …
    Pattern(
        "cli-password",
        ("--body", "--value", "--secret-string", "<<<"),
        r"(?i)(?:secret|token|key|passw)[^\n\xff]{0,100}[ \t](?:--(?:body|value|secret-string)[ =]|<<<[ \t]*)[\"']?"
        r"([^\s\"'\xff]{8,})",
        group=1,
        opaque=True,
    ),
    # login: admin / …
    *(
        Pattern(
            "password",
            (word,),
            rf"(?i){word}[ \t]*[\w.@+-]{{2,40}}[ \t]/[ \t]([^\s\"'\x60,;\xff]{{8,}})",
            group=1,
            opaque=True,
        )
        for word in ("login:", "user:", "username:", "credentials:", "creds:")
    ),
    Pattern(
        "cli-password",
        (" login ",),
        r" login [^\n|;\xff]{0,200}?-p[ =][\"']?([^\s\"'\xff-][^\s\"'\xff]{3,})",
        group=1,
        free=True,
    ),
    Pattern(
        "netrc-password",
        ("login",),
        r"login\s{1,8}[^\s\xff]{1,100}\s{1,8}password\s{1,8}([^\s\xff]{4,})",
        group=1,
        free=True,
    ),
)
