/* The detectors that examine one string: d1 to d8. */
#include "risk/poison_text.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "risk/confusable.h"
#include "risk/split.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define QUOTED_COMMENT_MAX 48 /* bytes of an HTML comment that is only shown */
#define EXCERPT_BEFORE 10     /* bytes shown before the match */

/* A string that is examined. */
struct text {
    const struct risk_toolset *ctx;
    const struct risk_neighbours *near;
    struct slice raw;
    struct slice fold; /* as risk_fold_prose gives it */
    struct slice where;
    struct arena *a;
    struct risk_findings *f;
};

static void found(struct text *x, enum risk_detector d, size_t at, size_t len) {
    size_t from = at > EXCERPT_BEFORE ? at - EXCERPT_BEFORE : 0;
    while (from < at && ((unsigned char)x->fold.ptr[from] & 0xc0) == 0x80)
        from++;
    struct slice shown = slice_upto(slice_from(x->fold, from), at - from + len + EXCERPT_BEFORE);
    risk_finding_add(x->f, d, x->where, shown, x->a);
}

/* "'\x03' for Ctrl+C", with the character itself: alone between quotes it does nothing to a terminal. Not
 * what moves its cursor or begins a sequence. */
static bool quotes_key(struct slice text, size_t at) {
    unsigned char c = (unsigned char)text.ptr[at];
    return at && at + 1 < text.len && c >= 0x01 && c <= 0x1a && !(c >= 0x07 && c <= 0x0f) &&
           text.ptr[at - 1] == text.ptr[at + 1] && memchr("'`\"", text.ptr[at - 1], 3);
}

static void detect_glyphs(struct text *x) {
    size_t len;
    for (size_t i = 0; i < x->raw.len; i += len) {
        unsigned char c = (unsigned char)x->raw.ptr[i];
        len = 1;
        if (c >= 0x20 && c < 0x7f)
            continue;
        enum risk_glyph glyph = risk_glyph_at(x->raw, i, &len);
        if (glyph == RISK_GLYPH_PLAIN)
            continue;
        enum risk_detector d = glyph == RISK_GLYPH_CONTROL ? RISK_CONTROL : RISK_INVISIBLE;
        if (d == RISK_CONTROL && quotes_key(x->raw, i))
            continue;
        if (x->f->seen & 1u << d && x->f->count == RISK_FINDINGS_MAX)
            return;
        risk_finding_add(x->f, d, x->where, slice_upto(slice_from(x->raw, i), 24), x->a);
    }
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/* Position of the first of `words` (NULL-terminated, each the beginning of a word) that starts in [from,
 * to); SIZE_MAX when there is none. One pass over the text. */
static size_t find_first(struct slice text, size_t from, size_t to, const char *const *words,
                         size_t *ret_end) {
    to = to < text.len ? to : text.len;
    for (size_t pos = from; pos < to; pos++) {
        if (pos && is_word(text.ptr[pos - 1]))
            continue;
        for (const char *const *word = words; *word; word++) {
            size_t len = strlen(*word);
            if (text.ptr[pos] != **word || pos + len > text.len || memcmp(text.ptr + pos, *word, len) != 0)
                continue;
            *ret_end = pos + len;
            return pos;
        }
    }
    return SIZE_MAX;
}

/* An instruction to a model: groups of words that follow each other within a distance. */
struct pattern {
    const char *const *groups[3]; /* the last ones may be NULL */
    size_t gaps[2];
    bool sentence; /* the last group stands in the sentence of the one before it */
};

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})
static const struct pattern patterns[] = {
    {{WORDS("ignore", "disregard", "override", "forget", "bypass"),
      WORDS("previous", "prior", "above", "all", "earlier", "any other", "your", "the system"),
      WORDS("instruction", "rules", "prompt", "guideline", "safety", "polic")},
     {30, 24}},
    {{WORDS("do not", "don't", "dont", "never", "without"),
      WORDS("tell", "inform ", "informs", "informing", "mention", "reveal", "notif", "alert",
            "let the user know", "disclos"),
      WORDS("user", "human", "anyone", "this to")},
     {12, 30}},
    {{WORDS("before using", "after using", "before calling", "after calling", "before you use", "when using",
            "whenever", "before invoking", "when send", "when any"),
      WORDS("tool"),
      WORDS("read ", "send ", "call ", "include ", "pass ", "forward ", "bcc", "add ", "cat ")},
     {30, 60}},
    {{WORDS("you must first", "you must always", "always first", "must first"),
      WORDS("read", "call", "include", "pass", "send", "cat "), NULL},
     {4, 0}},
    /* not "If provided, the content to write" */
    {{WORDS("pass ", "send ", "include ", "put ", "forward ", "supply ", "provide ", "place ", "append "),
      WORDS("its content", "its contents", "their content", "the content", "the contents", "the file",
            "everything", "the full conversation", "the conversation", "all previous"),
      WORDS("as ", "in ", "to ", "into ")},
     {12, 60},
     true},
    /* what was read; an honest tool says "pass it as cursor" of what it returned */
    {{WORDS("read", "cat ", "open ", "load ", "copy "),
      WORDS("pass it", "send it", "include it", "put it", "forward it", "provide it", "append it",
            "pass them", "send them", "include them", "put them", "pass the key", "send the key",
            "include the key"),
      WORDS("as ", "in ", "to ", "into ")},
     {80, 20}},
    {{WORDS("read", "cat", "open", "load", "fetch"),
      WORDS("~/.", "/etc/", "id_rsa", ".env", "mcp.json", "credentials"),
      WORDS("pass", "send", "include", "put", "forward", "provide", "append")},
     {30, 60}},
};

static size_t sentence_end(struct slice text, size_t from, size_t to) {
    for (size_t i = from; i + 1 < text.len && i < to; i++)
        if (text.ptr[i] == '.' && text.ptr[i + 1] == ' ')
            return i;
    return to;
}

static bool match_rest(struct slice text, const struct pattern *p, size_t end, size_t *ret_end) {
    size_t at = end, stop = end + p->gaps[0], second_end = 0;
    for (;;) {
        size_t second = find_first(text, at, stop + 1, p->groups[1], &second_end);
        if (second == SIZE_MAX)
            return false;
        if (!p->groups[2]) {
            *ret_end = second_end;
            return true;
        }
        size_t third_end;
        size_t last = second_end + p->gaps[1] + 1;
        if (p->sentence)
            last = sentence_end(text, second_end, last);
        if (find_first(text, second_end, last, p->groups[2], &third_end) != SIZE_MAX) {
            *ret_end = third_end;
            return true;
        }
        at = second + 1;
    }
}

static void detect_imperative(struct text *x) {
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        size_t at = 0, end = 0, last;
        while ((at = find_first(x->fold, at, x->fold.len, patterns[i].groups[0], &end)) != SIZE_MAX) {
            if (match_rest(x->fold, &patterns[i], end, &last)) {
                found(x, RISK_IMPERATIVE, at, last - at);
                return;
            }
            at = end;
        }
    }
}

static const char *const tags[] = {"important", "system",        "instructions", "instruction",
                                   "secret",    "admin",         "hidden",       "override",
                                   "assistant", "system_prompt", "critical",     NULL};

/* '<!-- TODO -->' or `<!-- p.1 -->`: a short comment between quotes is what the tool writes or looks for.
 * What is in it is examined like all other text. */
static bool quotes_comment(struct slice text, size_t at) {
    if (!at || !memchr("'`\"", text.ptr[at - 1], 3))
        return false;
    struct slice shown = slice_upto(slice_from(text, at), QUOTED_COMMENT_MAX);
    const char *end = memmem(shown.ptr, shown.len, "-->", 3);
    return end && end + 3 < text.ptr + text.len && end[3] == text.ptr[at - 1];
}

static void detect_tags(struct text *x) {
    for (size_t i = 0; i + 1 < x->fold.len; i++) {
        if (x->fold.ptr[i] != '<')
            continue;
        struct slice rest = slice_from(x->fold, i + 1);
        if (slice_starts(rest, SLICE("!--")) && !quotes_comment(x->fold, i)) {
            found(x, RISK_PSEUDO_TAG, i, 24);
            return;
        }
        if (rest.ptr[0] == '/')
            rest = slice_from(rest, 1);
        for (const char *const *tag = tags; *tag; tag++) {
            struct slice name = slice_str(*tag);
            if (slice_starts(rest, name) && rest.len > name.len &&
                (rest.ptr[name.len] == '>' || rest.ptr[name.len] == ' ')) {
                found(x, RISK_PSEUDO_TAG, i, name.len + 2);
                return;
            }
        }
    }
}

static void detect_paths(struct text *x) {
    static const char *const paths[] = {"~/.ssh",
                                        "/.ssh/",
                                        ".ssh/id_",
                                        "id_rsa",
                                        "id_ed25519",
                                        ".aws/credentials",
                                        "mcp.json",
                                        "/.cursor",
                                        "~/.cursor",
                                        ".cursor/",
                                        "/etc/passwd",
                                        "/etc/shadow",
                                        ".kube/config",
                                        "keychain",
                                        "wallet.dat",
                                        ".git-credentials",
                                        "authorized_keys",
                                        ".bash_history",
                                        ".netrc",
                                        "claude_desktop_config",
                                        "~/.claude",
                                        ".docker/config.json",
                                        NULL};
    for (const char *const *p = paths; *p; p++) {
        const char *hit = slice_search(x->fold, slice_str(*p));
        if (!hit)
            continue;
        found(x, RISK_SENSITIVE, (size_t)(hit - x->fold.ptr), strlen(*p));
        return;
    }
    /* ".env" as a file name, not inside process.env or a longer word */
    for (size_t i = 0; i + 4 <= x->fold.len; i++) {
        if (memcmp(x->fold.ptr + i, ".env", 4) != 0)
            continue;
        char left = i ? x->fold.ptr[i - 1] : ' ', right = i + 4 < x->fold.len ? x->fold.ptr[i + 4] : ' ';
        if (is_word(left) || left == '_' || left == ')' || is_word(right) || right == '_')
            continue;
        found(x, RISK_SENSITIVE, i, 4);
        return;
    }
}

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.';
}

/* A word with a separator that is the name of another server's tool. */
static void detect_other_tools(struct text *x) {
    if (!x->near || !x->near->others)
        return;
    for (size_t i = 0; i < x->raw.len;) {
        size_t start = i;
        while (i < x->raw.len && is_name_char(x->raw.ptr[i]))
            i++;
        struct slice word = slice_of(x->raw.ptr + start, i - start);
        while (word.len && (word.ptr[word.len - 1] == '.' || word.ptr[word.len - 1] == '-'))
            word.len--;
        bool compound = slice_find(word, '_') > 0 || slice_find(word, '-') > 0;
        if (compound && map_get(x->near->others, word))
            risk_finding_add(x->f, RISK_OTHER_TOOL, x->where, word, x->a);
        i += i == start;
    }
}

static bool host_is_known(const struct text *x, struct slice host) {
    static const char *const documentation[] = {"github.com",
                                                "githubusercontent.com",
                                                "npmjs.com",
                                                "readthedocs.io",
                                                "wikipedia.org",
                                                "w3.org",
                                                "json-schema.org",
                                                "example.com",
                                                "example.org",
                                                "example.net",
                                                "localhost",
                                                "127.0.0.1",
                                                "modelcontextprotocol.io",
                                                "schema.org",
                                                "mozilla.org",
                                                "ietf.org",
                                                "iso.org",
                                                "unicode.org",
                                                "rfc-editor.org",
                                                "youtube.com",
                                                "google.com",
                                                "microsoft.com",
                                                NULL};
    for (const char *const *d = documentation; *d; d++) {
        struct slice known = slice_str(*d);
        if (slice_ends(host, known) && (host.len == known.len || host.ptr[host.len - known.len - 1] == '.'))
            return true;
    }
    if (slice_starts(host, SLICE("docs.")) || slice_starts(host, SLICE("developer")) ||
        slice_starts(host, SLICE("example")))
        return true;
    for (size_t i = 0; x->ctx && i < x->ctx->server_word_count; i++) {
        struct slice word = x->ctx->server_words[i];
        if (word.len >= 3 && !slice_is(word, "mcp") && !slice_is(word, "server") &&
            memmem(host.ptr, host.len, word.ptr, word.len))
            return true;
    }
    return false;
}

static void detect_hosts(struct text *x) {
    size_t at = 0;
    while (at < x->fold.len) {
        const char *hit = memmem(x->fold.ptr + at, x->fold.len - at, "://", 3);
        if (!hit)
            return;
        size_t start = (size_t)(hit - x->fold.ptr) + 3, end = start;
        while (end < x->fold.len &&
               (is_word(x->fold.ptr[end]) || x->fold.ptr[end] == '.' || x->fold.ptr[end] == '-'))
            end++;
        struct slice host = slice_of(x->fold.ptr + start, end - start);
        if (slice_find(host, '.') > 0 && !host_is_known(x, host)) {
            risk_finding_add(x->f, RISK_FOREIGN_HOST, x->where, host, x->a);
            return;
        }
        at = end;
    }
}

static void detect_blob(struct text *x) {
    size_t run = 0, digits = 0, letters = 0;
    for (size_t i = 0; i <= x->raw.len; i++) {
        char c = i < x->raw.len ? x->raw.ptr[i] : ' ';
        bool digit = c >= '0' && c <= '9', letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (digit || letter || c == '+' || c == '/' || c == '=') {
            run++;
            digits += digit;
            letters += letter;
            continue;
        }
        if (run >= RISK_BLOB_BYTES && digits * 20 > run && letters) {
            risk_finding_add(x->f, RISK_BLOB, x->where, slice_of(x->raw.ptr + i - run, run), x->a);
            return;
        }
        run = digits = letters = 0;
    }
}

void risk_poison_text(const struct risk_toolset *ctx, const struct risk_neighbours *near, struct slice text,
                      struct slice where, struct arena *a, struct risk_findings *f) {
    if (!text.len)
        return;
    text = slice_upto(text, RISK_TEXT_BYTES_MAX);
    struct text x = {.ctx = ctx, .near = near, .raw = text, .where = where, .a = a, .f = f};
    detect_glyphs(&x);
    if (text.len < 4)
        return;
    x.fold = risk_fold_prose(text, a);
    detect_tags(&x);
    detect_imperative(&x);
    detect_paths(&x);
    detect_other_tools(&x);
    detect_hosts(&x);
    detect_blob(&x);
}

/* ---- results: a fast check, because most of them are clean ---- */

enum suspicion {
    SUSPECT_BYTES = 1, /* invisible or control characters */
    SUSPECT_TEXT = 2,  /* a possible tag or path, or look-alike letters */
    SUSPECT_ESCAPE = 4 /* a JSON escape: the decoded character must be examined */
};

/* Folding may turn it into a letter. Characters that folding drops are suspicious themselves, and so is
 * every escape that may encode one. */
static bool is_foldable(char c) { return (unsigned char)c >= 0x80; }

/* May the folded text contain this word? */
static bool may_say(struct slice text, size_t at, const char *lower) {
    for (; *lower; lower++, at++) {
        if (at >= text.len)
            return false;
        if (is_foldable(text.ptr[at]))
            return true;
        if ((text.ptr[at] | 0x20) != (*lower | 0x20))
            return false;
    }
    return true;
}

/* Like may_say for a word that ends before `at`. */
static bool may_end(struct slice text, size_t at, struct slice lower) {
    for (size_t i = 1; i <= lower.len; i++) {
        if (at < i)
            return false;
        if (is_foldable(text.ptr[at - i]))
            return true;
        if ((text.ptr[at - i] | 0x20) != lower.ptr[lower.len - i])
            return false;
    }
    return true;
}

static bool marks_tag(struct slice text, size_t at) {
    if (may_say(text, at + 1, "!--"))
        return true;
    at += at + 1 < text.len && text.ptr[at + 1] == '/' ? 2 : 1;
    for (const char *const *tag = tags; *tag; tag++)
        if (may_say(text, at, *tag))
            return true;
    return false;
}

/* A sensitive path has one of these around its dot, underscore or slash. */
static bool marks_path(struct slice text, size_t at) {
    static const char *const behind_dot[26][2] = {
        ['a' - 'a'] = {"aws/"},    ['b' - 'a'] = {"bash_"}, ['c' - 'a'] = {"cursor", "claude"},
        ['d' - 'a'] = {"docker/"}, ['e' - 'a'] = {"env"},   ['g' - 'a'] = {"git-"},
        ['k' - 'a'] = {"kube/"},   ['n' - 'a'] = {"netrc"}, ['s' - 'a'] = {"ssh"},
    };
    /* Most dots end a sentence or are part of a number. */
    char next = at + 1 < text.len ? (char)(text.ptr[at + 1] | 0x20) : ' ';
    if (next < 'a' || next > 'z')
        return false;
    if (text.ptr[at] == '/')
        return may_say(text, at, "/etc/");
    if (text.ptr[at] == '_')
        return may_say(text, at, "_rsa") || may_say(text, at, "_ed25519") || may_say(text, at, "_keys") ||
               may_say(text, at, "_desktop");
    for (int i = 0; i < 2 && behind_dot[next - 'a'][i]; i++)
        if (may_say(text, at + 1, behind_dot[next - 'a'][i]))
            return true;
    return (may_say(text, at + 1, "json") && may_end(text, at, SLICE("mcp"))) ||
           (may_say(text, at + 1, "dat") && may_end(text, at, SLICE("wallet")));
}

/* Suspicions of a non-ASCII or control character at `at`. */
static uint32_t suspect_glyph(struct slice text, size_t at) {
    size_t len;
    uint32_t cp = glyph_next(text, at, &len);
    if (glyph_is_control(cp) || glyph_is_invisible(cp)) /* it may stand inside of a word */
        return SUSPECT_BYTES | SUSPECT_TEXT;
    /* Greek, Cyrillic, full-width, mathematical and circled letters may stand for Latin ones, and some marks
     * for those in paths. */
    bool alike = (cp >= 0x340 && cp < 0x500) || (cp >= 0xf000 && cp < 0x10000) ||
                 (cp >= 0x1d000 && cp < 0x1e000) || (cp >= 0x24b6 && cp <= 0x24e9) || cp == 0x2024 ||
                 cp == 0x2044 || cp == 0x2215;
    return alike ? SUSPECT_TEXT : 0;
}

/* For JSON, any suspicion is enough. */
static bool is_enough(uint32_t seen, bool json) {
    return json ? seen != 0 : seen == (SUSPECT_BYTES | SUSPECT_TEXT);
}

static uint32_t suspect_at(struct slice text, size_t i, bool json) {
    char next = i + 1 < text.len ? text.ptr[i + 1] : 0;
    switch (text.ptr[i]) {
    case '<':
        return marks_tag(text, i) ? SUSPECT_TEXT : 0;
    case '.':
    case '_':
    case '/':
        return marks_path(text, i) ? SUSPECT_TEXT : 0;
    case '\\':
        return json && (next == 'u' || next == '/' || next == 'b' || next == 'f') ? SUSPECT_ESCAPE : 0;
    default:
        return suspect_glyph(text, i);
    }
}

/* For non-ASCII text only the first byte counts, and only where a suspicious character may begin with it. */
static const uint8_t may_begin[256] = {
    [0 ... 8] = 1,       [11 ... 12] = 1, [14 ... 31] = 1,     ['<'] = 1,           ['.'] = 1,
    ['_'] = 1,           ['/'] = 1,       ['\\'] = 1,          [127] = 1,           [0xc2] = 1,
    [0xcd ... 0xd3] = 1, [0xd8] = 1,      [0xe1 ... 0xe3] = 1, [0xef ... 0xf0] = 1, [0xf3] = 1};

#ifdef __SSE2__
/* Bits of a byte that may be suspicious, by its two nibbles. The last five count only before certain bytes.
 */
enum {
    LOOK_LOW = 1,
    BYTE_CONTROL = 2,
    BYTE_TAG = 4, /* and DEL; includes the harmless `?` and `|` */
    BYTE_ALONE = 7,
    BYTE_SHORT = 8,
    BYTE_DOT = 16,
    BYTE_SLASH = 32,
    BYTE_ESCAPE = 64,
    BYTE_LINE = -128,
};

__attribute__((target("avx2"))) static inline __m256i look_up(__m128i by_low, __m128i by_high, __m256i v) {
    const __m256i half = _mm256_set1_epi8(15);
    __m256i low = _mm256_and_si256(v, half), high = _mm256_and_si256(_mm256_srli_epi16(v, 4), half);
    return _mm256_and_si256(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(by_low), low),
                            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(by_high), high));
}

/* Bit mask of the bytes out of 32 that must be examined; the byte after them is readable. False positives
 * are possible, but rare in prose. */
__attribute__((target("avx2"))) static inline uint32_t suspicious_bytes(const char *at) {
    enum { A = BYTE_ALONE, B = BYTE_SHORT, D = BYTE_DOT, S = BYTE_SLASH, E = BYTE_ESCAPE, U = BYTE_LINE };
    const __m128i low = _mm_setr_epi8(3, 3, 3, 3, 3, 3, 3, 3, 3, 2, 2, 3, 3 | BYTE_TAG | E | B, 2, 3 | D,
                                      3 | BYTE_TAG | S | U),
                  high = _mm_setr_epi8(LOOK_LOW, BYTE_CONTROL, D | S, BYTE_TAG, 0, E | B | U, 0, BYTE_TAG, 0,
                                       0, 0, 0, 0, 0, 0, 0);
    /* Behind: a dot the first letters of what marks_path knows, and so on. */
    const __m128i next_low = _mm_setr_epi8(A, A | D, A | D | B | U, A | D, A | D | U, A | D | S | E | U,
                                           A | B, A | D, A, A, A | D, A | D | U, A, A, A | D, A | E),
                  next_high = _mm_setr_epi8(A, A, A | E, A, A | D | S | U, A | D | U, A | D | S | B | U,
                                            A | D | E | U, A, A, A, A, A, A, A, A);
    /* Suspicious characters beyond ASCII, by the upper half of their first byte: c, d, e and f. */
    const __m128i far_low = _mm_setr_epi8(2 | 8, 2 | 4, 1 | 2 | 4, 2 | 4 | 8, 0, 0, 0, 0, 2, 0, 0, 0, 0, 1, 1,
                                          1 | 4),
                  far_high = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8);
    __m256i v = _mm256_loadu_si256((const __m256i *)(const void *)at);
    __m256i next = _mm256_loadu_si256((const __m256i *)(const void *)(at + 1));
    __m256i says = _mm256_and_si256(look_up(low, high, v), look_up(next_low, next_high, next));
    __m256i silent = _mm256_cmpeq_epi8(says, _mm256_setzero_si256());
    uint32_t bits = ~(uint32_t)_mm256_movemask_epi8(silent), far = (uint32_t)_mm256_movemask_epi8(v);
    if (far)
        bits |= far & ~(uint32_t)_mm256_movemask_epi8(
                          _mm256_cmpeq_epi8(look_up(far_low, far_high, v), _mm256_setzero_si256()));
    return bits;
}

__attribute__((target("avx2"))) static uint32_t suspicions_wide(struct slice text, bool json,
                                                                size_t *ret_at) {
    uint32_t seen = 0;
    size_t at = 0;
    for (; text.len - at > 32; at += 32) {
        uint32_t bits = suspicious_bytes(text.ptr + at);
        if (!bits)
            continue;
        for (; bits; bits &= bits - 1)
            seen |= suspect_at(text, at + (size_t)__builtin_ctz(bits), json);
        if (is_enough(seen, json))
            break;
    }
    *ret_at = at;
    return seen;
}
#endif

/* Scans until the result is known; nearly all bytes are harmless. */
static uint32_t suspicions(struct slice text, bool json) {
    uint32_t seen = 0;
    size_t at = 0;
#ifdef __SSE2__
    if (text.len > 32 && cpu_avx2)
        seen = suspicions_wide(text, json, &at);
#endif
    for (; at < text.len && !is_enough(seen, json); at++)
        if (may_begin[(unsigned char)text.ptr[at]])
            seen |= suspect_at(text, at, json);
    return seen;
}

bool risk_suspects_result(struct slice json) { return suspicions(json, true) != 0; }

void risk_detect_result(struct slice text, struct slice where, struct arena *a, struct risk_findings *f) {
    text = slice_upto(text, RISK_TEXT_BYTES_MAX);
    struct text x = {.raw = text, .where = where, .a = a, .f = f};
    uint32_t suspect = suspicions(text, false);
    if (suspect & SUSPECT_BYTES)
        detect_glyphs(&x);
    if (!(suspect & SUSPECT_TEXT))
        return;
    x.fold = risk_fold_prose(text, a);
    detect_tags(&x);
    detect_paths(&x);
    if (f->seen & (1u << RISK_PSEUDO_TAG | 1u << RISK_SENSITIVE))
        detect_imperative(&x);
}
