"""Secrets of more than 120 kinds, said in nine languages through every way in, stand nowhere on the disk afterwards:
not in the database, its journal, the index file, backups, exports, logs, notes or rendered answers.

The secrets are drawn when the test runs (bench/secret_samples.py). `recollect bench secrets` tries thousands.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.scripted import Stage
from bench.secret_samples import TEMPLATES, Sample, draw
from recollect.base.errors import RecollectError
from recollect.model.result import Scope
from recollect.ops import memories, notes, recall, rules, transfer, upkeep
from tests.redact.samples import REDACTOR

# How people of nine languages hand one over; the sample brings what it stands in (`Authorization: token …`).
FRAMES = {
    "en": "remember this for the deploy: {} and never push it",
    "de": "merk dir das bitte für das Ausrollen: {} und gib es nie weiter",
    "fr": "retiens ceci pour le déploiement : {} et ne le partage jamais",
    "es": "recuerda esto para el despliegue: {} y no lo compartas nunca",
    "pt": "lembra disto para a publicação: {} e nunca compartilhe",
    "ru": "запомни это для выкладки: {} и никому не показывай",
    "zh": "记住这个，用于部署：{} 不要提交",
    "ja": "デプロイ用に覚えておいて： {} 共有しないで",
    "vi": "hãy nhớ điều này để triển khai: {} và đừng chia sẻ",
}
# Passwords have no shape: only the words around them give them away.
NAMED = {
    "en": ("the staging password is {}", "password: {}", "log in with password {}", "pw: {}"),
    "de": ("das Passwort ist {}", "Kennwort: {}", "das Passwort lautet „{}“"),
    "fr": (
        "le mot de passe est {}",
        "mot de passe : {}",
        "le mot de passe est « {} »",
        "le mdp du serveur c'est {}",
        "mdp: {}",
    ),
    "es": (
        "la contraseña es {}",
        "contraseña: {}",
        "entra con la contraseña {}",
        "la clave de acceso del servidor es {}",
    ),
    "pt": ("a senha é {}", "senha: {}", "entra com a senha {}"),
    "ru": ("пароль: {}", "Пароль {}", "пароль от базы — {}", "войди с паролем {}", "токен: {}"),
    "zh": ("密码是 {}", "密码：{}", "密码是“{}”"),
    "ja": ("パスワードは {} です", "パスワード：{}", "パスワードは「{}」"),
    "vi": ("mật khẩu là {}", "Mật khẩu: {}"),
    "ko": ("비밀번호: {}", "비밀번호는 {}", "스테이징 비번은 {}"),
    "nl": ("wachtwoord is {}", "wachtwoord: {}"),
    "pl": ("hasło: {}", "hasło to {}"),
    "it": ("la password è {}",),
    "sv": ("lösenord: {}",),
    "ar": ("كلمة المرور هي {}", "كلمة السر: {}"),
    "bg": ("парола: {}",),
    "cs": ("heslo: {}", "heslo je {}"),
    "da": ("adgangskode: {}", "adgangskoden er {}"),
    "el": ("κωδικός: {}", "ο κωδικός είναι {}"),
    "fa": ("رمز عبور: {}",),
    "fi": ("salasana: {}", "salasana on {}"),
    "he": ("הסיסמה היא {}", "סיסמה: {}"),
    "hi": ("पासवर्ड {} है", "पासवर्ड: {}"),
    "hu": ("jelszó: {}",),
    "id": ("kata sandi: {}", "kata sandi adalah {}"),
    "no": ("passord: {}", "passordet er {}"),
    "ro": ("parola este {}",),
    "th": ("รหัสผ่าน: {}", "รหัสผ่านคือ{}"),
    "tr": ("şifre: {}", "Şifre {}", "veritabanı parolası {}"),
}
# How people say that one was changed, or hand over a login.
CHANGED = (
    "the db password is now {}",
    "the new admin password will be {}",
    "das neue DB-Passwort heißt {}",
    "PW für die Staging-DB: {}",
    "Das WLAN-Passwort im Büro ist übrigens {}.",
    "Zugang zum Server: root / {}",
    "log in as admin, pw {}",
    "j'ai changé le mot de passe en {}",
    "le mot de passe sera {} dès lundi",
    "he cambiado la contraseña a {}",
    "la nueva contraseña del servidor será {}",
    "я сменил пароль на {}",
    "новый пароль от базы теперь {}",
    "пароль будет {}",
    "密码我改成了 {}",
    "密码已设为 {}",
    "Zugangsdaten: deploy / {}",
    "identifiants : deploy / {}",
    "credenciales: deploy / {}",
    "credenciais: deploy / {}",
)
# What speaks of passwords and is none.
ORDINARY = (
    "пароль нужно сменить в файле auth/reset.py",
    "a senha expira em 90 dias, veja src/Login.tsx",
    "mật khẩu hết hạn sau 90 ngày",
    "비밀번호를 잊었습니다",
    "hasło wygasło, zobacz login.py",
    "wachtwoord vergeten? zie reset.ts",
    "токен обновляется в refresh_token.ts",
    "the password field is required, and pw is its short name",
    "the password field has a max-length-128 attribute",
    "the password check now uses argon2id-v13",
    "he cambiado la contraseña a un campo varchar2",
    "la contraseña en config2.yaml no se usa",
    "la contraseña será validada en login2.component.ts",
    "c'est le mot de passe, j'ai mis en place page2.html",
    "пароль на staging2.example.com просрочен",
    "пароль теперь в auth/reset2.py",
    "密码改成了 bcrypt2 算法",
    "密码改为 8 位以上",
    "identifiants : voir docs/ids-2024.md / page2",
    "le mdp doit avoir 12 caractères, voir auth2/regles.py",
    "비번은 8자 이상, auth2.py 참고",
    "la clave de acceso caduca, ver auth2/expira.go",
    "pw is short for password in auth2/policy.ts",
    "recovery codes are shown once, see src/2fa/recovery.ts",
    "heslo je povinné pole, viz login.py",
    "salasana on vaihdettava 90 päivän välein",
    "passordet er utløpt, se reset.ts",
    "jelszó módosítása a reset.py fájlban",
    "kata sandi harus diganti tiap 90 hari",
    "şifre sıfırlama sayfası src/Reset.tsx",
    "รหัสผ่านหมดอายุใน 90 วัน",
    "ο κωδικός λήγει σε 90 ημέρες",
    "κωδικός σφάλματος 404 στο app.py",
    "कृपया पासवर्ड रीसेट करें auth/reset.py",
    "סיסמה נשכחה ראה reset.py",
    "كلمة المرور منتهية انظر reset.py",
)
PASSWORD = "Tr0ub4dor-{}xQ7z"
TOGETHER = 6  # in one text


def one_of_each_kind() -> list[Sample]:
    return [draw(kind, template, seed=7) for kind, template in dict(TEMPLATES).items()]


@pytest.mark.parametrize(
    "text",
    [*(text for texts in NAMED.values() for text in texts), *CHANGED],
    ids=lambda text: text[:20],
)
def test_a_password_that_its_words_give_away_is_taken_out(text: str):
    password = PASSWORD.format(3)

    assert password not in REDACTOR.clean(text.format(password)).text


@pytest.mark.parametrize("text", ORDINARY, ids=lambda text: text[:20])
def test_words_about_passwords_stay(text: str):
    assert REDACTOR.clean(text).text == text


def hand_over(stage: Stage, number: int, text: str) -> None:
    """By every way in: a prompt, a result, a reply, a command, a file's name; a rule, a pin, a note."""
    id = f"toolu_{number}"
    stage.play(
        f"secret-{number}",
        [
            ("user", {"type": "text", "text": f"from now on always use this. {text}"}),
            (
                "assistant",
                {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": text}},
            ),
            ("user", {"type": "tool_result", "tool_use_id": id, "content": text, "is_error": True}),
            ("assistant", {"type": "text", "text": f"The cause is that it says: {text}"}),
        ],
    )
    app = stage.own
    memories.pin(app, text)
    for way in (lambda: rules.add(app, text), lambda: notes.save(app, text)):
        try:
            way()
        except RecollectError:
            pass  # nothing is left of it, or it is too long for a title
    stage.hook("UserPromptSubmit", f"live-{number}", prompt=text, prompt_id=str(number))
    recall.recall(app, (text[:200],))


def all_bytes_below(folder: Path) -> Iterator[tuple[Path, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "transcripts" not in path.parts:  # those are the agent's own
            yield path, path.read_bytes()


def check_nowhere(folder: Path, secrets: list[str]) -> None:
    looked_at = 0
    for path, content in all_bytes_below(folder):
        looked_at += 1
        for secret in secrets:
            assert secret.encode() not in content, (path, secret)
            assert secret.encode("utf-16-le") not in content, (path, secret)
    assert looked_at > 5


@pytest.mark.parametrize("part", range(3))
def test_no_secret_stands_anywhere_on_the_disk(tmp_path: Path, part: int):
    samples = one_of_each_kind()
    assert len(samples) > 120
    frames = list(FRAMES.values())
    said = [
        (frames[number % len(frames)].format(sample.text), sample.secret)
        for number, sample in enumerate(samples)
    ]
    named = [*(text for texts in NAMED.values() for text in texts), *CHANGED]
    passwords = [PASSWORD.format(number) for number in range(len(named))]
    said += [
        (text.format(password), password) for text, password in zip(named, passwords, strict=True)
    ]
    said = said[part::3]

    with Stage(tmp_path) as stage:
        for start in range(0, len(said), TOGETHER):
            some = said[start : start + TOGETHER]
            hand_over(stage, start, "\n\n".join(text for text, _ in some))
        app = stage.own
        upkeep.reindex(app)
        for scope in Scope:
            if app.store_path(scope) is not None:
                for _step in app.writer(scope).build_index("none"):
                    pass
        upkeep.backup(app)
        transfer.export(app, str(tmp_path / "out.jsonl"))
        memories.undo(app)

    lines = [line for _, secret in said for line in secret.splitlines()]
    check_nowhere(tmp_path, [line for line in lines if len(line) > 7])


def test_the_look_finds_what_is_there(tmp_path: Path):
    """The check above can fail."""
    with Stage(tmp_path) as stage:
        hand_over(stage, 1, "the word is quokkazanzibar")

    with pytest.raises(AssertionError):
        check_nowhere(tmp_path, ["quokkazanzibar"])
