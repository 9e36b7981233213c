#include "front/nodes.h"
#include "front/settings.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "call/limits.h"
#include "channel/limits.h"
#include "crypto/jwt.h"
#include "front/limits.h"
#include "front/settings_keys.h"
#include "guard/guard.h"
#include "io/file.h"
#include "io/netmask.h"
#include "many/many.h"
#include "policy/window.h"
#include "risk/confusable.h"
#include "risk/lockfile.h"
#include "state/advice.h"
#include "state/grants.h"
#include "state/limits.h"
#include "upstream/fetch.h"
#include "wire/jsonc.h"
#include "wire/tree_parse.h"

#include <stdarg.h>
#include <stdio.h>

/* ---- one file ---- */

struct reader {
    struct arena *arena;
    const char *path;
    const char *dir; /* with the slash, or "" */
    bool client;     /* a client's file: unknown keys are ignored */
    struct settings *to;
    struct err *err;
};

struct settings_owned {
    struct settings settings; /* must be the first member: settings_free() gets this address */
    struct arena arena;
};

static int fault(struct reader *r, const struct tree *t, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int fault(struct reader *r, const struct tree *t, const char *fmt, ...) {
    char what[ERR_TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    err_set(r->err, "%s", what);
    return err_wrap(r->err, "line %u, column %u", t->line, t->column);
}

/* The value of ${NAME}, ${env:NAME} or ${NAME:-text}. */
static int put_variable(struct reader *r, const struct tree *t, struct slice inside, struct buf *out) {
    struct slice name = inside;
    const char *dash = inside.len ? memmem(inside.ptr, inside.len, ":-", 2) : NULL;
    if (dash)
        name.len = (size_t)(dash - inside.ptr);
    if (slice_starts(name, SLICE("env:")))
        name = slice_from(name, 4);
    const char *value = getenv(arena_dup(r->arena, name).ptr);
    if (value)
        buf_put_str(out, value);
    else if (dash)
        buf_put_str(out, arena_dup(r->arena, slice_from(inside, (size_t)(dash - inside.ptr) + 2)).ptr);
    else
        return fault(r, t, "environment variable %.*s is not set", SLICE_FMT(name));
    return 0;
}

static int read_text(struct reader *r, const struct tree *t, const char **ret_text) {
    if (t->type == TREE_LIST || t->type == TREE_MAP || t->type == TREE_NULL)
        return fault(r, t, "must be a string, not a %s", tree_type_name(t->type));
    cleanup_buf struct buf out;
    buf_init(&out, SETTINGS_VALUE_MAX);
    for (size_t i = 0; i < t->text.len; i++) {
        const char *at = t->text.ptr + i;
        const char *end =
            t->text.len - i > 1 && at[0] == '$' && at[1] == '{' ? memchr(at, '}', t->text.len - i) : NULL;
        if (!end) {
            buf_put_char(&out, *at);
            continue;
        }
        if (put_variable(r, t, slice_of(at + 2, (size_t)(end - at) - 2), &out) < 0)
            return -1;
        i += (size_t)(end - at);
    }
    if (out.full)
        return fault(r, t, "larger than %d bytes", SETTINGS_VALUE_MAX);
    *ret_text = arena_dup(r->arena, buf_slice(&out)).ptr;
    return 0;
}

static int read_path(struct reader *r, const struct tree *t, const char **ret_path) {
    const char *text = NULL;
    if (read_text(r, t, &text) < 0)
        return -1;
    const char *home = getenv("HOME");
    if (strncmp(text, "~/", 2) == 0 && home)
        text = arena_printf(r->arena, "%s%s", home, text + 1).ptr;
    *ret_path = text[0] == '/' || r->client ? text : arena_printf(r->arena, "%s%s", r->dir, text).ptr;
    return 0;
}

static int read_choice(struct reader *r, const struct tree *t, const char *const *choices, int *ret_index) {
    const char *text = NULL;
    /* YAML 1.1 writers quote `off`. In 1.2 it is a string, and `false` means the same. */
    if (t->type == TREE_BOOL && !t->truth && strcmp(choices[0], "off") == 0) {
        *ret_index = 0;
        return 0;
    }
    if (read_text(r, t, &text) < 0)
        return -1;
    char all[256] = "";
    for (int i = 0; choices[i]; i++) {
        if (strcmp(choices[i], text) == 0) {
            *ret_index = i;
            return 0;
        }
        size_t used = strlen(all);
        snprintf(all + used, sizeof(all) - used, "%s%s", i ? ", " : "", choices[i]);
    }
    const char *near = nearest_word(slice_str(text), choices);
    return fault(r, t, "`%s` must be one of %s%s%s%s", text, all, near ? "; did you mean `" : "",
                 near ? near : "", near ? "`?" : "");
}

static int read_duration(struct reader *r, const struct tree *t, uint64_t *ret_ms) {
    if (slice_is(t->text, "never") || slice_is(t->text, "0s") || (t->type == TREE_INT && t->integer == 0)) {
        *ret_ms = 0;
        return 0;
    }
    if ((t->type != TREE_STRING && t->type != TREE_INT) || !policy_duration_parse(t->text, ret_ms))
        return fault(r, t, "write a time like 30s, 5m, 2h, 1d or never");
    return 0;
}

static int read_list(struct reader *r, const struct tree *t, struct settings_list *ret_list) {
    if (t->type != TREE_LIST)
        return fault(r, t, "must be a list, not a %s", tree_type_name(t->type));
    if (t->count > SETTINGS_WORDS_MAX)
        return fault(r, t, "more than %d entries", SETTINGS_WORDS_MAX);
    const char **items = arena_array(r->arena, const char *, t->count + 1);
    size_t count = 0;
    for (const struct tree *e = t->child; e; e = e->next)
        if (read_text(r, e, &items[count++]) < 0)
            return -1;
    *ret_list = (struct settings_list){items, count};
    return 0;
}

/* {A: b} as lines "A=b" or "A: b", or with a line feed in between, which no name contains. */
static int read_pairs(struct reader *r, const struct tree *t, const char *between,
                      struct settings_list *ret_list) {
    if (t->type != TREE_MAP)
        return fault(r, t, "must be a map, not a %s", tree_type_name(t->type));
    if (t->count > SETTINGS_WORDS_MAX)
        return fault(r, t, "more than %d entries", SETTINGS_WORDS_MAX);
    const char **items = arena_array(r->arena, const char *, t->count + 1);
    size_t count = 0;
    for (const struct tree *e = t->child; e; e = e->next) {
        const char *value = NULL;
        if (between[0] == ':' && e->type == TREE_MAP && !r->client)
            continue; /* read_headers */
        if (!e->key.len ||
            (between[0] != '\n' && (slice_find(e->key, '=') >= 0 || slice_find(e->key, ':') >= 0)))
            return fault(r, e, "`%.*s` is not a valid name", SLICE_FMT(e->key));
        if (read_text(r, e, &value) < 0)
            return -1;
        items[count++] = arena_printf(r->arena, "%.*s%s%s", SLICE_FMT(e->key), between, value).ptr;
    }
    *ret_list = (struct settings_list){items, count};
    return 0;
}

static int read_version(struct reader *r, const struct tree *t) {
    return slice_is(t->text, "1")
               ? 0
               : fault(r, t, "version `%.*s` is not supported; this program reads 1", SLICE_FMT(t->text));
}

static int read_servers(struct reader *r, const struct tree *map);
static int read_keys(struct reader *r, const struct tree *map, const struct settings_key *keys, void *base);

/* Plain headers, followed by those whose values come from files or programs. */
static int read_headers(struct reader *r, const struct tree *t, void *to) {
    struct settings_list *plain = to;
    if (read_pairs(r, t, ": ", plain) < 0)
        return -1;
    struct settings_secret *all = arena_array(r->arena, struct settings_secret, t->count + 1);
    size_t count = 0;
    for (const struct tree *e = t->child; e && !r->client; e = e->next) {
        if (e->type != TREE_MAP)
            continue;
        struct settings_secret *s = &all[count++];
        s->header = arena_dup(r->arena, e->key).ptr;
        s->prefix = "";
        if (read_keys(r, e, settings_secret_keys, s) < 0)
            return err_wrap(r->err, "`%s`", s->header);
        if (!s->file == !s->command.count)
            return fault(r, e, "header `%s` needs either `file` or `command`", s->header);
        if (!http_token_ok(e->key) || !http_value_ok(slice_str(s->prefix)))
            return fault(r, e, "`%s` is not a valid header", s->header);
    }
    *(struct settings_secret **)(plain + 1) = all;
    *(size_t *)((char *)(plain + 1) + sizeof(void *)) = count;
    return 0;
}

/* {HOST: {NAME: VALUE}} */
static int read_inject(struct reader *r, const struct tree *t, struct settings_list *ret_list) {
    if (t->type != TREE_MAP)
        return fault(r, t, "must be a map, not a %s", tree_type_name(t->type));
    const char **items = arena_array(r->arena, const char *, SETTINGS_WORDS_MAX + 1);
    size_t count = 0;
    for (const struct tree *e = t->child; e; e = e->next) {
        struct settings_list headers;
        if (read_pairs(r, e, "\n", &headers) < 0)
            return -1;
        for (size_t i = 0; i < headers.count; i++) {
            struct slice value = slice_str(headers.items[i]), name;
            slice_cut(&value, '\n', &name);
            if (count == SETTINGS_WORDS_MAX)
                return fault(r, t, "more than %d headers", SETTINGS_WORDS_MAX);
            items[count++] = arena_printf(r->arena, "%.*s\n%.*s: %.*s", SLICE_FMT(e->key), SLICE_FMT(name),
                                          SLICE_FMT(value))
                                 .ptr;
        }
    }
    *ret_list = (struct settings_list){items, count};
    return 0;
}

static int read_plain(struct reader *r, const struct settings_key *key, const struct tree *t, void *to) {
    switch (key->kind) {
    case KEY_TEXT:
        return read_text(r, t, to);
    case KEY_PATH:
        return read_path(r, t, to);
    case KEY_CHOICE:
        return read_choice(r, t, key->choices, to);
    case KEY_BOOL:
        if (t->type != TREE_BOOL)
            return fault(r, t, "must be true or false");
        *(bool *)to = t->truth;
        return 0;
    case KEY_INT:
        if (t->type != TREE_INT)
            return fault(r, t, "must be an integer");
        *(int64_t *)to = t->integer;
        return 0;
    case KEY_DURATION:
        return read_duration(r, t, to);
    case KEY_LIST:
        return read_list(r, t, to);
    case KEY_ENV:
        return read_pairs(r, t, "=", to);
    case KEY_HEADERS:
        return read_headers(r, t, to);
    case KEY_INJECT:
        return read_inject(r, t, to);
    case KEY_CLAIMS:
        return read_pairs(r, t, "\n", to);
    case KEY_VERSION:
        return read_version(r, t);
    case KEY_SERVERS:
        return read_servers(r, t);
    default:
        return -1;
    }
}

static int check_keys(struct reader *r, const struct tree *map, const struct settings_key *keys) {
    const char *names[64] = {0};
    for (size_t i = 0; keys[i].name; i++)
        names[i] = keys[i].name;
    if (map->type != TREE_MAP)
        return fault(r, map, "must be a map, not a %s", tree_type_name(map->type));
    return r->client ? 0 : tree_check_keys(map, names, r->err);
}

static int read_each(struct reader *r, const struct settings_key *key, const struct tree *list, void *to) {
    if (list->type != TREE_LIST)
        return fault(r, list, "must be a list, not a %s", tree_type_name(list->type));
    if (list->count > SETTINGS_WORDS_MAX)
        return fault(r, list, "more than %d entries", SETTINGS_WORDS_MAX);
    char *items = arena_zalloc(r->arena, key->size * (list->count + 1));
    size_t count = 0;
    for (const struct tree *t = list->child; t; t = t->next)
        if (read_keys(r, t, key->keys, items + key->size * count++) < 0)
            return -1;
    *(void **)to = items;
    *(size_t *)((char *)to + sizeof(void *)) = count;
    return 0;
}

/* The depth of recursion is that of the tables, whatever the file contains. */
static int read_keys(struct reader *r, const struct tree *map, const struct settings_key *keys, void *base) {
    if (check_keys(r, map, keys) < 0)
        return -1;
    for (const struct settings_key *key = keys; key->name; key++) {
        const struct tree *t = tree_get(map, key->name);
        if (!t)
            continue;
        void *to = (char *)base + key->at;
        int rc = key->or_list && t->type == TREE_LIST
                     ? read_plain(r, key->keys, t, (char *)base + key->keys->at)
                 : key->kind == KEY_SECTION ? read_keys(r, t, key->keys, base)
                 : key->kind == KEY_EACH    ? read_each(r, key, t, to)
                                            : read_plain(r, key, t, to);
        if (rc < 0)
            return err_wrap(r->err, "`%s`", key->name);
    }
    return 0;
}

/* ---- servers ---- */

static bool plain_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_';
}

/* A name is part of paths and, followed by two underscores, a prefix of tool names. Its end must be
 * unambiguous. */
const char *settings_name_fault(struct slice name) {
    if (!name.len || name.len > SETTINGS_NAME_MAX)
        return "must have 1 to 64 characters";
    for (size_t i = 0; i < name.len; i++)
        if (!plain_char(name.ptr[i]))
            return "may hold letters, digits, `-`, `.` and `_` only";
    if (memmem(name.ptr, name.len, "__", 2) || name.ptr[name.len - 1] == '_')
        return "must not hold `__` or end with `_`, which separates it from tool names";
    if (name.ptr[0] == '.' || slice_is(name, "servers") || slice_is(name, "call"))
        return "is reserved";
    return NULL;
}

const char *settings_fit_name(struct slice title, struct arena *a) {
    char *name = arena_alloc(a, title.len + 1);
    size_t len = 0;
    for (size_t i = 0; i < title.len && len < SETTINGS_NAME_MAX; i++) {
        char c = plain_char(title.ptr[i]) ? title.ptr[i] : '-';
        if (c == '_' && len && name[len - 1] == '_')
            continue;
        if (c == '-' && len && name[len - 1] == '-' && title.ptr[i] != '-')
            continue;
        name[len++] = c;
    }
    while (len && name[len - 1] == '_')
        len--;
    name[len] = '\0';
    return name;
}

/* Clients use several names for one transport. */
static int client_type(const char *type) {
    static const char *const http[] = {"http", "streamable-http", "streamableHttp", "streamable_http"};
    for (size_t i = 0; type && i < ARRAY_LEN(http); i++)
        if (strcmp(type, http[i]) == 0)
            return SETTINGS_HTTP;
    return type && strcmp(type, "sse") == 0 ? SETTINGS_SSE : SETTINGS_AUTO;
}

static int read_client_server(struct reader *r, const struct tree *t, struct settings_server *s) {
    struct reader inner = *r;
    for (size_t i = 0; i < SETTINGS_CLIENT_KEYS; i++) {
        const struct settings_key *key = &settings_server_keys[i];
        const struct tree *value = tree_get(t, key->name);
        if (!value && strcmp(key->name, "url") == 0)
            value = tree_get(t, "serverUrl");
        if (!value || value->type == TREE_NULL)
            continue;
        if (strcmp(key->name, "type") == 0)
            s->type = client_type(value->type == TREE_STRING ? arena_dup(r->arena, value->text).ptr : NULL);
        else if (read_plain(&inner, key, value, (char *)s + key->at) < 0)
            return err_wrap(r->err, "`%s`", key->name);
    }
    const struct tree *disabled = tree_get(t, "disabled");
    s->disabled = disabled && disabled->type == TREE_BOOL && disabled->truth;
    return 0;
}

/* A tool's name must still fit: a long prefix is truncated, and a hash keeps it distinct. */
static const char *short_prefix(struct reader *r, struct slice name) {
    if (name.len <= SETTINGS_PREFIX_MAX)
        return name.ptr;
    uint32_t hash = 2166136261u; /* FNV-1a: the same in every run */
    for (size_t i = 0; i < name.len; i++)
        hash = (hash ^ (unsigned char)name.ptr[i]) * 16777619u;
    return arena_printf(r->arena, "%.*s-%08x", SETTINGS_PREFIX_MAX - 9, name.ptr, hash).ptr;
}

static int finish_server(struct reader *r, const struct tree *t, struct settings_server *s) {
    if (!s->command == !s->url)
        return fault(r, t, s->command ? "has both `command` and `url`" : "has neither `command` nor `url`");
    if ((s->type == SETTINGS_STDIO && s->url) || (s->type > SETTINGS_STDIO && s->command))
        return fault(r, t, "`type` does not match `%s`", s->url ? "url" : "command");
    if (s->type == SETTINGS_AUTO)
        s->type = s->url ? SETTINGS_HTTP : SETTINGS_STDIO;
    if (!s->prefix)
        s->prefix = short_prefix(r, slice_str(s->name));
    struct slice prefix = slice_str(s->prefix);
    const char *why =
        prefix.len > SETTINGS_PREFIX_MAX ? "must have at most 32 characters" : settings_name_fault(prefix);
    if (why)
        return fault(r, t, "prefix `%s` %s", s->prefix, why);
    if (!s->command)
        return 0;
    const char **argv = arena_array(r->arena, const char *, s->args.count + 2);
    argv[0] = s->command;
    for (size_t i = 0; i < s->args.count; i++)
        argv[i + 1] = s->args.items[i];
    s->argv = (struct settings_list){argv, s->args.count + 1};
    return 0;
}

static int read_server(struct reader *r, const struct tree *t, struct settings_server *s) {
    s->title = arena_dup(r->arena, t->key).ptr;
    s->name = r->client ? settings_fit_name(t->key, r->arena) : s->title;
    s->line = t->key_line;
    s->pii = -1, s->share = -1, s->idle_ms = UINT64_MAX; /* defaults are filled in at the end */
    s->health_ms = s->health_timeout_ms = UINT64_MAX;
    const char *why = settings_name_fault(slice_str(s->name));
    if (why)
        return fault(r, t, "the name %s", why);
    if (t->type != TREE_MAP)
        return fault(r, t, "must be a map, not a %s", tree_type_name(t->type));
    if ((r->client ? read_client_server(r, t, s) : read_keys(r, t, settings_server_keys, s)) < 0)
        return -1;
    return finish_server(r, t, s);
}

static int read_servers(struct reader *r, const struct tree *map) {
    struct settings *to = r->to;
    if (map->type == TREE_NULL)
        return 0;
    if (map->type != TREE_MAP)
        return fault(r, map, "must be a map, not a %s", tree_type_name(map->type));
    if (to->server_count + map->count > SETTINGS_SERVERS_MAX)
        return fault(r, map, "more than %d servers", SETTINGS_SERVERS_MAX);
    struct settings_server *all =
        arena_array(r->arena, struct settings_server, to->server_count + map->count + 1);
    if (to->server_count)
        memcpy(all, to->servers, to->server_count * sizeof(*all));
    to->servers = all;
    for (const struct tree *t = map->child; t; t = t->next)
        if (read_server(r, t, &all[to->server_count++]) < 0)
            return err_wrap(r->err, "server `%.*s`", SLICE_FMT(t->key));
    return 0;
}

/* ---- files ---- */

static int read_client_file(struct reader *r, struct slice text) {
    const struct tree *root;
    if (tree_parse_json(text, r->arena, &root, r->err) < 0)
        return -1;
    const struct tree *servers = tree_get(root, "mcpServers");
    if (!servers)
        servers = tree_get(root, "servers");
    if (!servers)
        return err_set(r->err, "neither `mcpServers` nor `servers`");
    return read_servers(r, servers);
}

static int read_own_file(struct reader *r, struct slice text) {
    const struct tree *root;
    if (tree_parse(text, r->arena, &root, r->err) < 0)
        return -1;
    if (read_keys(r, root, settings_root_keys, r->to) < 0)
        return -1;
    return tree_get(root, "version") ? 0 : err_set(r->err, "`version: \"1\"` is missing");
}

static int read_text_of(struct settings_owned *o, const char *path, struct slice text, bool client,
                        struct err *err) {
    const char *slash = strrchr(path, '/');
    struct reader r = {.arena = &o->arena, .path = path, .client = client, .to = &o->settings, .err = err};
    r.dir = slash ? arena_dup(&o->arena, slice_of(path, (size_t)(slash - path) + 1)).ptr : "";
    if ((client ? read_client_file(&r, text) : read_own_file(&r, text)) < 0)
        return err_wrap(err, "read `%s`", path);
    return 0;
}

static int read_one(struct settings_owned *o, const char *path, bool client, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, SETTINGS_FILE_MAX);
    if (io_file_read(path, &text, NULL, err) < 0)
        return -1;
    size_t at = 0;
    if (client && text.len && !jsonc_blank(text.ptr, text.len, &at))
        return err_set(err, "read `%s`: byte %zu: %s", path, at, JSONC_OPEN_COMMENT);
    return read_text_of(o, path, buf_slice(&text), client, err);
}

/* Names must differ, also visually. */
static int check_names(struct settings_owned *o, struct err *err) {
    struct settings *s = &o->settings;
    struct map names, prefixes;
    map_init(&names);
    map_init(&prefixes);
    int rc = 0;
    for (size_t i = 0; i < s->server_count && rc == 0; i++) {
        struct settings_server *server = &s->servers[i];
        if (server->disabled)
            continue;
        const struct settings_server *other =
            map_put(&names, risk_skeleton(slice_str(server->name), &o->arena), server);
        if (other && strcmp(other->title, server->title) == 0)
            rc = err_set(err, "two servers have the name `%s`: rename one, or give only one of the files",
                         server->title);
        else if (other)
            rc = err_set(err, "the servers `%s` and `%s` have names that look alike", other->title,
                         server->title);
        other = map_put(&prefixes, risk_skeleton(slice_str(server->prefix), &o->arena), server);
        if (other && rc == 0)
            rc = err_set(err, "the servers `%s` and `%s` have prefixes that look alike", other->title,
                         server->title);
    }
    map_free(&names);
    map_free(&prefixes);
    return rc;
}

static void fill_defaults(struct settings *s) {
    for (size_t i = 0; i < s->server_count; i++) {
        struct settings_server *server = &s->servers[i];
        if (server->pii < 0)
            server->pii = s->pii.mode;
        if (server->share < 0)
            server->share = s->share;
        if (server->idle_ms == UINT64_MAX)
            server->idle_ms = s->idle_ms;
        if (server->health_ms == UINT64_MAX)
            server->health_ms = s->health_ms;
        if (server->health_timeout_ms == UINT64_MAX)
            server->health_timeout_ms = s->health_timeout_ms;
    }
}

int settings_parse_listen(const char *text, char host[SETTINGS_HOST_MAX], uint16_t *ret_port,
                          struct err *err) {
    struct slice all = slice_str(text), at = SLICE("127.0.0.1"), port = all;
    const char *colon = strrchr(text, ':');
    if (colon) {
        at = slice_of(text, (size_t)(colon - text));
        port = slice_str(colon + 1);
        if (!at.len)
            at = SLICE("127.0.0.1");
        if (at.ptr[0] == '[' && at.ptr[at.len - 1] == ']')
            at = slice_of(at.ptr + 1, at.len - 2);
    }
    uint64_t number;
    if (!slice_to_u64(port, &number) || number > UINT16_MAX || !at.len || at.len >= SETTINGS_HOST_MAX)
        return err_set(err, "listen `%s`: write it as ADDRESS:PORT", text);
    memcpy(host, at.ptr, at.len);
    host[at.len] = '\0';
    *ret_port = (uint16_t)number;
    return 0;
}

static int check_issuer(const struct settings *s, const struct settings_issuer *issuer, struct err *err) {
    if (!issuer->issuer || !up_url_is_safe(slice_str(issuer->issuer)))
        return err_set(err, "auth.issuers: every issuer needs an https URL");
    if (issuer->jwks && !up_url_is_safe(slice_str(issuer->jwks)))
        return err_set(err, "auth.issuers: `%s` is not an https URL", issuer->jwks);
    if (!issuer->audience.count && !s->auth.resource)
        return err_set(err, "auth.issuers: `%s` needs an audience, public_url or auth.resource",
                       issuer->issuer);
    for (size_t i = 0; i < issuer->algorithms.count; i++)
        if (!jwt_algorithm_from(slice_str(issuer->algorithms.items[i])))
            return err_set(err, "auth.issuers: algorithm `%s` is not supported", issuer->algorithms.items[i]);
    bool console = issuer->console.client_secret || issuer->console.scopes.count ||
                   issuer->console.session_ms || issuer->console.sign_out;
    if (console && !issuer->console.client_id)
        return err_set(err, "auth.issuers: console of `%s` needs a client_id", issuer->issuer);
    if (issuer->console.client_id && !s->auth.resource)
        return err_set(err, "auth.issuers: console of `%s` needs public_url or auth.resource",
                       issuer->issuer);
    if (issuer->console.session_ms > STATE_LOGIN_MS)
        return err_set(err, "auth.issuers: console of `%s`: a session may last 12h at most", issuer->issuer);
    return 0;
}

static int check_public(struct settings *s, struct err *err) {
    struct http_url at;
    struct io_netmask ignored;
    const char *why;
    if (s->public_url &&
        (http_parse_url(slice_str(s->public_url), &at, &why) < 0 || !slice_is(at.target, "/")))
        return err_set(err, "public_url: `%s` must be a URL without a path, such as https://gate.example.com",
                       s->public_url);
    for (size_t i = 0; i < s->trusted_proxies.count; i++)
        if (!io_netmask_parse(slice_str(s->trusted_proxies.items[i]), &ignored))
            return err_set(
                err,
                "trusted_proxies: `%s` is neither an address nor a network; write 192.0.2.7 or 10.0.0.0/8",
                s->trusted_proxies.items[i]);
    if (!s->auth.resource)
        s->auth.resource = s->public_url;
    return 0;
}

static int check_auth(const struct settings *s, struct err *err) {
    struct http_url at;
    const char *why;
    if (s->auth.resource &&
        (http_parse_url(slice_str(s->auth.resource), &at, &why) < 0 || !slice_is(at.target, "/")))
        return err_set(err, "auth.resource: `%s` must be a URL without a path", s->auth.resource);
    for (size_t i = 0; i < s->auth.issuer_count; i++)
        if (check_issuer(s, &s->auth.issuers[i], err) < 0)
            return -1;
    for (size_t i = 0; i < s->auth.rule_count; i++) {
        const struct settings_list *roles = &s->auth.rules[i].roles;
        for (size_t k = 0; k < roles->count; k++)
            if (!state_role_from(slice_str(roles->items[k])))
                return err_set(err, "auth.rules: unknown role `%s`", roles->items[k]);
    }
    if (!s->tls.cert != !s->tls.key || (s->tls.client_ca && !s->tls.cert))
        return err_set(err, "tls: both cert and key are required");
    return 0;
}

/* Beside the settings file, unless it is named. */
static void find_lock(struct settings_owned *o) {
    struct settings *s = &o->settings;
    const char *slash = s->path ? strrchr(s->path, '/') : NULL;
    struct slice dir = slash ? slice_of(s->path, (size_t)(slash - s->path) + 1) : (struct slice){0};
    struct slice usual = arena_printf(&o->arena, "%.*s" RISK_LOCK_NAME, SLICE_FMT(dir));
    bool off = s->pins.lock && slice_eq(slice_from(slice_str(s->pins.lock), dir.len), SLICE("off"));
    s->pins.lock = guard_lock_path(off ? "off" : s->pins.lock, usual.ptr);
}

static int check_discovery(const struct settings *s, struct err *err) {
    if (s->discovery.keep < 0 || s->discovery.keep > SETTINGS_DISCOVERY_KEEP_MAX)
        return err_set(err, "discovery.keep: a number from 0 to %d", SETTINGS_DISCOVERY_KEEP_MAX);
    if (s->discovery.mode != MANY_DISCOVERY_ALL && !s->code.enabled)
        return err_set(err, "discovery.mode: search needs the code server; set `code: {enabled: true}`");
    return 0;
}

static int check_state(const struct settings *s, struct err *err) {
    if (s->state.database && !state_advice_is_postgres(s->state.database))
        return err_set(
            err, "state.database: must start with postgres://; counters in Redis belong into state.dsn");
    if (s->state.after_loss == SETTINGS_LOSS_DATABASE && !s->state.database)
        return err_set(err, "state.after_loss: database keeps marks in `state.database`, which is not set");
    return 0;
}

static int check_sizes(const struct settings *s, struct err *err) {
    if (s->audit.segment_mb < 0 || s->audit.segment_mb > SETTINGS_MB_MAX)
        return err_set(err, "audit.segment_mb: a number from 1 to %d", SETTINGS_MB_MAX);
    if (s->audit.ship.backlog_mb < 0 || s->audit.ship.backlog_mb > SETTINGS_MB_MAX)
        return err_set(err, "audit.ship.backlog_mb: a number from 1 to %d", SETTINGS_MB_MAX);
    if (s->audit.ship.dsn && !state_advice_is_postgres(s->audit.ship.dsn))
        return err_set(err, "audit.ship.dsn: must start with postgres://");
    if (!s->audit.ship.dsn && (s->audit.ship.keep_ms || s->audit.ship.gate || s->audit.ship.backlog_mb))
        return err_set(err, "audit.ship: `dsn` is missing");
    if (s->sessions.unsent_mb < 0 || s->sessions.unsent_mb > SETTINGS_MB_MAX)
        return err_set(err, "sessions.unsent_mb: a number from 1 to %d", SETTINGS_MB_MAX);
    if (s->sessions.per_grant < 0 || s->sessions.per_grant > SESSION_MAX)
        return err_set(err, "sessions.per_grant: a number from 1 to %d", SESSION_MAX);
    if (s->sessions.connections_per_grant < 0 || s->sessions.connections_per_grant > FRONT_CONNS_MAX)
        return err_set(err, "sessions.connections_per_grant: a number from 1 to %d", FRONT_CONNS_MAX);
    if (s->sessions.connections_per_address < 0 || s->sessions.connections_per_address > FRONT_CONNS_MAX)
        return err_set(err, "sessions.connections_per_address: a number from 1 to %d", FRONT_CONNS_MAX);
    if (s->sessions.processes < 0 || s->sessions.processes > CHANNEL_PROCESSES_MAX)
        return err_set(err, "sessions.processes: a number from 1 to %d", CHANNEL_PROCESSES_MAX);
    if (s->sessions.processes_per_grant < 0 || s->sessions.processes_per_grant > CHANNEL_PROCESSES_MAX)
        return err_set(err, "sessions.processes_per_grant: a number from 1 to %d", CHANNEL_PROCESSES_MAX);
    if (s->log.server_lines < 0 || s->log.server_lines > UINT32_MAX)
        return err_set(err, "log.server_lines: a number from 1 to %u", UINT32_MAX);
    return 0;
}

static int check_health(const struct settings *s, struct err *err) {
    bool timed = s->health_timeout_ms;
    for (size_t i = 0; i < s->server_count; i++)
        timed &= s->servers[i].health_timeout_ms != 0;
    return timed
               ? 0
               : err_set(err,
                         "health.timeout: write a time like 15s; `interval: never` turns health checks off");
}

static int finish(struct settings_owned *o, struct err *err) {
    struct settings *s = &o->settings;
    char *host = arena_alloc(&o->arena, SETTINGS_HOST_MAX);
    if (settings_parse_listen(s->listen, host, &s->port, err) < 0)
        return -1;
    s->bind = host;
    if (check_public(s, err) < 0 || check_auth(s, err) < 0 || check_discovery(s, err) < 0 ||
        check_state(s, err) < 0 || check_health(s, err) < 0 || check_sizes(s, err) < 0 ||
        front_nodes_check(s, err) < 0)
        return -1;
    fill_defaults(s);
    find_lock(o);
    return check_names(o, err);
}

static struct settings_owned *new_settings(const char *path) {
    struct settings_owned *o = mem_zalloc(sizeof(*o));
    struct settings *s = &o->settings;
    arena_init(&o->arena);
    s->listen = "127.0.0.1:8640";
    s->idle_ms = SETTINGS_IDLE_MS;
    s->health_ms = SETTINGS_HEALTH_MS;
    s->health_timeout_ms = SETTINGS_HEALTH_TIMEOUT_MS;
    s->code.profile = "native";
    s->discovery.keep = SETTINGS_DISCOVERY_KEEP;
    s->approvals.timeout_ms = SETTINGS_APPROVAL_MS;
    s->drain.timeout_ms = FRONT_DRAIN_MS;
    s->poison.definitions = GUARD_DENY;
    s->poison.results = GUARD_FLAG;
    s->path = path ? arena_dup(&o->arena, slice_str(path)).ptr : NULL;
    return o;
}

/* The result becomes the settings unless there was an error. */
static int take_settings(struct settings_owned *o, int rc, struct settings **ret_settings, struct err *err) {
    if (rc == 0)
        rc = finish(o, err);
    if (rc == 0)
        *ret_settings = &o->settings;
    else
        settings_free(&o->settings);
    return rc;
}

int settings_load(const char *path, const char *const *client_files, size_t client_file_count,
                  struct settings **ret_settings, struct err *err) {
    struct settings_owned *o = new_settings(path);
    const char **files = arena_array(&o->arena, const char *, client_file_count + 1);
    int rc = path ? read_one(o, path, false, err) : 0;
    for (size_t i = 0; i < client_file_count && rc == 0; i++) {
        files[i] = arena_dup(&o->arena, slice_str(client_files[i])).ptr;
        rc = read_one(o, files[i], true, err);
    }
    o->settings.client_files = (struct settings_list){files, client_file_count};
    return take_settings(o, rc, ret_settings, err);
}

int settings_load_text(const char *path, struct slice text, bool client, struct settings **ret_settings,
                       struct err *err) {
    struct settings_owned *o = new_settings(client ? NULL : path);
    return take_settings(o, read_text_of(o, path, text, client, err), ret_settings, err);
}

void settings_free(struct settings *s) {
    if (!s)
        return;
    struct settings_owned *o = container_of(s, struct settings_owned, settings);
    arena_free(&o->arena);
    free(o);
}

/* ---- comparing ---- */

static bool same_list(const struct settings_list *a, const struct settings_list *b) {
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (strcmp(a->items[i], b->items[i]) != 0)
            return false;
    return true;
}

static bool same_secrets(const struct settings_server *a, const struct settings_server *b) {
    bool same = a->secret_count == b->secret_count;
    for (size_t i = 0; same && i < a->secret_count; i++) {
        const struct settings_secret *x = &a->secrets[i], *y = &b->secrets[i];
        same = slice_same_str(x->header, y->header) && slice_same_str(x->prefix, y->prefix) &&
               slice_same_str(x->file, y->file) && same_list(&x->command, &y->command) &&
               x->ttl_ms == y->ttl_ms;
    }
    return same;
}

bool settings_same_program(const struct settings_server *a, const struct settings_server *b) {
    return slice_same_str(a->url, b->url) && slice_same_str(a->cwd, b->cwd) && a->type == b->type &&
           same_list(&a->argv, &b->argv) && same_list(&a->env, &b->env) &&
           same_list(&a->headers, &b->headers) && same_secrets(a, b) && a->share == b->share;
}

bool settings_same_auth(const struct settings *a, const struct settings *b) {
    bool same = slice_same_str(a->auth.resource, b->auth.resource) &&
                a->auth.issuer_count == b->auth.issuer_count && a->auth.rule_count == b->auth.rule_count;
    for (size_t i = 0; same && i < a->auth.issuer_count; i++) {
        const struct settings_issuer *x = &a->auth.issuers[i], *y = &b->auth.issuers[i];
        same = slice_same_str(x->issuer, y->issuer) && same_list(&x->audience, &y->audience) &&
               slice_same_str(x->jwks, y->jwks) && same_list(&x->algorithms, &y->algorithms) &&
               same_list(&x->scopes, &y->scopes) && x->skew_ms == y->skew_ms &&
               slice_same_str(x->console.client_id, y->console.client_id) &&
               slice_same_str(x->console.client_secret, y->console.client_secret) &&
               same_list(&x->console.scopes, &y->console.scopes) &&
               x->console.session_ms == y->console.session_ms && x->console.sign_out == y->console.sign_out;
    }
    for (size_t i = 0; same && i < a->auth.rule_count; i++) {
        const struct settings_rule *x = &a->auth.rules[i], *y = &b->auth.rules[i];
        same = same_list(&x->when, &y->when) && slice_same_str(x->grant, y->grant) &&
               same_list(&x->servers, &y->servers) && same_list(&x->tools, &y->tools) &&
               slice_same_str(x->policy, y->policy) && slice_same_str(x->limits, y->limits) &&
               same_list(&x->roles, &y->roles);
    }
    return same;
}
