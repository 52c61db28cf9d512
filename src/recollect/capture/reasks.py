"""Does a person say that what was just done did not do? Tables of openings, one a language; precision comes first.

Only how a prompt begins is looked at, and only what the person says himself: not code, logs or quotes. A question
about something else, a condition ("if it still fails") or a report of others' words is none.
"""

from __future__ import annotations

import re

from recollect.capture.mask import BLOT, masked

_LOOKED_AT_CHARS = 400
_SENTENCES = 2

_IT = r"(?:it|that|this|the (?:\w+ ){1,2})"
_THE = r"(?:that's|that is|that was|it's|it is|this is) "
_NOT = r"(?:didn't|did not|doesn't|does not|hasn't|has not)"
_BAD = r"(?:broken|failing|fails|not |the same|doesn't|does not|isn't|wrong|crash|errors?\b)"
_I_MEANT = r"what i (?:meant|asked|wanted|said|had in)"
_PLACE = r"(?:file|function|place|branch|folder|directory|test|line|method|class|component|page|one|repo|module|table)"
_DO = r"(?:fix|do|add|update|change|remove|run|rename|touch|finish|actually)"
TABLES: dict[str, tuple[str, ...]] = {
    "en": (
        rf"still (?:{_BAD}|no |getting|seeing|nothing)",
        rf"{_IT}(?:'s| is)? ?still {_BAD}",
        rf"{_IT} ?{_NOT} (?:work|help|fix|solve|change|do (?:it|anything|the))",
        rf"(?:{_THE})?not {_I_MEANT}",
        rf"(?:this|that) (?:isn't|wasn't) {_I_MEANT}",
        rf"(?:{_THE}|you (?:are in|changed|edited|touched) )?(?:the )?wrong {_PLACE}\b",
        r"you (?:still )?(?:forgot|missed|skipped|left out|overlooked|ignored|broke)\b",
        rf"you (?:still )?(?:haven't|have not|didn't|did not) {_DO}",
        r"(?:exactly )?(?:the )?same (?:error|problem|issue|thing|failure|result)\b",
        r"(?:now )?(?:it|that|this) (?:fails|crashes|breaks|failed|crashed|broke) again\b",
        r"(?:no luck|nope, (?:same|still)|not fixed|nothing changed|no change\b|not working\b)",
        r"(?:undo|revert|roll back) (?:that|this|it|your)\b",
        r"i (?:asked|meant|said) .{1,60}, not\b",
    ),
    "de": (
        r"(?:das|es) (?:geht|funktioniert|klappt|läuft|hilft) (?:immer noch|noch immer|leider|so)? ?nicht",
        r"(?:das|es) (?:hat|ist) .{0,20}nicht (?:funktioniert|geklappt|geholfen|behoben)",
        r"(?:das ist |es ist )?(?:immer noch|noch immer) (?:kaputt|falsch|nicht|dasselbe|derselbe|fehler)",
        r"(?:immer noch|noch immer) (?:der|das|die) gleiche",
        r"das (?:war|ist) nicht,? (?:das,? )?was ich (?:wollte|meinte|gemeint|gesagt|sagte)",
        r"(?:das ist |das war )?(?:die )?falsche (?:datei|stelle|funktion|klasse|zeile|branch|seite)",
        r"du hast .{0,60}(?:vergessen|übersehen|ausgelassen)",
    ),
    "es": (
        r"(?:eso |esto )?(?:sigue|todavía|aún) (?:sin funcionar|roto|fallando|igual|no funciona|está roto|dando)",
        r"(?:eso |esto )?no (?:funcionó|ha funcionado|sirvió|arregló|era lo que|es lo que)",
        r"(?:ese es |es )?(?:el )?(?:archivo|fichero|lugar) equivocado",
        r"(?:te )?(?:olvidaste|has olvidado|te has olvidado|faltó|te faltó)\b",
    ),
    "pt": (
        r"(?:isso |isto )?(?:continua|ainda) (?:sem funcionar|quebrado|falhando|igual|não funciona|dando erro)",
        r"(?:isso |isto )?não (?:funcionou|adiantou|resolveu|era o que|é o que eu)",
        r"(?:é o )?(?:arquivo|lugar) errado",
        r"você (?:esqueceu|deixou de)\b",
    ),
    "ru": (
        r"(?:это |оно )?(?:всё ещё|все еще|по-прежнему|опять|снова) (?:не работает|падает|сломано|ошибка|то же)",
        r"(?:это |оно )?не (?:помогло|сработало|исправило|то, что я)",
        r"не тот (?:файл|метод|класс)|не та (?:функция|ветка|папка)",
        r"ты (?:забыл|пропустил|не сделал|не исправил)",
    ),
    "vi": (
        r"(?:nó |cái này )?vẫn (?:không|chưa|bị|còn) (?:chạy|được|hoạt động|lỗi)?",
        r"không phải (?:cái|điều|thứ) (?:tôi|mình) (?:muốn|nói|cần)",
        r"(?:sai|nhầm) (?:file|tệp|chỗ|hàm|nhánh)",
        r"bạn (?:quên|bỏ sót|chưa)\b",
    ),
    "fr": (
        r"(?:ça|cela) ne (?:marche|fonctionne) (?:toujours|encore)? ?pas",
        r"(?:ça|cela) (?:marche|fonctionne) (?:toujours|encore) pas",
        r"(?:c'est )?(?:toujours|encore) (?:cassé|pareil|la même erreur|en erreur|faux|le même)",
        r"(?:ça|cela) n'a (?:pas|rien) (?:marché|fonctionné|aidé|changé|corrigé)",
        r"ce n'est pas ce que (?:je|j')",
        r"(?:c'est le |le )?mauvais (?:fichier|endroit|dossier)",
        r"(?:tu as|t'as|vous avez) (?:oublié|raté|sauté)\b",
    ),
    "ja": (
        r"まだ(?:壊れ|動か|動き|直っ|失敗|同じ|エラー|だめ|ダメ)",
        r"(?:それでは|それでも)?(?:動きません|動かない|直っていません|直ってない)",
        r"(?:そう|それ)(?:じゃ|では)な(?:い|くて)",
        r"(?:違う|間違った)ファイル",
        r".{0,30}(?:を|が)?忘れて(?:い)?(?:る|ます)",
    ),
    "zh": (
        r"还是(?:不行|报错|坏|一样|失败|不对|没|有问题)",
        r"(?:这|那)?(?:没用|没有用|没解决|没有解决|没修好|不起作用)",
        r"(?:这|那)?不是我(?:要|想|说|的意思)",
        r"(?:改)?错(?:了)?(?:文件|地方)|文件(?:错了|不对)",
        r"你(?:忘了|漏了|忘记)",
    ),
}  # fmt: skip

# Full-width marks are spelt out: they look like others.
_STOPS = ".!?\u3002\uff01\uff1f\n"
_LEADS = "no nope hmm hm ok okay but sorry unfortunately well ugh again hey nein leider aber pero non mais いや 不"
_LEAD = rf"(?:(?:{'|'.join(_LEADS.split())})[,.!:;\s\u2026\u3001\u3002\uff0c]+){{0,3}}"
_OPENS = re.compile("|".join(rf"{_LEAD}(?:{pattern})" for table in TABLES.values() for pattern in table), re.IGNORECASE)
_SENTENCE = re.compile(f"[^{_STOPS}]+[{_STOPS}]*")


def is_re_ask(prompt: str) -> bool:
    said = masked(prompt[:_LOOKED_AT_CHARS]).replace("\u2019", "'")
    sentences = [one.strip() for one in _SENTENCE.findall(said) if one.strip(f" {BLOT}\n")]
    return any(_says_so(one) for one in sentences[:_SENTENCES])


def _says_so(sentence: str) -> bool:
    return not sentence.rstrip().endswith(("?", "\uff1f")) and _OPENS.match(sentence) is not None
