/* Puts the gate in front of the servers in a client's file.
 *
 *   wrap    "command": "npx", "args": [A]
 *           becomes "command": SALLYPORT, "args": ["-c", POLICY, "--name", SERVER, "--", "npx", A]
 *   serve   one member replaces all servers: the gate's URL with a grant */
#include "cli/clients.h"

#include "base/mem.h"
#include "front/limits.h"
#include "front/settings.h"
#include "wire/emit.h"

#include <string.h>

#define EDIT_BYTES_MAX (SETTINGS_FILE_MAX * 4)
#define GRANT_VARIABLE "SALLYPORT_AUTHORIZATION"

static struct slice quoted(const char *text, struct arena *a) {
    cleanup_buf struct buf out;
    buf_init(&out, EDIT_BYTES_MAX);
    emit_quote(&out, slice_str(text));
    return arena_dup(a, buf_slice(&out));
}

/* ---- the program ---- */

/* The runners clean their caches up: a path into one would stop working some day. */
void cli_client_runner(const char **program, const char *const **ret_lead) {
    static const struct {
        const char *cache, *program, *lead[3];
    } runners[] = {{"/_npx/", "npx", {"-y", "sallyport@" SALLYPORT_VERSION, NULL}},
                   {"/uv/archive-", "uvx", {"sallyport@" SALLYPORT_VERSION, NULL}}};
    for (size_t i = 0; i < ARRAY_LEN(runners); i++)
        if (strstr(*program, runners[i].cache)) {
            *program = runners[i].program;
            *ret_lead = runners[i].lead;
            return;
        }
}

/* ---- the arguments of a wrapped command line, each a complete JSON (or TOML) string ---- */

struct words {
    struct slice items[SETTINGS_WORDS_MAX * 2 + 8];
    size_t count;
    struct arena *arena;
};

static void add_word(struct words *w, const char *text) {
    if (w->count < ARRAY_LEN(w->items))
        w->items[w->count++] = quoted(text, w->arena);
}

static void add_env_names(struct words *w, const struct tape *t) {
    uint32_t env = tape_get_str(t, 0, "env");
    if (!env || !tape_is(t, env, TAPE_OBJECT))
        return;
    TAPE_FOR_MEMBER(t, env, key) {
        add_word(w, "--env");
        add_word(w, arena_dup(w->arena, tape_text(t, key, w->arena)).ptr);
    }
}

static void add_lead(struct words *w, const struct cli_client_plan *plan) {
    for (size_t i = 0; plan->lead && plan->lead[i]; i++)
        add_word(w, plan->lead[i]);
}

/* The client's own name for the server: two entries of one package have separate counters and records. */
static void add_guard(struct words *w, const struct cli_client_server *server,
                      const struct cli_client_plan *plan, const char *policy) {
    add_lead(w, plan);
    add_word(w, "-c");
    add_word(w, policy);
    const char *name = settings_fit_name(slice_str(server->name), w->arena);
    if (settings_name_fault(slice_str(name)))
        return;
    add_word(w, "--name");
    add_word(w, name);
}

/* -c POLICY --name SERVER --env NAME... -- */
static bool guard_words(struct words *w, const struct cli_client_server *server,
                        const struct cli_client_plan *plan, const char *policy) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, server->json, NULL) != TAPE_OK)
        return false;
    add_guard(w, server, plan, policy);
    add_env_names(w, &t);
    add_word(w, "--");
    return w->count + 1 < ARRAY_LEN(w->items); /* room for the command; all arguments fit */
}

static struct slice join_words(const struct words *w) {
    cleanup_buf struct buf out;
    buf_init(&out, EDIT_BYTES_MAX);
    for (size_t i = 0; i < w->count; i++) {
        buf_put_str(&out, i ? ", " : "[");
        buf_put_slice(&out, w->items[i]);
    }
    buf_put_char(&out, ']');
    return arena_dup(w->arena, buf_slice(&out));
}

/* ---- members of a rewritten object ---- */

struct layout {
    struct buf *out;
    struct slice indent, unit;
    bool lines, any;
};

static void put_member(struct layout *l, const char *key, struct slice json) {
    buf_put_str(l->out, l->any ? "," : "{");
    if (l->lines) {
        buf_put_char(l->out, '\n');
        buf_put_slice(l->out, l->indent);
        buf_put_slice(l->out, l->unit);
    } else if (l->any) {
        buf_put_char(l->out, ' ');
    }
    l->any = true;
    emit_quote(l->out, slice_str(key));
    buf_put_str(l->out, ": ");
    buf_put_slice(l->out, json);
}

static void put_end(struct layout *l) {
    if (l->lines) {
        buf_put_char(l->out, '\n');
        buf_put_slice(l->out, l->indent);
    }
    buf_put_char(l->out, '}');
}

/* ---- wrap ---- */

static bool wrap_json_program(const struct cli_client_file *f, const struct cli_client_server *server,
                              const struct cli_client_plan *plan, const char *policy, struct splice *s) {
    const struct jsonc *j = &f->json;
    struct words w = {.arena = s->arena};
    if (!guard_words(&w, server, plan, policy))
        return false;
    w.items[w.count++] = tape_raw(&j->tape, server->command);
    return splice_value(s, &j->tape, server->command, quoted(plan->program, s->arena)) &&
           (server->args ? jsonc_prepend(j, s, server->args, w.items, w.count)
                         : jsonc_add_behind(j, s, server->command - 1, SLICE("args"), join_words(&w)));
}

/* -c POLICY --name SERVER --upstream URL --header-env "Name: VARIABLE"...; the values go into *env, so
 * that no process list shows them. */
static bool remote_words(struct words *w, const struct cli_client_server *server,
                         const struct cli_client_plan *plan, const char *policy, struct buf *env) {
    cleanup_tape struct tape t;
    tape_init(&t);
    if (tape_parse(&t, server->json, NULL) != TAPE_OK)
        return false;
    uint32_t url = tape_get_str(&t, 0, "url"), headers = tape_get_str(&t, 0, "headers");
    add_guard(w, server, plan, policy);
    add_word(w, "--upstream");
    add_word(w, arena_dup(w->arena, tape_text(&t, url, w->arena)).ptr);
    size_t count = 0;
    if (headers)
        TAPE_FOR_MEMBER(&t, headers, key) {
            struct slice name = tape_text(&t, key, w->arena);
            buf_printf(env, "%s\"SALLYPORT_HEADER_%zu\": ", count ? ", " : "{", count + 1);
            buf_put_slice(env, tape_raw(&t, key + 1));
            add_word(w, "--header-env");
            add_word(w, arena_printf(w->arena, "%.*s: SALLYPORT_HEADER_%zu", SLICE_FMT(name), ++count).ptr);
        }
    if (count)
        buf_put_char(env, '}');
    return w->count < ARRAY_LEN(w->items);
}

static bool wrap_json_remote(const struct cli_client_file *f, const struct cli_client_server *server,
                             const struct cli_client_plan *plan, const char *policy, struct splice *s) {
    static const char *const replaced[] = {"url", "serverUrl", "httpUrl", "headers", "type", "transport"};
    const struct tape *t = &f->json.tape;
    const uint32_t value = server->key + 1;
    struct words w = {.arena = s->arena};
    cleanup_buf struct buf env, out;
    buf_init(&env, EDIT_BYTES_MAX);
    buf_init(&out, EDIT_BYTES_MAX);
    if (!remote_words(&w, server, plan, policy, &env))
        return false;
    struct layout l = {.out = &out, .unit = jsonc_unit(&f->json)};
    struct slice ignored;
    jsonc_indent(&f->json, server->key, &l.indent);
    l.lines = tape_node(t, value)->count && jsonc_indent(&f->json, value + 1, &ignored);
    if (f->client->remote == CLI_REMOTE_TYPED)
        put_member(&l, "type", SLICE("\"stdio\""));
    put_member(&l, "command", quoted(plan->program, s->arena));
    put_member(&l, "args", join_words(&w));
    if (env.len)
        put_member(&l, "env", buf_slice(&env));
    TAPE_FOR_MEMBER(t, value, key) {
        bool gone = false;
        for (size_t i = 0; i < ARRAY_LEN(replaced); i++)
            gone |= tape_eq(t, key, slice_str(replaced[i]));
        if (!gone)
            put_member(&l, arena_dup(s->arena, tape_text(t, key, s->arena)).ptr,
                       slice_of(f->json.src.ptr + jsonc_start(&f->json, key + 1),
                                jsonc_end(&f->json, key + 1) - jsonc_start(&f->json, key + 1)));
    }
    put_end(&l);
    return splice_value(s, t, value, arena_dup(s->arena, buf_slice(&out)));
}

static bool wrap_toml(const struct cli_client_file *f, const struct cli_client_server *server,
                      const struct cli_client_plan *plan, const char *policy, struct splice *s) {
    const struct toml *t = &f->toml;
    struct slice path[] = {slice_str(f->members), slice_str(server->name), SLICE("command")};
    const struct toml_item *command = toml_find(t, path, 3);
    path[2] = SLICE("args");
    const struct toml_item *args = toml_find(t, path, 3);
    struct words w = {.arena = s->arena};
    if (!command || !guard_words(&w, server, plan, policy))
        return false;
    w.items[w.count++] = slice_of(t->src.ptr + command->value, command->end - command->value);
    cleanup_buf struct buf text;
    buf_init(&text, EDIT_BYTES_MAX);
    uint32_t at = command->end;
    if (args) {
        bool empty;
        if (!toml_array_first(t, args, &at, &empty))
            return false;
        uint32_t line = toml_line_start(t, at), blank = line;
        while (blank < at && (t->src.ptr[blank] == ' ' || t->src.ptr[blank] == '\t'))
            blank++;
        for (size_t i = 0; i < w.count; i++) {
            buf_put_slice(&text, w.items[i]);
            if (empty && i + 1 == w.count)
                break;
            buf_put_str(&text, blank == at ? ",\n" : ", ");
            buf_put(&text, t->src.ptr + line, blank == at ? at - line : 0);
        }
    } else {
        buf_put_str(&text, command->inner ? ", args = " : "\nargs = ");
        buf_put_slice(&text, join_words(&w));
    }
    return !text.full && splice_replace(s, command->value, command->end, quoted(plan->program, s->arena)) &&
           splice_replace(s, at, at, arena_dup(s->arena, buf_slice(&text)));
}

static int wrap_file(const struct cli_client_file *f, const struct cli_client_plan *plan, struct splice *s,
                     struct err *err) {
    const bool toml = f->client->remote == CLI_REMOTE_TOML;
    for (size_t i = 0; i < f->count; i++) {
        const struct cli_client_server *server = &f->servers[i];
        const char *policy = plan->policies[i];
        if (!policy)
            continue;
        if (toml && server->remote)
            return err_set(err, "`%s`: a remote server in this file cannot be wrapped; use --mode serve",
                           server->name);
        if (!(toml             ? wrap_toml
              : server->remote ? wrap_json_remote
                               : wrap_json_program)(f, server, plan, policy, s))
            return err_set(err, "`%s` cannot be edited", server->name);
    }
    return 0;
}

/* ---- serve ---- */

static void put_headers(const struct cli_client_plan *plan, struct buf *out) {
    buf_put_str(out, "{\"Authorization\": \"Bearer ");
    emit_escape(out, slice_str(plan->token));
    buf_put_str(out, "\"}");
}

void cli_client_put_gate(const struct cli_client *client, const struct cli_client_plan *plan,
                         struct slice indent, struct slice unit, struct buf *out) {
    cleanup_arena struct arena a;
    cleanup_buf struct buf headers;
    arena_init(&a);
    buf_init(&headers, EDIT_BYTES_MAX);
    struct slice url = quoted(plan->url, &a);
    if (client->remote == CLI_REMOTE_TOML) {
        buf_printf(out, "[mcp_servers." CLI_GATE_NAME "]\nurl = %.*s\n", SLICE_FMT(url));
        buf_printf(out, "http_headers = { Authorization = \"Bearer %s\" }\n", plan->token);
        return;
    }
    static const char *const types[] = {
        [CLI_REMOTE_TYPED] = "\"http\"", [CLI_REMOTE_STREAMABLE] = "\"streamableHttp\""};
    static const char *const urls[] = {
        [CLI_REMOTE_SERVER_URL] = "serverUrl", [CLI_REMOTE_HTTP_URL] = "httpUrl", [CLI_REMOTE_NONE] = NULL};
    struct layout l = {.out = out, .indent = indent, .unit = unit, .lines = unit.len > 0};
    if (client->remote == CLI_REMOTE_NONE) {
        struct words w = {.arena = &a};
        const char *const line[] = {"-c",      plan->through,  "--upstream",
                                    plan->url, "--header-env", "Authorization: Bearer " GRANT_VARIABLE};
        add_lead(&w, plan);
        for (size_t i = 0; i < ARRAY_LEN(line); i++)
            add_word(&w, line[i]);
        put_member(&l, "command", quoted(plan->program, &a));
        put_member(&l, "args", join_words(&w));
        put_member(&l, "env",
                   arena_printf(&a, "{\"" GRANT_VARIABLE "\": %.*s}", SLICE_FMT(quoted(plan->token, &a))));
        put_end(&l);
        return;
    }
    const char *type = client->remote < ARRAY_LEN(types) ? types[client->remote] : NULL;
    if (type)
        put_member(&l, "type", slice_str(type));
    put_member(&l, urls[client->remote] ? urls[client->remote] : "url", url);
    put_headers(plan, &headers);
    put_member(&l, "headers", buf_slice(&headers));
    put_end(&l);
}

/* The servers of one container: the gate replaces the first, or an existing gate. */
static bool serve_json(const struct cli_client_file *f, const struct cli_client_plan *plan, uint32_t obj,
                       struct splice *s) {
    const struct jsonc *j = &f->json;
    uint32_t drop[SETTINGS_SERVERS_MAX], place = 0;
    size_t count = 0;
    for (size_t i = 0; i < f->count; i++)
        if (f->servers[i].obj == obj && strcmp(f->servers[i].name, CLI_GATE_NAME) == 0)
            place = f->servers[i].key;
    for (size_t i = 0; i < f->count; i++) {
        if (f->servers[i].obj != obj || !plan->chosen[i])
            continue;
        if (!place)
            place = f->servers[i].key;
        else
            drop[count++] = f->servers[i].key;
    }
    struct slice indent;
    cleanup_buf struct buf out;
    buf_init(&out, EDIT_BYTES_MAX);
    const bool lines = jsonc_indent(j, place, &indent);
    buf_put_str(&out, "\"" CLI_GATE_NAME "\": ");
    cli_client_put_gate(f->client, plan, indent, lines ? jsonc_unit(j) : (struct slice){0}, &out);
    return !out.full && jsonc_drop_members(j, s, obj, drop, count) &&
           splice_replace(s, jsonc_start(j, place), jsonc_end(j, place + 1),
                          arena_dup(s->arena, buf_slice(&out)));
}

static bool is_chosen(const struct cli_client_file *f, const struct cli_client_plan *plan,
                      const struct toml_item *item) {
    for (size_t i = 0; i < f->count; i++) {
        const struct slice path[] = {slice_str(f->members), slice_str(f->servers[i].name)};
        if (toml_below(item, path, 2))
            return plan->chosen[i] || strcmp(f->servers[i].name, CLI_GATE_NAME) == 0;
    }
    return false;
}

/* Removes complete lines: headers, and pairs with all the lines of their values. */
static int serve_toml(const struct cli_client_file *f, const struct cli_client_plan *plan, struct splice *s,
                      struct err *err) {
    const struct toml *t = &f->toml;
    bool placed = false, header = false, here = false; /* here: in the table of the gate's new entry */
    cleanup_buf struct buf out;
    buf_init(&out, EDIT_BYTES_MAX);
    cli_client_put_gate(f->client, plan, (struct slice){0}, (struct slice){0}, &out);
    for (size_t i = 0; i < t->count; i++) {
        const struct toml_item *item = &t->items[i];
        header = item->kind == TOML_PAIR ? header : is_chosen(f, plan, item);
        here = item->kind == TOML_PAIR ? here : header && !placed;
        if (item->inner || !is_chosen(f, plan, item))
            continue;
        if (!header)
            return err_set(err, "line of `%.*s`: only servers with a table of their own can be edited",
                           SLICE_FMT(item->path[1]));
        uint32_t start = toml_line_start(t, item->start), end = toml_line_end(t, item->end);
        struct slice text = placed ? (struct slice){0} : arena_dup(s->arena, buf_slice(&out));
        placed = true;
        /* The empty line after the last line of a table is removed with it. */
        const bool last = i + 1 == t->count || t->items[i + 1].kind != TOML_PAIR;
        if (last && !here && end < t->src.len && t->src.ptr[end] == '\n')
            end++;
        if (!splice_replace(s, start, end, text))
            return err_set(err, "`%.*s` cannot be edited", SLICE_FMT(item->path[1]));
    }
    return 0;
}

static int serve_file(const struct cli_client_file *f, const struct cli_client_plan *plan, struct splice *s,
                      struct err *err) {
    if (f->client->remote == CLI_REMOTE_TOML)
        return serve_toml(f, plan, s, err);
    for (size_t i = 0; i < f->count; i++) {
        bool first = plan->chosen[i];
        for (size_t k = 0; k < i; k++)
            first = first && !(plan->chosen[k] && f->servers[k].obj == f->servers[i].obj);
        if (first && !serve_json(f, plan, f->servers[i].obj, s))
            return err_set(err, "the servers cannot be edited");
    }
    return 0;
}

/* Inserted lines end as those of the file do. */
static void end_lines_alike(struct splice *s) {
    const char *line = s->src.len ? memchr(s->src.ptr, '\n', s->src.len) : NULL;
    if (!line || line == s->src.ptr || line[-1] != '\r')
        return;
    for (uint32_t i = 0; i < s->count; i++) {
        struct slice text = s->edits[i].text;
        cleanup_buf struct buf out;
        buf_init(&out, EDIT_BYTES_MAX * 2);
        for (size_t k = 0; k < text.len; k++) {
            if (text.ptr[k] == '\n' && !(k && text.ptr[k - 1] == '\r'))
                buf_put_char(&out, '\r');
            buf_put_char(&out, text.ptr[k]);
        }
        s->edits[i].text = arena_dup(s->arena, buf_slice(&out));
    }
}

int cli_client_file_edit(const struct cli_client_file *f, const struct cli_client_plan *plan,
                         struct splice *s, struct err *err) {
    if ((plan->mode == CLI_MODE_WRAP ? wrap_file(f, plan, s, err) : serve_file(f, plan, s, err)) < 0)
        return -1;
    end_lines_alike(s);
    return 0;
}

/* ---- for export ---- */

static void put_toml_table(const struct tape *t, uint32_t obj, struct arena *a, struct buf *out) {
    bool any = false;
    buf_put_str(out, "{ ");
    TAPE_FOR_MEMBER(t, obj, key) {
        buf_put_str(out, any ? ", " : "");
        any = true;
        toml_quote(out, tape_text(t, key, a));
        buf_put_str(out, " = ");
        toml_quote(out, tape_is(t, key + 1, TAPE_STRING) ? tape_text(t, key + 1, a) : tape_raw(t, key + 1));
    }
    buf_put_str(out, any ? " }" : "}");
}

static void put_toml_value(const struct tape *t, uint32_t node, struct arena *a, struct buf *out) {
    if (tape_is(t, node, TAPE_OBJECT)) {
        put_toml_table(t, node, a, out);
    } else if (tape_is(t, node, TAPE_ARRAY)) {
        buf_put_char(out, '[');
        TAPE_FOR_ELEM(t, node, i) {
            buf_put_str(out, i == node + 1 ? "" : ", ");
            toml_quote(out, tape_text(t, i, a));
        }
        buf_put_char(out, ']');
    } else if (tape_is(t, node, TAPE_STRING)) {
        toml_quote(out, tape_text(t, node, a));
    } else {
        buf_put_slice(out, tape_raw(t, node));
    }
}

void cli_client_put_server(const struct cli_client *client, struct slice json, struct arena *a,
                           struct buf *out) {
    static const struct {
        const char *key, *name[CLI_REMOTE_NONE + 1];
    } names[] = {{"url", {[CLI_REMOTE_SERVER_URL] = "serverUrl", [CLI_REMOTE_HTTP_URL] = "httpUrl"}},
                 {"headers", {[CLI_REMOTE_TOML] = "http_headers"}}};
    cleanup_tape struct tape t;
    struct emit e;
    tape_init(&t);
    emit_init(&e, out);
    if (tape_parse(&t, json, NULL) != TAPE_OK)
        return;
    const bool toml = client->remote == CLI_REMOTE_TOML;
    if (!toml)
        emit_object(&e);
    if (client->remote == CLI_REMOTE_TYPED && tape_get_str(&t, 0, "url") && !tape_get_str(&t, 0, "type")) {
        emit_key(&e, "type");
        emit_cstr(&e, "http");
    }
    TAPE_FOR_MEMBER(&t, 0, key) {
        struct slice name = tape_text(&t, key, a);
        for (size_t i = 0; i < ARRAY_LEN(names); i++)
            if (slice_is(name, names[i].key) && names[i].name[client->remote])
                name = slice_str(names[i].name[client->remote]);
        if (toml) {
            buf_printf(out, "%.*s = ", SLICE_FMT(name));
            put_toml_value(&t, key + 1, a, out);
            buf_put_char(out, '\n');
        } else {
            emit_key_slice(&e, name);
            emit_raw(&e, tape_raw(&t, key + 1));
        }
    }
    if (!toml)
        emit_object_end(&e);
}
