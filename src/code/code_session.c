#include "code/code_session.h"

#include "base/mem.h"

bool code_session_name_ok(struct slice name) {
    if (!name.len || name.len > CODE_SESSION_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              strchr("._:-", c)))
            return false;
    }
    return true;
}

struct slice code_session_key(const struct code_owner *o, struct slice name, struct arena *a) {
    return name.len ? arena_printf(a, "%s/%.*s", o->dir, SLICE_FMT(name)) : name;
}

struct code_session *code_session_find(struct code_owner *o, struct slice name) {
    LIST_FOR (n, &o->sessions) {
        struct code_session *s = container_of(n, struct code_session, node);
        if (slice_eq(text_slice(s->name), name))
            return s;
    }
    return NULL;
}

static void history_drop(struct code_session *s) {
    struct code_history *h = container_of(list_pop(&s->history), struct code_history, node);
    s->history_count--;
    text_free(&h->code);
    free(h);
}

static void session_free(struct code_owner *o, struct code_session *s) {
    while (s->history_count)
        history_drop(s);
    list_remove(&s->node);
    o->session_count--;
    text_free(&s->name);
    free(s);
}

void code_sessions_free(struct code_owner *o) {
    LIST_FOR_SAFE (n, next, &o->sessions) {
        session_free(o, container_of(n, struct code_session, node));
    }
}

/* The sandbox ends idle sessions; their names are removed too. */
static void forget_ended(struct code_owner *o) {
    LIST_FOR_SAFE (n, next, &o->sessions) {
        struct code_session *s = container_of(n, struct code_session, node);
        struct arena a;
        arena_init(&a);
        struct slice key = code_session_key(o, text_slice(s->name), &a);
        bool found = false;
        struct sandbox_session live;
        for (size_t at = 0; !found && sandbox_session_next(o->server->sandbox, &at, &live);)
            found = slice_eq(live.name, key);
        arena_free(&a);
        if (!found)
            session_free(o, s);
    }
}

bool code_session_allowed(struct code_owner *o, struct slice name) {
    if (code_session_find(o, name) || o->session_count < CODE_SESSIONS_MAX)
        return true;
    forget_ended(o);
    return o->session_count < CODE_SESSIONS_MAX;
}

void code_session_note(struct code_owner *o, struct slice name, struct slice code) {
    struct code_session *s = code_session_find(o, name);
    if (!s) {
        s = mem_zalloc(sizeof(*s));
        s->name = text_dup(name);
        list_init(&s->history);
        list_push(&o->sessions, &s->node);
        o->session_count++;
    }
    s->runs++;
    struct code_history *h = mem_zalloc(sizeof(*h));
    code = slice_upto(code, CODE_HISTORY_BYTES_MAX);
    h->code = text_dup(code);
    list_push(&s->history, &h->node);
    if (++s->history_count > CODE_HISTORY_MAX)
        history_drop(s);
}

bool code_session_clear(struct code_owner *o, struct slice name) {
    struct code_session *s = code_session_find(o, name);
    struct arena a;
    arena_init(&a);
    bool was_live =
        o->server->sandbox && sandbox_session_clear(o->server->sandbox, code_session_key(o, name, &a));
    arena_free(&a);
    if (s)
        session_free(o, s);
    return s || was_live;
}

void code_session_write(const struct code_owner *o, struct emit *e) {
    struct arena a;
    arena_init(&a);
    struct slice prefix = arena_printf(&a, "%s/", o->dir);
    struct sandbox_session live;
    emit_array(e);
    for (size_t at = 0; o->server->sandbox && sandbox_session_next(o->server->sandbox, &at, &live);) {
        if (!slice_starts(live.name, prefix))
            continue;
        emit_object(e);
        emit_key(e, "session_id");
        emit_str(e, slice_from(live.name, prefix.len));
        emit_key(e, "language");
        emit_cstr(e, sandbox_language_name(live.language));
        emit_key(e, "runs");
        emit_int(e, live.runs);
        emit_key(e, "idle_ms");
        emit_int(e, (int64_t)live.idle_ms);
        emit_key(e, "busy");
        emit_bool(e, live.busy);
        emit_object_end(e);
    }
    emit_array_end(e);
    arena_free(&a);
}
