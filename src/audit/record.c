#include "audit/record.h"

#include "base/mem.h"

#define NUMBER_BYTES_MAX 10
#define LENGTH_BYTES_MAX 3 /* of a text's length: every text is below 2^21 bytes */

const char *const audit_number_names[AUDIT_NUMBERS] = {
    [AUDIT_TIME_US] = "time_us",       [AUDIT_CALL] = "call",         [AUDIT_PARENT] = "parent",
    [AUDIT_LATENCY_US] = "latency_us", [AUDIT_BYTES_IN] = "bytes_in", [AUDIT_BYTES_OUT] = "bytes_out",
};

const char *const audit_text_names[AUDIT_TEXTS] = {
    [AUDIT_INSTANCE] = "instance",
    [AUDIT_EVENT] = "event",
    [AUDIT_IDENTITY] = "identity",
    [AUDIT_GRANT] = "grant",
    [AUDIT_SESSION] = "session",
    [AUDIT_SERVER] = "server",
    [AUDIT_METHOD] = "method",
    [AUDIT_TOOL] = "tool",
    [AUDIT_VERDICT] = "verdict",
    [AUDIT_REASON] = "reason",
    [AUDIT_RULE] = "rule",
    [AUDIT_POINTER] = "pointer",
    [AUDIT_POLICY] = "policy",
    [AUDIT_POLICY_HASH] = "policy_hash",
    [AUDIT_TEXT] = "text",
    [AUDIT_SHADOW] = "shadow",
    [AUDIT_ARGS_MODE] = "args_mode",
    [AUDIT_ARGS] = "args",
    [AUDIT_ARGS_HASH] = "args_hash",
    [AUDIT_FINGERPRINT] = "fingerprint",
    [AUDIT_STATUS] = "status",
    [AUDIT_CLASS] = "class",
    [AUDIT_POLICY_VERSION] = "policy_version",
};

const char *audit_kind_name(enum audit_kind kind) {
    switch (kind) {
    case AUDIT_KIND_DECISION:
        return "decision";
    case AUDIT_KIND_OUTCOME:
        return "outcome";
    case AUDIT_KIND_EVENT:
        return "event";
    }
    return "?";
}

static size_t text_max(size_t i) { return i == AUDIT_ARGS ? AUDIT_ARGS_MAX : AUDIT_FIELD_MAX; }

static void cut_texts(struct audit_record *r) {
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        size_t max = text_max(i);
        if (r->text[i].len <= max)
            continue;
        while (max > 0 && (r->text[i].ptr[max] & 0xc0) == 0x80)
            max--;
        r->text[i].len = max;
    }
}

/* The total length of all texts; *ret_any is the bitwise or of the lengths. */
static size_t texts_len(const struct audit_record *r, size_t *ret_any) {
    size_t len = 0, any = 0;
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        len += r->text[i].len;
        any |= r->text[i].len;
    }
    *ret_any = any;
    return len;
}

bool audit_counts_as_call(const struct audit_record *decision) {
    return slice_is(decision->text[AUDIT_METHOD], "tools/call") ||
           !slice_is(decision->text[AUDIT_VERDICT], "allow");
}

bool audit_outcome_failed(struct slice status) {
    static const char *const others[] = {"ok", "cancelled", "denied", "approval"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (slice_is(status, others[i]))
            return false;
    return true;
}

size_t audit_record_fit(struct audit_record *r) {
    for (size_t i = 0; i < AUDIT_NUMBERS; i++)
        if (r->number[i] > INT64_MAX)
            r->number[i] = INT64_MAX;
    size_t any, len = texts_len(r, &any);
    if (any >= AUDIT_FIELD_MAX) { /* rare; `any` combines all lengths, so perhaps none is too long */
        cut_texts(r);
        len = texts_len(r, &any);
    }
    return NUMBER_BYTES_MAX * (1 + AUDIT_NUMBERS) + LENGTH_BYTES_MAX * AUDIT_TEXTS + len;
}

static char *number_write(char *to, uint64_t value) {
    for (; value >= 0x80; value >>= 7)
        *to++ = (char)(value | 0x80);
    *to++ = (char)value;
    return to;
}

/* False for encodings that number_write does not produce. */
static bool number_read(struct slice *bytes, uint64_t max, uint64_t *ret_value) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes->len && i < NUMBER_BYTES_MAX; i++) {
        unsigned char byte = (unsigned char)bytes->ptr[i];
        if (i == NUMBER_BYTES_MAX - 1 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte & 0x80)
            continue;
        if (byte == 0 && i > 0)
            return false;
        *bytes = slice_from(*bytes, i + 1);
        *ret_value = value;
        return value <= max;
    }
    return false;
}

size_t audit_record_write(const struct audit_record *r, char *to) {
    char *start = to;
    size_t texts = AUDIT_TEXTS;
    while (texts > AUDIT_TEXTS_OLD && r->text[texts - 1].len == 0)
        texts--;
    to = number_write(to, (uint64_t)r->kind);
    for (size_t i = 0; i < AUDIT_NUMBERS; i++)
        to = number_write(to, r->number[i]);
    for (size_t i = 0; i < texts; i++) {
        size_t len = r->text[i].len;
        if (len == 0) {
            *to++ = 0;
            continue;
        }
        to = number_write(to, len);
        memcpy(to, r->text[i].ptr, len);
        to += len;
    }
    return (size_t)(to - start);
}

bool audit_record_read(struct slice bytes, struct audit_record *ret_record) {
    uint64_t value;
    if (!number_read(&bytes, AUDIT_KIND_EVENT, &value) || value < AUDIT_KIND_DECISION)
        return false;
    ret_record->kind = (enum audit_kind)value;
    for (size_t i = 0; i < AUDIT_NUMBERS; i++)
        if (!number_read(&bytes, INT64_MAX, &ret_record->number[i]))
            return false;
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        bool may_lack = i >= AUDIT_TEXTS_OLD;
        if (may_lack && bytes.len == 0) {
            ret_record->text[i] = (struct slice){0};
            continue;
        }
        if (!number_read(&bytes, text_max(i), &value) || value > bytes.len)
            return false;
        if (may_lack && value == 0 && bytes.len == 0)
            return false;
        ret_record->text[i] = slice_of(bytes.ptr, (size_t)value);
        bytes = slice_from(bytes, (size_t)value);
    }
    return bytes.len == 0;
}
