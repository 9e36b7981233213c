#include "state/approvals.h"

#include "base/check.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"
#include "base/sha.h"
#include "crypto/keyfile.h"
#include "io/file.h"
#include "state/db.h"
#include "wire/tape.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#define APPROVALS_FILE "approvals.sqlite"
#define APPROVALS_KEY "approvals.key"
#define APPROVALS_KEY_LEN 32
#define APPROVALS_SQL_MAX 1024

struct state_approvals {
    struct db *db;
    int64_t seen_version;
    unsigned char key[APPROVALS_KEY_LEN];
};

static const char approvals_schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS approvals("
    " id TEXT PRIMARY KEY, digest TEXT NOT NULL, status INTEGER NOT NULL,"
    " identity TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, args_hash TEXT NOT NULL,"
    " fingerprint TEXT NOT NULL, policy_hash TEXT NOT NULL, session TEXT NOT NULL,"
    " args TEXT NOT NULL, args_cut INTEGER NOT NULL, rule TEXT NOT NULL, policy TEXT NOT NULL,"
    " text TEXT NOT NULL, approvers TEXT NOT NULL, created_ms INTEGER NOT NULL,"
    " expires_ms INTEGER NOT NULL, asked INTEGER NOT NULL, decided_ms INTEGER NOT NULL,"
    " decider TEXT NOT NULL, note TEXT NOT NULL, used_ms INTEGER NOT NULL,"
    " told_ms INTEGER NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS approvals_digest ON approvals(digest, created_ms);"
    "CREATE INDEX IF NOT EXISTS approvals_status ON approvals(status, expires_ms);"
    "CREATE INDEX IF NOT EXISTS approvals_created ON approvals(created_ms);"
    "CREATE TABLE IF NOT EXISTS repeats(digest TEXT PRIMARY KEY, approval TEXT NOT NULL,"
    " until_ms INTEGER NOT NULL, any_args INTEGER NOT NULL) STRICT;"
    "CREATE INDEX IF NOT EXISTS repeats_approval ON repeats(approval);"
    "COMMIT;";

/* In the order of the schema. */
enum column {
    COL_ID,
    COL_DIGEST,
    COL_STATUS,
    COL_IDENTITY,
    COL_SERVER,
    COL_TOOL,
    COL_ARGS_HASH,
    COL_FINGERPRINT,
    COL_POLICY_HASH,
    COL_SESSION,
    COL_ARGS,
    COL_ARGS_CUT,
    COL_RULE,
    COL_POLICY,
    COL_TEXT,
    COL_APPROVERS,
    COL_CREATED,
    COL_EXPIRES,
    COL_ASKED,
    COL_DECIDED,
    COL_DECIDER,
    COL_NOTE,
    COL_USED,
    COL_NOTIFIED,
};

/* ---- names and digests ---- */

static const char *const status_names[STATE_APPROVAL_STATUSES] = {
    [STATE_APPROVAL_PENDING] = "pending", [STATE_APPROVAL_APPROVED] = "approved",
    [STATE_APPROVAL_DENIED] = "denied",   [STATE_APPROVAL_EXPIRED] = "expired",
    [STATE_APPROVAL_USED] = "used",
};

const char *state_approval_status_name(enum state_approval_status status) { return status_names[status]; }

int state_approval_status_from(struct slice name, enum state_approval_status *ret_status) {
    for (int i = 0; i < STATE_APPROVAL_STATUSES; i++) {
        if (!slice_is(name, status_names[i]))
            continue;
        *ret_status = (enum state_approval_status)i;
        return 0;
    }
    return -1;
}

/* Each part is preceded by its length, so that no two lists of parts give the same bytes. */
static void digest_part(struct sha_state *sum, struct slice part) {
    char len[32];
    int n = snprintf(len, sizeof(len), "%zu:", part.len);
    sha_add(sum, slice_of(len, (size_t)n));
    sha_add(sum, part);
}

void state_approval_digest(const struct state_approval_call *call, char ret_hex[STATE_DIGEST_LEN]) {
    const struct slice parts[] = {SLICE("sallyport approval 1"),
                                  call->identity,
                                  call->server,
                                  call->tool,
                                  call->args_hash,
                                  call->fingerprint,
                                  call->policy_hash};
    unsigned char sum[SHA_BYTES];
    struct sha_state state;
    sha_begin(&state);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        digest_part(&state, parts[i]);
    sha_end(&state, sum);
    hex_put(sum, sizeof(sum), ret_hex);
}

bool state_approvers_name(struct slice approvers, struct slice decider) {
    struct tape t;
    tape_init(&t);
    struct slice short_name = decider, kind;
    bool has_kind = slice_cut(&short_name, ':', &kind);
    bool named = tape_parse(&t, approvers, NULL) == TAPE_OK && tape_is(&t, 0, TAPE_ARRAY);
    if (named && tape_node(&t, 0)->count > 0) {
        named = false;
        TAPE_FOR_ELEM(&t, 0, i) {
            named = named || tape_eq(&t, i, decider) || (has_kind && tape_eq(&t, i, short_name));
        }
    }
    tape_free(&t);
    return named;
}

/* ---- opening ---- */

static int approvals_setup(struct state_approvals *s, const char *home, struct err *err) {
    cleanup_free char *key = NULL;
    if (asprintf(&key, "%s/%s", home, APPROVALS_KEY) < 0)
        return err_set(err, "out of memory");
    if (io_make_dir(home, err) < 0 || crypto_keyfile_load(key, s->key, sizeof(s->key), err) < 0 ||
        db_open(home, APPROVALS_FILE, false, approvals_schema, &s->db, err) < 0)
        return -1;
    if (!db_is_remote(s->db))
        state_approvals_changed(s);
    return 0;
}

int state_approvals_open(const char *home, struct state_approvals **ret_store, struct err *err) {
    struct state_approvals *s = mem_zalloc(sizeof(*s));
    if (approvals_setup(s, home, err) < 0) {
        state_approvals_close(s);
        return err_wrap(err, "approvals");
    }
    *ret_store = s;
    return 0;
}

void state_approvals_close(struct state_approvals *s) {
    if (!s)
        return;
    db_close(s->db);
    explicit_bzero(s->key, sizeof(s->key));
    free(s);
}

bool state_approvals_is_remote(const struct state_approvals *s) { return db_is_remote(s->db); }

bool state_approvals_changed(struct state_approvals *s) {
    int64_t version = db_version(s->db, NULL);
    bool changed = version != s->seen_version;
    s->seen_version = version;
    return changed;
}

/* ---- rows ---- */

static uint64_t column_u64(struct db_stmt *st, enum column col) {
    int64_t value = db_int(st, col);
    return value < 0 ? 0 : (uint64_t)value;
}

static void row_read(struct db_stmt *st, uint64_t now_ms, struct state_approval *out) {
    int64_t status = db_int(st, COL_STATUS);
    *out = (struct state_approval){
        .id = db_text(st, COL_ID),
        .digest = db_text(st, COL_DIGEST),
        .status = status >= 0 && status < STATE_APPROVAL_STATUSES ? (enum state_approval_status)status
                                                                  : STATE_APPROVAL_EXPIRED,
        .call = {.identity = db_text(st, COL_IDENTITY),
                 .server = db_text(st, COL_SERVER),
                 .tool = db_text(st, COL_TOOL),
                 .args_hash = db_text(st, COL_ARGS_HASH),
                 .fingerprint = db_text(st, COL_FINGERPRINT),
                 .policy_hash = db_text(st, COL_POLICY_HASH)},
        .session = db_text(st, COL_SESSION),
        .args = db_text(st, COL_ARGS),
        .args_cut = db_int(st, COL_ARGS_CUT) != 0,
        .rule = db_text(st, COL_RULE),
        .policy = db_text(st, COL_POLICY),
        .text = db_text(st, COL_TEXT),
        .approvers = db_text(st, COL_APPROVERS),
        .created_ms = column_u64(st, COL_CREATED),
        .expires_ms = column_u64(st, COL_EXPIRES),
        .asked = column_u64(st, COL_ASKED),
        .decided_ms = column_u64(st, COL_DECIDED),
        .decider = db_text(st, COL_DECIDER),
        .note = db_text(st, COL_NOTE),
        .used_ms = column_u64(st, COL_USED),
        .notified_ms = column_u64(st, COL_NOTIFIED),
    };
    bool open = out->status == STATE_APPROVAL_PENDING || out->status == STATE_APPROVAL_APPROVED;
    if (open && out->expires_ms <= now_ms)
        out->status = STATE_APPROVAL_EXPIRED;
}

/* How long a repeatable approval is valid. */
static void row_repeat(struct state_approvals *s, uint64_t now_ms, struct state_approval *r) {
    if (r->status != STATE_APPROVAL_APPROVED && r->status != STATE_APPROVAL_USED)
        return;
    struct db_stmt *st = db_prepare(s->db, "SELECT until_ms, any_args FROM repeats WHERE approval=?1");
    db_bind_text(st, 1, r->id);
    if (db_step(st) && (uint64_t)db_int(st, 0) > now_ms) {
        r->repeat_ms = (uint64_t)db_int(st, 0);
        r->repeat_any = db_int(st, 1) != 0;
    }
    db_finish(st, NULL);
}

void state_approval_keep(struct state_approval *r, struct arena *a) {
    struct slice *texts[] = {&r->id,
                             &r->digest,
                             &r->call.identity,
                             &r->call.server,
                             &r->call.tool,
                             &r->call.args_hash,
                             &r->call.fingerprint,
                             &r->call.policy_hash,
                             &r->session,
                             &r->args,
                             &r->rule,
                             &r->policy,
                             &r->text,
                             &r->approvers,
                             &r->decider,
                             &r->note,
                             &r->code};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        *texts[i] = arena_dup(a, *texts[i]);
}

/* Returns 1 if a row was read, 0 if there is none, -1 on error. ?1 is the key, ?2 the time. */
static int row_find(struct state_approvals *s, const char *where, struct slice key, uint64_t now_ms,
                    struct arena *a, struct state_approval *out, struct err *err) {
    char sql[APPROVALS_SQL_MAX];
    snprintf(sql, sizeof(sql), "SELECT * FROM approvals WHERE %s", where);
    struct db_stmt *st = db_prepare(s->db, sql);
    db_bind_text(st, 1, key);
    db_bind_int(st, 2, (int64_t)now_ms);
    int found = db_step(st);
    if (found) {
        row_read(st, now_ms, out);
        state_approval_keep(out, a);
    }
    if (db_finish(st, err) < 0)
        return -1;
    if (found)
        row_repeat(s, now_ms, out);
    return found;
}

/* -1 with err. */
static int64_t count_pending(struct state_approvals *s, struct slice identity, uint64_t now_ms,
                             struct err *err) {
    struct db_stmt *st = db_prepare(
        s->db, "SELECT count(*) FROM approvals WHERE status=0 AND expires_ms>?1 AND (?2='' OR identity=?2)");
    db_bind_int(st, 1, (int64_t)now_ms);
    db_bind_text(st, 2, identity);
    int64_t count = db_step(st) ? db_int(st, 0) : -1;
    return db_finish(st, err) < 0 ? -1 : count;
}

size_t state_approvals_pending(struct state_approvals *s, uint64_t now_ms) {
    int64_t count = count_pending(s, (struct slice){0}, now_ms, NULL);
    return count > 0 ? (size_t)count : 0;
}

/* Cut at a character. */
static struct slice cut(struct slice text, size_t max) {
    if (text.len <= max)
        return text;
    while (max > 0 && ((unsigned char)text.ptr[max] & 0xc0) == 0x80)
        max--;
    return slice_upto(text, max);
}

static int row_insert(struct state_approvals *s, const struct state_approval *r, struct err *err) {
    struct db_stmt *st =
        db_prepare(s->db, "INSERT INTO approvals VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,"
                          "?16,?17,?18,?19,?20,?21,?22,?23,?24)");
    const struct {
        enum column at;
        struct slice text;
    } texts[] = {
        {COL_ID, r->id},
        {COL_DIGEST, r->digest},
        {COL_IDENTITY, r->call.identity},
        {COL_SERVER, r->call.server},
        {COL_TOOL, r->call.tool},
        {COL_ARGS_HASH, r->call.args_hash},
        {COL_FINGERPRINT, r->call.fingerprint},
        {COL_POLICY_HASH, r->call.policy_hash},
        {COL_SESSION, r->session},
        {COL_RULE, r->rule},
        {COL_POLICY, r->policy},
        {COL_TEXT, r->text},
        {COL_APPROVERS, r->approvers},
        {COL_DECIDER, {0}},
        {COL_NOTE, {0}},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        db_bind_text(st, texts[i].at + 1, cut(texts[i].text, STATE_APPROVAL_TEXT_MAX));
    db_bind_text(st, COL_ARGS + 1, cut(r->args, STATE_APPROVAL_ARGS_MAX));
    db_bind_int(st, COL_STATUS + 1, STATE_APPROVAL_PENDING);
    db_bind_int(st, COL_ARGS_CUT + 1, r->args.len > STATE_APPROVAL_ARGS_MAX);
    db_bind_int(st, COL_CREATED + 1, (int64_t)r->created_ms);
    db_bind_int(st, COL_EXPIRES + 1, (int64_t)r->expires_ms);
    db_bind_int(st, COL_ASKED + 1, 1);
    db_bind_int(st, COL_DECIDED + 1, 0);
    db_bind_int(st, COL_USED + 1, 0);
    db_bind_int(st, COL_NOTIFIED + 1, 0);
    return db_run(st, err) < 0 ? -1 : 0;
}

/* ---- asking ---- */

/* Updates the row by `set`. ?1 is the id, ?2 the time, ?3 and ?4 texts. */
static int row_set(struct state_approvals *s, const char *set, struct slice id, uint64_t now_ms,
                   struct slice decider, struct slice note, struct err *err) {
    char sql[APPROVALS_SQL_MAX];
    snprintf(sql, sizeof(sql), "UPDATE approvals SET %s WHERE id=?1", set);
    struct db_stmt *st = db_prepare(s->db, sql);
    db_bind_text(st, 1, id);
    db_bind_int(st, 2, (int64_t)now_ms);
    db_bind_text(st, 3, cut(decider, STATE_APPROVAL_TEXT_MAX));
    db_bind_text(st, 4, cut(note, STATE_APPROVAL_TEXT_MAX));
    return db_run(st, err) < 0 ? -1 : 0;
}

/* Expires the approvals that `which` selects: no call can match them any more. ?1 is the time. */
static int rows_outdate(struct state_approvals *s, const char *which, const struct slice *texts, size_t count,
                        uint64_t now_ms, struct err *err) {
    char sql[APPROVALS_SQL_MAX];
    snprintf(sql, sizeof(sql),
             "UPDATE approvals SET status=3, decided_ms=?1, decider='gate', note='the policy or the tool has "
             "changed since it was asked for', args='' WHERE %s",
             which);
    struct db_stmt *st = db_prepare(s->db, sql);
    db_bind_int(st, 1, (int64_t)now_ms);
    for (size_t i = 0; i < count; i++)
        db_bind_text(st, (int)i + 2, texts[i]);
    return db_run(st, err) < 0 ? -1 : 0;
}

int state_approvals_outdate(struct state_approvals *s, struct slice policy_hash, uint64_t now_ms,
                            struct err *err) {
    return rows_outdate(s, "status IN (0,1) AND policy_hash=?2", &policy_hash, 1, now_ms, err);
}

/* The same call under another policy, or after the tool has changed: pending requests from before are
 * void. */
static int outdate_others(struct state_approvals *s, const struct state_approval *want, struct err *err) {
    const struct state_approval_call *call = &want->call;
    const struct slice texts[] = {call->identity,  call->server,      call->tool,
                                  call->args_hash, call->policy_hash, call->fingerprint};
    return rows_outdate(s,
                        "status=0 AND identity=?2 AND server=?3 AND tool=?4 AND args_hash=?5 AND "
                        "(policy_hash<>?6 OR fingerprint<>?7)",
                        texts, ARRAY_LEN(texts), want->created_ms, err);
}

static enum state_ask ask_new(struct state_approvals *s, const struct state_approval *want, struct arena *a,
                              struct state_approval *ret_found, struct err *err) {
    int64_t own = count_pending(s, want->call.identity, want->created_ms, err);
    int64_t all = own < 0 ? -1 : count_pending(s, (struct slice){0}, want->created_ms, err);
    if (all < 0)
        return STATE_ASK_FAULT;
    if (own >= STATE_APPROVALS_IDENTITY_MAX || all >= STATE_APPROVALS_PENDING_MAX)
        return STATE_ASK_FULL;
    if (outdate_others(s, want, err) < 0)
        return STATE_ASK_FAULT;
    char id[STATE_APPROVAL_ID_CHARS + 1];
    do
        rand_token(id, STATE_APPROVAL_ID_CHARS);
    while (id[0] == '-'); /* without its prefix it would be an option */
    *ret_found = *want;
    ret_found->id = arena_printf(a, STATE_APPROVAL_ID_PREFIX "%s", id);
    ret_found->status = STATE_APPROVAL_PENDING;
    ret_found->asked = 1;
    if (row_insert(s, ret_found, err) < 0)
        return STATE_ASK_FAULT;
    state_approval_keep(ret_found, a);
    return STATE_ASK_NEW;
}

/* For one execution: a second connection that has read the same row changes nothing. */
static int row_use(struct state_approvals *s, struct state_approval *r, uint64_t now_ms, struct err *err) {
    struct db_stmt *st =
        db_prepare(s->db, "UPDATE approvals SET status=4, used_ms=?2, args='' WHERE id=?1 AND status=1");
    db_bind_text(st, 1, r->id);
    db_bind_int(st, 2, (int64_t)now_ms);
    int64_t used = db_run(st, err);
    if (used != 1)
        return used < 0 ? -1 : err_set(err, "the approval was used by another call at the same time");
    r->status = STATE_APPROVAL_USED;
    r->used_ms = now_ms;
    return 0;
}

static const char newest[] = "digest=?1 ORDER BY created_ms DESC, rowid DESC LIMIT 1";

/* The digest of the call with any arguments. */
static void digest_any(const struct state_approval_call *call, char ret_hex[STATE_DIGEST_LEN]) {
    struct state_approval_call any = *call;
    any.args_hash = SLICE("*");
    state_approval_digest(&any, ret_hex);
}

/* Returns 1 and *r if a repeatable approval covers this call now; 0, or -1. */
static int find_repeat(struct state_approvals *s, const struct state_approval *want, struct arena *a,
                       struct state_approval *r, struct err *err) {
    static const char where[] = "id=(SELECT approval FROM repeats WHERE until_ms>?2 AND digest=?1)";
    char any[STATE_DIGEST_LEN];
    digest_any(&want->call, any);
    int found = row_find(s, where, want->digest, want->created_ms, a, r, err);
    return found ? found : row_find(s, where, slice_of(any, sizeof(any)), want->created_ms, a, r, err);
}

static int put_repeat(struct state_approvals *s, const struct state_decision *d,
                      const struct state_approval *r, struct err *err) {
    char any[STATE_DIGEST_LEN];
    digest_any(&r->call, any);
    uint64_t lasts = d->for_ms < STATE_REPEAT_MS_MAX ? d->for_ms : STATE_REPEAT_MS_MAX;
    struct db_stmt *st = db_prepare(
        s->db, "INSERT INTO repeats VALUES(?1,?2,?3,?4) ON CONFLICT(digest) DO UPDATE SET"
               " approval=excluded.approval, until_ms=excluded.until_ms, any_args=excluded.any_args");
    db_bind_text(st, 1, d->any_args ? slice_of(any, sizeof(any)) : r->digest);
    db_bind_text(st, 2, r->id);
    db_bind_int(st, 3, (int64_t)(d->now_ms + lasts));
    db_bind_int(st, 4, d->any_args);
    return db_run(st, err) < 0 ? -1 : 0;
}

static int drop_repeat(struct state_approvals *s, struct slice id, struct err *err) {
    struct db_stmt *st = db_prepare(s->db, "DELETE FROM repeats WHERE approval=?1");
    db_bind_text(st, 1, id);
    return db_run(st, err) < 0 ? -1 : 0;
}

static enum state_ask ask_locked(struct state_approvals *s, const struct state_approval *want,
                                 struct arena *a, struct state_approval *ret_found, struct err *err) {
    uint64_t now = want->created_ms;
    struct state_approval *r = ret_found;
    int found = row_find(s, newest, want->digest, now, a, r, err);
    if (found < 0)
        return STATE_ASK_FAULT;
    if (found && r->status == STATE_APPROVAL_APPROVED)
        return row_use(s, r, now, err) < 0 ? STATE_ASK_FAULT : STATE_ASK_GRANTED;
    if (found && r->status == STATE_APPROVAL_DENIED && r->expires_ms > now)
        return STATE_ASK_DENIED;
    struct state_approval held;
    int holds = find_repeat(s, want, a, &held, err);
    if (holds)
        return holds < 0 ? STATE_ASK_FAULT : (*r = held, STATE_ASK_GRANTED);
    if (found && r->status == STATE_APPROVAL_PENDING) {
        r->asked++;
        return row_set(s, "asked=asked+1", r->id, now, (struct slice){0}, (struct slice){0}, err) < 0
                   ? STATE_ASK_FAULT
                   : STATE_ASK_JOINED;
    }
    return ask_new(s, want, a, r, err);
}

enum state_ask state_approvals_ask(struct state_approvals *s, const struct state_approval *want,
                                   struct arena *a, struct state_approval *ret_found, struct err *err) {
    if (db_begin(s->db, err) < 0)
        return STATE_ASK_FAULT;
    enum state_ask answer = ask_locked(s, want, a, ret_found, err);
    return db_end(s->db, answer != STATE_ASK_FAULT, err) < 0 ? STATE_ASK_FAULT : answer;
}

int state_approvals_extend(struct state_approvals *s, struct slice id, struct slice digest, struct err *err) {
    return row_set(s, "digest=?3, status=CASE status WHEN 4 THEN 1 ELSE status END", id, 0, digest,
                   (struct slice){0}, err);
}

int state_approvals_continue(struct state_approvals *s, struct slice digest, uint64_t now_ms, struct arena *a,
                             struct state_approval *ret_found, struct err *err) {
    if (db_begin(s->db, err) < 0)
        return -1;
    int found = row_find(s, newest, digest, now_ms, a, ret_found, err);
    if (found > 0 && ret_found->status != STATE_APPROVAL_APPROVED)
        found = 0;
    if (found > 0 && row_use(s, ret_found, now_ms, err) < 0)
        found = -1;
    return db_end(s->db, found >= 0, err) < 0 ? -1 : found;
}

/* ---- deciding ---- */

static enum state_decide decide_locked(struct state_approvals *s, const struct state_decision *d, bool expire,
                                       struct arena *a, struct state_approval *r, struct err *err) {
    int found = row_find(s, "id=?1", d->id, d->now_ms, a, r, err);
    if (found <= 0)
        return found < 0 ? STATE_DECIDE_FAULT : STATE_DECIDE_UNKNOWN;
    bool open = r->status == STATE_APPROVAL_PENDING ||
                (expire && (r->status == STATE_APPROVAL_APPROVED || r->repeat_ms));
    if (!open)
        return STATE_DECIDE_OVER;
    if (!expire && slice_eq(d->decider, r->call.identity))
        return STATE_DECIDE_SELF;
    if (!expire && !state_approvers_name(r->approvers, d->decider))
        return STATE_DECIDE_OTHERS;
    r->status = expire       ? STATE_APPROVAL_EXPIRED
                : d->approve ? STATE_APPROVAL_APPROVED
                             : STATE_APPROVAL_DENIED;
    r->decided_ms = d->now_ms;
    r->decider = arena_dup(a, d->decider);
    r->note = arena_dup(a, d->note);
    if (expire && drop_repeat(s, r->id, err) < 0)
        return STATE_DECIDE_FAULT;
    if (!expire && d->approve && d->for_ms && put_repeat(s, d, r, err) < 0)
        return STATE_DECIDE_FAULT;
    r->repeat_ms = 0;
    row_repeat(s, d->now_ms, r);
    /* Arguments are kept only as long as the approval can be decided. */
    const char *set = expire       ? "status=3, decided_ms=?2, decider=?3, note=?4, args=''"
                      : d->approve ? "status=1, decided_ms=?2, decider=?3, note=?4"
                                   : "status=2, decided_ms=?2, decider=?3, note=?4, args=''";
    return row_set(s, set, r->id, d->now_ms, d->decider, d->note, err) < 0 ? STATE_DECIDE_FAULT
                                                                           : STATE_DECIDED;
}

static enum state_decide decide(struct state_approvals *s, const struct state_decision *d, bool expire,
                                struct arena *a, struct state_approval *ret_after, struct err *err) {
    struct state_approval found;
    if (db_begin(s->db, err) < 0)
        return STATE_DECIDE_FAULT;
    enum state_decide answer = decide_locked(s, d, expire, a, &found, err);
    if (db_end(s->db, answer != STATE_DECIDE_FAULT, err) < 0)
        return STATE_DECIDE_FAULT;
    if (ret_after && answer != STATE_DECIDE_UNKNOWN)
        *ret_after = found;
    return answer;
}

enum state_decide state_approvals_decide(struct state_approvals *s, const struct state_decision *d,
                                         struct arena *a, struct state_approval *ret_after, struct err *err) {
    return decide(s, d, false, a, ret_after, err);
}

enum state_decide state_approvals_expire(struct state_approvals *s, const struct state_decision *d,
                                         struct arena *a, struct state_approval *ret_after, struct err *err) {
    return decide(s, d, true, a, ret_after, err);
}

static int sweep_repeats(struct state_approvals *s, uint64_t now_ms, struct err *err) {
    struct db_stmt *st = db_prepare(s->db, "DELETE FROM repeats WHERE until_ms<=?1");
    db_bind_int(st, 1, (int64_t)now_ms);
    return db_run(st, err) < 0 ? -1 : 0;
}

int state_approvals_sweep(struct state_approvals *s, uint64_t now_ms,
                          void (*each)(void *ctx, const struct state_approval *a), void *ctx,
                          struct err *err) {
    static const char over[] =
        "UPDATE approvals SET status=3, args='' WHERE status IN(0,1) AND expires_ms<=?1"
        " RETURNING *";
    static const char old[] = "DELETE FROM approvals WHERE status>1 AND created_ms<?1"
                              " AND id NOT IN(SELECT approval FROM repeats)";
    if (sweep_repeats(s, now_ms, err) < 0)
        return -1;
    struct db_stmt *st = db_prepare(s->db, over);
    db_bind_int(st, 1, (int64_t)now_ms);
    while (db_step(st)) {
        struct state_approval r;
        row_read(st, now_ms, &r);
        each(ctx, &r);
    }
    if (db_finish(st, err) < 0)
        return -1;
    st = db_prepare(s->db, old);
    db_bind_int(st, 1, (int64_t)now_ms - (int64_t)STATE_APPROVALS_KEEP_MS);
    return db_run(st, err) < 0 ? -1 : 0;
}

int state_approvals_notified(struct state_approvals *s, struct slice id, uint64_t now_ms) {
    return row_set(s, "told_ms=?2", id, now_ms, (struct slice){0}, (struct slice){0}, NULL);
}

/* ---- looking ---- */

int state_approvals_get(struct state_approvals *s, struct slice id, uint64_t now_ms, struct arena *a,
                        struct state_approval *ret_found, struct err *err) {
    return row_find(s, "id=?1", id, now_ms, a, ret_found, err);
}

int state_approvals_list(struct state_approvals *s, const struct state_approval_filter *filter,
                         uint64_t now_ms, bool (*each)(void *ctx, const struct state_approval *a), void *ctx,
                         struct err *err) {
    static const char sql[] = "SELECT * FROM approvals WHERE ?1='' OR identity=?1"
                              " ORDER BY created_ms DESC, rowid DESC";
    uint64_t left = filter->limit ? filter->limit : STATE_APPROVALS_LIST_MAX;
    struct db_stmt *st = db_prepare(s->db, sql);
    db_bind_text(st, 1, filter->identity);
    while (left > 0 && db_step(st)) {
        struct state_approval r;
        row_read(st, now_ms, &r);
        if (filter->statuses && !(filter->statuses >> r.status & 1))
            continue;
        row_repeat(s, now_ms, &r);
        left--;
        if (!each(ctx, &r))
            break;
    }
    return db_finish(st, err) < 0 ? -1 : 0;
}

/* ---- seals ---- */

void state_approvals_seal(const struct state_approvals *s, const char *purpose, struct slice what,
                          char ret_hex[STATE_DIGEST_LEN]) {
    unsigned char sum[SHA_BYTES], key[SHA_BYTES];
    struct slice name = slice_str(purpose);
    /* One key per purpose: a seal for one purpose is invalid for another. */
    sha_hmac_once(slice_of((const char *)s->key, sizeof(s->key)), &name, 1, key);
    sha_hmac_once(slice_of((const char *)key, sizeof(key)), &what, 1, sum);
    explicit_bzero(key, sizeof(key));
    hex_put(sum, sizeof(sum), ret_hex);
}

void state_approvals_code(const struct state_approvals *s, struct slice id,
                          char ret_code[STATE_APPROVAL_CODE_LEN + 1]) {
    char hex[STATE_DIGEST_LEN];
    state_approvals_seal(s, "approval code", id, hex);
    memcpy(ret_code, hex, STATE_APPROVAL_CODE_LEN);
    ret_code[STATE_APPROVAL_CODE_LEN] = '\0';
}

bool state_approvals_code_fits(const struct state_approvals *s, struct slice id, struct slice code) {
    char want[STATE_APPROVAL_CODE_LEN + 1];
    state_approvals_code(s, id, want);
    return code.len == STATE_APPROVAL_CODE_LEN && CRYPTO_memcmp(code.ptr, want, code.len) == 0;
}

bool state_approvals_sealed(const struct state_approvals *s, const char *purpose, struct slice what,
                            struct slice seal) {
    char hex[STATE_DIGEST_LEN];
    state_approvals_seal(s, purpose, what, hex);
    return seal.len == sizeof(hex) && CRYPTO_memcmp(seal.ptr, hex, sizeof(hex)) == 0;
}
