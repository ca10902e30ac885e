"""Words that say how sure, how much and whether yet, in the ten languages. As Japanese and Chinese
write no spaces, theirs are found anywhere in a clause."""

import re

from agent.audit.facts.lexicon import Lexicon
from agent.audit.facts.words import clean

HEDGES = Lexicon.parse("""
might maybe perhaps possibly probably likely presumably apparently seem* allegedly supposedly
reportedly rumour* rumor* i'm_told
appear* i_suspect i_assume i_expect i_doubt
i_think it's_possible it_is_possible i_believe i_guess i_suppose not_sure unsure it_may we_may
i_may he_may she_may they_may
vielleicht womöglich möglicherweise wahrscheinlich vermutlich eventuell wohl anscheinend angeblich
scheinbar es_kann_sein kann_sein man_sagt es_heißt gerücht* voraussichtlich könnte dürfte dürften
ich_glaube ich_denke ich_vermute vermute_ich
ich_meine glaube_ich
denke_ich nicht_sicher unsicher
peut_être il_est_possible paraît on_dit probablement éventuellement apparemment vraisemblablement
semble semblent
sans_doute
pourrait pourraient pourrions je_crois je_pense je_suppose je_soupçonne il_se_peut pas_sûr pas_sûre
quizá quizás es_posible dicen_que acaso probablemente posiblemente seguramente tal_vez puede_que
podría
podrían
a_lo_mejor creo_que supongo_que sospecho me_parece parece no_estoy_seguro no_estoy_segura
talvez é_possível dizem_que provavelmente possivelmente aparentemente acho_que creio_que
suponho_que suspeito poderia
poderiam
pode_ser se_calhar não_tenho_certeza
может_стоить может_понадобиться может_потребоваться может_занять могут_понадобиться
могут_потребоваться возможно говорят наверное наверно вероятно пожалуй кажется похоже
видимо предположительно якобы
может_быть скорее_всего я_думаю подозреваю предполагаю не_уверен не_уверена мог_бы могла_бы могли_бы
ربما يقال لعل يحتمل محتمل أظن أعتقد يبدو من_المحتمل من_الممكن على_الأرجح لست_متأكدا لست_متأكدة
सकते_हैं सकता_है सकती_है शायद सुना_है संभवतः सम्भवतः संभवत संभव कदाचित
हो_सकता हो_सकती लगता_है मुझे_लगता संभावना_है
可能 也许 也許 或许 或許 大概 恐怕 好像 似乎 估计 估計 说不定 我怀疑 我猜
我觉得 我认为 不确定 据说 听说 聽說
かもしれ おそらく 恐らく たぶん 多分 もしかし でしょう だろう らしい ようです と思う と思い
みたいだ みたいで みたいな みたいに
""")
# In small letters, unlike the month, and not before a number; in Arabic before the present tense.
MAY = re.compile(r"\bmay(?= (?!\d))|(?<!\w)قد(?= [يتنأ])")
# 約 is a part of many words.
ABOUT = re.compile(r"[约約](?=\s?[\d一二三四五六七八九十百千万])")
# Which keep a doubt in other words.
UNSURE = Lexicon.parse("""
may can could would possib* uncertain* unclear unconfirmed tentativ* doubt* assum* suspect* suppos*
consider* whether thinks think believes believe guess* about around roughly approximately
eventuell* möglich* unklar ungewiss vermutet glaubt denkt meint erwägt könnten ungefähr etwa ca ob
possible* incertain* suppose pense croit envisage environ posible* cree piensa supone duda
aproximadamente cerca unos unas possível possíveis acha pensa supõe duvida возможн* вероятн*
неясно сомнева* думает считает предполага* около примерно إمكانية احتمال* يظن يعتقد تظن تعتقد حوالي
संभाव* सम्भाव* सोचता सोचती मानता मानती अनिश्चित लगभग क़रीब करीब
或 认为 觉得 猜 怀疑 推测 未定 大约 大約 可能性 不明 疑 推定 見込み およそ 考えて
""")

# --- How much -------------------------------------------------------------------------------------

HALF = Lexicon.parse("""
half every_second every_other hälfte halbe jeder_zweite jede_zweite moitié un_sur_deux une_sur_deux
mitad metade половин* каждый_второй каждая_вторая نصف आधे आधा आधी 一半 每两 半分 半数
""")
MOST = Lexicon.parse("""
most mostly usually mainly almost_all nearly_all the_majority majority almost_every nearly_every
meist meistens meiste meisten größtenteils überwiegend mehrheit fast_alle fast_jeder fast_immer
plupart majorité majoritairement généralement presque_tous presque_toutes presque_toujours
mayoría mayormente generalmente casi_todos casi_todas casi_siempre
maioria maioritariamente geralmente quase_todos quase_todas quase_sempre
большинств* большая_часть большинство обычно почти_все почти_всегда
معظم أغلب غالبية غالبا غالبًا तक़रीबन_सभी ज़्यादातर ज्यादातर अधिकांश अधिकतर लगभग_सभी
大部分 大多数 大多數 多数 多數 几乎所有 几乎全部 通常 ほとんど 大半 大部分 大多数 たいてい
""")
ALL = Lexicon.parse("""
all every each everyone everybody everything always entire
alle allen aller alles jeder jede jedes jeden jedem sämtliche sämtlichen immer stets
tous toutes toute chaque toujours chacun chacune
todos todas todo toda cada siempre sempre ambos
все всех всем всё каждый каждая каждое каждую каждого всегда
كل جميع كافة دائما دائمًا सभी सब सारे सारी सारा हर प्रत्येक हमेशा
所有 全部 全体 全體 每 总是 總是 一直 都 すべて 全て 全員 全部 みんな 皆 毎回 常に いつも
""")
SOME = Lexicon.parse("""
some several sometimes partly partially occasionally a_few a_couple
einige einigen einiger manche manchen mancher manchmal etliche teilweise ein_paar
gelegentlich
quelques certains certaines plusieurs parfois quelquefois partiellement
algunos algunas algún alguna varios varias unos_cuantos unas_cuantas a_veces parcialmente
alguns algumas vários várias às_vezes parcialmente
некоторые некоторых некоторым несколько иногда частично часть
بعض بضع بضعة عدة أحيانا أحيانًا جزئيا कुछ कई कभी_कभी आंशिक
有些 一些 某些 部分 有的 几个 若干 有时 一部 いくつか いくらか 数人 時々 たまに
何人か
""")
MANY = Lexicon.parse("""
many often frequently viele vielen vieler oft häufig beaucoup souvent nombreux nombreuses muchos
muchas menudo muitos muitas frequentemente много многие многих часто كثير كثيرا كثيرًا العديد
बहुत_से बहुत_सारे अनेक अक्सर 很多 许多 許多 经常 經常 多くの よく しばしば
""")
FEW = Lexicon.parse("""
few rarely seldom hardly wenige wenigen selten kaum peu_de rarement pocos pocas raramente rara_vez
poucos poucas мало немногие редко قليل قلة نادرا نادرًا कम_ही थोड़े 很少 少数 少數 わずか めったに
""")
ONLY = Lexicon.parse("""
only solely exclusively nur lediglich ausschließlich seulement uniquement sólo solo solamente
únicamente só somente apenas только лишь исключительно فقط केवल सिर्फ़ सिर्फ 只 仅 僅 だけ のみ
しか
""")

EXCEPT = Lexicon.parse("""
except excluding apart_from but_for außer ausgenommen bis_auf abgesehen sauf excepté hormis à_part
excepto salvo menos exceto à_exceção кроме исключением عدا باستثناء إلا के_अलावा के_सिवा को_छोड़कर
除了 以外 之外 を除
""")

# --- Whether yet ----------------------------------------------------------------------------------

# What is planned, wanted, asked for or due.
INTENDED = Lexicon.parse("""
plan planning plans planned intend* will want wants wanted going_to thinking_of thinking_about
hope hopes hoping must should
need needs needed have_to has_to please let's to_be is_to are_to due scheduled pending todo would
i'll we'll he'll she'll they'll i'd we'd could shall wish* prefer* asked asks requested requests
agreed decided proposed suggest* consider* promis* remind* not_yet
will_ich will wollen wollte wollten möchte möchten plane planen plant geplant vorhaben habe_vor
haben_vor hat_vor beabsicht*
soll sollen sollte sollten muss müssen wird werden werde bitte würde würden hoff* bittet gebeten
fällig offen überleg* denke_daran erinner* versprochen verspricht
compt* veux veut voulons veulent voudr* envisag* prév* projet* intention vais va allons vont doit
doivent devons faut faud* souhait* espèr* aimer* songe songeons pense_à rappel* promet* promis*
plaît prière demande sera
seront
pensado pensando pienso pensamos piensa piensan quiero queremos quiere quieren quisi* planea*
plane*
pretend*
intención voy vamos va van debe deben debo debemos hay_que tengo_que tiene_que tenemos_que favor
espero esperamos gustaría pide solicit* será serán pendiente recuérda* previst* promet*
quero quer querem queremos queria pretend* plane* tenciona* vou vai vão devo deve devem temos_de
temos_que tenho_de tenho_que tem_de tem_que preciso
precisa gostaria gostava pensar lembr* espera* promet* pede favor pendente
план* собира* хоч* хотим хотят хотел* намер* буд* долж* нужно надо следует пожалуйста прос* надеюсь
жела* предсто* напомн* обеща* думаю думаем думает подумыва*
نعتزم أفكر نفكر يفكر أعتزم يعتزم نخطط يخطط تخطط أخطط أنوي ننوي ينوي تنوي نريد أريد يريد تريد سوف
سيتم سنقوم سأقوم
سيقوم ستقوم يجب
ينبغي أرجو
نأمل خطة نية رجاء ذكرني علينا لا_بد وعد وعدت يعد
चाहता चाहती चाहते चाहें योजना इरादा सोच_रहे सोच_रहा सोच_रही वाला_हूँ वाली_हूँ वाले_हैं वाला_है
वाली_है होगा होगी होंगे
करूँगा करूँगी करेंगे करेगा करेगी कृपया ज़रूरत जरूरत चाहिए याद_दिला वादा
打算 计划 計劃 想要 我想 我们想 用户想 想在 想把 准备 準備 将 將 希望 需要 请把 请将 请帮 请在
请给 请您 请你 请发
應該 应该 应当 必须 待办 待定 考虑 考慮 预定 未 建议 决定 要求 提议 承诺 提醒 答应
予定 つもり なければ ねば たい ください 計画 必要 べき 希望 未 お願い リマインド 約束 と思って
考えて ましょう
でしょう 明日 明天 来週 下周 下週 来月 下个月 下個月
""")
FUTURE_ENDINGS = tuple(clean("ेगा ेगी ेंगे ेंगी एगा एगी एँगे एंगे एँगी ूँगा ूँगी ऊँगा ऊँगी ओगे ोगे").split())
# Spanish, Portuguese and French: abriremos, abrirão, ouvrirai.
ROMANCE_FUTURE = re.compile(
    r"\w{2,}[aeiouvdt]r(?:é|ás|á|emos|án|ei|ão|ai|ons|ont)(?<!detrás)"
).fullmatch
FRENCH_FUTURE = re.compile(
    r"\b(?:il|elle|on|qui) (?:l['’]|(?:la|le|les|lui|y|en|nous|vous|se|s) )?\w{2,}ra\b", re.I
)
FUTURE_VERB = re.compile(r"(?<!\w)[وف]?س(?!ياس|يد|تين|ينم|يار|نوات|تار)[ينتأ]\w{2,}(?<![ةه])(?!\w)")
# After a denial: what is still to be done.
NOT_YET = Lexicon.parse("""
yet noch encore todavía aún ainda ещё еще пока بعد अभी अब_तक 还没 還沒 还未 尚未 まだ
""")
# What has come about.
DONE = Lexicon.parse("""
did done already finished completed bought sold sent paid made took got gave went came
met built wrote began chose found left lost kept brought taught spoke drove flew grew saw spent won
broke fell
wurde wurden worden bereits schon erledigt fertig abgeschlossen
a_été ont_été ai_été avons_été avait_été avaient_été déjà terminé terminée fini finie fait
fue fueron hemos ha_sido han_sido ya terminado terminada
foi foram já terminado concluído concluída
уже готово сделан* был была было были
تم تمت تمّ لقد سبق بالفعل قام قامت قمنا اكتمل اكتملت انتهى انتهت
गया गई गए गयी गईं गयीं चुकीं चुका चुकी चुके था थी थे दिया हुआ हुई हुए लिया हो_चुका
了 已 すでに 既に 完成 过了 ました 済み 完了 終えた
""")
# Endings of what has come about, in the languages that have them, and what ends alike.
_DONE_ENDINGS = (
    "ed aron ieron ió ó aram eram iram ou л ла ло ли лся лась лось лись ён ены ена ено ано аны وا"
)
DONE_ENDINGS = tuple(_DONE_ENDINGS.split())
SHORTEST_DONE = 5  # letters of such a word
# A participle is one of what has come about beside one of these.
HAVING = frozenset(
    [
        "hat",
        "habe",
        "haben",
        "hatte",
        "hatten",
        "ist",
        "sind",
        "war",
        "waren",
        "a",
        "ai",
        "avons",
        "ont",
        "est",
        "sont",
        "ha",
        "han",
        "he",
        "hemos",
    ]
)
PARTICIPLE = re.compile(
    r"\w*ge\w+(?:t|en)|(?:ver|be|er|ent|zer)\w{2,}t|\w+iert|\w+ée?s?|\w+[ai]d[oa]s?"
)
NOT_DONE = frozenset(["если", "indeed", "speed", "embed", "hundred", "naked"])
