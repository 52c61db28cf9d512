"""A fix that hides the failure is never a lesson."""

from __future__ import annotations

import pytest

from recollect.capture.hiding import hides, hides_end, switched_off


@pytest.mark.parametrize(
    ("failed", "fix"),
    [
        ("bun run lint", "git stash && bun run lint"),
        ("bun run lint", "git stash"),
        ("make test", "git checkout -- src && make test"),
        ("make test", "git reset --hard HEAD~1 && make test"),
        ("make test", "git restore . && make test"),
        ("git commit -m x", "git commit -m x --no-verify"),
        ("git commit -m x", "HUSKY=0 git commit -m x"),
        ("pre-commit run", "SKIP=mypy pre-commit run"),
        ("mvn package", "mvn package -DskipTests"),
        ("mvn package", "mvn -Dmaven.test.skip=true package"),
        ("gradle build", "gradle build -x test"),
        ("npx playwright test", "npx playwright test --skip-setup"),
        ("pytest", 'pytest -k "not slow"'),
        ("pytest", "pytest -m 'not integration'"),
        ("pytest", "pytest --deselect tests/a.py::test_b"),
        ("pytest", "pytest --ignore=tests/e2e"),
        ("pytest", "pytest --lf"),
        ("pytest", "pytest --reruns 3"),
        ("pytest", "pytest -p xfail"),
        ("pytest -x", "pytest"),
        ("pytest --strict-markers", "pytest"),
        ("pytest --cov-fail-under=90", "pytest --cov-fail-under=60"),
        ("go test ./...", "go test -run TestOne ./..."),
        ("go test -race ./...", "go test ./..."),
        ("jest", "jest -t cart"),
        ("jest", "jest --testPathPattern cart"),
        ("jest", "jest --passWithNoTests"),
        ("cargo clippy", "cargo clippy -- -A clippy::all"),
        ("cargo publish", "cargo publish --allow-dirty"),
        ("eslint src", "eslint src --rule 'no-var: off'"),
        ("eslint src", "eslint src --max-warnings 50"),
        ("eslint src --max-warnings 0", "eslint src"),
        ("ruff check .", "ruff check . --extend-ignore E501"),
        ("ruff check .", "ruff check . --exit-zero"),
        ("ruff check .", "ruff check . --exclude legacy"),
        ("tsc", "tsc --skipLibCheck"),
        ("npm audit", "npm audit --audit-level=critical"),
        ("npm test", "npm test || true"),
        ("npm test", "npm test || echo failed"),
        ("npm test", "npm test; true"),
        ("npm test", "set +e; npm test"),
        ("npm test", "npm test 2>/dev/null"),
        ("npm test", "npm test | head -5"),
        ("npm test", "npm test 2>&1 | tail -3"),
        ("npm test", "npm test | grep -v error"),
        ("npm test", "sleep 30 && npm test"),
        ("npm test", "timeout 60 npm test"),
        ("npm test", "TEST_TIMEOUT=60000 npm test"),
        ("npm test", "for i in 1 2 3; do npm test; done"),
        ("npm install", "npm install --force"),
        ("git push", "git push --force"),
        ("git push", "git push --force-with-lease"),
        ("git push", "git push -f"),
        ("git add dist", "git add -f dist"),
        ("pytest", "rm tests/test_cart.py && pytest"),
        ("pytest", "git rm tests/test_cart.py"),
        ("pytest", "mv tests/test_cart.py tests/test_cart.py.bak && pytest"),
        ("pytest", "truncate -s 0 tests/test_cart.py"),
        ("pytest", "> tests/test_cart.py"),
        ("make lint", "sed -i 's/$/ # noqa/' a.py && make lint"),
        ("make fmt && make lint", "make lint"),
        ("npm install", "NODE_TLS_REJECT_UNAUTHORIZED=0 npm install"),
        ("pip install x", "pip install --trusted-host pypi.org x"),
        ("./run.sh", "chmod 777 run.sh"),
        ("make -j4", "make -i -j4"),
    ],
)
def test_a_way_round_a_failure_is_known(failed: str, fix: str):
    assert hides(failed, fix)


@pytest.mark.parametrize(
    ("failed", "fix"),
    [
        ("npm test", "pnpm test"),
        ("pytest", "uv run pytest"),
        ("pytest", "PYTHONPATH=src pytest"),
        ("pytest", "conda run -n vision pytest"),
        ("pytest", "docker compose up -d db"),
        ("psql shop", "psql -p 5433 shop"),
        ("psql shop", "psql -h db.local shop"),
        ("alembic upgrade head", "alembic upgrade heads"),
        ("alembic upgrade head", "alembic merge heads"),
        ("npm ci", "npm ci --legacy-peer-deps"),
        ("cargo test", "cargo test --features postgres"),
        ("cargo build", "cargo +stable build"),
        ("go test ./...", "CGO_ENABLED=1 go test ./..."),
        ("docker build .", "docker build -f docker/Dockerfile.api ."),
        ("docker compose up -d", "docker compose up -d --force-recreate"),
        ("npm test", "cd web && npm test"),
        ("npm run dev", "PORT=3001 npm run dev"),
        ("git push", "git push -u origin feat/cart"),
        ("git push", "git pull --rebase"),
        ("kubectl get pods", "kubectl --context staging get pods"),
        ("pytest -k cart", "uv run pytest -k cart"),
        ("timeout 60 npm test", "timeout 60 pnpm test"),
        ("bundle exec rspec", "bundle install"),
        ("terraform plan", "terraform init"),
    ],
)
def test_an_honest_fix_is_none(failed: str, fix: str):
    assert hides(failed, fix) == ""


@pytest.mark.parametrize("line", ["npm test 2>/dev/null", "psql shop | grep x", "make | head -3", "make > /dev/null"])
def test_where_only_some_lines_are_looked_at_nothing_is_known(line: str):
    assert hides_end(line)
    assert not hides_end("psql shop 2>&1 | tail -20")


@pytest.mark.parametrize(
    "written",
    [
        "x = 1  # noqa: F401",
        "foo() // nolint:errcheck",
        "// eslint-disable-next-line no-var",
        "@pytest.mark.skip(reason='later')",
        "@pytest.mark.xfail",
        "it.skip('adds', () => {})",
        "x: int = y  # type: ignore",
        "// @ts-ignore",
        "#[allow(dead_code)]",
        't.Skip("later")',
    ],
)
def test_a_check_that_an_edit_switches_off_is_seen(written: str):
    assert switched_off("src/a", f"1\tfoo\n2\t{written}\n") == f"2\t{written}"


def test_the_settings_of_a_check_are_no_mending():
    assert [bool(switched_off(file, "")) for file in (".eslintignore", "web/.eslintrc.json", ".golangci.yml")] == [
        True
    ] * 3
    assert not switched_off("src/cart.ts", "return 1")
