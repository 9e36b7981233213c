#include "state/address.h"

#include "base/mem.h"
#include "state/limits.h"

#include <string.h>

#define REDIS_PORT 6379

static const struct scheme {
    const char *name;
    bool tls;
    bool is_path;
} schemes[] = {{"redis", false, false},     {"rediss", true, false}, {"valkey", false, false},
               {"valkeys", true, false},    {"unix", false, true},   {"redis+unix", false, true},
               {"valkey+unix", false, true}};

static const struct scheme *scheme_of(struct slice name) {
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++)
        if (slice_is(name, schemes[i].name))
            return &schemes[i];
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
        return err_set(err, "state DSN: the user name is not percent-encoded rightly");
    if (!(a->password = decoded(password)))
        return err_set(err, "state DSN: the password is not percent-encoded rightly");
    return 0;
}

static int read_number(struct slice text, uint64_t max, const char *what, uint64_t *ret_value,
                       struct err *err) {
    if (!slice_to_u64(text, ret_value) || *ret_value > max)
        return err_set(err, "state DSN: `%.*s` is no %s", SLICE_FMT(text), what);
    return 0;
}

/* host, host:port or [ipv6]:port. */
static int read_host(struct slice text, struct state_address *a, struct err *err) {
    struct slice host = text, port = {0};
    uint64_t number = REDIS_PORT;
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
    a->host = host.len ? decoded(host) : mem_dup("127.0.0.1", 9);
    a->port = (uint16_t)number;
    return a->host && number ? 0 : err_set(err, "state DSN: `%.*s` names no host", SLICE_FMT(text));
}

static int read_options(struct slice query, struct state_address *a, struct err *err) {
    while (query.len) {
        struct slice option, value, name;
        uint64_t number = 0;
        if (!slice_cut(&query, '&', &option))
            query = (struct slice){0};
        value = option;
        slice_cut(&value, '=', &name);
        if (slice_is(name, "db")) {
            if (read_number(value, STATE_REDIS_DATABASE_MAX, "number of a database", &number, err) < 0)
                return -1;
            a->database = (uint32_t)number;
        } else if (slice_is(name, "client_name")) {
            free(a->client_name);
            if (!(a->client_name = decoded(value)))
                return err_set(err, "state DSN: client_name is not percent-encoded rightly");
        } else {
            return err_set(err, "state DSN: unknown option `%.*s`; known are db and client_name",
                           SLICE_FMT(name));
        }
    }
    return 0;
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
    ptrdiff_t at = slice_find(rest, '@');
    if (at >= 0) {
        login = slice_upto(rest, (size_t)at);
        rest = slice_from(rest, (size_t)at + 1);
        if (read_login(login, a, err) < 0)
            return -1;
    }
    if (scheme->is_path) {
        if (!rest.len || rest.ptr[0] != '/' || !(a->path = decoded(rest)))
            return err_set(err, "state DSN: a unix socket needs an absolute path");
        return read_options(query, a, err);
    }
    path = rest;
    if (!slice_cut(&path, '/', &rest))
        path = (struct slice){0};
    uint64_t database = 0;
    if (path.len && read_number(path, STATE_REDIS_DATABASE_MAX, "number of a database", &database, err) < 0)
        return -1;
    a->database = (uint32_t)database;
    return read_host(rest, a, err) < 0 ? -1 : read_options(query, a, err);
}

int state_address_parse(struct slice dsn, struct state_address *ret_address, struct err *err) {
    struct state_address a = {0};
    if (parse(dsn, &a, err) < 0) {
        state_address_free(&a);
        return -1;
    }
    *ret_address = a;
    return 0;
}

void state_address_free(struct state_address *a) {
    free(a->host);
    free(a->path);
    free(a->user);
    free(a->password);
    free(a->client_name);
    *a = (struct state_address){0};
}
