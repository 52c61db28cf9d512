"""English. Tables alone: what speaks for a standing rule, what speaks against it.

A rule is recognised by its form (who speaks of what, in which mood), never by a keyword: of the sentences in which real
people write "always", "never", "must" or "should", few are rules. Most describe the product that is being built.
"""

from __future__ import annotations

from recollect.capture.language import Language, Signal, plain, words

# Where a sentence begins, after what people say before they say something.
_START = r"^(?:\W*(?:(?:no|nope|nah|non|hm+|hey|ok(?:ay)?|ah|oh|argh|ugh|so|well|and|but|also|btw|by the way|yes|yeah|sorry(?: but)?|please|pls|plz|actually|again|wait|look|listen|man|right|sure|great|thanks|thx|cool|just|then|wrong(?: again)?|seriously|uh|um|fyi|ps|nice|perfect|important|one (?:more )?(?:thing|note)[^:,.]{0,40}[:,]|small thing[^:,.]{0,40}[-:,])\b\W*)+)?\W*"
# The same, or after a comma, a colon or a word that joins.
_CLAUSE = rf"(?:{_START}|[,;:(.!] ?(?:(?:and|but|so|also|please|because|since|as|cause|especially) )*|\s-+ |\b(?:and|but|so|because|since|as|cause|also) (?:please )?)"
_ADVERB = r"(?:(?:always|never|only|ever|generally|usually|normally|typically|mostly|strictly|exclusively|all|just|also|already|still|now|actually|really|currently) )"
# What an agent does with a repository; the product does none of it.
_AGENT = r"commit|push|merge|squash|rebase|force[- ]push|cherry-pick|amend|stage|branch|deploy|release|publish|run|rerun|ask|tell me|show me|test|lint|format|install|restart|kill|touch|edit|modify|mock|stub|hard-?code|assume|guess|invent|refactor|rewrite|explain|answer|reply|respond|talk|speak|summari[sz]e|apologi[sz]e|ssh|pull|open (?:a |prs|pull)|review|verify|double[- ]check|read|write (?:tests|comments|code|docs|docstrings|commit)|add (?:tests|comments|a test|docstrings|co-?auth)|bump|pin|regenerate|delete (?:files|branches|tests|migrations)|create (?:new )?(?:files|branches|prs|docs|a new branch|a branch|worktrees?)|check (?:with|in|the (?:docs|logs))|skip (?:tests|hooks|the hooks)|disable (?:tests|lint|hooks|eslint)|work (?:in|on|from|directly)|start (?:the|a) (?:server|dev)|go through|wait for (?:me|my|ci)|log (?:in|out)|use (?:the|a|an|our|this|your)? ?(?:\w+ ){0,2}(?:skill|agent|subagent|worktree|tool|mcp|cli|script|sandbox)"
_VERB = r"use|prefer|avoid|write|name|put|keep|store|place|ship|tag|log|version|cache|import|export|follow|stick|target|support|require|treat|document|comment|indent|spell|group|wrap|validate|parse|generate|check|sign|open|pass|declare|define|type|annotate|load|fetch|query|migrate|manage|add|change|skip|ignore|delete|remove|drop|inline|leave|create|set|do|make|go|stay|translate|include|mention|link|call|build|start|stop|throw|raise|catch|return|look|search|update|rely|trust|disable|work"
# Of what a we-sentence may tell a habit: not of what the product does with its data.
_HABIT = r"use|prefer|avoid|write|name|put|keep|place|run|test|ship|deploy|release|tag|log|version|format|follow|stick|commit|push|merge|squash|rebase|branch|target|support|require|pin|treat|document|comment|indent|mock|stub|spell|lint|sign|track|host|review|open|migrate|publish|install|manage|go (?:through|via|with)|develop|code|speak|build|call|define|declare|type|import|work (?:on|in|from|with)|ban|forbid|gitignore|vendor|monkeypatch|backport"
# What agents make and people have rules about.
_WORK = r"(?:(?:unit|integration|e2e|acceptance|smoke|snapshot|new|all|our|public|private|async|failing) )*(?:tests?|specs|test (?:files|data|names)|commits?|commit (?:messages?|subjects?|titles?)|branch(?:es)?|branch names|prs?|mrs?|pull requests?|merge requests?|migrations?|imports?|comments?|docstrings?|type (?:hints|annotations)|file ?names?|variable names|variables|function names|class names|table names|column names|env(?:ironment)? var(?:iable)?s|secrets|credentials|api keys|dependenc(?:y|ies)|deps|docs|documentation|changelog(?: entr(?:y|ies))?|release notes|fixtures?|mocks?|snapshots|todos|error messages|log messages|feature flags|constants|magic numbers|scripts|config(?:s| files)?|generated (?:files|code)|source files|line endings|indentation|naming|code|new code|new files|components|modules|packages|endpoints|services|controllers|helpers|hooks|types|functions|classes|queries|models|schemas?|dates|timestamps|money(?: values| amounts)?|ids|screenshots|plans|worktrees?|issues|tickets|releases|tags|deploys|deployments|versions?|squash merges?|merges|lockfiles?|ui strings|translations)"
_CORE = r"(?:(?:unit|integration|e2e|new|all|our) )*(?:tests|specs|test (?:files|data|names)|commits|commit (?:messages?|subjects?|titles?)|branches|branch names|prs|mrs|pull requests|merge requests|migrations|imports|comments|docstrings|type (?:hints|annotations)|file ?names|variable names|function names|table names|column names|env(?:ironment)? var(?:iable)?s|secrets|credentials|api keys|dependencies|deps|changelog entries|release notes|fixtures|mocks|error messages|log messages|feature flags|generated (?:files|code)|line endings|indentation|naming|new code|dates|timestamps|money(?: values| amounts)?|releases|tags|deploys|deployments|squash merges?|merges|ui strings)"
_TALK = r"answers?|repl(?:y|ies)|responses?|explanations?|summar(?:y|ies)|emojis?|apolog(?:y|ies|i[sz]ing)|headings?|bullet(?: point)?s|jargon|flattery|prais\w+|compliments?|preambles?|filler|recaps?|markdown|prose|essays?|walls of text|small talk"
_CHOICE = r"tabs|spaces|two spaces|four spaces|2 spaces|4 spaces|npm|pnpm|yarn|bun|jest|vitest|mocha|ava|cypress|playwright|pytest|unittest|nose|pip|pipenv|poetry|uv|conda|hatch|snake_case|camelcase|kebab-case|pascalcase|single quotes|double quotes|semicolons|moment|dayjs|date-fns|luxon|lodash|axios|fetch|redux|zustand|mobx|jotai|yup|zod|joi|valibot|webpack|vite|rollup|esbuild|eslint|biome|tslint|prettier|ruff|flake8|pylint|mypy|pyright|junit|testng|assertj|hamcrest|mockito|mockk|rspec|minitest|gradle|maven|bazel|cmake|ninja|meson|sqlalchemy|django orm|prisma|drizzle|knex|typeorm|sequelize|uuid v7|uuid v4|ulid|lf|crlf|utc|named exports|default exports|composition api|options api|class components|tailwind|bootstrap|scss|sass|css modules|styled-components|graphql|grpc|mysql|postgres|sqlite|mongo|docker|podman|jenkins|github actions|gitlab|github|bitbucket|jira|linear|fish|zsh|bash|commonjs|esm|bloc|riverpod|dataclasses|pydantic|attrs|requests|httpx|aiohttp|flask|fastapi|django"
_PLACE = (
    r"(?:in|for|of|across|throughout|inside|within) (?:this|our|these|the whole|this whole|the entire|our whole) (?:whole |entire )?(?:\w+ )?(?:repo|repos|repository|project|codebase|code base|code|monorepo|mono repo|service|services|app|apps|application|package|lib|library|workspace|api|team|company|org|product|stack|backend|frontend|site|crate|gem|shop|place|engine|game|firmware|sdk|plugin|tests?|organi[sz]ation|cluster|pipelines?|components?)"
    r"|at our (?:place|company|shop)|on (?:our|this) (?:team|project)|around here|over here|for us|with us|project[- ]wide|repo[- ]wide"
)
_VALUE = r"port \d+|\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?|:\d{2,5}|\d{4,5}|v?\d+\.\d+(?:\.\d+)*|https?://\S+|[\w.-]+\.(?:example|com|org|net|io|dev|internal|local|lan|corp)|[\w.-]*/[\w<>*./-]+|[\w-]+\.(?:md|ts|tsx|js|py|json|ya?ml|toml|go|rs|sql|sh|env)|\x02+|[a-z]+@[\w.-]+|(?:eu|us|ap)-\w+-\d"
_PLACES = r"prod(?:uction)?|staging|stg|ci|preprod|qa|uat|sandbox|preview|local(?:host)?|dev (?:server|db|database|cluster|env(?:ironment)?)|k8s|cluster|(?:test |prod |staging |local |the |our )*(?:db|database|postgres|mysql|redis|mongo|registry|server|api|backend|frontend|bucket|queue|proxy|vpn|gateway|dashboard)|docs|logs|secrets|tickets|issues|releases|builds?"
_SYMPTOM = r"fails?(?! (?:below|if|above|unless|otherwise|under))|failing|failed|broken|breaks (?:when|on|if|after)|hangs?|crash(?:es|ed|ing)?|times? out|doesn't work|does not work|not working|never (?:works?|starts?|worked|finish\w*|loads?|returns|arrives?|called|read|fires?|gets)|always (?:fails?|returns?|gets?|asks?|shows?|crash\w*|empty|null|wrong|the same|false|true)|(?:we|i|you|it|users?|always|getting|now|still) (?:get|gets|got)?(?:getting)? ?(?:a|an|the same|this|\d+)? ?(?:[45]\d\ds?|error|errors|timeout|exception|warning)\b|(?:we|i) (?:always |never |still |now )?gets? (?:a|an|the same|this|\d)\b|returns? (?:a |an )?[45]\d\d|is down|are down|is slow|still (?:red|broken|getting|failing)|the same error|is taken|is empty|is red|flaky|returns? \w+ instead of|no \w+(?: \w+)? (?:found|available|left|returned)|no such|has (?:the|an?|this)(?: same)? (?:issue|problem|bug|error)|by mistake|accidentally|so the \w+ (?:is|are) wrong|seeing (?:timeouts|errors)|is dead|are dead|refuses? (?:connections?|to)|refused|unreachable|exhausted|lags?\b|is stuck|gets stuck|freezes|flickers|blank page|when i (?:click|press|open|save|refresh|rotate|start|submit)|won't stop|runs? (?:out of|into)|keeps? (?:getting|seeing|hitting|failing|crashing)|won't (?:start|work|run|build|compile|connect|load)|can't (?:connect|start|reach)|figured out|complain\w*"
_TASK = r"fix|add|make|create|rename|refactor|implement|update|write|remove|delete|move|change|set|generate|convert|check|look|find|show|give|explain|tell|run|build|deploy|commit|push|open|close|start|restart|revert|undo|replace|review|improve|compare|draft|describe|list|count|ensure|help|try|test|debug|investigate|continue|go ahead|let|put|bump|reproduce|turn|remind|tweak|align|ignore|skip|leave|disable|enable|install|upgrade|clean|finish|merge|rebase|wrap|extract|split|inline|drop|read|configure|migrate|suggest|propose|design|plan|spawn|research|rebuild|redo|support|handle|include|apply|simplify|use|keep|send|pull|call|render|print|display|hide|allow|introduce|consider"

_SIGNALS = (
    # To last
    Signal(
        "says it is to last",
        4.0,
        plain(
            rf"{_CLAUSE}(?:from (?:now|here|this point|today) on(?:wards?)?(?: out)?|going forward(?! with)|moving forward(?! with)|henceforth|in (?:the )?future,? (?:please|always|never|don't|do not|when|use|make|run|you|if you|i want|just)|for (?:all )?future (?:tasks|commits|prs|changes|sessions|work|reference|\w+s\b)|as a (?:general )?rule|once and for all|for good)\b|\b(?:from now on(?:wards?)?|going forward)\W*$"
        ),
        firm=True,
    ),
    Signal(
        "asks to remember it",
        3.5,
        plain(
            rf"{_CLAUSE}(?:make sure (?:you |to )+|be sure to |try to |you (?:should|must|need to|have to) |i want you to |can you |could you )?(?:please |always )*(?:remember(?: that|:|,| this| (?=(?:we|our|the|i|you|it|never|always|not|don't|to always|to never)\b))|memori[sz]e|(?:don't|do not|dont|never) forget(?! to (?:add|update|fix|remove|push|commit)\b)(?: that|:|,)|(?:save|add|store|put|commit|write) (?:\w+ ){{0,3}}(?:to|in|into) (?:your )?memory|for (?:the record|(?:your |the )?future reference)|(?:make|take) a note (?:that|of)|note to self)(?! (?:me|the (?:user|last|state|selection|choice|scroll|position))\b)"
        ),
        firm=True,
    ),
    Signal("asks to remember to do it", 2.5, plain(rf"{_CLAUSE}(?:please )?remember to \w+")),
    Signal(
        "a rule by name",
        3.5,
        plain(
            rf"{_START}(?:(?:new|house|team|standing|hard|general|golden|project|important|simple|one) )?rules?(?: here| for you| of ours| #?\d+)? ?(?::|is\b|-)|{_CLAUSE}(?:the|our|team|house|project) (?:convention|rule|policy|standard|agreement|guideline|practice|house style|workflow)(?: here| in this \w+| for [\w ]+?| with us)? (?:here )?(?:is|says)\b(?! (?:wrong|broken|not|too|that the|in|at))|\bthat's (?:how (?:we|the team)|our (?:rule|convention|policy|way|style))\b|\bmake it a (?:rule|habit)\b|\b(?:is|are) (?:our|the) (?:convention|policy|house style|rule here)\b"
        ),
        firm=True,
    ),
    Signal(
        "every time",
        3.0,
        plain(
            rf"{_CLAUSE}(?:whenever|every (?:single )?time|each time|any ?time) (?:you|we)(?:\'re| are)? (?:{_AGENT}|add|change|create|make|finish|write|touch|update|open|start|fix|implement|need|are done)(?:ing)?\b|\b(?:before|after) (?:every|each|any) (?:single )?(?:commit|push|merge|pr|mr|pull request|release|deploy\w*|change|edit|fix|task|session|feature|new feature|code change|file change|step|phase)\b"
        ),
        firm=True,
    ),
    Signal(
        "when doing such work",
        2.5,
        plain(
            rf"{_START}(?:when(?:ever)?|if|before|after|once|while) (?:you(?:'re| are)? |we )?(?:ever )?(?:{_AGENT}|committ|push|merg|deploy|releas|writ|creat|add|test|run|debug|refactor|finish|open|edit|chang|implement|work|done|need|want|hav)(?:ing|e|s)?\b[^?]{{3,60}}(?:,|\b(?:always|never|first|make sure|please)\b|\buse\b|\bdon't\b)"
        ),
    ),
    Signal(
        "everywhere",
        2.0,
        words(r"everywhere|no matter (?:where|what|which)|without exception|no exceptions|at all times"),
    ),
    # Orders
    Signal(
        "always or never, as an order",
        4.0,
        plain(
            rf"{_CLAUSE}(?:you (?:must|should|have to|need to|may|can|are to) |make sure (?:you |to )|be sure to )?(?:always|never(?: ever)?|only ever|don't ever|dont ever|do not ever|do never)(?: again)? (?:{_AGENT})(?![\w-])(?! (?:it|this|that|them)\b)"
        ),
        firm=True,
    ),
    Signal(
        "always or never, of something",
        2.5,
        plain(
            rf"{_CLAUSE}(?:you (?:must|should|have to|need to|may|can) |make sure (?:you |to )|be sure to )?(?:always|never(?: ever)?|only ever|don't ever|dont ever|do not ever)(?: again)? (?:{_VERB})(?![\w-])(?! (?:it|this|that|them|mind)\b)"
        ),
    ),
    Signal(
        "always or never, as an afterthought",
        1.5,
        plain(
            r"[,;.(] ?(?:and |but |i mean |please )?(?:never|always|ever|every time|each time)(?: (?!mind)[\w.@/()-]+(?: [\w.@/()-]+){0,2})?\W*$"
        ),
    ),
    Signal(
        "do not, unless I say so",
        4.0,
        plain(
            rf"{_CLAUSE}(?:you (?:must|should|may|can) ?(?:not|never)|never|don't|dont|do not|no) (?:ever )?(?:[\w-]+ ){{1,10}}?(?:unless|without|until|before) (?:i|we|my|me|asking|explicit|confirm\w*|permission|approval|checking|telling|talking|discuss\w*|you ask|you have asked|a green|review|being (?:told|asked))\b"
        ),
        firm=True,
    ),
    Signal(
        "ask me first",
        3.5,
        plain(
            rf"{_CLAUSE}(?:please )?(?:always )?(?:ask|check with|confirm with|tell|warn|consult)(?: me| us)?(?: first)? (?:first|before) (?!(?:we|i) (?:start|continue|proceed|go)\b)|\b(?:when|if) (?:in doubt|unsure|you're unsure|you are unsure|you're not sure)\b"
        ),
        firm=True,
    ),
    Signal(
        "do not, and why",
        3.0,
        plain(
            rf"{_START}(?:never|don't|dont|do not) (?:ever )?(?!(?:{_VERB}|\w+) (?:anything|any code|it|this|that|them|code|yet|too)\b)(?:{_AGENT}|{_VERB})\b[^?]{{3,80}}?(?:,? (?:as|because|since|cause|bc|otherwise)|[,;:-] (?:it's|its|it is|they're|they are|that's|we|this is|the \w+ (?:is|are)|\w+ (?:is|are))) (?!(?:possible|needed|before|well|usual|i (?:got|just))\b)\w+"
        ),
        firm=True,
    ),
    Signal(
        "do this instead",
        1.5,
        plain(r"[,;.] ?(?:always |just |but |please )?(?:[\w-]+ ){1,6}instead\W*$|\binstead of \w+ing\b"),
    ),
    Signal(
        "do not, in general",
        2.5,
        plain(
            rf"{_CLAUSE}(?:don't|dont|do not|never|avoid|stop|no need to) (?:ever )?(?:{_AGENT}|use|using|add|adding|write|create|put|import|include|import|make)(?:ing)? (?!(?:the|this|that|it|a|an|my|your|these|those|them|me|anything|any of|\d)\b)(?:[\w`\x02-]+ ){{0,3}}?(?:{_WORK}|{_CHOICE}|{_TALK}|main|master|prod(?:uction)?|any\b|console\.log|print statements|trailers?|footers?|attribution)(?![\w-])"
        ),
    ),
    Signal(
        "none of that",
        2.5,
        plain(
            rf"{_CLAUSE}no (?:more |new |raw |inline |global |default |hard[- ]?coded )?(?:{_CHOICE}|{_TALK}|{_WORK}|(?:force[- ]push\w*|any\b|trailers?|attribution|co-author\w*|abbreviations|exclamation marks|semicolons|wildcard imports|barrel files|default exports|print statements|console\.logs?))(?![\w-])(?: (?:in|on|at|to|from|for|without|after|before|ever|anywhere|please|over|unless)\b|[.,!;]|$)"
        ),
    ),
    Signal(
        "stop doing it",
        3.5,
        plain(
            rf"{_START}(?:can you |could you |would you |will you )?(?:please |pls |just )*(?:stop|quit|no more|enough with)(?: with)?(?: the| all the| those)? (?:(?:add|us|creat|writ|ask|apologi[sz]|committ|push|summari[sz]|putt|explain|generat|guess|assum|mock|repeat|mak|runn|includ|chang|touch|edit|say|call|prais|thank|delet|remov|rewrit|refactor)ing\b|{_TALK})(?! (?:it|this|that|the (?:server|process|container|job))\b)"
        ),
        firm=True,
    ),
    Signal(
        "you do it again and again",
        2.5,
        words(
            r"you (?:keep|still keep|constantly|kept|insist on|again and again) (?:on )?\w+ing|you always (?:forget|use|add|put|write|miss|ignore|skip)|i keep (?:telling|asking) you|how many times|(?:i|i've|i have) (?:already )?(?:told you|said|asked you|mentioned)(?: this| it)? (?:before|already|many times|twice|\w+ times)|for the (?:second|third|fourth|fifth|2nd|3rd|4th|5th|nth|tenth|hundredth) time"
        ),
    ),
    # What we do
    Signal(
        "what we always or never do",
        4.0,
        plain(
            rf"{_CLAUSE}(?:here |in this \w+ )?(?:we|i|the team|everyone here|nobody here)(?: all| here)? (?:always|never|only|strictly|exclusively|no longer)(?: ever)? (?:{_HABIT}|want (?:\w+ )?(?:tests|commits|prs))s?(?![\w-])"
        ),
        firm=True,
    ),
    Signal(
        "what we do",
        2.5,
        plain(
            rf"{_CLAUSE}(?:here |in (?:this|our) \w+ |for \w+ )?(?:we(?:'re|’re)?|the team|everyone here|nobody here) {_ADVERB}*(?:(?:{_HABIT})s?(?! (?:this|that|it|them|these|those|to\b))|are (?:using|on|not using|standardi[sz]ing)|using|moved to|switched to|standardi[sz]ed on|settled on|agreed (?:on|to|that)|(?:are )?going with)(?![\w-])"
        ),
    ),
    Signal(
        "what we do not do",
        3.0,
        plain(rf"{_CLAUSE}(?:here |in (?:this|our) \w+ )?we {_ADVERB}*(?:don't|dont|do not|no longer) (?:{_HABIT})\b"),
        firm=True,
    ),
    Signal(
        "what we do not have",
        2.5,
        plain(
            rf"{_CLAUSE}we {_ADVERB}*(?:don't|dont|do not) have (?!(?:it|this|that|time|to|access|enough|any (?:idea|way|tests?|docs)|(?:a |an |the )?(?:tests?|docs|way|check|validation|good|proper|clear))\b)\w+"
        ),
    ),
    Signal(
        "what we have none of",
        2.5,
        plain(
            rf"{_CLAUSE}(?:there (?:is|are) no|we have no|we've no|no) (?:users?|customers|external users|real users|production data|one (?:is )?using|backwards? compat\w*)\b|\bno need (?:for|to (?:keep|maintain|support|worry about)) (?:any )?(?:backwards?|legacy|compat\w*|migrations?)|\b(?:don't|do not) (?:need|care about|worry about) (?:backwards?[- ]compat\w*|legacy|migrations?)"
        ),
    ),
    Signal("names the place where it holds", 1.5, words(rf"{_PLACE}|here(?=\W*$|,| we| it's)|in here")),
    Signal(
        "how the project is",
        2.5,
        plain(
            rf"{_CLAUSE}th(?:is|e) (?:whole |entire )?(?:codebase|code base|repo|repository|project|monorepo|package|library|crate|workspace|sdk|team|company) (?:is (?:a |an |still |all |strictly |pure |written|built|public|used|frozen|on |in |not |pre-)|uses?|doesn't|does not|has no|targets?|supports?|follows?|never|always|only|runs? (?:on|in|under)|sticks?|avoids?|must)\b"
        ),
    ),
    Signal(
        "how ours is",
        2.0,
        plain(
            rf"{_CLAUSE}our (?:[\w./@-]+ ){{1,4}}?(?:is|are|lives?|runs?|sits?|go(?:es)?|uses?|needs?|has|have|must|never|always|only|comes?|listens?|stays?)(?![\w-])(?! (?:broken|failing|wrong|slow|down|red|not working|too)\b)"
        ),
    ),
    Signal(
        "a fact of an environment",
        2.5,
        plain(
            rf"{_CLAUSE}(?:the |our )?(?:[\w-]+ )?(?:{_PLACES})(?: [\w/-]+){{0,3}}? (?:is|are|lives?|sits?|runs?|listens?|uses?|needs?|comes?|go(?:es)?|points?|happens?|reachable|hosted|deployed|deploys?|stays?|requires?)(?: (?:only|always|at|on|under|in|behind|via|through|from|by|to|with|for|reachable|available|deployed|hosted|running|port|here:?))* (?:the |a |our )?(?:{_VALUE})(?![\w-])"
        ),
    ),
    Signal(
        "how it goes, each time",
        3.0,
        plain(
            r"^\W*(?:(?:ok|and|but|so|btw|also|the|our|a|every|all) )*(?:squash(?:es|ing)?(?: (?:and )?merges?| merging)?|merges?|merging|rebases?|rebasing|deploys?|deployments?|releases?|reviews?|ci|ci/cd|pipelines?|prs?|pull requests?|main|master|hotfix(?:es)?|migrations|backups?|branches|tags|staging|prod(?:uction)?|the url|the port|versioning|publishing)(?: [\w-]+){0,3}? (?:(?:always|never|only|automatically) (?:happens?|runs?|go(?:es)?|gets? \w+ed|is|are|needs?|requires?|triggers?|deploys?|merges?|squash\w*|targets?|comes?|through|via|from|by|on)|is automatic\w*|are automatic\w*|happens? (?:on|by|via|through|automatically|only))\b(?! (?:fails?|failed|failing|breaks?|crash\w*|hangs?|times?|returns?|shows?|works?|worked|gets?|empty|null|wrong|red))"
        ),
        firm=True,
    ),
    Signal(
        "how such work is to be",
        3.0,
        plain(
            rf"^\W*(?:(?:and|but|also|so|please|ok|btw|no|remember|note|all|any|every|each|new|our|the|my) )*(?!(?:the )?(?:test|migration|commit|branch|pr|mr|script|version|release|import|comment|schema|fixture|mock|changelog|dependency|worktree)\b)(?:{_CORE})(?: (?:in|of|for|on|from|with|to|under|that|which|touching)(?: [^\s,;:?]+){{1,5}}?)? (?:(?:must|shall|need to|needs to|have to|has to)(?:n't| not| never| always| only)?|mustn't|can't|cannot|always|never|only|are (?:always|never|only)|should (?:always|never|only|not)|go(?:es)? (?:in|into|under|to|next to|through)|live[sd]? (?:in|under|next to)|belong(?:s)? (?:in|to|under)|stay(?:s)? (?:in|out|under)|(?:is|are) (?:written|named|kept|stored|run|in (?:english|german|french|spanish|chinese|russian|portuguese)|imperative|squashed|signed|generated|off[- ]limits|forbidden|banned|not allowed|read-only))(?![\w-])"
        ),
        firm=True,
    ),
    Signal(
        "how such work should be",
        2.0,
        plain(
            rf"^\W*(?:(?:and|but|also|so|please|ok|btw|no|all|any|every|each|new|our|the) )*(?:{_WORK})(?: (?:in|of|for|on|from|with|to|under)(?: [^\s,;:?]+){{1,4}}?)? should\b"
        ),
    ),
    Signal(
        "why it is so",
        2.0,
        plain(
            r"\bthat's why (?:we|i|it|there)\b|\b(?:is|was|it's|are) (?:by design|on purpose|intentional(?:ly)?|deliberate(?:ly)?)\b|\bwe (?:need|have) to accept that\b"
        ),
    ),
    Signal(
        "never changes",
        2.0,
        plain(
            r"\b(?:the|a|an|each|every|our|its) [\w` \x02/.-]{2,40} (?:never changes?|always stays?|is (?:stable|fixed|frozen|immutable|permanent)|are (?:stable|fixed|frozen|immutable)|must not change|can't change|cannot change)\b"
        ),
    ),
    Signal(
        "forbidden",
        2.5,
        plain(
            r"\b(?:is|are|it's) (?:banned|forbidden|off[- ]limits|a no[- ]go|not allowed|prohibited|read-only)\b|^\W*(?:\w+\W+){0,3}?(?:hands off|stay (?:out of|away from))\b"
        ),
    ),
    Signal(
        "one thing, not the other",
        1.5,
        plain(
            r"(?:[,;)!] ?(?:and |but )?(?:not|never|no)|(?<!do)(?<!does)(?<!did)(?<!is)(?<!are)(?<!was)(?<!will)(?<!should)(?<!must)(?<!can)(?<!if)(?<!or) (?:not|instead of|rather than|but not|and not|and never)) (?!(?:first|last|\d|sure|yet|now|only|just|because|needed|what|how|that|it|so|to|be|been|more|error|working|correct|showing|sent|in|on|at|as|there|here|this|anymore|necessarily|really)\b)[\w`\x02@./:<>*-]+"
        ),
    ),
    # Choices
    Signal(
        "one tool, not the other",
        3.0,
        plain(
            rf"^\W*(?:(?:no|nope|and|please|pls|but|so|just|hey|ok|btw)\W+)*(?:(?:we |you |always |only |should |must )*use |stick to |prefer |it's )?(?:{_CHOICE})(?:,? please)?(?:,? (?:and )?(?:not|never|no)|! not| instead of| rather than| over),? (?:{_CHOICE})(?![\w-])"
        ),
        firm=True,
    ),
    Signal(
        "use it, not the other",
        2.5,
        plain(
            r"^\W*(?:(?:no|please|pls|and|but|so|just|hey|ok|always),? )*(?:use|prefer|favou?r|stick (?:to|with)) (?!(?:the (?:first|second|last)|this|that|it|option|them) )[^?,;]{2,60}?(?:,? (?:and )?not|,? never| instead of| rather than| over) \S"
        ),
    ),
    Signal("speaks of the trade", 0.5, plain(rf"(?<![\w-])(?:{_WORK}|{_CHOICE})(?![\w-])")),
    Signal(
        "no, the other choice", 2.5, plain(rf"^\W*(?:no|nope|nah|wrong)\b[\s,!.:-]+(?:\w+ )?(?:use )?(?:{_CHOICE})\W*$")
    ),
    Signal(
        "where such things go",
        2.5,
        plain(
            rf"{_CLAUSE}(?:put|keep|place|store|name|write) (?:all |new |our |any )*(?:{_WORK}) (?:in|into|under|next to|beside|as|with|like|after)(?![\w-])"
        ),
    ),
    # The person
    Signal(
        "a name",
        4.0,
        plain(
            r"^\W*(?:\w+\W+){0,4}?(?:call me|address me as|my name is|my name's|i go by|my (?:pronouns|timezone|time zone|native language|mother tongue) (?:is|are))(?! (?:back|when|if|again|later))\b"
        ),
        firm=True,
    ),
    Signal(
        "what I prefer",
        3.0,
        plain(
            rf"{_CLAUSE}i(?:'d| would)? (?:always |generally |usually |strongly |much |really )*(?:prefer|rather have|rather see|hate|dislike|can't stand|always want|never want)(?: to (?:see|have|get))?(?: you to| it when you| when you| that you| your| all| every| always| never| no| any)? ?(?:always |never |my |your )?(?:[\w-]+ ){{0,3}}?(?:{_TALK}|{_CHOICE}|commits?|commit messages?|tests?|comments?|docstrings?|mocks?|type hints|diffs?|one-liners?|functional|guard clauses|early returns|explicit|composition|named exports|imports|small (?:prs|commits|functions))(?![\w-])"
        ),
        firm=True,
    ),
    Signal(
        "what I prefer of two",
        3.0,
        plain(
            r"^\W*(?:\w+\W+){0,2}i (?:always |generally |usually |strongly |much |really )*prefer (?!(?:not|option|the (?:old|new|first|second|other|one|left|right|previous|current)|this|that|it|either|[ab1-9])\b)[^?]{2,60} (?:over|to|instead of|rather than|than) \w"
        ),
        firm=True,
    ),
    Signal(
        "when you do it",
        3.0,
        plain(rf"{_CLAUSE}i (?:really )?(?:hate|dislike|don't like|dont like|love|like) (?:it )?when you\b"),
        firm=True,
    ),
    Signal(
        "who I am",
        2.0,
        plain(
            r"^\W*(?:\w+\W+){0,2}i(?:'m| am|m) (?:a |an |on |the |new to |colou?r ?blind|dyslexic|using |working (?:on|from|in) )[^?]*(?:,| so | and )|\bi (?:generally|usually|always|only|mostly|normally) (?:work|use|read|develop|write|speak|code)\b"
        ),
    ),
    Signal(
        "in which language to speak",
        3.5,
        plain(
            r"^\W*(?:\w+\W+){0,4}?(?:answer|reply|respond|talk|speak|write)(?: to)?(?: me)?(?: only| always)? in (?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|ukrainian|chinese|japanese|korean|vietnamese|turkish|arabic|hindi|czech|swedish)\b"
        ),
        firm=True,
    ),
    Signal(
        "how to speak to me",
        3.0,
        plain(
            rf"{_CLAUSE}(?:(?:be|stay) (?:more |less |very )*(?:brief|concise|terse|direct|blunt|critical|honest|short)\b(?! (?:about|in the|on this))|(?:keep|make) (?:your |the |all )?(?:{_TALK}) (?:short|brief|concise|terse|under|to|below)|(?:no|skip|without|fewer|less|avoid) (?:{_TALK})(?: please| ever| at the end| in (?:your|the|any)|[.!,]|$)|don't (?:apologi[sz]e|summari[sz]e|praise|flatter|over-?explain)|explain (?:things )?(?:less|more|like|step by step)|(?:short|brief|terse|concise) (?:answers|replies|responses))"
        ),
    ),
    Signal(
        "in all my work",
        3.0,
        words(
            r"(?:in|for|across|on) (?:all|every|any)(?: of)? my (?:projects?|repos?|code|work|commits|repositories)|in (?:all|every|any) (?:projects?|repos?)|(?:whatever|whichever|any|every) (?:language|project)"
        ),
        firm=True,
    ),
    Signal(
        "tells it",
        1.5,
        plain(
            rf"{_START}(?:note|notice|please note|heads[- ]up|fyi|reminder|just so you know|for (?:context|your info\w*)|important)\b[:,]? ?(?:that )?"
        ),
    ),
    Signal("asks to keep it in mind", 2.5, words(r"(?:keep|bear) (?:(?:this|that|it|these) )?in mind")),
    # Against
    Signal(
        "a wish",
        -3.0,
        plain(
            rf"{_START}(?:i (?:also )?(?:want|need|would like|wish|think|thought|feel|guess|mean)|i'd (?:like|love|suggest|prefer to)|we (?:also |really |just |will |still )*(?:need|want|should|could|have to|must|might|may|can|would|ought)|we'd|we'll|let's|lets|let us|can (?:we|you|i)|could (?:we|you)|would you|will you|it (?:should|would|could|must|needs)|they (?:should|need)|this (?:should|must|needs)|that (?:should|must)|there should|how about|what about)\b(?! (?:always|never|you to (?:always|never)|all|every|from now|stop|no|remember|keep in mind|memori[sz]e|accept that))"
        ),
        yields=True,
    ),
    Signal(
        "a task",
        -2.0,
        plain(
            rf"{_START}(?:(?:can|could|would|will) (?:you|u) |now |please |pls |just |quickly |also )*(?:{_TASK})\b(?! (?:in mind|it a (?:rule|habit)|(?:all |new |our |any )*(?:{_WORK}) (?:in|into|under|next to|beside|as|with|like|after)\b))(?!:)"
        ),
        yields=True,
    ),
    Signal(
        "and that is to be changed",
        -3.0,
        plain(
            r"[,;.] ?(?:please |pls |so |and |then |just |can you |but |let's )+(?:make|change|move|fix|set|turn|convert|run|remove|delete|bump|update|rename|replace|check|try|switch|adapt|extend|implement|add|create) (?:it|that|this|them|those|a|an|the)\b"
        ),
        yields=True,
    ),
    Signal(
        "one of many demands",
        -3.0,
        plain(rf"{_START}(?:(?:{_TASK})\b|[\w -]{{2,25}}: )[^.?!]*[,;] ?(?:and |but )?(?:always|never)\b"),
    ),
    Signal(
        "what a thing has to do",
        -4.0,
        plain(
            rf"^\W*(?:(?:and|but|so|also|ok|then|now|please)\W+)*(?!(?:the |our |all |every |each |any |my )*(?:{_WORK})\b)(?:the|a|an|our|this|that|each|every|it|they|users?|customers?|admins?|here's what|\w+:)\b[^,;]{{0,60}}?\b(?:must|should|has to|have to|needs? to|shall|is supposed to|has got to)\b"
        ),
    ),
    Signal("a symptom", -4.0, words(_SYMPTOM)),
    Signal(
        "how it is just now",
        -3.0,
        words(
            r"(?:is|are|was|were|looks?|seems?|isn't|aren't) (?:still |now |all |completely |totally |currently )?(?:empty|missing|wrong|slow|stuck|down|dead|outdated|full|corrupt\w*|unavailable|offline|not (?:reachable|found|available|working|running|there|picked|shown|set|installed|visible|showing)|too \w+|already|obsolete)|since (?:yesterday|today|last|this morning|the (?:update|upgrade|rename|change))|there (?:are|is|were|was) (?:a|an|two|some|many|still|now)\b|(?:seems|looks) like|i (?:see|saw|get|got|notice|noticed|found|tested|tried)"
        ),
    ),
    Signal(
        "points at one thing",
        -2.0,
        words(
            r"this (?:function|method|button|page|screen|endpoint|variable|line|value|column|field|modal|dialog|script|example|layout|component|class|table|query|bug|error|ticket|issue|bar|change|branch|pr|feature|file|test|command|flag|option|message|error|step|case)|that (?:function|button|page|endpoint|line|value|bug|one|message|file|field)|the (?:button|page|modal|dialog|menu|header|footer|sidebar|form|function|method|list|user|customer|session|dropdown|icon|loop|parser|importer|validator|screen|popup|tab|card|label|field|cell|row|column|text|color|colour|font|image|logo|chart|graph|table|prompt|output|input|message|toast|banner|badge|tooltip|link|section|view)s?|(?:users?|customers?|visitors?|guests?|players?|admins?)"
        ),
    ),
)

# What makes a rule one of operations, rather than of the code.
_OPS = (
    r"\d{1,3}(?:\.\d{1,3}){3}|prod(?:uction)?|staging|stg|ci(?:/cd)?|preprod|pre-prod|qa|uat|sandbox|demo env(?:ironment)?|preview env\w*|canary|beta channel|local dev|locally|localhost|k8s|kubernetes|kubectl|cluster|namespace|nomad|ecs|eks|gke|aks|lambda|vercel|netlify|heroku|fly|hetzner|aws|gcp|azure(?: devops)?|on[- ]prem(?:ises)?"
    r"|postgres(?:ql)? \d+|elastic(?:search)?|rabbitmq|kafka|minio|s3|bucket|registry|mirror|vpn|bastion|traefik|nginx|haproxy|dns|tls|certs?|host|box|runners?|cron ?jobs?|sentry|grafana|prometheus|loki|datadog|kibana|splunk|pagerduty"
    r"|jira|linear|youtrack|tracker|jenkins|gitlab|github actions|github|glab|bitbucket|circleci|buildkite|teamcity|argo(?:cd)?|atlantis|terraform|pulumi|ansible|helm|docker(?: compose)?|podman|fastlane|app store|testflight|vault|1password|bitwarden|secrets? manager|ssm|\.env"
    r"|deploy(?:s|ed|ing|ment|ments)?|releases|rollouts?|hotfix(?:es)?|main|master|develop|trunk|branch(?:es)?|branch names|push(?:es|ed)?|merg(?:e|es|ed|ing)|squash|force[- ]push|toolchain|port|creds|credentials|firmware|builds? (?:needs?|requires?)|test database|git commit|database (?:is|at|on|lives)|(?:redis|mysql|mongo\w*|clickhouse|mariadb|postgres\w*) (?:is|at|on|in|runs|port)|server (?:is|at|called|named|runs)|cdn|cloudflare|load balancer|ingress|instances?|vms?|ec2|gcs|backups?|on-call|opsgenie|rollback|rolled back|tickets?|tags? (?:look|are)|rebase|cherry-picks?|fork remote|nexus|artifactory|artifacts?|(?:java|jdk|node|go|xcode|gradle|ruby|rust|zig|dotnet|python) \d[\w.]* (?:for|to|is|breaks|in ci)|ssh|systemd|migrations? (?:are|get|is|run)|runs on|run by the pipeline|pipelines?|containers?|docker image|[\w.-]+\.(?:example|internal|corp|lan)|open prs|prs against|pull requests against|nx affected|monorepo is built|secrets (?:are|live|come)"
)

_VETOES = {
    "a question": plain(
        r"\?\s*[)\"']*$|, (?:right|correct|no|yes|or not)\W*$|\b(?:does (?:this|that) make sense|can you confirm|or what do i miss)\W*$|\b(?:shouldn't|wouldn't|couldn't|don't|doesn't) (?:we|you|it|that|this|the \w+) (?:\w+ ){1,12}\?|[,;] (?:so |but |and )?(?:what (?:does|is|about|do|should)|why|how (?:do|does|is|come|can)|where (?:is|are|do)|which one|does|is there|are there|are we|is that)\b|\b(?:tell me|check|see|find out|verify|show me|look up|list|know|wonder|forgot) (?:if|whether|where|why|which|what (?!to )|how we|how the)\b|^\W*(?:explain|describe|show|list) (?:me )?(?:how|what|why|which|where)\b|^\W*(?:(?:so|and|but|ok|hm+|or|hey|well|also|btw|wait|then|now)\W+)*(?:what(?!ever)|why|how(?! we\b)|which (?:one|of|is|are|branch|file|version|\w+ (?:is|are|do|does|should))|who|whose|where(?!ver)|when (?:should|do|does|did|is|are|will|can|would)|is (?:it|there|this|that|the|our)|are (?:there|we|you|they|the|these)|do (?:you|we|i|they)|does|did|should (?:we|i|you|it|the)|can (?:we|i|it)|could (?:we|i|it)|would (?:it|we|you|that)|will (?:it|we|the)|has anyone|have (?:we|you)|in your opinion|any idea|shouldn't (?:we|it|this|the|that)|wouldn't|couldn't (?:we|it|you)|isn't (?:it|this|that|there)|don't (?:we|you)|didn't (?:we|you)|aren't (?:we|you|they)|remind me|do you remember|teach me|explain (?:the|why|how|what|this))\b(?!.*\b(?:yes they should|please stop)\b)"
    ),
    "an order for this once": words(
        r"(?<!not\Wjust\W)(?<!not\Wonly\W)(?:(?<!users\W)(?<!customers\W)(?<!released\W)(?<!shipped\W)yet|for now(?! and)|right now|currently (?:is|an?|in|on|being|the)|is currently|are currently|just now|this time|this once|just once|only once|once more|for once|one[- ]off|for the moment|at the moment|temporar(?:y|ily)|for the time being|meanwhile|in the meantime|today(?!,? (?:on|but))|tomorrow|tonight|this (?:week|sprint|month|morning|afternoon|evening|session|iteration|weekend|hour)|next (?:hour|week|sprint|few)|until(?! (?:i|we|you) (?:say|ask|tell|told|confirm|approve|have))|till|for (?:a|the next) (?:week|day|hour|while|bit|month)|for (?:this|that|the) (?:demo|one|pr|mr|commit|task|ticket|file|prototype|spike|test run|branch|change|fix|release|hotfix|experiment|run|workshop|presentation|meeting|example|poc|step|case|question|tiny change|small change|bug)"
        r"|for this[.!]?$|in the (?:compose file|table|header|footer|sidebar|form|list|new page|example)|in this (?:class|form|page|view|dialog|screen|loop|query|snippet|response|output|pr|mr|commit|file|function|test|branch|ticket|sprint|task|case|curl|example|message|step|answer|one case)|on this (?:branch|pr|ticket|one|file)|this (?:one|pr|file) only|(?<!not\W)only (?:this|here|today|for this)|for the workshop|for the prototype|quick hack|(?:don't|dont|do not) [^?]{1,40} there|the bug is|(?:it's|this is|its) (?:just |only )?a (?:spike|hack|prototype|throwaway|draft|demo|test)|no need (?:for|to) \w+ (?:here|now)|gets deleted|first i want|first (?:describe|explain|tell|show|read|let|i|we|give|list)|this (?:rename|merge|afternoon|run|change|refactoring|snippet|script|release|comment)|for the (?:mvp|talk|poc|moment|rename|load test)|right away|only for this|next time you start|while (?:i|you|we)(?:'m|'re| are)|as a test|before (?:we start|lunch|the meeting|monday|friday)|we'll see|later today|i'll handle|not now|hold off|wait for|skip (?:step|the (?:tests?|changelog|docs|lint|review|build))|the next hour)"
    ),
    "not decided": words(
        r"(?:haven't|havent|have not|not yet|hasn't been) (?:decided|settled|agreed)|undecided|not (?:final|settled|decided)|torn between|i'm torn|maybe|perhaps|might|what if|suppose|supposing|imagine|hypothetically|in theory|i wonder|wondering|could we|could always|can always|we could|should we|would be|would it|i'd like to try|i would like to try|it'd be nice|would be nice|at some point|some day|one day|thinking (?:of|about)|considering|if we (?:used|had|ever|were|switched|moved|never|always|did|go)|brainstorm|not sure(?! why you)|i think we should|if it turns out|let's try|lets try|can we agree|do you see|pros and cons|toying with|tempted|option \w\b|as far as i know|i think (?:we|it|that's|they)|probably|apparently|supposedly|proposal|suggestion:|idea:|rather not sure|i think[.!]?$|i guess|i believe|afaik|iirc|if i remember"
    ),
    "somebody else's words": words(
        r"(?:he|she|they|people|someone|somebody|(?:the|one|another|a|some|that|their|his|her) (?:old |new |previous |other |security |official )?(?:reviewer|colleague|client|customer|vendor|ticket|docs?|documentation|readme(?: from \d+)?|changelog|website|handbook|experts?|adr|paper|article|book|blog|spec|policy|comment|linter|compiler|error|log|manual|guide|wiki|page|tutorial|video|style guide|previous \w+|other \w+|previous|security team|docs folder|linter config)|chatgpt|copilot|gemini|eslint|sonar\w*|stack ?overflow|git log|my (?:boss|colleague|manager|cto|friend|old team|ex|previous \w+|former \w+|last \w+|other \w+|teacher|brother|wife|husband)|our (?:competitors?(?:'s)?|customers?|users?|clients?)|colleagues?|one) (?:says?|said|told|states?|stated|wrote|writes|claims?|thinks?|recommends?|suggests?|insists?|prefers?|preferred|has|asks?|asked|want|wants|always want|disagree|forbids|from \d{4} states|docs)(?! (?:us|you))(?!.*\bso do (?:we|i)\b)|(?-i:[A-Z][a-z]+) (?:says?|said|told|wrote|claims?|thinks?|prefers?|wants?|asked|recommends?|suggested)(?!.*\bso do (?:we|i)\b)|our (?:designers?|competitors?) \w+(?!.*\bso do (?:we|i)\b)"
        r"|at my (?:other|old|last|previous) (?:job|company|team|place)|according to|in the (?:ticket|docs?|readme|article|book|paper|dockerfile|spec) (?:it says|there's|there is|says)|it says|this was in|competitor(?:'s|s)?|people say|they say|rumou?r has it|two colleagues"
    ),
    "a story": words(
        r"back (?:when (?:i|we) (?:was|were|had|did)|then|in (?:the|19|20))|in (?:19|20)\d\d,? (?:we|i|they)|(?<!every\W)(?<!each\W)last (?:year we|month|week(?! of)|job|team|night we)|years ago|used to|in the old days|when i was|i(?:'ve| have) been using|at the bank|good times|we (?:always |never |usually )?(?:deployed|used(?! to the)|wrote|had|pushed|merged|shipped|ran|preferred|did|were|was)|never looked back|once upon|my old|since 20\d\d|it was my"
    ),
    "an order to write it down somewhere": plain(
        r"\b(?:write|add|put|document|create|make|generate|draft|note|insert|append|include|mention|extend|update|collect|produce|set up|configure|prepare|produce)\b[^?]{0,40}?\b(?:readme|claude\.md|agents\.md|contributing\S*|docs/\S+|\S+\.md|docs?\b(?! comments)|documentation|style ?guide|wiki|eslint\w*|lint rule|linter|husky|pre-?commit|hook\b|ci check|config(?:uration)?|\.editorconfig|\.gitignore|slide|poster|blog|section|prettierrc|\.\w+rc|poster|charter|runbook|handbook|adr\b|rfc\b|guide:|onboarding|pr template|house rules|paragraph|github action|doc for|rules? \(|prompt for|policy|changelog|comment (?:that|saying|above)|test (?:that|which)|unit tests? that|regex|sentences?|samples?|examples|story|poem|email|mail|message to|reply|job (?:ad|description)|file for new|tooltip|rule (?:to|for) \w+lint|rule to|a rule that (?:blocks|rejects))\b(?!.*\b(?:from now on|always|every time|for the future|has|needs?) (?:i|we|you)\b)"
    ),
    "an order to make the product do it": plain(
        rf"{_START}(?:make|ensure|let|have|change|set|tweak|see to it|be sure|guarantee|adjust|implement|add|when the|if the|while the|in the story)\b(?! (?:it a (?:rule|habit)|sure (?:you|to)|sure that you|commits|all (?:commits|prs))).{{0,160}}\b(?:never|always|must|no exceptions|should|prefer|only|refuse|every)\b(?!.*\b(?:we|our|in this (?:repo|project|codebase)|here|from now on)\b)"
    ),
    "said again of what was asked for": plain(
        r"^\W*(?:(?:no|sorry|hm+|ok|but|and|wait|yes|well)\W+)*(?:(?:that's|thats|this is|that is|it's) not (?:what|how) (?:i|we) (?:meant|asked|want|wanted|said|mean)|i (?:meant|mean|said|asked|wanted|was asking|did not|didn't|was talking|was referring|am talking)\b(?!.*\b(?:always|never|from now on|every time|we (?:use|don't|never|always))\b)|what i (?:meant|mean|want|wanted)\b|my (?:point|question|idea) (?:is|was))"
    ),
    "a permission": plain(
        r"^\W*(?:(?:ok|yes|sure|and|so|fine|now)\W+)*(?:i (?:allow|permit|authori[sz]e|give you|let you)|you (?:can|may|could|are allowed to) (?:now |also |just |already )?(?:commit|push|merge|delete|remove|use|go|skip|ignore|start|run|drop|deploy|continue|proceed|close|do|edit|change|install|stop|add|create)\b(?! (?:\w+ ){0,6}(?:always|never|only|whenever|every)\b))"
    ),
    "an idiom": words(
        r"never ?mind|as always|never cease|you can always|can always|now and then|better late than never|never say never|always a pleasure|always been|almost never|never heard|never seen|i never|i always (?:forget|get|have|end)|i keep forgetting|i don't always|no (?:errors?|warnings?|luck|crash\w*|change) (?:now|anymore|so far|but|any more)|no errors?|no idea(?! why you)|no rush|no problem|no worries"
    ),
    "about the code as it is": words(
        r"is never (?:read|used|called|set|reached|closed)|never gets? (?:called|closed|read)|is always (?:null|empty|true|false|undefined|zero|0)|test_\w+ (?:fails|passes)|variable \w+ is|since the (?:update|upgrade|last deploy|change)(?! \w+ go)|the (?:current )?branch is|on branch \S+|my branch is|you forgot|it's back|wrong (?:file|directory|branch|folder)(?!s)|line \d+|not what i asked|the total"
    ),
    "a choice for this task": plain(
        r"^\W*(?:i )?(?:prefer|take|choose|pick|go with|let's go with|let's do|use) (?:option|the (?:first|second|third|other|old|new|last|latter|former|left|right)|number|variant|version|\d|both|a different|neither)\b|^\W*(?:actually,? )?make it\b|^\W*not \d|^\W*no,? (?:the(?! \w+ (?:folder|directory|name|port|path|command) is)|line|that one|it's the|i mean the|not that)\b(?!.*\b(?:we|here|our|convention|rule|in this (?:repo|project|codebase|app))\b)"
    ),
}

_WHOLE = {
    "somebody else's text": plain(
        r"\b(?:i )?(?:found|saw|read|got|copied) (?:this|these|that|it|the following) (?:in|on|from|at)\b|\b(?:what's|what is) your (?:take|opinion|view) on\b|\bmessage from (?:another|the other|an?) (?:agent|bot|colleague|customer)\b|^\W*you are (?:an? |the )[\w -]{3,60}(?:agent|assistant|coordinator|worker|reviewer|engineer|expert)\b"
    ),
    "roleplay or fiction": words(
        r"pretend(?: to be| you're| you are)?|in this game you(?:'re| are)|let's play|lets play|role-?play|act as|play the role|^\W*you are (?:a|an|the) \w+|answer as|you are now|you're the \w+, always|talk like|act like|(?:write|compose|invent|make up) (?:me )?(?:a|an|some) (?:short |funny |little )*(?:story|poem|song|haiku|joke|limerick|sketch|dialog(?:ue)?|screenplay|rap)|in the style of|until i say stop"
    ),
    "a text to work on": plain(
        r"^\W*(?:please )?(?:can you |could you )?(?:translate|summari[sz]e|proofread|rephrase|paraphrase|polish|improve|shorten|reword|rewrite|review|correct the grammar|spell-?check|give me a commit message|generate \d+|brainstorm|let's brainstorm)\b[^.?!]{0,80}(?::|\bthis\b|\bthese\b|\bsentences?\b|\bparagraph|\brules?\b|\bto \w+\b:|\bsamples?\b|\bchanges\b)|\b(?:polish the wording|improve this|proofread this|translate (?:this|that|to|into)|fix the grammar|add ten more|turn these into|draft a (?:polite )?reply|count the words|is this a good commit|write a prompt|commit this with message|test (?:name|title):|tl;?dr|fix (?:the )?grammar|as a joke|simulate|make this sentence|(?:copy|text|label|banner|message|tooltip) should (?:read|say)|critique this|rewrite in|commit with \x02|make \d+ (?:example|sample)|instructions for another|(?:judge|compare|rate|evaluate|weigh) (?:the|these|those|both)|commit m(?:sg|essage) for|in your view)"
    ),
}

_CORRECTION = plain(
    r"^\W*(?:no+(?=[,.!:;-]|\s+(?:no|we|you|i|it|that|not|use|don't|dont|stop|put|the|need)\b)|nope|nah|whoa|wow|gosh|wait,|oh please|seriously|mm+ no|wrong|argh|ugh|actually,? (?:we|scratch|it's|in|the)|hm+,? (?:no|you|that|i think you)|hey\W|oh come on|not (?:another|sure why you)|that's not (?:how|what|right)|thats not|incorrect|i said|stop|please stop|the correct|too (?:long|verbose|short|much)|not [\w. -]{2,20}[,.!])\b"
    r"|\byou (?:keep|kept|always|constantly|used|put|wrote|added|named|did|made|created|again|concatenated|misunderstood|really love|'ve used|still)\b|\byou've (?:used|put|added)\b|\b(?:please |pls )?stop \w+ing\b|\byour (?:last change|pr)\b|\bi (?:undid|reverted|told you|said)\b|\brevert that\b|\b(?:second|third|2nd|3rd|4th|fourth) time\b|\bthe file you\b|\bwho (?:told|asked)\b|\bwhy (?:did|do|are) you\b|!!+|\bnever again\b|\bis wrong\b|\bthat's the old way\b|\bdisabling\b|\bno need to\b|\bagain\b(?=.*\b(?:we|here|our|not|no|only|please)\b)|\bi keep telling\b|\bwe talked about\b|\bmisunderst\w+|\bi asked for\b|\bi see you\b|\byou (?:ran|went|picked|chose|imported|hardcoded|mocked|pushed|installed|left|removed|forgot to run)\b|\byou've been\b|\byour (?:file|function|commit|test|code) (?:has|uses|is)\b|\b(?:undo|revert) (?:that|this)\b|\bhands off\b|\bthat's (?:the old|wrong|a|an)\b|\bnot (?:[\w.]+ )?please\b|\bis spelled\b|\b(?:don't|dont) \w+ .*!\s|^\W*(?:\w+ ){1,2}not \w+(?: please)?"
)

_EVERYWHERE = words(
    r"(?:in|for|across|on) (?:all|every|any)(?: of)? my \w+|(?:all|every one of) my (?:projects|repos|code|commits)|in (?:all|every|any) (?:projects?|repos?|repositor\w+)|no matter (?:where|which project|what)|wherever|whatever (?:we|i)(?:'re| are)? \w+ing|(?:whatever|any|every) (?:language|project)|whichever (?:project|repo)|(?:to|for) me,? always"
)
_USER = words(
    r"i sign all my"
    r"|i(?:'d| would)? (?:always |generally |usually |much |really )?(?:prefer|hate|dislike|like|love|rather|want)|call me|i(?:'m| am|m) (?:a|an|on|using|working|new|colou?r ?blind|dyslexic|deaf|blind|not a|left)|for me|to me|call me|talk to me|when (?:i ask|we talk|you explain|you're done|you answer)|tell me|show me|ask me|help me|my (?:editor|shell|name|pronouns|phone|machine|os|timezone)|i (?:generally |usually |always )?(?:work|read|learn|use|sign|speak)|in general|generally speaking"
    r"|(?:stop|don't|dont|no|never|avoid|less|fewer|always|adding|keep|shorter) (?:\w+ )?(?:apologi[sz]ing|emojis?|summar(?:y|ies|i[sz]ing)|explain(?:ing)?|guessing|asking|praising|answers|repeating|answer|explanations|flattery|filler|preambles?|headings)|answers?|repl(?:y|ies)|too (?:long|verbose)"
)
_PROJECT = words(_PLACE + r"|(?:here|our|ours|we|this repo|the team|us)")

_BACK = plain(
    r"^\W*(?:and |but |so |ok |oh )*(?:please |pls )?(?:same (?:goes |rule |thing )?(?:for|with|applies)|(?:that|this|it) (?:applies|goes|holds|counts) (?:to|for|everywhere)|applies (?:to|everywhere)|every (?:single )?time\W*$|always\W*$|(?:make sure (?:to|you) |be sure to |try to )?(?:remember|memori[sz]e|keep) (?:that|this|it|these)(?: in mind| for (?:later|next time|the future))?\W*$|(?:don't|do not|dont|never) (?:ever )?forget (?:that|this|it)\W*$|never again\W*$|(?:don't|dont)\W*$|ever\W*$|everywhere\W*$|no exceptions\W*$|i mean always|as a rule\W*$|generally\W*$|in general\W*$|from now on\W*$|for the future\W*$|that's how we (?:do|work)|that's (?:the|our) (?:rule|convention|policy))"
)

_LEAD = plain(
    r"^(?:\s|[,.:;!*)\-\u2013\u2014]+(?=\s|$)|(?:[-*]|\d{1,2}[.)]|\([a-e1-9]\))\s+|(?:no+(?=[,.:;!?\u2013]|\s*-\s|\s+(?:no|we|you|i|it|it's|that|that's|not|use|don't|dont|do not|stop|put|never|always|please|pls|this|in|here|our)\b|$)|nope|nah|hm+|hey|hi|ok(?:ay)?|ah|oh|argh|ugh|so|well|and|but|also|btw|by the way|yes|yeah|sorry(?: but)?|please|pls|plz|actually|again|wait|fyi|note that|please note(?: that)?|remember that|remember to|remember(?=:)|keep in mind that|bear in mind that|make sure (?:that you|you|to)(?= (?:always|never))|for the record|from now on(?=,| (?!(?:the|it|this|that|there|a|an)\b)[a-z])|going forward(?=,| (?!(?:the|it|this|that|there|a|an)\b)[a-z])|can you(?: please)?(?= (?:stop|always|never))|could you(?: please)?(?= (?:stop|always|never))|just so you know|one more thing|thanks|thx)(?=[\s,.:;!?\-\u2013]|$)[,:;.!]?)+"
)
_TAIL = plain(
    r"(?:[\s,;:.!-]|\b(?:please|pls|plz|thx|thanks|thank you|lol|haha|btw)\b|(?<=[,.!;:]\s)(?:ok|okay|yeah|right)\b\s*\?*|[:;]-?[)D])+$"
)
# Only what cannot go wrong: anything else is kept as it was typed.
_REWRITES = (
    (plain(r"^(?:here,? )?we(?:(?:'re| are) (?:now )?using| now use| use) (?!(?:it|this|that|them|to)\b)"), "Use "),
    (plain(rf"^(?:here,? )?we (always|never|only) (?=(?:{_HABIT})\b)"), r"\1 "),
    (plain(rf"^(?:here,? )?we (?:don't|dont|do not) (?=(?:{_HABIT})\b)"), "Do not "),
    (plain(r"^(?:don't|dont) (?=[a-z])"), "Do not "),
    (plain(rf"^((?:{_CHOICE})(?:,? (?:only|everywhere))?)$"), r"Use \1"),
    (plain(rf"^((?:{_CHOICE}))[!,]* not ((?:{_CHOICE}))\b"), r"Use \1, not \2"),
    (plain(r"^((?:use|always|never|only|do not)\b[^,.;!]*?),? here(?=[,.;!]|$)"), r"\1"),
)

_COMPLAINT = plain(
    r"^\W*(?:(?:no+|nope|hey|hm+|ugh|argh|wait|again|so|and|but|oh|ok|why|wow|whoa|sorry)\W+)*"
    r"(?:you(?:'ve| have)?(?: just| simply| again| also| still| already| now| even)? (?:(?!need)\w+ed|put|wrote|ran|made|did|gave|got|went|built|left|took|chose|set|forgot|broke|sent|kept|written|been|done|brought|threw|\x02+)\b"
    r"|i (?:just )?(?:see|saw|undid|reverted|had to|noticed)\b|(?:it|this|that) (?:says|said)\b|the (?:file|code|test|class|page|function|\w+) (?:you|has|have|is|are) .*\bnow\b|the [\w -]{2,30} you(?:'ve)? (?:\w+ed|made|wrote|put)\b)"
    r"|\bagain\W*$|\?+\s*$"
)
_POINTING = plain(
    r"^\W*(?:[\w']+\W+){0,3}?(?:they|them|those|these|that (?:folder|file|one|way|directory|module|thing|place|table|branch|class)|this (?:one|way|folder|file|thing))\b|^\W*(?:it (?!is|has)|that (?!is)|hands off (?:that|it))"
)

ENGLISH = Language(
    code="en",
    signals=_SIGNALS,
    vetoes=_VETOES,
    whole=_WHOLE,
    correction=_CORRECTION,
    devops=words(_OPS),
    user=_USER,
    everywhere=_EVERYWHERE,
    project=_PROJECT,
    back=_BACK,
    lead=_LEAD,
    tail=_TAIL,
    asides=plain(r",?\s+(?:btw|pls|please|lol|thx)(?=[,.;!]|$)"),
    rewrites=_REWRITES,
    complaint=_COMPLAINT,
    pointing=_POINTING,
)  # fmt: skip
