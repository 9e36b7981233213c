#include "code/journal.h"

#include "base/clock.h"
#include "base/mem.h"
#include "code/limits.h"
#include "code/skill.h"

struct journal_entry { /* one call */
    struct list node;
    struct slice key; /* hash of server, tool and arguments; stored after the entry */
    char *answer;     /* NULL: none received, or it was too large */
    size_t answer_len;
    bool used; /* of an earlier run: its response has been reused */
};

struct journal {
    struct list node; /* in the principal's list while no run uses it */
    struct slice key;
    struct arena arena;
    struct list entries;
    size_t bytes;
    uint64_t kept_ms;
};

void journal_forget(struct journal_entry *e) {
    list_remove(&e->node);
    free(e->answer);
    free(e);
}

static void journal_free(struct journal *j) {
    while (!list_empty(&j->entries))
        journal_forget(container_of(j->entries.next, struct journal_entry, node));
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
        container_of(n, struct journal_entry, node)->used = false;
    return j;
}

static struct slice call_key(struct slice server, struct slice tool, struct slice args, struct arena *a) {
    return skill_hash(
        "SHA256", arena_printf(a, "%.*s\n%.*s\n%.*s", SLICE_FMT(server), SLICE_FMT(tool), SLICE_FMT(args)),
        a);
}

enum journal_found journal_replay(struct journal *j, struct slice server, struct slice tool,
                                  struct slice args, struct slice *ret_answer) {
    if (list_empty(&j->entries))
        return JOURNAL_NEW;
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice key = call_key(server, tool, args, &a);
    LIST_FOR (n, &j->entries) {
        struct journal_entry *e = container_of(n, struct journal_entry, node);
        if (e->used || !slice_eq(e->key, key))
            continue;
        e->used = true;
        *ret_answer = slice_of(e->answer, e->answer_len);
        return e->answer ? JOURNAL_ANSWERED : JOURNAL_UNKNOWN;
    }
    return JOURNAL_NEW;
}

struct journal_entry *journal_begin(struct journal *j, struct slice server, struct slice tool,
                                    struct slice args) {
    cleanup_arena struct arena a;
    arena_init(&a);
    struct slice key = call_key(server, tool, args, &a);
    struct journal_entry *e = mem_zalloc(sizeof(*e) + key.len);
    memcpy(e + 1, key.ptr, key.len);
    e->key = slice_of((char *)(e + 1), key.len);
    e->used = true;
    list_push(&j->entries, &e->node);
    return e;
}

void journal_answer(struct journal *j, struct journal_entry *e, struct slice answer) {
    if (j->bytes + answer.len > CODE_JOURNAL_BYTES_MAX)
        return;
    e->answer = mem_dup(answer.ptr, answer.len);
    e->answer_len = answer.len;
    j->bytes += answer.len;
}

void journal_close(struct journal *j, struct list *kept, bool unfinished) {
    if (!unfinished || list_empty(&j->entries)) {
        journal_free(j);
        return;
    }
    size_t count = 0;
    LIST_FOR (n, kept)
        count++;
    if (count >= CODE_JOURNALS_MAX)
        journal_free(container_of(kept->next, struct journal, node));
    j->kept_ms = clock_mono_ms();
    list_push(kept, &j->node);
}
