#include "code/journal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "code/limits.h"
#include "code/skill.h"

struct entry { /* one call */
    struct list node;
    struct slice key;    /* hash of server, tool and arguments */
    struct slice answer; /* behind it in the same memory */
    bool used;           /* of those from before: its answer has been given */
};

struct journal {
    struct list node; /* in the principal's list while no run uses it */
    struct slice key;
    struct arena arena;
    struct list entries;
    size_t bytes;
    bool full;
    uint64_t kept_ms;
};

static void journal_free(struct journal *j) {
    struct list *n;
    while ((n = list_pop(&j->entries)))
        free(container_of(n, struct entry, node));
    list_remove(&j->node);
    arena_free(&j->arena);
    free(j);
}

void journal_free_all(struct list *kept) {
    while (!list_empty(kept))
        journal_free(container_of(kept->next, struct journal, node));
}

struct journal *journal_open(struct list *kept, struct slice key) {
    struct journal *j = mem_zalloc(sizeof(*j));
    arena_init(&j->arena);
    list_init(&j->entries);
    j->key = arena_dup(&j->arena, key);
    uint64_t now = clock_mono_ms();
    LIST_FOR_SAFE (n, next, kept) {
        struct journal *before = container_of(n, struct journal, node);
        if (slice_eq(before->key, j->key)) {
            struct list *e;
            while ((e = list_pop(&before->entries)))
                list_push(&j->entries, e);
            j->bytes = before->bytes;
            journal_free(before);
        } else if (now - before->kept_ms > CODE_JOB_KEEP_MS) {
            journal_free(before);
        }
    }
    LIST_FOR (n, &j->entries)
        container_of(n, struct entry, node)->used = false;
    return j;
}

static struct slice call_key(struct slice server, struct slice tool, struct slice args, struct arena *a) {
    return skill_hash(
        "SHA256", arena_printf(a, "%.*s\n%.*s\n%.*s", SLICE_FMT(server), SLICE_FMT(tool), SLICE_FMT(args)),
        a);
}

bool journal_replay(struct journal *j, struct slice server, struct slice tool, struct slice args,
                    struct slice *ret_answer) {
    if (list_empty(&j->entries))
        return false;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice key = call_key(server, tool, args, &a);
    LIST_FOR (n, &j->entries) {
        struct entry *e = container_of(n, struct entry, node);
        if (e->used || !slice_eq(e->key, key))
            continue;
        e->used = true;
        *ret_answer = e->answer;
        return true;
    }
    return false;
}

void journal_note(struct journal *j, struct slice server, struct slice tool, struct slice args,
                  struct slice answer) {
    if (j->full || j->bytes + answer.len > CODE_JOURNAL_BYTES_MAX) {
        j->full = true;
        return;
    }
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice key = call_key(server, tool, args, &a);
    struct entry *e = mem_zalloc(sizeof(*e) + key.len + answer.len);
    char *text = (char *)(e + 1);
    memcpy(text, key.ptr, key.len);
    memcpy(text + key.len, answer.ptr, answer.len);
    e->key = slice_of(text, key.len);
    e->answer = slice_of(text + key.len, answer.len);
    e->used = true;
    j->bytes += answer.len;
    list_push(&j->entries, &e->node);
}

bool journal_close(struct journal *j, struct list *kept, bool unfinished) {
    if (!unfinished || j->full || list_empty(&j->entries)) {
        bool lost = unfinished && j->full;
        journal_free(j);
        return !lost;
    }
    size_t count = 0;
    LIST_FOR (n, kept)
        count++;
    if (count >= CODE_JOURNALS_MAX)
        journal_free(container_of(kept->next, struct journal, node));
    j->kept_ms = clock_mono_ms();
    list_push(kept, &j->node);
    return true;
}
