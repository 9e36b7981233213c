#include "state/address.h"

#include "base/mem.h"
#include "state/advice.h"
#include "state/limits.h"

#include <string.h>

#define REDIS_PORT 6379
#define SENTINEL_PORT 26379

static const char *const names[] = {"redis", "valkey"};
static const struct scheme {
    const char *end; /* behind the name */
    enum state_topology topology;
    bool tls;
    bool is_path;
} schemes[] = {{"", STATE_ONE_SERVER, false, false},        {"s", STATE_ONE_SERVER, true, false},
               {"+unix", STATE_ONE_SERVER, false, true},    {"+sentinel", STATE_SENTINEL, false, false},
               {"s+sentinel", STATE_SENTINEL, true, false}, {"+cluster", STATE_CLUSTER, false, false},
               {"s+cluster", STATE_CLUSTER, true, false}};

static const struct scheme *scheme_of(struct slice name) {
    static const struct scheme socket = {.is_path = true};
    if (slice_is(name, "unix"))
        return &socket;
    for (size_t i = 0; i < 2 * sizeof(schemes) / sizeof(schemes[0]); i++) {
        struct slice start = slice_str(names[i % 2]);
        if (slice_starts(name, start) && slice_is(slice_from(name, start.len), schemes[i / 2].end))
            return &schemes[i / 2];
    }
    return NULL;
}

bool state_address_scheme(struct slice scheme) { return scheme_of(scheme); }

static int hex_value(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decoded; NULL when that is malformed or holds a NUL. */
static char *decoded(struct slice text) {
    char *out = mem_dup(text.ptr ? text.ptr : "", text.len);
    size_t len = 0;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '%') {
            int high = i + 2 < text.len ? hex_value(text.ptr[i + 1]) : -1;
            int low = high >= 0 ? hex_value(text.ptr[i + 2]) : -1;
            if (low < 0 || high + low == 0) {
                free(out);
                return NULL;
            }
            c = (char)(high * 16 + low);
            i += 2;
        }
        out[len++] = c;
    }
    out[len] = '\0';
    return out;
}

/* user:password, :password, or password alone as older tools write it. */
static int read_login(struct slice login, struct state_address *a, struct err *err) {
    struct slice user, password = login;
    if (!slice_cut(&password, ':', &user)) {
        password = login;
        user = (struct slice){0};
    }
    if (user.len && !(a->user = decoded(user)))
        return err_set(err, "state DSN: the user name is not percent-encoded correctly");
    if (!(a->password = decoded(password)))
        return err_set(err, "state DSN: the password is not percent-encoded correctly");
    return 0;
}

static int read_number(struct slice text, uint64_t max, const char *what, uint64_t *ret_value,
                       struct err *err) {
    if (!slice_to_u64(text, ret_value) || *ret_value > max)
        return err_set(err, "state DSN: `%.*s` is not a valid %s", SLICE_FMT(text), what);
    return 0;
}

int state_address_node(struct slice text, uint16_t port_given, struct state_node *ret_node, struct err *err) {
    struct slice host = text, port = {0};
    uint64_t number = port_given;
    if (text.len && text.ptr[0] == '[') {
        ptrdiff_t end = slice_find(text, ']');
        if (end < 0)
            return err_set(err, "state DSN: `%.*s` has no closing bracket", SLICE_FMT(text));
        host = slice_of(text.ptr + 1, (size_t)end - 1);
        port = slice_from(text, (size_t)end + 1);
        if (port.len && port.ptr[0] == ':')
            port = slice_from(port, 1);
    } else if (slice_find(text, ':') >= 0) {
        port = text;
        slice_cut(&port, ':', &host);
    }
    if (port.len && read_number(port, UINT16_MAX, "port", &number, err) < 0)
        return -1;
    if (!number)
        return err_set(err, "state DSN: 0 is not a valid port");
    char *name = host.len ? decoded(host) : mem_dup("127.0.0.1", 9);
    if (!name)
        return err_set(err, "state DSN: `%.*s` names no host", SLICE_FMT(text));
    *ret_node = (struct state_node){.host = name, .port = (uint16_t)number};
    return 0;
}

static int read_nodes(struct slice text, struct state_address *a, struct err *err) {
    const uint16_t port = a->topology == STATE_SENTINEL ? SENTINEL_PORT : REDIS_PORT;
    bool more = true;
    while (more) {
        struct slice one = text;
        more = a->topology != STATE_ONE_SERVER && slice_cut(&text, ',', &one);
        if (a->node_count == STATE_REDIS_NODES_MAX)
            return err_set(err, "state DSN: more than %d hosts", STATE_REDIS_NODES_MAX);
        if (state_address_node(one, port, &a->nodes[a->node_count], err) < 0)
            return -1;
        a->node_count++;
    }
    return 0;
}

static int read_text(struct slice value, const char *what, char **ret_text, struct err *err) {
    char *text = decoded(value);
    if (!text)
        return err_set(err, "state DSN: %s is not percent-encoded correctly", what);
    free(*ret_text);
    *ret_text = text;
    return 0;
}

/* The options that are texts. Those for TLS have the names that libpq gives them. */
static int read_option(struct slice name, struct slice value, struct state_address *a, struct err *err) {
    const bool watched = a->topology == STATE_SENTINEL;
    const struct {
        const char *name;
        bool known;
        char **at;
    } texts[] = {
        {"client_name", true, &a->client_name},
        {"sentinel_user", watched, &a->sentinel_user},
        {"sentinel_password", watched, &a->sentinel_password},
        {"sslrootcert", a->tls, &a->ca},
        {"sslcert", a->tls, &a->cert},
        {"sslkey", a->tls, &a->key},
    };
    uint64_t number = 0;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (texts[i].known && slice_is(name, texts[i].name))
            return read_text(value, texts[i].name, texts[i].at, err);
    if (a->topology == STATE_CLUSTER || !slice_is(name, "db"))
        return err_set(
            err, "state DSN: unknown option `%.*s`; known are %sclient_name%s%s", SLICE_FMT(name),
            a->topology == STATE_CLUSTER ? "" : "db, ", watched ? ", sentinel_user, sentinel_password" : "",
            a->tls ? ", sslrootcert, sslcert, sslkey" : "; with TLS also sslrootcert, sslcert, sslkey");
    if (read_number(value, STATE_REDIS_DATABASE_MAX, "number of a database", &number, err) < 0)
        return -1;
    a->database = (uint32_t)number;
    return 0;
}

static int read_options(struct slice query, struct state_address *a, struct err *err) {
    while (query.len) {
        struct slice option, value, name;
        if (!slice_cut(&query, '&', &option))
            query = (struct slice){0};
        value = option;
        slice_cut(&value, '=', &name);
        if (read_option(name, value, a, err) < 0)
            return -1;
    }
    return 0;
}

/* Behind the hosts: a database, or the name of a master and a database. */
static int read_path(struct slice path, struct state_address *a, struct err *err) {
    struct slice name = path;
    uint64_t database = 0;
    if (a->topology == STATE_SENTINEL) {
        if (!slice_cut(&path, '/', &name))
            path = (struct slice){0};
        if (!name.len)
            return err_set(err,
                           "state DSN: name what the Sentinels watch: redis+sentinel://HOST,HOST/MASTER");
        if (read_text(name, "the name of the master", &a->master, err) < 0)
            return -1;
    }
    if (path.len && read_number(path, STATE_REDIS_DATABASE_MAX, "number of a database", &database, err) < 0)
        return -1;
    if (database && a->topology == STATE_CLUSTER)
        return err_set(err, "state DSN: a Cluster has only database 0");
    a->database = (uint32_t)database;
    return 0;
}

/* What is in front of the host or path. Passwords that somebody did not percent-encode may have an @ and a /.
 */
static struct slice cut_login(struct slice *rest, bool is_path) {
    size_t at = rest->len;
    for (size_t i = 0; i < rest->len; i++)
        if (rest->ptr[i] == '@' && (!is_path || (i && i + 1 < rest->len && rest->ptr[i + 1] == '/')))
            at = i;
    if (at == rest->len || (is_path && rest->ptr[0] == '/'))
        return (struct slice){0};
    struct slice login = slice_upto(*rest, at);
    *rest = slice_from(*rest, at + 1);
    return login;
}

static int parse(struct slice dsn, struct state_address *a, struct err *err) {
    struct slice rest = dsn, name, query, path, login;
    slice_cut(&rest, ':', &name);
    const struct scheme *scheme = scheme_of(name);
    if (!scheme || !slice_starts(rest, SLICE("//")))
        return err_set(err, "state DSN: write redis://HOST:PORT/DATABASE or unix:///PATH");
    rest = slice_from(rest, 2);
    query = rest;
    if (!slice_cut(&query, '?', &rest))
        query = (struct slice){0};
    a->tls = scheme->tls;
    a->topology = scheme->topology;
    login = cut_login(&rest, scheme->is_path);
    if (login.ptr && read_login(login, a, err) < 0)
        return -1;
    if (scheme->is_path) {
        if (!rest.len || rest.ptr[0] != '/' || !(a->path = decoded(rest)))
            return err_set(err, "state DSN: a unix socket needs an absolute path");
        return read_options(query, a, err);
    }
    path = rest;
    if (!slice_cut(&path, '/', &rest))
        path = (struct slice){0};
    if (read_nodes(rest, a, err) < 0 || read_path(path, a, err) < 0)
        return -1;
    return read_options(query, a, err);
}

int state_address_parse(struct slice dsn, struct state_address *ret_address, struct err *err) {
    struct state_address a = {0};
    if (parse(dsn, &a, err) < 0) {
        struct slice query = dsn, rest;
        state_address_free(&a);
        /* A password with a ? ends in the options: what was said shows the rest of it. */
        return slice_cut(&query, '?', &rest) && slice_find(query, '@') >= 0
                   ? err_set(err, "state DSN: %s", STATE_ENCODE_ADVICE)
                   : -1;
    }
    if (!a.cert != !a.key) {
        state_address_free(&a);
        return err_set(err, "state DSN: sslcert and sslkey belong together");
    }
    *ret_address = a;
    return 0;
}

static char *copy_of(const char *text) { return text ? mem_dup(text, strlen(text)) : NULL; }

void state_address_copy(struct state_address *ret_to, const struct state_address *from) {
    *ret_to = *from;
    for (size_t i = 0; i < from->node_count; i++)
        ret_to->nodes[i].host = copy_of(from->nodes[i].host);
    ret_to->path = copy_of(from->path);
    ret_to->master = copy_of(from->master);
    ret_to->sentinel_user = copy_of(from->sentinel_user);
    ret_to->sentinel_password = copy_of(from->sentinel_password);
    ret_to->user = copy_of(from->user);
    ret_to->password = copy_of(from->password);
    ret_to->client_name = copy_of(from->client_name);
    ret_to->ca = copy_of(from->ca);
    ret_to->cert = copy_of(from->cert);
    ret_to->key = copy_of(from->key);
}

void state_address_free(struct state_address *a) {
    for (size_t i = 0; i < a->node_count; i++)
        free(a->nodes[i].host);
    free(a->path);
    free(a->master);
    free(a->sentinel_user);
    free(a->sentinel_password);
    free(a->user);
    free(a->password);
    free(a->client_name);
    free(a->ca);
    free(a->cert);
    free(a->key);
    *a = (struct state_address){0};
}
