"""What is no secret stays as it is, to the byte."""

from __future__ import annotations

import hashlib
import random
import string

import pytest

from recollect.redact import Redactor

REDACTOR = Redactor(b"a key for tests")

SHA1 = hashlib.sha1(b"a commit").hexdigest()
SHA256 = hashlib.sha256(b"a package").hexdigest()
UUID = f"{SHA1[:8]}-{SHA1[8:12]}-4{SHA1[12:15]}-a{SHA1[15:18]}-{SHA1[18:30]}"
BASE64 = "".join(random.Random(7).choices(string.ascii_letters + string.digits + "+/", k=76))

CODE = (
    'password = os.environ["DB_PASSWORD"]',
    "password = os.getenv('DB_PASSWORD', default)",
    "password: str",
    "password: Optional[str] = None",
    "  password?: string;",
    "password: z.string().min(8).max(64),",
    "token = get_token()",
    "token = self.token",
    "token = tokens[i + 1]",
    "const token = await auth.getToken(req.headers2);",
    "let pwd = config.db.pwd2;",
    "secret := cfg.Secret",
    "if password == confirm_password:",
    "if (token !== expectedToken) return;",
    "def login(user, password=None, token=''):",
    "return Credentials(token=token, secret=secret)",
    "api_key=${API_KEY}",
    'export TOKEN="$(vault read -field=token secret/x)"',
    "password: {{ .Values.db.password }}",
    "password: ${{ secrets.DB_PASSWORD }}",
    "PASSWORD=<your password>",
    "API_KEY=your-api-key-here-123",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer <token>",
    '"Authorization": f"Bearer {token}"',
    "headers = {'Authorization': 'Bearer ' + token}",
    "postgres://user:password@localhost/db",
    "postgres://$USER:$PASSWORD@host/db",
    "https://${USER}:${TOKEN}@github.com/x/y",
    "http://localhost:8080/users/@me",
    "git@github.com:owner/repository.git",
    "ssh://git@host:2222/owner/repository.git",
    "max_tokens: 4096",
    "token_count = 123456789",
    "tokenizer = 'cl100k_base2024'",
    'token_type: "bearer2token3x"',
    "passwordFile: /run/secrets/db1",
    "secretName: my-app-secret-v2",
    "password_min_length = 12",
    'PASSWORD_RESET = "password_reset"',
    '"password": "Passwort vergessen?"',
    '<input type="password" id="pw1" class="form-control2">',
    "cache_key = f'{user.id}:{page}'",
    "primary_key=True, sort_key='created_at2'",
    "PWD=/home/me/project2",
    "bypass = compass1234 + passenger42",
    "assert passed == 1234",
    "pass `dtype='datetime64[ns]'` to it",
    "self.authorization = kwargs.get('authorization')",
    "proxy_auth=self._proxy_auth, headers=[(b'Proxy-Authorization', authorization)]",
    "pwd = (self.password.encode('utf-8') if isinstance(self.password, str) else b'')",
    "auth = (self.auth[0], '********') if self.auth else None",
    "token = r'[-!#$%&*+.^_|~0-9a-zA-Z]+'",
    "redundant - pass targets={(*targets1, target)!r} instead",
    "MovedAttribute('HTTPPasswordMgr', 'urllib2', 'urllib.request')",
    "docker run -u 1000:1000 -p 8080:80 image",
    "import { AKIAN, ASIAN } from './regions'",
    "task-runner disk-usage risk-assessment-for-the-whole-of-next-year",
    "sk-learn, hf_model, npm_config_registry, key-value, re_compile_pattern",
    "curl -u user: https://x.test",
    "-----BEGIN CERTIFICATE-----\n" + BASE64 + "\n-----END CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + BASE64[:43].replace("+", "x").replace("/", "y") + " me@host",
    'cfg_path = "build/v2/x86_64a1b2c3"',
    "my_pat = re.compile(r'[a-z0-9]{4,}x9')",
    '<add key="PageSize" value="25" /> <add key="TokenLifetime" value="00:20:00" />',
    '<add key="DbPassword" value="${DB_PASSWORD}" />',
    "| 123456789012345|a-name-in-a-table |",
    "kind: Secret\nmetadata:\n  name: app-secret\ntype: Opaque\n",
    "kind: ConfigMap\ndata:\n  region: europewest\n",
    "pass the apikey parameter-of-the-request-as-it-stands",
    "class Token(Enum):\n    STRING2 = 'string2'\n",
)
PROSE = (
    "",
    "The password is stored in the vault, and the token is rotated every night.",
    "We never log the secret; a token: short, random, revocable.",
    "Passwords are hashed with argon2id. Tokens expire after 3600 seconds.",
    "Use basic authentication or bearer authentication, as the table says.",
    "He forgot his password: again. The key is under the mat.",
    "Das Passwort steht nicht im Repository, das Token auch nicht.",
    "パスワードは環境変数から読みます。",
    "a private key and a public key; PRIVATE KEY is a heading here",
    "closing </private> alone closes nothing",
)
# Where a sentence, a nested key or a table speaks of secrets and names none.
NEAR_SECRETS = (
    "the key is to understand the code before changing it",
    "the password is wrong, try again",
    "the token is a JWT, the secret is base64 in there",
    "api_key: str | None",
    "The key thing is initialize-the-worker-first.",
    "the password for the staging database is in 1Password",
    "use argon2id as the password hash and sha256-rsa as the token format",
    f"the cache key is Linux-node20-{SHA256}",
    f"Cache restored from key: setup-python-Linux-22.04-x64-{SHA1}",
    f"the key is {UUID}",
    f"key: {SHA256}",
    f"gpg: using RSA key {SHA1.upper()}",
    "Key fingerprint is SHA256:pWzk3Jq6yT0mB1nS9xV4rH7cL2dF8gA5eK0uQ1oI3jY me@host",
    f"the public key AAAAC3NzaC1lZDI1NTE5AAAAI{BASE64[:40].replace('+', 'x').replace('/', 'y')}",
    f"primary key 5f8d0d55b54764421b7156c3, partition_key={UUID}",
    f"see key commit {SHA1} for the secret rotation",
    "the token endpoint is https://auth.example.test/oauth2/v2.0/token",
    "token count is 123456789012345678",
    "the auth module is src/services/auth2/handlers_v3/login.py",
    "the access log is /var/log/nginx/access-2026-11-15.log.gz",
    "set the api version to 2024-10-01-preview2",
    "secret rotation was on 2026-11-15T09:38:47Z",
    "using Assume2KnowledgeMap = DenseMap<RetainedKnowledgeKey, Assume2KnowledgeMap>;",
    "#define cast128_set_key nettle_cast128_set_key",
    "RegEnumKey = win32api.RegEnumKey",
    "auth_str = base64.standard_b64encode(credentials).decode()",
    "'key',\n'atEndOfFile',\n'icPIdeal',\n",
    "user, password, host\nalice, swordfish, localhost",
    "key,value\nretries,3\nregion,eu-central-1\n",
    f"path,key\nsrc/app.py,{SHA256}\n",
    "| key | meaning |\n|---|---|\n| ctrl+shift+p2 | command palette |\n",
    "token,kind\nidentifier_2,NAME\n",
    "cache:\n  key: build-${{ hashFiles('**/lock') }}\n  paths: [node_modules]",
    "datadog:\n  enabled: true\n  site: datadoghq.eu",
    "- name: SECRET_NAME\n  value: my-app-secret\n",
    "- name: API_TOKEN\n  valueFrom:\n    secretKeyRef: {name: app, key: api-token}\n",
    "echo done | tee secret-scan.log",
    "login: admin / see the wiki",
    "das Passwort ist falsch, der Schlüssel ist verloren",
    "le mot de passe est incorrect; la clé est sous le tapis",
    "la contraseña es incorrecta y la clave es entender el código",
    "密码是必填的。トークンは環境変数から読みます。",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
)
# Things that look random and are not secret where no name says so.
RANDOM_LOOKING = (
    f"commit {SHA1}",
    f"Merge: {SHA1[:7]} {SHA1[7:14]}",
    f"id: {UUID}",
    f'"integrity": "sha512-{BASE64}=="',
    f"hash = sha256:{SHA256}",
    f'{{ file = "x-1.0.whl", hash = "sha256:{SHA256}" }}',
    f"EXPECTED = '{BASE64}'",
    f"etag: {SHA256[:32]}",
    f"session {UUID} started",
    f"docker pull image@sha256:{SHA256}",
)
# Decided: what everyone writes where a secret goes is worth remembering and gives nothing away.
STAND_INS = (
    'SECRET_KEY = "changeme"',
    "PASSWORD=changeme",
    "DB_PASSWORD=password",
    'password = "password123"',
    'password: "********"',
    "TOKEN=xxxxxxxxxxxxxxxx",
    'API_KEY="example-key-1a2b3c4d"',
    "password=null",
    "--password PASSWORD  the password to use",
    "password = [private]",
    "password=[redacted:password:0a1b]",
    'token: "[redacted:github-token:0a1b]"',
    "postgres://u:[redacted:url-password:0a1b]@host/db",
    "Authorization: Bearer [redacted:authorization:0a1b]",
)


@pytest.mark.parametrize("text", [*CODE, *PROSE, *NEAR_SECRETS, *RANDOM_LOOKING, *STAND_INS])
def test_ordinary_text_stays_as_it_is(text):
    cleaned = REDACTOR.clean(text)

    assert cleaned.text == text
    assert cleaned.found == ()


def test_the_ordinary_texts_stay_as_they_are_together():
    together = "\n".join((*CODE, *PROSE, *NEAR_SECRETS, *RANDOM_LOOKING, *STAND_INS))

    assert REDACTOR.clean(together).found == ()
