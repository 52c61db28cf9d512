"""English words as the learned judge classes them: small ones stay themselves, words of the trade become a class."""

from __future__ import annotations

SMALL = frozenset(
    """
    a an the this that these those it its it's i i'm i'd i've i'll im me my mine myself you you're you've you'll your
    yours we we're we've we'd we'll our ours us they them their he she his her who whom whose which what when where why
    how whether there here there's that's thats what's let's lets
    is are was were be been being am isn't aren't wasn't weren't has have had having haven't hasn't do does did done
    don't dont doesn't doesnt didn't doing can can't cannot cant could couldn't should shouldn't shouldnt would wouldn't
    will won't wont shall may might must mustn't need needs needed
    and or but nor so because since as if unless until till while then than though although whenever wherever whatever
    whichever once before after
    in on at to of for from by with without into onto over under about against between within through across per via
    inside outside up down off out around along during like
    not no never always only ever every each all any some both either neither none nothing everything anything
    something everywhere anywhere somewhere nobody everyone everybody someone anyone nowhere
    just also too again still yet now already today tomorrow yesterday tonight later soon currently usually normally
    generally typically mostly strictly exclusively really actually please pls plz thanks thx ok okay yes yeah yep nope
    nah hey hi hm hmm ah oh argh ugh well wait stop btw fyi sorry right maybe perhaps probably instead rather
    first last next same other another different new old more less much many few most one two three time times day week
    month year sprint monday tuesday wednesday thursday friday weekend morning
    prefer prefers preferred preference like likes hate dislike love want wants wanted rule rules convention conventions
    policy policies standard standards style habit practice practices guideline guidelines default defaults remember
    remind note mind forget keep keeps stick future forward general principle exception exceptions reference record
    project projects repo repos repository repositories codebase monorepo team company org workspace
    why's how's temporarily quick quickly moment minute hour session task ticket pr commit branch file function
    method class button page user users customer customers client screen form field endpoint
    suppose imagine wonder wondering thinking considering consider pretend act play idea ideas proposal option options
    says said say told tell wrote asked asks claims recommends suggests suggested according
    used use uses using avoid avoids ban banned allowed forbidden deprecated require requires required
    sure mean means meant think thought know knew see saw look looks seems feel guess assume
    """.split()
)

_CLASSES = {
    "+verb": """
    write name put store place run test ship deploy release tag log version format cache freeze split inject return
    throw raise catch handle import export follow commit push merge squash rebase cut build target support pin treat
    document comment indent call mock stub fake spell capitalize capitalise order sort group wrap validate parse
    serialize generate regenerate check lint sign track host work review open pass declare define type annotate model
    load fetch query access migrate publish install manage add bump edit touch modify change disable skip ignore delete
    remove drop hardcode inline expose leave create set read go stay talk speak allow accept translate localize render
    paginate encrypt rotate monitor alert develop code compose extend inherit nest abbreviate prefix suffix separate
    quote escape stage roll provision configure start restart ssh force amend close assign link mention explain answer
    reply respond ask show summarize summarise include list report propose suggest give apologize apologise refactor
    rewrite rename move copy make bother depend rely count purge apply fix implement update convert find undo revert
    replace improve polish compare draft describe ensure help try debug investigate continue port turn enable upgrade
    clean finish extract scaffold recommend design plan optimize optimise wire hook paste wipe squeeze bundle compile
    reuse mirror seed sanitize escape wait hold pause retry print strip trim
    """,
    "+thing": """
    tests specs spec commits messages subjects titles branches prs mrs migrations migration imports exports components
    component hooks errors exceptions dates timestamps timezone timezones logs logging lines files filename filenames
    folders folder directory directories variables variable names naming identifiers queries services service
    controllers controller models endpoints routes handlers handler colors colours styles styling css spacing strings
    string labels copy configs config configuration settings secrets secret credentials passwords keys tokens token
    flags flag releases tags versions deployments deploys rollouts rollback rollbacks hotfix hotfixes builds images
    image containers jobs cron pipelines pipeline workflows runners artifacts backups packages package modules module
    dependencies dependency deps libraries library lib types interfaces enums classes structs functions methods
    constants globals singletons comments docstrings docs documentation changelog changelogs readme prompts fixtures
    mocks stubs fakes snapshots factories seeds schemas schema tables table columns column ids responses requests
    payloads events topics queue queues reducers state forms inputs templates translations i18n assets icons scripts
    script notebooks dashboards alerts charts diagrams warnings formatting indentation quotes semicolons helpers utils
    views manifests values animations shaders assertions validation auth caching pagination json csv yaml sql layout
    architecture headers commits' diff diffs emojis emoji summary summaries answers explanations apologies jargon bullets
    parameters arguments params args kwargs decorators generics lambdas callbacks promises loops nulls booleans money
    """,
    "+env": """
    prod production staging stg ci cd preprod qa uat sandbox demo preview canary beta dev local locally localhost k8s
    kubernetes kubectl cluster clusters namespace nomad ecs eks gke aks lambda vercel netlify heroku fly hetzner aws gcp
    azure db database databases postgres postgresql mysql mariadb redis mongo mongodb elasticsearch opensearch
    clickhouse rabbitmq kafka nats minio s3 bucket registry mirror proxy vpn bastion nginx haproxy ingress dns tls cert
    certs certificate certificates server servers host hosts box machine machines runner vm instance instances worker
    workers scheduler gateway sentry grafana prometheus loki datadog kibana splunk pagerduty metrics jira linear
    youtrack tracker tickets confluence jenkins gitlab github bitbucket circleci buildkite teamcity argo argocd flux
    terraform pulumi ansible helm docker podman fastlane testflight vault bitwarden env main master develop trunk
    toolchain port ports url urls firmware container deployment region zone dashboard backup nightly deployments
    """,
    "+tool": """
    tabs spaces npm pnpm yarn bun deno jest vitest mocha ava cypress playwright pytest unittest nose pip pipenv poetry uv
    conda hatch moment dayjs luxon lodash axios fetch ky redux zustand mobx jotai yup zod joi valibot webpack vite rollup
    esbuild eslint biome tslint prettier ruff black isort flake8 mypy pyright gradle maven bazel cmake make ninja prisma
    drizzle knex typeorm sequelize sqlalchemy django flask fastapi react vue svelte angular nextjs rails spring ktor
    java kotlin swift go golang rust python ruby php typescript javascript ts js node scala elixir haskell zig dart
    flutter tailwind sass scss bootstrap graphql grpc rest protobuf openapi pydantic dataclasses attrs pandas polars
    numpy celery sidekiq rspec junit mockito testcontainers storybook turbo nx lerna swc babel husky cargo clippy rustfmt
    gofmt jdk xcode cocoapods spm android ios linux windows macos wsl bash zsh fish powershell vim emacs vscode
    commonjs esm crlf lf utf8 utc uuid uuids ulid snake camel kebab pascal snakecase camelcase
    """,
    "+talk": """
    answer answers reply replies respond explain explanation summarize summarise emoji apologize sorry verbose concise
    short shorter brief terse bullet tone english german language questions question step recap preamble
    """,
    "+trouble": """
    fails fail failing failed broken breaks hangs hang crash crashes crashed crashing error bug bugs issue issues
    problem problems timeout timeouts slow stuck flaky wrong missing empty null undefined red exception traceback stack
    weird strange leak leaks freezes lag lags
    """,
}  # fmt: skip
CLASSES = {word: name for name, words in reversed(_CLASSES.items()) for word in words.split()}
