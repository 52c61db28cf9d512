"""Spanish."""

from __future__ import annotations

from recollect.capture.language import NOTHING, Language, Signal, plain, words

SPANISH = Language(
    code="es",
    signals=(
        Signal("says it is to last", 3.0, words(r"a partir de (?:ahora|hoy)|de ahora en adelante|desde ahora|en adelante|nunca más|la (?:regla|convención|norma) (?:aquí )?es"), firm=True),
        Signal("what we do", 3.0, words(r"(?:nosotros )?(?:no |siempre |nunca |solo |sólo )*(?:usamos|utilizamos|escribimos|ponemos|hacemos|desplegamos|probamos|trabajamos|preferimos|guardamos|nombramos|evitamos|seguimos|mezclamos|versionamos|estamos en)|aquí (?:no )?se (?:usa|usan|escribe|escriben|trabaja|hace|despliega)")),
        Signal("asks to remember it", 3.5, words(r"recuerda(?: que|:| esto)|recuérdalo|memoriza\w*|toma nota|para que conste|no olvides que|guarda esto en (?:la |tu )?memoria"), firm=True),
        Signal("a name", 4.0, words(r"me llamo|mi nombre es|llámame|puedes llamarme|dirígete a mí|tutéame|háblame de (?:tú|usted)"), firm=True),
        Signal("always or never, as an order", 3.5, plain(r"^\W*(?:(?:y|pero|no|ok|bueno|por favor|además)\W+)*(?:nunca|jamás) (?:\w+[ae]s|\w+[aei]r)\b|^\W*(?:(?:y|pero|no|ok|bueno|por favor|además)\W+)*siempre (?:usa|utiliza|escribe|haz|pon|ejecuta|responde|pregunta|corre|crea|prueba|añade|sigue|deja|\w+[aei]r)\b|^\W*(?:(?:y|pero|por favor)\W+)*(?:no \w+[ae]s|usa|utiliza|escribe|haz|pon|ejecuta|responde|pregunta|corre|crea)(?: \S+){0,4} (?:nunca|jamás|siempre)\b"), firm=True),
        Signal("every time", 2.0, words(r"cada vez|en todas partes|por regla general|en general|en todos los \w+")),
        Signal("names the place where it holds", 1.5, words(r"aquí|en (?:este|nuestro|esta|nuestra|todo el|toda la) (?:proyecto|repo|repositorio|código|app|aplicación|equipo|base de código)")),
        Signal("says how ours is", 2.0, words(r"(?:nuestro|nuestra|nuestros|nuestras) [\w./-]+(?: [\w./-]+)? (?:es|son|está|están|corre|vive|usa|va|van)|(?:producción|staging|prod|el ci|la base de datos) (?:está|corre|es|usa|vive|necesita)")),
        Signal("how things of the trade are", 1.5, words(r"(?:los|las) (?:nombres|tests|pruebas|commits|ramas|tablas|migraciones|fechas|errores|mensajes|variables|archivos|componentes|precios|endpoints|secretos|logs)(?: de (?:las |los )?\w+)? (?:van|son|se|están|viven|deben|llevan|usan|no)")),
        Signal("always or never", 2.0, words(r"siempre|nunca|jamás|únicamente|solamente")),
        Signal("what I prefer", 3.0, words(r"(?:yo )?prefiero (?!(?:la|el|esa|ese|esta|este|que (?:el|la|se)|opción)\b)|odio (?:que|cuando)|no me gusta\w*|me gusta (?:que|cuando)|quiero que (?:siempre|nunca)"), firm=True),
        Signal("stop doing it", 3.0, words(r"deja de (?:usar|hacer|agregar|añadir|crear|escribir|poner|preguntar|disculparte|explicar|resumir)|para de (?:usar|hacer|agregar|crear)|sigues \w+ndo|ya te (?:dije|he dicho)"), firm=True),
        Signal("no, ", 1.0, plain(r"^\W*(?:no|así no|mal|incorrecto)\b[\s,.:!]")),
        Signal("one thing, not the other", 1.0, words(r"(?:y no|no|en vez de|en lugar de|nunca) [\w./@-]+$")),
    ),
    vetoes={
        "a symptom": words(r"falla\w*|fallando|error(?:es)?|no funciona\w*|se cae|se rompe|no carga|no aparece|roto|rota|bug"),
        "a question": plain(r"\?\s*$|^\W*(?:¿|por qué|cómo|qué|cuál\w*|quién|dónde|cuándo|puedes explicar|deberíamos|podemos|hay que)"),
        "an order for this once": words(r"esta vez|por esta vez|por ahora|de momento|todavía no|aún no|hoy|mañana|temporalmente|en este (?:archivo|pr|commit|caso)|en esta (?:rama|función|pr)|para este pr|hasta|solo aquí|mientras tanto|primero"),
        "not decided": words(r"quizás?|tal vez|y si|si usáramos|podríamos|me pregunto|supón\w*|imagina\w*|sería|a lo mejor"),
        "an order to write it down somewhere": plain(r"\b(?:escribe|añade|agrega|pon|documenta|crea|genera|traduce|resume|redacta)\b.{0,60}\b(?:readme|docs?|documentación|changelog|wiki|claude\.md|archivo|sección|que)\b"),
        "somebody else's words": words(r"(?:el|la|los|mi|nuestro|nuestros) (?:cliente|clientes|colega|jefe|revisor|usuarios?) (?:dice|dicen|quiere|quieren|escribió|piensa)|según"),
        "a requirement": plain(r"\b(?:el|la|este|esta) (?:botón|función|método|página|menú|formulario|campo|usuario|lista)\b.*\b(?:debe|debería|tiene que)"),
    },
    whole={"a text to work on": plain(r"^\W*(?:traduce|resume|corrige|mejora|reformula|haz como si)\b")},
    correction=plain(r"^\W*(?:no\b[\s,.:!]|así no|mal\b|incorrecto)|\bdeja de\b|\bsigues \w+ndo\b|\bya te (?:dije|he)\b|\botra vez\b"),
    devops=words(r"staging|prod|producción|ci|servidor|puerto|despl\w+|rama\w*|main|master|base de datos|docker|kubernetes|jenkins|gitlab|ssh|merge\w*|push\w*|release\w*|vpn"),
    user=words(r"yo|me|mí|prefiero|respóndeme|expliques?|tutéame"),
    everywhere=words(r"en todos mis (?:proyectos|repos|repositorios)|en todas partes|en cualquier proyecto"),
    project=words(r"aquí|usamos|nuestr\w+|proyecto|repo|repositorio"),
    back=plain(r"^\W*(?:lo mismo|vale para|siempre|cada vez|en todas partes)\b"),
    lead=plain(r"^(?:[\s,.:;!-]|(?:no|así no|mal|ok|bueno|oye|por cierto|a partir de ahora|de ahora en adelante|recuerda que|por favor)(?=[\s,.:;!]|$)(?=[,.:;!]|\s+[a-zé]+mos\b|\s))+"),
    tail=plain(r"(?:[\s,;:.!]|\b(?:por favor|gracias)\b)+$"),
    asides=NOTHING,
    rewrites=(),
)  # fmt: skip
