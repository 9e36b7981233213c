/* toml_suite DIR: reads every file of toml-test that counts for TOML 1.0 (DIR/files-toml-1.0.0) and prints
 * one line for each that did not come out right:
 *
 *   taken PATH           an invalid file that was read
 *   refused PATH: WHY    a valid one that was not
 *   other PATH           a valid one that was read as something else than the suite's JSON says
 *
 * and at the end how many there were. tests/e2e/toml.test.mjs knows where the suite is and what may be
 * refused. */
#include "wire/toml.h"

#include "base/mem.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what was read, as a tree ---- */

/* The member, in the last element where it is an array of tables; an object where there is none. */
static json_t *descend(json_t *at, struct slice key) {
    json_t *next = json_object_getn(at, key.ptr, key.len);
    if (!next) {
        next = json_object();
        json_object_setn_new(at, key.ptr, key.len, next);
    }
    return json_is_array(next) ? json_array_get(next, json_array_size(next) - 1) : next;
}

/* JSON null stands for a value that has no JSON. */
static json_t *value_of(const struct toml *t, const struct toml_item *item, struct arena *a) {
    cleanup_buf struct buf out;
    buf_init(&out, TREE_BYTES_MAX);
    if (item->type == TOML_TABLE)
        return json_object(); /* its pairs are items of their own */
    if (!toml_json(t, item, a, &out))
        return json_null();
    json_t *value = json_loadb(out.ptr, out.len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    return value ? value : json_string("not JSON");
}

static json_t *tree_of(const struct toml *t, struct arena *a) {
    json_t *root = json_object(), *table = root;
    uint32_t table_depth = 0;
    for (size_t i = 0; i < t->count; i++) {
        const struct toml_item *item = &t->items[i];
        json_t *at = item->kind == TOML_PAIR ? table : root;
        for (uint32_t k = item->kind == TOML_PAIR ? table_depth : 0; k + 1 < item->depth; k++)
            at = descend(at, item->path[k]);
        const struct slice last = item->path[item->depth - 1];
        if (item->kind == TOML_PAIR) {
            json_object_setn_new(at, last.ptr, last.len, value_of(t, item, a));
            continue;
        }
        if (item->kind == TOML_HEADER_ARRAY) {
            json_t *list = json_object_getn(at, last.ptr, last.len);
            if (!list)
                json_object_setn_new(at, last.ptr, last.len, list = json_array());
            json_array_append_new(list, json_object());
        }
        table = descend(at, last);
        table_depth = item->depth;
    }
    return root;
}

/* ---- compared with what the suite says ---- */

static bool same_scalar(const char *type, const char *text, const json_t *got) {
    if (json_is_null(got)) /* times, infinities, texts with U+0000 */
        return !strstr("bool integer", type);
    if (strcmp(type, "string") == 0)
        return json_is_string(got) && strcmp(text, json_string_value(got)) == 0;
    if (strcmp(type, "bool") == 0)
        return json_is_boolean(got) && (text[0] == 't') == json_is_true(got);
    if (strcmp(type, "integer") == 0)
        return json_is_integer(got) && strtoll(text, NULL, 10) == json_integer_value(got);
    return json_is_number(got) &&
           fabs(strtod(text, NULL) - json_number_value(got)) <= fabs(strtod(text, NULL)) * 1e-15;
}

static bool same(const json_t *want, const json_t *got) {
    const json_t *type = json_object_get(want, "type"), *text = json_object_get(want, "value");
    if (json_is_string(type) && json_is_string(text) && json_object_size(want) == 2)
        return same_scalar(json_string_value(type), json_string_value(text), got);
    if (json_is_null(got)) /* a list of such, or an inline table with dotted keys in a list */
        return true;
    if (json_typeof(want) != json_typeof(got))
        return false;
    if (json_is_array(want)) {
        size_t count = json_array_size(want);
        for (size_t i = 0; i < count; i++)
            if (!same(json_array_get(want, i), json_array_get(got, i)))
                return false;
        return count == json_array_size(got);
    }
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)want, key, value) {
        const json_t *mine = json_object_get(got, key);
        if (!mine || !same(value, mine))
            return false;
    }
    return json_object_size(want) == json_object_size(got);
}

/* ---- files ---- */

static void read_whole(const char *path, struct buf *out) {
    FILE *file = fopen(path, "r");
    char part[4096];
    if (!file) {
        fprintf(stderr, "toml_suite: %s: %s\n", path, strerror(errno));
        exit(2);
    }
    for (size_t n; (n = fread(part, 1, sizeof(part), file)) > 0;)
        buf_put(out, part, n);
    fclose(file);
}

/* True when the file came out right. */
static bool try_file(const char *dir, const char *name) {
    cleanup_arena struct arena a;
    cleanup_buf struct buf text;
    struct toml toml;
    struct err err;
    arena_init(&a);
    buf_init(&text, TREE_BYTES_MAX);
    read_whole(arena_printf(&a, "%s/%s", dir, name).ptr, &text);
    const bool valid = strncmp(name, "valid/", 6) == 0,
               taken = toml_parse(buf_slice(&text), &a, &toml, &err) == 0;
    if (valid && !taken)
        printf("refused %s: %s\n", name, err.text);
    else if (taken && !valid)
        printf("taken %s\n", name);
    if (!valid || !taken)
        return valid == taken;
    const int stem = (int)strlen(name) - (int)strlen(".toml");
    json_t *want =
        json_load_file(arena_printf(&a, "%s/%.*s.json", dir, stem, name).ptr, JSON_ALLOW_NUL, NULL);
    json_t *got = tree_of(&toml, &a);
    const bool right = want && same(want, got);
    if (!right)
        printf("other %s\n", name);
    json_decref(want);
    json_decref(got);
    return right;
}

int main(int argc, char **argv) {
    cleanup_arena struct arena a;
    cleanup_buf struct buf list;
    size_t files = 0, right = 0;
    if (argc != 2) {
        fprintf(stderr, "usage: toml_suite DIR\n");
        return 2;
    }
    arena_init(&a);
    buf_init(&list, TREE_BYTES_MAX);
    read_whole(arena_printf(&a, "%s/files-toml-1.0.0", argv[1]).ptr, &list);
    struct slice rest = buf_slice(&list), line;
    for (bool more = true; more;) {
        more = slice_cut(&rest, '\n', &line);
        if (!slice_ends(line, SLICE(".toml")))
            continue;
        files++;
        right += try_file(argv[1], arena_dup(&a, line).ptr);
    }
    printf("%zu of %zu\n", right, files);
    return 0;
}
