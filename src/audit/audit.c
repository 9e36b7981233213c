#include "audit/audit.h"

#include "audit/disk.h"
#include "audit/writer.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/rand.h"
#include "io/file.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>

#define AUDIT_MAGIC 0x61756474u
#define AUDIT_OUTCOME_SPARE                                                                                  \
    (AUDIT_RING_BYTES / 8) /* bytes for outcomes, so that every recorded decision gets its outcome */

/* How the loop is notified; lives until the loop has closed the handle. Not a uv_async_t: its receiver spins
 * until the sender, which it may have preempted, is done. */
struct audit_port {
    uv_poll_t poll;
    int fd; /* an eventfd */
    struct audit *audit;
};

struct audit {
    uint32_t magic;
    bool durable;
    enum audit_on_full on_full;
    char instance[RING_INSTANCE_LEN + 1];
    _Atomic uint64_t next_call;
    char *home;
    char *dir;
    struct audit_port *port;
    /* Of the loop's thread. */
    struct list waits; /* in the order of their positions */
    uint64_t wanted;   /* position that a call waits for; 0: none */
    struct disk disk;  /* only of a durable log with a loop, where calls can wait */
    uint64_t begun_us; /* when it began to write */
    bool quick;        /* the last write ended before a sleeping waiter could have been woken */
    struct io_loop *loop;
    struct io_task sync;
    void (*changed)(void *owner, const struct audit_health *health);
    void *owner;

    pthread_mutex_t mutex;  /* protects everything below, and the producing end of the ring */
    pthread_cond_t wake;    /* for the writer */
    pthread_cond_t flushed; /* for audit_flush */
    struct ring ring;
    bool asleep;  /* the writer wants to be woken */
    bool napping; /* the writer gathers records; only urgent ones wake it */
    bool stop;
    bool hasty; /* a call waits: do not sleep */
    bool ready; /* the log is open */
    bool failed;
    bool lost; /* the ring's file is gone: what is not written would be lost with this process */
    bool held;
    uint64_t committed;
    uint64_t safe;      /* position up to which the ring, or the log, is on disk */
    uint64_t failed_at; /* position up to which waiters were notified of a failure */
    uint64_t gaps;
    uint64_t gaps_written;
    uint64_t refusals;         /* decisions refused, in all */
    uint64_t refusals_written; /* number of those that a record already reports */
    bool news;                 /* `changed` must be called */
    struct audit_health health;

    pthread_t thread;
    bool started;
    struct writer writer; /* of the writer's thread */
};

static void *audit_thread(void *arg);
static void audit_notify_waits(struct audit *a, uint64_t safe, uint64_t failed_at);
static void audit_notify(struct audit *a);
static void audit_sync(struct io_task *task);
static void audit_on_notify(uv_poll_t *handle, int status, int events);
static void audit_free(struct audit *a);

static void audit_notify_changes(struct audit *a) {
    struct audit_health health;
    pthread_mutex_lock(&a->mutex);
    const bool news = a->news;
    a->news = false;
    pthread_mutex_unlock(&a->mutex);
    if (!news || !a->changed)
        return;
    audit_health(a, &health);
    a->changed(a->owner, &health);
}

/* ---- opening and closing ---- */

static int audit_start(struct audit *a, const struct audit_config *config, struct err *err) {
    if (asprintf(&a->dir, "%s/audit", config->home) < 0 || asprintf(&a->home, "%s", config->home) < 0)
        return err_set(err, "out of memory");
    if (io_make_dir(a->dir, err) < 0 || audit_chain_key_check(a->home, err) < 0 ||
        audit_ring_create(&a->ring, a->dir, a->instance, err) < 0)
        return -1;
    struct writer *w = &a->writer;
    memcpy(w->instance, a->instance, sizeof(w->instance));
    w->durable = config->durable;
    w->segment_bytes = config->segment_bytes ? config->segment_bytes : AUDIT_SEGMENT_BYTES;
    w->retain_ms = config->retain_ms;
    w->ships = config->ships;
    a->loop = config->loop;
    a->changed = config->changed;
    a->owner = config->owner;
    if (config->loop) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0)
            return err_set(err, "make an eventfd: %s", strerror(errno));
        a->port = mem_zalloc(sizeof(*a->port));
        a->port->audit = a;
        a->port->fd = fd;
        CHECK(uv_poll_init(&config->loop->uv, &a->port->poll, fd) == 0 &&
              uv_poll_start(&a->port->poll, UV_READABLE, audit_on_notify) == 0);
        uv_unref((uv_handle_t *)&a->port->poll);
    }
    if (a->durable && a->port && audit_disk_open(&a->disk, &a->ring, a->dir, a->port->fd, err) < 0)
        return -1;
    /* The writer gets no signals: the gate handles them. A bus error belongs to the thread that causes it. */
    sigset_t all, before;
    sigfillset(&all);
    sigdelset(&all, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&a->thread, NULL, audit_thread, a);
    a->started = rc == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc == 0 ? 0 : err_set(err, "start the writer: %s", strerror(rc));
}

int audit_open(const struct audit_config *config, struct audit **ret_audit, struct err *err) {
    struct audit *a = mem_zalloc(sizeof(*a));
    unsigned char id[RING_INSTANCE_LEN / 2];
    uint32_t tag;
    pthread_condattr_t attr;
    a->magic = AUDIT_MAGIC;
    a->durable = config->durable;
    a->on_full = config->on_full;
    a->ring.fd = a->disk.fd = -1;
    list_init(&a->waits);
    io_task_init(&a->sync);
    rand_bytes(id, sizeof(id));
    hex_str(id, sizeof(id), a->instance);
    rand_bytes(&tag, sizeof(tag));
    a->next_call = ((uint64_t)(tag & 0x1fffff) << 32) + 1; /* below 2^53: every JSON reader accepts it */
    pthread_mutex_init(&a->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->wake, &attr);
    pthread_cond_init(&a->flushed, &attr);
    pthread_condattr_destroy(&attr);
    if (audit_start(a, config, err) < 0) {
        audit_close(a);
        return err_wrap(err, "audit log");
    }
    *ret_audit = a;
    return 0;
}

static void audit_port_closed(uv_handle_t *handle) {
    struct audit_port *port = container_of(handle, struct audit_port, poll);
    close(port->fd);
    free(port);
}

void audit_close(struct audit *a) {
    if (!a)
        return;
    CHECK_MAGIC(a, AUDIT_MAGIC);
    if (a->started) {
        pthread_mutex_lock(&a->mutex);
        a->stop = true;
        pthread_cond_signal(&a->wake);
        pthread_mutex_unlock(&a->mutex);
        pthread_join(a->thread, NULL);
    }
    audit_notify_changes(a); /* also for a gate that ran only for a moment */
    list_remove(&a->sync.node);
    audit_disk_close(&a->disk);
    audit_notify_waits(a, a->safe, UINT64_MAX);
    if (a->port) {
        a->port->audit = NULL;
        uv_close((uv_handle_t *)&a->port->poll, audit_port_closed);
    }
    /* Records that could not be written stay for the next process. */
    if (a->ring.head && audit_ring_used(&a->ring) == 0 && atomic_load(&a->ring.head->lost) == 0)
        audit_ring_remove(&a->ring);
    else
        audit_ring_close(&a->ring);
    audit_free(a);
}

static void audit_free(struct audit *a) {
    audit_writer_close(&a->writer);
    free(a->home);
    free(a->dir);
    pthread_mutex_destroy(&a->mutex);
    pthread_cond_destroy(&a->wake);
    pthread_cond_destroy(&a->flushed);
    free(a);
}

/* ---- adding records ---- */

uint64_t audit_next_call(struct audit *a) {
    return atomic_fetch_add_explicit(&a->next_call, 1, memory_order_relaxed);
}

/* The lock is held. */
static void audit_wake(struct audit *a) {
    bool urgent = a->asleep || (a->napping && (a->hasty || audit_ring_used(&a->ring) > AUDIT_RING_BYTES / 4));
    if (!urgent)
        return;
    a->asleep = a->napping = false;
    pthread_cond_signal(&a->wake);
}

/* Notifies all waiters for earlier positions. The lock is held. */
static void audit_fault(struct audit *a, uint64_t before, const struct err *err) {
    a->news |= !a->failed;
    a->failed = true;
    a->failed_at = before;
    snprintf(a->health.fault, sizeof(a->health.fault), "%.255s", err->text);
}

/* In the ring's file, where the next process finds it. The lock is held. */
static void audit_note_lost(struct audit *a) {
    atomic_store(&a->ring.head->lost, a->gaps - a->gaps_written + a->refusals - a->refusals_written);
}

static enum audit_result audit_lost(struct audit *a, enum audit_result why, bool must_pass) {
    if (a->on_full == AUDIT_PASS || must_pass) {
        a->gaps++;
        a->health.gaps++;
        audit_note_lost(a);
        return a->on_full == AUDIT_PASS ? AUDIT_OK : why;
    }
    a->health.refused++;
    a->refusals++;
    audit_note_lost(a);
    return why;
}

/* A write and a flush cost as much as several calls: records that arrive meanwhile go with the next write. */
static void audit_sync_soon(struct audit *a) {
    if (!a->disk.busy)
        io_loop_gather(a->loop, &a->sync, audit_sync);
}

static enum audit_result audit_put(struct audit *a, struct audit_record *r, struct audit_wait *wait) {
    bool decision = r->kind == AUDIT_KIND_DECISION;
    r->text[AUDIT_INSTANCE] = slice_of(a->instance, RING_INSTANCE_LEN);
    if (r->number[AUDIT_TIME_US] == 0)
        r->number[AUDIT_TIME_US] = clock_wall_us();
    size_t len = audit_record_fit(r);
    enum audit_result result = AUDIT_OK;
    pthread_mutex_lock(&a->mutex);
    char *to = NULL;
    if (a->failed && decision && a->on_full == AUDIT_REFUSE)
        result = audit_lost(a, AUDIT_FAILED, false);
    else if (a->held && decision && a->on_full == AUDIT_REFUSE)
        result = audit_lost(a, AUDIT_FULL, false);
    else if (!(to = audit_ring_reserve(&a->ring, len, decision ? AUDIT_OUTCOME_SPARE : 0)))
        result = audit_lost(a, AUDIT_FULL, !decision);
    if (to) {
        uint64_t position = audit_ring_publish(&a->ring, audit_record_write(r, to));
        if (wait && a->durable && a->port) {
            wait->position = a->wanted = position;
            list_push(&a->waits, &wait->node);
            result = AUDIT_WAIT;
            audit_sync_soon(a);
        }
        audit_wake(a);
    }
    pthread_mutex_unlock(&a->mutex);
    return result;
}

static struct slice args_mode_text(enum audit_args_mode mode) {
    switch (mode) {
    case AUDIT_ARGS_KEYS:
        return SLICE("keys");
    case AUDIT_ARGS_TOKENIZED:
        return SLICE("tokenized");
    case AUDIT_ARGS_FULL:
        return SLICE("full");
    }
    return SLICE("");
}

enum audit_result audit_put_decision(struct audit *a, const struct audit_decision *d,
                                     struct audit_wait *wait) {
    struct audit_record r = {
        .kind = AUDIT_KIND_DECISION,
        .number = {[AUDIT_TIME_US] = d->time_us, [AUDIT_CALL] = d->call, [AUDIT_PARENT] = d->parent},
        .text = {[AUDIT_IDENTITY] = d->identity,
                 [AUDIT_GRANT] = d->grant,
                 [AUDIT_SESSION] = d->session,
                 [AUDIT_SERVER] = d->server,
                 [AUDIT_METHOD] = d->method,
                 [AUDIT_TOOL] = d->tool,
                 [AUDIT_VERDICT] = d->verdict,
                 [AUDIT_REASON] = d->reason,
                 [AUDIT_RULE] = d->rule,
                 [AUDIT_POINTER] = d->pointer,
                 [AUDIT_POLICY] = d->policy,
                 [AUDIT_POLICY_HASH] = d->policy_hash,
                 [AUDIT_TEXT] = d->text,
                 [AUDIT_SHADOW] = d->shadow,
                 [AUDIT_ARGS_MODE] = d->args.len ? args_mode_text(d->args_mode) : SLICE(""),
                 [AUDIT_ARGS] = d->args,
                 [AUDIT_ARGS_HASH] = d->args_hash,
                 [AUDIT_FINGERPRINT] = d->fingerprint,
                 [AUDIT_CLASS] = d->class,
                 [AUDIT_POLICY_VERSION] = d->policy_version},
    };
    return audit_put(a, &r, wait);
}

enum audit_result audit_put_outcome(struct audit *a, const struct audit_outcome *o) {
    struct audit_record r = {
        .kind = AUDIT_KIND_OUTCOME,
        .number = {[AUDIT_TIME_US] = o->time_us,
                   [AUDIT_CALL] = o->call,
                   [AUDIT_LATENCY_US] = o->latency_us,
                   [AUDIT_BYTES_IN] = o->bytes_in,
                   [AUDIT_BYTES_OUT] = o->bytes_out},
        .text = {[AUDIT_STATUS] = o->status, [AUDIT_TEXT] = o->text},
    };
    return audit_put(a, &r, NULL);
}

enum audit_result audit_put_event(struct audit *a, struct slice name, struct slice policy,
                                  struct slice policy_hash, struct slice text) {
    struct audit_record r = {
        .kind = AUDIT_KIND_EVENT,
        .text = {[AUDIT_EVENT] = name,
                 [AUDIT_POLICY] = policy,
                 [AUDIT_POLICY_HASH] = policy_hash,
                 [AUDIT_TEXT] = text},
    };
    return audit_put(a, &r, NULL);
}

enum audit_result audit_put_action(struct audit *a, const struct audit_action *x) {
    struct audit_record r = {
        .kind = AUDIT_KIND_EVENT,
        .text = {[AUDIT_EVENT] = x->name,
                 [AUDIT_IDENTITY] = x->identity,
                 [AUDIT_GRANT] = x->grant,
                 [AUDIT_SESSION] = x->session,
                 [AUDIT_SERVER] = x->server,
                 [AUDIT_TOOL] = x->tool,
                 [AUDIT_RULE] = x->rule,
                 [AUDIT_POLICY] = x->policy,
                 [AUDIT_POLICY_HASH] = x->policy_hash,
                 [AUDIT_POLICY_VERSION] = x->policy_version,
                 [AUDIT_ARGS_HASH] = x->args_hash,
                 [AUDIT_FINGERPRINT] = x->fingerprint,
                 [AUDIT_TEXT] = x->text},
    };
    return audit_put(a, &r, NULL);
}

/* ---- waiting ---- */

static void audit_notify_waits(struct audit *a, uint64_t safe, uint64_t failed_at) {
    while (!list_empty(&a->waits)) {
        struct audit_wait *wait = container_of(a->waits.next, struct audit_wait, node);
        bool written = wait->position <= safe;
        if (!written && wait->position > failed_at)
            return;
        list_remove(&wait->node);
        wait->done(wait, written);
    }
}

/* Later waiters wait for positions after the last one that is known to be on disk. The lock is held. */
static void audit_disk_fault(struct audit *a, const struct err *err) {
    audit_fault(a, a->wanted, err);
    a->wanted = 0;
}

static void audit_on_notify(uv_poll_t *handle, int status, int events) {
    (void)status, (void)events;
    const struct audit_port *port = container_of(handle, struct audit_port, poll);
    struct audit *a = port->audit;
    uint64_t times;
    CHECK_MAGIC(a, AUDIT_MAGIC);
    if (read(port->fd, &times, sizeof(times)) < 0 && errno != EAGAIN)
        return;
    struct err err = {0};
    enum disk_end end = audit_disk_end(&a->disk, &err);
    if (end != DISK_NONE)
        a->quick = clock_mono_us() - a->begun_us < AUDIT_AWAKE_US;
    pthread_mutex_lock(&a->mutex);
    if (end == DISK_DONE && a->safe < a->disk.upto)
        a->safe = a->disk.upto;
    if (end == DISK_FAILED)
        audit_disk_fault(a, &err);
    uint64_t safe = a->safe, failed_at = a->failed_at;
    pthread_mutex_unlock(&a->mutex);
    audit_notify_changes(a);
    audit_notify_waits(a, safe, failed_at);
    if (a->wanted > safe)
        audit_sync_soon(a);
}

void audit_cancel(struct audit *a, struct audit_wait *wait) {
    CHECK_MAGIC(a, AUDIT_MAGIC);
    list_remove(&wait->node);
}

/* The writer's commits, which take longer than this, do not matter here. */
static void audit_sync(struct io_task *task) {
    struct audit *a = container_of(task, struct audit, sync);
    struct err err = {0};
    CHECK_MAGIC(a, AUDIT_MAGIC);
    pthread_mutex_lock(&a->mutex);
    uint64_t tail = atomic_load(&a->ring.head->tail);
    if (a->safe < tail) /* the ring has started again at its beginning */
        a->safe = tail;
    bool begun = a->wanted <= a->safe || audit_disk_begin(&a->disk, &a->ring, a->safe, a->wanted, &err) == 0;
    if (!begun)
        audit_disk_fault(a, &err);
    pthread_mutex_unlock(&a->mutex);
    a->begun_us = clock_mono_us();
    if (a->disk.busy && a->quick)
        io_loop_stay_awake(a->loop, AUDIT_AWAKE_US);
    if (!begun)
        audit_notify(a);
}

void audit_hold(struct audit *a, bool held) {
    pthread_mutex_lock(&a->mutex);
    a->held = held;
    pthread_mutex_unlock(&a->mutex);
}

int audit_flush(struct audit *a, struct err *err) {
    pthread_mutex_lock(&a->mutex);
    uint64_t want = atomic_load(&a->ring.head->end);
    a->hasty = true;
    audit_wake(a);
    while ((!a->ready || (a->committed < want && audit_ring_used(&a->ring) > 0)) && !a->failed)
        pthread_cond_wait(&a->flushed, &a->mutex);
    int rc = a->failed ? err_set(err, "%s", a->health.fault) : 0;
    pthread_mutex_unlock(&a->mutex);
    return rc;
}

void audit_health(struct audit *a, struct audit_health *ret_health) {
    pthread_mutex_lock(&a->mutex);
    *ret_health = a->health;
    ret_health->failed = a->failed;
    ret_health->held = a->held;
    ret_health->passing = a->on_full == AUDIT_PASS;
    ret_health->queued = audit_ring_used(&a->ring);
    ret_health->unrecorded = a->gaps - a->gaps_written + a->refusals - a->refusals_written;
    pthread_mutex_unlock(&a->mutex);
}

/* ---- the writer's thread ---- */

/* Sleeps at most so long; the lock is held. */
static void audit_sleep(struct audit *a, uint64_t ms) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    ts.tv_sec += (time_t)(ms / 1000);
    ts.tv_nsec += (long)(ms % 1000) * 1000000;
    if (ts.tv_nsec >= 1000000000) {
        ts.tv_sec++;
        ts.tv_nsec -= 1000000000;
    }
    pthread_cond_timedwait(&a->wake, &a->mutex, &ts);
}

/* Waits until there is something to do, or the files must be looked at; true when the log is being closed.
 * The lock is held. */
static bool audit_rest(struct audit *a, bool busy) {
    if (audit_ring_used(&a->ring) == 0)
        a->hasty = false;
    if (busy && !a->hasty && !a->stop) {
        a->napping = true;
        audit_sleep(a, AUDIT_NAP_MS);
        a->napping = false;
    }
    const bool idle = !a->stop && !a->hasty && !a->failed && audit_ring_used(&a->ring) == 0 &&
                      a->gaps == a->gaps_written && a->refusals == a->refusals_written &&
                      !audit_writer_sign_due(&a->writer, clock_mono_ms());
    if (idle) {
        a->asleep = true;
        audit_sleep(a, AUDIT_LOOK_MS);
        a->asleep = false;
    }
    return a->stop;
}

/* Without the lock, because the woken threads need it. */
static void audit_notify(struct audit *a) {
    const uint64_t once = 1;
    pthread_cond_broadcast(&a->flushed);
    pthread_mutex_lock(&a->mutex);
    bool wanted = a->port && (a->durable || a->news);
    pthread_mutex_unlock(&a->mutex);
    if (wanted)
        CHECK(write(a->port->fd, &once, sizeof(once)) == sizeof(once) || errno == EAGAIN);
}

static void audit_wrote(struct audit *a, uint64_t at, uint64_t gaps) {
    audit_ring_release(&a->ring, at);
    pthread_mutex_lock(&a->mutex);
    a->committed = at;
    if (a->durable && a->safe < at)
        a->safe = at;
    a->gaps_written = gaps;
    audit_note_lost(a);
    a->news |= a->failed && !a->lost;
    a->failed = a->lost;
    a->health.written = a->writer.written;
    a->health.commits = a->writer.commits;
    a->health.seq = a->writer.seq;
    a->health.committed_ms = clock_wall_ms();
    pthread_mutex_unlock(&a->mutex);
    audit_notify(a);
}

/* Notifies all waiters and refuses later decisions; the log is retried after a while. */
static void audit_failed(struct audit *a, const struct err *err) {
    pthread_mutex_lock(&a->mutex);
    audit_fault(a, atomic_load(&a->ring.head->end), err);
    pthread_mutex_unlock(&a->mutex);
    audit_notify(a);
    pthread_mutex_lock(&a->mutex);
    if (!a->stop)
        audit_sleep(a, AUDIT_RETRY_MS);
    pthread_mutex_unlock(&a->mutex);
}

/* Writes what is pending; -1 on failure. */
static int audit_work(struct audit *a, uint64_t gaps, bool *ret_busy, struct err *err) {
    *ret_busy = false;
    if (audit_ring_used(&a->ring) > 0 || gaps != a->gaps_written) {
        uint64_t at;
        if (audit_writer_write(&a->writer, &a->ring, gaps - a->gaps_written, &at, err) < 0)
            return -1;
        audit_wrote(a, at, gaps);
        *ret_busy = true;
    }
    return audit_writer_sign_due(&a->writer, clock_mono_ms()) ? audit_writer_sign(&a->writer, err) : 0;
}

/* Opens the log and takes over the rings of dead processes. Not in audit_open, because a gate should not
 * wait for a disk before it listens: records added meanwhile are safe in the ring. */
static int audit_begin(struct audit *a, struct err *err) {
    struct writer *w = &a->writer;
    if (audit_writer_open(w, a->home, a->dir, err) < 0)
        return -1;
    if (audit_writer_check(w, err) < 0 || audit_writer_recover(w, err) < 0 ||
        audit_writer_start(w, err) < 0) {
        audit_writer_close(w);
        return -1;
    }
    pthread_mutex_lock(&a->mutex);
    a->ready = true;
    a->news |= a->failed || w->finding[0];
    a->failed = a->lost;
    memcpy(a->health.finding, w->finding, sizeof(a->health.finding));
    pthread_mutex_unlock(&a->mutex);
    audit_notify(a);
    return 0;
}

/* False when the log was closed before it could be opened. Delayed, because the caller waits for the
 * gate's first answer, and earlier records are safe in the ring. */
static bool audit_begin_until(struct audit *a) {
    struct err err = {0};
    pthread_mutex_lock(&a->mutex);
    a->napping = true;
    if (!a->hasty && !a->stop)
        audit_sleep(a, AUDIT_NAP_MS);
    a->napping = false;
    pthread_mutex_unlock(&a->mutex);
    while (audit_begin(a, &err) < 0) {
        audit_failed(a, &err);
        pthread_mutex_lock(&a->mutex);
        bool stop = a->stop;
        pthread_mutex_unlock(&a->mutex);
        if (stop)
            return false;
    }
    return true;
}

/* Once the log works again, records that, and the number of calls that were refused meanwhile. Also runs
 * when there is nothing else to write. */
static int audit_resume(struct audit *a, bool failed, uint64_t gaps, uint64_t refusals, struct err *err) {
    char text[96];
    if (!failed && refusals == a->refusals_written)
        return 0;
    snprintf(text, sizeof(text), "%llu calls were refused because they could not be recorded",
             (unsigned long long)(refusals - a->refusals_written));
    if (refusals != a->refusals_written && audit_writer_note(&a->writer, "gap", text, err) < 0)
        return -1;
    pthread_mutex_lock(&a->mutex);
    a->refusals_written = refusals;
    pthread_mutex_unlock(&a->mutex);
    if (failed && audit_writer_note(&a->writer, "resumed", "writing works again", err) < 0)
        return -1;
    audit_wrote(a, atomic_load(&a->ring.head->tail), gaps);
    return 0;
}

/* No other process would find the records in a ring without a name. */
static int audit_ring_look(struct audit *a, struct err *err) {
    if (!audit_ring_is_gone(&a->ring))
        return 0;
    pthread_mutex_lock(&a->mutex);
    a->lost = true;
    pthread_mutex_unlock(&a->mutex);
    return err_set(err, "`%s` was deleted while it was in use: restart the gate", a->ring.path);
}

/* A log that was deleted or replaced under this process is opened again, which records what is missing.
 * False when it was closed before that was possible. */
static bool audit_reopen(struct audit *a) {
    if (!audit_writer_lost(&a->writer, NULL))
        return true;
    audit_writer_close(&a->writer);
    return audit_begin_until(a);
}

static void *audit_thread(void *arg) {
    struct audit *a = arg;
    CHECK_MAGIC(a, AUDIT_MAGIC);
    bool busy = false, stop = false;
    struct err err = {0};
    pthread_setname_np(pthread_self(), "audit");
    if (!audit_begin_until(a))
        return NULL;
    while (!stop) {
        pthread_mutex_lock(&a->mutex);
        stop = audit_rest(a, busy);
        uint64_t gaps = a->gaps, refusals = a->refusals;
        bool failed = a->failed;
        pthread_mutex_unlock(&a->mutex);
        int rc = audit_work(a, gaps, &busy, &err);
        if (rc == 0)
            rc = audit_writer_lost(&a->writer, &err) ? -1 : audit_ring_look(a, &err);
        if (rc == 0)
            rc = audit_resume(a, failed, gaps, refusals, &err);
        if (rc < 0)
            audit_failed(a, &err);
        if (rc < 0 && !audit_reopen(a))
            return NULL;
    }
    bool rest = true;
    while (rest && audit_ring_used(&a->ring) > 0)
        rest = audit_work(a, a->gaps, &busy, &err) == 0;
    rest = rest && audit_resume(a, false, a->gaps, a->refusals, &err) == 0;
    if (rest && audit_writer_stop(&a->writer, &err) == 0)
        audit_writer_sign(&a->writer, &err);
    return NULL;
}
