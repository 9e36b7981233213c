/* One record, and its canonical bytes: what is hashed is exactly what is stored. The kind, every number, and
 * the length of every text are written 7 bits a byte, lowest first, in as few bytes as will do; always all of
 * them, in the order of the tables below, each text behind its length. Only of the texts from AUDIT_TEXTS_OLD
 * on, empty ones at the end are left away: so a record from before there were such texts reads, and hashes,
 * as ever. */
#pragma once

#include "audit/limits.h"
#include "base/slice.h"

enum audit_kind { AUDIT_KIND_DECISION = 1, AUDIT_KIND_OUTCOME = 2, AUDIT_KIND_EVENT = 3 };

enum audit_number {
    AUDIT_TIME_US,
    AUDIT_CALL,
    AUDIT_PARENT,
    AUDIT_LATENCY_US,
    AUDIT_BYTES_IN,
    AUDIT_BYTES_OUT,
    AUDIT_NUMBERS,
};

enum audit_text {
    AUDIT_INSTANCE,
    AUDIT_EVENT,
    AUDIT_IDENTITY,
    AUDIT_GRANT,
    AUDIT_SESSION,
    AUDIT_SERVER,
    AUDIT_METHOD,
    AUDIT_TOOL,
    AUDIT_VERDICT,
    AUDIT_REASON,
    AUDIT_RULE,
    AUDIT_POINTER,
    AUDIT_POLICY,
    AUDIT_POLICY_HASH,
    AUDIT_TEXT,
    AUDIT_SHADOW,
    AUDIT_ARGS_MODE,
    AUDIT_ARGS,
    AUDIT_ARGS_HASH,
    AUDIT_FINGERPRINT,
    AUDIT_STATUS,
    AUDIT_CLASS,
    AUDIT_TEXTS_OLD,
    AUDIT_POLICY_VERSION = AUDIT_TEXTS_OLD,
    AUDIT_TEXTS,
};

struct audit_record {
    enum audit_kind kind;
    uint64_t number[AUDIT_NUMBERS]; /* each at most INT64_MAX */
    struct slice text[AUDIT_TEXTS];
};

extern const char *const audit_number_names[AUDIT_NUMBERS];
extern const char *const audit_text_names[AUDIT_TEXTS];
const char *audit_kind_name(enum audit_kind kind);

/* Cuts texts over their ceiling (at a character) and returns a length that the canonical bytes do not pass.
 */
size_t audit_record_fit(struct audit_record *r);
/* `to` has the room that fit asked for. Returns the canonical length. */
size_t audit_record_write(const struct audit_record *r, char *to);
/* The texts point into `bytes`. False for anything that write does not produce. */
bool audit_record_read(struct slice bytes, struct audit_record *ret_record);
