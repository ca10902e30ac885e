"""Words that name nothing: articles, pronouns, prepositions, conjunctions and the like, in the
languages with capitals and in Arabic and Hindi. One of them in the place of another one is no
exchanged name."""

from agent.audit.facts.words import clean

_WORDS = """
the a an this that these those some any each every all both no not i we you he she it they who
what which there here my our your his her its their me us him them one in on at of to for from by
with about as into total totals altogether overall
over under after before during between through until since and or but so if
when while where because than then is are was were be been has have had do does did will would
can could may might must should also only just still already now today tomorrow yesterday
new next last first currently according please per regarding let's maybe perhaps possibly probably
der die das den dem des ein eine einen einem einer eines dies dieser diese dieses diesen diesem
jener jene mein meine meinen meinem meiner unser unsere unseren unserem unserer unserm dein deine
euer eure ihr ihre ihren ihrem ihrer sein seine seinen seinem seiner ich wir du er sie es man
jeder jede jedes alle beide kein keine keinen in im ins an am ans auf aufs
aus bei beim bis durch für gegen mit insgesamt gesamt zusammen nach ohne seit über um unter von vom
vor zu zum zur zwischen und oder aber denn wenn weil dass ob
als wie wo wer was ist sind war waren wird werden hat haben hatte auch nur noch schon jetzt heute
morgen gestern hier dort vielleicht laut gemäß zufolge dort
le la les l un une des du de d au aux ce cet cette ces mon ma mes notre nos votre vos ton ta tes
son sa ses leur leurs je j nous vous tu il elle ils elles on y en à dans sur sous avec sans pour
par chez vers entre avant après pendant depuis et ou mais donc si quand que qui où est sont a ont
était sera tout tous toute toutes chaque aussi seulement déjà aujourd'hui demain hier peut selon
d'après suivant concernant ensemble
el los las lo una unos unas del al este esta estos estas ese esa mi mis nuestro nuestra nuestros
nuestras tu tus su sus vuestro vuestra yo nosotros nosotras usted ustedes él ella ellos ellas con
sin sobre hasta desde hacia según por para pero o u e es son era fue será ha han hay está están
también sólo solo ya hoy mañana ayer cuando quien donde se nos me te les como tal
o os as um uma uns umas do da dos das no na nos nas ao à aos às pelo pela este esta esse essa meu
minha meus minhas nosso nossa nossos nossas seu sua seus suas teu tua eu ele ela eles elas nós com
sem até após quando quem onde é são foi será tem têm há também só já hoje amanhã ontem mas ou
segundo conforme
в во на по с со к ко у о об от до для из за под над при без через между и или но а что как если
когда где кто это этот эта эти тот та те мой моя моё мои наш наша наше наши нашу нашего нашей твой
ваш ваша ваше свой своя его её их я мы ты вы он она оно они все весь вся всё каждый нет не уже ещё
также только там тут здесь сегодня завтра вчера был была было были будет согласно
في من إلى على عن مع هذا هذه ذلك تلك هو هي هم نحن أنا أنت كان كانت يكون قد لقد إن أن أو ثم بعد قبل
عند لدى كل التي الذي حسب وفقا بحسب إجمالي مجموع معا
कुल मिलाकर मेरा मेरी मेरे हमारा हमारी हमारे आपका आपकी आपके उसका उसकी उनके उनका उनकी इस उस यह वह ये वे मैं
हम आप को का की के में से पर ने और या है हैं था थी थे हूँ तक लिए एक अनुसार ज़्यादा अधिक कम أكثر أقل
"""
FUNCTION_WORDS = frozenset(clean(_WORDS).split())
# Between two things these say the same in either order: "Ada and Ben", "the capital is Rome".
_SYMMETRIC = """
and or is are was were be with equals meets und oder ist sind war waren mit et ou est sont était
avec y e o es son era fue con é são foi com и или это с есть و أو هو هي مع और या है हैं का की के
the a an der die das den dem le la les l el los las un une una o a os as um uma
和 与 與 跟 及 或 是 为 と や は も が の ・ 、
"""
SYMMETRIC = frozenset(_SYMMETRIC.split())
