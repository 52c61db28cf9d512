"""French."""

from __future__ import annotations

from recollect.capture.language import NOTHING, Language, Signal, plain, words

FRENCH = Language(
    code="fr",
    signals=(
        Signal("says it is to last", 3.0, words(r"désormais|dorénavant|à partir de (?:maintenant|aujourd'hui)|à l'avenir|plus jamais|dans (?:toute l'app|tout le (?:projet|code|dépôt)|toutes? l\w*)|la (?:règle|convention) (?:ici )?(?:est|c'est)"), firm=True),
        Signal("what we do", 3.0, words(r"(?:on|nous) (?:n')?(?:(?!pourrions|devrions|avons|sommes|allons|voulons)\w+ons|utilise|utilisons|emploie|écrit|écrivons|met|mettons|fait|faisons|déploie|teste|travaille|préfère|garde|passe|nomme|est|évite|committe|merge|ne \w+|n'\w+)(?: pas| jamais| toujours)?")),
        Signal("asks to remember it", 3.5, words(r"retiens|souviens-toi|mémorise|note bien|pour info|garde (?:ça|cela|à l'esprit)|n'oublie pas que"), firm=True),
        Signal("a name", 4.0, words(r"je m'appelle|mon nom est|appelle-moi|tu peux m'appeler|tutoie-moi|vouvoie-moi"), firm=True),
        Signal("always or never, as an order", 3.5, plain(r"^\W*(?:(?:et|mais|non|ok|bon|stp|svp|aussi)\W+)*(?:ne |n')\S+(?: \S+)? (?:jamais|plus)\b|^\W*(?:(?:et|mais|non|ok|bon|stp|svp)\W+)*(?:toujours|jamais de|jamais d')\b|^\W*(?:(?:et|mais|stp|svp)\W+)*(?:utilise|écris|mets|fais|réponds|demande|lance|crée|teste|ajoute)(?: \S+){0,3} toujours\b"), firm=True),
        Signal("every time", 2.0, words(r"à chaque fois|partout|en général|de manière générale")),
        Signal("names the place where it holds", 1.5, words(r"ici|dans (?:ce|notre|cette|nos) (?:projet|dépôt|repo|code|base de code|appli|app|équipe)|chez nous")),
        Signal("says how ours is", 2.0, words(r"(?:notre|nos) [\w./-]+(?: [\w./-]+)? (?:est|sont|tourne|tournent|se trouve|vit|passe|utilise)|(?:la|le) (?:prod|production|staging|préprod|ci|base) (?:est|tourne|se trouve|utilise|passe)")),
        Signal("always or never", 2.0, words(r"toujours|jamais|uniquement|systématiquement")),
        Signal("what I prefer", 3.0, words(r"je (?:préfère|déteste|veux toujours|n'aime pas|ne veux jamais)|j'aime (?:mieux|que|quand)|j'aimerais que tu .* toujours"), firm=True),
        Signal("stop doing it", 3.0, words(r"arrête (?:de|d'|avec)\S*|tu (?:continues|n'arrêtes pas|mets encore|utilises encore|oublies toujours)|je t'ai (?:déjà )?dit"), firm=True),
        Signal("no, ", 1.0, plain(r"^\W*(?:non|nan|faux|stop|pas (?:de|du))\b")),
        Signal("one thing, not the other", 1.0, words(r"(?:pas|plutôt que|au lieu de|jamais) (?:de |du |d')?[\w./@-]+")),
    ),
    vetoes={
        "a symptom": words(r"échoue\w*|erreurs?|ne (?:marche|fonctionne|charge|s'affiche) (?:pas|plus|jamais)|plante|cassée?s?|bug"),
        "a question": plain(r"\?\s*$|^\W*(?:pourquoi|comment|quel\w*|qui|où|quand|est-ce|peux-tu (?:m'expliquer|me dire)|qu'est-ce|faut-il|doit-on|peut-on|on peut)\b"),
        "an order for this once": words(r"cette fois|pour cette fois|pour l'instant|pour le moment|pas encore|aujourd'hui|demain|temporairement|dans ce (?:fichier|commit|cas)|dans cette (?:pr|branche|fonction)|pour cette pr|jusqu'à|juste (?:ici|maintenant)|en attendant|d'abord"),
        "not decided": words(r"peut-être|et si|si on|on pourrait|je me demande|suppose\w*|imagin\w*|ce serait|serait-il"),
        "an order to write it down somewhere": plain(r"\b(?:écris|ajoute|mets|documente|crée|génère|traduis|résume|rédige)\b.{0,60}\b(?:readme|doc|docs|documentation|changelog|wiki|claude\.md|fichier|section|que)\b"),
        "somebody else's words": words(r"(?:le|la|les|mon|ma|notre|nos) (?:client|clients|collègue|chef|reviewer|doc|utilisateurs?) (?:dit|disent|veut|veulent|écrit|pense)|selon|d'après"),
        "a requirement": plain(r"\b(?:le|la|cette|ce) (?:bouton|fonction|méthode|page|menu|formulaire|champ|utilisateur|liste)\b.*\b(?:doit|devrait|ne doit)"),
    },
    whole={"a text to work on": plain(r"^\W*(?:traduis|résume|corrige|reformule|améliore|fais comme si)\b")},
    correction=plain(r"^\W*(?:non|nan|faux|stop)\b|\barrête (?:de|d')|\btu (?:continues|as (?:encore|mis|utilisé))\b|\bje t'ai\b"),
    devops=words(r"staging|prod|production|préprod|ci|serveur|port|déploi\w*|branche\w*|main|master|base de données|docker|kubernetes|jenkins|gitlab|ssh|merge\w*|push\w*|release\w*|vpn"),
    user=words(r"je|me|moi|tutoie\w*|réponds|explique\w*"),
    everywhere=words(r"dans tous mes (?:projets|dépôts)|partout|quel que soit le projet"),
    project=words(r"ici|on|nous|notre|nos|projet|dépôt|chez nous"),
    back=plain(r"^\W*(?:c'est valable|ça vaut|toujours|à chaque fois|partout|pareil pour)\b"),
    lead=plain(r"^(?:[\s,.:;!-]|(?:non|nan|faux|bon|ok|désormais|dorénavant|au fait|stp|svp|retiens que|souviens-toi que)(?=[\s,.:;!]|$))+"),
    tail=plain(r"(?:[\s,;:.!]|\b(?:stp|svp|merci|s'il te plaît)\b)+$"),
    asides=NOTHING,
    rewrites=(),
)  # fmt: skip
