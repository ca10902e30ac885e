"""Pairs of words of which one says what the other one denies, in ten languages."""

from agent.audit.facts.lexicon import Lexicon

# What affirms, and what denies.
_PAIRS = (
    (
        """
        touch* chang* edit* modif* delet* remov* änder* ander* lösch* anfass* berühr* touche*
        chang*
        supprim* toca* cambi* borra* mexe* mud* apag* трога* меня* удаля* المس تلمس تغير تحذف छू*
        छुए*
        बदल* हटा* 碰 改 删 動 触 変更 削除
        """,
        """
        alone unchanged untouched intact* kept keep unverändert unberührt inchangé* intacto*
        inalterad*
        без_изменений оставить कायम 保留 不变 保持 残す 維持
        """,
    ),
    (
        """
        cover* includ* contain* deckt enthält inklusive umfasst couvr* inclu* cubre* incluye*
        cobre*
        включ* покрыва* يشمل يغطي शामिल 包括 包含 覆盖 含み 含む
        """,
        "exclud* ausgeschlossen ausgenommen exclu* excluy* исключ* يستثني 排除 除外 除く",
    ),
    (
        """
        agree* accept* approv* consent* allow* permit* zugestimmt stimmte zustimm* akzept*
        genehmig*
        erlaubt bewillig* angenommen accord* accepté* accepte* approuv* autoris* consent* valid*
        aceptó acept* aprob* autoriz* permit* concord* aceit* aprov* соглас* принял* одобр* разреш*
        وافق* يوافق توافق موافق* قبل* يقبل سمح* स्वीकार* मंज़ूर* मंजूर* सहमत* 同意 批准 接受 答应
        允许 承認 許可 賛成 認め
        """,
        """
        refus* reject* declin* forb* abgelehnt ablehn* lehnt* verweiger* untersagt verboten
        zurückgewiesen
        refusé* rejet* interdi* rechaz* neg* deneg* prohib* recus* rejeit* proib* отказ* отклон*
        запрет* запрещ*
        رفض* يرفض ترفض مرفوض منع* अस्वीकार* नामंज़ूर* नामंजूर* इनकार* इंकार* ठुकरा* मना 拒绝 拒絕
        否决 驳回 禁止 拒否 却下 断り 断っ
        """,
    ),
    (
        """
        works working succe* passed funktionier* geklappt klappt gelungen fonctionne* marche
        marchent réussi*
        funciona* logr* consegu* работает удал* сработ* نجح* يعمل تعمل चलता चलती सफल* 成功 通过
        动作 成功し
        """,
        """
        fail* broken crash* defective out_of_order defekt* défectueux défectueuse averiad*
        estropead* quebrad* avariad* неисправ* сломал* معطل*
        fehlgeschlagen gescheitert scheitert* kaputt échou* échec panne
        falló fallan fallaron fracas* falh* сломан* провал* упал* فشل* تعطل* خراب* विफल* असफल*
        失败 失敗 故障 坏了 壊れ ख़राब
        """,
    ),
    (
        """
        open* geöffnet offen ouvert* abiert* abre* abert* открыт* مفتوح* يفتح खुला खुली खुले खुलता
        开门 营业 開い 営業
        """,
        """
        closed closes close shut geschlossen fermé* ferme cerrad* cierra* fechad* закрыт*
        مغلق* يغلق बंद 关门 停业 閉ま 閉じ 休業
        """,
    ),
    (
        """
        remember* erinner* rappel* souvien* recuerda* acord* lembr* помн* вспомн* تذكر* يتذكر याद
        记得 记住 覚え
        """,
        """
        forgot* forget* vergess* vergaß oubli* olvid* esquec* забы* نسي* ينسى भूल* 忘记 忘了 忘れ
        """,
    ),
    (
        """
        takes_place happen* stattfind* findet aura_lieu a_lieu tendrá_lugar celebra* realiza*
        состо*
        يقام ستقام होगा होगी 举行 举办 開催 行われ
        """,
        """
        cancel* abgesagt absag* storniert* gestrichen annul* suspend* отмен* أُلغي* الغي* ألغي*
        إلغاء
        रद्द* 取消 キャンセル 中止
        """,
    ),
    (
        """
        available free frei verfügbar* libre* disponib* livre* свобод* доступ* متاح* متوفر*
        खाली उपलब्ध* 有空 可用 空い
        """,
        """
        sold_out booked taken occupied unavailable ausverkauft belegt ausgebucht vergeben complet*
        occupé*
        épuisé* agotad* ocupad* esgotad* занят* распрод* محجوز* مشغول* बुक भरा 售罄 客满 已满 満席
        売り切れ
        """,
    ),
)
OPPOSITES = tuple((Lexicon.parse(one), Lexicon.parse(other)) for one, other in _PAIRS)
# What denies in other words.
_WITHOUT = """
lack lacks lacking missing outside except apart fehl* außer außerhalb manqu* hors sauf falta* carec*
too_big too_large too_small too_tall too_wide too_narrow too_heavy too_old too_late too_young
zu_groß zu_klein zu_hoch zu_breit zu_eng zu_schwer zu_alt zu_spät zu_jung trop_grand trop_grande
trop_petit trop_petite trop_large trop_étroit trop_étroite trop_lourd trop_lourde trop_tard
fuera salvo
demasiado fora exceto demais отсутств* вне кроме слишком خارج عدا ينقص*
बाहर छोड़कर 缺 以外 之外 除了 太 対象外 足り
"""
WITHOUT = Lexicon.parse(_WITHOUT)
DENYING_WORDS = Lexicon.parse(" ".join([*(denying for _, denying in _PAIRS), _WITHOUT]))
ANY_OF_THEM = Lexicon.parse(" ".join(table for pair in _PAIRS for table in pair))
