from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.capture.contrast import Relation, opposed, relation, same

# (new, old): the new one takes the old one's place.
OPPOSED = [
    ("Use tabs.", "Use spaces."),
    ("Use pnpm, not npm.", "Use npm."),
    ("Use ky, not superagent.", "Use superagent."),
    ("Never rebase shared branches.", "Always rebase shared branches."),
    ("Prod db is on port 5434.", "Prod db is on port 5433."),
    ("Use npm.", "Use pnpm, not npm."),
    ("Indent with spaces.", "Indent with tabs."),
    ("Use vitest, not jest.", "Write tests with jest."),
    ("Write docstrings.", "Do not write docstrings."),
    ("Do not squash commits.", "Squash commits."),
    ("Never push to main.", "Push to main."),
    ("Staging is at https://stg2.example.com.", "Staging is at https://stg.example.com."),
    ("The build needs Node 22.", "The build needs Node 20."),
    ("Tickets are in Linear.", "Tickets are in Jira."),
    ("Use double quotes.", "Use single quotes."),
    ("Keep lines to 100 columns.", "Keep lines to 80 columns."),
    ("Use snake_case for JSON keys.", "Use camelCase for JSON keys."),
    ("CI runs on GitLab.", "CI runs on GitHub."),
    ("Answer in English.", "Answer in German."),
    ("Do not use mocks in tests.", "Use mocks in tests."),
    ("Use Drizzle instead of Prisma.", "Use Prisma."),
    ("Use fetch, not axios.", "Always use axios."),
    ("Open pull requests against main.", "Open pull requests against develop."),
    ("Always add comments to public functions.", "Never add comments to public functions."),
    ("Migrations are run by hand.", "Migrations are never run by hand."),
    ("Avoid adding emojis.", "Add emojis."),
    ("No default exports.", "Use default exports."),
    ("Use poetry.", "Use uv, not poetry."),
    ("Log with structlog, not loguru.", "Log with loguru."),
    ("Release tags look like v2027.1.", "Release tags look like 1.2.3."),
    ("Redis listens on 6390.", "Redis listens on 6379."),
    ("Use LF line endings.", "Use CRLF line endings."),
    ("We no longer use Redux, Zustand only.", "Use Redux."),
    ("Merge feature branches, do not rebase them.", "Rebase feature branches."),
    ("Use the REST API.", "Use the GraphQL API."),
    ("Prefer short answers.", "Prefer long answers."),
    ("Deploy from main.", "Deploy from release."),
    ("Write commit messages in German.", "Write commit messages in English."),
    ("Do not ask before running tests.", "Ask before running tests."),
    ("Run tests with pytest.", "Run tests with unittest."),
]

# Both may stand.
BESIDE = [
    ("Use tabs.", "Use tabs."),
    ("Use tabs.", "Use vitest."),
    ("Use spaces in YAML.", "Use tabs."),
    ("Staging db is on port 5434.", "Prod cache is on port 6379."),
    ("Never push to main.", "Never push to release."),
    ("Use npm in docs/.", "Use pnpm."),
    ("Use jest for the legacy app.", "Use vitest for the new app."),
    ("Staging is at https://stg.example.com.", "Production is at https://www.example.com."),
    ("The frontend needs Node 22.", "The backend needs Python 3.12."),
    ("Use snake_case for JSON keys.", "Use camelCase for variables."),
    ("Never commit secrets.", "Always sign commits."),
    ("Do not edit files in gen/.", "Regenerate files with make gen."),
    ("Write docstrings for public functions.", "Do not write docstrings in tests."),
    ("Use Postgres in production.", "Use SQLite in tests."),
    ("Open pull requests against develop.", "Releases are cut from main."),
    ("Keep answers short.", "Keep functions short."),
    ("Use uv, not pip.", "Use ruff, not flake8."),
    ("Use uv, not pip.", "Use uv, not poetry."),
    ("Log with structlog.", "Log errors once."),
    ("Redis listens on 6390.", "Postgres listens on 5433."),
    ("Answer in German.", "Write comments in English."),
    ("Commit messages are in English.", "Commit messages are imperative."),
    ("Do not use mocks in tests.", "Use fakes in tests."),
    ("Ask before deleting files.", "Do not ask before running tests."),
    ("Merge by squash.", "Branches are named feat/<ticket>."),
    ("Use Decimal for money.", "Do not use floats for money."),
    ("Deploys happen on Tuesdays.", "Never deploy on Fridays."),
    ("CI runs on Buildkite.", "CI needs Node 20."),
    ("Use zod for validation.", "Validation errors return 422."),
    ("Tests live next to the code.", "Fixtures live in tests/fixtures."),
    ("Use the logger from lib/log.", "Use the client from lib/http."),
    ("Images are pushed to registry.example.com.", "Charts are pushed to charts.example.com."),
    ("No emojis in commits.", "No emojis in answers."),
    ("Always run make lint before pushing.", "Never push without a green build."),
    ("Use TypeScript in packages/web.", "Use Go in services/."),
    ("Never use any.", "Never use default exports."),
    ("Use Kotlin for new files.", "Do not convert old Java files."),
    ("The API listens on 8443.", "Metrics are on 8080."),
    ("Feature branches start from main.", "Hotfix branches start from the latest tag."),
    ("Do not merge; the user merges.", "Rebase before opening a pull request."),
]


@pytest.mark.parametrize(("new", "old"), OPPOSED)
def test_the_other_choice_the_opposite_and_another_value_contradict(new: str, old: str):
    assert opposed(new, old)
    assert not same(new, old)


@pytest.mark.parametrize(("new", "old"), BESIDE)
def test_rules_of_different_subjects_stand_beside_each_other(new: str, old: str):
    assert not opposed(new, old)
    assert not opposed(old, new)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        ("Use pnpm, not npm.", "use pnpm here, not npm"),
        ("Never push to main.", "Never push directly to main."),
        ("Do not use mocks.", "Don't use mocks."),
    ],
)
def test_the_same_in_slightly_other_words_is_the_same(new: str, old: str):
    assert same(new, old)
    assert not opposed(new, old)


@given(st.text(max_size=80), st.text(max_size=80))
def test_nothing_is_both_the_same_and_the_opposite(new: str, old: str):
    assert not (same(new, old) and opposed(new, old))


# (new, old, how near their vectors are by the shipped model, what the new one is to the old one)
RELATED = [
    (
        "When you touch openapi.yaml, run the client generator again.",
        "Regenerate the client after changing openapi.yaml.",
        0.83, Relation.SAME,
    ),
    ("Timestamps are always stored as UTC.", "Store all timestamps in UTC.", 0.93, Relation.SAME),
    (
        "Secrets are kept in 1password and never in .env files.",
        "Secrets live in 1password, not in .env.",
        0.95, Relation.SAME,
    ),
    (
        "Never restart ngrok, the url has to stay the same.",
        "Do not restart ngrok as the url is stable.",
        0.98, Relation.SAME,
    ),
    ("Store all timestamps in local time.", "Store all timestamps in UTC.", 0.92, Relation.OPPOSED),
    ("Push straight to main.", "Never push to main.", 0.83, Relation.OPPOSED),
    ("Run migrations without asking.", "Always ask before running migrations.", 0.84, Relation.OPPOSED),
    ("Use absolute imports.", "Use relative imports.", 0.90, Relation.OPPOSED),
    ("Stop creating summaries after tasks.", "Create a summary after each task.", 0.72, Relation.OPPOSED),
    ("Do not push until I say so.", "Push after every commit.", 0.64, Relation.MAY_REPLACE),
    ("Never force-push.", "Never push to main.", 0.71, Relation.APART),
    ("Env vars are documented in .env.example.", "Load env vars from .env.local.", 0.75, Relation.APART),
    ("Keep commits small.", "Use conventional commits.", 0.73, Relation.APART),
]  # fmt: skip


@pytest.mark.parametrize(("new", "old", "near", "expected"), RELATED)
def test_vectors_find_what_words_alone_do_not(new: str, old: str, near: float, expected: Relation):
    assert relation(new, old, near) is expected


@pytest.mark.parametrize(("new", "old"), OPPOSED)
def test_without_vectors_words_decide(new: str, old: str):
    assert relation(new, old) is Relation.OPPOSED
