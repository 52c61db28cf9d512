"""Made-up secrets, one or more for every kind, drawn when the tests run: none stands in the repository.

In a template `{a36}` is 36 letters and digits, `h` hex, `H` capital hex, `u` capitals and digits, `l` small
letters and digits, `d` digits, `w` letters, digits, `_` and `-`, `b` base64, `{uuid}` a UUID. What is secret
stands between `«` and `»`; without them all of it is.
"""

from __future__ import annotations

import random
import re
import string
from dataclasses import dataclass

_ALPHABETS = {
    "a": string.ascii_letters + string.digits,
    "h": "0123456789abcdef",
    "H": "0123456789ABCDEF",
    "u": string.ascii_uppercase + "234567",
    "l": string.ascii_lowercase + string.digits,
    "d": string.digits,
    "w": string.ascii_letters + string.digits + "_-",
    "b": string.ascii_letters + string.digits + "+/",
}
_FIELD = re.compile(r"\{([a-zA-Z])(\d+)\}|\{uuid\}")

TEMPLATES: tuple[tuple[str, str], ...] = (
    ("adyen-key", "AQEx{b90}"),
    ("age-key", "AGE-SECRET-KEY-1{u58}"),
    ("airtable-token", "pat{a14}.{h64}"),
    ("alibaba-key", "LTAI{a20}"),
    ("amazon-mws", "amzn.mws.{uuid}"),
    ("anthropic-key", "sk-ant-api03-{w93}AA"),
    ("anthropic-key", "sk-ant-oat01-{w93}AA"),
    ("artifactory-key", "AKCp{a69}"),
    ("asana-token", "2/1{d15}/1{d15}:«{h32}»"),
    ("atlassian-token", "ATATT3xFfGF0{w180}"),
    ("authorization", "Authorization: token «{h40}»"),
    ("authorization", '{\\"authorization\\": \\"ApiKey «{b44}»\\"}'),
    ("authorization", "curl -H 'Authorization: Basic «{a28}==»'"),
    ("aws-access-key", "AKIA{u16}"),
    ("aws-access-key", "ASIA{u16}"),
    ("aws-bedrock-key", "ABSK{b128}"),
    ("aws-secret-key", "aws_secret_access_key = «{b40}»"),
    ("aws-secret-key", '"SecretAccessKey": "«{b40}»"'),
    ("azure-client-secret", "{a3}8Q~{a34}"),
    ("azure-key", "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=«{b86}==»;EndpointSuffix=y"),
    ("azure-key", "{a76}AZDO{a4}"),
    ("azure-sas", "https://x.blob.core.windows.net/c?sv=2024&se=2027&sig=«{a43}%3D»"),
    ("bearer", "sent bearer «{a40}» along"),
    ("bitbucket-token", "ATBB{a32}"),
    ("braintree-token", "access_token$production${l16}${h32}"),
    ("brevo-key", "xkeysib-{h64}-{a16}"),
    ("buildkite-token", "bkua_{h40}"),
    ("circleci-token", "CCIPAT_{a22}_{h40}"),
    ("cli-password", "curl -s -u admin:«{a12}» https://x.test"),
    ("cli-password", "sshpass -p «{a10}» ssh host"),
    ("cli-password", "mysql -h db -u root -p«{a10}» app"),
    ("cli-password", "docker login -u me -p «{a20}» registry.test"),
    ("clickhouse-key", "4b1d{a38}"),
    ("clojars-token", "CLOJARS_{l60}"),
    ("cloudflare-key", "v1.0-{h24}-{h146}"),
    ("contentful-token", "CFPAT-{w43}"),
    ("cookie", "Cookie: «session={a32}; theme=dark»"),
    ("cookie", "Set-Cookie: «sid={a32}; HttpOnly»"),
    ("crates-token", "cio{a32}"),
    ("databricks-token", "dapi{h32}"),
    ("digitalocean-token", "dop_v1_{h64}"),
    ("discord-token", "discord bot: «MT{a22}.{a6}.{w38}»"),
    ("discord-webhook", "https://discord.com/api/webhooks/«{d18}/{w68}»"),
    ("docker-auth", '"https://index.test/v1/": {"auth": "«{a40}»"}'),
    ("docker-token", "dckr_pat_{w27}"),
    ("doppler-token", "dp.st.dev.{a43}"),
    ("dropbox-token", "sl.{w130}"),
    ("duffel-token", "duffel_live_{w43}"),
    ("dynatrace-token", "dt0c01.{u24}.{u64}"),
    ("easypost-key", "EZAK{a54}"),
    ("elevenlabs-key", "sk_{h48}"),
    ("facebook-token", "EAA{a120}"),
    ("figma-token", "figd_{w40}"),
    ("flutterwave-key", "FLWSECK-{h32}-X"),
    ("fly-token", "fo1_{w43}"),
    ("frameio-token", "fio-u-{w64}"),
    ("github-token", "ghp_{a36}"),
    ("github-token", "gho_{a36}"),
    ("github-token", "ghu_{a36}"),
    ("github-token", "ghs_{a36}"),
    ("github-token", "ghr_{a76}"),
    ("github-token", "github_pat_{a22}_{a59}"),
    ("gitlab-token", "glpat-{w20}"),
    ("gitlab-token", "glrt-{w20}"),
    ("gitlab-token", "glcbt-1_{w20}"),
    ("google-api-key", "AIza{w35}"),
    ("google-key-id", '"private_key_id": "«{h40}»"'),
    ("google-oauth-secret", "GOCSPX-{w28}"),
    ("google-oauth-token", "ya29.{w120}"),
    ("google-refresh-token", "1//0{w60}"),
    ("grafana-token", "glc_{b80}"),
    ("grafana-token", "glsa_{a32}_{h8}"),
    ("groq-key", "gsk_{a52}"),
    ("harness-token", "pat.{w22}.{h24}.{a20}"),
    ("heroku-key", "HRKU-{w60}"),
    ("hubspot-token", "pat-na1-{uuid}"),
    ("huggingface-token", "hf_{a34}"),
    ("infracost-key", "ico-{a32}"),
    ("jwt", "eyJ{a33}.eyJ{w80}.{w43}"),
    ("kaggle-token", "KGAT_{h32}"),
    ("langfuse-key", "sk-lf-{uuid}"),
    ("langsmith-key", "lsv2_pt_{h32}_{h10}"),
    ("launchdarkly-key", "sdk-{uuid}"),
    ("linear-key", "lin_api_{a40}"),
    ("lob-key", "live_{h35}"),
    ("lob-key", "test_{h35}"),
    ("mailchimp-key", "{h32}-us14"),
    ("mailersend-key", "mlsn.{h64}"),
    ("mailgun-key", "key-{h32}"),
    ("mailgun-key", "mailgun «{h32}-{h8}-{h8}»"),
    ("mapbox-token", "sk.eyJ{w60}.{w22}"),
    ("maxmind-key", "{a6}_{a29}_mmk"),
    ("netlify-token", "nfp_{a36}"),
    ("netrc-password", "machine x.test login me password «{a14}»"),
    ("newrelic-key", "NRAK-{u27}"),
    ("newrelic-key", "{h36}NRAL"),
    ("notion-key", "ntn_{a46}"),
    ("notion-key", "secret_{a43}"),
    ("npm-token", "npm_{a36}"),
    ("npm-token", "//registry.test/:_authToken=«{uuid}»"),
    ("nuget-key", "oy2{l43}"),
    ("nvidia-key", "nvapi-{w64}"),
    ("octopus-key", "API-{u26}"),
    ("onepassword-key", "A3-{u6}-{u11}-{u5}-{u5}-{u5}"),
    ("onepassword-token", "ops_eyJ{a250}"),
    ("openai-key", "sk-proj-{w74}T3BlbkFJ{w74}"),
    ("openai-key", "sk-{a48}"),
    ("openrouter-key", "sk-or-v1-{h64}"),
    ("openshift-token", "sha256~{w43}"),
    ("perplexity-key", "pplx-{a48}"),
    ("pinecone-key", "pcsk_{a6}_{a60}"),
    ("plaid-token", "access-production-{uuid}"),
    ("planetscale-key", "pscale_tkn_{w43}"),
    ("posthog-key", "phx_{a43}"),
    ("postman-key", "PMAK-{h24}-{h34}"),
    ("prefect-key", "pnu_{a36}"),
    ("private-key", "-----BEGIN RSA PRIVATE KEY-----\n«{b64}\n{b64}\n{b20}==»\n-----END RSA PRIVATE KEY-----"),
    ("private-key", "-----BEGIN OPENSSH PRIVATE KEY-----\n«{b70}\n{b70}\n{b12}»"),
    ("private-key", "«{b64}\n{b64}\n{b20}==»\n-----END PRIVATE KEY-----"),
    (
        "private-key",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n«{b64}\n{b64}»\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
    ),
    ("private-key", '"private_key": "-----BEGIN PRIVATE KEY-----\\n«{b64}\\n{b64}»\\n-----END PRIVATE KEY-----\\n"'),
    (
        "private-key",
        "-----BEGIN EC PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,{H32}\n\n«{b64}\n{b64}»",
    ),
    ("pulumi-token", "pul-{h40}"),
    ("putty-key", "Private-Lines: 2\n«{b64}\n{b64}»\n"),
    ("putty-key", "Private-MAC: «{h64}»"),
    ("pypi-token", "pypi-AgEIcHlwaS5vcmc{w150}"),
    ("readme-key", "rdme_{l70}"),
    ("render-key", "rnd_{a32}"),
    ("replicate-token", "r8_{a37}"),
    ("resend-key", "re_{a8}_{a24}"),
    ("rubygems-key", "rubygems_{h48}"),
    ("scaleway-key", "SCW{u17}"),
    ("sendgrid-key", "SG.{w22}.{w43}"),
    ("sentry-token", "sntrys_{b120}"),
    ("shippo-token", "shippo_live_{h40}"),
    ("shopify-token", "shpat_{h32}"),
    ("slack-token", "xoxb-{d12}-{d13}-{a24}"),
    ("slack-token", "xapp-1-A{u10}-{d13}-{h64}"),
    ("slack-webhook", "https://hooks.slack.com/services/«T{u8}/B{u10}/{a24}»"),
    ("sonar-token", "sqp_{h40}"),
    ("sourcegraph-token", "sgp_{h16}_{h40}"),
    ("square-token", "sq0csp-{w43}"),
    ("square-token", "EAAA{w60}"),
    ("stripe-key", "sk_live_{a24}"),
    ("stripe-key", "rk_test_{a24}"),
    ("supabase-key", "sbp_{h40}"),
    ("tailscale-key", "tskey-auth-{a12}CNTRL-{a32}"),
    ("tavily-key", "tvly-{a32}"),
    ("teams-webhook", "https://x.webhook.office.com/webhookb2/«{uuid}@{uuid}/IncomingWebhook/{h32}»"),
    ("telegram-token", "{d9}:AA{w33}"),
    ("tencent-key", "AKID{a32}"),
    ("terraform-token", "{a14}.atlasv1.{w67}"),
    ("twilio-key", "SK{h32}"),
    ("twitter-token", "AAAAAAAAAAAAAAAAAAAAA{a80}"),
    ("typeform-token", "tfp_{w59}"),
    ("url-password", "postgres://app:«{a16}»@db.test:5432/app"),
    ("url-password", "mongodb+srv://app:«{a6}@{a6}»@cluster.test/x"),
    ("url-password", "redis://:«{a20}»@cache.test"),
    ("url-password", "https://me:«{a12}»@git.test/x.git"),
    ("url-signature", "https://s3.test/k?X-Amz-Date=1&X-Amz-Signature=«{h64}»"),
    ("url-token", "https://«{h32}»@o1.ingest.test/42"),
    ("vault-token", "hvs.{w90}"),
    ("vault-token", "vault login «s.{a24}»"),
    ("vercel-token", "vcp_{a24}"),
    ("webhook-secret", "whsec_{a32}"),
    ("xai-key", "xai-{a80}"),
    ("yandex-key", "AQVN{w38}"),
    ("zapier-webhook", "https://hooks.zapier.com/hooks/catch/«{d7}/{l7}»"),
    # Known only by the name they are given to.
    ("password", "password=«hunter{d2}»"),
    ("password", "DB_PASSWORD=«letmein»"),
    ("password", 'DB_PASSWORD="«correct horse battery»"'),
    ("password", "db_password: «{a12}»"),
    ("password", 'dbPassword: "«{a9}!»",'),
    ("password", '{\\"password\\": \\"«{a12}»\\", \\"x\\": 1}'),
    ("password", "Server=db;User Id=sa;Password=«{a12}»;Encrypt=true"),
    ("password", "app --db-password «{a12}» --verbose"),
    ("password", "app --password=«{a12}»"),
    ("password", 'password = "«$ecret!{a6}»"'),
    ("password", "<password>«{a12}»</password>"),
    ("password", "CREATE USER x IDENTIFIED BY '«{a12}»'"),
    ("password", "ALTER ROLE x WITH PASSWORD '«{a12}»'"),
    ("password", "the password is «{a12}»."),
    ("password", 'password: str = "«{a12}»"'),
    ("password", 'login.setPassword("«{a12}»")'),
    ("password", 'password = "«pässw0rt-{a4}»"'),
    ("secret", 'api_key = "«{a32}»"'),
    ("secret", "API_KEY=«{h32}»"),
    ("secret", "export SESSION_TOKEN='«{a32}»'"),
    ("secret", '"client_secret": "«{a24}»"'),
    ("secret", "x-api-key: «{a32}»"),
    ("secret", 'req.header("X-Api-Key", "«{a32}»")'),
    ("secret", '#define SIGNING_KEY "«{a32}»"'),
    ("secret", "app --token «{a32}»"),
    ("secret", "https://x.test/cb?access_token=«{a32}»&state=1"),
    ("secret", 'const apiToken string = "«{a32}»"'),
    ("secret", "env['AUTH_TOKEN'] = '«{a32}»'"),
    ("secret", "datadog_api = «{h32}»"),
    ("secret", 'HEROKU = "«{uuid}»"'),
    ("secret", "SECRET_KEY = 'django-insecure-«{a12}$!x(%{a20}»'"),
)


@dataclass(frozen=True, slots=True)
class Sample:
    kind: str
    text: str
    secret: str


def draw(kind: str, template: str, seed: int = 0) -> Sample:
    chance = random.Random(f"{kind} {template} {seed}")

    def field(match: re.Match[str]) -> str:
        if match[1] is None:
            return "-".join("".join(chance.choices(_ALPHABETS["h"], k=size)) for size in (8, 4, 4, 4, 12))
        size = int(match[2])
        # Begins and ends with a letter or digit, as a token does when someone writes a full stop after it.
        drawn = chance.choices(_ALPHABETS[match[1]], k=size)
        drawn[0], drawn[-1] = (
            chance.choice("abcdef" if mark.islower() else "ABCDEF") if not mark.isalnum() else mark
            for mark in (drawn[0], drawn[-1])
        )
        return "".join(drawn)

    text = _FIELD.sub(field, template)
    before, mark, rest = text.partition("«")
    secret = rest.partition("»")[0] if mark else before
    return Sample(kind, text.replace("«", "").replace("»", ""), secret)


SAMPLES: tuple[Sample, ...] = tuple(draw(kind, template) for kind, template in TEMPLATES)
