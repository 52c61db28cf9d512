"""Prompts that name nothing to look for: greetings, thanks, nods, "go on", "commit this", a bare slash command.

One list of words per language and one rule: a text is small talk when every word of it is on the lists. Languages are
not told apart, so a word that means something in another language is left out of a list.
"""

from __future__ import annotations

import re

_MAX_CHARS = 400  # nobody nods for longer
_WORD = re.compile(r"[^\W\d_](?:[\w'’-]*\w)?")
_CLIENT_MARK = re.compile(r"\[(?:Image|Pasted text|Request interrupted)[^\]\n]*\]")
_SLASH_COMMAND = re.compile(r"^/[\w:.-]+(?=\s|$)")
_LONG_NUMBER = re.compile(r"\d{3,}")

_LISTS = (
    # English: nods and greetings, and the verbs that only say "do what we spoke of"
    "a again ahead all alright alrighty am an and any apply approved are as awesome back be both bye can change "
    "changes check cheers commit committed continue cool correct could day definitely do does done double evening "
    "everything exactly excellent explain fantastic fine finish first fix fixed for give go goes going good goodbye "
    "great guys ha haha hello help here hey hi hm hmm how i i'm idea implement is it it's its job just k keep kk "
    "let let's lets lgtm like lol look looks lot love make me moment morning much my never next nice night no nope "
    "not now of off oh ok okay okey on one only option options or part perfect phase please pls plz proceed push "
    "pushed quit really redo remember resume retry right rock roll run save second ship show so sorry sound sounds "
    "start step still stop super sure tell thank thanks that that's the them then there these third this thx to too "
    "totally try ty up us very wait was way we well what whatever where who why will with work worked works wow "
    "wrong y yeah yep yes yo you your yup",
    # German
    "abend ach alles also auch aus bis bitte bitteschön danke dankeschön dann das doch du ein einfach einverstanden "
    "er fertig für gehts genau gern gerne gleich grüß gut gute guten hallo hast ich ist ja jawohl jetzt jo klar "
    "klasse klingt los mach mache machen mal mir moin morgen nein noch nochmal nö okay passt perfekt prima richtig "
    "schön sehr servus sieht sind so stimmt super tag tschüss und versuch versuchs vielen von warte weiter "
    "weitermachen wie wir",
    # Spanish
    "adelante adiós ahora así bien buenas bueno buenos claro como continua continúa correcto continuar dale de días el "
    "entendido es eso esto está exacto excelente favor genial gracias hasta haz hazlo hecho hola la listo lo luego "
    "mañana me mucha muchas muy más noches nuevo ok otra para perfecta perfecto por puedes pues que qué seguimos si "
    "siga sigue sí tardes todo tú un una va vale vamos venga vez y ya",
    # French
    "aller allez allons alors au bien bon bonjour bonne bonsoir c'est ca ce cela continue continuer continuez coup "
    "d'accord daccord de encore entendu et exact exactement fais fait faites génial impeccable j'ai je journée la "
    "le là maintenant mais merci moi nickel non on ouais oui parfait pas peux plait plaît plus pour poursuis "
    "poursuivez revoir s'il salut stp super svp te toi très tu un une va vas vas-y voilà vous ça",
    # Portuguese
    "agora assim até bem boa bom certo com combinado continua continuar continue de dia e então está faz fazer faça "
    "feito isso legal manda muita muito noite não o obrigada obrigado oi olá para perfeito pode por pronto próximo "
    "segue siga sim tarda tarde tchau tudo tá um uma vai valeu vamos vez você é ótima ótimo",
    # Russian
    "будь вас вечер вот все всё да давай давайте дальше день до добро доброе добрый еще ещё здорово здравствуй "
    "здравствуйте и исправь как классно конечно круто ладно мне можно молодец надо нет ну ок окей отлично поехали "
    "пожалуйста пока понял понятно попробуй привет продолжаем продолжай продолжайте раз сделай сделайте спасибо спс "
    "стоп супер так тебе тебя то ты утро хорошо что это я ясно",
    # Vietnamese, by syllable
    "bạn cho chào chính chưa chạy chỉ cám có cảm cứ em giúp hay hoàn hãy hơn không khỏe luôn là làm lại lần lắm "
    "mình một nha nhiều nhé nhỉ nào này nè nữa oke quá rất rồi tao theo thành thì thôi thế thử tiếp tuyệt tôi tạm "
    "tốt tục và vâng vậy với vời xin xong xác ý đang đi đã đúng được đồng ơi ơn ạ ổn",
)
WORDS = frozenset(word for listed in _LISTS for word in listed.split())

# Chinese and Japanese are not written in words: phrases that together make up the whole text.
_PHRASES = re.compile(
    "(?:"
    "你好|您好|大家好|早上好|晚上好|早安|晚安|好的|好吧|好了|好啊|好|嗯|行|可以|没问题|沒問題|是的|是|对的|對的|对|對|不是|不用|不要|不|"
    "没有|沒有|继续吧|继续|繼續|接着|下一步|下一个|开始吧|开始|開始|谢谢你|谢谢|謝謝|多谢|辛苦了|辛苦|再见|再試一次|再试一次|再试试|"
    "再来一次|重试|试试|提交吧|提交|推送|执行|運行|运行|完成了|完成|做吧|去做吧|就这样|这样|這樣|完美|太好了|很好|非常好|不错|明白了|明白|"
    "知道了|了解|请|請|吧|了|啊|哦|呢|你|我|的|一下|"
    "こんにちは|こんばんは|おはようございます|おはよう|はい|いいえ|うん|ええ|ありがとうございます|ありがとうございました|ありがとう|"
    "どうも|お願いします|おねがいします|お願い|ください|続けて|つづけて|続行|進めて|次へ|次|もう一度|もう一回|やり直して|やって|"
    "大丈夫です|大丈夫|いいです|いいですね|いいね|いい|よし|オッケー|オーケー|了解しました|了解です|了解|わかりました|分かりました|"
    "わかった|完璧です|完璧|最高|素晴らしい|すごい|コミットして|コミット|プッシュして|プッシュ|実行して|実行|試して|です|ね|よ|して|"
    "네|예|아니요|감사합니다|고마워|계속|좋아요|좋아|안녕하세요|안녕"
    ")+"
)

_CHORES = frozenset(
    """about add added address addressed already another anything back before branch branches bring but by bump ci clean
    close comment comments create created current did diff docs doc draft fail failed failing failure
    failures fails feedback few file files format from get getting got grab had has have if in into issue issues last
    latest left lint linter main make master md merge merged message messages more need needs new open opened origin
    other our out over passing pass passes pipeline pr prs pull readme rebase recent remaining remote remove
    request requests rest review reviewer reviewers reviewed reviews same see set some something squash stage staged
    switch sync tag test tests testing todo todos typecheck uncommitted unstaged update updated upstream use version
    when which without working yet changelog changelogs entry entries line sentence short small brief bullet
    accordingly""".split()
)
"""Words of what is done in every project, whatever it is about."""


def names_nothing(text: str) -> bool:
    """Small talk, or a chore: commit this and update the changelog, open a pull request, fix the failing tests."""
    return _is_made_of(text, WORDS if "?" in text else WORDS | _CHORES)


def is_small_talk(text: str) -> bool:
    return _is_made_of(text, WORDS)


def _is_made_of(text: str, known: frozenset[str]) -> bool:
    """A number of one or two digits answers a question that was asked; a longer one may be an id."""
    said = _SLASH_COMMAND.sub("", _CLIENT_MARK.sub(" ", text[: _MAX_CHARS + 1]).strip())
    if len(text) > _MAX_CHARS or _LONG_NUMBER.search(said):
        return False
    words = _WORD.findall(said.casefold().replace("’", "'"))
    return all(word in known or _PHRASES.fullmatch(word) for word in words)
