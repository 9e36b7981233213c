/* Verifies the log: walks every segment, recomputes every hash, checks every signature. */
#pragma once

#include "audit/limits.h"
#include "audit/rings.h"
#include "base/err.h"
#include "base/slice.h"

struct audit_report {
    bool sound;
    bool unreadable;    /* the log could not be read: text has the reason */
    uint64_t first_bad; /* number of the first wrong or missing record; 0 when it is none in particular */
    char text[AUDIT_REPORT_TEXT];
    uint64_t first_seq, last_seq;
    uint64_t records;
    uint64_t segments;
    uint64_t retired; /* segments that retention removed and recorded */
    uint64_t checkpoints;
    uint64_t signed_seq; /* newest signed record */
    uint64_t gaps;       /* records that report missing ones, and the number of the first */
    uint64_t first_gap;
    struct audit_rings rings;
    char last_hash[65];
};

/* key_path NULL: HOME/audit.pub. For evidence against a user who could write to HOME, give a copy kept
 * elsewhere. */
void audit_verify(const char *home, const char *key_path, struct audit_report *ret_report);
/* Is there what was signed, and can the newest segment be opened? Reads no records; -1 with err. */
int audit_verify_quick(const char *home, struct err *err);
