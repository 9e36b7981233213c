#include "state/generation.h"

#include "base/mem.h"
#include "io/anchor.h"
#include "state/limits.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define GENERATION_BYTES 4096

struct state_generation {
    char *path;
    _Atomic uint64_t *at;
    _Atomic uint64_t before; /* of the files that were mapped before this one */
    struct io_anchor file;
    _Atomic uint64_t look_ms; /* time of the next check */
};

static int generation_map(struct state_generation *g, struct err *err) {
    cleanup_fd int fd = open(g->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || ftruncate(fd, GENERATION_BYTES) < 0)
        return err_set(err, "`%s`: %s", g->path, strerror(errno));
    /* In the place of the old mapping: another thread may be reading it. */
    void *at = mmap((void *)g->at, GENERATION_BYTES, PROT_READ | PROT_WRITE,
                    MAP_SHARED | (g->at ? MAP_FIXED : 0), fd, 0);
    if (at == MAP_FAILED)
        return err_set(err, "map `%s`: %s", g->path, strerror(errno));
    g->at = at;
    io_anchor_set(&g->file, g->path, IO_ANCHOR_GROWS);
    return 0;
}

int state_generation_open(const char *home, const char *name, struct state_generation **ret_generation,
                          struct err *err) {
    struct state_generation *g = mem_zalloc(sizeof(*g));
    if (asprintf(&g->path, "%s/%s", home, name) < 0) {
        free(g);
        return err_set(err, "out of memory");
    }
    if (generation_map(g, err) < 0) {
        state_generation_close(g);
        return -1;
    }
    *ret_generation = g;
    return 0;
}

void state_generation_close(struct state_generation *g) {
    if (!g)
        return;
    if (g->at)
        munmap((void *)g->at, GENERATION_BYTES);
    io_anchor_free(&g->file);
    free(g->path);
    free(g);
}

/* Precise to a tick of the kernel, and cheap enough for every call. */
static uint64_t coarse_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void generation_look(struct state_generation *g) {
    uint64_t now_ms = coarse_ms(), due_ms = atomic_load(&g->look_ms);
    if (now_ms < due_ms ||
        !atomic_compare_exchange_strong(&g->look_ms, &due_ms, now_ms + STATE_GENERATION_LOOK_MS))
        return;
    const uint64_t total = atomic_load(&g->before) + atomic_load(g->at);
    if (io_anchor_check(&g->file, NULL) < 0 && generation_map(g, NULL) == 0)
        atomic_store(&g->before, total + 1);
}

uint64_t state_generation_get(struct state_generation *g) {
    if (!g)
        return 0;
    generation_look(g);
    return atomic_load(&g->before) + atomic_load_explicit(g->at, memory_order_acquire);
}

void state_generation_raise(struct state_generation *g) {
    if (!g)
        return;
    atomic_store(&g->look_ms, 0); /* other processes see only the file at the path */
    generation_look(g);
    atomic_fetch_add_explicit(g->at, 1, memory_order_acq_rel);
}
