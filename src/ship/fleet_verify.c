#include "ship/fleet_verify.h"

#include "audit/proof.h"
#include "audit/shipped.h"
#include "base/arena.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/map.h"
#include "base/mem.h"
#include "ship/limits.h"
#include "state/chains.h"
#include "wire/tape.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

/* The end of another chain, as a gate recorded it. */
struct seen {
    unsigned char log[STATE_LOG_ID];
    uint64_t seq;
    unsigned char hash[SHA_BYTES];
    const char *by;
};

struct chain_state {
    struct state_chain chain;
    uint64_t base_seq; /* where it begins now */
    bool retired;
    char day[STATE_DAY_TEXT];
    bool sound;
    char text[AUDIT_REPORT_TEXT];
    uint64_t first_bad, records, checkpoints, signed_seq, last_seq;
    uint64_t running; /* gates that started and did not stop */
};

struct fleet {
    struct state_chains *chains;
    struct arena arena;
    struct chain_state *list;
    size_t count;
    unsigned char (*keys)[CRYPTO_SIGNATURE_KEY]; /* that may sign; none: any */
    size_t key_count;
    struct map digests; /* "DAY DIGEST": on record */
    struct map seen;    /* "LOG SEQ HASH" → struct seen */
    struct chain_state *at;
    struct db_stmt *points;
    uint64_t point_seq;
    bool points_over;
    struct tape tape;
    struct ship_report *report;
};

/* ---- keys ---- */

static int add_key(struct fleet *f, const char *path, struct err *err) {
    struct crypto_signer *signer;
    if (crypto_signer_read_public(path, &signer, err) < 0)
        return -1;
    f->keys = mem_realloc(f->keys, (f->key_count + 1) * sizeof(*f->keys));
    crypto_signer_public(signer, f->keys[f->key_count++]);
    crypto_signer_free(signer);
    return 0;
}

static int load_keys(struct fleet *f, const char *path, struct err *err) {
    struct stat st;
    if (stat(path, &st) < 0)
        return err_set(err, "`%s`: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return add_key(f, path, err);
    DIR *dir = opendir(path);
    int rc = dir ? 0 : err_set(err, "open `%s`: %s", path, strerror(errno));
    for (struct dirent *entry; rc == 0 && (entry = readdir(dir));) {
        cleanup_free char *file = NULL;
        if (!slice_ends(slice_str(entry->d_name), SLICE(".pub")))
            continue;
        rc = asprintf(&file, "%s/%s", path, entry->d_name) < 0 ? err_set(err, "out of memory")
                                                               : add_key(f, file, err);
    }
    if (dir)
        closedir(dir);
    if (rc == 0 && !f->key_count)
        rc = err_set(err, "`%s` has no public key (*.pub)", path);
    return rc;
}

static bool key_allowed(const struct fleet *f, const struct state_chain *chain) {
    for (size_t i = 0; i < f->key_count; i++)
        if (memcmp(f->keys[i], chain->key, CRYPTO_SIGNATURE_KEY) == 0)
            return true;
    return f->key_count == 0;
}

/* ---- records about the fleet ---- */

static struct slice text_of(struct fleet *f, const char *name) {
    return tape_text_of(&f->tape, 0, name, &f->arena);
}

static void note_retired(struct fleet *f, struct slice text) {
    if (tape_parse(&f->tape, text, NULL) != TAPE_OK || !tape_is(&f->tape, 0, TAPE_OBJECT))
        return;
    struct slice day = text_of(f, "day"), digest = text_of(f, "digest");
    struct slice key = arena_printf(&f->arena, "%.*s %.*s", SLICE_FMT(day), SLICE_FMT(digest));
    map_put(&f->digests, key, f);
}

static void note_ends(struct fleet *f, struct slice text) {
    struct slice line;
    while (text.len && f->seen.count < SHIP_WITNESSED_MAX) {
        slice_cut(&text, '\n', &line);
        struct slice key = arena_dup(&f->arena, line), log, seq, hash = key;
        struct seen *s = arena_new(&f->arena, struct seen);
        if (!slice_cut(&hash, ' ', &log) || !slice_cut(&hash, ' ', &seq) || !slice_to_u64(seq, &s->seq) ||
            !hex_get(log, s->log, sizeof(s->log)) || !hex_get(hash, s->hash, sizeof(s->hash)))
            continue;
        s->by = f->at->chain.gate;
        if (!map_get(&f->seen, key))
            map_put(&f->seen, key, s);
    }
}

static void on_event(void *ctx, const struct audit_record *r) {
    struct fleet *f = ctx;
    struct slice event = r->text[AUDIT_EVENT];
    if (slice_is(event, "start"))
        f->at->running++;
    else if (f->at->running &&
             (slice_is(event, "stop") || slice_is(event, "recovered") || slice_is(event, "unread")))
        f->at->running--;
    else if (slice_is(event, "fleet_retired"))
        note_retired(f, r->text[AUDIT_TEXT]);
    else if (slice_is(event, "fleet_ends"))
        note_ends(f, r->text[AUDIT_TEXT]);
}

/* ---- one chain ---- */

static bool next_point(void *ctx, struct chain_point *ret_point) {
    struct fleet *f = ctx;
    struct state_point p;
    for (bool fresh = false; !f->points_over; fresh = true) {
        if (!f->points)
            f->points = state_chains_points(f->chains, f->at->chain.id, f->point_seq, SHIP_PAGE_POINTS);
        if (state_chains_point(f->points, &p)) {
            f->point_seq = p.seq;
            f->points_over = p.seq > f->at->chain.seq; /* shipped since we began */
            *ret_point = (struct chain_point){.seq = p.seq, .time_ms = p.time_ms};
            memcpy(ret_point->log_id, f->at->chain.log, CHAIN_ID);
            memcpy(ret_point->hash, p.hash, CHAIN_HASH);
            memcpy(ret_point->signature, p.signature, CHAIN_SIGNATURE);
            return !f->points_over;
        }
        state_chains_rows_end(f->points, NULL);
        f->points = NULL;
        f->points_over = fresh; /* an empty page */
    }
    return false;
}

/* False: wrong, or, with err set, unreadable. */
static bool prove_blocks(struct fleet *f, struct audit_proof *p, struct err *err) {
    const struct state_chain *chain = &f->at->chain;
    while (p->seq < chain->seq) {
        struct db_stmt *rows =
            state_chains_blocks(f->chains, chain->id, p->seq + 1, false, true, SHIP_PAGE_BLOCKS);
        struct state_block b;
        uint64_t before = p->seq;
        bool good = true;
        while (good && p->seq < chain->seq && state_chains_block(rows, &b)) {
            const struct audit_block block = {b.first_seq, b.count, b.hash, b.body};
            if (b.first_seq + b.count - 1 > before) /* the first row may be the one before */
                good = audit_proof_block(p, &block);
        }
        if (state_chains_rows_end(rows, err) < 0 || !good)
            return false;
        if (p->seq == before)
            return audit_proof_bad(p, p->seq + 1,
                                   "record %" PRIu64 " and all up to the acknowledged %" PRIu64
                                   " are missing in the database",
                                   p->seq + 1, chain->seq);
    }
    return true;
}

static bool prove_ends(struct fleet *f, struct audit_proof *p) {
    const struct state_chain *chain = &f->at->chain;
    if (p->seq != chain->seq || memcmp(p->hash, chain->hash, CHAIN_HASH) != 0)
        return audit_proof_bad(p, chain->seq, "the end of the chain, record %" PRIu64 ", was changed",
                               chain->seq);
    if (chain->head.seq > f->at->base_seq && !p->head_seen)
        return audit_proof_bad(p, p->seq + 1, "the signed record %" PRIu64 " is missing in the database",
                               chain->head.seq);
    if (!audit_proof_end_points(p))
        return false;
    if (p->signed_seq < chain->head.seq && chain->head.seq > f->at->base_seq)
        return audit_proof_bad(p, 0, "the signature at record %" PRIu64 " is missing in the database",
                               chain->head.seq);
    return true;
}

static bool prove_keys(struct fleet *f, struct audit_proof *p) {
    const struct state_chain *chain = &f->at->chain;
    if (!key_allowed(f, chain))
        return audit_proof_bad(p, 0, "its key is not one of those that were given");
    for (struct chain_state *other = f->list; other < f->at; other++)
        if (memcmp(other->chain.log, chain->log, STATE_LOG_ID) == 0 &&
            memcmp(other->chain.key, chain->key, sizeof(chain->key)) != 0)
            return audit_proof_bad(p, 0, "chain %" PRIu64 " of the same log has another key",
                                   other->chain.id);
    return true;
}

static int prove_chain(struct fleet *f, struct chain_state *at, struct err *err) {
    struct audit_proof p = {.next_point = next_point, .event = on_event, .ctx = f};
    const struct state_chain *chain = &at->chain;
    struct crypto_signer *key = NULL;
    f->at = at;
    p.seq = chain->base_seq;
    memcpy(p.hash, chain->base_hash, CHAIN_HASH);
    memcpy(p.log_id, chain->log, CHAIN_ID);
    int gone = state_chains_retired(f->chains, chain->id, &p.seq, p.hash, at->day, err);
    if (gone < 0 || crypto_signer_of_public(chain->key, &key, err) < 0)
        return -1;
    at->retired = gone > 0;
    at->base_seq = f->point_seq = p.seq;
    f->points_over = false;
    p.key = key;
    p.head = (struct chain_point){.seq = chain->head.seq, .time_ms = chain->head.time_ms};
    memcpy(p.head.log_id, chain->log, CHAIN_ID);
    memcpy(p.head.hash, chain->head.hash, CHAIN_HASH);
    memcpy(p.head.signature, chain->head.signature, CHAIN_SIGNATURE);
    audit_proof_begin_points(&p);
    struct err failed = {0};
    at->sound = prove_keys(f, &p) && prove_blocks(f, &p, &failed) && prove_ends(f, &p);
    if (at->sound && chain->finding[0])
        at->sound = audit_proof_bad(&p, chain->base_seq + 1, "%s", chain->finding);
    if (f->points)
        state_chains_rows_end(f->points, NULL);
    f->points = NULL;
    memcpy(at->text, p.text, sizeof(at->text));
    at->first_bad = p.first_bad;
    at->records = p.records;
    at->checkpoints = p.checkpoints;
    at->signed_seq = p.signed_seq;
    at->last_seq = p.seq;
    crypto_signer_free(key);
    audit_proof_free(&p);
    return failed.text[0] ? err_set(err, "%s", failed.text) : 0;
}

/* ---- chains against each other ---- */

static int check_retired(struct fleet *f, struct chain_state *at, struct err *err) {
    char digest[SHA_HEX];
    if (!at->retired || !at->sound)
        return 0;
    if (state_chains_day_digest(f->chains, at->day, digest, err) < 0)
        return -1;
    struct slice key = arena_printf(&f->arena, "%s %.*s", at->day, SHA_HEX, digest);
    at->sound = map_get(&f->digests, key) != NULL;
    if (!at->sound) {
        at->first_bad = at->chain.base_seq + 1;
        snprintf(at->text, sizeof(at->text),
                 "records %" PRIu64 " to %" PRIu64
                 " are missing, and no gate has it on record that day %s was dropped",
                 at->chain.base_seq + 1, at->base_seq, at->day);
    }
    return 0;
}

/* Does a chain of that log have the record, or did it before its day was dropped? */
static int find_seen(struct fleet *f, const struct seen *s, struct chain_state **ret_chain, bool *ret_found,
                     struct err *err) {
    *ret_chain = NULL;
    *ret_found = false;
    for (size_t i = 0; i < f->count && !*ret_found; i++) {
        struct chain_state *at = &f->list[i];
        struct state_block b;
        if (memcmp(at->chain.log, s->log, STATE_LOG_ID) != 0)
            continue;
        *ret_chain = at;
        struct db_stmt *rows = state_chains_blocks(f->chains, at->chain.id, s->seq, true, false, 1);
        *ret_found = s->seq <= at->base_seq ||
                     (state_chains_block(rows, &b) && b.first_seq + b.count - 1 == s->seq &&
                      b.hash.len == SHA_BYTES && memcmp(b.hash.ptr, s->hash, SHA_BYTES) == 0);
        if (state_chains_rows_end(rows, err) < 0)
            return -1;
    }
    return 0;
}

static int check_seen(struct fleet *f, struct err *err) {
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&f->seen, &at));) {
        const struct seen *s = e->value;
        struct chain_state *chain;
        char log[2 * STATE_LOG_ID + 1];
        bool found;
        if (find_seen(f, s, &chain, &found, err) < 0)
            return -1;
        f->report->witnessed++;
        if (found)
            continue;
        hex_str(s->log, STATE_LOG_ID, log);
        if (!chain) {
            snprintf(f->report->text, sizeof(f->report->text),
                     "log %s is missing: gate `%.200s` has its record %" PRIu64 " on record", log, s->by,
                     s->seq);
        } else if (chain->sound) {
            chain->sound = false;
            chain->first_bad = s->seq;
            snprintf(chain->text, sizeof(chain->text),
                     "record %" PRIu64 " is missing, or is not the one that gate `%.200s` has on record",
                     s->seq, s->by);
        }
    }
    return 0;
}

/* ---- all ---- */

static bool add_chain(void *ctx, const struct state_chain *chain) {
    struct fleet *f = ctx;
    if (f->count == SHIP_CHAINS_MAX)
        return false;
    f->list = mem_realloc(f->list, (f->count + 1) * sizeof(*f->list));
    f->list[f->count++] = (struct chain_state){.chain = *chain};
    return true;
}

static int verify_all(struct fleet *f, struct err *err) {
    if (state_chains_each(f->chains, (struct slice){0}, add_chain, f, err) < 0)
        return -1;
    for (size_t i = 0; i < f->count; i++)
        if (prove_chain(f, &f->list[i], err) < 0)
            return -1;
    for (size_t i = 0; i < f->count; i++)
        if (check_retired(f, &f->list[i], err) < 0)
            return -1;
    return check_seen(f, err);
}

static void tell(struct fleet *f, ship_chain_fn *each, void *ctx) {
    struct ship_report *r = f->report;
    for (size_t i = 0; i < f->count; i++) {
        const struct chain_state *at = &f->list[i];
        char log[2 * STATE_LOG_ID + 1];
        hex_str(at->chain.log, STATE_LOG_ID, log);
        const struct ship_chain_report one = {
            .chain = at->chain.id,
            .gate = at->chain.gate,
            .log = log,
            .sound = at->sound,
            .text = at->text,
            .first_bad = at->first_bad,
            .first_seq = at->base_seq + 1,
            .last_seq = at->last_seq,
            .records = at->records,
            .checkpoints = at->checkpoints,
            .signed_seq = at->signed_seq,
            .at_ms = at->chain.at_ms,
            .silent = at->running && at->chain.at_ms + SHIP_SILENT_MS < clock_wall_ms(),
        };
        r->bad_chains += !at->sound;
        r->records += at->records;
        r->checkpoints += at->checkpoints;
        each(ctx, &one);
    }
    r->chains = f->count;
    r->sound = r->bad_chains == 0 && !r->text[0];
}

void ship_verify(const char *home, const char *key_path, ship_chain_fn *each, void *ctx,
                 struct ship_report *ret_report) {
    *ret_report = (struct ship_report){0};
    struct fleet f = {.report = ret_report};
    struct err err = {0};
    cleanup_free char *dsn = NULL;
    tape_init(&f.tape);
    arena_init(&f.arena);
    map_init(&f.digests);
    map_init(&f.seen);
    int rc = state_chains_dsn(home, &dsn, &err);
    if (rc == 0 && !dsn)
        rc = err_set(&err, "the home `%s` belongs to no fleet: write the DSN to `%s/fleet`", home, home);
    if (rc == 0 && key_path)
        rc = load_keys(&f, key_path, &err);
    if (rc == 0)
        rc = state_chains_open(dsn, NULL, SHIP_TIMEOUT_MS, -1, &f.chains, &err);
    if (rc == 0)
        rc = verify_all(&f, &err);
    if (rc == 0) {
        tell(&f, each, ctx);
    } else {
        ret_report->unreadable = true;
        snprintf(ret_report->text, sizeof(ret_report->text), "%.500s", err.text);
    }
    state_chains_close(f.chains);
    map_free(&f.digests);
    map_free(&f.seen);
    arena_free(&f.arena);
    tape_free(&f.tape);
    free(f.keys);
    free(f.list);
}
