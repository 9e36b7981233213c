#include "risk/trust.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/file.h"
#include "risk/catalogue_place.h"
#include "risk/limits.h"
#include "wire/emit.h"
#include "wire/tape.h"

#include <errno.h>

#define FILE_NAME "trusted-names.jsonl"

static bool trust_path(char ret_path[PATH_MAX]) {
    char home[PATH_MAX];
    return risk_catalogue_home(home) && snprintf(ret_path, PATH_MAX, "%s/" FILE_NAME, home) < PATH_MAX;
}

static struct slice member(const struct tape *t, const char *key, struct arena *a) {
    uint32_t node = tape_is(t, 0, TAPE_OBJECT) ? tape_get_str(t, 0, key) : 0;
    return node && tape_is(t, node, TAPE_STRING) ? arena_dup(a, tape_text(t, node, a)) : (struct slice){0};
}

static bool parse_line(struct slice line, struct tape *t, struct arena *a, struct risk_trust *ret) {
    if (tape_parse(t, line, NULL) != TAPE_OK || !tape_is(t, 0, TAPE_OBJECT))
        return false;
    uint32_t undone = tape_get_str(t, 0, "undone");
    *ret = (struct risk_trust){.name = member(t, "name", a),
                               .by = member(t, "by", a),
                               .reason = member(t, "reason", a),
                               .at = member(t, "at", a),
                               .undone = undone && tape_is(t, undone, TAPE_TRUE)};
    return ret->name.len && risk_registry_from(member(t, "registry", a), &ret->registry);
}

int risk_trust_read(struct arena *a, struct risk_trust **ret_list, size_t *ret_count, struct err *err) {
    char path[PATH_MAX];
    bool missing = true;
    cleanup_buf struct buf text;
    buf_init(&text, RISK_TRUST_BYTES_MAX);
    cleanup_tape struct tape t;
    tape_init(&t);
    *ret_count = 0;
    *ret_list = NULL;
    if (!trust_path(path))
        return 0;
    if (io_file_read(path, &text, &missing, err) < 0)
        return missing ? 0 : -1;
    size_t lines = 0, n = 0;
    for (size_t i = 0; i < text.len; i++)
        lines += text.ptr[i] == '\n';
    struct risk_trust *list = arena_array(a, struct risk_trust, lines + 2);
    struct slice rest = arena_dup(a, buf_slice(&text)), line;
    while (rest.len) {
        slice_cut(&rest, '\n', &line);
        if (line.len && !parse_line(line, &t, a, &list[n++]))
            return err_set(err, "`%s`: line %zu is not a decision", path, n);
    }
    *ret_list = list;
    *ret_count = n;
    return 0;
}

bool risk_trust_has(enum risk_registry registry, struct slice name) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct risk_trust *list;
    size_t count;
    struct err err;
    bool trusted = false;
    if (risk_trust_read(&a, &list, &count, &err) < 0) {
        log_warn("%s: no name is trusted", err.text);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (list[i].registry == registry && slice_eq(list[i].name, name))
            trusted = !list[i].undone;
    return trusted;
}

static void put(struct emit *e, const char *key, struct slice text) {
    emit_key(e, key);
    emit_str(e, text);
}

int risk_trust_add(const struct risk_trust *decision, struct err *err) {
    char path[PATH_MAX], home[PATH_MAX];
    struct emit e;
    bool missing = true;
    cleanup_buf struct buf text;
    buf_init(&text, RISK_TRUST_BYTES_MAX);
    if (!trust_path(path) || !risk_catalogue_home(home))
        return err_set(err, "there is no home to record it in");
    if (io_make_dir(home, err) < 0)
        return -1;
    cleanup_fd int guard = io_file_guard(path);
    if (guard < 0)
        return err_set(err, "`%s` cannot be locked: %s", path, strerror(errno));
    if (io_file_read(path, &text, &missing, err) < 0 && !missing)
        return -1;
    emit_init(&e, &text);
    emit_object(&e);
    put(&e, "registry", slice_str(risk_registry_name(decision->registry)));
    put(&e, "name", decision->name);
    put(&e, "at", decision->at);
    put(&e, "by", decision->by);
    put(&e, "reason", decision->reason);
    if (decision->undone) {
        emit_key(&e, "undone");
        emit_bool(&e, true);
    }
    emit_object_end(&e);
    buf_put_char(&text, '\n');
    if (text.full)
        return err_set(err, "`%s` is full", path);
    return io_file_replace(path, buf_slice(&text), 0600, err);
}
