#include "ship/ship.h"

#include "audit/shipped.h"
#include "base/clock.h"
#include "base/mem.h"
#include "io/work.h"
#include "ship/attach.h"
#include "ship/chores.h"
#include "ship/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define SHIP_TURNS 16 /* digits of the name of the lock that this gate's transactions take */

struct ship {
    char *home, *gate;
    uint64_t keep_ms;
    pthread_t thread;
    bool started;
    int wake[2]; /* ends a rest */
    int stop[2]; /* ends a wait for the database */
    atomic_bool ending;

    pthread_mutex_t log_mutex;
    struct audit *audit; /* NULL once the log is about to be closed */
    pthread_mutex_t mutex;
    struct ship_health health; /* what others may ask for */

    /* Of the thread. */
    struct state_chains *chains;
    struct homelog log;
    struct state_batch batch;
    struct state_chain chain; /* its id is 0: not attached */
    int lock;                 /* -1: another process ships */
    uint64_t backoff_ms;
    uint64_t chores_ms; /* steady clock: when the next one is due */
    uint64_t noted_ms;
    uint64_t synced_ms; /* when everything was last shipped */
    uint64_t acked_ms;  /* wall clock */
    bool had_fault;     /* that was reported */
};

static void *ship_thread(void *arg);

/* ---- starting and ending ---- */

static char *gate_name(const struct ship_config *config) {
    char host[STATE_GATE_NAME_MAX / 2] = "";
    char *name = NULL;
    gethostname(host, sizeof(host) - 1);
    if (config->gate)
        return mem_dup(config->gate, strlen(config->gate));
    return asprintf(&name, "%s:%s", host, config->home) < 0 ? NULL : name;
}

int ship_start(const struct ship_config *config, struct ship **ret_ship, struct err *err) {
    struct ship *s = mem_zalloc(sizeof(*s));
    s->home = mem_dup(config->home, strlen(config->home));
    s->gate = gate_name(config);
    s->keep_ms = config->keep_ms;
    s->audit = config->audit;
    s->health.backlog_max = config->backlog_max ? config->backlog_max : SHIP_BACKLOG_BYTES;
    s->lock = s->wake[0] = s->wake[1] = s->stop[0] = s->stop[1] = -1;
    s->backoff_ms = SHIP_BACKOFF_MS;
    s->synced_ms = clock_mono_ms();
    pthread_mutex_init(&s->mutex, NULL);
    pthread_mutex_init(&s->log_mutex, NULL);
    homelog_init(&s->log, s->home);
    state_batch_init(&s->batch);
    char turns[SHA_HEX];
    sha_256_hex(slice_str(s->gate), turns);
    turns[SHIP_TURNS] = '\0';
    int rc = state_chains_dsn_keep(config->home, config->dsn, err);
    if (rc == 0 && (pipe2(s->wake, O_CLOEXEC | O_NONBLOCK) < 0 || pipe2(s->stop, O_CLOEXEC | O_NONBLOCK) < 0))
        rc = err_set(err, "pipe: %s", strerror(errno));
    if (rc == 0)
        rc = state_chains_open(config->dsn, turns, SHIP_TIMEOUT_MS, s->stop[0], &s->chains, err);
    if (rc == 0)
        rc = io_thread_start(&s->thread, ship_thread, s, err);
    s->started = rc == 0;
    if (rc < 0) {
        ship_end(s);
        return err_wrap(err, "ship the audit log");
    }
    *ret_ship = s;
    return 0;
}

void ship_settle(struct ship *s) {
    if (!s)
        return;
    pthread_mutex_lock(&s->log_mutex);
    s->audit = NULL;
    pthread_mutex_unlock(&s->log_mutex);
}

static void ship_join(struct ship *s) {
    struct timespec due;
    atomic_store(&s->ending, true);
    (void)!write(s->wake[1], "", 1);
    clock_gettime(CLOCK_REALTIME, &due);
    due.tv_sec += SHIP_LAST_MS / 1000;
    if (pthread_timedjoin_np(s->thread, NULL, &due) == 0)
        return;
    (void)!write(s->stop[1], "", 1);
    pthread_join(s->thread, NULL);
}

void ship_end(struct ship *s) {
    if (!s)
        return;
    if (s->started)
        ship_join(s);
    for (size_t i = 0; i < 2; i++) {
        if (s->wake[i] >= 0)
            close(s->wake[i]);
        if (s->stop[i] >= 0)
            close(s->stop[i]);
    }
    if (s->lock >= 0)
        close(s->lock);
    state_chains_close(s->chains);
    homelog_free(&s->log);
    state_batch_free(&s->batch);
    pthread_mutex_destroy(&s->mutex);
    pthread_mutex_destroy(&s->log_mutex);
    free(s->home);
    free(s->gate);
    free(s);
}

void ship_health(struct ship *s, struct ship_health *ret_health) {
    pthread_mutex_lock(&s->mutex);
    *ret_health = s->health;
    pthread_mutex_unlock(&s->mutex);
}

/* ---- records of its own ---- */

static int put_record(void *owner, const char *event, struct slice text, struct err *err) {
    struct ship *s = owner;
    int rc = -1;
    pthread_mutex_lock(&s->log_mutex);
    if (!s->audit)
        err_set(err, "the gate is shutting down");
    else if (audit_put_event(s->audit, slice_str(event), (struct slice){0}, (struct slice){0}, text) !=
             AUDIT_OK)
        err_set(err, "the record `%s` found no room in the audit log", event);
    else
        rc = audit_flush(s->audit, err);
    pthread_mutex_unlock(&s->log_mutex);
    return rc;
}

/* ---- one round ---- */

/* True when this process is the one that ships. */
static bool take_lock(struct ship *s) {
    cleanup_free char *path = NULL;
    if (s->lock >= 0)
        return true;
    if (asprintf(&path, "%s/audit/ship.lock", s->home) < 0)
        return false;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
        s->lock = fd;
    else if (fd >= 0)
        close(fd);
    return s->lock >= 0;
}

static int public_key(const struct ship *s, unsigned char key[CRYPTO_SIGNATURE_KEY], struct err *err) {
    cleanup_free char *path = NULL;
    struct crypto_signer *signer = NULL;
    if (asprintf(&path, "%s/audit.pub", s->home) < 0)
        return err_set(err, "out of memory");
    if (crypto_signer_read_public(path, &signer, err) < 0)
        return -1;
    crypto_signer_public(signer, key);
    crypto_signer_free(signer);
    return 0;
}

static int attach(struct ship *s, struct err *err) {
    unsigned char key[CRYPTO_SIGNATURE_KEY];
    struct audit_shipped shipped;
    bool finding;
    audit_shipped_read(s->log.dir, &shipped);
    homelog_close(&s->log);
    if (public_key(s, key, err) < 0 ||
        attach_chain(s->chains, &s->log, s->gate, shipped.chain, key, &s->chain, &finding, err) < 0)
        return -1;
    if (finding)
        put_record(s, "fleet_chain", slice_str(s->chain.finding), NULL);
    return s->chain.id ? state_chains_open_days(s->chains, err) : 0;
}

static int chores(struct ship *s, struct err *err) {
    const struct chores_record record = {put_record, s};
    if (clock_mono_ms() < s->chores_ms || atomic_load(&s->ending))
        return 0;
    if (state_chains_open_days(s->chains, err) < 0 ||
        chores_retire(s->chains, s->keep_ms, &record, err) < 0 ||
        chores_witness(s->chains, &s->chain, &record, err) < 0)
        return -1;
    s->chores_ms = clock_mono_ms() + SHIP_CHORES_MS;
    return 0;
}

static void count_batch(struct ship *s, const struct state_chain *end) {
    pthread_mutex_lock(&s->mutex);
    s->health.records += end->seq - s->chain.seq;
    s->health.bytes += s->batch.blocks.len + s->batch.points.len;
    s->health.batches++;
    pthread_mutex_unlock(&s->mutex);
}

/* *ret_more: something was shipped, and there may be more. */
static int ship_batch(struct ship *s, bool *ret_more, struct err *err) {
    struct state_chain end;
    uint64_t began_ms = clock_mono_ms();
    uint64_t segment = s->log.open ? s->log.segment.meta.number : 0;
    *ret_more = false;
    if (homelog_read(&s->log, &s->chain, &s->batch, &end, err) < 0)
        return -1;
    bool moved_on = s->log.open && s->log.segment.meta.number != segment;
    if (!s->batch.blocks.len && !s->batch.points.len) {
        *ret_more = moved_on && segment;
        s->synced_ms = began_ms;
        return 0;
    }
    int stored = state_chains_ship(s->chains, &s->batch, &s->chain, &end, err);
    if (stored < 0)
        return -1;
    if (stored == 0)
        return err_set(err, "another gate ships the same log: it has a copy of this home");
    count_batch(s, &end);
    *ret_more = moved_on || s->batch.blocks.len >= SHIP_BATCH_BYTES;
    s->chain = end;
    s->acked_ms = clock_wall_ms();
    if (!*ret_more)
        s->synced_ms = began_ms;
    return 0;
}

static int ship_round(struct ship *s, bool *ret_more, struct err *err) {
    *ret_more = false;
    if (!s->chain.id && attach(s, err) < 0)
        return -1;
    if (!s->chain.id)
        return 0;
    if (ship_batch(s, ret_more, err) < 0)
        return -1;
    return *ret_more ? 0 : chores(s, err);
}

/* ---- what others know of it ---- */

static void hold_calls(struct ship *s, bool held) {
    pthread_mutex_lock(&s->log_mutex);
    if (s->audit)
        audit_hold(s->audit, held);
    pthread_mutex_unlock(&s->log_mutex);
    pthread_mutex_lock(&s->mutex);
    s->health.held = held;
    pthread_mutex_unlock(&s->mutex);
}

static void note(struct ship *s, const struct err *fault) {
    struct segment_meta first = {0};
    uint64_t newest = s->chain.seq, backlog = 0, seq = s->chain.seq, now = clock_mono_ms();
    struct audit_shipped shipped;
    bool known = audit_shipped_read(s->log.dir, &shipped);
    bool there = homelog_look(&s->log, &first, &newest, NULL) > 0;
    if (!s->chain.id)
        seq = known && memcmp(shipped.log_id, first.log_id, CHAIN_ID) == 0 ? shipped.seq : 0;
    if (there && newest > seq)
        homelog_backlog(&s->log, seq, &backlog, NULL);
    pthread_mutex_lock(&s->mutex);
    struct ship_health *h = &s->health;
    h->active = s->lock >= 0;
    h->failed = fault != NULL;
    snprintf(h->fault, sizeof(h->fault), "%.255s", fault ? fault->text : "");
    h->seq = seq;
    h->lag_records = there && newest > seq ? newest - seq : 0;
    h->lag_ms = h->lag_records ? now - s->synced_ms : 0;
    h->backlog = backlog;
    pthread_mutex_unlock(&s->mutex);
    hold_calls(s, backlog > s->health.backlog_max);
    s->noted_ms = now;
    if (s->lock < 0 || !there)
        return;
    if (s->chain.id) {
        memcpy(shipped.log_id, s->chain.log, CHAIN_ID);
        shipped.chain = s->chain.id;
        shipped.seq = s->chain.seq;
    } else {
        memcpy(shipped.log_id, first.log_id, CHAIN_ID);
        shipped.seq = seq;
    }
    if (s->acked_ms)
        shipped.time_ms = s->acked_ms;
    shipped.backlog = backlog;
    shipped.written_ms = clock_wall_ms();
    snprintf(shipped.fault, sizeof(shipped.fault), "%.255s", fault ? fault->text : "");
    audit_shipped_write(s->log.dir, &shipped, NULL);
}

/* ---- the thread ---- */

static void rest(struct ship *s, uint64_t ms) {
    struct pollfd p = {.fd = s->wake[0], .events = POLLIN};
    if (!atomic_load(&s->ending))
        poll(&p, 1, (int)ms);
}

/* True: it has to end now. */
static bool wait_stop(struct ship *s, uint64_t ms) {
    struct pollfd p = {.fd = s->stop[0], .events = POLLIN};
    return poll(&p, 1, (int)ms) > 0;
}

static void after_failure(struct ship *s, const struct err *err) {
    pthread_mutex_lock(&s->mutex);
    s->health.failures++;
    pthread_mutex_unlock(&s->mutex);
    s->chain.id = 0; /* the end of the chain is read again */
    s->had_fault = true;
    uint64_t due_ms = clock_mono_ms() + s->backoff_ms;
    do { /* meanwhile the log grows */
        note(s, err);
        rest(s, s->backoff_ms < SHIP_NOTE_MS ? s->backoff_ms : SHIP_NOTE_MS);
    } while (clock_mono_ms() < due_ms && !atomic_load(&s->ending));
    s->backoff_ms = s->backoff_ms * 2 > SHIP_BACKOFF_MAX_MS ? SHIP_BACKOFF_MAX_MS : s->backoff_ms * 2;
}

static void *ship_thread(void *arg) {
    struct ship *s = arg;
    pthread_setname_np(pthread_self(), "ship");
    for (bool more = true, last = false; more || !last;) {
        struct err err = {0};
        last = atomic_load(&s->ending);
        if (!take_lock(s)) {
            note(s, NULL);
            /* The process that ships may already have read the log for the last time. */
            more = last && !wait_stop(s, SHIP_LOCK_MS);
            rest(s, SHIP_NOTE_MS);
            continue;
        }
        if (ship_round(s, &more, &err) < 0) {
            more = false;
            after_failure(s, &err);
            continue;
        }
        s->backoff_ms = SHIP_BACKOFF_MS;
        bool shipped = s->batch.blocks.len > 0;
        if (s->had_fault || last || clock_mono_ms() - s->noted_ms >= SHIP_NOTE_MS)
            note(s, NULL);
        s->had_fault = false;
        if (!more)
            rest(s, shipped ? SHIP_PAUSE_MS : SHIP_IDLE_MS);
    }
    return NULL;
}
