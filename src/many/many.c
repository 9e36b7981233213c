#include "many/many.h"

#include "base/mem.h"
#include "base/rand.h"

void many_init(struct core *core, const struct many_sessions *sessions) {
    struct many *m = core->many = mem_zalloc(sizeof(*m));
    m->core = core;
    m->sessions = sessions;
    list_init(&m->pools);
    map_init(&m->claims);
    arena_init(&m->claims_arena);
    rand_bytes(m->seal_key, sizeof(m->seal_key));
}

void many_free(struct core *core) {
    struct many *m = steal(core->many);
    io_timer_stop(core->up.loop, &m->sweep);
    map_free(&m->claims);
    arena_free(&m->claims_arena);
    free(m);
}
