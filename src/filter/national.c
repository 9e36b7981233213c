/* National identifiers with their check digits. Bare digits are ambiguous, so most need a word nearby
 * ("pesel", "cpf", "national id"); the few with a distinctive structure do not. */
#include "filter/checks.h"
#include "filter/detect.h"

#include "base/mem.h"

static int val(char c) { return c - '0'; }

static int weighted(const char *d, const int *w, size_t n) {
    int sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += val(d[i]) * w[i];
    return sum;
}

static bool all_same(const char *d, size_t n) {
    for (size_t i = 1; i < n; i++)
        if (d[i] != d[0])
            return false;
    return true;
}

static int two(const char *d) { return val(d[0]) * 10 + val(d[1]); }
static bool day_month(const char *d) {
    return two(d) >= 1 && two(d) <= 31 && two(d + 2) >= 1 && two(d + 2) <= 12;
}
static bool month_day(const char *d) {
    return two(d) >= 1 && two(d) <= 12 && two(d + 2) >= 1 && two(d + 2) <= 31;
}

static unsigned long long number(const char *d, size_t n) {
    unsigned long long v = 0;
    for (size_t i = 0; i < n; i++)
        v = v * 10 + (unsigned long long)val(d[i]);
    return v;
}

/* ISO 7064 mod 11,10: German tax id, Croatian OIB. */
static bool mod11_10(const char *d, size_t n) {
    int p = 10;
    for (size_t i = 0; i + 1 < n; i++) {
        int s = (val(d[i]) + p) % 10;
        p = ((s ? s : 10) * 2) % 11;
    }
    return (11 - p) % 10 == val(d[n - 1]);
}

static bool de_steuer(const char *d) {
    int count[10] = {0}, repeated = 0;
    for (int i = 0; i < 10; i++)
        count[val(d[i])]++;
    for (int i = 0; i < 10; i++)
        if (count[i] > 3)
            return false;
        else
            repeated += count[i] > 1;
    return d[0] != '0' && repeated == 1 && mod11_10(d, 11);
}
static bool hr_oib(const char *d) { return mod11_10(d, 11); }
static bool nl_bsn(const char *d) {
    static const int w[] = {9, 8, 7, 6, 5, 4, 3, 2, -1};
    return !all_same(d, 9) && weighted(d, w, 9) % 11 == 0;
}
static bool be_nrn(const char *d) {
    const unsigned long long body = number(d, 9);
    const int check = two(d + 9);
    return two(d + 2) % 20 <= 12 && two(d + 4) <= 31 &&
           (97 - (int)(body % 97) == check || 97 - (int)((2000000000ULL + body) % 97) == check);
}
static bool fr_nir(const char *d) {
    const char s = d[0];
    return (s == '1' || s == '2' || s == '7' || s == '8') && two(d + 3) % 20 <= 12 &&
           97 - (int)(number(d, 13) % 97) == two(d + 13);
}
static bool pl_pesel(const char *d) {
    static const int w[] = {1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1};
    return two(d + 2) % 20 >= 1 && two(d + 2) % 20 <= 12 && two(d + 4) >= 1 && two(d + 4) <= 31 &&
           weighted(d, w, 11) % 10 == 0;
}
static bool cz_rc(const char *d) {
    return two(d + 2) % 50 % 20 >= 1 && two(d + 2) % 50 % 20 <= 12 && two(d + 4) >= 1 && two(d + 4) <= 31 &&
           number(d, 10) % 11 == 0;
}
static bool ro_cnp(const char *d) {
    static const int w[] = {2, 7, 9, 1, 4, 6, 3, 5, 8, 2, 7, 9};
    const int c = weighted(d, w, 12) % 11;
    return d[0] != '0' && month_day(d + 3) && (c == 10 ? 1 : c) == val(d[12]);
}
static bool bg_egn(const char *d) {
    static const int w[] = {2, 4, 8, 5, 10, 9, 7, 3, 6};
    const int m = two(d + 2) % 20;
    return m >= 1 && m <= 12 && two(d + 4) >= 1 && two(d + 4) <= 31 &&
           weighted(d, w, 9) % 11 % 10 == val(d[9]);
}
static bool yu_jmbg(const char *d) {
    static const int w[] = {7, 6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2};
    const int c = 11 - weighted(d, w, 12) % 11;
    return day_month(d) && (c > 9 ? 0 : c) == val(d[12]);
}
static bool baltic(const char *d) { /* Estonia and Lithuania */
    static const int w1[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 1}, w2[] = {3, 4, 5, 6, 7, 8, 9, 1, 2, 3};
    int c = weighted(d, w1, 10) % 11;
    if (c == 10)
        c = weighted(d, w2, 10) % 11 % 10;
    return d[0] >= '1' && d[0] <= '8' && month_day(d + 3) && c == val(d[10]);
}
static bool lv_pk(const char *d) {
    static const int w[] = {1, 6, 3, 7, 9, 10, 5, 8, 4, 2};
    return day_month(d) && (1101 - weighted(d, w, 10)) % 11 % 10 == val(d[10]);
}
static bool no_fnr(const char *d) {
    static const int w1[] = {3, 7, 6, 1, 8, 9, 4, 5, 2, 1}, w2[] = {5, 4, 3, 2, 7, 6, 5, 4, 3, 2, 1};
    return two(d) % 40 >= 1 && two(d) % 40 <= 31 && two(d + 2) % 40 >= 1 && two(d + 2) % 40 <= 12 &&
           weighted(d, w1, 10) % 11 == 0 && weighted(d, w2, 11) % 11 == 0;
}
static bool se_pnr(const char *d) { return month_day(d + 2) && pii_check_luhn(d, 10); }
static bool se_pnr12(const char *d) {
    return (two(d) == 19 || two(d) == 20) && month_day(d + 4) && pii_check_luhn(d + 2, 10);
}
static bool dk_cpr(const char *d) { return day_month(d); }
static bool is_kt(const char *d) {
    static const int w[] = {3, 2, 7, 6, 5, 4, 3, 2};
    const int c = 11 - weighted(d, w, 8) % 11;
    return two(d) % 40 >= 1 && two(d) % 40 <= 31 && (c == 11 ? 0 : c) == val(d[8]) &&
           (d[9] == '0' || d[9] == '9');
}
static bool gb_nhs(const char *d) {
    static const int w[] = {10, 9, 8, 7, 6, 5, 4, 3, 2};
    const int c = 11 - weighted(d, w, 9) % 11;
    return !all_same(d, 10) && c != 10 && (c == 11 ? 0 : c) == val(d[9]);
}
static bool pt_nif(const char *d) {
    static const int w[] = {9, 8, 7, 6, 5, 4, 3, 2};
    const int c = 11 - weighted(d, w, 8) % 11;
    return memchr("125689", d[0], 6) && (c > 9 ? 0 : c) == val(d[8]);
}
static bool ch_ahv(const char *d) {
    int sum = 0;
    for (int i = 0; i < 12; i++)
        sum += val(d[i]) * (i % 2 ? 3 : 1);
    return memcmp(d, "756", 3) == 0 && (10 - sum % 10) % 10 == val(d[12]);
}
static bool at_svnr(const char *d) {
    static const int w[] = {3, 7, 9, 0, 5, 8, 4, 2, 1, 6};
    return d[0] != '0' && day_month(d + 4) && weighted(d, w, 10) % 11 == val(d[3]);
}
static bool gr_amka(const char *d) { return day_month(d) && pii_check_luhn(d, 11); }
static bool tr_tckn(const char *d) {
    int odd = 0, even = 0, all = 0;
    for (int i = 0; i < 9; i++)
        *(i % 2 ? &even : &odd) += val(d[i]);
    for (int i = 0; i < 10; i++)
        all += val(d[i]);
    return d[0] != '0' && ((odd * 7 - even) % 10 + 10) % 10 == val(d[9]) && all % 10 == val(d[10]);
}
static bool il_tz(const char *d) { return !all_same(d, 9) && pii_check_luhn(d, 9); }
static bool in_aadhaar(const char *d) {
    static const char mul[10][11] = {"0123456789", "1234067895", "2340178956", "3401289567", "4012395678",
                                     "5987604321", "6598710432", "7659821043", "8765932104", "9876543210"};
    static const char perm[8][11] = {"0123456789", "1576283094", "5803796142", "8916043527",
                                     "9453126870", "4286573901", "2793806415", "7046913258"};
    int c = 0;
    for (int i = 0; i < 12; i++)
        c = mul[c][val(perm[i % 8][val(d[11 - i])])] - '0';
    return d[0] >= '2' && c == 0;
}
static bool br_cpf(const char *d) {
    int a = 0, b = 0;
    for (int i = 0; i < 9; i++) {
        a += val(d[i]) * (10 - i);
        b += val(d[i]) * (11 - i);
    }
    a = a * 10 % 11 % 10;
    b = (b + a * 2) * 10 % 11 % 10;
    return !all_same(d, 11) && a == val(d[9]) && b == val(d[10]);
}
static bool br_cnpj(const char *d) {
    static const int w[] = {6, 5, 4, 3, 2, 9, 8, 7, 6, 5, 4, 3, 2};
    const int a = weighted(d, w + 1, 12) % 11, b = weighted(d, w, 13) % 11;
    return !all_same(d, 14) && (a < 2 ? 0 : 11 - a) == val(d[12]) && (b < 2 ? 0 : 11 - b) == val(d[13]);
}
static bool ar_cuit(const char *d) {
    static const int w[] = {5, 4, 3, 2, 7, 6, 5, 4, 3, 2};
    const int c = 11 - weighted(d, w, 10) % 11;
    return (d[0] == '2' || d[0] == '3') && (c == 11 ? 0 : c == 10 ? 9 : c) == val(d[10]);
}
static bool za_id(const char *d) {
    return month_day(d + 2) && (d[10] == '0' || d[10] == '1') && pii_check_luhn(d, 13);
}
static bool ca_sin(const char *d) { return d[0] != '0' && d[0] != '8' && pii_check_luhn(d, 9); }
static bool au_tfn(const char *d) {
    static const int w[] = {1, 4, 3, 7, 5, 8, 6, 9, 10};
    return !all_same(d, 9) && weighted(d, w, 9) % 11 == 0;
}
static bool au_medicare(const char *d) {
    static const int w[] = {1, 3, 7, 9, 1, 3, 7, 9};
    return d[0] >= '2' && d[0] <= '6' && weighted(d, w, 8) % 10 == val(d[8]);
}
static bool au_abn(const char *d) {
    static const int w[] = {10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19};
    return d[0] != '0' && (weighted(d, w, 11) - 10) % 89 == 0;
}
static bool kr_rrn(const char *d) {
    static const int w[] = {2, 3, 4, 5, 6, 7, 8, 9, 2, 3, 4, 5};
    return month_day(d + 2) && (11 - weighted(d, w, 12) % 11) % 10 == val(d[12]);
}
static bool jp_my(const char *d) {
    static const int w[] = {6, 5, 4, 3, 2, 7, 6, 5, 4, 3, 2};
    const int r = weighted(d, w, 11) % 11;
    return !all_same(d, 12) && (r <= 1 ? 0 : 11 - r) == val(d[11]);
}
static bool th_id(const char *d) {
    static const int w[] = {13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2};
    return d[0] >= '1' && d[0] <= '8' && (11 - weighted(d, w, 12) % 11) % 10 == val(d[12]);
}
static bool my_kad(const char *d) { return month_day(d + 2); }
static bool id_nik(const char *d) {
    return two(d) >= 11 && two(d) <= 94 && two(d + 6) % 40 >= 1 && two(d + 6) % 40 <= 31 && two(d + 8) >= 1 &&
           two(d + 8) <= 12;
}
static bool us_npi(const char *d) {
    char full[15];
    memcpy(full, "80840", 5);
    memcpy(full + 5, d, 10);
    return (d[0] == '1' || d[0] == '2') && pii_check_luhn(full, 15);
}

static bool cn_ric18(const char *d);

struct national {
    const char *sub;
    uint8_t len;
    bool grouped;      /* its form with separators is distinctive without a word nearby */
    const char *shape; /* that form: digits as 9, separators unchanged */
    bool (*ok)(const char *digits);
};

static const struct national table[] = {
    {"de-steuer-id", 11, false, NULL, de_steuer},
    {"hr-oib", 11, false, NULL, hr_oib},
    {"nl-bsn", 9, false, NULL, nl_bsn},
    {"be-nrn", 11, true, "99.99.99-999.99", be_nrn},
    {"fr-nir", 15, true, "9 99 99 99 999 999 99", fr_nir},
    {"pl-pesel", 11, false, NULL, pl_pesel},
    {"cz-rc", 10, true, "999999/9999", cz_rc},
    {"ro-cnp", 13, false, NULL, ro_cnp},
    {"bg-egn", 10, false, NULL, bg_egn},
    {"jmbg", 13, false, NULL, yu_jmbg},
    {"ee-lt-id", 11, false, NULL, baltic},
    {"lv-pk", 11, true, "999999-99999", lv_pk},
    {"no-fnr", 11, true, "999999 99999", no_fnr},
    {"se-pnr", 10, false, "999999-9999", se_pnr},
    {"se-pnr", 12, true, "99999999-9999", se_pnr12},
    {"dk-cpr", 10, false, "999999-9999", dk_cpr},
    {"is-kennitala", 10, false, NULL, is_kt},
    {"gb-nhs", 10, false, NULL, gb_nhs},
    {"pt-nif", 9, false, NULL, pt_nif},
    {"ch-ahv", 13, true, "999.9999.9999.99", ch_ahv},
    {"at-svnr", 10, false, NULL, at_svnr},
    {"gr-amka", 11, false, NULL, gr_amka},
    {"tr-tckn", 11, false, NULL, tr_tckn},
    {"il-tz", 9, false, NULL, il_tz},
    {"in-aadhaar", 12, false, NULL, in_aadhaar},
    {"br-cpf", 11, true, "999.999.999-99", br_cpf},
    {"br-cnpj", 14, true, "99.999.999/9999-99", br_cnpj},
    {"ar-cuit", 11, true, "99-99999999-9", ar_cuit},
    {"za-id", 13, false, NULL, za_id},
    {"ca-sin", 9, false, NULL, ca_sin},
    {"au-tfn", 9, false, NULL, au_tfn},
    {"au-medicare", 10, false, NULL, au_medicare},
    {"au-abn", 11, false, NULL, au_abn},
    {"kr-rrn", 13, true, "999999-9999999", kr_rrn},
    {"jp-mynumber", 12, false, NULL, jp_my},
    {"th-id", 13, true, "9-9999-99999-99-9", th_id},
    {"my-kad", 12, true, "999999-99-9999", my_kad},
    {"id-nik", 16, false, NULL, id_nik},
    {"us-npi", 10, false, NULL, us_npi},
    {"cn-ric", 18, true, "999999999999999999", cn_ric18},
};

static bool shape_is(struct slice text, const char *shape) {
    for (size_t i = 0; i < text.len; i++)
        if (shape[i] == '\0' || (shape[i] == '9' ? !ch_digit(text.ptr[i]) : shape[i] != text.ptr[i]))
            return false;
    return shape[text.len] == '\0';
}

bool pii_national_digits(struct detect *d, uint32_t start, uint32_t end, const char *digits, size_t len,
                         struct hints h) {
    const bool named = (h.label & (HINT_NATIONAL | HINT_SOCIAL)) || (h.near & HINT_NATIONAL);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        const struct national *t = &table[i];
        if (t->len != len)
            continue;
        const bool shaped = t->shape && shape_is(slice_of(d->p + start, end - start), t->shape);
        if ((!named && !(t->grouped && shaped)) || !t->ok(digits))
            continue;
        pii_detect_add(d, start, end, PII_NATIONAL_ID, named ? (h.label & HINT_NATIONAL ? 85 : 70) : 65,
                       t->sub);
        return true;
    }
    return false;
}

/* --- identifiers with letters: L a letter, 9 a digit, A either, - an optional separator --- */

static bool es_dni(const char *t) { return ch_upper(t[8]) == "TRWAGMYFPDXBNJZSQVHLCKE"[number(t, 8) % 23]; }
static bool es_nie(const char *t) {
    const char x = ch_upper(t[0]);
    if (x != 'X' && x != 'Y' && x != 'Z')
        return false;
    return ch_upper(t[8]) ==
           "TRWAGMYFPDXBNJZSQVHLCKE"[((unsigned long long)(x - 'X') * 10000000ULL + number(t + 1, 7)) % 23];
}
static bool it_cf(const char *t) {
    static const int odd[] = {1,  0,  5, 7, 9, 13, 15, 17, 19, 21, 2,  4,  18,
                              20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23};
    int sum = 0;
    for (int i = 0; i < 15; i++) {
        const char c = ch_upper(t[i]);
        const int v = ch_digit(c) ? val(c) : c - 'A';
        sum += i % 2 ? v : odd[v];
    }
    return memchr("ABCDEHLMPRST", ch_upper(t[8]), 12) && ch_upper(t[15]) == 'A' + sum % 26;
}
static bool fi_hetu(const char *t) {
    unsigned long long n = number(t, 6) * 1000 + number(t + 7, 3);
    return day_month(t) && ch_upper(t[10]) == "0123456789ABCDEFHJKLMNPRSTUVWXY"[n % 31];
}
static bool gb_nino(const char *t) {
    const char a = ch_upper(t[0]), b = ch_upper(t[1]), z = ch_upper(t[8]);
    return !memchr("DFIQUV", a, 6) && !memchr("DFIOQUV", b, 7) && z >= 'A' && z <= 'D' &&
           !(a == 'G' && b == 'B') && !(a == 'N' && b == 'K') && !(a == 'T' && b == 'N') &&
           !(a == 'Z' && b == 'Z');
}
static bool ie_pps(const char *t) {
    static const int w[] = {8, 7, 6, 5, 4, 3, 2};
    return ch_upper(t[7]) == "WABCDEFGHIJKLMNOPQRSTUV"[weighted(t, w, 7) % 23];
}
static bool in_pan(const char *t) { return memchr("ABCFGHLJPT", ch_upper(t[3]), 10) != NULL; }
static bool sg_nric(const char *t) {
    static const int w[] = {2, 7, 6, 5, 4, 3, 2};
    const char x = ch_upper(t[0]), z = ch_upper(t[8]);
    int sum = weighted(t + 1, w, 7);
    if (x == 'T' || x == 'G')
        sum += 4;
    if (x == 'S' || x == 'T')
        return z == "JZIHGFEDCBA"[sum % 11];
    return (x == 'F' || x == 'G') && z == "XWUTRQPNMLK"[sum % 11];
}
static bool tw_id(const char *t) {
    static const int code[] = {10, 11, 12, 13, 14, 15, 16, 17, 34, 18, 19, 20, 21,
                               22, 35, 23, 24, 25, 26, 27, 28, 29, 32, 30, 31, 33};
    const int c = code[ch_upper(t[0]) - 'A'];
    int sum = c / 10 + c % 10 * 9 + val(t[9]);
    for (int i = 1; i < 9; i++)
        sum += val(t[i]) * (9 - i);
    return (t[1] == '1' || t[1] == '2') && sum % 10 == 0;
}
static bool mx_curp(const char *t) {
    static const char alphabet[] = "0123456789ABCDEFGHIJKLMN&OPQRSTUVWXYZ";
    int sum = 0;
    for (int i = 0; i < 17; i++) {
        const char *at = memchr(alphabet, ch_upper(t[i]), sizeof(alphabet) - 1);
        if (!at)
            return false;
        sum += (int)(at - alphabet) * (18 - i);
    }
    const char sex = ch_upper(t[10]);
    return (sex == 'H' || sex == 'M') && month_day(t + 6) && (10 - sum % 10) % 10 == val(t[17]);
}
static bool cn_ric(const char *t) {
    static const int w[] = {7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2};
    return (two(t + 6) == 19 || two(t + 6) == 20) && month_day(t + 10) &&
           "10X98765432"[weighted(t, w, 17) % 11] == ch_upper(t[17]);
}
static bool cn_ric18(const char *d) { return cn_ric(d); }
static bool cl_rut(const char *t) {
    int sum = 0;
    for (int i = 0; i < 8; i++)
        sum += val(t[7 - i]) * (i % 6 + 2);
    const int c = 11 - sum % 11;
    return ch_upper(t[8]) == (c == 11 ? '0' : c == 10 ? 'K' : (char)('0' + c));
}
static bool de_rvnr(const char *t) {
    static const int w[] = {2, 1, 2, 5, 7, 1, 2, 1, 2, 1, 2, 1};
    char d[13];
    const int letter = ch_upper(t[8]) - 'A' + 1;
    memcpy(d, t, 8);
    d[8] = (char)('0' + letter / 10);
    d[9] = (char)('0' + letter % 10);
    memcpy(d + 10, t + 9, 2);
    int sum = 0;
    for (int i = 0; i < 12; i++)
        sum += val(d[i]) * w[i] / 10 + val(d[i]) * w[i] % 10;
    return day_month(t + 2) && sum % 10 == val(t[11]);
}
static bool us_mbi(const char *t) { return t[0] >= '1' && t[0] <= '9'; }

struct lettered {
    const char *sub;
    const char *shape; /* without separators */
    bool alone;        /* distinctive without a word nearby */
    bool (*ok)(const char *bare);
};

static const struct lettered letters[] = {
    {"it-cf", "LLLLLL99L99L999L", true, it_cf},     {"mx-curp", "LLLL999999LLLLLLA9", true, mx_curp},
    {"cn-ric", "99999999999999999L", true, cn_ric}, {"es-dni", "99999999L", false, es_dni},
    {"es-nie", "L9999999L", false, es_nie},         {"sg-nric", "L9999999L", false, sg_nric},
    {"gb-nino", "LL999999L", false, gb_nino},       {"ie-pps", "9999999L", false, ie_pps},
    {"ie-pps", "9999999LL", false, ie_pps},         {"in-pan", "LLLLL9999L", false, in_pan},
    {"tw-id", "L999999999", false, tw_id},          {"cl-rut", "99999999L", false, cl_rut},
    {"de-rvnr", "99999999L999", false, de_rvnr},    {"us-mbi", "9LA9LA9LL99", false, us_mbi},
};

/* Collects up to 18 letters and digits; separators only where identifiers usually have them. */
static size_t bare_word(const struct detect *d, uint32_t at, char *bare, uint32_t *ret_end) {
    size_t len = 0;
    uint32_t i = at, gap = 0;
    while (i < d->n && len < 19) {
        const char c = d->p[i];
        if (ch_alnum(c)) {
            bare[len++] = c;
            *ret_end = i + 1;
            gap = 0;
        } else if ((c == '-' || c == '.' || c == ' ') && gap == 0 && len >= 1) {
            gap = 1;
        } else {
            break;
        }
        i++;
    }
    return len;
}

static bool letter_shape(const char *bare, size_t len, const char *shape) {
    size_t k = 0;
    if ((shape[0] == 'L') != ch_alpha(bare[0]) || (shape[1] == '9') != ch_digit(bare[1]))
        return false;
    for (; shape[k]; k++) {
        if (k >= len)
            return false;
        const bool fits = shape[k] == 'L'   ? ch_alpha(bare[k])
                          : shape[k] == '9' ? ch_digit(bare[k])
                                            : ch_alnum(bare[k]);
        if (!fits)
            return false;
    }
    return k == len;
}

static size_t word_len(const struct detect *d, uint32_t at) {
    uint32_t i = at;
    while (i < d->n && i - at < 20 && ch_alnum(d->p[i]))
        i++;
    return i - at;
}

static bool hetu_at(struct detect *d, uint32_t at, uint32_t *ret_end) {
    if (d->n - at < 11 || !ch_digit(d->p[at]) || ch_alnum(detect_at(d, at + 11)) ||
        !memchr("-+A", d->p[at + 6], 3))
        return false;
    for (uint32_t i = 0; i < 10; i++)
        if (i != 6 && !ch_digit(d->p[at + i]))
            return false;
    if (!ch_alnum(d->p[at + 10]) || !fi_hetu(d->p + at))
        return false;
    *ret_end = at + 11;
    pii_detect_add(d, at, *ret_end, PII_NATIONAL_ID, 75, "fi-hetu");
    return true;
}

bool pii_national_word(struct detect *d, uint32_t at, uint32_t *ret_end) {
    char bare[20];
    uint32_t end = at;
    if (!detect_wants(d, PII_NATIONAL_ID) || !pii_detect_starts(d, at))
        return false;
    if (hetu_at(d, at, ret_end))
        return true;
    /* first in one piece, then with separators */
    for (int spread = 0; spread < 2; spread++) {
        size_t len;
        if (spread) {
            if (end - at != 2)
                return false;
            len = bare_word(d, at, bare, &end);
        } else {
            len = word_len(d, at);
            if (len > 18)
                return false;
            memcpy(bare, d->p + at, len);
            end = at + (uint32_t)len;
        }
        if (len < 8 || len > 18 || ch_alnum(detect_at(d, end)) || detect_at(d, end) == '_' ||
            detect_at(d, end) == '@')
            continue;
        for (size_t i = 0; i < ARRAY_LEN(letters); i++) {
            const struct lettered *t = &letters[i];
            if (!letter_shape(bare, len, t->shape) || !t->ok(bare))
                continue;
            const struct hints h = pii_context_of(d, at, end);
            const bool named = (h.label | h.near) & (HINT_NATIONAL | HINT_SSN);
            if (!named && !t->alone)
                continue;
            pii_detect_add(d, at, end, PII_NATIONAL_ID, named ? 85 : 70, t->sub);
            *ret_end = end;
            return true;
        }
    }
    return false;
}
