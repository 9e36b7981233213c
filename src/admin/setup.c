/* Servers are added, changed and taken out in the operator's own sallyport.yaml, which keeps its comments;
 * the file is applied immediately, its version before is kept, and who did it is on record.
 *
 * A new server is not trusted: it starts with a stop of the kill switch, so that its tools can be looked at
 * and nobody can call them. Trusting it is resuming. */
#include "admin/api.h"
#include "audit/audit.h"
#include "base/clock.h"
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

struct setup {
    const char *path; /* of the settings; no link */
    struct slice before, text;
    const struct tree *servers; /* in `before`; may be NULL */
    int guard;
};

static void setup_end(struct setup *s) {
    if (s->guard >= 0)
        close(s->guard);
}
#define cleanup_setup __attribute__((cleanup(setup_end)))

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

/* Locked until setup_end(); false, and answered, when there is nothing to be written. */
static bool setup_begin(struct api_call *c, struct setup *ret) {
    struct err err = {0};
    const char *path = path_of(c);
    *ret = (struct setup){.guard = -1};
    if (!path)
        return api_error(c, 409, "this gate has no sallyport.yaml that servers could be written to"), false;
    cleanup_free char *real = realpath(path, NULL);
    ret->path = arena_dup(&c->arena, slice_str(real ? real : path)).ptr;
    ret->guard = io_file_guard(ret->path);
    if (ret->guard < 0)
        return api_error(c, 503, "the directory of the settings cannot be locked"), false;
    if (read_settings(ret->path, &c->arena, &ret->before, &ret->servers, &err) < 0)
        return api_error(c, 503, "%s", err.text), false;
    ret->text = ret->before;
    return true;
}

static const struct tree *entry_of(const struct tree *servers, struct slice name) {
    for (const struct tree *t = servers && servers->type == TREE_MAP ? servers->child : NULL; t; t = t->next)
        if (slice_eq(t->key, name))
            return t;
    return NULL;
}

/* The entry of the server that the path names, in the file; NULL, and answered, when it is not there. */
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

/* `json` empty takes the place out. False, and answered, when it cannot be done. */
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

static int keep_versions(struct api_call *c, const struct setup *s, struct slice note, struct err *err) {
    struct admin *a = c->admin;
    uint64_t now = clock_wall_ms();
    struct slice path = slice_str(s->path);
    if (!a->versions && state_versions_open(a->home, &a->versions, err) < 0)
        return -1;
    if (state_versions_add(a->versions, path, s->before, SLICE("before the console"), (struct slice){0}, now,
                           err) < 0)
        return -1;
    return state_versions_add(a->versions, path, s->text, slice_str(c->request->who->id), note, now, err);
}

/* Checked first, then written, then in force. What the gate does not take after all is written back. */
static bool setup_write(struct api_call *c, struct setup *s, const char *event, struct slice name) {
    struct core *core = c->admin->core;
    const struct core_files *files = &core->files;
    struct err err = {0};
    if (files->settings_try(files->owner, s->text, &err) < 0)
        return api_error(c, 422, "%s", err.text), false;
    struct slice note = arena_printf(&c->arena, "%s %.*s", event, SLICE_FMT(name));
    if (keep_versions(c, s, note, &err) < 0 || io_file_replace(s->path, s->text, 0600, &err) < 0)
        return api_error(c, 503, "%s", err.text), false;
    files->settings_written(files->owner);
    if (core->settings_fault) {
        struct slice why = arena_dup(&c->arena, slice_str(core->settings_fault));
        if (io_file_replace(s->path, s->before, 0600, &err) == 0)
            files->settings_written(files->owner);
        return api_error(c, 422, "%.*s", SLICE_FMT(why)), false;
    }
    api_record(c,
               (struct audit_action){.name = slice_str(event), .server = name, .text = slice_str(s->path)});
    return true;
}

/* ---- members ---- */

static struct slice value_of(const struct api_call *c, uint32_t node) {
    return tape_is(&c->body, node, TAPE_NULL) ? (struct slice){0} : tape_raw(&c->body, node);
}

/* Sets a member of the entry from the body; env and headers one name at a time, so that a client need not
 * know the others. null removes. */
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

/* What a form needs. Values of the environment and of headers may be secret: only their names. */
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
    cleanup_setup struct setup s;
    const struct tree *entry;
    if (!setup_begin(c, &s) || !(entry = own_entry(c, &s)))
        return;
    put_entry(c, entry);
    api_answer(c, 200);
}

static void answer_server(struct api_call *c, struct slice name, int status) {
    struct server *server = server_find(c->admin->core, name);
    if (server) {
        api_put_server(c, server);
    } else {
        emit_object(&c->e);
        api_put_disabled(&c->e, name, NULL);
        emit_object_end(&c->e);
    }
    api_answer(c, status);
}

static bool quarantine(struct api_call *c, struct slice name, uint64_t *ret_id) {
    struct state_stops *stops = stop_store(c->admin->core);
    struct err err = {0};
    const struct state_stop stop = {.scope = STATE_STOP_SERVER,
                                    .name = name,
                                    .reason = SLICE("new server, not trusted yet"),
                                    .by = slice_str(c->request->who->id),
                                    .at_ms = clock_wall_ms(),
                                    .untrusted = true};
    if (stops && state_stops_put(stops, &stop, ret_id, &err) == 0)
        return true;
    return api_error(c, 503, "the server cannot be held back: %s", err.text), false;
}

void api_server_create(struct api_call *c) {
    cleanup_setup struct setup s;
    struct slice name = api_member(c, "name");
    bool trusted = api_member_flag(c, "trusted");
    uint64_t stop = 0;
    struct err err = {0};
    if (!name.len || (!api_member(c, "command").len && !api_member(c, "url").len)) {
        api_error(c, 400, "a server needs a name, and a command or a url");
        return;
    }
    if (!setup_begin(c, &s))
        return;
    if (entry_of(s.servers, name) || server_find(c->admin->core, name)) {
        api_error(c, 409, "there is a server `%.*s` already", SLICE_FMT(name));
        return;
    }
    if (!set_members(c, &s, name) || (!trusted && !quarantine(c, name, &stop)))
        return;
    if (setup_write(c, &s, "server_added", name))
        answer_server(c, name, 201);
    else if (stop)
        state_stops_remove(stop_store(c->admin->core), stop, &err);
}

void api_server_update(struct api_call *c) {
    cleanup_setup struct setup s;
    if (!setup_begin(c, &s) || !own_entry(c, &s) || !set_members(c, &s, c->arg))
        return;
    if (slice_eq(s.text, s.before) || setup_write(c, &s, "server_changed", c->arg))
        answer_server(c, c->arg, 200);
}

void api_server_delete(struct api_call *c) {
    cleanup_setup struct setup s;
    const struct tree_step path[] = {{.key = SLICE("servers")}, {.key = c->arg}};
    if (!setup_begin(c, &s) || !own_entry(c, &s) || !change(c, &s, path, 2, (struct slice){0}) ||
        !setup_write(c, &s, "server_removed", c->arg))
        return;
    emit_object(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 200);
}

/* Those that the file has and the gate does not run. */
void api_put_disabled_servers(struct api_call *c) {
    struct slice text;
    const struct tree *servers = NULL;
    const char *path = path_of(c);
    if (!path || read_settings(path, &c->arena, &text, &servers, NULL) < 0 || !servers ||
        servers->type != TREE_MAP)
        return;
    for (const struct tree *t = servers->child; t; t = t->next) {
        const struct tree *disabled = tree_get(t, "disabled");
        if (!disabled || !disabled->truth || server_find(c->admin->core, t->key))
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

void api_pins_accept(struct api_call *c) {
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
    if (guard_accept(c->admin->core, server, name, &err) < 0) {
        api_error(c, 409, "%s", err.text);
        return;
    }
    api_record(c, (struct audit_action){.name = SLICE("pin_accepted"),
                                        .server = c->arg,
                                        .text = name.len ? name : SLICE("all")});
    emit_object(&c->e);
    emit_object_end(&c->e);
    api_answer(c, 200);
}

/* ---- a look before it is trusted ---- */

/* The output of `sallyport scan`: classes with their evidence, findings, an imitated package, and a starter
 * policy. */
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
