/* The allow-list: names, and addresses that are not public. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "egress/limits.h"
#include "io/netmask.h"

struct egress_rule {
    struct slice name; /* a pattern; empty for a network */
    struct io_netmask network;
    uint16_t port; /* 0: any */
};

struct egress_rules {
    struct egress_rule all[EGRESS_RULES_MAX];
    size_t count;
};

int egress_rules_add(struct egress_rules *rules, struct slice text, struct arena *a, struct err *err);
bool egress_rules_have_name(const struct egress_rules *rules, struct slice host, uint16_t port);
bool egress_rules_have_address(const struct egress_rules *rules, const struct io_address *address,
                               uint16_t port);
/* Is the host reachable at any port? */
bool egress_rules_mention(const struct egress_rules *rules, struct slice host);
