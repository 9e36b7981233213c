#include "front/nodes.h"

#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/sha.h"
#include "front/secure.h"
#include "io/tls.h"

#include <stdlib.h>

struct front_nodes {
    struct front *front;
    struct io_listener *listener;
    struct io_tls_ctx *accepts, *connects;
    struct front_files *files;
    uint64_t refused_ms; /* when a refused connection was last logged */
    unsigned char own[FRONT_NODE_ID];
    size_t count;
    struct front_node all[]; /* the other gates */
};

static void id_of(const char *name, unsigned char ret_id[FRONT_NODE_ID]) {
    unsigned char hash[SHA_BYTES];
    sha_256(&(struct slice){name, strlen(name)}, 1, hash);
    memcpy(ret_id, hash, FRONT_NODE_ID);
}

static const char *own_name(const struct settings *s) {
    return s->fleet.address ? s->fleet.address : s->fleet.listen;
}

/* ---- the settings ---- */

static int check_name(const struct settings *s, size_t at, struct err *err) {
    const char *name = s->fleet.nodes.items[at];
    unsigned char id[FRONT_NODE_ID], other[FRONT_NODE_ID];
    char host[SETTINGS_HOST_MAX];
    uint16_t port;
    if (!strchr(name, ':') || settings_parse_listen(name, host, &port, err) < 0 || !port)
        return err_set(err, "fleet.nodes: `%s`: write it as HOST:PORT", name);
    id_of(name, id);
    for (size_t i = 0; i < at; i++) {
        if (strcmp(s->fleet.nodes.items[i], name) == 0)
            return err_set(err, "fleet.nodes: `%s` is listed twice", name);
        id_of(s->fleet.nodes.items[i], other);
        if (memcmp(id, other, sizeof(id)) == 0)
            return err_set(err,
                           "fleet.nodes: the ids of `%s` and `%s` collide; use another name for one of them",
                           s->fleet.nodes.items[i], name);
    }
    return 0;
}

int front_nodes_check(const struct settings *s, struct err *err) {
    const bool any = s->fleet.listen || s->fleet.address || s->fleet.nodes.count || s->fleet.cert ||
                     s->fleet.key || s->fleet.ca;
    char host[SETTINGS_HOST_MAX];
    uint16_t port;
    bool listed = false;
    if (!any)
        return 0;
    if (!s->fleet.listen || !s->fleet.nodes.count || !s->fleet.cert || !s->fleet.key || !s->fleet.ca)
        return err_set(err, "fleet: listen, nodes, cert, key and ca are all required");
    if (settings_parse_listen(s->fleet.listen, host, &port, err) < 0 || !port)
        return err_set(err, "fleet.listen `%s`: write it as ADDRESS:PORT", s->fleet.listen);
    if (s->fleet.nodes.count > FRONT_NODES_MAX)
        return err_set(err, "fleet.nodes: more than %d", FRONT_NODES_MAX);
    for (size_t i = 0; i < s->fleet.nodes.count; i++) {
        if (check_name(s, i, err) < 0)
            return -1;
        listed |= strcmp(s->fleet.nodes.items[i], own_name(s)) == 0;
    }
    return listed
               ? 0
               : err_set(err,
                         "fleet: this gate, `%s`, is not in `nodes`; set `address` to its entry in the list",
                         own_name(s));
}

/* ---- life ---- */

static int load(void *owner, const struct front_files_of *of, struct err *err) {
    struct front_nodes *n = owner;
    struct io_tls_ctx *accepts = io_tls_server_ctx(of->cert, of->key, of->ca, err);
    struct io_tls_ctx *connects = accepts ? io_tls_member_ctx(of->cert, of->key, of->ca, err) : NULL;
    if (!connects) {
        io_tls_ctx_free(accepts);
        return err_wrap(err, "fleet");
    }
    io_tls_require_client(accepts);
    io_tls_ctx_free(n->accepts);
    io_tls_ctx_free(n->connects);
    n->accepts = accepts;
    n->connects = connects;
    return 0;
}

static void on_incoming(struct io_listener *l, void *owner, int take_fd) {
    (void)l;
    struct front_nodes *n = owner;
    front_conn_from_node(n->front, take_fd, n->accepts);
}

static void add_nodes(struct front_nodes *n, const struct settings *s) {
    struct err ignored; /* the settings are already validated */
    id_of(own_name(s), n->own);
    for (size_t i = 0; i < s->fleet.nodes.count; i++) {
        struct front_node *node = &n->all[n->count];
        node->name = s->fleet.nodes.items[i];
        if (strcmp(node->name, own_name(s)) == 0 ||
            settings_parse_listen(node->name, node->host, &node->port, &ignored) < 0)
            continue;
        id_of(node->name, node->id);
        list_init(&node->idle);
        n->count++;
    }
}

int front_nodes_open(struct front *f, const struct settings *s, struct err *err) {
    char host[SETTINGS_HOST_MAX];
    uint16_t port;
    if (!s || !s->fleet.listen)
        return 0;
    struct front_nodes *n = f->nodes = mem_zalloc(sizeof(*n) + s->fleet.nodes.count * sizeof(n->all[0]));
    n->front = f;
    add_nodes(n, s);
    memcpy(f->core->node, n->own, sizeof(n->own));
    n->files = front_files_new(
        f->loop,
        &(struct front_files_of){
            .cert = s->fleet.cert, .key = s->fleet.key, .ca = s->fleet.ca, .load = load, .owner = n},
        err);
    if (!n->files || settings_parse_listen(s->fleet.listen, host, &port, err) < 0)
        return -1;
    const int fd = io_listen_shared(host, port, err); /* each worker has its own */
    if (fd < 0)
        return err_wrap(err, "fleet");
    n->listener = io_listen_fd(f->loop, fd, on_incoming, n);
    return 0;
}

void front_nodes_hush(struct front *f) {
    if (!f->nodes)
        return;
    io_listener_close(f->nodes->listener);
    f->nodes->listener = NULL;
}

void front_nodes_close(struct front *f, void (*end_idle)(struct front_node *node)) {
    struct front_nodes *n = f->nodes;
    if (!n)
        return;
    front_nodes_hush(f);
    for (size_t i = 0; i < n->count; i++)
        end_idle(&n->all[i]);
    front_files_free(n->files);
    io_tls_ctx_free(n->accepts);
    io_tls_ctx_free(n->connects);
    free(n);
    f->nodes = NULL;
}

/* ---- lookup ---- */

struct front_node *front_nodes_find(const struct front *f, struct slice tag) {
    unsigned char id[FRONT_NODE_ID];
    if (!f->nodes || tag.len < 2 * sizeof(id) || !hex_get(slice_upto(tag, 2 * sizeof(id)), id, sizeof(id)))
        return NULL;
    for (size_t i = 0; i < f->nodes->count; i++)
        if (memcmp(f->nodes->all[i].id, id, sizeof(id)) == 0)
            return &f->nodes->all[i];
    return NULL;
}

struct io_tls_ctx *front_nodes_tls(const struct front *f) {
    return f->nodes->connects;
}

/* Anyone can connect to the port, so log lines are rate-limited. */
void front_nodes_refused(struct front *f, const char *why) {
    const uint64_t now = io_now_ms(f->loop);
    if (!f->nodes || (f->nodes->refused_ms && now - f->nodes->refused_ms < FRONT_NODE_LOG_MS))
        return;
    f->nodes->refused_ms = now;
    log_warn("fleet: a connection was refused: %s", why);
}
