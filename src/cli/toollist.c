#include "cli/toollist.h"

#include "base/mem.h"
#include "io/file.h"

#include <string.h>

void cli_toollist_init(struct cli_toollist *list) {
    memset(list, 0, sizeof *list);
    buf_init(&list->text, CLI_TOOLLIST_BYTES_MAX);
    tape_init(&list->tape);
    arena_init(&list->arena);
}

void cli_toollist_free(struct cli_toollist *list) {
    buf_free(&list->text);
    tape_free(&list->tape);
    arena_free(&list->arena);
}

static struct slice text_at(struct cli_toollist *list, uint32_t node) {
    return node ? tape_text(&list->tape, node, &list->arena) : (struct slice){0};
}

int cli_toollist_parse(struct cli_toollist *list, const char *name, struct err *err) {
    struct tape *t = &list->tape;
    size_t at = 0;
    enum tape_fault fault = tape_parse(t, buf_slice(&list->text), &at);
    if (fault)
        return err_set(err, "byte %zu: %s", at, tape_fault_text(fault));
    uint32_t root = 0;
    if (tape_is(t, 0, TAPE_OBJECT)) {
        uint32_t result = tape_get_str(t, 0, "result");
        root = result && tape_is(t, result, TAPE_OBJECT) ? result : 0;
        list->tools = tape_get_str(t, root, "tools");
        list->skills = tape_get_str(t, root, "skills");
        list->package = text_at(list, tape_get_str(t, root, "package"));
        risk_registry_from(text_at(list, tape_get_str(t, root, "registry")), &list->registry);
        list->version = text_at(list, tape_get_str(t, root, "version"));
        list->instructions = text_at(list, tape_get_str(t, root, "instructions"));
        list->server = text_at(list, tape_path(t, root, "serverInfo", "name", NULL));
    }
    bool array = tape_is(t, 0, TAPE_ARRAY);
    if (!array && (!list->tools || !tape_is(t, list->tools, TAPE_ARRAY)))
        return err_set(err, "no list of tools: must be an array, or an object with an array `tools`");
    if (list->skills && !tape_is(t, list->skills, TAPE_ARRAY))
        return err_set(err, "`skills` must be an array");
    if (list->package.len)
        list->server = list->package;
    if (!list->server.len)
        list->server = slice_str(name);
    return 0;
}

/* The file's name without directories and extension, for a server whose list names none. */
static const char *stem(const char *path, struct arena *a) {
    const char *slash = strrchr(path, '/');
    struct slice name = slice_str(slash ? slash + 1 : path);
    if (slice_ends(name, SLICE(".json")))
        name.len -= 5;
    return arena_dup(a, name).ptr;
}

int cli_toollist_read(struct cli_toollist *list, const char *path, struct err *err) {
    if (io_file_read(path, &list->text, NULL, err))
        return -1;
    if (cli_toollist_parse(list, stem(path, &list->arena), err))
        return err_wrap(err, "read `%s`", path);
    return 0;
}
