"""Made-up keys of every provider that public scanners know, in the forms in which people and programs write them.

`KEYS`: the provider as names spell it, and the shape of its key (fields as in secret_samples.py), for the rules of
gitleaks' default configuration that are about a key; client ids, which are public, are left out. `FORMS` and
`HELD_FORMS`: what stands around a key. The patterns were tuned on `FORMS`; nobody looked at the misses of `HELD_FORMS`,
so theirs is the figure to report. Who tunes on some of them moves them to `FORMS` and writes new ones.

In a form `<v>` is the key, `<p>` the provider, `<P>` its title; the other letters spell one name: `<n>` is
datadog_api_key, `<N>` DATADOG_API_KEY, `<c>` datadogApiKey, `<k>` datadog-api-key, `<w>` datadog api key.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from bench.secret_samples import Sample, draw

# Keys whose shape says nothing: known only by what stands around them.
_SHAPELESS = """
adafruit {w32}
adobe {h32}
airtable {a17}
algolia {l32}
alibaba {a30}
artifactory {a73}
asana {l32}
atlassian {a20}{h4}
bitbucket {a32}
bitbucket {w64}
bittrex {l32}
cloudflare {w40}
cloudflare {h37}
codecov {l32}
cohere {a40}
coinbase {w64}
confluence {a20}{h4}
confluent {u16}
confluent {b64}
contentful {w43}
datadog {h32}
datadog {h40}
discord {h64}
discord {w32}
droneci {a32}
dropbox {l15}
etsy {l24}
facebook {h32}
fastly {w32}
finicity {h32}
finicity {a20}
finnhub {l20}
flickr {h32}
freshbooks {h64}
gitter {h40}
gocardless live_{w40}
heroku {uuid}
hubspot {uuid}
intercom {b60}
jfrog {a73}
jfrog {a64}
jira {a20}{h4}
kraken {b88}
kucoin {h24}
kucoin {uuid}
launchdarkly {w40}
linear {h32}
linkedin {a16}
linked_in {a16}
mattermost {l26}
meraki {h40}
message_bird {a25}
netlify {w43}
new_relic {a64}
nytimes {a32}
okta 00{w40}
plaid {h30}
privateai {l32}
rapidapi {a50}
sendbird {h40}
sentry {h64}
snyk {uuid}
sonar {h40}
squarespace {uuid}
sumologic {a64}
travis {a22}
twitch {l30}
twitter {a45}
twitter {d19}-{a40}
twitter {a25}
twitter {a50}
zendesk {a40}
"""
# Keys with a shape of their own.
_SHAPED = """
1password A3-{u6}-{u11}-{u5}-{u5}-{u5}
1password ops_eyJ{b250}
adobe p8e-{a32}
age AGE-SECRET-KEY-1{q58}
alibaba LTAI{a20}
anthropic sk-ant-api03-{w93}AA
anthropic sk-ant-admin01-{w93}AA
artifactory AKCp{a69}
artifactory cmVmd{a59}
atlassian ATATT3{w186}
authress sc_{l12}.{l5}.acc_{l20}.{a60}
aws AKIA{u16}
aws ASIA{u16}
azure {a3}8Q~{a34}
beamer b_{w44}
clickhouse 4b1d{a38}
clojars CLOJARS_{l60}
cloudflare v1.0-{h24}-{h146}
databricks dapi{h32}
defined dnkey-{w26}-{w52}
digitalocean doo_v1_{h64}
digitalocean dop_v1_{h64}
digitalocean dor_v1_{h64}
doppler dp.pt.{a43}
dropbox {a11}AAAAAAAAAA{w43}
dropbox sl.{w135}
duffel duffel_live_{w43}
dynatrace dt0c01.{u24}.{u64}
easypost EZAK{a54}
easypost EZTK{a54}
facebook {d15}|{w30}
facebook EAAC{a110}
flutterwave FLWSECK_TEST-{h12}
flutterwave FLWSECK_TEST-{h32}-X
flutterwave FLWPUBK_TEST-{h32}-X
fly fo1_{w43}
fly fm2_{b120}==
frameio fio-u-{w64}
freemius sk_{w29}
google AIza{w35}
github ghp_{a36}
github gho_{a36}
github ghs_{a36}
github ghr_{a36}
github github_pat_{a82}
gitlab glcbt-{h2}_{w20}
gitlab gldt-{w20}
gitlab glffct-{w20}
gitlab glft-{w20}
gitlab glimt-{w25}
gitlab glagent-{w50}
gitlab gloas-{w64}
gitlab glpat-{w20}
gitlab glpat-{w27}.{l9}
gitlab glptt-{h40}
gitlab GR1348941{w20}
gitlab glrt-{w20}
gitlab glrt-t1_{w27}.{l9}
gitlab glsoat-{w20}
grafana eyJrIjoi{a80}
grafana glc_{b60}
grafana glsa_{a32}_{h8}
harness pat.{w22}.{a24}.{a20}
harness sat.{w22}.{h24}.{a20}
heroku HRKU-AA{w58}
hubspot pat-na1-{uuid}
huggingface hf_{L34}
huggingface api_org_{L34}
infracost ico-{a32}
intra s-s4t2ud-{h64}
jwt eyJ{a30}.eyJ{w60}.{w43}
linear lin_api_{a40}
lob live_{h35}
lob test_pub_{h31}
mailchimp {h32}-us14
mailgun key-{h32}
mailgun pubkey-{h32}
mailgun {h32}-{h8}-{h8}
mapbox pk.{a60}.{a22}
maxmind {a6}_{a29}_mmk
new_relic NRAK-{u27}
new_relic NRII-{w32}
new_relic NRJS-{h19}
notion ntn_{d11}{a35}
npm npm_{a36}
octopus API-{u26}
openai sk-proj-{w74}T3BlbkFJ{w74}
openai sk-{a20}T3BlbkFJ{a20}
openshift sha256~{w43}
perplexity pplx-{a48}
plaid access-production-{uuid}
planetscale pscale_tkn_{w43}
planetscale pscale_oauth_{w43}
planetscale pscale_pw_{w43}
postman PMAK-{h24}-{h34}
prefect pnu_{a36}
pulumi pul-{h40}
pypi pypi-AgEIcHlwaS5vcmc{w90}
readme rdme_{l70}
rubygems rubygems_{h48}
scalingo tk-us-{w48}
sendgrid SG.{w22}.{w43}
sendinblue xkeysib-{h64}-{a16}
sentry sntrys_eyJpYXQiO{b60}LCJyZWdpb25fdXJs{b60}_{b43}
sentry sntryu_{h64}
settlemint sm_aat_{a16}
settlemint sm_pat_{a16}
settlemint sm_sat_{a16}
shippo shippo_live_{h40}
shopify shpat_{h32}
shopify shpca_{h32}
shopify shppa_{h32}
shopify shpss_{h32}
slack xapp-1-A{u10}-{d13}-{h64}
slack xoxb-{d12}-{d12}-{a24}
slack xoxe.xoxb-1-{u163}
slack xoxe-1-{u146}
slack xoxs-{d10}-{d10}-{d10}-{h10}
slack xoxr-{a40}
slack xoxp-{d12}-{d12}-{d12}-{a32}
sourcegraph sgp_{h16}_{h40}
square EAAA{w60}
square sq0atp-{w22}
stripe sk_live_{a24}
stripe rk_prod_{a99}
telegram {d10}:A{w34}
twilio SK{h32}
twitter AAAAAAAAAAAAAAAAAAAAAA{a85}
typeform tfp_{w59}
vault hvb.{w140}
vault hvs.{w95}
vault s.{a24}
yandex t1.{w40}.{w86}
yandex AQVN{w38}
yandex YC{w38}
"""
# Keys of firms that nobody lists.
_UNLISTED = """
acme {a32}
billing {a40}
ledger {b44}
payroll {w48}
warehouse {a24}
"""
KEYS: tuple[tuple[str, str], ...] = tuple(
    (provider, shape)
    for table in (_SHAPELESS, _SHAPED, _UNLISTED)
    for provider, shape in (line.split() for line in table.split("\n") if line)
)
_PASSWORDS = ("{a12}", "{a8}!{d2}", "{L5}-{d4}-{L5}", "{a16}", "{L4}{d4}#{l6}")
_PARTS = (
    "api_key",
    "token",
    "secret",
    "key",
    "access_token",
    "secret_key",
    "auth_token",
    "api_token",
    "client_secret",
)

FORMS: dict[str, tuple[str, ...]] = {
    "shell": (
        "export <N>=<v>",
        "$ <N>='<v>' ./deploy.sh --verbose",
        "  412  export <N>=\"<v>\"\n  413  make test",
        "set -x <N> <v>",
        "setx <N> \"<v>\"",
        "$env:<N> = \"<v>\"",
        "./deploy --<k> <v> --dry-run",
        "docker run -e <N>=<v> -p 80:80 app",
        "heroku config:set <N>=<v> -a app",
        "gh secret set <N> --body <v>",
        "echo \"<N>=<v>\" >> .env",
        "kubectl create secret generic app --from-literal=<n>=<v>",
        "<N>=<v> npm run build",
        "env <N>=<v> pytest -q",
        "$ cat .env\nPORT=8080\n<N>=<v>\n",
        "app login --<k>=<v>",
        "aws ssm put-parameter --name /<p>/key --value <v>",
        "vercel env add <N> production <<< <v>",
        "printf '<v>' | docker secret create <n> -",
        "ARG <N>=<v>",
        "ENV <N> <v>",
    ),
    "curl": (
        "curl -H \"Authorization: Bearer <v>\" https://api.<p>.test/v1",
        "curl -s https://api.<p>.test/v1 -H 'X-Api-Key: <v>'",
        "curl -u me:<v> https://api.<p>.test/v1",
        "curl \"https://api.<p>.test/v1?api_key=<v>&page=2\"",
        "curl -X POST https://api.test \\\n  -H \"Accept: */*\" \\\n  -H \"Authorization: Token <v>\" \\\n  -d '{}'",
        "curl --header 'Authorization: ApiKey <v>' https://api.<p>.test",
        "http GET api.<p>.test X-Auth-Token:<v>",
        "wget --header=\"PRIVATE-TOKEN: <v>\" https://git.test/x",
        "curl --user \"me:<v>\" https://api.<p>.test",
    ),
    "files": (
        "<n>: <v>",
        "<n>: \"<v>\"  # rotate in May",
        "<p>:\n  key: <v>\n  region: eu-1",
        "<p>:\n  token: \"<v>\"\n",
        "services:\n  <p>:\n    url: https://api.test\n    key: <v>\n",
        "environment:\n  - <N>=<v>\n  - LOG_LEVEL=info",
        "[<p>]\nurl = https://api.test\nkey = <v>\n",
        "<n> = \"<v>\"",
        "{\"<p>\": {\"url\": \"https://api.test\", \"key\": \"<v>\"}}",
        "{\n  \"<c>\": \"<v>\",\n  \"debug\": true\n}",
        "<<n>><v></<n>>",
        "<setting name=\"<c>\" value=\"<v>\" />",
        "<p>.api.key=<v>",
        "variable \"<n>\" {\n  type    = string\n  default = \"<v>\"\n}",
        "provider \"<p>\" {\n  api_key = \"<v>\"\n}",
        "- name: <N>\n  value: <v>\n",
        "- name: <N>\n  value: \"<v>\"\n",
        "<p>:\n    secret: '<v>'\n",
        "<p>:\n  production:\n    key: <v>\n",
        "[tool.<p>]\ntoken = \"<v>\"\n",
        "export default { <c>: '<v>' }",
        "<entry key=\"<n>\"><v></entry>",
        "<add key=\"<c>\" value=\"<v>\"/>",
        "{\"name\": \"<N>\", \"value\": \"<v>\"}",
        "apiVersion: v1\nkind: Secret\nstringData:\n  <n>: <v>\n",
        "env:\n  <N>: <v>\n",
        "resource \"x\" \"y\" {\n  <n> = \"<v>\"\n}",
        "<n> <v>",
        "<n>: >-\n  <v>\n",
    ),
    "code": (
        "<n> = '<v>'",
        "<N>: Final = \"<v>\"",
        "const <c> = \"<v>\";",
        "const <c>: string = '<v>'",
        "private static final String <N> = \"<v>\";",
        "string <c> = @\"<v>\";",
        "<c> := \"<v>\"",
        "$<c> .= '<v>';",
        "$config['<n>'] = '<v>';",
        "'<n>' => '<v>',",
        "define('<N>', '<v>');",
        "<n> ||= '<v>'",
        "ENV['<N>'] = '<v>'",
        "os.environ[\"<N>\"] = \"<v>\"",
        "os.getenv(\"<N>\", \"<v>\")",
        "process.env.<N> || '<v>'",
        "client = <P>(api_key=\"<v>\")",
        "client = <P>Client(\"<v>\")",
        "headers = {\"X-Api-Key\": \"<v>\"}",
        "let <c> = `<v>`;",
        "<n> = (\n    \"<v>\"\n)",
        "#define <N> \"<v>\"",
        "(setq <k> \"<v>\")",
        "var <c> = '<v>';",
        "final <c> = \"<v>\";",
        "let <n>: &str = \"<v>\";",
        "$<n> .= \"<v>\";",
        "<n> += '<v>'",
        "@<n> = '<v>'",
        ":<n> => \"<v>\",",
        "<n>: '<v>',",
        "public const string <P>Key = \"<v>\";",
        "config.set('<p>.key', '<v>')",
        "System.setProperty(\"<p>.token\", \"<v>\");",
        "<P>.configure { |c| c.api_key = '<v>' }",
        "new <P>({ auth: '<v>' })",
        "self.<n> = \"<v>\"",
        "<N> = \\\n    \"<v>\"",
        "if <n> == \"<v>\":",
        "monkeypatch.setenv(\"<N>\", \"<v>\")",
    ),
    "tables": (
        "name,api_key,region\nfirst,<v>,eu\n",
        "service,key\n<p>,<v>\n",
        "id;user;token\n1;anna;<v>\n2;ben;\n",
        "| name | api_key |\n|---|---|\n| <p> | <v> |\n",
        "| <N> | <v> |\n",
        "<N>,<v>\n",
        " id | email    | secret\n----+----------+-------\n  1 | a@b.test | <v>\n(1 row)",
        "api_key,name\n<v>,first\n",
        "user,email,password,token\nanna,a@b.test,x,<v>\n",
        "<p>,<v>\n",
        "| Key | Value |\n|:--|:--|\n| `<N>` | `<v>` |\n",
        "id\tname\tsecret\n1\tanna\t<v>\n",
        "\"name\",\"token\"\n\"first\",\"<v>\"\n",
    ),
    "prose": (
        "the <p> key is <v>",
        "The <P> token is <v>, please use it.",
        "my token for <p>: <v>",
        "use <v> as the <p> key",
        "Here is the <w>: <v>. Put it into the settings.",
        "the key for <p> is <v> and it works",
        "<v> is the <p> token",
        "you can test with the token <v>",
        "I set the <w> to <v> and now it fails",
        "our <P> API key (<v>) stopped working",
        "der Schlüssel für <P> ist <v>",
        "das <P>-Token lautet <v>",
        "nimm <v> als Token",
        "la clé <P> est <v>",
        "la clave de <p> es <v>",
        "a chave do <p> é <v>",
        "<p>のトークンは <v> です",
        "<p> 的密钥是 <v>",
        "The key for the <p> account is <v>.",
        "<P>'s key: <v>",
        "please use the token <v> for <p>",
        "my <p> api key is <v> btw",
        "set the <p> secret to <v>",
        "try it with <v> as api key",
        "here's my <p> key <v>",
        "I got a new <p> token, it's <v>",
        "unser Schlüssel von <P>: <v>",
        "verwende <v> als Schlüssel für <P>",
        "le jeton <P> est <v>",
        "usa <v> como token de <p>",
        "il token di <p> è <v>",
    ),
    "logs": (
        "2026-11-15 09:00:01 DEBUG <p> client: key=<v> region=eu",
        "INFO connecting to <p> with token <v>",
        "level=info msg=\"request\" <n>=<v> status=401",
        "> X-Api-Key: <v>",
        "< x-<p>-token: <v>",
        "Error: 401 from <p>: invalid api key '<v>'",
        "[config] <N> -> <v>",
        "+<n>=<v>",
        "-  <c>: '<v>',",
        "{\"level\":\"error\",\"msg\":\"bad token\",\"<n>\":\"<v>\"}",
        "Authorization: Bearer <v>",
        "authorization:\n  Bearer <v>",
        "ERROR <p>: token <v> has expired",
        "using key <v> for <p>",
        "DEBUG headers={'X-Api-Key': '<v>', 'Accept': '*/*'}",
        "< set-auth-token: <v>",
        "<P>Error: Invalid API Key provided: <v>",
        "+  \"<c>\": \"<v>\",",
        "Loaded <N>=<v> from .env",
        "proxy-authorization: Bearer <v>",
    ),
}  # fmt: skip
PASSWORD_FORMS = (
    "the password is <v>", "The password for the staging database is <v>.", "use <v> as the password",
    "my password for jira: <v>", "log in as admin with password <v>", "user admin, password <v>",
    "Username: admin\nPassword: <v>\n", "das Passwort ist <v>", "Das Kennwort für die Datenbank lautet <v>",
    "le mot de passe est <v>", "la contraseña es <v>", "密码是 <v>", "パスワードは <v> です",
    "the db password, <v>, is old", "db:\n  user: app\n  password: <v>\n", "DB_PASSWORD=<v>", "$pass .= '<v>';",
    "password => '<v>'", "user,password\nanna,<v>\n", "| user | password |\n|---|---|\n| anna | <v> |\n",
    "CREATE USER app IDENTIFIED BY '<v>';", "ALTER USER app WITH ENCRYPTED PASSWORD '<v>';",
    "CREATE LOGIN app WITH PASSWORD = N'<v>';", "Server=db;Uid=app;Pwd=<v>;", "mysql -uroot -p<v> app",
    "postgres://app:<v>@db.test/app", "curl -u admin:<v> https://x.test", "PGPASSWORD=<v> psql -h db app",
    "redis-cli -a <v> ping", "sshpass -p '<v>' ssh me@host", "smtp_pass: <v>", "passphrase = \"<v>\"",
    "<password><v></password>", "echo '<v>' | sudo -S apt update", "docker login -u me --password <v>",
    "password for root is <v>", "try <v> as password", "the admin password: <v>", "login: admin / <v>",
    "I changed the wifi password to <v>", "mein Passwort für jira: <v>", "verwende <v> als Passwort",
    "el password es <v>", "mot de passe : <v>", "la contraseña de la base es <v>", "密码\N{FULLWIDTH COLON}<v>",
    "パスワード\N{FULLWIDTH COLON}<v>", "auth:\n  basic:\n    password: \"<v>\"\n", "ADMIN_PASS='<v>'",
    "$password = '<v>';", "db.password=<v>", "name;passwd\nben;<v>\n", "SET PASSWORD FOR 'app' = '<v>';",
    "jdbc:mysql://db/app?user=me&password=<v>", "amqp://me:<v>@mq.test:5672/", "mongosh -u me -p <v> --host db",
    "mysqldump --password=<v> app", "ldapsearch -D cn=admin -w <v> -b dc=x", "spring.datasource.password=<v>",
    "\"pwd\": \"<v>\"", "openssl enc -aes-256-cbc -k <v> -in a", "login failed for admin (password: <v>)",
)  # fmt: skip
HELD_FORMS: dict[str, tuple[str, ...]] = {
    "shell": (
        "<N>=\"<v>\" go test ./...",
        "read -r <N> <<< \"<v>\"",
        "docker build --build-arg <N>=<v> .",
        "terraform apply -var '<n>=<v>'",
        "helm upgrade app ./chart --set <p>.key=<v>",
        "flyctl secrets set <N>=<v>",
        "SET <N>=<v>",
        "npm config set //registry.test/:_authToken <v>",
        "<p>-cli --token <v> list",
    ),
    "curl": (
        "curl -H \"X-<P>-Token: <v>\" https://api.test",
        "curl https://api.test -H \"apikey: <v>\"",
        "requests.get(url, headers={\"Authorization\": \"Bearer <v>\"})",
        "fetch(url, { headers: { Authorization: `Token <v>` } })",
        "curl \"https://api.<p>.test/?token=<v>\"",
    ),
    "files": (
        "<p>:\n  credentials:\n    api_key: <v>\n",
        "\"<p>\": {\n    \"token\": \"<v>\"\n  }",
        "[<p>]\ntoken=<v>\n",
        "<property name=\"<p>.token\" value=\"<v>\"/>",
        "<N>=\"<v>\" # from the console",
        "<k>: '<v>'",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x\nstringData:\n  <N>: \"<v>\"\n",
        "  <p>_key: <v>",
        "<apiKey><v></apiKey>",
        "keys:\n  <p>: <v>\n",
    ),
    "code": (
        "val <c> = \"<v>\"",
        "static string <P>Token => \"<v>\";",
        "my $<n> = '<v>';",
        "<n> <- \"<v>\"",
        "local <n> = \"<v>\"",
        "export const <N> = '<v>' as const;",
        "@Value(\"<v>\") String <c>;",
        "client.set_token(\"<v>\")",
        "<P>.api_key = \"<v>\"",
        "<c>: \"<v>\" as string,",
        "$this-><c> = '<v>';",
        "putenv('<N>=<v>');",
        "Config::set('services.<p>.key', '<v>');",
        "auth = (\"<p>\", \"<v>\")",
        "<N> = os.environ.get('<N>') or '<v>'",
    ),
    "tables": (
        "date,user,access_token\n2026-11-15,anna,<v>\n2026-11-16,ben,\n",
        "| Service | Secret |\n| ------- | ------ |\n| <P> | <v> |\n",
        "name;secret_key;active\n<p>;<v>;yes\n",
        "\"id\",\"api_token\"\n\"7\",\"<v>\"\n",
        "key\tvalue\n<N>\t<v>\n",
    ),
    "prose": (
        "I use this key with <p>: <v>",
        "Our <p> api token was <v>, rotate it",
        "can you add <v> as <p> token to the env?",
        "<P> key = <v>",
        "the secret we share with <p> is <v>",
        "my key is <v>, for <p>",
        "replace the <p> key with <v>",
        "Der Token für <P> ist <v>.",
        "der neue API-Schlüssel: <v>",
        "la clé d'API <P> est <v>",
        "mi clave de API de <p>: <v>",
        "APIキーは <v> です",
        "我的 token 是 <v>",
        "token: <v> (do not share)",
    ),
    "logs": (
        "WARN <p> auth failed token=\"<v>\"",
        "[<p>] using api key: <v>",
        "request headers: {\"x-api-key\":\"<v>\"}",
        "GET /v1/items?access_token=<v>&limit=5 200",
        "Set <N> to <v>",
        "env: <N>=<v> HOME=/root",
        "caused by: InvalidToken(<v>)",
        "{\"event\":\"login\",\"token\":\"<v>\",\"ok\":false}",
    ),
}  # fmt: skip
HELD_PASSWORD_FORMS = (
    "root password is <v>", "password = <v>", "Password <v> was rejected", "the new password will be <v>",
    "pw: <v>, user: root", "user=app password=<v> host=db", "mi contraseña: <v>", "Mot de passe provisoire : <v>",
    "Passwort: <v>", "the passphrase of the key is <v>", "ssh password -> <v>", "\"password\":\"<v>\"",
    "  password: '<v>'", "DATABASE_URL=mysql://root:<v>@db/app", "ftp://me:<v>@files.test/",
    "htpasswd -b .htpasswd me <v>", "useradd -p <v> me", "net use z: \\\\host\\share <v> /user:me",
    "email;password\na@b.test;<v>\n", "GRANT ALL ON x.* TO 'app'@'%' IDENTIFIED BY \"<v>\";",
    "log in with admin and <v> as password", "<Password><v></Password>", "adminPassword: <v>", "PASSWORD <v>",
    "-Dspring.datasource.password=<v>", "wifi pass: <v>",
)  # fmt: skip
_PASSWORD_DRAWS = 20
_FIELD = re.compile(r"<([vpPnNckw])>")


def draw_forms(max_keys: int, *, held: bool, seed: int) -> Iterator[Sample]:
    """Every form with the first keys, or passwords, of the table. A sample's kind is its form."""
    for form in (form for forms in (HELD_FORMS if held else FORMS).values() for form in forms):
        for provider, shape in KEYS[:max_keys]:
            yield _draw(form, provider, shape, seed)
    for form in HELD_PASSWORD_FORMS if held else PASSWORD_FORMS:
        for number, shape in enumerate((_PASSWORDS * _PASSWORD_DRAWS)[:max_keys]):
            yield _draw(form, "", shape, seed + number)


def _draw(form: str, provider: str, shape: str, seed: int) -> Sample:
    part = random.Random(f"{form} {provider} {shape} {seed}").choice(_PARTS)
    name = f"{provider}_{part}"
    first, *others = name.split("_")
    spelt = {
        "v": f"«{shape}»", "p": provider, "P": provider.title().replace("_", ""), "n": name, "N": name.upper(),
        "c": first + "".join(other.title() for other in others), "k": name.replace("_", "-"),
        "w": name.replace("_", " "),
    }  # fmt: skip
    return draw(form, _FIELD.sub(lambda match: spelt[match[1]], form), seed)
