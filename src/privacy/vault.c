/* Scopes of tokens. Each has its own key, so that its tokens are invalid elsewhere, and a vault in memory.
 * The scopes of grants and of the organisation are kept in the store too, each value sealed by itself;
 * entries of other processes are read when they are needed.
 *
 *   put ─▶ memory ─▶ names of what is new ─▶ flush: seal ─▶ thread ─▶ state/vault
 *   get ─▶ memory, else state/vault ─▶ open ─▶ memory
 *
 * A store in PostgreSQL is read by the thread only: a value that is not in memory is fetched there while the
 * call waits. */
#include "privacy/vault.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"
#include "base/sha.h"
#include "call/call.h"
#include "call/principal.h"
#include "crypto/keyfile.h"
#include "filter/box.h"
#include "io/work.h"
#include "privacy/limits.h"

#include <stdio.h>
#include <stdlib.h>

struct shared_vault {
    char *who; /* the principal; key of the map */
    struct vault *vault;
};

struct vault {
    struct vaults *all;
    bool kept; /* in the store too */
    uint8_t name[32];
    struct filter_memory *memory;
    struct filter_scope *scope;
    struct buf pending; /* names of entries for the store, each behind its length */
    struct buf missing; /* names that were not found in memory, in the same form */
    uint64_t sweep_ms;  /* when to check for expired values */
};

/* Derives the key of one purpose and one scope from the home's key. */
static void derive(const struct vaults *all, const char *purpose, struct slice scope, uint8_t out[32]) {
    const struct slice parts[] = {slice_str(purpose), SLICE("\n"), scope};
    sha_hmac_once(slice_of((const char *)all->key, 32), parts, ARRAY_LEN(parts), out);
}

static struct slice bound_to(const struct vault *v) {
    return slice_of((const char *)v->name, sizeof(v->name));
}

static void put_name(struct buf *names, struct slice id) {
    buf_put_char(names, (char)id.len);
    buf_put_slice(names, id);
}

static size_t count_names(struct slice names) {
    size_t count = 0;
    for (; names.len; count++)
        names = slice_from(names, 1 + (size_t)(uint8_t)names.ptr[0]);
    return count;
}

static struct slice next_name(struct slice *names) {
    const struct slice id = slice_of(names->ptr + 1, (uint8_t)names->ptr[0]);
    *names = slice_from(*names, 1 + id.len);
    return id;
}

/* Loads the store's entries of this name into memory. */
static bool take_in(struct vault *v, struct slice id, struct arena *a, struct filter_entry *ret_entry) {
    struct slice sealed, inner;
    const struct filter_vault memory = filter_memory_vault(v->memory);
    if (v->kept && v->all->remote) {
        put_name(&v->missing, id);
        return false;
    }
    if (!v->kept || !state_vault_get(v->all->store, bound_to(v), id, clock_wall_ms(), a, &sealed) ||
        !filter_box_open_entry(sealed, bound_to(v), v->all->key + 32, a, &inner, ret_entry) ||
        !slice_eq(inner, id))
        return false;
    memory.ops->put(memory.ctx, id, ret_entry);
    return true;
}

static bool is_over(const struct vault *v, const struct filter_entry *e) {
    return e->created_ms + v->all->keep_ms <= clock_wall_ms();
}

static enum filter_put vault_put(void *ctx, struct slice id, const struct filter_entry *e) {
    struct vault *v = ctx;
    const struct filter_vault memory = filter_memory_vault(v->memory);
    if (v->kept && !v->all->remote && !filter_memory_has(v->memory, id)) {
        cleanup_arena struct arena a;
        struct filter_entry old;
        arena_init(&a);
        take_in(v, id, &a, &old);
    }
    const enum filter_put put = memory.ops->put(memory.ctx, id, e);
    if (put == FILTER_PUT_OK && v->kept) {
        put_name(&v->pending, id);
    }
    return put;
}

static bool vault_get(void *ctx, struct slice id, struct arena *a, struct filter_entry *ret_entry) {
    struct vault *v = ctx;
    const struct filter_vault memory = filter_memory_vault(v->memory);
    if (!memory.ops->get(memory.ctx, id, a, ret_entry) && !take_in(v, id, a, ret_entry))
        return false;
    return !is_over(v, ret_entry);
}

static unsigned vault_prefix(void *ctx, struct slice prefix, struct arena *a,
                             struct filter_entry *ret_entry) {
    struct vault *v = ctx;
    const struct filter_vault memory = filter_memory_vault(v->memory);
    const unsigned here = memory.ops->prefix(memory.ctx, prefix, a, ret_entry);
    struct slice id, sealed, inner;
    if (v->kept && v->all->remote) /* another gate may have a second entry with this prefix */
        return 0;
    if (here > 1 || !v->kept)
        return here == 1 && is_over(v, ret_entry) ? 0 : here;
    const unsigned there =
        state_vault_prefix(v->all->store, bound_to(v), prefix, clock_wall_ms(), a, &id, &sealed);
    if (there != 1)
        return there > 1 ? 2 : here;
    struct filter_entry e;
    if (!filter_box_open_entry(sealed, bound_to(v), v->all->key + 32, a, &inner, &e) || !slice_eq(inner, id))
        return here;
    if (here && !(slice_eq(e.value, ret_entry->value) && slice_eq(e.raw, ret_entry->raw)))
        return 2;
    *ret_entry = e;
    return 1;
}

struct put_work;
static struct put_work *put_new(struct vaults *all);
static void put_start(struct put_work *w);

static void sweep(struct vault *v) {
    const uint64_t now = clock_wall_ms();
    if (now < v->sweep_ms)
        return;
    v->sweep_ms = now + PRIVACY_SWEEP_MS;
    filter_memory_expire(v->memory, now > v->all->keep_ms ? now - v->all->keep_ms : 0);
    if (v->kept)
        put_start(put_new(v->all));
}

static struct vault *vault_new(struct vaults *all, const char *purpose, struct slice scope) {
    static const struct filter_vault_ops ops = {vault_put, vault_get, vault_prefix};
    struct vault *v = mem_zalloc(sizeof(*v));
    uint8_t key[32];
    v->all = all;
    v->kept = purpose != NULL;
    v->memory = filter_memory_new();
    v->sweep_ms = clock_wall_ms() + PRIVACY_SWEEP_MS;
    buf_init(&v->pending, VAULT_PENDING_MAX);
    buf_init(&v->missing, VAULT_PENDING_MAX);
    if (purpose) {
        derive(all, purpose, scope, key);
        derive(all, "scope", slice_of((const char *)key, sizeof(key)), v->name);
    } else {
        rand_bytes(key, sizeof(key));
    }
    v->scope = filter_scope_new(all->engine, key, (struct filter_vault){&ops, v});
    if (all->reach == VAULT_ORGANISATION)
        filter_scope_set_wide(v->scope);
    OPENSSL_cleanse(key, sizeof(key));
    return v;
}

void vault_free(struct vault *v) {
    if (!v)
        return;
    vault_flush(v);
    filter_scope_free(v->scope);
    filter_memory_free(v->memory);
    buf_free(&v->pending);
    buf_free(&v->missing);
    free(v);
}

static struct vault *shared_vault(struct vaults *all, const char *purpose, struct slice who) {
    struct shared_vault *found = map_get(&all->shared, who);
    if (found)
        return found->vault;
    if (all->shared.count >= VAULTS_MAX)
        return NULL;
    found = mem_zalloc(sizeof(*found));
    found->who = mem_dup(who.ptr, who.len);
    found->vault = vault_new(all, purpose, who);
    map_put(&all->shared, slice_of(found->who, who.len), found);
    return found->vault;
}

struct vault *vault_of(struct vaults *vs, struct session *s) {
    struct vault *v = s->vault;
    if (vs->reach == VAULT_GRANT)
        v = shared_vault(vs, "grant", slice_str(s->principal->id));
    else if (vs->reach == VAULT_ORGANISATION)
        v = shared_vault(vs, "organisation", SLICE("-"));
    else if (!v)
        v = s->vault = vault_new(vs, NULL, (struct slice){0});
    if (!v)
        return NULL;
    sweep(v);
    filter_scope_set_now(v->scope, clock_wall_ms());
    return v;
}

struct filter_scope *vault_scope(struct vault *v) {
    return v->scope;
}

/* Encrypted entries for the store; without any, only deletes expired ones there. */
struct put_one {
    struct slice id, sealed;
    uint64_t expires_ms;
};
struct put_work {
    struct io_work work;
    struct vaults *all;
    struct arena arena;
    struct slice scope;
    struct put_one *items;
    size_t count;
    uint64_t now_ms;
    bool clash;
    struct err err;
};

/* Two gates may assign one short token to two values before they know of each other. Such a token must not
 * be issued, because the other gate would restore another value. */
static int check_clash(struct put_work *w, struct state_vault *store, const struct put_one *one) {
    struct slice there, id;
    struct filter_entry theirs, ours;
    const uint8_t *key = w->all->key + 32;
    int found = w->all->remote
                    ? state_vault_find(store, w->scope, one->id, w->now_ms, &w->arena, &there, &w->err)
                    : 0;
    if (found <= 0)
        return found;
    if (!filter_box_open_entry(there, w->scope, key, &w->arena, &id, &theirs) ||
        !filter_box_open_entry(one->sealed, w->scope, key, &w->arena, &id, &ours))
        return err_set(&w->err, "what another gate stored cannot be decrypted");
    w->clash |= !slice_eq(theirs.value, ours.value);
    return w->clash ? err_set(&w->err, "a new token stands for another value at another gate") : 0;
}

static int put_all(struct put_work *w, struct state_vault *store) {
    int rc = state_vault_begin(store, &w->err);
    const bool began = rc == 0;
    for (size_t i = 0; rc == 0 && i < w->count; i++)
        rc = check_clash(w, store, &w->items[i]) < 0
                 ? -1
                 : state_vault_put(store, w->scope, w->items[i].id, w->items[i].sealed,
                                   w->items[i].expires_ms, &w->err);
    if (began && (state_vault_commit(store, rc == 0 ? &w->err : NULL) < 0 || rc < 0))
        rc = -1;
    return rc;
}

static void run_put(struct io_work *work) {
    struct put_work *w = container_of(work, struct put_work, work);
    struct vaults *all = w->all;
    if (!all->puts && state_vault_open(all->home, &all->puts, &w->err) < 0)
        return;
    if (w->count)
        put_all(w, all->puts);
    else
        state_vault_expire(all->puts, w->now_ms);
}

/* ---- fetching ---- */

struct vault_fetch {
    struct io_work work;
    struct call *call; /* NULL: the call has ended */
    struct vault *vault;
    struct arena arena;
    struct put_one *items; /* `sealed` was found in the store */
    size_t count;
    struct err err;
};

static void run_fetch(struct io_work *work) {
    struct vault_fetch *w = container_of(work, struct vault_fetch, work);
    struct vaults *all = w->vault->all;
    int rc = all->puts || state_vault_open(all->home, &all->puts, &w->err) == 0 ? 0 : -1;
    for (size_t i = 0; rc >= 0 && i < w->count; i++)
        rc = state_vault_find(all->puts, bound_to(w->vault), w->items[i].id, clock_wall_ms(), &w->arena,
                              &w->items[i].sealed, &w->err);
}

static void on_fetched(struct io_work *work) {
    struct vault_fetch *w = container_of(work, struct vault_fetch, work);
    const struct filter_vault memory = filter_memory_vault(w->vault->memory);
    struct call *c = w->call;
    for (size_t i = 0; i < w->count; i++) {
        struct filter_entry e;
        struct slice id;
        if (w->items[i].sealed.len &&
            filter_box_open_entry(w->items[i].sealed, bound_to(w->vault), w->vault->all->key + 32, &w->arena,
                                  &id, &e) &&
            slice_eq(id, w->items[i].id))
            memory.ops->put(memory.ctx, id, &e);
    }
    if (w->err.text[0])
        log_error("the values behind tokens could not be read: %s", w->err.text);
    if (c) {
        c->vault_fetch = NULL;
        c->vault_fetched = true;
        c->vault_failed = w->err.text[0] != '\0';
    }
    arena_free(&w->arena);
    free(w);
    if (c)
        call_resume(c);
}

void vault_expect(struct vault *v) { buf_reset(&v->missing); }

bool vault_fetches(struct vault *v, struct call *c) {
    size_t count = count_names(buf_slice(&v->missing));
    if (!count || c->vault_fetched)
        return false;
    struct vault_fetch *w = mem_zalloc(sizeof(*w));
    w->work = (struct io_work){.run = run_fetch, .done = on_fetched};
    w->call = c;
    w->vault = v;
    arena_init(&w->arena);
    w->items = arena_array(&w->arena, struct put_one, count);
    for (struct slice left = buf_slice(&v->missing); left.len;)
        w->items[w->count++].id = arena_dup(&w->arena, next_name(&left));
    buf_reset(&v->missing);
    c->vault_fetch = w;
    io_work_add(v->all->loop, &w->work);
    return true;
}

/* A resumed call may end others: the iteration restarts each time. */
static void resume_stored(struct vaults *all) {
    for (struct list *n = all->waiting.next; n != &all->waiting;) {
        struct call *c = container_of(n, struct call, in_vault);
        n = n->next;
        if (c->flush > all->stored)
            continue;
        list_remove(&c->in_vault);
        call_resume(c);
        n = all->waiting.next;
    }
}

bool vault_stored(struct vaults *vs, struct call *c) {
    if (!c->flush)
        c->flush = vs->flushes;
    if (c->flush <= vs->stored)
        return true;
    if (!list_linked(&c->in_vault))
        list_push(&vs->waiting, &c->in_vault);
    return false;
}

void vault_leave(struct call *c) {
    if (c->vault_fetch)
        c->vault_fetch->call = NULL;
    c->vault_fetch = NULL;
    if (list_linked(&c->in_vault))
        list_remove(&c->in_vault);
}

static void on_put(struct io_work *work) {
    struct put_work *w = container_of(work, struct put_work, work);
    /* the tokens work until the gate ends; after that they are unknown */
    if (w->err.text[0])
        log_warn("the values behind new tokens could not be stored: %s", w->err.text);
    struct vaults *all = w->all;
    LIST_FOR (n, &all->waiting) {
        container_of(n, struct call, in_vault)->token_clash |= w->clash;
    }
    arena_free(&w->arena);
    free(w);
    all->stored++;
    resume_stored(all);
}

static struct put_work *put_new(struct vaults *all) {
    struct put_work *w = mem_zalloc(sizeof(*w));
    arena_init(&w->arena);
    w->work = (struct io_work){.run = run_put, .done = on_put};
    w->all = all;
    w->now_ms = clock_wall_ms();
    all->flushes++;
    return w;
}

static void put_start(struct put_work *w) {
    if (w->all->loop) {
        io_work_add(w->all->loop, &w->work);
        return;
    }
    run_put(&w->work);
    on_put(&w->work);
}

static void vault_seal(struct vault *v, struct slice id, struct put_work *w) {
    const struct filter_vault memory = filter_memory_vault(v->memory);
    struct filter_entry e;
    cleanup_buf struct buf sealed;
    buf_init(&sealed, FILTER_VALUE_MAX * 9u);
    if (!memory.ops->get(memory.ctx, id, &w->arena, &e))
        return;
    if (!filter_box_seal_entry(id, &e, bound_to(v), v->all->key + 32, &sealed)) {
        err_set(&w->err, "a value could not be encrypted");
        return;
    }
    w->items[w->count++] = (struct put_one){
        arena_dup(&w->arena, id), arena_dup(&w->arena, buf_slice(&sealed)), e.created_ms + v->all->keep_ms};
}

void vault_flush(struct vault *v) {
    size_t count = count_names(buf_slice(&v->pending));
    if (!count)
        return;
    struct put_work *w = put_new(v->all);
    w->scope = arena_dup(&w->arena, bound_to(v));
    w->items = arena_array(&w->arena, struct put_one, count);
    for (struct slice left = buf_slice(&v->pending); left.len;)
        vault_seal(v, next_name(&left), w);
    buf_reset(&v->pending);
    put_start(w);
}

/* ---- all of them ---- */

void vaults_init(struct vaults *vs, enum vault_reach reach) {
    *vs = (struct vaults){.reach = reach};
    list_init(&vs->waiting);
    map_init(&vs->shared);
}

int vaults_open(struct vaults *vs, const char *home, struct io_loop *loop, struct err *err) {
    cleanup_free char *path = NULL;
    vs->loop = loop;
    if (vs->reach == VAULT_SESSION)
        return 0;
    if (asprintf(&path, "%s/pii/key", home) < 0)
        return err_set(err, "out of memory");
    if (crypto_keyfile_load(path, vs->key, sizeof(vs->key), err) < 0)
        return -1;
    vs->home = mem_dup(home, strlen(home));
    if (state_vault_open(home, &vs->store, err) < 0)
        return -1;
    vs->remote = state_vault_is_remote(vs->store);
    return 0;
}

void vaults_set_engine(struct vaults *vs, const struct core *core, struct pii_engine *engine) {
    size_t at = 0;
    vs->engine = engine;
    for (struct map_entry *e; (e = map_next(&vs->shared, &at));)
        filter_scope_set_engine(((struct shared_vault *)e->value)->vault->scope, engine);
    LIST_FOR (n, &core->sessions) {
        struct vault *v = container_of(n, struct session, node)->vault;
        if (v)
            filter_scope_set_engine(v->scope, engine);
    }
}

void vaults_free(struct vaults *vs) {
    size_t at = 0;
    for (struct map_entry *e; (e = map_next(&vs->shared, &at));) {
        struct shared_vault *v = e->value;
        vault_free(v->vault);
        free(v->who);
        free(v);
    }
    map_free(&vs->shared);
    if (vs->loop)
        io_work_finish(vs->loop);
    state_vault_close(vs->puts);
    state_vault_close(vs->store);
    free(vs->home);
    OPENSSL_cleanse(vs->key, sizeof(vs->key));
}
