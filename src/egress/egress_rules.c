#include "egress/egress_rules.h"

#include "wire/host.h"

/* Splits host:port at the last colon. */
static bool cut_port(struct slice text, struct slice *ret_host, uint16_t *ret_port) {
    size_t at = text.len;
    while (at && text.ptr[at - 1] != ':')
        at--;
    const struct slice port = slice_from(text, at);
    uint64_t number = 0;
    if (at < 2 || !(slice_is(port, "*") || (slice_to_u64(port, &number) && number > 0 && number <= 65535)))
        return false;
    *ret_host = slice_upto(text, at - 1);
    *ret_port = (uint16_t)number;
    return true;
}

/* "10.0.0.0/8", "192.0.2.7", "[fd00::]/8", "[::1]" */
static bool read_network(struct slice host, struct arena *a, struct io_netmask *ret_network) {
    if (host.ptr[0] != '[')
        return slice_find(host, ':') < 0 && io_netmask_parse(host, ret_network);
    const ptrdiff_t close = slice_find(host, ']');
    if (close < 0)
        return false;
    return io_netmask_parse(arena_printf(a, "%.*s%.*s", (int)close - 1, host.ptr + 1,
                                         SLICE_FMT(slice_from(host, (size_t)close + 1))),
                            ret_network);
}

int egress_rules_add(struct egress_rules *rules, struct slice text, struct arena *a, struct err *err) {
    struct egress_rule rule = {0};
    struct slice host;
    if (rules->count == EGRESS_RULES_MAX)
        return err_set(err, "more than %d entries", EGRESS_RULES_MAX);
    if (!cut_port(text, &host, &rule.port))
        return err_set(err, "`%.*s`: write HOST:PORT, for instance api.example.com:443; `*` is any port",
                       SLICE_FMT(slice_upto(text, 128)));
    if (!read_network(host, a, &rule.network)) {
        if (slice_find(host, ':') >= 0 || !host_is_pattern(host, a))
            return err_set(err, "`%.*s`: no name, *.name, address or network such as 10.0.0.0/8",
                           SLICE_FMT(slice_upto(host, 128)));
        rule.name = arena_dup(a, host);
    }
    rules->all[rules->count++] = rule;
    return 0;
}

bool egress_rules_have_name(const struct egress_rules *rules, struct slice host, uint16_t port) {
    for (size_t i = 0; i < rules->count; i++) {
        const struct egress_rule *r = &rules->all[i];
        if (r->name.len && (!r->port || r->port == port) && host_matches(host, r->name))
            return true;
    }
    return false;
}

bool egress_rules_have_address(const struct egress_rules *rules, const struct io_address *address,
                               uint16_t port) {
    for (size_t i = 0; i < rules->count; i++) {
        const struct egress_rule *r = &rules->all[i];
        if (!r->name.len && (!r->port || r->port == port) && io_netmask_has(&r->network, address))
            return true;
    }
    return false;
}

bool egress_rules_mention(const struct egress_rules *rules, struct slice host) {
    struct io_address address;
    const bool is_ip = io_address_parse(host, &address);
    for (size_t i = 0; i < rules->count; i++)
        if (rules->all[i].name.len ? host_matches(host, rules->all[i].name)
                                   : is_ip && io_netmask_has(&rules->all[i].network, &address))
            return true;
    return false;
}
