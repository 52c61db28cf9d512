"""By which words a phrase is known to lead up to a matter, to lean on another, or to name none."""

from __future__ import annotations

import re

# What people and agents say before they say what it is about.
LEAD = re.compile(
    r"^(?:(?:next (?:thing|up|task)|by the way|separate (?:task|thing|issue)|(?:a )?different (?:thing|topic|subject)|"
    r"another (?:one|thing|question)|one more (?:thing|question)|new (?:task|feature|topic)|(?:a )?quick (?:question|one)|"
    r"quick follow up question first|follow[- ]up|hi|hey|hello|hm+|ok|okay|so|now|and|but|also|well|yes|yeah|no|nope|right|btw|fyi|please|"
    r"pls|unrelated|alright|thanks?|great|perfect|good|cool|nice|sorry|first|next|question|then|continue with|still|"
    r"right now|currently|at the moment|again|actually|my point is|thinking again|taking a step back|committed|done|fixed|"
    r"found it|in theory|maybe|wait|ah|oh|lol|ideally|pretty sure|good catch|catch|going back|regarding|remember|i wonder(?: if)?)\b[\s,:;.!\u2026\u2013\u2014-]*"
    r"|(?:can|could|would|will|should|shall) (?:you|we|u|i)\b(?: please)?(?: (?:also|just|quickly|maybe|not|simply|then|now))*\s+"
    r"|(?:i|we)(?:'d| would) (?:like|rather|love)(?: (?:you|us) to| to)?\s+"
    r"|(?:i|we) (?:want|need|have)(?: you| us)?(?: to)?\s+|(?:i|we) should (?:also )?|you (?:should|need to|can|must)\s+"
    r"|(?:i(?:'ve| have)|we(?:'ve| have)) (?:now |also |just |successfully |only )*|i(?:'m| am) |(?:i|we) (?:just |also |now )?(?=(?:added|"
    r"fixed|removed|changed|updated|switched|increased|moved|created|implemented|replaced|renamed|noticed|found))"
    r"|(?:i think|i guess|i feel(?: like)?|i believe|i noticed|i've noticed|it seems|it looks like|looks like|seems like|let's|lets|let us|"
    r"let me|please|just|go ahead and|have a look at|take a look(?: at| in)?|look (?:at|into)|help me(?: to)?(?: understand)?|"
    r"is it possible to|do you know|any idea|can it be(?: that)?|could it be(?: that)?|make sure(?: that| to)?|try to|"
    r"the (?:root cause|actual problem|problem|issue|bug|fix|reason|cause|error) (?:is|was|were)(?: that)?:?|"
    r"there (?:is|was) an? (?:bug|issue|problem) (?:that|where|with)|"
    r"here(?:'s| is) (?:the|a)|i got this feedback[^:,]*[:,]|check (?:if|that|whether)|explain (?:why|how|what|when)?)\s+"
    r"|(?:puedes|podrías|podemos|quiero(?: que)?|necesito(?: que)?|por favor|ahora|hola|ok,?|pero|y)\s+"
    r"|(?:peux-tu|pouvez-vous|je veux|j'aimerais|s'il te plaît|bonjour|maintenant)\s+"
    r"|(?:kannst du|könntest du|bitte|ich möchte|wir müssen|jetzt|hallo)\s+|(?:você pode|pode|quero|preciso|agora)\s+"
    r"|(?:можешь|пожалуйста|давай|нужно|надо|теперь|сделай так,? чтобы)\s+|(?:请|帮我|现在|麻烦)+|(?:hãy|bây giờ|giúp tôi)\s+)",
    re.IGNORECASE,
)
CLAUSE = re.compile(
    r"[,;:.!?\n(\u3002\uff0c\uff01\uff1f]\s?|\s[\u2013\u2014\u2192-]+\s|\s(?:because|so that|so|since|although|while|but|and then|which|as|if|when|where|"
    r"instead of|rather than|in order to|whenever|like|e\.g)\s",
    re.IGNORECASE,
)
BEFORE_MAIN = re.compile(r"^(?:when|if|after|before|while|since|once|as)\b[^,:]{3,80}[,:]\s+", re.IGNORECASE)
LINKS = frozenset(
    "in on for with from when that and to of by at into as if where so because which via after before during using "
    "without between under over or but while & + instead "
    "para con en de del que y o por sin como pero si cuando desde pour avec dans du des et ou sans für mit von und oder "
    "dass bei com sem da do em quando".split()
)
EDGE = frozenset(
    "a about after an and are as at be before but by can could did do does doesn't don't for from get gets had has "
    "have if in into is isn't it its may my never not of off on once or our out over per should since so some than "
    "that the their then this to too under until up very was we were when where which will with would your i you he "
    "they there's it's also just only e.g via like again too first already if today currently well anymore i'd i'm i've we're let's lets can't we'd us & + how add "
    "y el la los las un una unos de del en que a con para por lo su tu es al se cada exactamente le les des du et der "
    "die das ein eine und im mit o os um uma da do em".split()
)
LEANS = re.compile(
    r"^(?:it|its|it's|this|that|that's|these|those|they|both|he|she|there|here|which|what (?:about|if|happens|would)|the same|everything|nothing|"
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
    r"update|check|explain|group|use the|try|get back|dame|sube|vamos|levanta|dime|ok)\b(?!.*[`_/.])"
    r"|^(?:changes made|summary|what (?:i|was) (?:did|done|changed)|updated command|operation stopped|no response|ci (?:is|fails)|there (?:are|is)|an? (?:one-line|small|simple) (?:change|fix)|(?:the )?pr)\b",
    re.IGNORECASE,
)
POINTS = frozenset("it this that them these those they here i you we us".split())
STARTS = frozenset(
    "in on at from for with by of to under into as like or because noticed normal since if while until whatever than "
    "there's then once pretty ideally".split()
)
"""What begins with one of these is the second half of something."""
