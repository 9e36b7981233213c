#include "audit/rings.h"

#include "base/mem.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* Tries a shared lock: the owner of an exclusive lock is alive. An empty file is just being created,
 * unless its creator is dead. */
static void rings_show(const char *path, struct rings_one *one, audit_rings_fn *each, void *ctx) {
    struct stat st;
    one->fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (one->fd < 0)
        return;
    bool dead = flock(one->fd, LOCK_SH | LOCK_NB) == 0;
    bool known = fstat(one->fd, &st) == 0 && st.st_size >= (off_t)RING_HEAD_BYTES;
    struct ring_head *head =
        known ? mmap(NULL, RING_HEAD_BYTES, PROT_READ, MAP_SHARED, one->fd, 0) : MAP_FAILED;
    bool readable = head != MAP_FAILED && audit_ring_readable(head, (size_t)st.st_size);
    one->head = readable ? head : NULL;
    one->state = !dead ? RINGS_RUNNING : readable ? RINGS_LEFT : RINGS_DAMAGED;
    each(ctx, one);
    if (head != MAP_FAILED)
        munmap(head, RING_HEAD_BYTES);
    close(one->fd);
}

void audit_rings_each(const char *dir, audit_rings_fn *each, void *ctx) {
    DIR *d = opendir(dir);
    for (struct dirent *entry; d && (entry = readdir(d));) {
        cleanup_free char *path = NULL;
        struct rings_one one = {.state = RINGS_ASIDE, .fd = -1};
        struct slice name = slice_str(entry->d_name);
        bool aside = slice_starts(name, SLICE("unread-ring-"));
        if (!aside && !slice_starts(name, SLICE("ring-")))
            continue;
        name = slice_from(name, strlen(aside ? "unread-ring-" : "ring-"));
        snprintf(one.instance, sizeof(one.instance), "%.*s", SLICE_FMT(name));
        if (aside)
            each(ctx, &one);
        else if (asprintf(&path, "%s/%s", dir, entry->d_name) > 0)
            rings_show(path, &one, each, ctx);
    }
    if (d)
        closedir(d);
}

static void rings_add(void *ctx, const struct rings_one *one) {
    struct audit_rings *all = ctx;
    uint64_t *const counts[] = {
        [RINGS_RUNNING] = &all->running,
        [RINGS_LEFT] = &all->left,
        [RINGS_DAMAGED] = &all->damaged,
        [RINGS_ASIDE] = &all->aside,
    };
    ++*counts[one->state];
    if (!one->head)
        return;
    all->unrecorded += audit_ring_lost(one->head);
    if (one->state == RINGS_LEFT)
        all->waiting += atomic_load(&one->head->end) - atomic_load(&one->head->tail);
}

void audit_rings_count(const char *home, struct audit_rings *ret_rings) {
    cleanup_free char *dir = NULL;
    *ret_rings = (struct audit_rings){0};
    if (asprintf(&dir, "%s/audit", home) > 0)
        audit_rings_each(dir, rings_add, ret_rings);
}
