/* init: the servers, their names at the gate, and the risk of their tools. */
#include "base/mem.h"
#include "cli/gates.h"
#include "cli/init.h"
#include "io/file.h"
#include "risk/catalogue.h"
#include "risk/confusable.h"
#include "wire/emit.h"
#include "wire/http.h"

#include <string.h>
#include <unistd.h>

#define INIT_TEXT_MAX (16u << 20)

/* ---- existing settings ---- */

static int read_own(struct init *in, struct err *err) {
    bool missing = false;
    buf_init(&in->own_text, INIT_TEXT_MAX);
    if (io_file_read(in->yaml, &in->own_text, &missing, err) < 0)
        return missing ? 0 : -1;
    if (settings_load(in->yaml, NULL, 0, &in->own, err) < 0)
        return -1;
    in->listen = in->own->listen;
    return 0;
}

/* The gate's address: of the existing settings, or of the new ones. */
static int read_url(struct init *in, struct err *err) {
    if (in->own) {
        in->listen = in->own->listen;
        in->url = cli_gate_url(in->own, &in->arena);
        return 0;
    }
    char host[SETTINGS_HOST_MAX];
    struct settings ours = {.bind = host};
    in->listen = in->opt->listen;
    if (settings_parse_listen(in->listen, host, &ours.port, err) < 0)
        return -1;
    in->url = cli_gate_url(&ours, &in->arena);
    return 0;
}

/* ---- targets ---- */

static struct settings *settings_of(struct init *in, const char *title, struct slice json, struct err *err) {
    cleanup_buf struct buf text;
    struct settings *settings = NULL;
    buf_init(&text, INIT_TEXT_MAX);
    buf_put_str(&text, "{\"mcpServers\":{");
    emit_quote(&text, slice_str(title));
    buf_put_char(&text, ':');
    buf_put_slice(&text, json);
    buf_put_str(&text, "}}");
    (void)in;
    return settings_load_text("server", buf_slice(&text), true, &settings, err) < 0 ? NULL : settings;
}

static bool name_taken(struct init *in, const char *name) {
    struct slice skeleton = risk_skeleton(slice_str(name), &in->arena);
    for (size_t i = 0; i < in->target_count; i++)
        if (slice_eq(skeleton, risk_skeleton(slice_str(in->targets[i].name), &in->arena)))
            return true;
    for (size_t i = 0; in->own && i < in->own->server_count; i++)
        if (slice_eq(skeleton, risk_skeleton(slice_str(in->own->servers[i].name), &in->arena)))
            return true;
    return false;
}

static const char *free_name(struct init *in, const char *wanted, const struct cli_client *client) {
    const char *name = wanted;
    for (unsigned i = 1; name_taken(in, name); i++)
        name = i == 1 ? arena_printf(&in->arena, "%s-%s", wanted, client->name).ptr
                      : arena_printf(&in->arena, "%s-%s-%u", wanted, client->name, i).ptr;
    return name;
}

/* A server of the settings with the same command. */
static const struct settings_server *known_server(const struct init *in, const struct settings *settings) {
    for (size_t i = 0; in->own && settings && i < in->own->server_count; i++)
        if (settings_same_program(&in->own->servers[i], &settings->servers[0]))
            return &in->own->servers[i];
    return NULL;
}

/* Clients have names of their own between the braces: `${input:key}`, `${userHome}`. */
static bool is_of_client(struct slice name) {
    static const char *const own[] = {
        "workspaceFolder", "workspaceFolderBasename", "userHome", "cwd", "pathSeparator", "/"};
    for (size_t i = 0; i < ARRAY_LEN(own); i++)
        if (slice_is(name, own[i]))
            return true;
    return memchr(name.ptr, ':', name.len) != NULL;
}

/* How to set a missing variable. */
static const char *explain_variable(struct init *in, const char *why) {
    static const char before[] = "environment variable ", after[] = " is not set";
    const char *name = strstr(why, before), *end = name ? strstr(name, after) : NULL;
    if (!end)
        return why;
    name += sizeof(before) - 1;
    const int len = (int)(end - name);
    if (is_of_client(slice_of(name, (size_t)len)))
        return arena_printf(&in->arena, "its client fills in ${%.*s}%s", len, name,
                            in->opt->mode == CLI_MODE_SERVE
                                ? ", which the gate cannot; write a variable of the "
                                  "environment instead, as ${NAME}"
                                : "")
            .ptr;
    return arena_printf(
               &in->arena,
               "it needs the variable %.*s, which is not set here: `export %.*s=...`, then run init again",
               len, name, len, name)
        .ptr;
}

/* The server with its variables left as they stand: it cannot be started, but its package is known. */
static struct settings *outline_of(struct init *in, const char *title, struct slice json) {
    struct err ignored;
    cleanup_buf struct buf text;
    buf_init(&text, INIT_TEXT_MAX);
    for (size_t i = 0; i < json.len; i++)
        if (json.ptr[i] != '$' || i + 1 == json.len || json.ptr[i + 1] != '{')
            buf_put_char(&text, json.ptr[i]);
    return settings_of(in, title, buf_slice(&text), &ignored);
}

void cli_init_target_free(struct init_target *t) {
    settings_free(t->settings);
    settings_free(t->outline);
}

static struct init_target *target_of(struct init *in, const struct cli_client *client,
                                     const struct cli_client_server *server, struct slice shown) {
    for (size_t i = 0; i < in->target_count; i++)
        if (strcmp(in->targets[i].title, server->name) == 0 && slice_eq(in->targets[i].json, server->json))
            return &in->targets[i];
    struct err err = {0}, ignored;
    struct settings *settings = settings_of(in, server->name, server->json, &err);
    /* The name is known even when the rest is not. */
    struct settings *outline = settings ? NULL : outline_of(in, server->name, server->json);
    struct settings *plain =
        settings || outline ? NULL : settings_of(in, server->name, SLICE("{\"command\":\"-\"}"), &ignored);
    if (!settings && !outline && !plain)
        return NULL;
    const struct settings *named = settings ? settings : outline ? outline : plain;
    const char *wanted = arena_dup(&in->arena, slice_str(named->servers[0].name)).ptr;
    settings_free(plain);
    const struct settings_server *known = known_server(in, settings);
    const char *name = known ? known->name : free_name(in, wanted, client);
    struct init_target *t = &in->targets[in->target_count++];
    *t = (struct init_target){.name = name,
                              .title = server->name,
                              .json = server->json,
                              .shown = shown,
                              .settings = settings,
                              .outline = outline,
                              .why = err,
                              .why_not = settings ? NULL : explain_variable(in, err.text),
                              .in_settings = known != NULL};
    t->policy = known && known->policy ? known->policy
                                       : arena_printf(&in->arena, "%s/policies/%s.yaml", in->dir, name).ptr;
    t->has_policy = access(t->policy, F_OK) == 0;
    return t;
}

static bool is_wanted(const struct init *in, const char *name) {
    const struct cli_list *list = &in->opt->servers;
    for (size_t i = 0; i < list->count; i++)
        if (strcmp(list->items[i], name) == 0)
            return true;
    return list->count == 0;
}

/* A Windows path: such a program cannot be started here. */
static const char *windows_command(struct init *in, const struct settings *settings) {
    if (!settings || !settings->servers[0].argv.count)
        return NULL;
    struct slice command = slice_str(settings->servers[0].argv.items[0]);
    if (slice_is(command, "cmd") || slice_is(command, "cmd.exe"))
        return "a Windows command line (`cmd /c ...`): write the command after `/c` instead, such as `npx`";
    if ((command.len > 2 && command.ptr[1] == ':' && command.ptr[2] == '\\') ||
        slice_ends(command, SLICE(".cmd")) || slice_ends(command, SLICE(".bat")) ||
        slice_ends(command, SLICE(".ps1")))
        return arena_printf(&in->arena, "`%.*s` is a Windows program: name the one of this system",
                            SLICE_FMT(command))
            .ptr;
    return NULL;
}

/* A server that the gate cannot reach must not be put behind it. */
static const char *refused_url(struct init *in, const struct settings *settings) {
    const char *url = settings ? settings->servers[0].url : NULL, *why;
    struct http_url at;
    if (!url || http_parse_url(slice_str(url), &at, &why) == 0)
        return NULL;
    if (slice_starts(slice_str(url), SLICE("ws:")) || slice_starts(slice_str(url), SLICE("wss:")))
        return "a WebSocket server: the gate speaks HTTP; give the server's http or https URL, if it has one";
    const bool user = strstr(why, "user name") != NULL;
    return arena_printf(&in->arena, "%s%s", why,
                        user ? ": put them into `headers`, as \"Authorization\": \"Basic ...\""
                             : ": write a URL that begins with http:// or https://")
        .ptr;
}

static void take_server(struct init *in, struct init_file *f, size_t i) {
    const struct cli_client_server *server = &f->file->servers[i];
    struct init_found *found = &f->found[i];
    const bool serve = in->opt->mode == CLI_MODE_SERVE;
    found->skip = server->skip ? server->skip : server->lost;
    if (!found->skip && !is_wanted(in, server->name))
        found->skip = "not asked for";
    if (!found->skip && !serve && server->remote && f->file->client->remote == CLI_REMOTE_TOML)
        found->skip = "a remote server in TOML; --mode serve can take it";
    if (!found->skip && serve && f->file->in_project)
        found->skip = "this file belongs to a project and is shared: no grant is written into it; --mode "
                      "wrap can take it";
    if (found->skip)
        return;
    const size_t known = in->target_count;
    struct init_target *t = target_of(in, f->file->client, server, f->masked->servers[i].json);
    if (!t)
        found->skip = "its name cannot be used";
    else if (serve && !t->settings)
        found->skip = explain_variable(in, t->why.text);
    if (t && !found->skip)
        found->skip = windows_command(in, t->settings ? t->settings : t->outline);
    if (t && !found->skip)
        found->skip = refused_url(in, t->settings);
    if (found->skip) {
        if (in->target_count > known) /* no other client uses it */
            cli_init_target_free(&in->targets[--in->target_count]);
        return;
    }
    found->target = t;
    f->chosen++;
}

static int take_file(struct init *in, struct cli_client_file *file, struct err *err) {
    struct init_file *f = &in->files[in->file_count++];
    *f = (struct init_file){.file = file};
    if (file->bad)
        return 0;
    f->masked = cli_client_file_new(file->client, file->path, file->members, file->projects);
    cli_client_file_mask(file, &f->masked->text);
    if (cli_client_file_read(f->masked, err) < 0 || f->masked->count != file->count)
        return err_wrap(err, "`%s` cannot be shown without its secrets", file->path);
    f->found = arena_array(&in->arena, struct init_found, file->count + 1);
    for (size_t i = 0; i < file->count; i++)
        take_server(in, f, i);
    return 0;
}

int cli_init_find(struct init *in, struct err *err) {
    const struct cli_client *only = in->opt->client ? cli_client_find(in->opt->client, err) : NULL;
    if ((in->opt->client && !only) || read_own(in, err) < 0 || read_url(in, err) < 0 ||
        cli_clients_find(&in->clients, only, in->opt->project, err) < 0)
        return -1;
    size_t servers = 0;
    for (size_t i = 0; i < in->clients.count; i++)
        servers += in->clients.files[i]->count;
    in->files = arena_array(&in->arena, struct init_file, in->clients.count + 1);
    in->targets = arena_array(&in->arena, struct init_target, servers + 1);
    for (size_t i = 0; i < in->clients.count; i++)
        if (take_file(in, in->clients.files[i], err) < 0)
            return -1;
    return 0;
}

/* ---- tools ---- */

static bool find_package(const struct risk_supply *supply, struct risk_published *ret_server) {
    size_t i;
    if (!supply->package.len ||
        !risk_catalogue_find_server(supply->registry, supply->package, supply->version, &i))
        return false;
    risk_catalogue_server(i, ret_server);
    return true;
}

/* Stands for the tools with a list of names; the survey then adds what is known of each. */
static bool list_from_catalogue(struct cli_asked *a) {
    struct risk_published known_server;
    struct err err;
    struct emit e;
    if (!find_package(&a->server->supply, &known_server))
        return false;
    buf_reset(&a->list.text);
    emit_init(&e, &a->list.text);
    emit_object(&e);
    emit_key(&e, "tools");
    emit_array(&e);
    for (size_t i = 0; i < known_server.tools; i++) {
        struct risk_known known;
        risk_catalogue_get(known_server.first + i, &known);
        emit_object(&e);
        emit_key(&e, "name");
        emit_str(&e, known.tool);
        emit_object_end(&e);
    }
    emit_array_end(&e);
    emit_object_end(&e);
    a->listed = cli_toollist_parse(&a->list, a->server->name, &err) == 0;
    a->list.server = slice_str(a->server->from->name);
    return a->listed;
}

static void survey_from_catalogue(const struct cli_asked *a, struct risk_survey *s) {
    struct risk_published known_server = {0};
    find_package(&a->server->supply, &known_server);
    memset(s->by_class, 0, sizeof(s->by_class));
    s->tokens = 0;
    for (size_t i = 0; i < known_server.tools; i++) {
        struct risk_known known;
        risk_catalogue_get(known_server.first + i, &known);
        for (size_t k = 0; k < s->count; k++) {
            struct risk_entry *entry = &s->tools[k].entry;
            if (!slice_eq(entry->name, known.tool))
                continue;
            entry->report.cls = known.cls;
            entry->report.severity = risk_class_severity(known.cls);
            entry->report.confidence = known.confidence;
            entry->report.tags = known.tags;
            entry->tokens = known.tokens;
        }
    }
    for (size_t k = 0; k < s->count; k++) {
        s->by_class[s->tools[k].entry.report.cls]++;
        s->tokens += s->tools[k].entry.tokens;
    }
}

static const struct settings *known_of(const struct init_target *t) {
    return t->settings ? t->settings : t->outline;
}

int cli_init_judge(struct init *in, bool start, struct err *err) {
    struct cli_mcpconfig *c = &in->asking.config;
    const struct cli_ask_options opt = {.timeout_ms = in->opt->timeout_ms, .no_start = !start};
    c->servers = arena_array(&c->arena, struct cli_mcpserver, in->target_count + 1);
    for (size_t i = 0; i < in->target_count; i++)
        if (known_of(&in->targets[i])) {
            cli_mcpconfig_add(c, &known_of(&in->targets[i])->servers[0]);
            c->servers[c->count - 1].incomplete = !in->targets[i].settings;
        }
    if (cli_ask_found(&in->asking, &opt, err) != CLI_OK)
        return -1;
    size_t at = 0;
    for (size_t i = 0; i < in->target_count; i++) {
        struct init_target *t = &in->targets[i];
        if (!known_of(t))
            continue;
        t->asked = &in->asking.asked[at++];
        if (!t->asked->listed)
            t->from_catalogue = list_from_catalogue(t->asked);
    }
    in->surveys = arena_array(&in->arena, struct risk_survey, in->asking.count + 1);
    cli_scan_survey(&in->asking, NULL, in->surveys);
    for (size_t i = 0; i < in->target_count; i++) {
        struct init_target *t = &in->targets[i];
        if (!t->asked || !t->asked->listed)
            continue;
        struct risk_survey *survey = &in->surveys[t->asked - in->asking.asked];
        if (t->from_catalogue)
            survey_from_catalogue(t->asked, survey);
        t->survey = survey;
    }
    return 0;
}
