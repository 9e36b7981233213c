/* Bodies of requests, checked by the schemas of the OpenAPI document: a member of the wrong type, or with a
 * name that nobody reads, would otherwise count as absent, and an absent member can widen what is done
 * (dry_run of a call, tool of an acceptance, expires_in_seconds of a grant). */
#include "admin/api.h"
#include "base/mem.h"
#include "base/nearest.h"
#include "policy/schema.h"

#define BODY_MEMBERS_MAX 16 /* of one schema */

static void schema_cleanup(struct policy_schema **s) { policy_schema_free(*s); }

/* The name that is closest to one that the schema does not have, or NULL. */
static const char *nearest_member(struct arena *a, const struct tape *t, uint32_t properties,
                                  struct slice name) {
    const char *names[BODY_MEMBERS_MAX + 1] = {NULL};
    size_t count = 0;
    TAPE_FOR_MEMBER(t, properties, k)
    if (count < BODY_MEMBERS_MAX)
        names[count++] = arena_dup(a, tape_text(t, k, a)).ptr;
    return nearest_word(name, names);
}

/* Answers with what is wrong. */
static void refuse(struct api_call *c, const struct tape *t, uint32_t schema,
                   const struct policy_schema_failure *why) {
    struct slice at = why->pointer.len ? slice_from(why->pointer, 1) : (struct slice){0};
    uint32_t properties = tape_get_str(t, schema, "properties"),
             required = tape_get_str(t, schema, "required");
    uint32_t property = properties && at.len ? tape_get(t, properties, at) : 0;
    bool listed = strcmp(why->keyword, "enum") == 0 || strcmp(why->keyword, "type") == 0;
    uint32_t allowed = property && listed ? tape_get_str(t, property, why->keyword) : 0;
    if (!at.len && required && strcmp(why->keyword, "required") == 0) {
        TAPE_FOR_ELEM(t, required, i) {
            struct slice name = tape_text(t, i, &c->arena);
            if (!tape_get(&c->body, 0, name)) {
                api_error(c, 400, "%.*s is required", SLICE_FMT(name));
                return;
            }
        }
    }
    if (properties && at.len && !property && slice_find(at, '/') < 0) {
        const char *near = nearest_member(&c->arena, t, properties, at);
        api_error(c, 400, "unknown member `%.*s`%s%s%s", SLICE_FMT(at), near ? ", did you mean `" : "",
                  near ? near : "", near ? "`?" : "");
    } else if (allowed && strcmp(why->keyword, "type") == 0) {
        api_error(c, 400, "%.*s must be of the type %.*s", SLICE_FMT(at),
                  SLICE_FMT(tape_text(t, allowed, &c->arena)));
    } else if (allowed) {
        api_error(c, 400, "%.*s must be one of %.*s", SLICE_FMT(at), SLICE_FMT(tape_raw(t, allowed)));
    } else {
        api_error(c, 400, "%.*s is not what the schema %s says (%s)",
                  SLICE_FMT(at.len ? at : SLICE("the body")), c->route->body, why->keyword);
    }
}

bool api_body_check(struct api_call *c) {
    __attribute__((cleanup(schema_cleanup))) struct policy_schema *schema = NULL;
    cleanup_tape struct tape t;
    struct policy_schema_failure why = {.keyword = ""};
    struct err err = {0};
    tape_init(&t);
    uint32_t one =
        tape_parse(&t, slice_str(api_schemas), NULL) == TAPE_OK ? tape_get_str(&t, 0, c->route->body) : 0;
    if (!one || policy_schema_compile(tape_raw(&t, one), &schema, &err) < 0)
        return api_error(c, 500, "the schema %s cannot be read: %s", c->route->body, err.text), false;
    switch (policy_schema_check(schema, &c->body, 0, &c->arena, &why)) {
    case POLICY_SCHEMA_VALID:
        return true;
    case POLICY_SCHEMA_INVALID:
    case POLICY_SCHEMA_CLASH:
        refuse(c, &t, one, &why);
        return false;
    case POLICY_SCHEMA_FAULT:
        break;
    }
    return api_error(c, 400, "the body is nested too deeply or too large to be checked"), false;
}
