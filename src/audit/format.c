#include "audit/format.h"

#include "base/clock.h"
#include "base/glyph.h"
#include "base/mem.h"
#include "wire/emit.h"
#include "wire/tape.h"

#include <inttypes.h>
#include <stdio.h>

#define LINE_TEXT_MAX 200

void audit_format_time(uint64_t time_us, char text[AUDIT_TIME_TEXT]) {
    char ms[CLOCK_TEXT_MAX];
    clock_text(time_us / 1000, ms);
    snprintf(text, AUDIT_TIME_TEXT, "%.*s%03uZ", (int)strlen(ms) - 1, ms, (unsigned)(time_us % 1000));
}

void audit_format_local_time(uint64_t time_us, char text[AUDIT_TIME_TEXT]) {
    enum { ZONE_AT = sizeof("2026-01-02T03:04:05.678") - 1 };
    char ms[CLOCK_TEXT_MAX];
    clock_local_text(time_us / 1000, ms);
    snprintf(text, AUDIT_TIME_TEXT, "%.*s%03u%s", (int)ZONE_AT, ms, (unsigned)(time_us % 1000), ms + ZONE_AT);
}

/* ---- a line ---- */

/* Bytes from outside must not reach the terminal as control sequences or be invisible there. */
static void put_plain(struct buf *out, struct slice text) {
    cleanup_arena struct arena a;
    arena_init(&a);
    buf_put_slice(out, glyph_printable(text, LINE_TEXT_MAX, &a));
}

static void put_field(struct buf *out, const char *before, struct slice text) {
    if (text.len == 0)
        return;
    buf_put_str(out, before);
    put_plain(out, text);
}

static void put_outcome_line(struct buf *out, const struct audit_record *o) {
    put_field(out, "  ", o->text[AUDIT_STATUS]);
    buf_printf(out, " in %" PRIu64 ".%03" PRIu64 " ms", o->number[AUDIT_LATENCY_US] / 1000,
               o->number[AUDIT_LATENCY_US] % 1000);
}

void audit_format_line(struct buf *out, const struct audit_entry *e) {
    const struct audit_record *r = e->record;
    char time[AUDIT_TIME_TEXT];
    audit_format_local_time(r->number[AUDIT_TIME_US], time);
    buf_printf(out, "%8" PRIu64 "  %s  ", e->seq, time);
    if (e->gate.len) {
        put_plain(out, e->gate);
        buf_put_str(out, "  ");
    }
    switch (r->kind) {
    case AUDIT_KIND_DECISION:
        put_plain(out, r->text[AUDIT_VERDICT]);
        put_field(out, "  ", r->text[AUDIT_SERVER]);
        put_field(out, "  ", r->text[AUDIT_TOOL].len ? r->text[AUDIT_TOOL] : r->text[AUDIT_METHOD]);
        put_field(out, "  by ", r->text[AUDIT_RULE]);
        put_field(out, "  grant ", r->text[AUDIT_GRANT]);
        put_field(out, "  ", r->text[AUDIT_TEXT]);
        if (r->text[AUDIT_SHADOW].len)
            buf_put_str(out, "  (shadow verdicts)");
        if (e->outcome)
            put_outcome_line(out, e->outcome);
        break;
    case AUDIT_KIND_OUTCOME:
        buf_printf(out, "outcome of call %" PRIu64, r->number[AUDIT_CALL]);
        put_outcome_line(out, r);
        put_field(out, "  ", r->text[AUDIT_TEXT]);
        break;
    case AUDIT_KIND_EVENT:
        buf_put_str(out, "event ");
        put_plain(out, r->text[AUDIT_EVENT]);
        put_field(out, " by ", r->text[AUDIT_IDENTITY]);
        put_field(out, "  ", r->text[AUDIT_TOOL]);
        put_field(out, "  ", r->text[AUDIT_POLICY]);
        put_field(out, "  ", r->text[AUDIT_TEXT]);
        break;
    }
    buf_put_char(out, '\n');
}

/* ---- JSON ---- */

/* Members that contain JSON are inserted as they are, unless they were cut. */
static void put_json_member(struct emit *e, const char *name, struct slice text) {
    cleanup_tape struct tape t;
    tape_init(&t);
    emit_key(e, name);
    if (tape_parse(&t, text, NULL) == TAPE_OK)
        emit_raw(e, text);
    else
        emit_str(e, text);
}

static void put_time(struct emit *e, uint64_t time_us) {
    char time[AUDIT_TIME_TEXT];
    audit_format_time(time_us, time);
    emit_key(e, "time");
    emit_cstr(e, time);
}

static void put_record(struct emit *e, const struct audit_record *r) {
    put_time(e, r->number[AUDIT_TIME_US]);
    for (size_t i = AUDIT_CALL; i < AUDIT_NUMBERS; i++) {
        bool outcome = i == AUDIT_LATENCY_US || i == AUDIT_BYTES_IN || i == AUDIT_BYTES_OUT;
        if (r->number[i] == 0 && !(outcome && r->kind == AUDIT_KIND_OUTCOME))
            continue;
        emit_key(e, audit_number_names[i]);
        emit_int(e, (int64_t)r->number[i]);
    }
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        if (r->text[i].len == 0)
            continue;
        if (i == AUDIT_ARGS || i == AUDIT_SHADOW) {
            put_json_member(e, audit_text_names[i], r->text[i]);
            continue;
        }
        emit_key(e, audit_text_names[i]);
        emit_str(e, r->text[i]);
    }
}

/* ---- for programs ---- */

/* Exported text may still be displayed in a terminal. The length of the control character at `at`, 0 when
 * it is none: code points 0x80-0x9f (C2 80 … C2 9F) are control characters too. */
static size_t control_at(struct slice text, size_t at) {
    unsigned char c = (unsigned char)text.ptr[at];
    if (c == 0xc2)
        return at + 1 < text.len && (unsigned char)text.ptr[at + 1] < 0xa0 ? 2 : 0;
    return c < 0x20 || c == 0x7f;
}

/* JSON does not escape these, and they can only occur in strings. */
static void escape_controls(struct buf *out, size_t from) {
    struct slice text = slice_of(out->ptr + from, out->len - from);
    if (!memchr(text.ptr, 0x7f, text.len) && !memchr(text.ptr, 0xc2, text.len))
        return;
    cleanup_free char *copy = mem_dup(text.ptr, text.len);
    text.ptr = copy;
    out->len = from;
    size_t len;
    for (size_t i = 0; i < text.len; i += len ? len : 1) {
        len = control_at(text, i);
        if (len)
            buf_printf(out, "\\u%04x", (unsigned char)text.ptr[i + len - 1]);
        else
            buf_put_char(out, text.ptr[i]);
    }
}

void audit_format_json(struct buf *out, const struct audit_entry *entry) {
    size_t from = out->len;
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    if (entry->gate.len) {
        emit_key(&e, "gate");
        emit_str(&e, entry->gate);
        emit_key(&e, "chain");
        emit_int(&e, (int64_t)entry->chain);
    }
    emit_key(&e, "seq");
    emit_int(&e, (int64_t)entry->seq);
    emit_key(&e, "kind");
    emit_cstr(&e, audit_kind_name(entry->record->kind));
    put_record(&e, entry->record);
    if (entry->outcome) {
        emit_key(&e, "outcome");
        emit_object(&e);
        emit_key(&e, "seq");
        emit_int(&e, (int64_t)entry->outcome_seq);
        put_record(&e, entry->outcome);
        emit_object_end(&e);
    }
    emit_object_end(&e);
    escape_controls(out, from);
}

/* ---- CSV ---- */

void audit_format_csv_head(struct buf *out) {
    buf_put_str(out, "seq,kind,time");
    for (size_t i = AUDIT_CALL; i < AUDIT_NUMBERS; i++)
        buf_printf(out, ",%s", audit_number_names[i]);
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        buf_printf(out, ",%s", audit_text_names[i]);
    buf_put_str(out, ",gate\r\n");
}

static void put_cell(struct buf *out, struct slice text) {
    buf_put_str(out, ",\"");
    /* Spreadsheets execute cells that begin like a formula. */
    if (text.len > 0 && memchr("=+-@\t\r\n", text.ptr[0], 7))
        buf_put_char(out, '\'');
    size_t len;
    for (size_t i = 0; i < text.len; i += len ? len : 1) {
        len = control_at(text, i);
        if (text.ptr[i] == '"')
            buf_put_char(out, '"');
        buf_put_char(out, len ? ' ' : text.ptr[i]);
    }
    buf_put_char(out, '"');
}

void audit_format_csv(struct buf *out, const struct audit_entry *e) {
    char time[AUDIT_TIME_TEXT];
    audit_format_time(e->record->number[AUDIT_TIME_US], time);
    buf_printf(out, "%" PRIu64 ",%s,%s", e->seq, audit_kind_name(e->record->kind), time);
    for (size_t i = AUDIT_CALL; i < AUDIT_NUMBERS; i++)
        buf_printf(out, ",%" PRIu64, e->record->number[i]);
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        put_cell(out, e->record->text[i]);
    put_cell(out, e->gate);
    buf_put_str(out, "\r\n");
}

/* ---- CEF ---- */

/* `special` are the characters that need a backslash. */
static void put_cef(struct buf *out, struct slice text, const char *special) {
    size_t len;
    for (size_t i = 0; i < text.len; i += len ? len : 1) {
        char c = text.ptr[i];
        len = control_at(text, i);
        if (c == '\n' || c == '\r')
            buf_put_str(out, special[1] == '|' ? " " : c == '\n' ? "\\n" : "\\r");
        else if (len)
            buf_put_char(out, ' ');
        else {
            if (strchr(special, c))
                buf_put_char(out, '\\');
            buf_put_char(out, c);
        }
    }
}

static void put_cef_member(struct buf *out, const char *key, struct slice text) {
    if (text.len == 0)
        return;
    buf_printf(out, " %s=", key);
    put_cef(out, text, "\\=");
}

void audit_format_cef(struct buf *out, const struct audit_entry *e) {
    static const struct {
        const char *key;
        enum audit_text text;
    } rows[] = {
        {"act", AUDIT_VERDICT},
        {"outcome", AUDIT_STATUS},
        {"reason", AUDIT_REASON},
        {"suser", AUDIT_IDENTITY},
        {"duser", AUDIT_GRANT},
        {"dhost", AUDIT_SERVER},
        {"requestMethod", AUDIT_METHOD},
        {"cs1", AUDIT_TOOL},
        {"cs2", AUDIT_RULE},
        {"cs3", AUDIT_POLICY_HASH},
        {"cs4", AUDIT_SESSION},
        {"cs5", AUDIT_ARGS_HASH},
        {"cs6", AUDIT_ARGS},
        {"msg", AUDIT_TEXT},
        {"flexString1", AUDIT_POLICY},
        {"flexString2", AUDIT_POLICY_VERSION},
        {"deviceExternalId", AUDIT_INSTANCE},
    };
    const struct audit_record *r = e->record;
    bool denied = slice_is(r->text[AUDIT_VERDICT], "deny");
    struct slice name = r->text[AUDIT_TOOL].len ? r->text[AUDIT_TOOL] : r->text[AUDIT_METHOD];
    if (r->kind != AUDIT_KIND_DECISION)
        name = r->kind == AUDIT_KIND_EVENT ? r->text[AUDIT_EVENT] : SLICE("outcome");
    buf_printf(out, "CEF:0|Sallyport|sallyport|%s|%s|", SALLYPORT_VERSION, audit_kind_name(r->kind));
    put_cef(out, name, "\\|");
    buf_printf(out, "|%d|rt=%" PRIu64 " externalId=%" PRIu64 " cn1Label=call cn1=%" PRIu64, denied ? 6 : 2,
               r->number[AUDIT_TIME_US] / 1000, e->seq, r->number[AUDIT_CALL]);
    if (r->kind == AUDIT_KIND_OUTCOME)
        buf_printf(out, " cn2Label=latency_us cn2=%" PRIu64 " in=%" PRIu64 " out=%" PRIu64,
                   r->number[AUDIT_LATENCY_US], r->number[AUDIT_BYTES_IN], r->number[AUDIT_BYTES_OUT]);
    put_cef_member(out, "dvchost", e->gate);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slice text = r->text[rows[i].text];
        bool custom = rows[i].key[0] == 'c' || rows[i].key[0] == 'f';
        if (text.len && custom)
            buf_printf(out, " %sLabel=%s", rows[i].key, audit_text_names[rows[i].text]);
        put_cef_member(out, rows[i].key, text);
    }
    buf_put_char(out, '\n');
}
