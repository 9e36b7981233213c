#include "risk/foreign.h"

#include "base/mem.h"

#define LOOK_BYTES_MAX 240 /* bytes of a description that are searched: its first sentence or two */
#define OPENS_BYTES_MAX 24 /* bytes before a word that opens it */

/* Stems, so that they match inflected forms too. */
static const struct {
    const char *stem;
    uint8_t cls;
} stems[] = {
    /* Chinese */
    {"查询", RISK_READ},
    {"定位", RISK_READ},
    {"获取", RISK_READ},
    {"搜索", RISK_READ},
    {"列出", RISK_READ},
    {"读取", RISK_READ},
    {"查看", RISK_READ},
    {"检索", RISK_READ},
    {"计算", RISK_READ},
    {"分析", RISK_READ},
    {"检查", RISK_READ},
    {"返回", RISK_READ},
    {"规划", RISK_READ},
    {"标注", RISK_READ},
    {"查找", RISK_READ},
    {"解析", RISK_READ},
    {"转换", RISK_READ},
    {"编码", RISK_READ},
    {"测量", RISK_READ},
    {"推荐", RISK_READ},
    {"天气", RISK_READ},
    {"路线", RISK_READ},
    {"提取", RISK_READ},
    {"识别", RISK_READ},
    {"统计", RISK_READ},
    {"验证", RISK_READ},
    {"列表", RISK_READ},
    {"诊断", RISK_READ},
    {"截图", RISK_READ},
    {"指导", RISK_READ},
    {"对比", RISK_READ},
    {"预览", RISK_READ},
    {"创建", RISK_WRITE},
    {"新建", RISK_WRITE},
    {"添加", RISK_WRITE},
    {"更新", RISK_WRITE},
    {"修改", RISK_WRITE},
    {"上传", RISK_WRITE},
    {"发送", RISK_WRITE},
    {"保存", RISK_WRITE},
    {"写入", RISK_WRITE},
    {"设置", RISK_WRITE},
    {"管理", RISK_WRITE},
    {"编辑", RISK_WRITE},
    {"下载", RISK_WRITE},
    {"发布", RISK_WRITE},
    {"登录", RISK_WRITE},
    {"插入", RISK_WRITE},
    {"新增", RISK_WRITE},
    {"提交", RISK_WRITE},
    {"取消", RISK_WRITE},
    {"回复", RISK_WRITE},
    {"评论", RISK_WRITE},
    {"同步", RISK_WRITE},
    {"绑定", RISK_WRITE},
    {"执行", RISK_EXECUTE},
    {"运行", RISK_EXECUTE},
    {"部署", RISK_EXECUTE},
    {"启动", RISK_EXECUTE},
    {"停止", RISK_EXECUTE},
    {"重启", RISK_EXECUTE},
    {"调用", RISK_EXECUTE},
    {"触发", RISK_EXECUTE},
    {"导航", RISK_EXECUTE},
    {"点击", RISK_EXECUTE},
    {"删除", RISK_DESTRUCTIVE},
    {"移除", RISK_DESTRUCTIVE},
    {"清空", RISK_DESTRUCTIVE},
    {"销毁", RISK_DESTRUCTIVE},
    {"清除", RISK_DESTRUCTIVE},
    {"卸载", RISK_DESTRUCTIVE},
    {"支付", RISK_FINANCIAL},
    {"退款", RISK_FINANCIAL},
    {"转账", RISK_FINANCIAL},
    {"购买", RISK_FINANCIAL},
    {"付款", RISK_FINANCIAL},
    {"充值", RISK_FINANCIAL},
    /* Japanese, where it differs */
    {"取得", RISK_READ},
    {"検索", RISK_READ},
    {"一覧", RISK_READ},
    {"表示", RISK_READ},
    {"読み", RISK_READ},
    {"確認", RISK_READ},
    {"設定", RISK_WRITE},
    {"登録", RISK_WRITE},
    {"作成", RISK_WRITE},
    {"追加", RISK_WRITE},
    {"送信", RISK_WRITE},
    {"変更", RISK_WRITE},
    {"実行", RISK_EXECUTE},
    {"起動", RISK_EXECUTE},
    {"削除", RISK_DESTRUCTIVE},
    {"支払", RISK_FINANCIAL},
    {"返金", RISK_FINANCIAL},
    {"購入", RISK_FINANCIAL},
    /* Korean */
    {"조회", RISK_READ},
    {"검색", RISK_READ},
    {"가져", RISK_READ},
    {"목록", RISK_READ},
    {"확인", RISK_READ},
    {"분석", RISK_READ},
    {"계산", RISK_READ},
    {"등록", RISK_WRITE},
    {"변경", RISK_WRITE},
    {"설정", RISK_WRITE},
    {"생성", RISK_WRITE},
    {"추가", RISK_WRITE},
    {"수정", RISK_WRITE},
    {"전송", RISK_WRITE},
    {"업데이트", RISK_WRITE},
    {"실행", RISK_EXECUTE},
    {"배포", RISK_EXECUTE},
    {"삭제", RISK_DESTRUCTIVE},
    {"결제", RISK_FINANCIAL},
    {"환불", RISK_FINANCIAL},
    /* Russian */
    {"получ", RISK_READ},
    {"Получ", RISK_READ},
    {"поиск", RISK_READ},
    {"Поиск", RISK_READ},
    {"список", RISK_READ},
    {"Список", RISK_READ},
    {"показ", RISK_READ},
    {"Показ", RISK_READ},
    {"найти", RISK_READ},
    {"Найти", RISK_READ},
    {"провер", RISK_READ},
    {"Провер", RISK_READ},
    {"добав", RISK_WRITE},
    {"Добав", RISK_WRITE},
    {"измен", RISK_WRITE},
    {"Измен", RISK_WRITE},
    {"созда", RISK_WRITE},
    {"Созда", RISK_WRITE},
    {"обнов", RISK_WRITE},
    {"Обнов", RISK_WRITE},
    {"отправ", RISK_WRITE},
    {"Отправ", RISK_WRITE},
    {"выполн", RISK_EXECUTE},
    {"Выполн", RISK_EXECUTE},
    {"запус", RISK_EXECUTE},
    {"Запус", RISK_EXECUTE},
    {"удал", RISK_DESTRUCTIVE},
    {"Удал", RISK_DESTRUCTIVE},
    {"оплат", RISK_FINANCIAL},
    {"Оплат", RISK_FINANCIAL},
    /* Spanish, Portuguese, Italian, French, German: whole words that are no English ones */
    {"obtiene", RISK_READ},
    {"obtener", RISK_READ},
    {"obter", RISK_READ},
    {"busca ", RISK_READ},
    {"buscar", RISK_READ},
    {"consulta", RISK_READ},
    {"recupera", RISK_READ},
    {"elenca", RISK_READ},
    {"rechercher", RISK_READ},
    {"recherche ", RISK_READ},
    {"obtenir", RISK_READ},
    {"afficher", RISK_READ},
    {"abrufen", RISK_READ},
    {"suchen", RISK_READ},
    {"durchsuch", RISK_READ},
    {"sucht ", RISK_READ},
    {"anzeigen", RISK_READ},
    {"auflisten", RISK_READ},
    {"liest ", RISK_READ},
    {"lista ", RISK_READ},
    {"listar", RISK_READ},
    {"muestra", RISK_READ},
    {"mostra", RISK_READ},
    {"detalle", RISK_READ},
    {"resumen", RISK_READ},
    {"historial", RISK_READ},
    {"calcula", RISK_READ},
    {"devuelve", RISK_READ},
    {"retorna", RISK_READ},
    {"restituisce", RISK_READ},
    {"exibe", RISK_READ},
    {"verifica", RISK_READ},
    {"affiche", RISK_READ},
    {"retourne", RISK_READ},
    {"liste ", RISK_READ},
    {"zeigt ", RISK_READ},
    {"listet ", RISK_READ},
    {"gibt ", RISK_READ},
    {"liefert ", RISK_READ},
    {"filtert", RISK_READ},
    {"vergleich", RISK_READ},
    {"abfrag", RISK_READ},
    {"pr\xc3\xbc"
     "fen",
     RISK_READ},
    {"volltextsuche", RISK_READ},
    {"pr\xc3\xbc"
     "ft",
     RISK_READ},
    {"crea ", RISK_WRITE},
    {"cria ", RISK_WRITE},
    {"registra ", RISK_WRITE},
    {"guarda ", RISK_WRITE},
    {"salva ", RISK_WRITE},
    {"emite ", RISK_WRITE},
    {"adiciona", RISK_WRITE},
    {"modifica ", RISK_WRITE},
    /* Norwegian, Danish, Swedish, Dutch, Turkish, Polish */
    {"hent ", RISK_READ},
    {"henter ", RISK_READ},
    {"s\xc3\xb8k", RISK_READ},
    {"finn ", RISK_READ},
    {"returnerer", RISK_READ},
    {"h\xc3\xa4mta", RISK_READ},
    {"zoek", RISK_READ},
    {"haalt ", RISK_READ},
    {"listele", RISK_READ},
    {"getir", RISK_READ},
    {"pobier", RISK_READ},
    {"wyszuk", RISK_READ},
    {"opprett", RISK_WRITE},
    {"oppdater", RISK_WRITE},
    {"skapa", RISK_WRITE},
    {"olu\xc5\x9ftur", RISK_WRITE},
    {"g\xc3\xbcncelle", RISK_WRITE},
    {"slett", RISK_DESTRUCTIVE},
    {"verwijder", RISK_DESTRUCTIVE},
    {"sil ", RISK_DESTRUCTIVE},
    {"usu\xc5\x84", RISK_DESTRUCTIVE},
    {"crear", RISK_WRITE},
    {"criar", RISK_WRITE},
    {"actualiza", RISK_WRITE},
    {"atualiza", RISK_WRITE},
    {"enviar", RISK_WRITE},
    {"env\xc3\xad"
     "a",
     RISK_WRITE},
    {"agrega", RISK_WRITE},
    {"cr\xc3\xa9"
     "er",
     RISK_WRITE},
    {"cr\xc3\xa9"
     "e ",
     RISK_WRITE},
    {"envoyer", RISK_WRITE},
    {"modifier", RISK_WRITE},
    {"ajouter", RISK_WRITE},
    {"erstell", RISK_WRITE},
    {"aktualisieren", RISK_WRITE},
    {"aktualisiert ", RISK_WRITE},
    {"sendet", RISK_WRITE},
    {"senden", RISK_WRITE},
    {"speichern", RISK_WRITE},
    {"speichert", RISK_WRITE},
    {"creare", RISK_WRITE},
    {"ejecuta", RISK_EXECUTE},
    {"executar", RISK_EXECUTE},
    {"ex\xc3\xa9"
     "cut",
     RISK_EXECUTE},
    {"ausf\xc3\xbc"
     "hr",
     RISK_EXECUTE},
    {"f\xc3\xbc"
     "hrt ",
     RISK_EXECUTE},
    {"startet", RISK_EXECUTE},
    {"elimina", RISK_DESTRUCTIVE},
    {"borra", RISK_DESTRUCTIVE},
    {"excluir", RISK_DESTRUCTIVE},
    {"supprime", RISK_DESTRUCTIVE},
    {"l\xc3\xb6"
     "sch",
     RISK_DESTRUCTIVE},
    {"entfern", RISK_DESTRUCTIVE},
    {"cancella", RISK_DESTRUCTIVE},
    {"apagar", RISK_DESTRUCTIVE},
    {"pagar", RISK_FINANCIAL},
    {"reembols", RISK_FINANCIAL},
    {"comprar", RISK_FINANCIAL},
    {"payer", RISK_FINANCIAL},
    {"rembours", RISK_FINANCIAL},
    {"bezahl", RISK_FINANCIAL},
    {"\xc3\xbc"
     "berweis",
     RISK_FINANCIAL},
};

/* Counts function words of other languages that English does not have. */
static size_t small_words(struct slice opening) {
    static const char *const words[] = {" de ",  " el ",  " los ", " las ", " del ",   " para ", " por ",
                                        " con ", " que ", " una ", " les ", " des ",   " pour ", " et ",
                                        " und ", " der ", " das ", " mit ", " dem ",   " den ",  " di ",
                                        " il ",  " uma ", " com ", " dos ", " della ", NULL};
    size_t count = 0;
    for (const char *const *w = words; *w; w++) {
        struct slice rest = opening;
        const char *at;
        while (rest.len && (at = memmem(rest.ptr, rest.len, *w, strlen(*w)))) {
            count++;
            rest = slice_from(rest, (size_t)(at - rest.ptr) + strlen(*w) - 1);
        }
    }
    return count;
}

bool risk_foreign_text(struct slice lower) {
    struct slice opening = slice_upto(lower, LOOK_BYTES_MAX);
    size_t beyond = 0;
    for (size_t i = 0; i < opening.len; i++)
        beyond += (unsigned char)opening.ptr[i] >= 0x80;
    return beyond * 10 >= opening.len * 4 ? opening.len > 0 : small_words(opening) >= 2;
}

static bool reads_as_english(struct slice opening) {
    static const char *const words[] = {" the ", " of ", " to ", " and ", " from ", " for ", " with ", NULL};
    int seen = 0;
    for (const char *const *w = words; *w; w++)
        seen += opening.len && memmem(opening.ptr, opening.len, *w, strlen(*w)) != NULL;
    return seen >= 2;
}

/* "eliminates" is no Italian word in an English sentence. */
static bool is_latin(const char *stem) { return stem[0] >= 'a' && stem[0] <= 'z'; }

/* "Brasil" has no Turkish verb. */
static bool inside_word(struct slice text, const char *at) {
    bool letter = *at >= 'a' && *at <= 'z';
    return letter && at > text.ptr && at[-1] >= 'a' && at[-1] <= 'z';
}

enum risk_class risk_foreign_class(struct slice lower, struct slice *ret_word, bool *ret_opens) {
    struct slice opening = slice_upto(lower, LOOK_BYTES_MAX);
    const char *best = NULL;
    bool english = reads_as_english(opening);
    enum risk_class cls = RISK_NONE;
    for (size_t i = 0; i < ARRAY_LEN(stems); i++) {
        const char *at =
            opening.len ? memmem(opening.ptr, opening.len, stems[i].stem, strlen(stems[i].stem)) : NULL;
        if (!at || (best && at >= best) || inside_word(opening, at) || (english && is_latin(stems[i].stem)))
            continue;
        best = at;
        cls = (enum risk_class)stems[i].cls;
        *ret_word = slice_str(stems[i].stem);
    }
    *ret_opens = best && best - opening.ptr <= OPENS_BYTES_MAX;
    return cls;
}
