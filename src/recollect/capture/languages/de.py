"""German."""

from __future__ import annotations

from recollect.capture.language import NOTHING, Language, Signal, plain, words

GERMAN = Language(
    code="de",
    signals=(
        Signal("says it is to last", 3.0, words(r"ab (?:jetzt|sofort|heute)|von nun an|künftig|in zukunft|das gilt (?:immer|überall|ab)|nie wieder"), firm=True),
        Signal("what we do", 3.0, words(r"(?:wir|man) (?:nehmen|benutzen|verwenden|nutzen|schreiben|setzen|machen|arbeiten|deployen|testen|haben|sind|bleiben|mergen|rebasen|committen|pushen|benennen|halten|loggen|formatieren|bauen)(?: hier| immer| nie| nur| kein\w*)?|(?:nehmen|benutzen|verwenden|nutzen|schreiben|machen|mergen|rebasen) wir")),
        Signal("asks to remember it", 3.5, words(r"merk(?:e)? dir|behalte? (?:das |es |dir )?im (?:kopf|hinterkopf|gedächtnis)|denk (?:immer )?daran|vergiss nicht,? dass|zur (?:info|erinnerung)|für die zukunft"), firm=True),
        Signal("a name", 4.0, words(r"ich hei(?:ß|ss)e|mein name ist|nenn(?:e)? mich|sprich mich (?:bitte )?mit|du kannst mich \w+ nennen|duz mich|siez mich"), firm=True),
        Signal("always or never, as an order", 3.5, plain(r"^\W*(?:(?:bitte|und|aber|nein|ok|also|hey)\W+)*(?:nie(?:mals)?|immer|stets|ausschließlich)\b(?! (?:noch|mehr|wieder|wenn)\b)|^\W*(?:(?:bitte|und|aber|nein|ok|also)\W+)*(?:nutz|benutz|verwend|nimm|schreib|push|committ|mach|lass|leg|antwort|frag|teste?|deploy|merg|rebas|änder|lösch|fass|starte?|füg)\w*(?: \S+){0,4} (?:nie|niemals|immer|stets|ausschließlich)\b"), firm=True),
        Signal("every time", 2.0, words(r"jedes mal|überall|grundsätzlich|generell|prinzipiell|gilt für|für dieses projekt")),
        Signal("names the place where it holds", 1.5, words(r"(?:in|im|für) (?:diesem|dieses|unserem|unser|diesem ganzen|der ganzen|die ganze) (?:projekt|repo|repository|codebase|app|code|team)|hier|bei uns")),
        Signal("says how ours is", 2.0, words(r"unser\w* [\wäöüß./-]+(?: [\wäöüß./-]+)? (?:läuft|laufen|ist|sind|liegt|liegen|heißt|braucht|brauchen|kommt|kommen|steht)|(?:staging|produktion|prod|ci|datenbank) (?:läuft|liegt|ist|braucht)")),
        Signal("always or never", 2.0, words(r"immer|niemals|nie|ausschließlich|nur noch|stets")),
        Signal("what I prefer", 3.0, words(r"ich (?:bevorzuge|mag (?:es|keine?|lieber)|möchte (?:immer|nie)|will (?:immer|nie)|arbeite (?:auf|mit|unter))|mir ist lieber"), firm=True),
        Signal("stop doing it", 3.0, words(r"hör auf|lass das|du (?:machst|schreibst|benutzt|nimmst|vergisst) (?:schon wieder|ständig|immer|dauernd)"), firm=True),
        Signal("how I want to be spoken to", 1.5, words(r"(?:antworte|sprich|erklär\w*|schreib|rede)(?: mir| mit mir)?")),
        Signal("no, ", 1.0, plain(r"^\W*(?:nein|nee|nö|falsch|stopp|quatsch)\b")),
        Signal("one thing, not the other", 1.0, words(r"(?:nicht|kein|keine|keinen|statt|anstatt|anstelle von) [\w./@-]+")),
    ),
    vetoes={
        "a symptom": words(r"schlägt fehl|fehlschl\w+|fehler(?:meldung)?|funktioniert nicht|geht nicht|kaputt|stürzt\w*|lädt nicht|hängt|kommt (?:immer|nie|ständig)|bricht ab|passiert"),
        "a question": plain(r"\?\s*$|^\W*(?:warum|wieso|weshalb|wie|was|wer|welche\w*|wann|wo|kannst du (?:mir )?(?:erklären|sagen)|können wir|sollen wir|sollten wir|ist|sind|haben wir|gibt es)\b"),
        "an order for this once": words(r"diesmal|dieses mal|jetzt (?:noch )?nicht|noch nicht|vorerst|erstmal|erst mal|heute|morgen|vorübergehend|für diesen (?:pr|commit|fall)|in diesem (?:pr|commit|fall)|in dieser datei|nur hier|bis (?:montag|morgen|freitag)|ausnahmsweise|kurz|gerade|zunächst"),
        "not decided": words(r"vielleicht|was wäre|wäre|könnten|könnte|sollten wir|würde|hätten|angenommen|eventuell|überlege"),
        "an order to write it down somewhere": plain(r"\b(?:schreib|schreibe|füge|dokumentier\w*|ergänze|erstelle|übersetz\w*|fass)\b.{0,60}\b(?:readme|doku|dokumentation|changelog|wiki|claude\.md|datei|abschnitt|dass|zusammen|ins?)\b"),
        "somebody else's words": words(r"(?:der|die|mein|meine|unser|unsere) (?:kunde|kollege|kollegin|chef|chefin|reviewer|kunden|doku|nutzer) (?:sagt|meint|schreibt|will|möchte|wollen)|laut|angeblich"),
        "a requirement": plain(r"\b(?:der|die|das|dieser|diese|dieses) (?:button|knopf|funktion|methode|seite|dialog|menü|formular|benutzer|nutzer|liste|feld)\b.*\b(?:soll|muss|darf|sollte)"),
    },
    whole={"a text to work on": plain(r"^\W*(?:bitte )?(?:übersetz|fasse? zusammen|formulier|verbesser|korrigier|tu so)\w*\b")},
    correction=plain(r"^\W*(?:nein|nee|nö|falsch|stopp|quatsch)\b|\bhör auf\b|\bschon wieder\b|\bdu (?:hast|machst|schreibst|benutzt)\b|\bzum (?:zweiten|dritten) mal\b"),
    devops=words(r"staging|prod|produktion|ci|server|port|deploy\w*|branch(?:es)?|main|master|develop|datenbank|docker|kubernetes|cluster|jenkins|gitlab|ssh|merge\w*|push\w*|release\w*|rebase\w*|umgebung|vpn"),
    user=words(r"mir|ich|antworte\w*|erklär\w*|duz\w*|siez\w*|mit mir"),
    everywhere=words(r"in allen (?:meinen )?projekten|überall|egal in welchem projekt|in all meinen \w+"),
    project=words(r"hier|wir|unser\w*|projekt|repo|bei uns"),
    back=plain(r"^\W*(?:das gilt|gilt (?:für|immer)|immer|jedes mal|überall|merk dir das)\b"),
    lead=plain(r"^(?:[\s,.:;!-]|(?:nein|nee|nö|falsch|bitte|also|ok|hey|übrigens|ab jetzt|ab sofort|von nun an|künftig|in zukunft|für dieses projekt gilt|merk dir)(?=[\s,.:;!]|$))+"),
    tail=plain(r"(?:[\s,;:.!]|\b(?:bitte|danke)\b)+$"),
    asides=NOTHING,
    rewrites=(),
)  # fmt: skip
