"""By which words a sentence of a turn is known: a cause, an outcome, a choice, a question, talk. All languages in one
pattern: a message may mix them, and none of these words means another thing in another language."""

from __future__ import annotations

import re

STRONG_CAUSE = re.compile(
    r"\broot cause\b(?! fix)|^(?:issue|problem|cause|bug|reason|why)\b(?! fix)[^:.]{0,30}:\s|\b(?:was|were)(?:n't| not)? \w+ing\b[^.]{0,120}\binstead of\b|\bthe (?:actual |real |main |core |underlying )?(?:problem|issue|bug|cause|culprit|reason)\b"
    r"(?: here| is| was|[^.]{0,60}? (?:is|was|were) (?:that|because|caused|due|in)\b|:)|\bturn(?:s|ed) out\b"
    r"|\bthis (?:happens|happened|occurs|occurred|fails|failed|breaks|broke|means) (?:when|because|if|since|that)\b"
    r"|\b(?:was|were|is|are) caused by\b|\bthat's why\b|\bwhich is why\b|\bthe reason\b"
    r"|\b(?:fail(?:s|ed|ing)?|crash(?:es|ed)?|broke|breaks?|hangs?|missing|empty|wrong) because\b"
    r"|\b(?:Ursache|stellt sich heraus|liegt daran|das Problem (?:ist|war|liegt))\b"
    r"|\b(?:la causa|el problema (?:es|era|está|fue)|se debe a|resulta que|la razón)\b"
    r"|\b(?:la cause|le problème (?:est|était|vient)|il s'avère|la raison)\b"
    r"|\b(?:a causa|o problema (?:é|era|está)|acontece que|o motivo)\b"
    r"|причин|проблема (?:в|была|\u2014)"
    r"|оказалось"
    r"|原因|问题(?:是|在于|出在)|根因|問題(?:是|は)"
    r"|nguyên nhân|vấn đề (?:là|nằm)|lý do",
    re.IGNORECASE,
)
WEAK_CAUSE = re.compile(
    r"\bbecause\b|\bdue to\b|\bso that's\b|\bsince (?:the|it|we|they|there)\b|\bwhich (?:means|caused?|causes|makes|made)\b"
    r"|\b(?:didn't|doesn't|don't|wasn't|isn't|never|no longer|only) (?:\w+ ){0,3}(?:exist|set|support|handle|call|check|work|"
    r"match|match(?:es)?|updated?|passed|run|include[sd]?)\b|\b(?:was|is|are|were) (?:just |barely |silently |only )*(?:missing|stale|hardcoded|wrong|being|never|not|ignored|skipped|filtered out|overwritten|dropped|insufficient|too (?:short|long|small|low))\b"
    r"|\bI (?:found|confirmed|discovered|see now)\b|\bfound (?:it|the (?:issue|problem|bug|cause))\b"
    r"|\b(?:weil|wegen|denn|dadurch)\b|\b(?:porque|debido a|ya que)\b"
    r"|\b(?:parce que|à cause|en raison|car)\b|\b(?:devido a|por causa)\b|потому что|из-за|так как"
    r"|因为|由于|导致|因為|導致|ため|せいで|bởi vì|\bvì\b",
    re.IGNORECASE,
)
OUTCOME = re.compile(
    r"\b(?:now|fixed|added|removed|created|updated|implemented|renamed|moved|replaced|committed|pushed|merged|deployed|"
    r"published|completed?|successfully|resolved|works?|working|pass(?:es|ed|ing)?|green|deleted|refactored|cleaned|"
    r"installed|configured|enabled|disabled|changed|no longer|ready|done|built|verified|reverted|opened|closed|wrote|"
    r"I've|I have)\b"
    r"|\b(?:behoben|erstellt|hinzugefügt|geändert|entfernt|fertig|jetzt|läuft)\b"
    r"|\b(?:listo|creado|agregado|añadido|arreglado|corregido|actualizado|eliminado|ahora|funciona|quedó|hecho)\b"
    r"|\b(?:créé|ajouté|corrigé|supprimé|maintenant|fonctionne|terminé)\b"
    r"|\b(?:criado|adicionado|corrigido|removido|agora|pronto|feito)\b"
    r"|готов|исправл|добавл|удал|теперь|работает"
    r"|已|完成|修复|添加|现在|通过|しました|完了|đã|xong|hoàn thành",
    re.IGNORECASE,
)
# What an agent says while it works, and what it says when it has nothing more to say.
TALK = re.compile(
    r"^(?:(?:now|next|first|then|good|great|perfect|ok(?:ay)?|alright|right|so|and|excellent|done|sure|yes|hmm|wait)\b"
    r"[\s,.!:\u2014-]*)*(?:let me\b|let's\b|i'll\b|i will\b|i'm going to\b|i am going to\b|i need to\b|i should\b|i can see\b"
    r"|now i(?:'ll| need| will| can| have| understand)|i (?:now )?understand\b|looking at\b|checking\b|here(?:'s| is| are)\b"
    r"|let us\b|first,? i|time to\b|moving on|no response requested|sources?:|you're (?:absolutely )?(?:right|welcome)\b|you raise\b|that's a (?:good|great|valid|fair)\b|this is a (?:good|great)\b"
    r"|let me know|feel free|happy to|if you(?:'d| would)? (?:like|want|need)|want me to|would you like|shall i|should i"
    r"|ready (?:to|for|when)|anything else|great question|good (?:question|catch|point)|i see\b(?! (?:the|why|that))"
    r"|ich werde|lass mich|voy a|déjame|je vais|laisse|vou |deixa|сейчас |давай|让我|我来|我将|现在让|hãy|để tôi|tôi sẽ)",
    re.IGNORECASE,
)
NOD = re.compile(
    r"^(?:done|committed|pushed|fixed|perfect|great|all (?:done|set)|excellent|ok(?:ay)?|sure|yes|no|good|got it|"
    r"understood|success|complete[d]?|changes committed|listo|hecho|fertig|terminé|готово|完成|好的)[\s.!,:\u2728\u2705\U0001f389]*$",
    re.IGNORECASE,
)
ASKS = re.compile(
    r"[?\uff1f]\s*$|^(?:can|could|would|will) (?:you|we|u)\b|^(?:what|why|how|where|when|who|which|is|are|do|does|did)\b"
    r"[^.!]*[?\uff1f]",
    re.IGNORECASE,
)
CHOICE = re.compile(
    r"\b(?:let's|lets|instead|rather|prefer|don't|do not|doesn't work|never|always|must|should(?:n't)?|no need|not necessary|"
    r"keep|we (?:use|want|need|will|are|don't|won't)|i (?:want|like|prefer|would|do not|decided)"
    r"|i'd|it's (?:fine|ok|better)|make sure|fine with|go with|stick (?:to|with)|forget|skip|leave|use|"
    r"remember|from now on|for now|no,|nein|lieber|statt|soll(?:en|te)?|nicht|immer|nie|wir |no quiero|mejor|prefiero|"
    r"siempre|nunca|debe|en vez|quiero|on veut|plutôt|toujours|jamais|il faut|prefiro|sempre|deve)\b"
    r"|не надо|нужно|лучше|всегда|никогда|不要|必须|应该|总是|使用|ではなく|しないで|không|luôn|phải|nên",
    re.IGNORECASE,
)
ONLY_CHECKS = re.compile(
    r"^(?:all |the )?(?:\w+ )?(?:tests?|lint(?:ing)?|build|checks?|everything|typecheck)\b[^.]{0,60}\b(?:pass(?:es|ed|ing)?|clean|green|succeed\w*|works?)\b",
    re.IGNORECASE,
)
DONE = re.compile(
    r"^(?:now\b|i(?:'ve| have)?\b|i (?:switched|added|changed)|(?:also )?(?:added|updated|removed|changed|switched|replaced|renamed|moved|created|fixed|falls back|sets|returns|uses)\b)",
    re.IGNORECASE,
)
"""How a sentence begins that tells what was done, whatever it says of why."""
