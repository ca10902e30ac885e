"""How people word what they settle, in the ten languages of `wordings.py`. What is not matched is
searched for as before; what is matched has to name a value beside it, or is quoted as it stands."""

import re

# What was decided, whether it names a value or not; and what only counts with one.
DECIDED = re.compile(
    r"""
    \b(?:decided|decision\ is|decision:|agreed\ (?:on|to|that)|settled\ (?:on|for)
      |(?:go|went|going|stick|sticking)\ with|opted\ for|finali[sz]ed
      |(?:we|i)\ (?:chose|picked|selected))\b
    | \b(?:entschieden|beschlossen|festgelegt|geeinigt|Entscheidung:|(?:wir|ich)\ bleiben?\ bei
      |(?:habe|haben)\b.{1,60}\b(?:gewählt|ausgesucht))
    | \b(?:decidi(?:mos|do|ó)|decidí|decisión:|(?:nos|me)\ (?:quedamos|quedo)\ con|acord(?:amos|ado)
      |optamos|elegi(?:mos|do)|elegí)
    | \b(?:decidi|decisão:|ficamos\ com|combin(?:ado|amos)|optamos|escolh(?:emos|ido|i)\b)
    | \b(?:décidé|décision\ ?:|on\ (?:part|reste)\ sur|convenu|opté|choisi)
    | \b(?:реши(?:л|ли|ла)\b|решено|договорил|выбра(?:л|н)|остановил\w+\ на\b)
    | 决定|決定|定为|定為|选定|選定|敲定|商定|说好|說好
    | 決め(?:た|まし)|ことにし(?:た|まし)|採用し
    | तय\ (?:किया|हुआ|हो)|(?:फ़ैसला|फैसला|निर्णय)(?:\ किया|\ लिया|:)|चुना
    | قررنا|قررت|القرار|اتفقنا|اخترنا|اخترت|اعتمدنا
    """,
    re.I | re.X,
)
CHOSEN = re.compile(
    r"""
    \b(?:let['’]?s\ (?:use|take|keep|make|call|set)|(?:we|i)(?:['’]ll|\ will)?\ (?:use|take
      |choose|pick|keep))\b
    | \b(?:(?:wir|ich)\ (?:nehmen?|verwenden?|benutzen?|wählen?)|nehmen\ wir)\b
    | \b(?:(?:usamos|usaremos|tomamos|ponemos)|vamos\ con)\b | \b(?:vamos\ (?:usar|com)|usaremos)\b
    | \b(?:(?:nous|on)\ (?:prenons|gardons|prend|garde|utilise|utilisons))\b
    | \b(?:бер[её]м|возьм[её]м|используем|оставляем)\b
    | 就用|采用|採用|にします|にしましょう | रखें?गे|रखते\ हैं | سنستخدم|نستخدم|سنعتمد
    """,
    re.I | re.X,
)
# What links a value to what it is the value of.
LINKED = re.compile(
    r"""
    [:：=] | \b(?:is|are|equals?)\b|(?<!here)(?<!that)(?<!let)['’]s\b
    | \b(?:ist|sind|gilt|lautet|beträgt|heißt|liegt\ bei)\b
    | \b(?:es|son|está|queda|vale)\b | \b(?:é|são|fica)\b | \b(?:est|sont|s['’]appelle)\b
    | [—–]|\b(?:это|равен|равна|составляет|называется)\b | 是|为|為|叫|定|は|が|です | है|हैं | هو|هي
    """,
    re.I | re.X,
)
CHANGED = re.compile(
    r"""
    →|->|=>
    | \b(?:instead\ of|no\ longer|any\ ?more|rather\ than|not\b.{1,60}\bbut|replac\w*
      |changed\ to|switch\w*\ to|moved?\ to|correction|now
      |(?:switch|chang|mov|rais|lower|shift|updat|migrat)\w*\b.{1,60}\bfrom\b.{1,60}\bto)\b
    | \b(?:statt|anstatt|anstelle|nicht\ mehr|sondern|jetzt|nunmehr|geändert|umgestellt|verschoben
      |ersetz\w*
      |(?:änder|wechs|verschieb|stell|erhöh|senk|setz)\w*\b.{1,60}\bvon\b.{1,60}\b(?:auf|zu|nach)\b)
    | \b(?:en\ (?:lugar|vez)\ de\b|ya\ no\b|ahora\b|sustitu\w*|reempla\w*|sino\b
      |(?:cambi|pas|mov|sub|baj)\w*\b.{1,60}\bde\b.{1,60}\ba\b)
    | \b(?:em\ (?:lugar|vez)\ de\b|já\ não\b|não\b.{1,60}\bmais\b|agora\b|substitu\w*
      |(?:mud|troc|pass|alter)\w*\b.{1,60}\bde\b.{1,60}\b(?:para|por)\b)
    | \b(?:au\ lieu\ d|plutôt\ qu|ne?\b.{1,60}\bplus\b|n['’]est\ plus|désormais|maintenant
      |remplac\w*|(?:chang|pass|déplac)\w*\b.{1,60}\bde\b.{1,60}\bà\b)
    | \b(?:вместо|больше\ не|уже\ не|теперь|а\ не\b|измен\w*|смен\w*|замен\w*
      |(?:измени|смени|перенес|переве)\w*\b.{1,60}\bс\b.{1,60}\bна\b)
    | 改为|改為|改成|改用|改到|换成|換成|换到|不再|而不是|而是|现在|現在|代替
    | 取代|更新为|调整为|推迟到
    | ではなく|じゃなくて|代わりに|変更|変え|変わ|今は|もう
    | के\ बजाय|की\ जगह|(?:^|\s)अब\s|बदल|बल्कि
    | بدل|لم\ يعد|ال[آا]ن|غير|تغي|استبدل|[أا]صبح
    """,
    re.I | re.X,
)
# Beside one of two values, of which one was known, that the other holds.
CHANGED_PAIR = re.compile(
    rf"""
    {CHANGED.pattern}
    | \b(?:not|never|forget|scrap|drop|ditch|was|were|used\ to)\b
    | \b(?:nicht|kein\w*|vergiss|war|waren|vorher)\b | \b(?:no|olvida|era|eran|antes)\b
    | \b(?:não|esquece|era|eram|antes)\b | \b(?:pas|oublie|était|étaient|avant)\b
    | \b(?:не|забудь|был[аои]?|раньше)\b | 不是|不用|别用|原来|以前 | ではない|以前|やめ
    | नहीं|पहले | ليس|كان|لا
    """,
    re.I | re.X,
)
QUESTION = re.compile(r"[?？؟]")
# What is only thought of settles nothing.
UNSURE = re.compile(
    r"""
    \b(?:if|might|may|maybe|perhaps|could|would|consider\w*|wonder\w*|deciding)\b
    | \b(?:wenn|falls|vielleicht|könnten?|würden?|überleg\w*)\b
    | \b(?:si|quizás?|tal\ vez|podr[ií]a\w*)\b
    | \b(?:talvez|poder[ií]a\w*)\b | \b(?:peut-être|pourrai\w*)\b
    | \b(?:если|может|возможно|бы|ли)\b
    | 如果|也许|也許|可能|要不要|是否|考虑|考慮 | もし|かも|でしょうか|検討
    | अगर|यदि|शायद | [إا]ذا|ربما|\bلو\b
    """,
    re.I | re.X,
)
