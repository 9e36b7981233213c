/* HTTPS at the front: certificates from files, and others when the files change. */
#include "base/log.h"
#include "base/mem.h"
#include "front/front.h"
#include "io/tls.h"
#include "io/watch.h"

#define SECURE_FILES 3

struct front_secure {
    struct front *front;
    const char *cert, *key, *client_ca; /* the last may be NULL */
    struct io_watch watches[SECURE_FILES];
};

static int load(struct front_secure *s, struct err *err) {
    struct io_tls_ctx *fresh = io_tls_server_ctx(s->cert, s->key, s->client_ca, err);
    if (!fresh)
        return -1;
    io_tls_ctx_free(s->front->tls); /* connections keep what they were made with */
    s->front->tls = fresh;
    return 0;
}

/* Certificate and key are two files: between their changes they do not fit, and the old ones stay. */
static void on_changed(struct io_watch *w) {
    struct front_secure *s = w->owner;
    struct err err;
    if (load(s, &err) < 0)
        log_error("%s; the old certificate stays in use", err.text);
    else
        log_info("certificate reloaded");
}

int front_secure_new(struct front *f, const char *cert, const char *key, const char *client_ca,
                     struct err *err) {
    struct front_secure *s = mem_zalloc(sizeof(*s));
    *s = (struct front_secure){.front = f, .cert = cert, .key = key, .client_ca = client_ca};
    f->secure = s;
    if (load(s, err) < 0)
        return -1;
    const char *files[SECURE_FILES] = {cert, key, client_ca};
    for (size_t i = 0; i < SECURE_FILES; i++) {
        if (!files[i])
            continue;
        io_watch_start(&s->watches[i], f->loop, files[i], on_changed);
        s->watches[i].owner = s;
    }
    return 0;
}

void front_secure_free(struct front *f) {
    if (!f->secure)
        return;
    for (size_t i = 0; i < SECURE_FILES; i++)
        io_watch_stop(&f->secure->watches[i]);
    io_tls_ctx_free(f->tls);
    free(f->secure);
    f->secure = NULL;
    f->tls = NULL;
}
