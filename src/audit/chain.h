/* Makes the log tamper-evident: each record's hash covers the previous one, and a key signs the hash
 * periodically. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "crypto/signature.h"

#define CHAIN_HASH 32
#define CHAIN_SIGNATURE CRYPTO_SIGNATURE
#define CHAIN_ID 16 /* bytes of a log's id */

/* hash := SHA-256(tag, hash, seq, record). `hash` holds the previous one and receives the new one. */
void audit_chain_extend(unsigned char hash[CHAIN_HASH], uint64_t seq, struct slice record);

/* A signed statement: at time_ms the record with this number had this hash. */
struct chain_point {
    unsigned char log_id[CHAIN_ID];
    uint64_t seq;
    unsigned char hash[CHAIN_HASH];
    uint64_t time_ms;
    unsigned char signature[CHAIN_SIGNATURE];
};

/* HOME/audit.key and HOME/audit.pub; created when absent. */
int audit_chain_key_load(const char *home, struct crypto_signer **ret_key, struct err *err);
/* Would they load? Cheap enough for every start. */
int audit_chain_key_check(const char *home, struct err *err);
void audit_chain_sign(const struct crypto_signer *key, struct chain_point *point);
bool audit_chain_check(const struct crypto_signer *key, const struct chain_point *point);

/* The newest point, beside the log: DIR/head, one line of JSON. A copy, DIR.head, says what was promised when
 * the whole directory is gone. */
int audit_chain_head_write(const char *dir, const struct crypto_signer *key, const struct chain_point *point,
                           struct err *err);
enum chain_head {
    CHAIN_HEAD_UNREAD, /* it may exist, but cannot be read: err has the reason */
    CHAIN_HEAD_NONE,
    CHAIN_HEAD_BAD, /* not in our format */
    CHAIN_HEAD_READ,
};
enum chain_head audit_chain_head_read(const char *dir, struct chain_point *ret_point, struct err *err);
/* The copy; false: there is none. */
bool audit_chain_promise_read(const char *dir, struct chain_point *ret_point);
/* Parses that file. */
int audit_chain_head_parse(struct slice text, struct chain_point *ret_point, struct err *err);
