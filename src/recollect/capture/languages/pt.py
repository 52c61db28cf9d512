"""Portuguese."""

from __future__ import annotations

from recollect.capture.language import NOTHING, Language, Signal, plain, words

_LEAD = r"^\W*(?:(?:e|mas|não|ok|bom|por favor|também|aliás|ah)\W+)*"

PORTUGUESE = Language(
    code="pt",
    signals=(
        Signal("says it is to last", 3.5, words(r"a partir de (?:agora|hoje)|de agora em diante|daqui (?:pra|para a|para) frente|daqui em diante|doravante|nunca mais|(?:a|nossa) (?:regra|convenção) (?:aqui )?é"), firm=True),
        Signal("asks to remember it", 3.5, words(r"lembr[ea](?:-se)?(?: de)? que|lembr[ea] disso|memoriz[ea]\w*|guard[ea] (?:isso|isto)|anot[ea] aí|não (?:se )?esqueç?[ae] (?:de )?que"), firm=True),
        Signal("a name", 4.0, words(r"me cham[ea] de|pode me chamar de|meu nome é|(?:eu )?me chamo"), firm=True),
        Signal("always or never, as an order", 3.5, plain(_LEAD + r"(?:nunca|jamais) (?:\w+(?:a|e|ar|er|ir))\b|" + _LEAD + r"sempre (?:use|usa|escrev[ea]|faça|faz|rode|roda|respond[ea]|pergunt[ea]|cri[ea]|test[ea]|coloqu?[ea]|\w+(?:ar|er|ir))\b|" + _LEAD + r"(?:use|escreva|faça|rode|responda|pergunte|crie)(?: \S+){0,4} sempre\b"), firm=True),
        Signal("what we do", 2.5, words(r"(?:a gente|nós|aqui) (?:não |sempre |nunca |só )*(?:usa|usamos|escreve|escrevemos|faz|fazemos|segue|seguimos|sobe|prefere|preferimos|trabalha|mantém)|usamos|se usa")),
        Signal("names the place where it holds", 1.5, words(r"aqui|n(?:este|esse|o nosso|esta|essa) (?:projeto|repo|repositório|código|app|time)")),
        Signal("what I prefer", 3.0, words(r"(?:eu )?prefiro (?!(?:a|o|essa|esse|esta|este|que)\b)|não gosto de|odeio|quero que você (?:sempre|nunca)"), firm=True),
        Signal("stop doing it", 3.5, words(r"par[ea] de (?:usar|fazer|adicionar|criar|escrever|colocar|perguntar|explicar|resumir)"), firm=True),
        Signal("in which language to speak", 3.5, words(r"(?:respond[ea]|fal[ea]|escrev[ea])(?: comigo| para mim| pra mim)?(?: sempre)? em \w+"), firm=True),
        Signal("no, ", 1.0, plain(r"^\W*não\b[\s,.:!]")),
        Signal("one thing, not the other", 1.5, words(r"(?:e não|não|em vez de|ao invés de|nunca) [\w./@-]+$")),
    ),
    vetoes={
        "a symptom": words(r"erros?|falha\w*|não (?:funciona|carrega|aparece)|quebr\w+|travou|bug"),
        "a question": plain(r"\?\s*$|^\W*(?:por que|porque|como|qual|quais|quem|onde|quando|o que|devemos|podemos|pode explicar)\b"),
        "an order for this once": words(r"desta vez|dessa vez|por enquanto|por ora|agora não|ainda não|hoje|amanhã|temporariamente|n(?:este|esse) (?:arquivo|pr|commit|caso)|até|primeiro"),
        "not decided": words(r"talvez|e se|poderíamos|será que|suponha|imagine|seria"),
        "an order to write it down somewhere": plain(r"\b(?:escreva|adicione|coloque|documente|crie|traduza|resuma)\b.{0,60}\b(?:readme|docs?|documentação|changelog|wiki|claude\.md|arquivo|seção)\b"),
        "somebody else's words": words(r"(?:o|a|os|meu|nosso) (?:cliente|clientes|colega|chefe|revisor|usuários?) (?:diz|disse|quer|querem|pediu)|segundo"),
        "a requirement": plain(r"\b(?:o|a|este|esta) (?:botão|função|método|página|menu|formulário|campo|usuário|lista)\b.*\b(?:deve|deveria|tem que|precisa)"),
    },
    whole={"a text to work on": plain(r"^\W*(?:traduza|resuma|corrija|melhore|reformule|finja)\b")},
    correction=plain(r"^\W*não\b[\s,.:!]|\bpare de\b|\bde novo\b|\bjá (?:te )?(?:disse|falei)\b"),
    devops=words(r"staging|prod|produção|ci|servidor|porta|deploy\w*|branch\w*|main|master|banco de dados|docker|kubernetes|gitlab|ssh|merge\w*|push\w*|release\w*|vpn"),
    user=words(r"eu|me|mim|comigo|prefiro|responda|explique"),
    everywhere=words(r"em todos os meus (?:projetos|repos)|em qualquer projeto|em todo lugar"),
    project=words(r"aqui|usamos|noss\w+|projeto|repo|repositório|a gente"),
    back=plain(r"^\W*(?:lembre disso|vale para tudo|sempre|toda vez)\W*$"),
    lead=plain(r"^(?:[\s,.:;!-]|(?:ok|bom|aliás|por favor|ah)(?=[\s,.:;!]|$)|não(?=[,.:;!]))+"),
    tail=plain(r"(?:[\s,;:.!]|\b(?:por favor|obrigad[oa])\b)+$"),
    asides=NOTHING,
    rewrites=(),
)  # fmt: skip
