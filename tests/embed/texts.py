"""Texts in many scripts and shapes: what the golden files are made from, and what the tests ask."""

from __future__ import annotations

from tests.naughty import NAUGHTY

SENTENCES = (
    "The daemon binds first and answers with words alone until its vectors are loaded.",
    "Why does the hook time out on Windows?",
    "def recall(query: Query, *, now: Moment) -> tuple[Hit, ...]:\n    return rank(fuse(lexical, dense))",
    "ERROR sqlite3.OperationalError: database is locked (SQLITE_BUSY) at store/connect.py:142",
    "getUserById snake_case_name SCREAMING_CASE kebab-case-name dotted.path.to.module",
    "SELECT id, title FROM memory WHERE status = 'active' ORDER BY weight DESC LIMIT 5;",
    "curl -fsSL https://example.com/a/b?c=d&e=%20f#frag | sh -s -- --yes",
    "git rebase -i HEAD~3 && git push --force-with-lease origin feature/PROJ-1234_fix",
    '{"key": [1, 2.5, -3e10, null, true], "nested": {"a": "b"}}',
    "<div class=\"x\">&nbsp;text</div> <!-- comment --> $HOME ${VAR} `cmd` C:\\Users\\me\\file.txt",
    "We decided on PostgreSQL 16.2 over MySQL because of row-level security; see ADR-0042.",
    "Don't use O(n^2) loops: 1,000,000 rows took 3.5s (10x slower) -- it's e.g. 99.9% of the cost...",
    "Deploys happen on Tuesdays & Thursdays at 14:30 UTC+2, never on Fridays!!!",
    "Zürich, Ångström, naïve café, El Niño, São Paulo, Łódź, İstanbul, straße, œuvre, ﬁnance",
    "Voilà l’été : « où êtes-vous ? », demanda-t-elle à François.",
    "Die Größe der Übertragung beträgt höchstens 64 KiB – nicht mehr.",
    "¿Cómo se configura el servidor? ¡Mañana será otro día!",
    "Příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Zażółć gęślą jaźń. Pchnąć w tę łódź jeża.",
    "Hôm nay trời đẹp quá, chúng ta đi dạo nhé? Tiếng Việt có nhiều dấu thanh.",
    "Türkçe: IĞDIR ılık ŞİİR çok güzel.",
    "Árvíztűrő tükörfúrógép. Ünnepek után újra.",
    "Съешь же ещё этих мягких французских булок, да выпей чаю.",
    "Чому не працює збірка? Їжак і ґанок.",
    "Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. ΟΔΥΣΣΕΥΣ ὁ Ἀχιλλεὺς ἄειδε, θεά",
    "דג סקרן שט בים מאוכזב ולפתע מצא חברה. שָׁלוֹם עֲלֵיכֶם",
    "نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر. اَلسَّلَامُ عَلَيْكُمْ",
    "هر روز کتاب‌های تازه می‌خوانم.",
    "यह एक परीक्षण वाक्य है। ज्ञानं परमं बलम्॥ क्षत्रिय",
    "আমার সোনার বাংলা, আমি তোমায় ভালোবাসি।",
    "தமிழ் மொழி மிகவும் பழமையானது.",
    "ภาษาไทยไม่มีการเว้นวรรคระหว่างคำ กำลังทดสอบ",
    "ພາສາລາວ ແລະ ភាសាខ្មែរ និង မြန်မာဘာသာ",
    "我们决定使用数据库来保存记忆。版本3.2已发布!",
    "我們在臺灣測試繁體中文,效能如何?",
    "日本語のテストです。カタカナとひらがな、漢字。データベースがロックされた。ガギグゲゴ ｶﾞｷﾞ",
    "한국어 문장을 시험합니다. 데이터베이스 연결이 끊어졌습니다.",
    "ქართული ენა და Հայերեն լեզու",
    "አማርኛ ቋንቋ ፈተና። ᏣᎳᎩ ᐃᓄᒃᑎᑐᑦ",
    "ﷺ ﷽ ℵ ℝ ℂ ∀x∈S: x² ≤ Σᵢ aᵢ ≠ ∅ ⇒ ∞ ≮ ≯ √2 ½ ¼ ① Ⅳ ⅷ",
    "Ｆｕｌｌｗｉｄｔｈ　ＡＢＣ１２３！？ ｈａｌｆ",
    "𝕄𝕒𝕥𝕙 𝓈𝒸𝓇𝒾𝓅𝓉 𝟘𝟙𝟚 🄰🄱🄲 ⓐⓑⓒ",
    "emoji 😀👍🏽👩‍👩‍👧‍👦🇩🇪❤️ done ✅ 🚀 ship it",
    "e\u0301 \u00e9 a\u030a\u0323 \u1e9b\u0323 \u0301alone q\u0307\u0323 \u1100\u1161\u11a8",
    "[CLS] user text [SEP] with [MASK] and [PAD] and [UNK] and [sep] and [[SEP]] ##ing ## [unused5]",
    "a[SEP]b x[MASK]y [CLS][CLS] [ SEP ] [SEP",
    "tab\there nul\x00byte bell\x07 esc\x1b[31m del\x7f nel\x85 nbsp\xa0 zwsp\u200bzwj\u200d bom\ufeff",
    "line\u2028separator replacement\ufffd",
    "\x1c\x1d\x1e\x1fseparators\x0b\x0cand feeds\r\nlines\rcarriage",
    "private\ue000use \U000f0000 unassigned\u0378 \U000e0001tag nonchar\ufffe",
    "supercalifragilisticexpialidocious antidisestablishmentarianism " + "pneumono" * 4,
    "x" * 99 + " " + "x" * 100 + " " + "x" * 101 + " " + "ab" * 300,
    "é" * 100 + " " + "é" * 101 + " " + "가" * 33 + " " + "가" * 34 + " " + "각" * 34,
    "zqxjkvbwpfzqxjkvbwpf qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq",
    "0123456789 3.14159265358979 0xDEADBEEF 1e-12 192.168.0.1 ::1 2026-11-15T10:00:00Z",
    "a5f3c9d2e8b14f7a9c0d1e2f3a4b5c6d7e8f9012 sha256:53aa5117 550e8400-e29b-41d4-a716-446655440000",
    "long " * 400,
    "word, " * 300,
    "漢" * 400,
    "..." * 200,
    "",
    " ",
)  # fmt: skip

# One of every few characters of each plane, between letters and alone: where a table would go wrong.
SWEEP = tuple(
    " ".join(f"a{chr(code)}b {chr(code)}" for code in range(first, first + 1024, 17) if not 0xD800 <= code < 0xE000)
    for first in (*range(0x0000, 0x3400, 1024), 0x4C00, 0x9C00, 0xA000, 0xA400, 0xA800, 0xAC00, 0xD400, 0xD800, 0xE000,
                  0xF800, 0xFC00, 0x10000, 0x10800, 0x10C00, 0x10D00, 0x10F00, 0x11000, 0x11400, 0x11800, 0x11A00,
                  0x11C00, 0x12000, 0x13400, 0x16E00, 0x16F00, 0x1CF00, 0x1D000, 0x1D400, 0x1E000, 0x1E800, 0x1F000,
                  0x1F400, 0x20000, 0x2B800, 0x2CC00, 0x2F800, 0x30000, 0xE0000, 0xF0000, 0x100000)
)  # fmt: skip

TEXTS = tuple(dict.fromkeys((*SENTENCES, *SWEEP, *(text for text in NAUGHTY if len(text) < 2_000))))


def askable(text: str) -> str:
    """The reference refuses lone surrogates; we take them for U+FFFD."""
    return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
