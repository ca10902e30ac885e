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
SAYS_CHANGED = re.compile(
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
# Of two values, the one that holds no longer: what stands before it (OLD), or behind it.
_REMOVING = r"""
    \b(?:instead\ of|in\ place\ of|rather\ than|no\ longer|not(?!\ only)|replac(?:es?|ing)
      |isn['’]t)\b
    | \b(?:statt|anstatt|anstelle(?:\ von)?|nicht(?!\ nur)(?:\ mehr)?|ersetzt)\b
    | \b(?:en\ (?:lugar|vez)\ de|ya\ no|y\ no|no(?!\ s[oó]lo)|sustituye(?:\ al?)?
      |reemplaza(?:\ al?)?)\b
    | \b(?:em\ (?:lugar|vez)\ d[eoa]|ao\ invés\ de|já\ não|e\ não|não(?!\ só)|substitui)\b
    | \b(?:au\ lieu\ d[eu]|plutôt\ que|n['’]est\ plus|pas(?!\ seulement)|et\ non|remplace)\b
    | \b(?:вместо|больше\ не|уже\ не|а\ не|не(?!\ только)|заменяет)\b
    | 而?不是|不再[是用]?|[别別不]用|代替|取代|替代
    | (?<!\w)(?:بدل[اً]*(?:\ من|\ عن)?|و?ليست?|لم\ [تي]عد|لا)(?!\w)
    """
_REMOVED = r"""
    →|->|=>
    | \b(?:(?:(?:is|was|has\ been|gets)\ )?replaced\ (?:by|with)|bec(?:omes|ame)
      |(?:(?:is|was|has\ been)\ )?changed\ to|(?:is|are)\ no\ longer)\b
    | \b(?:wird\ (?:durch|zu)|wurde\ (?:durch|zu)|(?:ist|gilt)\ nicht\ mehr)\b
    | 改[为為成用到]|换成|換成|换到|更新为|调整为|变[为成]
    | では?なく|じゃな(?:い|くて)|の代わり|をやめ|から
    | के\ बजाय|की\ जगह|नहीं|से\ बदल
    """
_FROM_TO = r"""
    \b(?:(?:switch|chang|mov|rais|lower|shift|updat|migrat)\w*\b[^{old}{new}]{{0,60}}\bfrom
      \ {old}[^{new}]{{0,30}}\bto\ {new}
    | (?:änder|wechs|verschieb|stell|erhöh|senk|setz)\w*\b[^{old}{new}]{{0,60}}\bvon
      \ {old}[^{new}]{{0,30}}\b(?:auf|zu|nach)\ {new}
    | (?:cambi|sub|baj|mov)\w*\b[^{old}{new}]{{0,60}}\bde\ {old}[^{new}]{{0,30}}\ba\ {new}
    | (?:mud|troc|alter)\w*\b[^{old}{new}]{{0,60}}\bde\ {old}[^{new}]{{0,30}}\b(?:para|por)\ {new}
    | (?:chang|pass|déplac)\w*\b[^{old}{new}]{{0,60}}\bde\ {old}[^{new}]{{0,30}}\bà\ {new}
    | (?:измени|смени|перенес|поменя)\w*\b[^{old}{new}]{{0,60}}\bс\ {old}[^{new}]{{0,30}}\bна
      \ {new})
    | (?:غي|عد)\w*[^{old}{new}]{{0,60}}\ من\ {old}[^{new}]{{0,30}}\ [إا]لى\ {new}
    """
_WAS = r"""
    \b(?:was|were|used\ to\ be|war|waren|era|eran|était|étaient|был[аои]?|раньше)\b
    | 原来是?|以前[是は]? | पहले | كانت?
    """
_NOW = r"""
    \b(?:now|jetzt|nun|nunmehr|ahora|agora|désormais|maintenant|теперь)\b
    | 现在|現在|今は | (?<!\w)अब(?!\w) | (?<!\w)ال[آا]ن(?!\w)
    """
# They stand in the place of the two values, which match no pattern themselves.
OLD_MARK, NEW_MARK = "\ue000", "\ue001"
_NEAR = rf"[^{OLD_MARK}{NEW_MARK}.,;!?。，；！？।،؟]{{0,30}}?"  # between such words and the value
# That the value in the place of `OLD_MARK` holds no longer, and the one in the place of `NEW_MARK`
# does.
FROM_TO = re.compile(_FROM_TO.format(old=OLD_MARK, new=NEW_MARK), re.I | re.X)
SAYS_REPLACED = re.compile(
    rf"""
    (?:{_REMOVING}){_NEAR}{OLD_MARK} | {OLD_MARK}{_NEAR}(?:{_REMOVED})
    | (?:{_WAS}){_NEAR}{OLD_MARK}[^{OLD_MARK}{NEW_MARK}]{{0,30}}(?:{_NOW}){_NEAR}{NEW_MARK}
    | (?:{_WAS}){_NEAR}{OLD_MARK}[^{OLD_MARK}{NEW_MARK}]{{0,30}}{NEW_MARK}{_NEAR}(?:{_NOW})
    """,
    re.I | re.X,
)
# All words of a change that are neither its subject nor its values.
OF_CHANGES = re.compile(
    rf"""
    {_REMOVING}|{_REMOVED}|{_WAS}|{_NOW}|{SAYS_CHANGED.pattern}
    | \b(?:change(?:\ of\ plans?)?|switch|move[ds]?|raised?|lower(?:ed)?|shift(?:ed)?|updated?
      |migrated?|set|use|take|make|correct(?:ion)?|please|sorry|actually|instead|new|old|value
      |it['’]s|is|be|been|should|must|will|ok(?:ay)?|oh|no|wait|update|from|to|with|by|and|but|has)\b
    | \b(?:ände\w+|wechs\w+|stell\w*|erhöh\w*|senk\w*|setz\w*|bitte|planänderung|korrektur|doch
      |sorry|neue?r?|alte?r?|wert|gilt|lautet|sind?|ist|soll|muss|wird|und|sondern|von|auf|zu|um)\b
    | \b(?:cambi\w*|de\ planes|sub\w+|baj\w+|mueve|por\ favor|perdón|corrección|nuevo|nueva|valor
      |es|son|será|debe|ser|y|sino|el|la|al?)\b
    | \b(?:mud\w+|troc\w+|alter\w+|por\ favor|desculpa|correção|novo|nova|é|são|será|deve|e|mas
      |sim|para|[ao])\b
    | \b(?:chang\w+|pass\w+|déplac\w+|s['’]il\ (?:te|vous)\ pla[iî]t|pardon|correction|nouveau
      |nouvelle|est|sont|sera|doit|être|et|mais|c['’]est|n['’]est|à)\b
    | \b(?:измени\w*|смени\w*|перенес\w*|поменя\w*|пожалуйста|извини\w*|новый|новая|будет|это|и)\b
    | 请|請|把|将|將|从|從|由|是|的|了|用|为|為|成|到|就|更正|[ぁ-んー]|変更|訂正|新|以後
    | (?<!\w)(?:कृपया|है|हैं|को|से|कर|करो|करें|दो|दें|नया|नई|और|बल्कि|का|की|के)(?!\w)
    | (?<!\w)(?:هو|هي|من|[إا]لى|بل|غي\w*|عدل\w*|فضلك|رجاء|الجديدة?|و)(?!\w)
    """,
    re.I | re.X,
)
# That something is said of another thing of the kind.
ANOTHER = re.compile(
    r"""
    \b(?:also|too|another|others?|second|third|extra|additional(?:ly)?|besides|after|before
      |back|as\ well|only|each|every)\b
    | \b(?:auch|ebenfalls|weitere?[rsn]?|andere?[rsn]?|zweite[rsn]?|dritte[rsn]?|zusätzlich|danach
      |davor|zurück|je(?:de[rsmn]?)?)\b
    | \b(?:también|otr[oa]s?|segund[oa]|tercer[oa]?|además|cada|vuelta)\b
    | \b(?:também|outr[oa]s?|terceir[oa]|além|volta)\b
    | \b(?:aussi|également|autres?|deuxième|second[e]?|troisième|chaque|retour)\b
    | \b(?:тоже|также|друг\w+|втор\w+|трет\w+|ещё|еще|кажд\w+|обратн\w+)\b
    | 也|另|第二|第三|还有|還有|每|其他 | もう一|別の|他の|二つ目|第二|毎|も(?=[\s、。は])
    | भी|दूसर|और\ एक|हर\ | [أا]يضا|آخر|أخرى|الثاني|كل\
    """,
    re.I | re.X,
)
QUESTION = re.compile(r"[?？؟]")
# What is only thought of settles nothing.
SAYS_UNSURE = re.compile(
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
