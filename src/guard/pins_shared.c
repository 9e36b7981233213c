#include "guard/pins_shared.h"

#include "base/mem.h"
#include "io/file.h"

#define TRIES_MAX 8 /* so often another gate may be faster */

int pins_shared_lock(const struct state_pins_copy *copy, struct risk_lock **ret_lock, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, RISK_LOCK_BYTES_MAX + 64);
    buf_put_str(&text, "{\"servers\":");
    buf_put_slice(&text, copy->entries);
    buf_put_str(&text, ",\"version\":1}");
    return risk_lock_load(buf_slice(&text), ret_lock, err) < 0 ? err_wrap(err, "pins of the fleet") : 0;
}

/* ---- accepting ---- */

/* The server's entry of a lock's text, in the arena. */
static int cut_entry(struct slice text, struct slice server, struct arena *a, struct slice *ret_entry,
                     struct err *err) {
    cleanup_tape struct tape t;
    tape_init(&t);
    uint32_t entry = 0;
    if (tape_parse(&t, text, NULL) == TAPE_OK)
        entry = tape_get(&t, tape_get_str(&t, 0, "servers"), server);
    if (!entry)
        return err_set(err, "the lock has no entry of server `%.*s`", SLICE_FMT(server));
    *ret_entry = arena_dup(a, tape_raw(&t, entry));
    return 0;
}

static int make_entry(const struct state_pins_copy *copy, const struct risk_server_facts *who,
                      const struct risk_lists *lists, const struct slice *only, struct arena *a,
                      struct slice *ret_entry, struct err *err) {
    cleanup_lock struct risk_lock *now = NULL;
    cleanup_buf struct buf text;
    buf_init(&text, RISK_LOCK_BYTES_MAX);
    return pins_shared_lock(copy, &now, err) < 0 ||
                   risk_lock_accept(now, who, lists, only, a, &text, err) < 0 ||
                   cut_entry(buf_slice(&text), who->name, a, ret_entry, err) < 0
               ? -1
               : 0;
}

/* 1: stored. 0: another gate was faster. */
static int try_put(struct state_pins *store, const struct state_pins_copy *copy,
                   const struct risk_server_facts *who, const struct risk_lists *lists,
                   const struct slice *only, struct arena *a, struct err *err) {
    struct slice entry;
    struct state_pin pin = {who->name, state_pins_number(copy, who->name)};
    if (make_entry(copy, who, lists, only, a, &entry, err) < 0)
        return -1;
    return state_pins_replace(store, &pin, entry, only ? *only : (struct slice){0}, err);
}

static int put(struct state_pins *store, const struct risk_server_facts *who, const struct risk_lists *lists,
               const struct slice *only, bool first, struct arena *a, struct state_pins_copy **ret_copy,
               struct err *err) {
    int stored = 0;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        struct state_pins_copy *copy = state_pins_load(store, err);
        if (copy && (stored || (first && state_pins_number(copy, who->name)))) {
            *ret_copy = copy;
            return 0;
        }
        stored = copy ? try_put(store, copy, who, lists, only, a, err) : -1;
        state_pins_copy_free(copy);
        if (stored < 0)
            return -1;
    }
    return err_set(err, "the pins of server `%.*s` are changed by other gates all the time; try again",
                   SLICE_FMT(who->name));
}

int pins_shared_put(const char *home, const struct risk_server_facts *who, const struct risk_lists *lists,
                    const struct slice *only, bool first, struct arena *a, struct state_pins_copy **ret_copy,
                    struct err *err) {
    struct state_pins *store;
    if (state_pins_open(home, &store, err) < 0)
        return -1;
    int rc = put(store, who, lists, only, first, a, ret_copy, err);
    state_pins_close(store);
    return rc;
}

/* ---- opening ---- */

/* The lock file is where a fleet begins; after that the store decides. */
static int seed(struct state_pins *store, const struct state_pins_copy *copy, const char *path,
                struct err *err) {
    cleanup_buf struct buf text;
    cleanup_tape struct tape t;
    cleanup_lock struct risk_lock *lock = NULL;
    cleanup_arena struct arena a;
    bool missing;
    arena_init(&a);
    tape_init(&t);
    buf_init(&text, RISK_LOCK_BYTES_MAX);
    if (io_file_read(path, &text, &missing, err) < 0)
        return missing ? 0 : -1;
    if (risk_lock_load(buf_slice(&text), &lock, err) < 0)
        return err_wrap(err, "read `%s`", path);
    if (!text.len || tape_parse(&t, buf_slice(&text), NULL) != TAPE_OK)
        return 0;
    uint32_t servers = tape_get_str(&t, 0, "servers");
    if (!servers)
        return 0;
    TAPE_FOR_MEMBER(&t, servers, key) {
        struct slice name = tape_text(&t, key, &a);
        if (!state_pins_number(copy, name) && state_pins_add(store, name, tape_raw(&t, key + 1), err) < 0)
            return -1;
    }
    return 0;
}

int pins_shared_open(const char *home, const char *path, struct state_pins **ret_store,
                     struct state_pins_copy **ret_copy, struct err *err) {
    struct state_pins *store = NULL;
    struct state_pins_copy *copy = NULL;
    int rc = state_pins_open(home, &store, err);
    if (rc == 0 && (!(copy = state_pins_load(store, err)) || seed(store, copy, path, err) < 0))
        rc = -1;
    state_pins_copy_free(steal(copy));
    if (rc == 0 && (!(copy = state_pins_load(store, err)) || state_pins_follow(store, err) < 0))
        rc = -1;
    if (rc < 0) {
        state_pins_copy_free(copy);
        state_pins_close(store);
        return -1;
    }
    *ret_store = store;
    *ret_copy = copy;
    return 0;
}
