"""By which words a phrase is known to lead up to a matter, to lean on another, or to name none."""

from __future__ import annotations

import re

# What people and agents say before they say what it is about.
LEAD = re.compile(
    r"^(?:(?:next (?:thing|up|task)|by the way|separate (?:task|thing|issue)|(?:a )?different (?:thing|topic|subject)|"
    r"another (?:one|thing|question)|one (?:more|last) (?:thing|question)|new (?:task|feature|topic)|(?:a )?quick (?:question|one)|"
    r"quick follow up question first|follow[- ]up|hi|hey|hello|hm+|ok|okay|so|now|and|but|or|also|well|yes|yeah|yep|nope|btw|fyi|please|"
    r"pls|unrelated|alright|thanks?(?: you)?|perfect|cool|nice|sorry|then|continue with|"
    r"right now|currently|at the moment|again|actually|my point is|thinking again|taking a step back|committed|done|all done|"
    r"found it|in theory|maybe|wait|ah|oh|lol|ideally|pretty sure|good catch|catch|going back|regarding|remember(?: that)?|i wonder(?: if| whether)?)\b[\s,:;.!\u2026\u2013\u2014-]*"
    r"|(?:no|good|great|right|first|next|question|still|bueno|vale|genial|perfecto|danke|super|хорошо|привет|спасибо|xin chào|chào)[,:;.!\u2026\u2013\u2014]+\s*"
    r"|(?:can|could|would|will|should|shall) (?:you|we|u|i)\b(?: please)?(?: (?:also|just|quickly|maybe|not|simply|then|now))*\s+"
    r"|(?:i|we)(?:'d| would) (?:like|rather|love)(?: (?:you|us) to| to)?\s+"
    r"|(?:i|we) (?:want|need|have)(?: you| us)?(?: to)?\s+|(?:i|we) should (?:also )?|you (?:should|need to|can|must)\s+"
    r"|(?:i|we)(?:'ve| have) (?:now |also |just |successfully |only )*|(?:i|we)(?:'m| am|'re| are) (?:getting|seeing|trying to|looking for|having (?:an? |some )?(?:problems?|issues?|trouble) with) |(?:i|we) (?:just |also |now )?(?=(?!tried|used|wondered|asked)\w+ed\b)"
    r"|(?:fix|fixe?d|solved?|resolved?|addressed|clean|do|done)(?: (?:this|it|that|these|up))* by (?=\w+ing\b)|create me (?=\S)"
    r"|(?:give|show|tell|get|send|write|dame|dime) (?:me|us) |(?:is|are|was|were) there (?:any|an?|some) (?:work done (?:to|on|for) )?|do we have (?:any|an?|some) "
    r"|(?:implement(?:ed)?|add(?:ed)?|build|built) (?:the|a|an|this) (?:\w+ )?(?:feature|option|ability|fix|support) (?:to |for |that )"
    r"|does it make sense to |if it makes sense to |it makes sense to |(?:let me know )?what (?:do )?you think (?:about|of) |found (?:and (?=fixed)|(?:the )?(?:issue|bug|problem)[,:]? )|let it "
    r"|(?:i think|i guess|i feel(?: like)?|i believe|i noticed|i've noticed|it seems|it looks like|looks like|seems like|let's|lets|let us|"
    r"let me|please|just|go ahead and|have a look at|take a look(?: at| in)?|look (?:at|into)|help me(?: to)?(?: understand)?|"
    r"is it possible to|do you know|any idea|can it be(?: that)?|could it be(?: that)?|make sure(?: that| to)?|try to|"
    r"the (?:root cause|(?:actual |real )?(?:problem|issue)|issue|bug|fix|reason|cause|error) (?:is|was|were)(?: that)?:?|"
    r"there (?:is|was) an? (?:bug|issue|problem) (?:that|where|with)|"
    r"here(?:'s| is) (?:the|a)|i got this feedback[^:,]*[:,]|check (?:if|that|whether)|explain (?:why|how|what|when)?)\s+"
    r"|(?:(?:me )?puedes|podrías|podemos|quiero(?: que)?|necesito(?: que)?|quisiera|además|también|entonces|luego|hay que|tenemos que|por favor|ahora|hola|ok|pero|y|he|hemos|se ha|ya)[\s,]+"
    r"|(?:peux-tu|tu peux|pouvez-vous|je (?:veux|voudrais)(?: que tu)?|j'aimerais|il faut|on doit|j'ai|s'il te plaît|bonjour|maintenant)[\s,]+"
    r"|(?:kannst du|könntest du|bitte|ich (?:möchte|will|habe)|wir (?:müssen|sollten|haben)|jetzt|hallo|mal)[\s,]+"
    r"|(?:você pode|pode|poderia|quero(?: que)?|preciso(?: que)?|agora|olá|oi|precisamos)[\s,]+"
    r"|(?:можешь|можете|ты можешь|не могли бы вы|пожалуйста|давай(?:те)?|нам?|мне|нужно|надо|хочу|я|мы|теперь|а|и|ещё|сделай так,? чтобы)[\s,]+"
    r"|(?:请|請|帮我|幫我|你?能不能|可以|我想要?|我们?需要|需要|现在|現在|麻烦|那么?|然后|好的?|嗯|我已经?|已经?)+[，,\s]*"
    r"|(?:hãy|bây giờ|giúp (?:tôi|mình)|bạn có thể|có thể|tôi (?:muốn|cần)|mình muốn|chúng ta cần|vui lòng|làm ơn|tôi đã|đã)[\s,]+)",
    re.IGNORECASE,
)
BREAK = re.compile(r"[;:.!?\n](?=\s|$)|[\u3002\uff0c\uff01\uff1f\uff1b]|\s(?:[\u2013\u2014\u2192-]+|[-=]>)\s")
"""Here a sentence ends or begins again."""
CLAUSE = re.compile(
    r",(?=\s)|\s(?:because|so that|so|since|although|while|but|"
    r"and then|and (?:now|also|it|we|i|the|you|that|there|is|are)|which|as|if|when|where|instead of|rather than|in order to|due to|"
    r"whenever|like|e\.g\.?|such as|unless|until|before|after|porque|cuando|pero|si|ya que|aunque|weil|wenn|damit|aber|dass|parce que|quand|mais|"
    r"mas|quando|pois|потому что|когда|если|но|чтобы|который|которая|которые|enquanto|mientras|während|пока|vì|khi|nhưng|nếu|để)\s",
    re.IGNORECASE,
)
NEXT_CLAUSE = re.compile(
    r",? (?:and then|but|so(?: that)?|because|pero|porque|aber|weil|mais|mas|но|потому что|nhưng|vì) |, ", re.IGNORECASE
)
TAIL = re.compile(
    r"(?:[\s,]+(?:or something|or so|any ideas?|what do you think|etc\.?|please|pls|right|thanks|though|too|as well|again|for me|if possible|if necessary|"
    r"if needed|for now|completed?|successfully|por favor|bitte|пожалуйста|吗|呢|吧|nhé|được không))+[\s?!.]*$",
    re.IGNORECASE,
)
"""What says nothing more at the end of a request."""
BEFORE_MAIN = re.compile(
    r"^(?:when|whenever|if|after|before|while|since|once|as|now that|cuando|si|wenn|falls|nachdem|quand|quando|se|когда|если|после|khi|nếu|sau khi)\b"
    r"[^,:]{3,80}[,:]\s+(?!(?:but|and|or|then|which)\b)",
    re.IGNORECASE,
)
LINKS = frozenset(
    "in on for with from when and by at into if where because via after before during using without between under over "
    "or but while & + instead inside across through against per "
    "para con en por sin como pero si cuando desde y o entre sobre pour avec dans et ou sans sur für mit und oder bei ohne "
    "auf im durch com sem em e quando no na в на для с из по при и или без через после từ trong cho với và hoặc bằng".split()
)
"""A headline may end before these."""
LOOSE_LINKS = frozenset(
    "that to of as which so than que de del dass von zu du des da do à của là để который что".split()
)
"""And here where it must."""
EDGE = frozenset(
    "shows uses includes creates adds allows contains provides a about after an and are as at be before but by can could did do does doesn't don't for from get gets had has "
    "have if in into is isn't its may my never not of off on once or our out over per should since so some than "
    "that the their then this to too under until up very was we were when where which will with would your i you he "
    "they there's it's also just only e.g via like again too first already if today currently well anymore both all each every any most many several few more new same i'd i'm i've we're let's lets can't we'd & + how why what who whose between among against through because while during within "
    "y el la los las un una unos de del en que a con para por lo su tu es al se cada exactamente le les des du et der "
    "die das ein eine und im mit o os um uma da do em no na e à au aux où von zu auf für den dem bei ohne wenn weil "
    "в на и с для по из к о от что чтобы как не при или а но у за это theo bằng từ enquanto mientras während пока của và cho với là để trong các những một khi".split()
)
LEANS = re.compile(
    r"^(?:when (?!is|are|do|does|did|was|were|will|should)|it|its|it's|this|that|that's|these|those|they|both|he|she|there|here|which|what (?:about|if|happens|would)|the same|everything|nothing|"
    r"option \d|number \d|\d+[.)]?|the (?:first|second|third|other|last|new|old) one|you|your|my|i|we|us|me)\b",
    re.IGNORECASE,
)
ASKING = re.compile(
    r"^(?:is|are|do|does|did|was|were|has|have|would|could|can|shouldn't|isn't|aren't|don't)\b", re.IGNORECASE
)
GENERIC = re.compile(
    r"^(?:(?:all )?(?:the )?tests?|(?:the )?(?:changes?|implementation|refactoring|build|lint(?:ing)?|work|branch|code|fix(?:es)?|summary|"
    r"plan|files?|docs|commit|update|task|output|codebase|code base))\s+(?:is|are|were|was|has|have|now|pass|all|successfully|complete|fixed)\b"
    r"|^(?:commit|push|merge|continue|proceed|go on|run|retry|re-?run|show me|give me|tell me|generate|review|recheck|double.?check|summari[sz]e|"
    r"update|check|explain|group|use the|try|get back|dame|sube|vamos|levanta|dime|ok)\b(?!.*(?:[`_]|\w[/.]\w))"
    r"|\b(?:option|opción|variante|вариант|approach|step|phase|task|item|number) (?:\d+|[a-d])\b$|^(?:the )?(?:working tree|background task|dev server|server|"
    r"app|agent|process|script|command|job|ci)\b(?: \w+)? (?:is|are|has|was|should|will|completed|finished|returned|started|fails?)\b"
    r"|^(?:fix|change|problem|issue|bug|answer|root cause|solution) (?:is|was|belongs|lies|lives|goes)\b|^(?:on|in) `?(?:main|master)`?\b"
    r"|^.{0,40}\b(?:is|are|está|están) (?:now |still |already |ya )?(?:starting|running|loading|ready|done|up|clean|live|green|corriendo|list[oa])\b"
    r"|^.{0,50} (?:passed|passes|pass)$|^(?:reply|describe|verified|pulled|pushed|let|ask|wait|press|click|fíjate|mira)\b|^(?:no|all|everything|nothing|starting|running|creating|spawning|proceeding)\b"
    r"|^(?:changes made|summary|what (?:i|was) (?:did|done|changed)|updated command|operation stopped|no response|ci (?:is|fails)|there (?:are|is)|an? (?:one-line|small|simple) (?:change|fix)|(?:the )?pr)\b",
    re.IGNORECASE,
)
POINTS = frozenset(
    "it this that them these those they here i you we us me my your esto eso este esta ese esa aquí lo tu das dies ceci cela ça "
    "isso isto это этот этого эту так này đó".split()
)
STARTS = frozenset(
    "in on at from for with by of to under into as like or because noticed normal since if while until whatever than "
    "there's then once pretty ideally not mostly neither either and but only given enough whenever doesn't don't didn't isn't wasn't can't won't si cuando wenn falls quand если когда "
    "khi nếu listo así".split()
)
"""What begins with one of these is the second half of something."""

FILLER = frozenset(
    "a an the now also just already currently simply actually automatically correctly properly silently successfully "
    "really basically completely entirely fully always definitely incorrectly probably directly explicitly immediately "
    "finally very please some only single existing various both own ahora también ya el la los las un una le les".split()
)
"""What a headline leaves out where it has no room."""
VAGUE = frozenset(
    "branch changes change feature feedback findings thing stuff places place issues option options way case cases "
    "summary plan step steps comment comments problem question task result results item items code codebase everything "
    "following contents note notes example examples full approach implementation time existing current".split()
)
"""Words that name nothing by themselves."""
VERBS = frozenset(
    "add adjust align allow apply avoid backfill block build bump bundle cache centralize change clarify clean clear "
    "close collapse combine commit compare compress configure connect consolidate convert copy correct create "
    "debug decouple deduplicate defer define delete deploy deprecate detect diagnose disable display document "
    "downgrade drop enable encrypt enforce ensure escape exclude expand explain expose extend extract filter fix "
    "flag flatten format generate group guard handle harden hide highlight hook ignore implement import improve include "
    "increase initialize inject inline insert install integrate introduce investigate keep limit link list load lock log "
    "lower make map mark merge migrate mock modify move normalize open optimize override parse pass patch persist pin "
    "polish port prevent preserve print protect prune publish push raise rearrange rebase rebuild reconnect record "
    "redesign redirect reduce refactor refine register reject release reload remove rename render reorder "
    "reorganize repair replace report reproduce require rerun reset resolve restore restrict restructure retry "
    "return reuse revert review rewrite rework rotate round run save scan select send separate serialize set ship show "
    "simplify skip sort speed split stop store streamline strip style support suppress switch sync test throttle "
    "tidy tighten track translate trim truncate tune unify update upgrade upload use validate warn wire wrap "
    "write".split()
)
REQUESTS = VERBS | frozenset(
    "agrega añade crea arregla corrige cambia elimina quita actualiza mueve implementa agregar crear arreglar corregir cambiar "
    "ajoute crée change supprime ajouter créer corriger changer füge erstelle ändere entferne behebe adicione crie corrija "
    "remova добавь добавить исправь исправить сделай сделать удали удалить обнови обновить перенеси создай создать убери "
    "замени thêm sửa xóa tạo đổi cập".split()
)
"""How a request begins that says what to do."""
_IRREGULAR = {
    "built": "build", "rebuilt": "rebuild", "hid": "hide", "kept": "keep", "made": "make", "ran": "run", "sent": "send",
    "shown": "show", "wrote": "write", "written": "write", "rewrote": "rewrite", "rewritten": "rewrite", "split": "split",
    "set": "set",
}  # fmt: skip


def _imperatives() -> dict[str, str]:
    found = dict(_IRREGULAR)
    for verb in VERBS:
        stem = verb.removesuffix("e")
        forms = [f"{verb}ed", f"{stem}ed", f"{verb}{verb[-1]}ed"]
        forms += [f"{verb[:-1]}ied"] if verb.endswith("y") else []
        found |= dict.fromkeys(forms, verb)
    return {form: verb.capitalize() for form, verb in found.items()}


TELLS = re.compile(r"(\w+?)(?:es|s) (?=(?:an?|the|all|each|any|this|its|how|whether)\b|[`\"])", re.IGNORECASE)
"""`Shows the name` of a list: what something does that was named above."""
IMPERATIVES = _imperatives()
"""`added`: `Add`."""
DONE_TO = re.compile(
    r"^(?:(?:the|an?|all) )?(?P<what>(?:[\w`'\"./()-]+ ){1,5}?)(?:(?:has|have) (?:now |also |just )?been|(?:is|are|was|were) now) "
    r"(?:now |also |successfully |fully )*(?P<verb>\w+ed|built|made|sent|written|rewritten)\b(?P<rest>[^\n]*)",
    re.IGNORECASE,
)
