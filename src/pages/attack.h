/* Documented attacks through MCP: what happened, how the gate prevents it, and a policy. Facts in our own
 * words; `reference` is the publication of the case. */
#pragma once

#include "pages/sheet.h"
#include "pages/subject.h"

struct attack {
    const char *id; /* "tool-poisoning" */
    const char *title;
    const char *what;
    const char *control;
    const char *policy;  /* YAML; NULL: a policy does not help */
    const char *command; /* a command or setting; NULL */
    const char *reference;
    uint32_t tags;    /* a tool with one of these tags enables the attack */
    uint32_t classes; /* the same for classes: bit 1 << class */
    bool any_server;  /* applies to every server, with any tools */
};

/* attack_table.c */
extern const struct attack attack_table[];
extern const size_t attack_count;

const struct attack *attack_find(struct slice id);
/* The attacks that the tool enables, the closest first; returns their number. */
size_t attack_of_tool(const struct subject_tool *tool, const struct attack **ret_list, size_t max);
/* The same for all tools of a server together. */
size_t attack_of_server(const struct subject *s, const struct attack **ret_list, size_t max);
void attack_page(const struct attack *attack, struct sheet *s);
void attack_put_links(struct sheet *s, const struct attack *const *list, size_t count);
