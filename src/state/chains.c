#include "state/chains.h"

#include "base/arena.h"
#include "base/hex.h"
#include "base/mem.h"
#include "io/file.h"
#include "state/db.h"

#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FLEET_FILE "fleet"

struct state_chains {
    struct db *db;
};

/* ---- opening ---- */

int state_chains_open(const char *dsn, const char *turns, uint64_t timeout_ms, int stop_fd,
                      struct state_chains **ret_chains, struct err *err) {
    struct db *db;
    if (db_open_dsn(dsn, turns ? turns : "read", turns, &db, err) < 0)
        return -1;
    db_set_timeout(db, timeout_ms, stop_fd);
    *ret_chains = mem_zalloc(sizeof(**ret_chains));
    (*ret_chains)->db = db;
    return 0;
}

void state_chains_close(struct state_chains *c) {
    if (!c)
        return;
    db_close(c->db);
    free(c);
}

int state_chains_dsn(const char *home, char **ret_dsn, struct err *err) {
    cleanup_free char *path = NULL;
    cleanup_buf struct buf text;
    bool missing = false;
    buf_init(&text, STATE_DSN_MAX);
    if (asprintf(&path, "%s/" FLEET_FILE, home) < 0)
        return err_set(err, "out of memory");
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return db_home_dsn(home, ret_dsn, err);
    if (io_file_read(path, &text, &missing, err) < 0)
        return missing ? db_home_dsn(home, ret_dsn, err) : -1;
    struct slice dsn = slice_trim(buf_slice(&text));
    *ret_dsn = mem_dup(dsn.ptr, dsn.len);
    return 0;
}

int state_chains_dsn_keep(const char *home, const char *dsn, struct err *err) {
    cleanup_free char *path = NULL, *line = NULL, *known = NULL;
    if (asprintf(&path, "%s/" FLEET_FILE, home) < 0 || asprintf(&line, "%s\n", dsn) < 0)
        return err_set(err, "out of memory");
    if (state_chains_dsn(home, &known, NULL) == 0 && known && strcmp(known, dsn) == 0)
        return 0;
    return io_file_replace(path, slice_str(line), 0600, err);
}

/* ---- chains ---- */

#define CHAIN_COLUMNS                                                                                        \
    "chain,log,key,gate,base_seq,base_hash,finding,began_ms,seq,hash,at_ms,signed_seq,signed_hash,"          \
    "signed_ms,signature"

static struct slice bytes_of(const unsigned char *bytes, size_t len) {
    return slice_of((const char *)bytes, len);
}

static void read_bytes(struct db_stmt *st, int column, unsigned char *bytes, size_t len) {
    struct slice text = db_text(st, column);
    memset(bytes, 0, len);
    if (text.len == len)
        memcpy(bytes, text.ptr, len);
}

static void read_chain(struct db_stmt *st, struct state_chain *c) {
    *c = (struct state_chain){.id = (uint64_t)db_int(st, 0),
                              .base_seq = (uint64_t)db_int(st, 4),
                              .began_ms = (uint64_t)db_int(st, 7),
                              .seq = (uint64_t)db_int(st, 8),
                              .at_ms = (uint64_t)db_int(st, 10)};
    c->head.seq = (uint64_t)db_int(st, 11);
    c->head.time_ms = (uint64_t)db_int(st, 13);
    read_bytes(st, 1, c->log, sizeof(c->log));
    read_bytes(st, 2, c->key, sizeof(c->key));
    read_bytes(st, 5, c->base_hash, sizeof(c->base_hash));
    read_bytes(st, 9, c->hash, sizeof(c->hash));
    read_bytes(st, 12, c->head.hash, sizeof(c->head.hash));
    read_bytes(st, 14, c->head.signature, sizeof(c->head.signature));
    snprintf(c->gate, sizeof(c->gate), "%.*s", SLICE_FMT(db_text(st, 3)));
    snprintf(c->finding, sizeof(c->finding), "%.*s", SLICE_FMT(db_text(st, 6)));
}

int state_chains_each(struct state_chains *c, struct slice log, state_chain_fn *each, void *ctx,
                      struct err *err) {
    struct db_stmt *st =
        log.len
            ? db_prepare(c->db, "SELECT " CHAIN_COLUMNS " FROM audit_chains WHERE log=?1 ORDER BY chain DESC")
            : db_prepare(c->db, "SELECT " CHAIN_COLUMNS " FROM audit_chains ORDER BY chain");
    if (log.len)
        db_bind_blob(st, 1, log);
    bool more = true;
    while (more && db_step(st)) {
        struct state_chain chain;
        read_chain(st, &chain);
        more = each(ctx, &chain);
    }
    return db_finish(st, err) < 0 ? -1 : 0;
}

int state_chains_add(struct state_chains *c, struct state_chain *chain, struct err *err) {
    struct db_stmt *st = db_prepare(
        c->db, "INSERT INTO audit_chains(log,key,gate,base_seq,base_hash,finding,began_ms,seq,hash,"
               "at_ms,signed_seq,signed_hash,signed_ms,signature) VALUES(?1,?2,?3,?4,?5,?6,"
               "(extract(epoch from now())*1000)::bigint,?4,?5,"
               "(extract(epoch from now())*1000)::bigint,0,'',0,'') RETURNING chain");
    db_bind_blob(st, 1, bytes_of(chain->log, sizeof(chain->log)));
    db_bind_blob(st, 2, bytes_of(chain->key, sizeof(chain->key)));
    db_bind_text(st, 3, slice_str(chain->gate));
    db_bind_int(st, 4, (int64_t)chain->base_seq);
    db_bind_blob(st, 5, bytes_of(chain->base_hash, sizeof(chain->base_hash)));
    db_bind_text(st, 6, slice_str(chain->finding));
    if (db_step(st))
        chain->id = (uint64_t)db_int(st, 0);
    if (db_finish(st, err) < 0)
        return -1;
    chain->seq = chain->base_seq;
    memcpy(chain->hash, chain->base_hash, sizeof(chain->hash));
    chain->head = (struct state_point){0};
    return 0;
}

/* ---- shipping ---- */

static const char copy_head[19] = "PGCOPY\n\377\r\n"; /* then a NUL, no flags, no extension */

static void put_count(struct buf *b, uint16_t fields) {
    uint16_t raw = htons(fields);
    buf_put(b, &raw, sizeof(raw));
}

static void put_field(struct buf *b, const void *bytes, size_t len) {
    uint32_t raw = htonl((uint32_t)len);
    buf_put(b, &raw, sizeof(raw));
    buf_put(b, bytes, len);
}

static void put_number(struct buf *b, uint64_t value) {
    uint64_t raw = htobe64(value);
    put_field(b, &raw, sizeof(raw));
}

void state_batch_init(struct state_batch *b) {
    buf_init(&b->blocks, STATE_BATCH_MAX);
    buf_init(&b->points, STATE_BATCH_MAX);
}

void state_batch_free(struct state_batch *b) {
    buf_free(&b->blocks);
    buf_free(&b->points);
}

void state_batch_begin(struct state_batch *b, uint64_t chain) {
    b->chain = chain;
    buf_reset(&b->blocks);
    buf_reset(&b->points);
}

static void batch_row(struct buf *rows, uint16_t fields) {
    if (!rows->len)
        buf_put(rows, copy_head, sizeof(copy_head));
    put_count(rows, fields);
}

void state_batch_block(struct state_batch *b, uint64_t first_seq, uint64_t count, struct slice hash,
                       struct slice body) {
    batch_row(&b->blocks, 5);
    put_number(&b->blocks, b->chain);
    put_number(&b->blocks, first_seq);
    put_number(&b->blocks, count);
    put_field(&b->blocks, hash.ptr, hash.len);
    put_field(&b->blocks, body.ptr, body.len);
}

void state_batch_point(struct state_batch *b, const struct state_point *p) {
    batch_row(&b->points, 5);
    put_number(&b->points, b->chain);
    put_number(&b->points, p->seq);
    put_field(&b->points, p->hash, sizeof(p->hash));
    put_number(&b->points, p->time_ms);
    put_field(&b->points, p->signature, sizeof(p->signature));
}

/* Inside the transaction. Returns 1 if the chain ended where the caller expected. */
static int move_end(struct state_chains *c, const struct state_chain *from, const struct state_chain *to,
                    struct err *err) {
    struct db_stmt *st = db_prepare(
        c->db,
        "UPDATE audit_chains SET seq=?4,hash=?5,at_ms=(extract(epoch from now())*1000)::bigint,"
        "signed_seq=?6,signed_hash=?7,signed_ms=?8,signature=?9 WHERE chain=?1 AND seq=?2 AND hash=?3");
    db_bind_int(st, 1, (int64_t)from->id);
    db_bind_int(st, 2, (int64_t)from->seq);
    db_bind_blob(st, 3, bytes_of(from->hash, sizeof(from->hash)));
    db_bind_int(st, 4, (int64_t)to->seq);
    db_bind_blob(st, 5, bytes_of(to->hash, sizeof(to->hash)));
    db_bind_int(st, 6, (int64_t)to->head.seq);
    db_bind_blob(st, 7, to->head.seq ? bytes_of(to->head.hash, sizeof(to->head.hash)) : SLICE(""));
    db_bind_int(st, 8, (int64_t)to->head.time_ms);
    db_bind_blob(st, 9, to->head.seq ? bytes_of(to->head.signature, sizeof(to->head.signature)) : SLICE(""));
    return (int)db_run(st, err);
}

static int copy_in(struct state_chains *c, const char *statement, const struct buf *rows, struct err *err) {
    static const char end[] = {'\377', '\377'};
    if (!rows->len)
        return 0;
    cleanup_buf struct buf all;
    buf_init(&all, rows->len + sizeof(end));
    buf_put_slice(&all, buf_slice(rows));
    buf_put(&all, end, sizeof(end));
    return db_copy(c->db, statement, buf_slice(&all), err);
}

int state_chains_ship(struct state_chains *c, const struct state_batch *b, const struct state_chain *chain,
                      const struct state_chain *end, struct err *err) {
    if (b->blocks.full || b->points.full)
        return err_set(err, "a batch of records is over %u bytes", STATE_BATCH_MAX);
    if (db_begin(c->db, err) < 0)
        return -1;
    int moved = move_end(c, chain, end, err);
    bool fine = moved == 1 &&
                copy_in(c, "COPY audit_blocks(chain,first_seq,count,hash,body) FROM STDIN (FORMAT binary)",
                        &b->blocks, err) == 0 &&
                copy_in(c, "COPY audit_points(chain,seq,hash,time_ms,signature) FROM STDIN (FORMAT binary)",
                        &b->points, err) == 0;
    if (db_end(c->db, fine, fine ? err : NULL) == 0)
        return 1;
    return moved == 0 ? 0 : -1;
}

/* ---- reading ---- */

struct db_stmt *state_chains_blocks(struct state_chains *c, uint64_t chain, uint64_t from_seq, bool down,
                                    bool bodies, uint64_t limit) {
#define BLOCKS_UP                                                                                            \
    " FROM audit_blocks WHERE chain=?1 AND first_seq>=coalesce((SELECT max(first_seq) FROM audit_blocks "    \
    "WHERE chain=?1 AND first_seq<=?2),0) ORDER BY first_seq LIMIT ?3"
#define BLOCKS_DOWN " FROM audit_blocks WHERE chain=?1 AND first_seq<=?2 ORDER BY first_seq DESC LIMIT ?3"
    static const char *const texts[2][2] = {
        {"SELECT first_seq,count,hash,''::bytea" BLOCKS_UP,
         "SELECT first_seq,count,hash,''::bytea" BLOCKS_DOWN},
        {"SELECT first_seq,count,hash,body" BLOCKS_UP, "SELECT first_seq,count,hash,body" BLOCKS_DOWN}};
#undef BLOCKS_UP
#undef BLOCKS_DOWN
    struct db_stmt *st = db_prepare(c->db, texts[bodies][down]);
    db_bind_int(st, 1, (int64_t)chain);
    db_bind_int(st, 2, (int64_t)from_seq);
    db_bind_int(st, 3, (int64_t)limit);
    return st;
}

bool state_chains_block(struct db_stmt *rows, struct state_block *ret_block) {
    if (!db_step(rows))
        return false;
    *ret_block = (struct state_block){.first_seq = (uint64_t)db_int(rows, 0),
                                      .count = (uint64_t)db_int(rows, 1),
                                      .hash = db_text(rows, 2),
                                      .body = db_text(rows, 3)};
    return true;
}

struct db_stmt *state_chains_points(struct state_chains *c, uint64_t chain, uint64_t after_seq,
                                    uint64_t limit) {
    struct db_stmt *st = db_prepare(c->db, "SELECT seq,hash,time_ms,signature FROM audit_points WHERE "
                                           "chain=?1 AND seq>?2 ORDER BY seq LIMIT ?3");
    db_bind_int(st, 1, (int64_t)chain);
    db_bind_int(st, 2, (int64_t)after_seq);
    db_bind_int(st, 3, (int64_t)limit);
    return st;
}

bool state_chains_point(struct db_stmt *rows, struct state_point *ret_point) {
    if (!db_step(rows))
        return false;
    *ret_point = (struct state_point){.seq = (uint64_t)db_int(rows, 0), .time_ms = (uint64_t)db_int(rows, 2)};
    read_bytes(rows, 1, ret_point->hash, sizeof(ret_point->hash));
    read_bytes(rows, 3, ret_point->signature, sizeof(ret_point->signature));
    return true;
}

int state_chains_rows_end(struct db_stmt *rows, struct err *err) { return db_finish(rows, err) < 0 ? -1 : 0; }

/* ---- days ---- */

int state_chains_open_days(struct state_chains *c, struct err *err) {
    return db_run(db_prepare(c->db, "SELECT audit_open_days()"), err) < 0 ? -1 : 0;
}

int state_chains_old_day(struct state_chains *c, uint64_t keep_ms, char ret_day[STATE_DAY_TEXT],
                         struct err *err) {
    struct db_stmt *st = db_prepare(
        c->db, "SELECT substr(p.relname,14) FROM pg_inherits i JOIN pg_class p ON p.oid=i.inhrelid WHERE "
               "i.inhparent='sallyport.audit_blocks'::regclass AND substr(p.relname,14)<to_char((now() AT "
               "TIME ZONE 'UTC')-?1*interval '1 millisecond','YYYYMMDD') AND substr(p.relname,14)<"
               "to_char((now() AT TIME ZONE 'UTC')-interval '1 day','YYYYMMDD') ORDER BY 1 LIMIT 1");
    db_bind_int(st, 1, (int64_t)keep_ms);
    bool found = db_step(st);
    if (found)
        snprintf(ret_day, STATE_DAY_TEXT, "%.*s", SLICE_FMT(db_text(st, 0)));
    return db_finish(st, err) < 0 ? -1 : found;
}

int state_chains_day_digest(struct state_chains *c, const char *day, char ret_digest[SHA_HEX],
                            struct err *err) {
    cleanup_buf struct buf lines;
    buf_init(&lines, STATE_BATCH_MAX);
    struct db_stmt *st =
        db_prepare(c->db, "SELECT r.chain,c.log,r.seq,r.hash FROM audit_retired r JOIN audit_chains c ON "
                          "c.chain=r.chain WHERE r.day=to_date(?1,'YYYYMMDD') ORDER BY r.chain");
    db_bind_text(st, 1, slice_str(day));
    while (db_step(st)) {
        unsigned char log[STATE_LOG_ID], hash[SHA_BYTES];
        char log_text[2 * STATE_LOG_ID + 1], hash_text[2 * SHA_BYTES + 1];
        read_bytes(st, 1, log, sizeof(log));
        read_bytes(st, 3, hash, sizeof(hash));
        hex_str(log, sizeof(log), log_text);
        hex_str(hash, sizeof(hash), hash_text);
        buf_printf(&lines, "%lld %s %lld %s\n", (long long)db_int(st, 0), log_text, (long long)db_int(st, 2),
                   hash_text);
    }
    if (db_finish(st, err) < 0)
        return -1;
    if (lines.full)
        return err_set(err, "too many chains on one day");
    sha_256_hex(buf_slice(&lines), ret_digest);
    return 0;
}

int state_chains_note_day(struct state_chains *c, const char *day, char ret_digest[SHA_HEX],
                          struct err *err) {
    struct db_stmt *st = db_prepare(
        c->db, "INSERT INTO audit_retired(day,chain,seq,hash) SELECT DISTINCT ON (chain) day,chain,"
               "first_seq+count-1,hash FROM audit_blocks WHERE day=to_date(?1,'YYYYMMDD') ORDER BY chain,"
               "first_seq DESC ON CONFLICT (day,chain) DO NOTHING");
    db_bind_text(st, 1, slice_str(day));
    return db_run(st, err) < 0 ? -1 : state_chains_day_digest(c, day, ret_digest, err);
}

int state_chains_drop_day(struct state_chains *c, const char *day, struct err *err) {
    struct db_stmt *st = db_prepare(c->db, "SELECT audit_drop_day(to_date(?1,'YYYYMMDD'))");
    db_bind_text(st, 1, slice_str(day));
    return db_run(st, err) < 0 ? -1 : 0;
}

int state_chains_retired(struct state_chains *c, uint64_t chain, uint64_t *ret_seq,
                         unsigned char ret_hash[SHA_BYTES], char ret_day[STATE_DAY_TEXT], struct err *err) {
    struct db_stmt *st = db_prepare(c->db, "SELECT seq,hash,to_char(day,'YYYYMMDD') FROM audit_retired WHERE "
                                           "chain=?1 ORDER BY seq DESC LIMIT 1");
    db_bind_int(st, 1, (int64_t)chain);
    bool found = db_step(st);
    if (found) {
        *ret_seq = (uint64_t)db_int(st, 0);
        read_bytes(st, 1, ret_hash, SHA_BYTES);
        snprintf(ret_day, STATE_DAY_TEXT, "%.*s", SLICE_FMT(db_text(st, 2)));
    }
    return db_finish(st, err) < 0 ? -1 : found;
}
