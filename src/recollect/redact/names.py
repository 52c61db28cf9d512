"""The words that name a secret, in several languages, and the services whose keys have no shape of their own.

Shared by the rows that read names: assign.py, mentions.py, tables.py.
"""

from __future__ import annotations

import re


def utf8(words: str) -> str:
    """As a pattern on bytes in Latin-1 mode spells them."""
    return words.encode().decode("latin-1")


PASSWORD_WORD = r"password|passwort|passwd|passphrase|passcode|pwd|kennwort|mot de passe|" + utf8(
    "contraseña|密码|密碼|口令|パスワード"
)
PASSWORD_KEYWORDS = ("pass", "pwd", "kennwort", "mot de passe", "contrase", "密码", "密碼", "口令", "パスワード")
# What makes a key a secret one: `signing_key`, but not `sort_key`.
_KEYS = """
    access account admin api app application auth client cipher consumer crypto deploy encrypt encryption hmac ingest
    ingestion jwt license master private root security service session shared signature signing ssh storage
    subscription webhook write
""".split()
TOKEN_WORD = rf"secret|token|credentials?|bearer|(?:{'|'.join(_KEYS)})[_. -]?key"
TOKEN_KEYWORDS = ("secret", "token", "cred", "key", "auth", "bearer")
# Behind the hyphens of a flag.
FLAG_KEYWORDS = tuple(f"-{word}" for word in (*TOKEN_KEYWORDS, *_KEYS))
# A value must still look random. `_` may be left out, or be a hyphen or a space.
_SERVICES = """
    adafruit adobe airtable aiven algolia alibaba aliyun amplitude artifactory asana atlassian auth0 beamer bintray
    bitbucket bitly bittrex bugsnag cloudflare cloudinary codecov cohere coinbase confluence confluent contentful
    coveralls datadog deepgram deepseek digitalocean discord droneci dropbox etsy facebook fastly finicity finnhub
    flickr freemius freshbooks gitter gocardless harness heroku hubspot ibmcloud intercom jenkins jfrog jira kraken
    kucoin launchdarkly linear linked_in logzio looker mailchimp mailgun mapbox mattermost meraki message_bird mistral
    mixpanel netlify new_relic new_york_times nytimes okta opsgenie pagerduty paypal pendo plaid postmark private_ai
    rapid_api rollbar salesforce segment sendbird sentry shodan sidekiq snyk sonar sourcegraph spotify squarespace
    statuspage sumologic sumo telegram travis trello twilio twitch twitter typeform wandb xray yandex zendesk
""".split()
SERVICE = "|".join(name.replace("_", "[_ -]?") for name in _SERVICES)
SERVICE_KEYWORDS = tuple(
    name.replace("_", join) for name in _SERVICES for join in (("", "_", "-", " ") if "_" in name else ("",))
)
# What says that a value follows.
VERB = "is|was|ist|war|lautet|est|es|" + utf8("è|é")

# What a name may end in and then hold no secret: `token_count`, `passwordFile`, `secret-name`.
_ABOUT = frozenset(
    b"""
    alg algorithm arn at attempts bucket budget class count created date decode dir enabled encode encoding end
    endpoint endswith env error exp expiration expire expires expiry field file form format get handler hash header
    hint id ids idx in index input label len length limit manager max message method mgr min mode msg name names
    offset param params path pattern placeholder policy position prefix prompt provider ref regex required reset
    rule rules scope scopes size source start startswith status store strength suffix time timeout total ttl type
    types updated uri url usage used validator var variable version
    """.split()
)
_PLURALS = frozenset((b"s", b"key", b"keys", b"value", b"text", b"word"))
_WORDS = re.compile(rb"[A-Z]?[a-z]+|[A-Z]+|\d+")


def speaks_about(word: bytes, rest: bytes) -> bool:
    """The name is another one (`tokenizer`) or names a property of the secret (`token_count`)."""
    words = [word.lower() for word in _WORDS.findall(rest)]
    if not words:
        return False
    glued = rest[:1].isalpha() and rest[:1].isupper() == word[-1:].isupper()
    return (glued and words[0] not in _PLURALS) or words[-1] in _ABOUT
