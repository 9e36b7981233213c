/* One record, and its canonical bytes: the stored bytes are exactly the hashed ones. The kind, every
 * number and the length of every text are written as 7 bits per byte, lowest first, in the minimum number
 * of bytes; always all of them, in the order of the tables below, each text after its length. Only empty
 * texts at the end, from AUDIT_TEXTS_OLD on, are omitted: so older records without these texts still parse
 * and hash the same. */
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

/* What is counted as a call: those of tools, and whatever else was not allowed. Lists and handshakes are not.
 */
bool audit_counts_as_call(const struct audit_record *decision);
/* A call that was forwarded and came to nothing. */
bool audit_outcome_failed(struct slice status);

/* Cuts texts to their ceiling (at a character) and returns an upper bound of the canonical length. */
size_t audit_record_fit(struct audit_record *r);
/* `to` has the room that fit asked for. Returns the canonical length. */
size_t audit_record_write(const struct audit_record *r, char *to);
/* The texts point into `bytes`. False for bytes that the writer does not produce. */
bool audit_record_read(struct slice bytes, struct audit_record *ret_record);
