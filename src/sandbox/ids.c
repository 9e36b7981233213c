/* Runs in the helper. Only root of a user namespace that has these ids can give them to others. */
#include "sandbox/ids.h"

#include "base/mem.h"
#include "base/slice.h"
#include "sandbox/confine.h"
#include "sandbox/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOBODY_FIRST 65533u /* the fall-back of a zygote, nobody, and the id that means none */
#define NOBODY_LAST 65535u
#define TEXT_MAX 64

/* Tables of ids that are in use. */
static const struct {
    const char *path;
    size_t at;    /* field of the first id */
    bool counted; /* the next field is their number */
} tables[] = {
    {"/etc/passwd", 2, false},
    {"/etc/group", 2, false},
    {"/etc/subuid", 1, true},
    {"/etc/subgid", 1, true},
};

static bool overlap(const struct ids *ids, uint64_t first, uint64_t count) {
    return count && first < (uint64_t)ids->first + ids->count && ids->first < first + count;
}

static bool field_number(struct slice line, size_t at, uint64_t *ret) {
    struct slice field = {0};
    bool more = true;
    for (size_t i = 0; i <= at; i++) {
        if (!more)
            return false;
        more = slice_cut(&line, ':', &field);
    }
    char text[TEXT_MAX], *end;
    snprintf(text, sizeof(text), "%.*s", SLICE_FMT(slice_trim(field)));
    *ret = strtoull(text, &end, 10);
    return end != text && *end == '\0';
}

static int check_table(const struct ids *ids, size_t table, struct err *err) {
    FILE *file = fopen(tables[table].path, "re");
    char *line = NULL;
    size_t size = 0;
    int done = 0;
    for (ssize_t n; file && done == 0 && (n = getline(&line, &size, file)) > 0;) {
        const struct slice all = slice_of(line, (size_t)n);
        struct slice rest = all, name;
        uint64_t first, count = 1;
        slice_cut(&rest, ':', &name);
        if (field_number(all, tables[table].at, &first) &&
            (!tables[table].counted || field_number(all, tables[table].at + 1, &count)) &&
            overlap(ids, first, count))
            done = err_set(err, "%s gives ids from %llu to `%.*s`", tables[table].path,
                           (unsigned long long)first, (int)(name.len < TEXT_MAX ? name.len : TEXT_MAX),
                           name.ptr);
    }
    free(line);
    if (file)
        fclose(file);
    return done;
}

/* A container may have only a part of the ids. */
static bool is_mapped(const struct ids *ids, const char *path) {
    FILE *file = fopen(path, "re");
    char line[128];
    bool found = false;
    while (file && !found && fgets(line, sizeof(line), file)) {
        char *rest;
        const uint64_t inside = strtoull(line, &rest, 10);
        strtoull(rest, &rest, 10);
        const uint64_t count = strtoull(rest, NULL, 10);
        found = ids->first >= inside && (uint64_t)ids->first + ids->count <= inside + count;
    }
    if (file)
        fclose(file);
    return found;
}

static int parse(struct ids *ids, const char *given, struct err *err) {
    char *end = NULL;
    const uint64_t first = strtoull(given, &end, 10);
    const uint64_t last = *end == '-' ? strtoull(end + 1, &end, 10) : 0;
    if (*end || first < IDS_MIN || first >= UINT32_MAX || last >= UINT32_MAX ||
        last < first + IDS_COUNT_MIN - 1 || last - first >= IDS_COUNT_MAX)
        return err_set(err, "write FIRST-LAST with %u to %u ids from %u on, or none", IDS_COUNT_MIN,
                       IDS_COUNT_MAX, IDS_MIN);
    ids->first = (uint32_t)first;
    ids->count = (uint32_t)(last - first + 1);
    return 0;
}

static int check(const struct ids *ids, struct err *err) {
    if (overlap(ids, LAUNCH_ROOT_ID, 1) || overlap(ids, NOBODY_FIRST, NOBODY_LAST - NOBODY_FIRST + 1))
        return err_set(err, "it must not contain %u or %u to %u", LAUNCH_ROOT_ID, NOBODY_FIRST, NOBODY_LAST);
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        if (check_table(ids, i, err) != 0)
            return -1;
    if (!is_mapped(ids, "/proc/self/uid_map") || !is_mapped(ids, "/proc/self/gid_map"))
        return err_set(err, "this container does not have these ids");
    return 0;
}

static int share(struct ids *ids, const char *why) {
    ids->count = 0;
    snprintf(ids->why, sizeof(ids->why), "%.*s", FRAME_REASON_MAX - 1, why);
    return 0;
}

int ids_open(struct ids *ids, const char *given, uint32_t tier, struct err *err) {
    const bool configured = given && *given;
    *ids = (struct ids){.first = IDS_FIRST, .count = IDS_COUNT};
    if (configured && strcmp(given, "none") == 0)
        return share(ids, "`code.uids` is none");
    if (configured && parse(ids, given, err) != 0)
        return err_wrap(err, "code.uids");
    if (geteuid() != 0)
        return share(ids, "the gate does not run as root");
    if (tier != 1)
        return share(ids, "only a sandbox of tier 1 can have an id of its own");
    struct err why = {""};
    if (check(ids, &why) != 0 && configured)
        return err_set(err, "code.uids %.40s cannot be used: %.180s", given, why.text);
    if (*why.text)
        return share(ids, why.text);
    ids->next = (uint32_t)getpid() * 257u % ids->count; /* gates on one machine start at different ids */
    return 0;
}

static int write_map(pid_t pid, const char *name, const char *text) {
    char path[TEXT_MAX];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);
    return fd >= 0 && write(fd, text, strlen(text)) > 0 ? 0 : -1;
}

int ids_map(pid_t pid, uint32_t uid) {
    char line[TEXT_MAX];
    snprintf(line, sizeof(line), "%d %u 1", CONFINE_GUEST_ID, uid);
    if (write_map(pid, "setgroups", "deny") != 0 || write_map(pid, "uid_map", line) != 0)
        return -1;
    return write_map(pid, "gid_map", line);
}
