/* Sessions: variables that persist between runs. The sandbox parks their processes; this file maps them to
 * principals. */
#pragma once

#include "code/model.h"

struct code_session {
    struct list node;
    struct text name;
    uint64_t runs;
    uint64_t variables; /* as reported by its last run; only if the profile requests it */
    struct list history;
    uint32_t history_count;
};

struct code_history { /* one run, oldest first */
    struct list node;
    struct text code;
};

/* [A-Za-z0-9._:-]{1,64} */
bool code_session_name_ok(struct slice name);
/* Its name in the sandbox; empty for an empty one. */
struct slice code_session_key(const struct code_owner *o, struct slice name, struct arena *a);
/* May a run use this session? An existing session always has its place. */
bool code_session_allowed(struct code_owner *o, struct slice name);
void code_session_note(struct code_owner *o, struct slice name, struct slice code);
struct code_session *code_session_find(struct code_owner *o, struct slice name);
/* False if there was none. */
bool code_session_clear(struct code_owner *o, struct slice name);
/* [{"session_id","language","runs","idle_ms","busy"},...] */
void code_session_write(const struct code_owner *o, struct emit *e);
void code_sessions_free(struct code_owner *o);
