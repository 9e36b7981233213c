/* Loads certificates from files, and reloads them when the files change: for HTTPS at the front, and for
 * connections between the gates of a fleet. */
#include "front/secure.h"
#include "base/log.h"
#include "base/mem.h"
#include "front/front.h"
#include "io/tls.h"
#include "io/watch.h"

#define SECURE_FILES 3

struct front_files {
    struct front_files_of of;
    struct io_watch watches[SECURE_FILES];
};

/* Certificate and key are two files. Between their changes they do not match, and the old pair stays in
 * use. */
static void on_changed(struct io_watch *w) {
    struct front_files *s = w->owner;
    struct err err;
    if (s->of.load(s->of.owner, &s->of, &err) < 0)
        log_error("%s; the old certificate stays in use", err.text);
    else
        log_info("certificate reloaded");
}

struct front_files *front_files_new(struct io_loop *loop, const struct front_files_of *of, struct err *err) {
    if (of->load(of->owner, of, err) < 0)
        return NULL;
    struct front_files *s = mem_zalloc(sizeof(*s));
    s->of = *of;
    const char *files[SECURE_FILES] = {of->cert, of->key, of->ca};
    for (size_t i = 0; i < SECURE_FILES; i++) {
        if (!files[i])
            continue;
        io_watch_start(&s->watches[i], loop, files[i], on_changed);
        s->watches[i].owner = s;
    }
    return s;
}

void front_files_free(struct front_files *s) {
    for (size_t i = 0; s && i < SECURE_FILES; i++)
        io_watch_stop(&s->watches[i]);
    free(s);
}

/* ---- HTTPS ---- */

static int load(void *owner, const struct front_files_of *of, struct err *err) {
    struct front *f = owner;
    struct io_tls_ctx *fresh = io_tls_server_ctx(of->cert, of->key, of->ca, err);
    if (!fresh)
        return -1;
    io_tls_ctx_free(f->tls); /* connections keep the certificate they started with */
    f->tls = fresh;
    return 0;
}

int front_secure_new(struct front *f, const char *cert, const char *key, const char *client_ca,
                     struct err *err) {
    f->secure = front_files_new(
        f->loop,
        &(struct front_files_of){.cert = cert, .key = key, .ca = client_ca, .load = load, .owner = f}, err);
    return f->secure ? 0 : -1;
}

void front_secure_free(struct front *f) {
    front_files_free(f->secure);
    io_tls_ctx_free(f->tls);
    f->secure = NULL;
    f->tls = NULL;
}
