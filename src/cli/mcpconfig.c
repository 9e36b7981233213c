#include "cli/mcpconfig.h"

#include "base/mem.h"
#include "cli/toollist.h"
#include "risk/catalogue.h"
#include "risk/glyph.h"

#include <stdlib.h>

#define SERVERS_MAX 256
#define WORDS_MAX 256         /* arguments, variables or headers of one server */
#define VALUE_BYTES_MAX 65536 /* of one of them */

void cli_mcpconfig_init(struct cli_mcpconfig *c) {
    memset(c, 0, sizeof *c);
    buf_init(&c->text, CLI_TOOLLIST_BYTES_MAX);
    tape_init(&c->tape);
    arena_init(&c->arena);
}

void cli_mcpconfig_free(struct cli_mcpconfig *c) {
    buf_free(&c->text);
    tape_free(&c->tape);
    arena_free(&c->arena);
}

/* The value of ${NAME} or ${NAME:-text}. */
static int put_variable(struct slice inside, struct buf *out, struct arena *a, struct err *err) {
    struct slice name = inside;
    const char *dash = inside.len ? memmem(inside.ptr, inside.len, ":-", 2) : NULL;
    if (dash)
        name.len = (size_t)(dash - inside.ptr);
    const char *value = getenv(arena_dup(a, name).ptr);
    if (value)
        buf_put_str(out, value);
    else if (dash)
        buf_put_slice(out, slice_from(inside, name.len + 2));
    else
        return err_set(err, "the environment has no %.*s", SLICE_FMT(name));
    return 0;
}

/* A string of the configuration, with its variables, as a C string in the arena. */
static int read_text(struct cli_mcpconfig *c, uint32_t node, const char **ret_text, struct err *err) {
    if (!tape_is(&c->tape, node, TAPE_STRING))
        return err_set(err, "a value is no string");
    struct slice text = tape_text(&c->tape, node, &c->arena);
    if (slice_find(text, 0) >= 0)
        return err_set(err, "a value holds a NUL");
    cleanup_buf struct buf out;
    buf_init(&out, VALUE_BYTES_MAX);
    for (size_t i = 0; i < text.len; i++) {
        const char *end = i + 1 < text.len && text.ptr[i] == '$' && text.ptr[i + 1] == '{'
                              ? memchr(text.ptr + i, '}', text.len - i)
                              : NULL;
        if (!end) {
            buf_put_char(&out, text.ptr[i]);
            continue;
        }
        size_t len = (size_t)(end - text.ptr) - i - 2;
        if (put_variable(slice_of(text.ptr + i + 2, len), &out, &c->arena, err))
            return -1;
        i += len + 2;
    }
    if (out.full)
        return err_set(err, "a value is larger than %d bytes", VALUE_BYTES_MAX);
    *ret_text = arena_dup(&c->arena, buf_slice(&out)).ptr;
    return 0;
}

/* {"A": "b"} as "A=b" or "A: b" lines. */
static int read_pairs(struct cli_mcpconfig *c, uint32_t obj, const char *between, const char ***ret_lines,
                      size_t *ret_count, struct err *err) {
    if (!obj || !tape_is(&c->tape, obj, TAPE_OBJECT))
        return 0;
    if (tape_node(&c->tape, obj)->count > WORDS_MAX)
        return err_set(err, "more than %d variables or headers", WORDS_MAX);
    const char **lines = arena_array(&c->arena, const char *, WORDS_MAX);
    TAPE_FOR_MEMBER(&c->tape, obj, key) {
        const char *value;
        if (read_text(c, key + 1, &value, err))
            return -1;
        struct slice name = tape_text(&c->tape, key, &c->arena);
        lines[(*ret_count)++] = arena_printf(&c->arena, "%.*s%s%s", SLICE_FMT(name), between, value).ptr;
    }
    *ret_lines = lines;
    return 0;
}

static int read_command(struct cli_mcpconfig *c, uint32_t server, uint32_t command, struct cli_mcpserver *s,
                        struct err *err) {
    const struct tape *t = &c->tape;
    uint32_t args = tape_get_str(t, server, "args");
    bool have_args = args && tape_is(t, args, TAPE_ARRAY);
    if (have_args && tape_node(t, args)->count > WORDS_MAX)
        return err_set(err, "more than %d arguments", WORDS_MAX);
    const char **argv = arena_array(&c->arena, const char *, WORDS_MAX + 2);
    size_t count = 0;
    if (read_text(c, command, &argv[count++], err))
        return -1;
    if (have_args)
        TAPE_FOR_ELEM(t, args, i)
    if (read_text(c, i, &argv[count++], err))
        return -1;
    struct slice *words = arena_array(&c->arena, struct slice, count);
    for (size_t i = 0; i < count; i++)
        words[i] = slice_str(argv[i]);
    risk_supply_read(words, count, &s->supply);
    s->argv = (char **)argv;
    return 0;
}

static int read_server(struct cli_mcpconfig *c, uint32_t key, struct cli_mcpserver *s, struct err *err) {
    const struct tape *t = &c->tape;
    uint32_t server = key + 1;
    s->name = arena_dup(&c->arena, tape_text(t, key, &c->arena)).ptr;
    if (!tape_is(t, server, TAPE_OBJECT))
        return err_set(err, "no object");
    uint32_t command = tape_get_str(t, server, "command"), url = tape_get_str(t, server, "url");
    uint32_t cwd = tape_get_str(t, server, "cwd");
    if (!command && !url)
        return err_set(err, "neither `command` nor `url`");
    if (command ? read_command(c, server, command, s, err) : read_text(c, url, &s->url, err))
        return -1;
    if (cwd && read_text(c, cwd, &s->cwd, err))
        return -1;
    if (read_pairs(c, tape_get_str(t, server, "env"), "=", &s->env, &s->env_count, err) ||
        read_pairs(c, tape_get_str(t, server, "headers"), ": ", &s->headers, &s->header_count, err))
        return -1;
    if (s->supply.package.len)
        s->impostor = risk_impostor_of(s->supply.package, &c->arena);
    return 0;
}

static uint32_t find_servers(const struct tape *t) {
    if (!tape_is(t, 0, TAPE_OBJECT))
        return 0;
    uint32_t servers = tape_get_str(t, 0, "mcpServers");
    if (!servers)
        servers = tape_get_str(t, 0, "servers");
    return servers && tape_is(t, servers, TAPE_OBJECT) ? servers : 0;
}

int cli_mcpconfig_read(struct cli_mcpconfig *c, const char *path, struct err *err) {
    size_t at = 0;
    if (cli_file_read(path, &c->text, NULL, err))
        return -1;
    enum tape_fault fault = tape_parse(&c->tape, buf_slice(&c->text), &at);
    if (fault)
        return err_set(err, "read `%s`: byte %zu: %s", path, at, tape_fault_text(fault));
    uint32_t servers = find_servers(&c->tape);
    if (!servers)
        return err_set(err, "read `%s`: neither `mcpServers` nor `servers`", path);
    if (tape_node(&c->tape, servers)->count > SERVERS_MAX)
        return err_set(err, "read `%s`: more than %d servers", path, SERVERS_MAX);
    c->servers = arena_array(&c->arena, struct cli_mcpserver, SERVERS_MAX);
    TAPE_FOR_MEMBER(&c->tape, servers, key) {
        struct cli_mcpserver *s = &c->servers[c->count++];
        if (read_server(c, key, s, err))
            return err_wrap(err, "read `%s`: server `%s`", path, s->name);
    }
    return 0;
}

void cli_mcpserver_text(const struct cli_mcpserver *s, struct arena *a, struct buf *out) {
    struct slice name = risk_printable(slice_str(s->name), 64, a);
    buf_printf(out, "%.*s: ", SLICE_FMT(name));
    if (s->url) {
        struct slice url = risk_printable(slice_str(s->url), 120, a);
        buf_put_slice(out, url);
    } else if (s->supply.runner) {
        struct slice package = risk_printable(s->supply.package, 120, a);
        buf_printf(out, "%s %.*s", s->supply.runner, SLICE_FMT(package));
        if (s->supply.unpinned)
            buf_put_str(out, ", version not pinned: whatever was published last will run");
        else
            buf_printf(out, " %.*s", SLICE_FMT(s->supply.version));
    } else {
        buf_put_str(out, "a program on this machine");
    }
    if (s->impostor.len)
        buf_printf(out, "; the name is close to the known package %.*s: an impostor?",
                   SLICE_FMT(s->impostor));
    buf_put_char(out, '\n');
}

void cli_mcpserver_json(const struct cli_mcpserver *s, struct emit *e) {
    emit_key(e, "server");
    emit_cstr(e, s->name);
    if (s->url) {
        emit_key(e, "url");
        emit_cstr(e, s->url);
    }
    if (s->supply.runner) {
        emit_key(e, "runner");
        emit_cstr(e, s->supply.runner);
        emit_key(e, "package");
        emit_str(e, s->supply.package);
        emit_key(e, "version");
        emit_str(e, s->supply.version);
        emit_key(e, "pinned");
        emit_bool(e, !s->supply.unpinned);
    }
    if (s->impostor.len) {
        emit_key(e, "imitates");
        emit_str(e, s->impostor);
    }
}
