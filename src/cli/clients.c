#include "cli/clients.h"

#include "base/mem.h"
#include "base/nearest.h"
#include "front/limits.h"
#include "front/settings.h"
#include "io/file.h"
#include "risk/supply.h"
#include "wire/emit.h"
#include "wire/mask.h"

#include <errno.h>
#include <linux/limits.h>
#include <stdlib.h>
#include <string.h>

enum client {
    CLAUDE_DESKTOP,
    CLAUDE_CODE,
    CURSOR,
    VSCODE,
    WINDSURF,
    CLINE,
    ZED,
    CODEX,
    GEMINI,
};

static const struct cli_client clients[] = {
    [CLAUDE_DESKTOP] = {"claude-desktop", "Claude Desktop", CLI_REMOTE_NONE},
    [CLAUDE_CODE] = {"claude-code", "Claude Code", CLI_REMOTE_TYPED},
    [CURSOR] = {"cursor", "Cursor", CLI_REMOTE_URL},
    [VSCODE] = {"vscode", "VS Code", CLI_REMOTE_TYPED},
    [WINDSURF] = {"windsurf", "Windsurf", CLI_REMOTE_SERVER_URL},
    [CLINE] = {"cline", "Cline", CLI_REMOTE_STREAMABLE},
    [ZED] = {"zed", "Zed", CLI_REMOTE_URL},
    [CODEX] = {"codex", "Codex", CLI_REMOTE_TOML},
    [GEMINI] = {"gemini", "Gemini CLI", CLI_REMOTE_HTTP_URL},
};

enum base { HOME, CONFIG, LIBRARY, PROJECT };

#define CLINE_FILE "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

/* Linux and macOS; missing files are skipped. */
static const struct place {
    enum client client;
    enum base base;
    const char *path;
    const char *members;
    bool projects;
} places[] = {
    {CLAUDE_DESKTOP, CONFIG, "Claude/claude_desktop_config.json", "mcpServers"},
    {CLAUDE_DESKTOP, LIBRARY, "Claude/claude_desktop_config.json", "mcpServers"},
    {CLAUDE_CODE, HOME, ".claude.json", "mcpServers", true},
    {CLAUDE_CODE, PROJECT, ".mcp.json", "mcpServers"},
    {CURSOR, HOME, ".cursor/mcp.json", "mcpServers"},
    {CURSOR, PROJECT, ".cursor/mcp.json", "mcpServers"},
    {VSCODE, CONFIG, "Code/User/mcp.json", "servers"},
    {VSCODE, CONFIG, "Code/User/settings.json", "mcp/servers"},
    {VSCODE, LIBRARY, "Code/User/mcp.json", "servers"},
    {VSCODE, LIBRARY, "Code/User/settings.json", "mcp/servers"},
    {VSCODE, PROJECT, ".vscode/mcp.json", "servers"},
    {WINDSURF, HOME, ".codeium/windsurf/mcp_config.json", "mcpServers"},
    {CLINE, CONFIG, "Code/" CLINE_FILE, "mcpServers"},
    {CLINE, LIBRARY, "Code/" CLINE_FILE, "mcpServers"},
    {ZED, CONFIG, "zed/settings.json", "context_servers"},
    {ZED, PROJECT, ".zed/settings.json", "context_servers"},
    {CODEX, HOME, ".codex/config.toml", "mcp_servers"},
    {CODEX, PROJECT, ".codex/config.toml", "mcp_servers"},
    {GEMINI, HOME, ".gemini/settings.json", "mcpServers"},
    {GEMINI, PROJECT, ".gemini/settings.json", "mcpServers"},
};

const struct cli_client *cli_client_find(const char *name, struct err *err) {
    const char *names[ARRAY_LEN(clients) + 1] = {0};
    for (size_t i = 0; i < ARRAY_LEN(clients); i++) {
        names[i] = clients[i].name;
        if (strcmp(clients[i].name, name) == 0)
            return &clients[i];
    }
    const char *near = nearest_word(slice_str(name), names);
    if (near)
        err_set(err, "no client `%s`, did you mean `%s`?", name, near);
    else
        err_set(err,
                "no client `%s`: write claude-desktop, claude-code, cursor, vscode, windsurf, cline, zed, "
                "codex or gemini",
                name);
    return NULL;
}

/* ---- files ---- */

struct cli_client_file *cli_client_file_new(const struct cli_client *client, const char *path,
                                            const char *members, bool projects) {
    struct cli_client_file *f = mem_zalloc(sizeof(*f));
    arena_init(&f->arena);
    buf_init(&f->text, SETTINGS_FILE_MAX * 4);
    jsonc_init(&f->json);
    f->client = client;
    f->path = arena_dup(&f->arena, slice_str(path)).ptr;
    f->members = members;
    f->projects = projects;
    return f;
}

void cli_client_file_free(struct cli_client_file *f) {
    if (!f)
        return;
    jsonc_free(&f->json);
    buf_free(&f->text);
    arena_free(&f->arena);
    free(f);
}

void cli_clients_free(struct cli_clients *c) {
    for (size_t i = 0; i < c->count; i++)
        cli_client_file_free(c->files[i]);
    free(c->files);
    *c = (struct cli_clients){0};
}

static void push_file(struct cli_clients *c, struct cli_client_file *f) {
    c->files = mem_realloc(c->files, (c->count + 1) * sizeof(struct cli_client_file *));
    c->files[c->count++] = f;
}

static bool place_path(const struct place *p, const char *project, char ret_path[PATH_MAX]) {
    const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
    int len = -1;
    if (p->base == PROJECT)
        len = snprintf(ret_path, PATH_MAX, "%s/%s", project, p->path);
    else if (p->base == CONFIG && config && *config == '/')
        len = snprintf(ret_path, PATH_MAX, "%s/%s", config, p->path);
    else if (home && *home == '/')
        len = snprintf(ret_path, PATH_MAX, "%s/%s%s", home,
                       p->base == CONFIG    ? ".config/"
                       : p->base == LIBRARY ? "Library/Application Support/"
                                            : "",
                       p->path);
    return len > 0 && len < PATH_MAX;
}

/* If the project is the home directory, the same file is found twice. */
static bool is_known(const struct cli_clients *c, const char *real) {
    for (size_t i = 0; i < c->count; i++)
        if (strcmp(c->files[i]->path, real) == 0)
            return true;
    return false;
}

int cli_clients_find(struct cli_clients *c, const struct cli_client *only, const char *project,
                     struct err *err) {
    char path[PATH_MAX], real[PATH_MAX];
    if (!getenv("HOME"))
        return err_set(err, "HOME is not set: set it to the home directory");
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        const struct place *p = &places[i];
        const struct cli_client *client = &clients[p->client];
        if ((only && only != client) || !place_path(p, project, path) || !realpath(path, real) ||
            is_known(c, real))
            continue;
        struct cli_client_file *f = cli_client_file_new(client, real, p->members, p->projects);
        f->in_project = p->base == PROJECT;
        bool missing = false;
        if (io_file_read(real, &f->text, &missing, &f->err) < 0 || cli_client_file_read(f, &f->err) < 0)
            f->bad = true;
        push_file(c, f);
    }
    return 0;
}

/* The format of a file that the user named: by its place in the table, else by its extension. */
static const struct place *place_of(const struct cli_client *client, const char *path) {
    struct slice full_path = slice_str(path);
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if ((!client || client == &clients[places[i].client]) &&
            slice_ends(full_path, slice_str(places[i].path)))
            return &places[i];
    for (size_t i = 0; client && i < ARRAY_LEN(places); i++)
        if (client == &clients[places[i].client])
            return &places[i];
    static const struct place toml = {CODEX, HOME, "", "mcp_servers"},
                              json = {CLAUDE_CODE, HOME, "", NULL, true};
    return slice_ends(full_path, SLICE(".toml")) ? &toml : &json;
}

int cli_clients_add(struct cli_clients *c, const struct cli_client *client, const char *path,
                    struct err *err) {
    const struct place *p = place_of(client, path);
    struct cli_client_file *f = cli_client_file_new(&clients[p->client], path, p->members, p->projects);
    push_file(c, f);
    if (io_file_read(path, &f->text, NULL, err) < 0)
        return -1;
    return cli_client_file_read(f, err) < 0 ? err_wrap(err, "read `%s`", path) : 0;
}

/* ---- servers in the form of mcpServers ---- */

/* One server before it is written as JSON. All but args and pairs are texts. */
struct parts {
    struct slice command, cwd, url, type;
    struct slice args[SETTINGS_WORDS_MAX];
    size_t arg_count;
    struct slice env, headers; /* JSON objects, or empty */
    bool disabled;
};

static struct slice base_name(struct slice path) {
    const char *slash = path.len ? memrchr(path.ptr, '/', path.len) : NULL;
    return slash ? slice_from(path, (size_t)(slash - path.ptr) + 1) : path;
}

static struct slice parts_json(const struct parts *p, struct arena *a) {
    cleanup_buf struct buf out;
    struct emit e;
    buf_init(&out, SETTINGS_FILE_MAX * 4);
    emit_init(&e, &out);
    emit_object(&e);
    emit_text(&e, "command", p->command);
    if (p->command.len && p->arg_count) {
        emit_key(&e, "args");
        emit_array(&e);
        for (size_t i = 0; i < p->arg_count; i++)
            emit_str(&e, p->args[i]);
        emit_array_end(&e);
    }
    if (p->env.len) {
        emit_key(&e, "env");
        emit_raw(&e, p->env);
    }
    emit_text(&e, "cwd", p->cwd);
    emit_text(&e, "url", p->url);
    if (p->headers.len) {
        emit_key(&e, "headers");
        emit_raw(&e, p->headers);
    }
    if (slice_is(p->type, "sse"))
        emit_text(&e, "type", p->type);
    if (p->disabled) {
        emit_key(&e, "disabled");
        emit_bool(&e, true);
    }
    emit_object_end(&e);
    return arena_dup(a, buf_slice(&out));
}

/* Adds a member to a JSON object, which may be empty text. */
static void add_pair(struct slice *pairs, struct slice name, struct slice value, struct arena *a) {
    cleanup_buf struct buf out;
    buf_init(&out, SETTINGS_FILE_MAX);
    if (pairs->len > 2) {
        buf_put(&out, pairs->ptr, pairs->len - 1);
        buf_put_char(&out, ',');
    } else {
        buf_put_char(&out, '{');
    }
    emit_quote(&out, name);
    buf_put_char(&out, ':');
    emit_quote(&out, value);
    buf_put_char(&out, '}');
    *pairs = arena_dup(a, buf_slice(&out));
}

/* Adds a header of a command line, "Name: value", to the existing ones. */
static void add_header(struct parts *p, struct slice line, struct arena *a) {
    struct slice name;
    if (slice_cut(&line, ':', &name))
        add_pair(&p->headers, slice_trim(name), slice_trim(line), a);
}

/* "Name: [prefix ]VARIABLE" of a command line; the value stands in the server's environment. */
static void add_header_env(struct parts *p, struct slice line, struct arena *a) {
    cleanup_tape struct tape env;
    tape_init(&env);
    const char *space = line.len ? memrchr(line.ptr, ' ', line.len) : NULL;
    if (!space)
        return;
    struct slice head = slice_of(line.ptr, (size_t)(space - line.ptr) + 1), name = slice_from(line, head.len);
    uint32_t value = p->env.len && tape_parse(&env, p->env, NULL) == TAPE_OK ? tape_get(&env, 0, name) : 0;
    struct slice text = value && tape_is(&env, value, TAPE_STRING)
                            ? tape_text(&env, value, a)
                            : arena_printf(a, "${%.*s}", SLICE_FMT(name));
    add_header(p, arena_printf(a, "%.*s%.*s", SLICE_FMT(head), SLICE_FMT(text)), a);
}

/* `sallyport@0.1.0` as package runners write it. */
static bool names_gate(struct slice word) {
    struct slice name = base_name(word);
    const char *version = memchr(name.ptr, '@', name.len);
    return slice_is(version ? slice_upto(name, (size_t)(version - name.ptr)) : name, "sallyport");
}

/* `npx -y sallyport`, `uvx sallyport` and their like: the index of the argument that names this program, or
 * the number of arguments. */
static size_t run_gate_at(const struct parts *p) {
    static const char *const runners[] = {"npx", "bunx", "pnpx", "uvx", "pipx"};
    bool runs = false;
    for (size_t i = 0; i < ARRAY_LEN(runners); i++)
        runs |= slice_is(base_name(p->command), runners[i]);
    size_t i = 0;
    while (runs && i < p->arg_count && (slice_starts(p->args[i], SLICE("-")) || slice_is(p->args[i], "run")))
        i++;
    return runs && i < p->arg_count && names_gate(p->args[i]) ? i : p->arg_count;
}

/* A gate in front of a server (this one, or Intercept, whose flags are the same): the server behind it. */
static void unwrap(struct parts *p, struct cli_client_server *s, struct arena *a) {
    struct slice name = base_name(p->command);
    size_t i = 0;
    for (; i < p->arg_count && !slice_is(name, "sallyport") && !slice_is(name, "intercept"); i++)
        if (slice_ends(name = base_name(p->args[i]), SLICE("@policylayer/intercept")))
            name = SLICE("intercept");
    const size_t gate = run_gate_at(p);
    s->wired = (slice_is(name, "sallyport") && i == 0) || gate < p->arg_count;
    if (gate < p->arg_count)
        i = gate + 1;
    if (!s->wired && !slice_is(name, "intercept"))
        return;
    struct parts inner = {.env = p->env, .cwd = p->cwd, .disabled = p->disabled};
    for (; i < p->arg_count && !slice_is(p->args[i], "--"); i++) {
        struct slice next = i + 1 < p->arg_count ? p->args[i + 1] : (struct slice){0};
        if (slice_is(p->args[i], "-c") || slice_is(p->args[i], "--config"))
            s->policy = arena_dup(a, next).ptr;
        else if (slice_is(p->args[i], "--upstream"))
            inner.url = next;
        else if (slice_is(p->args[i], "--header"))
            add_header(&inner, next, a);
        else if (slice_is(p->args[i], "--header-env"))
            add_header_env(&inner, next, a);
    }
    for (i++; i < p->arg_count; i++)
        if (!inner.command.len)
            inner.command = p->args[i];
        else
            inner.args[inner.arg_count++] = p->args[i];
    if (!inner.command.len && !inner.url.len)
        return;
    if (!inner.command.len)
        inner.env = (struct slice){0}; /* the variable was only for its headers */
    *p = inner;
    if (!s->wired)
        s->skip = "Intercept guards it; `sallyport import` takes its policy over";
}

static bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

/* Gemini reads `$NAME`, too; settings have only `${NAME}`. */
static struct slice brace_variables(struct slice json, struct arena *a) {
    cleanup_buf struct buf out;
    buf_init(&out, SETTINGS_FILE_MAX * 4);
    for (size_t i = 0; i < json.len; i++) {
        size_t end = i + 1;
        while (json.ptr[i] == '$' && end < json.len &&
               (begins_name(json.ptr[end]) || (end > i + 1 && json.ptr[end] >= '0' && json.ptr[end] <= '9')))
            end++;
        if (end > i + 1)
            buf_printf(&out, "${%.*s}", (int)(end - i - 1), json.ptr + i + 1);
        else
            buf_put_char(&out, json.ptr[i]);
        i = end - 1;
    }
    return arena_dup(a, buf_slice(&out));
}

static void finish_server(struct cli_client_file *f, struct cli_client_server *s, struct parts *p) {
    unwrap(p, s, &f->arena);
    s->wired |= strcmp(s->name, CLI_GATE_NAME) == 0 && p->url.len;
    s->remote = !p->command.len;
    s->json = parts_json(p, &f->arena);
    if (f->client->remote == CLI_REMOTE_HTTP_URL)
        s->json = brace_variables(s->json, &f->arena);
    if (s->wired)
        s->skip = "it is behind the gate already";
    else if (!p->command.len && !p->url.len)
        s->skip = "it has neither a command nor a URL";
}

/* ---- JSON ---- */

static struct slice text_of(struct cli_client_file *f, uint32_t obj, const char *key) {
    return tape_text_of(&f->json.tape, obj, key, &f->arena);
}

/* {"A": "b"} with decoded texts: YAML reads JSON's escapes differently. Members that are not scalars are
 * ignored. */
static struct slice pairs_of(struct cli_client_file *f, uint32_t obj) {
    const struct tape *t = &f->json.tape;
    cleanup_buf struct buf out;
    struct emit e;
    buf_init(&out, SETTINGS_FILE_MAX * 4);
    emit_init(&e, &out);
    emit_object(&e);
    TAPE_FOR_MEMBER(t, obj, key) {
        if (tape_is(t, key + 1, TAPE_OBJECT) || tape_is(t, key + 1, TAPE_ARRAY) ||
            tape_is(t, key + 1, TAPE_NULL))
            continue;
        emit_key_slice(&e, tape_text(t, key, &f->arena));
        if (tape_is(t, key + 1, TAPE_STRING))
            emit_str(&e, tape_text(t, key + 1, &f->arena));
        else
            emit_raw(&e, tape_raw(t, key + 1));
    }
    emit_object_end(&e);
    return arena_dup(&f->arena, buf_slice(&out));
}

/* Keys that clients use for the address of a remote server. */
static const char *const url_keys[] = {"url", "serverUrl", "httpUrl"};

static uint32_t object_of(const struct tape *t, uint32_t obj, const char *key) {
    uint32_t node = tape_get_str(t, obj, key);
    return node && tape_is(t, node, TAPE_OBJECT) ? node : 0;
}

static bool truth_of(const struct tape *t, uint32_t obj, const char *key, enum tape_type type) {
    uint32_t node = tape_get_str(t, obj, key);
    return node && tape_is(t, node, type);
}

/* What a server has from its client alone. */
static const char *lost_of(const struct tape *t, uint32_t obj) {
    static const struct {
        const char *key, *why;
    } kinds[] = {
        {"envFile", "only its client reads `envFile`: move the variables into `env`"},
        {"headersHelper", "only its client runs `headersHelper`: write the headers into `headers`; in "
                          "sallyport.yaml the value of a header can be {command: [...]}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (truth_of(t, obj, kinds[i].key, TAPE_STRING))
            return kinds[i].why;
    return NULL;
}

static const char *const filter_keys[] = {"disabledTools", "includeTools", "excludeTools", "enabled_tools",
                                          "disabled_tools"};

static const char *filter_of(const struct tape *t, uint32_t obj) {
    for (size_t i = 0; i < ARRAY_LEN(filter_keys); i++) {
        uint32_t node = tape_get_str(t, obj, filter_keys[i]);
        if (node && tape_is(t, node, TAPE_ARRAY) && tape_node(t, node)->count)
            return filter_keys[i];
    }
    return NULL;
}

static void read_json_server(struct cli_client_file *f, uint32_t obj, uint32_t key, const char *scope) {
    const struct tape *t = &f->json.tape;
    struct cli_client_server *s = &f->servers[f->count++];
    struct parts p = {0};
    uint32_t value = key + 1, at = value; /* older files of Zed have the program in an object of its own */
    *s = (struct cli_client_server){.obj = obj, .key = key, .scope = scope};
    s->name = arena_dup(&f->arena, tape_text(t, key, &f->arena)).ptr;
    if (!tape_is(t, value, TAPE_OBJECT)) {
        s->skip = "it is not an object";
        s->json = SLICE("{}");
        return;
    }
    const uint32_t nested = object_of(t, value, "command");
    at = nested ? nested : value;
    p.command = text_of(f, at, nested ? "path" : "command");
    s->command = tape_get_str(t, at, nested ? "path" : "command");
    s->args = tape_get_str(t, at, "args");
    if (s->args && !tape_is(t, s->args, TAPE_ARRAY))
        s->skip = "its args are no list";
    if (s->args && !s->skip)
        TAPE_FOR_ELEM(t, s->args, i) {
            if (!tape_is(t, i, TAPE_STRING) || p.arg_count == ARRAY_LEN(p.args))
                s->skip = "its args are not all strings, or too many";
            else
                p.args[p.arg_count++] = tape_text(t, i, &f->arena);
        }
    p.cwd = text_of(f, value, "cwd");
    p.type = text_of(f, value, "type");
    for (size_t i = 0; i < ARRAY_LEN(url_keys) && !p.url.len; i++)
        p.url = text_of(f, value, url_keys[i]);
    /* Gemini's `url` is the older transport. */
    if (f->client->remote == CLI_REMOTE_HTTP_URL && text_of(f, value, "url").len)
        p.type = SLICE("sse");
    const uint32_t env = object_of(t, at, "env"), headers = object_of(t, value, "headers");
    p.env = env ? pairs_of(f, env) : p.env;
    p.headers = headers ? pairs_of(f, headers) : p.headers;
    s->lost = lost_of(t, value);
    s->filter = filter_of(t, value);
    p.disabled = truth_of(t, value, "disabled", TAPE_TRUE) || truth_of(t, value, "enabled", TAPE_FALSE);
    finish_server(f, s, &p);
}

/* The object at "a/b" below `obj`, or 0. */
static uint32_t walk_to(const struct tape *t, uint32_t obj, const char *members) {
    struct slice rest = slice_str(members), part;
    bool more = true;
    while (more) {
        more = slice_cut(&rest, '/', &part);
        obj = tape_is(t, obj, TAPE_OBJECT) ? tape_get(t, obj, part) : 0;
        if (!obj)
            return 0;
    }
    return tape_is(t, obj, TAPE_OBJECT) ? obj : 0;
}

static int read_json_servers(struct cli_client_file *f, uint32_t obj, const char *scope, struct err *err) {
    const struct tape *t = &f->json.tape;
    if (!obj)
        return 0;
    if (f->count + tape_node(t, obj)->count > SETTINGS_SERVERS_MAX)
        return err_set(err, "more than %d servers", SETTINGS_SERVERS_MAX);
    TAPE_FOR_MEMBER(t, obj, key)
    read_json_server(f, obj, key, scope);
    return 0;
}

static int read_json(struct cli_client_file *f, struct err *err) {
    const struct tape *t = &f->json.tape;
    if (!slice_trim(buf_slice(&f->text)).len)
        return 0;
    if (jsonc_parse(&f->json, buf_slice(&f->text), err) < 0)
        return -1;
    if (!tape_is(t, 0, TAPE_OBJECT))
        return err_set(err, "not an object");
    /* A file that is not in the table: recognised by its members. */
    static const char *const usual[] = {"mcpServers", "servers", "mcp/servers", "context_servers"};
    for (size_t i = 0; !f->members && i < ARRAY_LEN(usual); i++)
        if (walk_to(t, 0, usual[i]))
            f->members = usual[i];
    if (f->members && read_json_servers(f, walk_to(t, 0, f->members), NULL, err) < 0)
        return -1;
    uint32_t projects = f->projects ? object_of(t, 0, "projects") : 0;
    if (!projects)
        return f->members ? 0 : err_set(err, "no servers: neither `mcpServers` nor `servers`");
    TAPE_FOR_MEMBER(t, projects, key) {
        uint32_t obj = tape_is(t, key + 1, TAPE_OBJECT) ? object_of(t, key + 1, "mcpServers") : 0;
        if (read_json_servers(f, obj, arena_dup(&f->arena, tape_text(t, key, &f->arena)).ptr, err) < 0)
            return -1;
    }
    return 0;
}

/* ---- TOML ---- */

static const struct toml_item *toml_member(struct cli_client_file *f, struct slice name, const char *key) {
    const struct slice path[] = {slice_str(f->members), name, slice_str(key)};
    return toml_find(&f->toml, path, ARRAY_LEN(path));
}

static struct slice toml_text_of(struct cli_client_file *f, struct slice name, const char *key) {
    const struct toml_item *item = toml_member(f, name, key);
    struct slice text;
    return item && toml_text(&f->toml, item, &f->arena, &text) ? text : (struct slice){0};
}

/* env and headers, however they are written: inline, as a table, with dotted keys. */
static struct slice toml_pairs_of(struct cli_client_file *f, struct slice name, const char *key) {
    const struct slice path[] = {slice_str(f->members), name, slice_str(key)};
    cleanup_buf struct buf out;
    struct emit e;
    bool any = false;
    buf_init(&out, SETTINGS_FILE_MAX * 4);
    emit_init(&e, &out);
    emit_object(&e);
    for (size_t i = 0; i < f->toml.count; i++) {
        const struct toml_item *item = &f->toml.items[i];
        struct slice text;
        if (item->kind != TOML_PAIR || item->depth != 4 || !toml_below(item, path, 3) ||
            !toml_text(&f->toml, item, &f->arena, &text))
            continue;
        any = true;
        emit_key_slice(&e, item->path[3]);
        emit_str(&e, text);
    }
    emit_object_end(&e);
    return any ? arena_dup(&f->arena, buf_slice(&out)) : (struct slice){0};
}

/* False when they are no list of strings, or too many. */
static bool read_toml_args(const struct toml *toml, const struct toml_item *item, struct arena *a,
                           struct parts *p) {
    cleanup_buf struct buf out;
    cleanup_tape struct tape t;
    tape_init(&t);
    buf_init(&out, SETTINGS_FILE_MAX);
    if (item->type != TOML_ARRAY || !toml_json(toml, item, a, &out) ||
        tape_parse(&t, buf_slice(&out), NULL) != TAPE_OK)
        return false;
    TAPE_FOR_ELEM(&t, 0, i) {
        if (!tape_is(&t, i, TAPE_STRING) || p->arg_count == ARRAY_LEN(p->args))
            return false;
        p->args[p->arg_count++] = arena_dup(a, tape_text(&t, i, a));
    }
    return true;
}

/* Headers whose values are in variables, as our own settings have them. */
static void toml_header_variables(struct cli_client_file *f, struct slice name, struct parts *p) {
    struct slice variable = toml_text_of(f, name, "bearer_token_env_var");
    struct slice pairs = toml_pairs_of(f, name, "env_http_headers");
    cleanup_tape struct tape t;
    tape_init(&t);
    if (variable.len)
        add_header(p, arena_printf(&f->arena, "Authorization: Bearer ${%.*s}", SLICE_FMT(variable)),
                   &f->arena);
    if (!pairs.len || tape_parse(&t, pairs, NULL) != TAPE_OK)
        return;
    TAPE_FOR_MEMBER(&t, 0, key) {
        variable = tape_text(&t, key + 1, &f->arena);
        add_pair(&p->headers, tape_text(&t, key, &f->arena),
                 arena_printf(&f->arena, "${%.*s}", SLICE_FMT(variable)), &f->arena);
    }
}

/* `env_vars` names variables of Codex that the server gets: texts, or {name = "..."}. */
static void toml_env_vars(struct cli_client_file *f, struct slice name, struct parts *p) {
    const struct toml_item *item = toml_member(f, name, "env_vars");
    cleanup_buf struct buf out;
    cleanup_tape struct tape t;
    tape_init(&t);
    buf_init(&out, SETTINGS_FILE_MAX);
    if (!item || item->type != TOML_ARRAY || !toml_json(&f->toml, item, &f->arena, &out) ||
        tape_parse(&t, buf_slice(&out), NULL) != TAPE_OK)
        return;
    TAPE_FOR_ELEM(&t, 0, i) {
        struct slice variable = tape_is(&t, i, TAPE_STRING) ? tape_text(&t, i, &f->arena)
                                                            : tape_text_of(&t, i, "name", &f->arena);
        if (variable.len)
            add_pair(&p->env, arena_dup(&f->arena, variable),
                     arena_printf(&f->arena, "${%.*s}", SLICE_FMT(variable)), &f->arena);
    }
}

static void read_toml_server(struct cli_client_file *f, size_t at) {
    struct slice name = f->toml.items[at].path[1];
    struct cli_client_server *s = &f->servers[f->count++];
    struct parts p = {0};
    *s = (struct cli_client_server){.name = arena_dup(&f->arena, name).ptr, .item = at};
    p.command = toml_text_of(f, name, "command");
    p.cwd = toml_text_of(f, name, "cwd");
    p.url = toml_text_of(f, name, "url");
    p.env = toml_pairs_of(f, name, "env");
    p.headers = toml_pairs_of(f, name, "http_headers");
    toml_header_variables(f, name, &p);
    toml_env_vars(f, name, &p);
    for (size_t i = 0; i < ARRAY_LEN(filter_keys) && !s->filter; i++)
        s->filter = toml_member(f, name, filter_keys[i]) ? filter_keys[i] : NULL;
    const struct toml_item *args = toml_member(f, name, "args"), *enabled = toml_member(f, name, "enabled");
    if (args && !read_toml_args(&f->toml, args, &f->arena, &p))
        s->skip = "its args are not all strings, or too many";
    p.disabled = enabled && enabled->type == TOML_PLAIN && f->toml.src.ptr[enabled->value] == 'f';
    finish_server(f, s, &p);
}

static bool is_read(const struct cli_client_file *f, struct slice name) {
    for (size_t i = 0; i < f->count; i++)
        if (slice_is(name, f->servers[i].name))
            return true;
    return false;
}

static int read_toml(struct cli_client_file *f, struct err *err) {
    const struct slice root = slice_str(f->members);
    if (toml_parse(buf_slice(&f->text), &f->arena, &f->toml, err) < 0)
        return -1;
    for (size_t i = 0; i < f->toml.count; i++) {
        const struct toml_item *item = &f->toml.items[i];
        if (!toml_below(item, &root, 1))
            continue;
        if (item->kind == TOML_HEADER_ARRAY)
            return err_set(
                err,
                "`%.*s` has an array of tables in it, which Codex does not read; write `[...]` for `[[...]]`",
                SLICE_FMT(root));
        if (item->depth < 2 || is_read(f, item->path[1]))
            continue;
        if (f->count == SETTINGS_SERVERS_MAX)
            return err_set(err, "more than %d servers", SETTINGS_SERVERS_MAX);
        read_toml_server(f, i);
    }
    return 0;
}

int cli_client_file_read(struct cli_client_file *f, struct err *err) {
    f->servers = arena_array(&f->arena, struct cli_client_server, SETTINGS_SERVERS_MAX + 1);
    f->count = 0;
    return f->client->remote == CLI_REMOTE_TOML ? read_toml(f, err) : read_json(f, err);
}

/* ---- masks ---- */

#define STARS SLICE("\"***\"")

/* Is it a header with its value, or does it begin like credentials of known services? */
static bool is_credential(struct slice before, struct slice word) {
    static const char *const prefixes[] = {"sk-",     "sk_",      "ghp_", "gho_",   "github_pat_", "glpat-",
                                           "xoxb-",   "xoxp-",    "AKIA", "eyJhbG", "sp_",         "pat-",
                                           "Bearer ", "lin_api_", "ntn_", "secret_"};
    if (slice_is(before, "-H") || slice_is(before, "--header") || slice_starts(word, SLICE("--header=")))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(prefixes); i++)
        if (slice_starts(word, slice_str(prefixes[i])))
            return true;
    return false;
}

/* Which arguments of a command line must be masked. */
static void find_secrets(const struct slice *words, size_t count, struct arena *a, bool *ret_secret) {
    const struct slice *masked = risk_supply_mask(words, count, a);
    for (size_t i = 0; i < count; i++)
        ret_secret[i] = !slice_eq(words[i], masked[i]) || (i && is_credential(words[i - 1], words[i])) ||
                        !slice_eq(words[i], mask_url(words[i], a));
}

static void mask_json_pairs(const struct cli_client_file *f, uint32_t obj, struct splice *s) {
    const struct tape *t = &f->json.tape;
    if (!obj)
        return;
    TAPE_FOR_MEMBER(t, obj, key)
    splice_value(s, t, key + 1, STARS);
}

static void mask_json_urls(const struct tape *t, uint32_t obj, struct splice *s, struct arena *a) {
    for (size_t i = 0; i < ARRAY_LEN(url_keys); i++) {
        uint32_t node = tape_get_str(t, obj, url_keys[i]);
        if (!node || !tape_is(t, node, TAPE_STRING))
            continue;
        struct slice url = tape_text(t, node, a), shown = mask_url(url, a);
        if (slice_eq(url, shown))
            continue;
        cleanup_buf struct buf quoted;
        buf_init(&quoted, SETTINGS_FILE_MAX);
        emit_quote(&quoted, shown);
        splice_value(s, t, node, arena_dup(a, buf_slice(&quoted)));
    }
}

static void mask_json_server(const struct cli_client_file *f, const struct cli_client_server *server,
                             struct splice *s, struct arena *a) {
    const struct tape *t = &f->json.tape;
    const uint32_t value = server->key + 1;
    if (!tape_is(t, value, TAPE_OBJECT))
        return;
    const uint32_t nested = object_of(t, value, "command");
    mask_json_pairs(f, object_of(t, nested ? nested : value, "env"), s);
    mask_json_pairs(f, object_of(t, value, "headers"), s);
    mask_json_pairs(f, object_of(t, value, "auth"), s);
    mask_json_pairs(f, object_of(t, value, "oauth"), s);
    mask_json_urls(t, value, s, a);
    struct slice words[SETTINGS_WORDS_MAX + 2] = {SLICE("-")};
    uint32_t nodes[SETTINGS_WORDS_MAX + 2] = {0};
    bool secret[SETTINGS_WORDS_MAX + 2];
    size_t count = 1;
    if (server->args && tape_is(t, server->args, TAPE_ARRAY))
        TAPE_FOR_ELEM(t, server->args, i) {
            if (tape_is(t, i, TAPE_STRING) && count <= SETTINGS_WORDS_MAX) {
                nodes[count] = i;
                words[count++] = tape_text(t, i, a);
            }
        }
    find_secrets(words, count, a, secret);
    for (size_t i = 1; i < count; i++)
        if (secret[i])
            splice_value(s, t, nodes[i], STARS);
}

static void mask_toml_url(const struct cli_client_file *f, const struct toml_item *item, struct splice *s,
                          struct arena *a) {
    struct slice raw = slice_of(f->text.ptr + item->value, item->end - item->value);
    struct slice url = slice_of(raw.ptr + 1, raw.len > 2 ? raw.len - 2 : 0), shown = mask_url(url, a);
    if (slice_eq(url, shown))
        return;
    cleanup_buf struct buf quoted;
    buf_init(&quoted, SETTINGS_FILE_MAX);
    toml_quote(&quoted, shown);
    splice_replace(s, item->value, item->end, arena_dup(a, buf_slice(&quoted)));
}

static void mask_toml(const struct cli_client_file *f, struct splice *s, struct arena *a) {
    const struct slice root = slice_str(f->members);
    for (size_t i = 0; i < f->toml.count; i++) {
        const struct toml_item *item = &f->toml.items[i];
        if (item->kind != TOML_PAIR || !toml_below(item, &root, 1))
            continue;
        const bool pair = item->depth == 4 && item->type == TOML_STRING &&
                          (slice_is(item->path[2], "env") || slice_is(item->path[2], "http_headers"));
        if (pair)
            splice_replace(s, item->value, item->end, STARS);
        if (item->depth == 3 && item->type == TOML_STRING && slice_is(item->path[2], "url"))
            mask_toml_url(f, item, s, a);
        if (item->depth != 3 || item->type != TOML_ARRAY || !slice_is(item->path[2], "args"))
            continue;
        struct parts p = {.arg_count = 1, .args = {SLICE("-")}};
        bool secret[SETTINGS_WORDS_MAX];
        if (!read_toml_args(&f->toml, item, a, &p))
            continue;
        find_secrets(p.args, p.arg_count, a, secret);
        cleanup_buf struct buf out;
        buf_init(&out, SETTINGS_FILE_MAX);
        bool any = false;
        for (size_t k = 1; k < p.arg_count; k++) {
            buf_put_str(&out, k > 1 ? ", " : "[");
            toml_quote(&out, secret[k] ? SLICE("***") : p.args[k]);
            any |= secret[k];
        }
        buf_put_char(&out, ']');
        if (any)
            splice_replace(s, item->value, item->end, arena_dup(a, buf_slice(&out)));
    }
}

void cli_client_file_mask(const struct cli_client_file *f, struct buf *out) {
    cleanup_arena struct arena a;
    struct splice s;
    arena_init(&a);
    splice_init(&s, buf_slice(&f->text), &a);
    if (f->client->remote == CLI_REMOTE_TOML)
        mask_toml(f, &s, &a);
    else
        for (size_t i = 0; i < f->count; i++)
            mask_json_server(f, &f->servers[i], &s, &a);
    splice_write(&s, out);
}
