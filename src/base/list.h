/* Intrusive doubly linked list. An all-zero head is not valid: list_init first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct list {
    struct list *next;
    struct list *prev;
};

static inline void list_init(struct list *l) { l->next = l->prev = l; }
static inline bool list_empty(const struct list *l) { return l->next == l; }
/* True for a node that is in some list; nodes that were never linked or were removed read as unlinked. */
static inline bool list_linked(const struct list *n) { return n->next && n->next != n; }

static inline void list_push(struct list *head, struct list *n) { /* at the tail */
    n->prev = head->prev;
    n->next = head;
    head->prev->next = n;
    head->prev = n;
}

static inline void list_remove(struct list *n) {
    if (!n->next)
        return;
    n->prev->next = n->next;
    n->next->prev = n->prev;
    n->next = n->prev = n;
}

static inline struct list *list_pop(struct list *head) { /* from the front */
    if (list_empty(head))
        return NULL;
    struct list *n = head->next;
    list_remove(n);
    return n;
}

#define LIST_FOR(n, head) for (struct list *n = (head)->next; n != (head); n = n->next)
#define LIST_FOR_SAFE(n, tmp, head)                                                                          \
    for (struct list *n = (head)->next, *tmp = n->next; n != (head); n = tmp, tmp = n->next)
