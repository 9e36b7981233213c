/* Documented attacks through MCP: what happened, what the gate does about it, and a policy. Facts in our own
 * words; `reference` says where the case was published. */
#pragma once

#include "pages/sheet.h"
#include "pages/subject.h"

struct attack {
    const char *id; /* "tool-poisoning" */
    const char *title;
    const char *what;
    const char *control;
    const char *policy;  /* YAML; NULL: not a matter of policy */
    const char *command; /* what to run or to set; NULL */
    const char *reference;
    uint32_t tags;    /* a tool with one of these gives what it needs */
    uint32_t classes; /* bit 1 << class, likewise */
    bool any_server;  /* a matter of every server, whatever its tools */
};

/* attack_table.c */
extern const struct attack attack_table[];
extern const size_t attack_count;

const struct attack *attack_find(struct slice id);
/* Those that abuse what the tool gives, the closest first; how many. */
size_t attack_of_tool(const struct subject_tool *tool, const struct attack **ret_list, size_t max);
/* The same for all tools of a server together. */
size_t attack_of_server(const struct subject *s, const struct attack **ret_list, size_t max);
void attack_page(const struct attack *attack, struct sheet *s);
void attack_put_links(struct sheet *s, const struct attack *const *list, size_t count);
