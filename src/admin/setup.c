/* Servers are added, changed and removed in the operator's own sallyport.yaml, which keeps its comments;
 * the file is applied immediately, its version before is kept, and who did it is on record.
 *
 * A new server is not trusted: it starts with a stop of the kill switch, so that its tools can be looked at
 * and nobody can call them. Trusting it is resuming. */
#include "admin/api.h"
#include "audit/audit.h"
#include "base/mem.h"
#include "call/principal.h"
#include "decision/stop.h"
#include "guard/guard.h"
#include "io/file.h"
#include "risk/survey.h"
#include "server/server.h"
#include "session/session.h"
#include "state/stops.h"
#include "state/versions.h"
#include "wire/tree_edit.h"
#include "wire/tree_parse.h"

#include <stdlib.h>
#include <unistd.h>

/* A change of the settings. The loop computes it from the current file; the thread of the stores writes
 * it. If the file was changed in the meantime, it is computed again. */
struct setup {
    const char *path; /* of the settings; links are resolved */
    struct slice before, text;
    const struct tree *servers; /* in `before`; may be NULL */
    const char *event;
    struct slice name, by, note;
    int status; /* of the response */
    void (*again)(struct api_call *c);
    uint32_t tries;
    bool moved;     /* the file was changed in the meantime */
    bool untrusted; /* a new server: it starts with a stop */
    uint64_t stop;
    struct stops_copy *stops; /* after the change; NULL: unchanged */
    struct slice why;         /* the gate rejects the settings */
};

/* ---- the file ---- */

static const char *path_of(const struct api_call *c) {
    const struct core_files *files = &c->admin->core->files;
    return files->settings_path ? files->settings_path(files->owner) : NULL;
}

static int read_settings(const char *path, struct arena *a, struct slice *ret_text,
                         const struct tree **ret_servers, struct err *err) {
    cleanup_buf struct buf text;
    const struct tree *root = NULL;
    buf_init(&text, ADMIN_BODY_MAX);
    if (io_file_read(path, &text, NULL, err) < 0)
        return -1;
    *ret_text = arena_dup(a, buf_slice(&text));
    if (tree_parse(*ret_text, a, &root, err) < 0)
        return err_wrap(err, "%s", path);
    *ret_servers = tree_get(root, "servers");
    return 0;
}

/* Responds with an error and returns NULL if there is no file to write to. */
static struct setup *setup_begin(struct api_call *c, void (*again)(struct api_call *c)) {
    const struct setup *last = c->what;
    struct setup *s = c->what = arena_new(&c->arena, struct setup);
    struct err err = {0};
    const char *path = path_of(c);
    if (!path)
        return api_error(c, 409, "this gate has no sallyport.yaml that servers could be written to"), NULL;
    cleanup_free char *real = realpath(path, NULL);
    s->path = arena_dup(&c->arena, slice_str(real ? real : path)).ptr;
    s->again = again;
    s->tries = last ? last->tries + 1 : 0;
    if (read_settings(s->path, &c->arena, &s->before, &s->servers, &err) < 0)
        return api_error(c, 503, "%s", err.text), NULL;
    s->text = s->before;
    return s;
}

static const struct tree *entry_of(const struct tree *servers, struct slice name) {
    for (const struct tree *t = servers && servers->type == TREE_MAP ? servers->child : NULL; t; t = t->next)
        if (slice_eq(t->key, name))
            return t;
    return NULL;
}

/* The entry in the file of the server that the path names. Responds with an error and returns NULL if it
 * is missing. */
static const struct tree *own_entry(struct api_call *c, const struct setup *s) {
    const struct tree *entry = entry_of(s->servers, c->arg);
    if (entry)
        return entry;
    if (server_find(c->admin->core, c->arg))
        api_error(c, 409, "server `%.*s` is not in `%s`: change it where it is defined", SLICE_FMT(c->arg),
                  s->path);
    else
        api_error(c, 404, "no server `%.*s`", SLICE_FMT(c->arg));
    return NULL;
}

/* An empty `json` removes the entry. Responds with an error and returns false if it fails. */
static bool change(struct api_call *c, struct setup *s, const struct tree_step *path, size_t depth,
                   struct slice json) {
    struct tree_edit edit = {.path = path, .depth = depth};
    struct err err = {0};
    cleanup_buf struct buf out;
    buf_init(&out, ADMIN_BODY_MAX);
    if ((json.len && tree_parse_json(json, &c->arena, &edit.value, &err) < 0) ||
        tree_edit(s->text, &edit, &out, &err) < 0)
        return api_error(c, 422, "%s", err.text), false;
    s->text = arena_dup(&c->arena, buf_slice(&out));
    return true;
}

/* ---- writing ---- */

static int keep_versions(struct api_call *c, const struct setup *s) {
    struct state_versions *versions = api_store_versions(c);
    uint64_t now = c->now_ms;
    struct slice path = slice_str(s->path);
    if (!versions || state_versions_add(versions, path, s->before, SLICE("before the console"),
                                        (struct slice){0}, now, &c->err) < 0)
        return -1;
    return state_versions_add(versions, path, s->text, s->by, s->note, now, &c->err);
}

static int quarantine(struct api_call *c, struct setup *s) {
    struct state_stops *stops = s->untrusted ? api_store_stops(c) : NULL;
    const struct state_stop stop = {.scope = STATE_STOP_SERVER,
                                    .name = s->name,
                                    .reason = SLICE("new server, not trusted yet"),
                                    .by = s->by,
                                    .at_ms = c->now_ms,
                                    .untrusted = true};
    if (!s->untrusted)
        return 0;
    if (!stops || state_stops_put(stops, &stop, &s->stop, &c->err) < 0)
        return err_wrap(&c->err, "the server cannot be put on hold");
    s->stops = state_stops_snapshot(stops);
    return 0;
}

static void quarantine_end(struct api_call *c, struct setup *s) {
    struct state_stops *stops = s->stop ? api_store_stops(c) : NULL;
    if (stops && state_stops_remove(stops, s->stop, NULL) >= 0)
        s->stops = state_stops_snapshot(stops);
}

/* Replaces `from` by `to`, unless the file has changed. */
static int replace(struct api_call *c, struct setup *s, struct slice from, struct slice to) {
    cleanup_buf struct buf text;
    cleanup_fd int guard = io_file_guard(s->path);
    buf_init(&text, ADMIN_BODY_MAX);
    if (guard < 0)
        return err_set(&c->err, "the directory of the settings cannot be locked");
    if (io_file_read(s->path, &text, NULL, &c->err) < 0)
        return -1;
    s->moved = !slice_eq(buf_slice(&text), from);
    return s->moved ? 0 : io_file_replace(s->path, to, 0600, &c->err);
}

/* The stop is set before the server can be called. */
static void run_write(struct api_call *c) {
    struct setup *s = c->what;
    bool failed = quarantine(c, s) < 0 || keep_versions(c, s) < 0 || replace(c, s, s->before, s->text) < 0;
    if (failed || s->moved)
        quarantine_end(c, s);
    if (failed)
        s->why = arena_dup(&c->arena, slice_str(c->err.text));
    c->fault = 0; /* answered in on_written(), because stops may have changed */
}

static void take_stops(struct api_call *c, struct setup *s) {
    if (s->stops)
        state_stops_take(stop_store(c->admin->core), steal(s->stops));
}

static void run_back(struct api_call *c) {
    struct setup *s = c->what;
    replace(c, s, s->text, s->before);
    quarantine_end(c, s);
    c->fault = 0;
}

static void on_back(struct api_call *c) {
    struct setup *s = c->what;
    const struct core_files *files = &c->admin->core->files;
    take_stops(c, s);
    if (!c->admin->closing)
        files->settings_written(files->owner);
    api_error(c, 422, "%.*s", SLICE_FMT(s->why));
}

static void answer_server(struct api_call *c, struct slice name, int status);

/* Applies the settings. If the gate rejects them, writes the old text back. */
static void on_written(struct api_call *c) {
    struct setup *s = c->what;
    struct core *core = c->admin->core;
    take_stops(c, s);
    if (s->why.len) {
        api_error(c, 503, "%.*s", SLICE_FMT(s->why));
        return;
    }
    if (s->moved && s->tries >= ADMIN_SETUP_TRIES_MAX) {
        api_error(c, 409, "the settings are being changed by someone else: try again");
        return;
    }
    if (s->moved) {
        s->again(c);
        return;
    }
    if (!c->admin->closing)
        core->files.settings_written(core->files.owner);
    if (core->settings_fault) {
        s->why = arena_dup(&c->arena, slice_str(core->settings_fault));
        api_store(c, run_back, on_back);
        return;
    }
    api_record(
        c, (struct audit_action){.name = slice_str(s->event), .server = s->name, .text = slice_str(s->path)});
    answer_server(c, s->name, s->status);
}

/* Validates, then writes, then applies. */
static void setup_write(struct api_call *c, struct setup *s, const char *event, struct slice name,
                        int status) {
    const struct core_files *files = &c->admin->core->files;
    struct err err = {0};
    if (files->settings_try(files->owner, s->text, &err) < 0) {
        api_error(c, 422, "%s", err.text);
        return;
    }
    s->event = event;
    s->name = name;
    s->status = status;
    s->by = arena_dup(&c->arena, slice_str(c->request->who->id));
    s->note = arena_printf(&c->arena, "%s %.*s", event, SLICE_FMT(name));
    api_store(c, run_write, on_written);
}

/* ---- members ---- */

static struct slice value_of(const struct api_call *c, uint32_t node) {
    return tape_is(&c->body, node, TAPE_NULL) ? (struct slice){0} : tape_raw(&c->body, node);
}

/* Sets a member of the entry from the body. env and headers are set name by name, so that a client need
 * not know the others. null removes. */
static bool set_member(struct api_call *c, struct setup *s, struct slice name, struct slice key,
                       uint32_t value) {
    struct tree_step path[] = {{.key = SLICE("servers")}, {.key = name}, {.key = key}, {{0}, 0}};
    bool by_name =
        (slice_is(key, "env") || slice_is(key, "headers")) && tape_is(&c->body, value, TAPE_OBJECT);
    if (!by_name)
        return change(c, s, path, 3, value_of(c, value));
    TAPE_FOR_MEMBER(&c->body, value, k) {
        path[3].key = tape_text(&c->body, k, &c->arena);
        if (!change(c, s, path, 4, value_of(c, k + 1)))
            return false;
    }
    return true;
}

static bool set_members(struct api_call *c, struct setup *s, struct slice name) {
    TAPE_FOR_MEMBER(&c->body, 0, k) {
        struct slice key = tape_text(&c->body, k, &c->arena);
        if (slice_is(key, "name") || slice_is(key, "trusted"))
            continue;
        if (!set_member(c, s, name, key, k + 1))
            return false;
    }
    return true;
}

/* What a form needs. Values of the environment and of headers may be secret, so only their names are
 * shown. */
static void put_entry(struct api_call *c, const struct tree *entry) {
    struct emit *e = &c->e;
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, entry->key);
    for (const struct tree *t = entry->child; t; t = t->next) {
        emit_key_slice(e, t->key);
        if (!slice_is(t->key, "env") && !slice_is(t->key, "headers")) {
            tree_json(t, e);
            continue;
        }
        emit_array(e);
        for (const struct tree *one = t->child; one; one = one->next)
            emit_str(e, one->key);
        emit_array_end(e);
    }
    emit_object_end(e);
}

/* ---- requests ---- */

void api_server_settings(struct api_call *c) {
    const struct setup *s = setup_begin(c, NULL);
    const struct tree *entry = s ? own_entry(c, s) : NULL;
    if (!entry)
        return;
    put_entry(c, entry);
    api_answer(c, 200);
}

static void answer_server(struct api_call *c, struct slice name, int status) {
    struct server *server = server_find(c->admin->core, name);
    if (!status) { /* the server was removed */
        emit_object(&c->e);
        emit_object_end(&c->e);
    } else if (server) {
        api_put_server(c, server);
    } else {
        emit_object(&c->e);
        api_put_disabled(&c->e, name, NULL);
        emit_object_end(&c->e);
    }
    api_answer(c, status ? status : 200);
}

void api_server_create(struct api_call *c) {
    struct slice name = api_member(c, "name");
    if (!name.len || (!api_member(c, "command").len && !api_member(c, "url").len)) {
        api_error(c, 400, "a server needs a name, and a command or a url");
        return;
    }
    struct setup *s = setup_begin(c, api_server_create);
    if (!s)
        return;
    if (entry_of(s->servers, name) || server_find(c->admin->core, name)) {
        api_error(c, 409, "there is a server `%.*s` already", SLICE_FMT(name));
        return;
    }
    s->untrusted = !api_member_flag(c, "trusted");
    if (s->untrusted && !stop_store(c->admin->core))
        api_error(c, 503, "the server cannot be put on hold");
    else if (set_members(c, s, name))
        setup_write(c, s, "server_added", name, 201);
}

void api_server_update(struct api_call *c) {
    if (tape_get_str(&c->body, 0, "name") || tape_get_str(&c->body, 0, "trusted")) {
        api_error(c, 400, "a server keeps its name; DELETE /api/v1/stops/{id} trusts it");
        return;
    }
    struct setup *s = setup_begin(c, api_server_update);
    if (!s || !own_entry(c, s) || !set_members(c, s, c->arg))
        return;
    if (slice_eq(s->text, s->before))
        answer_server(c, c->arg, 200);
    else
        setup_write(c, s, "server_changed", c->arg, 200);
}

void api_server_delete(struct api_call *c) {
    struct setup *s = setup_begin(c, api_server_delete);
    const struct tree_step path[] = {{.key = SLICE("servers")}, {.key = c->arg}};
    if (s && own_entry(c, s) && change(c, s, path, 2, (struct slice){0}))
        setup_write(c, s, "server_removed", c->arg, 0);
}

/* Servers in the file that the gate does not run. */
void api_put_disabled_servers(struct api_call *c, struct api_page *page) {
    struct slice text;
    const struct tree *servers = NULL;
    const char *path = path_of(c);
    if (!path || read_settings(path, &c->arena, &text, &servers, NULL) < 0 || !servers ||
        servers->type != TREE_MAP)
        return;
    for (const struct tree *t = servers->child; t; t = t->next) {
        const struct tree *disabled = tree_get(t, "disabled");
        if (!disabled || !disabled->truth || server_find(c->admin->core, t->key) ||
            !api_page_takes(page, t->key))
            continue;
        emit_object(&c->e);
        api_put_disabled(&c->e, t->key, t);
        emit_object_end(&c->e);
    }
}

void api_server_restart(struct api_call *c) {
    struct core *core = c->admin->core;
    struct server *server = server_find(core, c->arg);
    if (!server || (!server->up.argv && !server->up.url)) {
        api_error(c, server ? 409 : 404,
                  server ? "the built-in server runs inside the gate" : "no such server");
        return;
    }
    session_restart_server(core, server);
    if (!c->request->relayed) /* on record once, however many workers restart it */
        api_record(c, (struct audit_action){.name = SLICE("server_restarted"), .server = c->arg});
    core->tools_changed(core);
    answer_server(c, c->arg, 200);
}

void api_server_log(struct api_call *c) {
    const struct server *server = server_find(c->admin->core, c->arg);
    if (!server) {
        api_error(c, 404, "no such server");
        return;
    }
    struct slice rest = buf_slice(&server->log), line, at;
    emit_array(&c->e);
    while (rest.len) {
        slice_cut(&rest, '\n', &line);
        slice_cut(&line, ' ', &at);
        emit_object(&c->e);
        emit_key(&c->e, "time");
        emit_str(&c->e, at);
        emit_key(&c->e, "text");
        emit_str(&c->e, line);
        emit_object_end(&c->e);
    }
    emit_array_end(&c->e);
    api_answer(c, 200);
}

/* ---- pins ---- */

static void put_difference(void *ctx, const struct risk_difference *d) {
    struct emit *e = ctx;
    emit_object(e);
    emit_key(e, risk_pin_kind_name(d->kind));
    emit_str(e, d->name);
    emit_key(e, "state");
    emit_cstr(e, d->state);
    emit_key(e, "diff");
    emit_str(e, d->diff);
    emit_object_end(e);
}

void api_pins(struct api_call *c) {
    const struct server *server = server_find(c->admin->core, c->arg);
    struct err err = {0};
    if (!server) {
        api_error(c, 404, "no such server");
        return;
    }
    emit_array(&c->e);
    if (guard_diff(c->admin->core, server, put_difference, &c->e, &err) < 0) {
        api_error(c, 409, "%s", err.text);
        return;
    }
    emit_array_end(&c->e);
    api_answer(c, 200);
}

struct accepting {
    struct pins_change *change;
    struct slice name;
};

static void run_accept(struct api_call *c) {
    const struct accepting *w = c->what;
    api_store_failed(c, 409, guard_accept_write(w->change, &c->arena, &c->err) < 0);
}

static void on_accepted(struct api_call *c) {
    const struct accepting *w = c->what;
    guard_accept_done(c->admin->core, w->change);
    api_record(c, (struct audit_action){.name = SLICE("pin_accepted"),
                                        .server = c->arg,
                                        .text = w->name.len ? w->name : SLICE("all")});
    emit_object(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 200);
}

void api_pins_accept(struct api_call *c) {
    struct accepting *w = c->what = arena_new(&c->arena, struct accepting);
    struct server *server = server_find(c->admin->core, c->arg);
    struct slice tool = api_member(c, "tool"), skill = api_member(c, "skill"), name = tool.len ? tool : skill;
    struct err err = {0};
    if (!server) {
        api_error(c, 404, "no such server");
        return;
    }
    if (tool.len && skill.len) {
        api_error(c, 400, "name a tool or a skill, not both");
        return;
    }
    w->name = name;
    w->change = guard_accept(c->admin->core, server, name, &c->arena, &err);
    if (w->change)
        api_store(c, run_accept, on_accepted);
    else
        api_error(c, 409, "%s", err.text);
}

/* ---- inspection before a server is trusted ---- */

/* The output of `sallyport scan`: classes with their evidence, findings, an imitated package, and a
 * starter policy. */
void api_server_survey(struct api_call *c) {
    const struct server *server = server_find(c->admin->core, c->arg);
    cleanup_tape struct tape t;
    cleanup_buf struct buf tools, policy;
    struct risk_survey survey;
    struct risk_lists lists;
    tape_init(&t);
    buf_init(&tools, ADMIN_OUT_MAX);
    buf_init(&policy, RISK_POLICY_BYTES_MAX);
    if (!server || !server->tools.loaded ||
        !guard_definitions(c->admin->core, server, &t, &c->arena, &lists)) {
        api_error(c, server ? 409 : 404,
                  server ? "the server's tools are not known yet, or too large" : "no such server");
        return;
    }
    const struct risk_survey_input in = {.t = &t, .tools = lists.tools, .server = c->arg};
    risk_survey_run(&in, &c->arena, &survey);
    risk_survey_json(&survey, &c->arena, &tools);
    emit_object(&c->e);
    emit_key(&c->e, "tools");
    emit_raw(&c->e, slice_trim(buf_slice(&tools)));
    emit_key(&c->e, "poisoned");
    emit_int(&c->e, (int64_t)survey.poisoned);
    emit_key(&c->e, "tokens");
    emit_int(&c->e, (int64_t)survey.tokens);
    if (risk_survey_policy(&survey, RISK_DIALECT_INTERCEPT, &c->arena, &policy)) {
        emit_key(&c->e, "starter");
        emit_str(&c->e, buf_slice(&policy));
    }
    emit_object_end(&c->e);
    api_answer(c, 200);
}
