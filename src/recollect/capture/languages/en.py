"""English. Tables alone: nouns and verbs of the trade, what speaks for a standing rule, what speaks against it.

A rule is recognised by its form (who speaks of what, in which mood), never by a keyword: "always" and "never" stand
in symptoms, requirements and idioms far more often than in rules.
"""

from __future__ import annotations

from recollect.capture.language import Language, Signal, plain, words

# Words of the trade. "the button", "a session", "documents" are the product's: not here.
_NOUN = (
    r"(?:unit |integration |e2e |acceptance |smoke |snapshot )?tests?|specs?|test (?:files|data|names)|commits?|commit (?:messages?|subjects?|titles?)|branch(?:es)?"
    r"|(?:feature |release |hotfix )?branch(?:es)?(?: names?)?|prs?|mrs?|pull requests?|merge requests?|(?:db |database |schema )?migrations?|imports?|exports?"
    r"|components?|hooks?|error messages?|errors?|exceptions?|dates?|times|timestamps|time ?zones?|log (?:lines?|messages?|levels?|calls?)|logs|logging(?: levels)?"
    r"|files|file ?names?|(?:source|config|sql|yaml|json|css|scss|proto|generated|swift|go|rust|kotlin|java|python|ts|js) files?|folders?|directories|variables?|var(?:iable)? names?|names|naming|\w+ names|identifiers"
    r"|quer(?:y|ies)|services?|controllers?|repositor(?:y|ies)|models?|endpoints?|routes?|handlers?|colou?rs|styles?|styling|css|spacing|(?:ui )?strings?|labels|copy"
    r"|configs?|configuration|settings|env(?:ironment)? var(?:iable)?s|env vars|secrets?|credentials|creds|passwords|api keys?|tokens|feature flags?|flags?"
    r"|releases?|tags|version numbers|versions|deployments?|deploys|rollouts?|rollbacks?|hotfixes|builds?|images?|containers?|jobs?|cron ?jobs?|pipelines?|workflows?|runners?|artifacts?|backups?"
    r"|packages?|modules?|dependenc(?:y|ies)|deps|librar(?:y|ies)|types?|interfaces?|enums?|class(?:es)?|structs?|functions?|pure functions|methods?|constants?|globals|singletons?|side effects?"
    r"|comments?|docstrings?|docs|documentation|doc comments|changelogs?|readmes?|prompts|fixtures?|mocks?|mocking|stubs?|fakes?|snapshots?|factor(?:y|ies)|seeds?|seed data"
    r"|schemas?|tables?|table names|columns?|column names|primary keys|foreign keys|indexes|ids|json keys|keys|api (?:responses|fields|errors|routes)|responses|requests|payloads?|events?|event names|topics|queues?|reducers?|stores?|state(?: management)?|state mgmt"
    r"|forms?|inputs?|templates?|partials|translations?|i18n|assets?|icons|scripts?|shell scripts|notebooks?|dashboards?|alerts?|charts?|diagrams?|warnings?|lint(?:ing)?|formatting|indentation|indent|quotes|semicolons|type (?:hints|annotations)|typing"
    r"|money(?: values| amounts)?|helpers?|utils?|views?|helm (?:values|charts)|charts|playbooks?|manifests?|values|helpers|animations|shaders?|assertions?|validation|auth|caching|pagination|data fetching|http calls|network calls|file access|json|csv|(?:folder|directory|project|file|module|package) (?:structure|layout)|layout|architecture|naming scheme|tech stack|stack|default branch|base branch|entry point|error handling|dates and times|line endings|headers|licen[cs]e headers|csv exports|exports"
)
_TALK = (
    r"answers?|answering|repl(?:y|ies)|respon(?:d|ses?)|explain(?:ing)?|explanations?|summar(?:y|ies)|summari[sz]e|summari[sz]ing|emojis?|apologi[sz]\w*|apolog(?:y|ies)|headings?|bullet(?: point)?s|jargon|tone|analog(?:y|ies)"
    r"|talk|ask(?:ing)?|tell(?:ing)?|call me|guess(?:ing)?|plan|diffs?|step by step|recap|flattery|prais\w+|compliment\w*|preamble|filler|questions?|prose|plain text|markdown|caps|language"
)
_PLACE = (
    r"(?:in|for|of|across|throughout|inside|within) (?:this|our|these|the whole|this whole|the entire|our whole) (?:whole |entire )?(?:\w+ )?(?:repo|repos|repository|project|codebase|code base|code|monorepo|mono repo|service|services|app|apps|application|package|lib|library|workspace|api|team|company|org|product|stack|backend|frontend|front end|back end|site|crate|gem|shop|place|engine|game|firmware|renderer|sdk|plugin|tests?|organi[sz]ation|cluster|pipelines?|components?|typescript|python|java|rust|css|docs|one)"
    r"|(?:in|for) (?:the )?(?:whole|entire|all) (?:of )?(?:the |our |this )?(?:project|repo|codebase|app|code)"
    r"|at our (?:place|company|shop)|on our team|on this (?:team|project)|around here|in here|over here|for us|with us"
)
_STANDING = (
    r"from now on|from here on(?: out)?|from this point on|going forward|moving forward|henceforth|in (?:the )?future|for (?:the|all) future|from today on|as of (?:now|today)|starting (?:now|today)"
    r"|once and for all|for good|never again|every (?:single )?time|each time|at all times|always and everywhere|no matter (?:where|what|which)|(?:in )?(?:whatever|any|every) (?:language|project)"
    r"|as a general (?:note|rule|principle)|on principle|as a matter of (?:principle|style)|style note|stylistic thing|a (?:hard|strict) requirement|polic(?:y|ies) of ours|for (?:everything|anything) (?:in|under|you)|in general|generally speaking|generally[.!]?$|as a (?:general )?rule|rule of thumb|by default,|make it a (?:rule|habit)|(?:new|house|team|standing|hard|general|golden|one) rules?(?: here| for you| of ours)?(?::|,| is\b| -)"
    r"|the (?:convention|rule|policy|standard|agreement|guideline)(?: here| in this \w+| for \w+| with us)? (?:here )?is|(?:is|are|that's|thats|it's|its) (?:the|our|a) (?:convention|rule|policy|standard|law|agreement|way)"
    r"|our (?:convention|rule|policy|standard|guideline|house style|style|practice|agreement) (?:is|for|says)|that's (?:our|my) (?:approach|way|style|convention|rule|attitude|policy|habit)|(?:is|are) our (?:style|way|approach)|in my (?:repos|projects|code)|whatever the (?:language|project|task|stack)|that's how (?:we|the team|i|it's|things|\w+ are)|thats how (?:we|the team|i)|how we do (?:it|things|that)|not how we do|the way we do"
    r"|for the record|for (?:the )?future reference|(?:please )?remember(?: that|:| this|,)(?! (?:bug|crash|error))|small reminder|(?:team|house|company|project) (?:standard|style|rule|policy) is|is (?:the )?law|don't forget(?: that|:)|keep (?:that|this|it)? ?in mind|bear in mind|make a note|jot (?:this|that) down|note to self|note (?:that|we|for later)|take note|please note|fyi|heads[- ]up|for context|context for everything"
    r"|(?:in|for|across) (?:all|every|any|each)(?: of)? (?:my|our|the)? ?(?:\w+ )?(?:projects?|repos?|repositor(?:y|ies)|codebases?|code|scripts?|screens?|services?|modules?|packages?|files|components|primary keys|ui work|server state)|whatever (?:we|i|you)(?:'re| are)? (?!like|want|prefer|think|need)\w+"
    r"|across the board|(?:in|for|across) (?:all|every|any)(?: of)? (?:our |my |the )?(?:"
    + _NOUN
    + r")|(?:that|this|same|it) goes for (?:all|every|any|each)|applies to (?:all|every|any|each)|not (?:just|only) (?:for |in )?(?:this|today|now)|whole (?:project|app|codebase|repo|renderer|team) (?:is|does|uses)|new code should|no exceptions|without exception|is sacred|assume that for all"
)
_VERB = r"use|prefer|avoid|write|name|put|keep|store|place|run|test|ship|deploy|release|tag|log|version|format|cache|freeze|split|inject|return|throw|raise|catch|handle|import|export|follow|stick|commit|push|merge|squash|rebase|branch|cut|build|target|support|require|pin|treat|document|comment|indent|call|mock|stub|fake|spell|capitali[sz]e|order|sort|group|wrap|validate|parse|seri?ali[sz]e|generate|regenerate|check|lint|sign|track|host|work|review|open|pass|declare|define|type|annotate|model|load|fetch|query|access|migrate|publish|install|manage|add|bump|edit|touch|modify|change|disable|skip|ignore|delete|remove|drop|hardcode|hard-code|inline|expose|leave|create|set|read|do|go|stay|talk|speak|ban|allow|accept|translate|localize|style|render|paginate|authenticate|encrypt|rotate|back|monitor|alert|develop|code|compose|extend|inherit|nest|abbreviate|prefix|suffix|separate|divide|quote|escape|stage|roll|provision|configure|start|restart|ssh|force|cherry-pick|amend|close|assign|link|reference|mention|explain|answer|reply|respond|ask|show|tell|summari[sz]e|include|list|report|propose|suggest|give|guess|assume|apologi[sz]e|refactor|rewrite|rename|move|copy|touch|make|bother|depend|rely|count|purge|apply"
_STATIVE = r"is|are|isn't|aren't|lives?|sits?|goes|go|belongs?|stays?|comes?|gets?|runs?|needs?|uses?|has|have|must|should(?:n't|nt)?|shall|never|always|only|don't|dont|do not|doesn't|does not|can't|cannot|explains?|describes?|says?|carr(?:y|ies)|rejects?|blocks?|enforces?|confuses?|ends?|starts?|begins?|follows?|returns?|takes?|imports?|holds?|means?|points?|listens?|resets?|rotates?|requires?|expects?|targets?|looks? like|happens?|end up|(?:is|are) (?:called|named|built|deployed|done|cut|kept|written|stored|generated|tagged|promoted|flashed|parsed|run|pinned)"
_ENV = (
    r"prod(?:uction)?|staging|stg|ci(?:/cd)?|cd|preprod|pre-prod|qa|uat|sandbox|demo(?: env(?:ironment)?)?|preview(?:s)?|canary|beta(?: channel)?|in dev|in prod|dev (?:server|db|database|cluster|env(?:ironment)?)|local dev|locally|k8s|kubernetes|cluster|namespace|nomad|ecs|eks|gke|aks|lambda|cloud run|fargate|vercel|netlify|heroku|fly(?:\.io)?|render\.com|hetzner|aws|gcp|azure(?: devops)?|digitalocean|on[- ]prem(?:ises)?"
    r"|db|database|postgres(?:ql)?|mysql|mariadb|redis|mongo(?:db)?|elastic(?:search)?|opensearch|clickhouse|rabbitmq|kafka|nats|minio|s3|bucket|registry|mirror|proxy|vpn|bastion|jump ?host|load balancer|traefik|nginx|haproxy|ingress|dns|tls|ssl|certs?|certificates?"
    r"|server|host|box|machine|runner|agents?|vm|instance|worker(?:s)?|cron ?jobs?|scheduler|queue|api gateway|gateway|sentry|grafana|prometheus|loki|datadog|kibana|jaeger|splunk|pagerduty|new relic|logs|metrics|dashboards|alerts"
    r"|jira|linear|youtrack|tracker|tickets|issues|confluence|jenkins|gitlab|github actions|github|bitbucket|circleci|travis|buildkite|teamcity|argo(?:cd)?|flux|atlantis|terraform|pulumi|ansible|helm|docker(?: compose)?|podman|compose|fastlane|app store|testflight|play store|vault|1password|bitwarden|secrets? manager|ssm|env files?|\.env"
    r"|deploy(?:s|ed|ing|ment|ments)?|release(?:s|d)?|rollouts?|hotfix(?:es)?|main|master|develop|trunk|branch(?:es)?|push(?:es|ed)?|merge[sd]?|squash|rebase|force[- ]push|tags?|toolchain|node|java|jdk|python|ruby|go|gradle|maven|xcode|sdk|arm64|x86|amd64|image|images|container(?:s)?|pipeline(?:s)?|port|url|migrations?|backups?|credentials|creds|firmware|flash(?:ed)?|build(?:s)?"
)
# What makes a rule one of operations, rather than of the code.
_OPS = (
    r"prod(?:uction)?|staging|stg|ci(?:/cd)?|preprod|pre-prod|qa|uat|sandbox|demo env(?:ironment)?|preview env\w*|canary|beta channel|local dev|locally|localhost|k8s|kubernetes|kubectl|cluster|namespace|nomad|ecs|eks|gke|aks|lambda|vercel|netlify|heroku|fly|hetzner|aws|gcp|azure(?: devops)?|on[- ]prem(?:ises)?"
    r"|postgres(?:ql)? \d+|elastic(?:search)?|rabbitmq|kafka|minio|s3|bucket|registry|mirror|vpn|bastion|traefik|nginx|haproxy|dns|tls|certs?|host|box|runners?|cron ?jobs?|sentry|grafana|prometheus|loki|datadog|kibana|splunk|pagerduty"
    r"|jira|linear|youtrack|tracker|jenkins|gitlab|github actions|github|glab|bitbucket|circleci|buildkite|teamcity|argo(?:cd)?|atlantis|terraform|pulumi|ansible|helm|docker(?: compose)?|podman|fastlane|app store|testflight|vault|1password|bitwarden|secrets? manager|ssm|\.env"
    r"|deploy(?:s|ed|ing|ment|ments)?|releases|rollouts?|hotfix(?:es)?|main|master|develop|trunk|branch(?:es)?|branch names|push(?:es|ed)?|merg(?:e|es|ed|ing)|squash|force[- ]push|toolchain|port|creds|credentials|firmware|builds? (?:needs?|requires?)|test database|git commit|database (?:is|at|on|lives)|(?:redis|mysql|mongo\w*|clickhouse|mariadb|postgres\w*) (?:is|at|on|in|runs|port)|server (?:is|at|called|named|runs)|cdn|cloudflare|load balancer|ingress|instances?|vms?|ec2|gcs|backups?|on-call|opsgenie|rollback|rolled back|tickets?|tags? (?:look|are)|rebase|cherry-picks?|fork remote|nexus|artifactory|artifacts?|(?:java|jdk|node|go|xcode|gradle|ruby|rust|zig|dotnet|python) \d[\w.]* (?:for|to|is|breaks|in ci)|ssh|systemd|migrations? (?:are|get|is|run)|runs on|run by the pipeline|pipelines?|containers?|docker image|[\w.-]+\.(?:example|internal|corp|lan)|open prs|prs against|pull requests against|nx affected|monorepo is built|secrets (?:are|live|come)"
)
_VALUE = r"\d{2,5}|:\d{2,5}|port \d+|v?\d+(?:\.\d+)+|https?://\S+|[\w.-]+\.(?:example|com|org|net|io|dev|internal|local|lan|sh|app|yaml|yml|json|toml|sh|env|tf|md)|[\w-]+/[\w<>*./-]+|\x02+|eu-\w+-\d|us-\w+-\d|[a-z]+@[\w.-]+|utc|arm64|amd64"
_TASK = r"fix|add|make|create|rename|refactor|implement|update|write|remove|delete|move|change|set|generate|convert|check|look|find|show|give|explain|tell|run|build|deploy|commit|push|open|close|stop|start|restart|revert|undo|replace|translate|summari[sz]e|review|improve|polish|compare|draft|document|describe|list|count|sort|ensure|answer|reply|help|try|test|debug|investigate|continue|go ahead|wait|let|put|temporarily|port|bump|draft|brainstorm|reproduce|turn|teach|remind|tweak|align|ignore|skip|leave|disable|enable|install|upgrade|clean|finish|merge|rebase|format|wrap|extract|split|inline|drop|read|configure|migrate|scaffold|suggest|recommend|propose|design|plan|optimi[sz]e|cache"
_SYMPTOM = r"fails?(?! (?:below|if|above|unless|otherwise|under))|failing|failed|broken|breaks (?:when|on|if|after)|hangs?|crash(?:es|ed|ing)?|times? out|doesn't work|does not work|not working|never (?:works?|starts?|worked|finish\w*|loads?|returns|arrives?|called|read|fires?|gets)|always (?:fails?|returns?|gets?|asks?|shows?|crash\w*|empty|null|wrong|the same|false|true)|(?:we|i|you|it|users?|always|getting|now|still) (?:get|gets|got)?(?:getting)? ?(?:a|an|the same|this|\d+)? ?(?:[45]\d\ds?|error|errors|timeout|exception|warning)\b|(?:we|i) (?:always |never |still |now )?gets? (?:a|an|the same|this|\d)\b|returns? (?:a |an )?[45]\d\d|is down|are down|is slow|still (?:red|broken|getting|failing)|the same error|is taken|is empty|is red|flaky|returns? \w+ instead of|no \w+(?: \w+)? (?:found|available|left|returned)|no such|has (?:the|an?|this)(?: same)? (?:issue|problem|bug|error)|by mistake|accidentally|so the \w+ (?:is|are) wrong|seeing (?:timeouts|errors)|is dead|are dead|refuses? (?:connections?|to)|refused|unreachable|exhausted|lags?\b|is stuck|gets stuck|freezes|flickers|blank page|when i (?:click|press|open|save|refresh|rotate|start|submit)|won't stop|runs? (?:out of|into)|keeps? (?:getting|seeing|hitting|failing|crashing)|won't (?:start|work|run|build|compile|connect|load)|can't (?:connect|start|reach)|figured out|complain\w*"
_WE_VERB = (
    r"(?:(?:always|never|only|generally|usually|normally|typically|mostly|strictly|exclusively|no longer|all|just|also|already|still|now|actually|really) )*(?:"
    r"use|prefer|avoid|write|name|put|keep|store|place|run|test|ship|deploy|release|tag|log|version|format|cache|freeze|split|inject|return|throw|raise|catch|handle|import|export|follow|stick|commit|push|merge|squash|rebase|branch|cut|build|target|support|require|pin|treat|document|comment|indent|call|mock|stub|spell|order|sort|group|wrap|validate|parse|generate|check|lint|sign|track|host|review|open|pass|declare|define|annotate|model|load|fetch|query|access|migrate|publish|install|manage|do (?!that|this|it)|go|stay|compose|extend|prefix|separate|roll|provision|configure|encrypt|rotate|back up|monitor|translate|style|paginate|develop|code|speak"
    r"|(?:don't|dont|do not|don’t)(?! (?:have|see|know|need|care|want|get|understand|think|remember|really|actually|even))(?= \w)|(?:never|always|only) (?!have\b|need\b|want\b|\w+ed\b|got\b|had\b|saw\b|knew\b|get\b|see\b|found\b|run (?:out|into))\w+|ban|forbid|disallow"
    r"|(?:'re|’re| are|r|re) (?:using|on|moving|going with|migrating|switching|standardi[sz]ing|not using|not allowed|phasing|stuck|pinned|stuck on|all)"
    r"|(?:have|'ve got|'ve|got|has) (?:our own|banned|settled|decided|agreed|standardi[sz]ed|moved|switched|dropped|a rule|a convention|a policy|two|one|separate|no)|settled|decided (?!to (?:drop|remove|cancel|postpone|delete|skip|not))|agreed|standardi[sz]ed|got rid of|moved (?:to|off|away)|switched (?:to|from)|dropped)"
)
_CHOICE = r"tabs|spaces|two spaces|four spaces|2 spaces|4 spaces|npm|pnpm|yarn|bun|jest|vitest|mocha|ava|cypress|playwright|pytest|unittest|nose|pip|pipenv|poetry|uv|conda|hatch|snake_case|camelcase|kebab-case|pascalcase|single quotes|double quotes|semicolons|moment|dayjs|date-fns|luxon|lodash|axios|fetch|redux|zustand|mobx|jotai|yup|zod|joi|valibot|webpack|vite|rollup|esbuild|eslint|biome|tslint|prettier|ruff|flake8|pylint|mypy|pyright|junit|testng|assertj|hamcrest|mockito|mockk|rspec|minitest|gradle|maven|bazel|cmake|ninja|meson|sqlalchemy|django orm|prisma|drizzle|knex|typeorm|sequelize|uuid v7|uuid v4|ulid|lf|crlf|utc|named exports|default exports|composition api|options api|class components|tailwind|bootstrap|scss|sass|css modules|styled-components|graphql|grpc|mysql|postgres|sqlite|mongo|docker|podman|jenkins|github actions|gitlab|github|bitbucket|jira|linear|fish|zsh|bash|commonjs|esm|bloc|riverpod|dataclasses|pydantic|attrs|requests|httpx|aiohttp|flask|fastapi|django"
_CHAT_PREFIX = r"^(?:\W*(?:(?:no|nope|nah|non|hm+|hey|ok(?:ay)?|ah|oh|argh|ugh|so|well|and|but|also|btw|by the way|yes|yeah|sorry(?: but)?|please|pls|plz|actually|again|wait|look|listen|man|oh come on|right|sure|great|thanks|cool|just|then|now|wrong(?: again)?|not quite|seriously|ehm|uh|um|one (?:more )?(?:thing|note|constraint)[^:,.]{0,40}[:,]|small thing[^:,.]{0,40}[-:,])\b\W*)+)?"


_SIGNALS = (
    Signal("says it is to last", 3.0, words(_STANDING), firm=True),
    Signal("everywhere", 2.0, words(r"everywhere|wherever|anywhere")),
    Signal("names the place where it holds", 2.0, words(_PLACE)),
    Signal(
        "what we do",
        3.0,
        plain(
            rf"(?<![\w-])(?<!how )(?<!where )(?<!why )(?<!what )(?<!which )(?<!whether )(?<!if )(?<!that )(?<!places )(?<!like )(?:we(?:'re|’re|re)?|nobody here|no one here|everyone here|everybody here)(?: (?:all|both|here))? ?{_WE_VERB}(?![\w-])|(?:nobody|no one|everyone|everybody) here \w+s\b|the team (?:uses|prefers|likes|finds|writes|follows|avoids|agreed|decided)\b"
        ),
    ),
    Signal(
        "what we do, whatever it is",
        2.5,
        plain(
            r"(?<![\w-])(?<!how )(?<!where )(?<!why )(?<!what )(?<!which )(?<!whether )(?<!if )(?<!that )(?<!places )(?<!like )we (?:here )?(?:(?:always|never|only|generally|usually|normally|no longer|all|just|also|still|now|currently) )*(?!(?:\w+ed|\w+ing|need|want|wanted|get|got|see|saw|have|had|are|were|was|can|can't|could|should|would|will|won't|might|may|must|shall|think|thought|know|knew|believe|found|lost|hit|forgot|met|made|did|didn't|don't|do|went|came|took|gave|said|told|sent|kept|left|felt|ran|wrote|read|began|broke|chose|won|built|spent|let|need|hope|guess|assume|expect|look|wait|wonder|miss|fail|try|discuss|plan|talk|agree|ever|really|even|both|just|obviously|clearly|in|on|at|and|or|to|the|a|run (?:out|into)|keep (?:getting|seeing|hitting)|figured|already|start|end up|never|always|only)\b)[a-z]{2,}(?![\w-])(?! (?:this|that|it|them|these|those)\b)"
        ),
    ),
    Signal("what we have", 1.5, plain(r"(?<![\w-])we (?:have|'ve got|own|are|'re)(?![\w-])")),
    Signal(
        "says how ours is",
        2.0,
        plain(
            rf"(?<![\w-])(?:(?:our)(?: own)?(?! (?:users|customers|clients|competitor\w*|domain|landing))(?: [\w./@-]+){{1,5}}?|of ours) (?:{_STATIVE})(?![\w-])"
        ),
    ),
    Signal(
        "always or never, as an order",
        3.5,
        plain(
            rf"{_CHAT_PREFIX}(?:always|never(?: ever)?|only ever|dont ever|don't ever|do not ever)(?: ever)? (?:{_VERB})(?![\w-])(?! (?:it|this|that|them|mind)\b)"
        ),
        firm=True,
    ),
    Signal(
        "always or never, after a comma",
        2.0,
        plain(
            rf"[,;:.] ?(?:and |so |but )?(?:please )?(?:always|never(?: ever)?|only ever)(?: ever)? (?:{_VERB})(?![\w-])(?! (?:it|this|that|them|mind)\b)"
        ),
    ),
    Signal(
        "do not, ever",
        3.0,
        words(
            r"(?:don't|dont|do not|don’t|never|nothing|no)(?: [^\s.?]+){1,12}?,? (?:ever|anywhere|under any circumstances|whatsoever)|never ever|only ever|not ever|no more"
        ),
        firm=True,
    ),
    Signal(
        "never or always, as an afterthought",
        2.0,
        plain(
            r"[,;.] ?(?:and |but |i mean )?(?:never|always)(?: (?:by hand|on prod|manually|directly|the other way(?: round)?|deep paths|offset|[\w.@/()-]+(?: [\w.@/()-]+)?))?[.!]?$"
        ),
    ),
    Signal(
        "do not, as an order",
        1.0,
        plain(
            rf"(?:^|[,;:.] ?|so |and |please |but ){_CHAT_PREFIX[1:]}(?:don't|dont|do not|don’t)(?: \w+)? (?:{_VERB})(?![\w-])"
        ),
    ),
    Signal(
        "what I prefer",
        3.0,
        plain(
            r"(?<![\w-])i(?:'d| would)? (?:always |generally |usually |strongly |much |really )?(?:prefer|rather (?:have|see|you)|hate|dislike|love it when|like it when|like (?:my|to see|to have|your)|can't stand|cannot stand|don't want (?:you|any|to)|don't need (?:an? |any |the )?(?:explanation|summar|recap|comment|reminder)\w*|do not want (?:you|any)|can't read|don't like|dont like|don't want to see|always want|want (?:\w+ )*(?:every|all|always|each)|never want|expect|insist)(?! (?:option|the (?:old|new|first|second|third|other|one|left|right|previous|current|former|latter)|this|that|number|it|either|both|a different|[ab1-9]\b|variant|version))(?![\w-])"
        ),
        firm=True,
    ),
    Signal(
        "how I want to be spoken to",
        2.5,
        plain(
            rf"{_CHAT_PREFIX}(?:(?:don't|dont|do not|never|always|no|keep|give me|make|skip|stop|answer|reply|respond|explain|talk|speak|ask|show|tell|call|use|write|end|start|limit)\b)(?:(?!\b(?:it|this|that)\b)[^?]){{0,60}}\b(?:{_TALK})\b[^?]*\b(?:to me|for me|me|short|brief|terse|concise|at the end|first|before|when i|always|please|in \w+|max|lines|you|your|everything)\b"
        ),
    ),
    Signal(
        "who I am",
        2.5,
        plain(
            r"(?<![\w-])i(?:'m| am|m)(?: also| still)? (?:on|a|an|colou?r ?blind|dyslexic|new to|left-handed|not a|the only|based|in [A-Z]|using|working|always|usually|running|deaf|blind)\b(?! (?:wrong|branch|bit|meeting|call|rush|sure|getting|seeing))[^?]*(?:,| so | - |\band\b|:)|(?<![\w-])i (?:generally |usually |always |only |mostly |normally )?(?:work (?:on|in|with|from)|use|sign|read|develop on|run|live in|write|speak|type|code (?:on|in))\b[^?]*(?:,| so |\bdon't\b|\bdont\b)"
        ),
    ),
    Signal(
        "answer me so",
        3.0,
        plain(
            r"^\W*(?:please |pls |just )*(?:answer|reply to|respond to|talk to|speak to|write to|write) me\b(?! (?:this|what|how|when|if|back|a|an|the|whether))|you (?:don't|do not|dont) (?:need|have) to (?:explain|tell|ask|apologi\w+|repeat|show|remind|thank)|no need to (?:explain|apologi\w+|repeat|thank|ask)|(?:quit|stop|enough) with the \w+"
        ),
        firm=True,
    ),
    Signal(
        "in your answers",
        2.0,
        words(
            r"(?:in |of |to )?your (?:answers|replies|responses|explanations|messages|summaries)|in your (?:code|commits|output|comments)"
        ),
        firm=True,
    ),
    Signal(
        "ask me first",
        3.0,
        words(
            r"without (?:my|asking|telling me|checking with|discussion|discussing)(?: \w+)?|(?:confirm|check|clear it|talk) (?:it )?with me (?:before|first)|(?:when|if) (?:in doubt|unsure|you're unsure|you are unsure|not sure)|unless (?:i|we) (?:ask|say|tell|explicitly)|(?:don't|dont|do not|never) [^?]{1,60}(?:on your own|by yourself|yourself)"
        ),
        firm=True,
    ),
    Signal(
        "answer in it",
        2.5,
        plain(
            r"(?:^|[,.;] ?|and |but |please )(?:always )?(?:answer|reply|respond|talk|speak)(?: to me)? in (?:\w+)(?! (?:this|the))(?:[.,!]| please| when| always|$)"
        ),
    ),
    Signal(
        "what you may not",
        2.0,
        plain(
            rf"{_CHAT_PREFIX}you (?:can't|cannot|may not|must not|mustn't|aren't allowed to|are not allowed to|shouldn't|should never|must never|must always|should always) (?:{_VERB})(?![\w-])"
        ),
    ),
    Signal(
        "never, as an order",
        2.0,
        plain(
            rf"{_CHAT_PREFIX}never(?: ever)? (?!(?:{_VERB}|mind|seen|saw|heard|thought|understood|got|had|been|again|show|hide|display|close|appear|be|let|send|block)\b)[a-z]+ (?!(?:it|this|that|them|the)\b)"
        ),
    ),
    Signal(
        "is named so",
        2.5,
        plain(
            r"(?<![\w-])(?:is|are|be) (?:named|called|prefixed|suffixed|spelled|numbered|tagged|versioned)(?: like| as| after| with| by)? [^\s,;?]*[<{*_./|:-]"
        ),
    ),
    Signal(
        "a kind of thing, in general",
        1.0,
        plain(
            r"^\W*(?!(?:we|this|that|it|you|he|she|is|was|does|has|always|as|yes|thanks|users|customers|clients|orders|documents|players|sessions|invoices|alarms|emails|visitors)\b)(?:[\w-]+ ){0,2}[\w-]+[a-rt-z]s (?:need|get|have|start|end|explain|stay|follow|carry|belong|live|go|use|are)\b"
        ),
    ),
    Signal(
        "one for each",
        1.5,
        words(
            r"(?:a|an|one) [\w-]+(?: [\w-]+)? per \w+|[\w-]+ per (?:branch|developer|file|feature|commit|pr|test|table|service|module|class|tenant|environment)"
        ),
    ),
    Signal("avoid it", 2.0, plain(rf"{_CHAT_PREFIX}avoid (?!(?:the|this|that|it|a|an)\b)\w+")),
    Signal(
        "keep it to so much",
        2.5,
        plain(
            rf"{_CHAT_PREFIX}keep (?:your |the )?(?:{_TALK}|{_NOUN}) (?:to|under|below|within|at|short|brief|small) "
        ),
    ),
    Signal(
        "this way of writing it",
        2.0,
        plain(
            rf"(?<![\w-])(?:{_NOUN}|frontend|backend|front end|back end) (?:in|with|as|is|are) (?:{_CHOICE})(?![\w-])"
        ),
    ),
    Signal("is the place for it", 2.0, words(r"is (?:the place for|where (?!the (?:bug|error|problem))\w+ \w+)")),
    Signal(
        "what one needs first",
        2.5,
        plain(
            r"^\W*(?:to|for) (?:reach|access|deploy|build|run|use|connect|get)\b[^?,]{1,40},? you(?:'ll)? (?:need|have to|must)\b"
        ),
    ),
    Signal("stick to it", 2.0, plain(rf"{_CHAT_PREFIX}stick (?:to|with) (?!(?:it|that|this)\b)")),
    Signal(
        "prefer one to the other",
        2.5,
        plain(
            rf"{_CHAT_PREFIX}(?:prefer|favou?r) (?!(?:the|this|that|option|it)\b)[^?]+ (?:to|over|instead of|rather than) "
        ),
    ),
    Signal(
        "call me",
        3.0,
        words(
            r"call me(?! (?:back|when|if))|talk to me|address me|speak to me|my (?:name|pronouns|editor|shell|os|timezone|time zone|machine|keyboard|terminal|native language|mother tongue) (?:is|are)"
        ),
        firm=True,
    ),
    Signal(
        "you do it again and again",
        3.0,
        words(
            r"you (?:keep (?!saying)|still keep|constantly|kept|again|insist on|love|really love)(?: on)? ?\w+(?:ing|s)?|you always (?:forget|use|add|put|write|miss|ignore|skip|leave|break|do this|do that)|i keep telling you|you've been using|we talked about this|(?:second|third|fourth|fifth|2nd|3rd|4th|5th|6th|nth|tenth|10th|hundredth) time|(?:i|i've|i have) (?:already )?(?:told you|said|asked you|mentioned)(?: \w+)*? (?:before|already|times|twice|we|that we|not to|to use|to never)|how (?:many times|often)|yet again"
        ),
        firm=True,
    ),
    Signal(
        "stop doing it",
        3.0,
        plain(
            rf"{_CHAT_PREFIX}(?:can you |could you |would you |will you )?(?:please |pls |just )*(?:stop|quit|no more|enough with|enough of|cut out|lay off)(?: with)?(?: the| all the| those| these)? (?:\w+ing\b|{_TALK})(?! (?:the )?(?:server|process|container|job))"
        ),
        firm=True,
    ),
    Signal(
        "against what you did",
        1.5,
        words(
            r"you(?:'ve| have)? (?:just )?(?:used|put|wrote|added|named|created|made|did|called|imported|committed|placed|went|concatenated|picked|chose|misunderstood|hardcoded|mocked|pushed|ran|installed|left|again|formatted|wrapped|returned|threw|generated|forgot)|your (?:last change|pr|code|commit|tests?|patch|branch|migration)|i (?:undid|reverted|had to (?:fix|revert|undo))|the (?:file|test|code|class|function|branch|migration|component) you \w+"
        ),
    ),
    Signal(
        "no, ",
        1.0,
        plain(
            r"^\W*(?:no+(?=[,.!:;-]|\s+(?:no|we|you|i|it|that|not|use|don't|dont|stop|put|the|need)\b)|nope|nah|wrong|not (?:quite|another|[\w. -]{2,20}[,.!])|actually|argh|ugh|hm+,? (?:no|that|you)|hey|oh come on|that's (?:not|wrong)|thats (?:not|wrong)|that \w+(?: \w+)? is wrong|incorrect|stop|sorry but|i said|please stop|hmm|the correct)\b"
        ),
    ),
    Signal(
        "one thing, not the other",
        1.0,
        plain(
            r"(?:[,;)!.] ?(?:and |but )?(?:not|never|no)|(?<!do)(?<!does)(?<!did)(?<!is)(?<!are)(?<!was)(?<!will)(?<!should)(?<!must)(?<!can)(?<!if)(?<!or) (?:not|instead of|rather than|over|but not)) (?!(?:first|second|third|fourth|last|\d|sure|yet|now|only|just|because|needed|need|idea|longer|matter|a|the|what|how|that|it|so|to|be|been|one|more|error|problem)\b)[\w`\x02@./:<>*-]+"
        ),
    ),
    Signal("a choice of the trade", 1.0, plain(rf"(?<![\w-])(?:{_CHOICE})(?![\w-])")),
    Signal(
        "two choices of the trade",
        1.0,
        plain(
            rf"(?<![\w-])(?:{_CHOICE})(?![\w-])[^?]*?\b(?:not|never|no|instead of|over|rather than|nor)\b[^?]*?(?<![\w-])(?:{_CHOICE})(?![\w-])|(?:^|\W)(?:not|no)\W+(?:{_CHOICE})\W+(?:{_CHOICE})(?![\w-])"
        ),
    ),
    Signal(
        "no, the other choice",
        2.0,
        plain(rf"^\W*(?:no|nope|nah|wrong|not)\b[\s,!.:-]+(?:\w+ )?(?:use )?(?:{_CHOICE})\W*$"),
    ),
    Signal(
        "things of the trade, in general",
        2.0,
        plain(
            rf"(?:{_CHAT_PREFIX}|[:;,] (?:and )?)(?:all |any |every |each |new |public |private |internal |external |async |our |my |shared |domain |react |vue |angular |sql |api |ui |db |var |query |the (?:naming|names) of |the (?=\w+ (?:structure|layout|scheme|branch|handling|stack)|architecture|layout))*(?:{_NOUN})(?: (?:in|of|for|on|from|with|to|under|touching|that|which|here|between)(?: [^\s,;:?]+){{1,6}}?)? (?:{_STATIVE})(?![\w-])"
        ),
    ),
    Signal(
        "every, all",
        2.0,
        plain(
            rf"{_CHAT_PREFIX}(?:every|all|each|any)(?: (?:of )?(?:our|the|new))?(?: [\w/.-]+){{0,3}}? (?:{_NOUN}|file|folder|change|write|thing|code|api|db access|access|ui|work)(?: [^?,;]+?)? (?:{_STATIVE}|needs|gets)(?![\w-])"
        ),
    ),
    Signal(
        "a subject, a colon, a habit",
        2.0,
        plain(
            rf"^\W*(?:for |regarding |re |about |on )?(?:the )?(?:[\w+#/.'-]+ ){{0,3}}(?:{_NOUN}|code|dev|builds?|clojure|unity|rust|go|golang|python|java|kotlin|swift|c\+\+|c#|react|vue|angular|svelte|typescript|javascript|php|ruby|rails|django|elixir|scala|haskell|sql|css|terraform|docker|ansible|flutter|dart|android|ios|naming|indentation|style)(?: code| files?| projects?| modules?)?(?: in (?:the|this|our) [\w/]+)?(?:, [\w ]{{3,20}})?: ?(?!\s*$)(?!\S+\s*$)"
        ),
    ),
    Signal(
        "a word, a colon, a habit",
        1.5,
        plain(
            rf"^\W*(?!(?:{_TASK}|produce|note|title|subject|question|example|error|warning|test|todo|ps|update|edit|today|until|now|then|next|step|output|result|from|to|here|this|that|it|option|idea|task|bug|issue|problem|fact|thing|answer|user|agent|http|https|docs?|draft)\b)[\w+#/.' -]{{2,30}}(?:, [\w ]{{3,20}})?: (?!\s*$)(?!\S+\s*$)(?!what|why|how|is|are|do|can|should)"
        ),
    ),
    Signal(
        "where it listens",
        2.0,
        words(
            r"(?:is|are|runs?|lives?|listens?|reachable|available|served) (?:on|at|under|behind)(?: port)? :?\d{4,5}|on port \d+"
        ),
    ),
    Signal(
        "works so",
        1.5,
        plain(
            r"(?<![\w-])(?:runs?|comes?|listens?|points?|writes?|logs?|talks?|sits?|depends?|relies|rely|builds?|deploys?|goes|go|expires?|rotates?|resets?|reads?|publishes|publish|connects?|speaks?|ships?|happens?) (?:on|in|under|behind|via|through|from|as|to|at|against|into|with|every|each|only|over) (?!(?:this|that|it|me|my)\b)"
        ),
    ),
    Signal(
        "only this",
        1.5,
        plain(
            r"(?<![\w-])(?:[\w+#.@/-]+ )(?:only|everywhere)(?:\b,? ?(?:please|pls|thx|for us|in our|in this|in the|ever|,|\.|!|$))|(?<![\w-])(?:is|are|only|ok) (?:only )?(?:for|ok|allowed|through|via|from|by|in|on|against)\b(?=.*\bonly\b)|only (?:ever |use |through|via|in|from|for|on|by|with|import|get|multiples|speak)"
        ),
    ),
    Signal(
        "none of that",
        1.5,
        plain(
            r"(?:^|[.,;:!&] ?|\bso |\band |\bwith |\bplease |\bforward,? |: )no (?!(?:no\b|\d|module|output|results?|response|effect|such|matching|changes|difference|data|space|connection|permission|code please|tests found)\b)(?:new |more |raw |inline |plain |direct |manual |global |deep |default |hard[- ]?coded |magic )?(?!(?:need|idea|problem|worries|tests needed|errors?|rush|matter|one|error|luck|change|longer|way|thanks|i|it|that|the|this|sorry|not|wait|and|but|we|you|stop|line)\b)[\w@./!:`\x02-]{2,}(?: [\w@./-]+){0,4}"
        ),
    ),
    Signal(
        "forbidden",
        2.5,
        words(
            r"(?:is|are|it's|its) (?:banned|forbidden|blocked|rejected|overwritten|off[- ]limits|a no[- ]go|not allowed|prohibited|deprecated here|not (?:used|what we use)(?: anywhere| here)?|never ok(?:ay)?(?: here)?|read-only for|frozen|generated(?: so| and|,))|a no[- ]go|off limits|verboten|(?:stay|keep)s? (?:out of|away from)"
        ),
    ),
    Signal(
        "has to stay so",
        2.0,
        words(
            r"(?:has|have|must|needs?) to stay|must (?:stay|remain|always stay)|has to (?:be|remain|work)|have to (?:be|work|pass|go through)|stays? (?:green|pure|clean|untouched|put|as is|thin|small)|is the floor|(?:minimum|min) supported|not going back|the law(?: in| here)?"
        ),
    ),
    Signal("here", 1.0, words(r"here(?:,| it's| its| is| are)?|over here")),
    Signal(
        "where things go",
        1.5,
        plain(
            rf"(?<![\w-])(?:put|keep|place|store|name|write|call) (?:all |new |our |unit |integration )*(?:{_NOUN}) (?:in|into|under|next to|beside|as|with|like|after)(?![\w-])"
        ),
    ),
    Signal(
        "a habit, in general",
        1.0,
        plain(
            rf"{_CHAT_PREFIX}(?:(?:don't|dont|do not) (?:{_VERB})|avoid) (?!(?:the|this|that|it|a|an|my|your|these|those|them|me|him|her|any of|\d)\b)(?:[\w-]+ ){{0,3}}?(?:{_NOUN}|{_CHOICE})(?![\w-])"
        ),
    ),
    Signal(
        "use such things",
        2.0,
        plain(
            rf"^\W*(?:please |pls |and |also )*(?:use|prefer|favou?r|stick to) (?!(?:the|this|that|it|a|an|my|your|these|those|them|\d)\b)(?:[\w-]+ ){{0,3}}?(?:{_NOUN}|{_CHOICE})(?:[.!]?$|[;:,] )"
        ),
    ),
    Signal(
        "be so",
        2.5,
        plain(
            r"^\W*(?:please |pls |ok |and )*(?:be (?:more |less )?(?:brief|concise|terse|verbose|direct|blunt|critical|honest)|don't be (?:so|too) \w+|(?:less|fewer|more) (?:verbose|chatty|words|prose|emojis?))\b"
        ),
    ),
    Signal(
        "decided",
        2.0,
        words(
            r"(?:i|we)(?:'ve| have)? (?:decided(?! to (?:drop|remove|cancel|postpone|delete|skip))|settled on|agreed|made up)|it(?:'s| is| has been) decided|decision:|(?:we|i)(?:'re| are) going with|going with \w+ for all|is the (?:way|choice) (?:here|for us)"
        ),
    ),
    Signal(
        "let's keep to it",
        2.5,
        words(
            r"let(?:'s|s| us) (?:keep|stick|always|never|make it a rule|agree|standardi[sz]e|only ever|not use|avoid|stop using)(?! (?:going|the server|it simple|working|talking|looking))"
        ),
    ),
    Signal(
        "whenever",
        2.5,
        plain(
            rf"(?<![\w-])(?:whenever (?:you|we|i|something|an? (?!user|customer|client|player|visitor|payment|order|request|message|token|guest)\w+)|if you ever|if you (?:have to|need to|must|want to|really need)|any ?time (?:you|we)|every time (?:you|we)|each time (?:you|we)|when(?:ever)? (?:you|we) (?:{_VERB}|need|want|mention|make|are done|'re done|touch|finish|hit|see)\b|when(?:ever)? i (?:ask|mention|say|paste|send)|ask (?:me )?(?:first )?before (?:you )?\w+(?:ing)? (?:any|anything|new|a|files|deps|dependencies)|you're done\b|before (?:you )?(?:{_VERB}|committing|pushing|editing|running|every|each|any)\b[^?]*\b(?:always|first)|after (?:every|each|any) (?:change|commit|edit|merge))(?! (?:it|this|that|save|click))"
        ),
    ),
    Signal(
        "a fact of an environment",
        3.0,
        plain(
            rf"(?:(?<![\w-])(?:{_ENV})(?![\w-])[^?]*(?<![\w-])(?:is|are|isn't|lives?|sits?|runs?|listens?|needs?|uses?|has|comes?|goes|go|points?|resets?|rotates?|requires?|gets?|got|called|hosted|stays?|expects?|speaks?|happens?|reachable|at|on|under|behind|via|through|from|by|named|promoted|share|only|never|=)(?![\w-])[^?]*(?<![\w-])(?:{_VALUE})(?![\w-]))"
        ),
    ),
    Signal(
        "how an environment is",
        2.5,
        plain(
            rf"{_CHAT_PREFIX}(?:the |our |all |every |any |each )?(?:[\w-]+ ){{0,2}}(?:{_ENV})(?: (?:access|environment|env|server|cluster|database|db|url|builds?|jobs?|tests?|branch(?:es)?|channel|freeze|creds|credentials|credentials|runners?|images?|runs|project|instance|tasks?|contexts?|work|users?|customers?))?(?: (?:in|on|for|of|from|and) [^\s,;?]+(?: [^\s,;?]+)?)? (?:is|are|lives?|sits?|runs?|needs?|uses?|has|have|comes?|goes|go|points?|resets?|rotates?|requires?|gets? (?:run|deployed|built|cut|promoted|deleted|flashed|tagged|merged|made)|shares?|stays?|happens?|must|only|never|starts?|ends?|look like|belongs?)(?![\w-])"
        ),
    ),
    Signal(
        "by whom, with what",
        1.0,
        words(
            r"(?:is|are|gets?|got) (?:done|run|deployed|built|cut|flashed|promoted|made|released|merged|generated|managed|handled|created|tagged|signed|managed|hosted|kept|stored|written|reviewed|provisioned|published)(?: \w+)? (?:by|with|through|via|from|in|on|at|only|every|each)"
        ),
    ),
    Signal(
        "comes round again",
        1.5,
        words(
            r"(?:every|each) (?:night|day|morning|evening|week|month|quarter|release|sprint|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day|december|january)|nightly|weekly|daily|monthly|on (?:mon|tues|wednes|thurs|fri|satur|sun)days"
        ),
    ),
    Signal(
        "it has moved",
        2.0,
        words(
            r"(?:moved|migrated|switched|renamed|relocated) [^?]* (?:to|from|into) |the old [^,?]* (?:is|are) (?:gone|dead|deprecated|retired|no longer|off)|no longer (?:use|exists?|in use|supported)|is (?:gone|retired|decommissioned)"
        ),
    ),
    Signal(
        "how the project is",
        3.0,
        words(
            r"th(?:is|e) (?:whole )?(?:\w+ )?(?:codebase|code base|repo|repository|project|monorepo|package|lib|library|app|service|crate|module|workspace|team|site|sdk|plugin|engine) (?:is (?:a |an |still |all |strictly |fully |pure |commonjs|esm|typed|python|go|rust|java|on |written|built|public|used|frozen|in )|uses?|doesn't|does not|has(?! (?:a bug|an error|no))|targets?|supports?|follows?|never|always|only|runs? (?:on|in|under)|sticks?|avoids?|must)|public api is (?:frozen|stable)|our (?:target|minimum|baseline) is"
        ),
    ),
    Signal(
        "so do this",
        1.5,
        plain(
            r"(?:,|;|-|\))? (?:so|hence|therefore|that's why|which means|meaning)(?: please| you| we| always| all| when| if| \w+){0,3}? (?:don't|dont|do not|no|never|use|always|only|avoid|nothing|name|call|have to|has to|must|needs?|keep|check|run|stick|stay|be careful|expect)\b|, don't (?:be surprised|wonder|worry if)"
        ),
    ),
    Signal(
        "is done so",
        1.5,
        plain(
            r"(?<![\w-])(?:is|are|gets?|get|stay|stays)(?: \w+ly| always| never| only| all)? (?:\w+ed|\w+en|cut|built|kept|set|put|run|sent|held|done|made|split|read|bound|sold|shut)(?: \w+)? (?:with|by|through|via|from|in|on|at|under|each|every|only|as|into|to|automatically|manually|after|before)(?![\w-])"
        ),
    ),
    Signal(
        "where it belongs",
        2.5,
        plain(
            r"(?<![\w-])(?:belongs?|goes|go|lives?|sits?|stays?|(?:is|are) (?:kept|stored|defined|configured|declared|in|under|at|found|located|managed|documented))(?: only| all| always| inside| straight)? ?(?:in|into|under|to|at|on|through|via|next to|beside|inside|behind)? (?:the |a |its |their |our )?(?:own )?(?:[\w-]*[/\x02][\w<>{},*./\x02-]*|\*\.[\w.]+|[\w-]+\.(?:md|ts|js|py|json|ya?ml|toml|css|go|rs|sql|txt|env|sh))"
        ),
    ),
    Signal(
        "nowhere else",
        1.5,
        words(
            r"nowhere else|nothing else|no ?one else|nobody else|and only|only reachable|only accessible|exclusively|solely|not an option|is mandatory|is required|are required|is a must|are a must|is holy|are out|is legacy|not negotiable|non-negotiable|is optional"
        ),
    ),
    Signal(
        "a limit",
        1.5,
        words(
            r"(?:max(?:imum)?|at most|no more than|not more than|under|up to|below|less than|limit(?:ed)? (?:to|of)|no \w+ (?:over|above|longer than|beyond)) (?:of )?~?(?:\d+|one|two|three|four|five|ten)(?: ?(?:lines?|chars?|characters|columns?|words|sentences?|levels?|params?|parameters|arguments|args|files|minutes|steps|px|kb|mb|%|imports|lines of code))?|(?:\d+|one|two|three|four|five) (?:lines?|sentences?|words|chars|columns|levels|paragraphs?|bullets?)(?: of \w+)? (?:max|at most|tops|or less|or fewer)"
        ),
    ),
    Signal(
        "in this order",
        1.5,
        words(
            r"first, (?:and )?then|\w+ first,? (?:and )?then|\w+ first, [\w ]{3,30} (?:at the (?:bottom|top|end)|last|second|after)|one \w+ per \w+|one (?:\w+ ){1,3}(?:a|per|each) (?:line|file|class|test|commit|pr|folder)"
        ),
    ),
    Signal(
        "all or nothing",
        1.5,
        plain(
            r"(?:^|[.,;:!-] ?|\bso |\band |\bthat )(?:everything|nothing|everyone|nobody|no one|every \w+|each \w+|all (?:of )?(?:our |the |new )?[\w-]+|no (?:new )?\w+)(?: [^\s,;?]+){0,5}? (?:is|are|goes|go|gets|get|comes?|needs?|has|have|lives?|belongs?|uses?|stays?|starts?|ends?|begins?|must|should|leaves?|happens?|works?|follows?|returns?|carries|carry)(?![\w-])"
        ),
    ),
    Signal(
        "helps me",
        2.5,
        words(
            r"helps? me|would help me|easier for me|i learn|i understand \w+ better|works? (?:better|best) for me|for my sake|beyond this task|as i (?:can't|cannot)|i(?:'m| am) (?:[\w-]+ )?(?:new to|dyslexic|colou?r ?blind|an? (?:junior|senior|beginner|designer|manager|novice|newbie|student))|i (?:mostly|mainly|usually|generally|only) (?:use|work)|i work (?:in|on|from) [^?]*(?:,| so | and )|i appreciate it when|i (?:really )?like (?:terse|short|long|detailed|brief|concise|small|explicit|simple|guard clauses|early returns|clean|readable)|(?:when|if) i ask"
        ),
        firm=True,
    ),
    Signal(
        "gives a reason",
        0.5,
        words(
            r"because|cause|since|so that|otherwise|so|the reason|due to|for bundle size|breaks|bricks|leaks|gave us"
        ),
    ),
    Signal("names a path, a command, a value", 0.5, plain(rf"(?<![\w-])(?:{_VALUE})(?![\w-])")),
    Signal("speaks of the trade", 0.5, plain(rf"(?<![\w-])(?:{_NOUN}|{_CHOICE}|{_ENV})(?![\w-])")),
    Signal(
        "use it, in general",
        1.5,
        plain(
            r"(?:^|[.,;:!] ?|\bso |\band |please )(?:please |pls )?(?:use|prefer|stick (?:to|with)|go with|treat|favou?r) (?!(?:a|an|the|this|that|these|those) )[^?]{2,80}?\b(?:for (?:all|any|every|anything|everything|dates|tests|logging|http|state|forms|validation|money|mrs|prs)|everywhere|instead of|rather than|in our|in this|as errors|over|not [\w@`\x02-]+)\b"
        ),
    ),
    # Against
    Signal(
        "a task",
        -2.0,
        plain(
            rf"{_CHAT_PREFIX}(?:(?:can|could|would|will) (?:you|u) |let's |lets |i need you to |i want you to |now )?(?:please |pls |just |quickly |also )*(?:{_TASK})(?! (?:in mind|\w+ing\b|(?:all |new )?(?:{_NOUN}) (?:in|into|under|next to|beside|as|with)\b|(?:\w+ )?\w+s? (?:is|are|should|must|go|goes|lives?|needs?|gets?|have|has|never|always|ends?|starts?)\b|it a (?:rule|habit)|commit messages|only|explicit|calm))\b(?!:)(?! \w+:)"
        ),
        yields=True,
    ),
    Signal(
        "and that is to be changed",
        -5.0,
        plain(
            r"[,;] ?(?:please |pls |so |and |then |just |can you |but )*(?:make|change|move|fix|set|turn|convert|run|remove|delete|bump|update|rename|replace|check|read|try|open|switch|adapt|extend) (?:it|that|this|them|those)\b(?! (?:with|for) (?:all|every))"
        ),
    ),
    Signal(
        "and this is to be changed",
        -3.0,
        plain(
            r"[,;] ?(?:please |pls |so |and |then |just |can you |but )*(?:make|change|move|fix|set|turn|convert|run|remove|delete|bump|update|rename|replace|check|read|add|try|open|switch|adapt|extend|draw|build|raise|lower|increase|implement|write|wire|show|create|enforce) (?:a|an|the|that)\b"
        ),
    ),
    Signal(
        "how it is just now",
        -5.0,
        words(
            r"(?:is|are|was|looks?|seems?|isn't|aren't) (?:still |now |all |completely |totally )?(?:fine|ok|okay|good|green|red|empty|missing|wrong|slow|stuck|down|dead|outdated|full|flaky|corrupt\w*|unreachable|unavailable|offline|not (?:reachable|found|available|working|running|there|picked|shown|set|installed|visible)|too \w+|already)|since (?:yesterday|today|monday|tuesday|wednesday|thursday|friday|last|this morning|the (?:update|upgrade|rename|change))|after the (?:rename|update|upgrade|merge|deploy|change|refactoring)|(?:uses?|takes?|has|needs) too (?:much|many|long)|(?:takes?|runs? for|needs?) (?:about |around )?\d+ ?(?:min|minutes|s|sec|seconds|hours?|h)|has the (?:old|wrong|new) \w+|there (?:are|is|were)|(?:seems|looks) like|isn't[.!]?$|return(?:s|ed)? [45]\d\d|(?:we|i) don't (?:see|know|have time|understand|remember|care|get)"
        ),
    ),
    Signal(
        "so do it now",
        -2.5,
        plain(
            r",? so (?:please |just |let's |now )?(?:move|add|fix|change|remove|update|implement|make|create|build|hide|delete|put|adapt|adjust|replace|reopen|rerun|retry|revert)\b(?! (?:sure|them all|all))"
        ),
    ),
    Signal("a symptom", -3.0, words(_SYMPTOM)),
    Signal(
        "points at one thing",
        -2.0,
        words(
            r"this (?:function|method|button|page|screen|endpoint|variable|line|value|column|field|modal|dialog|script|curl|example|layout|component|class|table|query|bug|error|ticket|issue|bar)|that (?:function|button|page|endpoint|line|value|bug|one)|the (?:current )?branch is|on branch|my branch|the (?:file|call|value|bug|config file|variable|test|line|invoice|image|path) (?:is|was|in)\b|the (?:button|page|modal|dialog|menu|header|footer|sidebar|form|function|method|endpoint|list|user|customer|session|dropdown|icon|loop|retry|parser|importer|validator)"
        ),
    ),
    Signal(
        "product requirement",
        -2.0,
        plain(
            rf"(?:^|[.,;] )(?:the(?! (?:{_ENV})\b)|a|an|this|each|every|when the|if the|documents|users|customers|alarms|reviewers|players|sessions|orders|invoices|emails|notifications|passwords|visitors|guests|admins|robots\S*|in the \w+ mode)\b(?!.*\b(?:here|before any|before you|for us|in this (?:repo|project)|in our code)\b)[^?]{{0,60}}?\b(?:should|must|shall|needs to|has to|may|can|is supposed to)(?:n't| not)? ?(?:always|never|only|not|be|show|return|display|have|expire|win|prefer|stay visible)\b"
        ),
        yields=True,
    ),
)

_VETOES = {
    "a question": plain(
        r"\?\s*[)\"']*$|[,;] (?:so |but |and )?(?:what (?:does|is|about|do|should)|why|how (?:do|does|is|come|can)|where (?:is|are|do)|which (?:one|is)|does|is there|are there|are we|is that)\b|\b(?:tell me|check|see|find out|verify|show me|look up|list|know|wonder|forgot) (?:if|whether|where|why|which|what (?!to )|how we|how the)\b|^\W*(?:explain|describe|show|list) (?:me )?(?:how|what|why|which|where)\b|^\W*(?:(?:so|and|but|ok|hm+|or|hey|well|also|btw) )*(?:what(?!ever)|why|how(?! we\b)|which|who|whose|where(?!ver)|when (?:should|do|does|did|is|are|will|can|would)|is (?:it|there|this|that|the|our)|are (?:there|we|you|they|the|these)|do (?:you|we|i|they)|does|did|should (?:we|i|you|it|the)|can (?:we|i|it)|could (?:we|i|it)|would (?:it|we|you|that)|will (?:it|we|the)|has anyone|have (?:we|you)|in your opinion|any idea|remind me|do you remember|teach me|explain (?:the|why|how|what|this))\b(?!.*\b(?:yes they should|please stop)\b)"
    ),
    "an order for this once": words(
        r"(?<!not\Wjust\W)(?<!not\Wonly\W)(?:yet|for now|right now|just now|this time|this once|just once|only once|once more|for once|one[- ]off|for the moment|at the moment|temporar(?:y|ily)|for the time being|meanwhile|in the meantime|today(?!,? (?:on|but))|tomorrow|tonight|this (?:week|sprint|month|morning|afternoon|evening|session|iteration|weekend|hour)|next (?:hour|week|sprint|few)|until|till|for (?:a|the next) (?:week|day|hour|while|bit|month)|for (?:this|that|the) (?:demo|one|pr|mr|commit|task|ticket|file|prototype|spike|test run|branch|change|fix|release|hotfix|experiment|run|workshop|presentation|meeting|example|poc|step|case|question|tiny change|small change|bug)"
        r"|for this[.!]?$|in the (?:compose file|table|header|footer|sidebar|form|list|new page|example)|in this (?:class|form|page|view|dialog|screen|loop|query|snippet|response|output|pr|mr|commit|file|function|test|branch|ticket|sprint|task|case|curl|example|message|step|answer|one case)|on this (?:branch|pr|ticket|one|file)|this (?:one|pr|file) only|(?<!not\W)only (?:this|here|today|for this)|for the workshop|for the prototype|quick hack|(?:don't|dont|do not) [^?]{1,40} there|the bug is|(?:it's|this is|its) (?:just |only )?a (?:spike|hack|prototype|throwaway|draft|demo|test)|no need (?:for|to) \w+ (?:here|now)|gets deleted|first i want|first (?:describe|explain|tell|show|read|let|i|we|give|list)|this (?:rename|merge|afternoon|run|change|refactoring|snippet|script|release|comment)|for the (?:mvp|talk|poc|moment|rename|load test)|right away|only for this|next time you start|while (?:i|you|we)(?:'m|'re| are)?|as a test|before (?:you start|we start|lunch|the meeting|monday|friday)|we'll see|later today|i'll handle|not now|hold off|wait for|skip (?:step|the (?:tests?|changelog|docs|lint|review|build))|the next hour)"
    ),
    "not decided": words(
        r"(?:haven't|havent|have not|not yet|hasn't been) (?:decided|settled|agreed)|undecided|not (?:final|settled|decided)|torn between|i'm torn|maybe|perhaps|might|what if|suppose|supposing|imagine|hypothetically|in theory|i wonder|wondering|could we|could always|can always|we could|should we|would be|would it|i'd like to try|i would like to try|it'd be nice|would be nice|at some point|some day|one day|thinking (?:of|about)|considering|if we (?:used|had|ever|were|switched|moved|never|always|did|go)|brainstorm|not sure(?! why you)|i think we should|if it turns out|let's try|lets try|can we agree|do you see|trade-?offs|pros and cons|toying with|tempted|option \w\b|either .* or|as far as i know|i think (?:we|it|that's|they)|probably|apparently|supposedly|proposal|suggestion:|idea:|rather not sure|i think[.!]?$|i guess|i believe|afaik|iirc|if i remember"
    ),
    "somebody else's words": words(
        r"(?:he|she|they|people|someone|somebody|(?:the|one|another|a|some|that|their|his|her) (?:old |new |previous |other |security |official )?(?:reviewer|colleague|client|customer|vendor|ticket|docs?|documentation|readme(?: from \d+)?|changelog|website|handbook|experts?|adr|paper|article|book|blog|spec|policy|comment|linter|compiler|error|log|manual|guide|wiki|page|tutorial|video|style guide|previous \w+|other \w+|previous|security team|docs folder|linter config)|chatgpt|copilot|gemini|eslint|sonar\w*|stack ?overflow|git log|my (?:boss|colleague|manager|cto|friend|old team|ex|previous \w+|former \w+|last \w+|other \w+|teacher|brother|wife|husband)|our (?:competitors?(?:'s)?|customers?|users?|clients?)|colleagues?|one) (?:says?|said|told|states?|stated|wrote|writes|claims?|thinks?|recommends?|suggests?|insists?|prefers?|preferred|has|asks?|asked|want|wants|always want|disagree|forbids|from \d{4} states|docs)(?! (?:us|you))(?!.*\bso do (?:we|i)\b)|(?-i:[A-Z][a-z]+) (?:says?|said|told|wrote|claims?|thinks?|prefers?|wants?|asked|recommends?|suggested)(?!.*\bso do (?:we|i)\b)|our (?:designers?|competitors?) \w+(?!.*\bso do (?:we|i)\b)"
        r"|at my (?:other|old|last|previous) (?:job|company|team|place)|according to|in the (?:ticket|docs?|readme|article|book|paper|dockerfile|spec) (?:it says|there's|there is|says)|it says|this was in|competitor(?:'s|s)?|people say|they say|rumou?r has it|two colleagues"
    ),
    "a story": words(
        r"back (?:when|then|in)|in (?:19|20)\d\d,? (?:we|i|they)|(?<!every\W)(?<!each\W)last (?:year we|month|week(?! of)|job|team|night we)|years ago|used to|in the old days|when i was|i(?:'ve| have) been using|at the bank|good times|we (?:always |never |usually )?(?:deployed|used(?! to the)|wrote|had|pushed|merged|shipped|ran|preferred|did|were|was)|never looked back|once upon|my old|since 20\d\d|it was my"
    ),
    "an order to write it down somewhere": plain(
        r"\b(?:write|add|put|document|create|make|generate|draft|note|insert|append|include|mention|extend|update|collect|produce|set up|configure|prepare|produce)\b[^?]{0,40}?\b(?:readme|claude\.md|agents\.md|contributing\S*|docs/\S+|\S+\.md|docs?\b(?! comments)|documentation|style ?guide|wiki|eslint\w*|lint rule|linter|husky|pre-?commit|hook\b|ci check|config(?:uration)?|\.editorconfig|\.gitignore|slide|poster|blog|section|prettierrc|\.\w+rc|poster|charter|runbook|handbook|adr\b|rfc\b|guide:|onboarding|pr template|house rules|paragraph|github action|doc for|rules? \(|prompt for|policy|changelog|comment (?:that|saying|above)|test (?:that|which)|unit tests? that|regex|sentences?|samples?|examples|story|poem|email|mail|message to|reply|job (?:ad|description)|file for new|tooltip|rule (?:to|for) \w+lint|rule to|a rule that (?:blocks|rejects))\b(?!.*\b(?:from now on|always|every time|for the future|has|needs?) (?:i|we|you)\b)"
    ),
    "an order to make the product do it": plain(
        rf"{_CHAT_PREFIX}(?:make|ensure|let|have|change|set|tweak|see to it|be sure|guarantee|adjust|implement|add|when the|if the|while the|in the story)\b(?! (?:it a (?:rule|habit)|sure (?:you|to)|sure that you|commits|all (?:commits|prs))).{{0,160}}\b(?:never|always|must|no exceptions|should|prefer|only|refuse|every)\b(?!.*\b(?:we|our|in this (?:repo|project|codebase)|here|from now on)\b)"
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
    r"^\W*(?:and )?(?:please )?(?:same (?:goes |rule |thing )?(?:for|with|applies)|(?:that|this|it)(?:'s| is)? (?:not just|not only|applies|goes|holds|counts|the rule|for (?:all|every)|how (?:we|the team)|always)|applies (?:to|everywhere)|every (?:single )?time|always[.!]?$|(?:please )?(?:do|keep doing|remember|stick to|keep) (?:that|this|it)(?: in mind| way)?\b|never again|don't[.!]? ?(?:ever)?[.!]?$|ever[.!]?$|for (?:all|every)\b|in (?:this|the) whole (?:project|repo|app)|everywhere[.!]?$|no exceptions|i mean always|in (?:every|all|any) (?:project|repo)|(?:drop|do|keep) that (?:for good|from now on|always)|(?:thats|that's|those are) (?:how|the)|we don't\b|the whole \w+ is like that|the team (?:wants|likes|prefers) (?:it|that|this)|(?:it |that |this )?(?:holds|goes|counts) (?:for|in|to)|as a rule|generally[.!]?$|in general[.!]?$|from now on[.!]?$|please stick to it|new code should follow|all of (?:it|them)[.!]?$|for the future)"
)

_LEAD = plain(
    r"^(?:\s|[,.:;!*)\-\u2013\u2014]+(?=\s|$)|(?:[-*]|\d{1,2}[.)]|\([a-e1-9]\))\s+|(?:no+(?=[,.:;!?\u2013]|\s*-\s|\s+(?:no|we|you|i|it|it's|that|that's|not|use|don't|dont|do not|stop|put|never|always|please|pls|this|in|here|our)\b|$)|nope|nah|non|hm+|hey|ok(?:ay)?|ah|oh|argh|ugh|so|well|and|but|also|btw|by the way|yes|yeah|sorry(?: but)?|please|pls|plz|actually|scratch that|again|wait|look|listen|man|come on|fyi|heads[- ]up|quick (?:heads[- ]up|note)|just so it's clear|once and for all|once again|note that|and note|note|please note|remember that|remember to|remember|make sure (?:that you|you|to)(?= (?:always|never))|keep in mind that|keep in mind|bear in mind(?: that)?|jot this down|for the record|for (?:the )?future reference|for context|context|from now on|from here on|going forward|moving forward|in (?:the )?future|one more thing(?: for the future)?|one thing|small thing|i told you(?: that| to)?|i(?:'ve| have) told you(?: before| already)?|i said|since people keep forgetting|for the future|as a rule|generally speaking|in general|i decided|wrong(?: again)?|answering your question|let's make it a rule that|the convention here is|(?:the|our) (?:rule|convention|policy) (?:here )?is(?: that)?|that's not how we do it|new rule|house rule|can you(?: please)?(?= stop)|could you(?: please)?(?= stop)|just|thanks|thx)(?=[\s,.:;!?\-\u2013]|$)[,:;.!]?)+"
)
_TAIL = plain(
    r"(?:[\s,;:.!-]|\b(?:please|pls|plz|thx|thanks|thank you|lol|haha|from now on|going forward|btw|:\)|:d|;\)|do that from now on|and remember that|remember that|keep (?:that|it|this) in mind(?: for later ones too)?|please stick to it|please)\b|(?<=[,.!;:]\s)(?:ok|okay|yeah|right)\b\s*\?*|[:;]-?[)D])+$"
)

_REWRITES = (
    (
        plain(
            r"^(?:i'd rather (?:have|see)|i(?: always| generally| usually| strongly| really)? prefer) (.+?) (?:than|over|to) (.+)$"
        ),
        r"Use \1, not \2",
    ),
    (plain(r"^i(?:'d| would) rather you (.+?) than (.+)$"), r"\1, do not \2"),
    (plain(r"^i(?: always| generally| usually| strongly| really)? prefer (?:that )?(?:you |to )?"), "Prefer "),
    (plain(r"^i like it when you "), "Please "),
    (plain(r"^i(?: really)? (?:hate|dislike|can't stand|don't like|dont like) "), "Avoid "),
    (plain(r"^i (?:always )?want to "), "Let the user "),
    (plain(r"^you keep (?:on )?(\w+ing)\b"), r"Avoid \1"),
    (plain(r"^(?:stop|quit) (\w+ing)\b"), r"Avoid \1"),
    (
        plain(
            r"^(?:here,? )?we(?: all)? (?:don't|dont|do not|don’t) (?:do|have) (?!(?:it|them|this|that|these|those|any|so)\b)"
        ),
        "No ",
    ),
    (plain(r"^(?:here,? )?we do (?!(?:not|it|them|this|that|these|those|have|use|want|need|so)\b)"), "Use "),
    (plain(r"^(?:here,? )?we(?: all)? (?:don't|dont|do not|don’t) "), "Do not "),
    (plain(r"^(?:don't|dont|don’t) "), "Do not "),
    (plain(r"^(?:here,? )?we(?:(?:'re| are| r) (?:now )?using| use| now use) "), "Use "),
    (plain(r"^(?:here,? )?we(?:'re| are) going with "), "Use "),
    (plain(r"^(?:here,? )?we(?:'ve)? settled on "), "Use "),
    (plain(r"^(?:here,? )?we always use "), "Always use "),
    (plain(r"^(?:here,? )?we (always|never|only) "), r"\1 "),
    (
        plain(
            r"^(?:here,? )?we (name|write|put|keep|log|cache|version|follow|prefer|avoid|split|freeze|inject|deploy|run|test|store|format|tag|treat|return|throw|parse|target|build|squash|rebase)\b"
        ),
        r"\1",
    ),
    (plain(r"^let'?s keep "), "Keep "),
    (plain(r"^let'?s "), ""),
    (plain(r"^my rule of thumb for "), "For "),
    (plain(r"^not (.+?)[,;.] ?(?:we (?:use|have) )?(.+)$"), r"Use \2, not \1"),
    (
        plain(r"^([\w.@/+-]+(?: [\w.@/+-]+)?)[!,]* not ([\w.@/+-]+(?: [\w.@/+-]+)?)(,? everywhere)?$"),
        r"Use \1, not \2\3",
    ),
    (
        plain(
            r"^((?:tabs|spaces|two spaces|four spaces|snake_case|camelCase|pnpm|npm|yarn|bun|uv|poetry|vitest|jest|pytest|single quotes|double quotes|[\w-]+ only))$"
        ),
        r"Use \1",
    ),
    (plain(r"^it'?s (\x02?`[^`]+`)"), r"Use \1"),
)

_COMPLAINT = plain(
    r"^\W*(?:(?:no+|nope|hey|hm+|ugh|argh|wait|again|so|and|but|oh|ok|why|wow|whoa|sorry)\W+)*"
    r"(?:you(?:'ve| have)?(?: just| simply| again| also| still| already| now| even)? (?:(?!need)\w+ed|put|wrote|ran|made|did|gave|got|went|built|left|took|chose|set|forgot|broke|sent|kept|written|been|done|brought|threw|\x02+)\b"
    r"|i (?:just )?(?:asked|said|told|see|saw|undid|reverted|had to|noticed)\b|(?:it|this|that) (?:says|said)\b|the (?:file|code|test|class|page|function|\w+) (?:you|has|have|is|are) .*\bnow\b|the [\w -]{2,30} you(?:'ve)? (?:\w+ed|made|wrote|put)\b)"
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
    asides=plain(r"(?<!\bin)(?<!\bover)(?<!\baround)(?<!\bfrom)(?<!\bup),?\s+(?:here|btw|pls|please|lol|thx)(?=[,.;!]|$)"),
    rewrites=_REWRITES,
    complaint=_COMPLAINT,
    pointing=_POINTING,
)  # fmt: skip
