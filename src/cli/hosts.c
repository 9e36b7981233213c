#include "cli/hosts.h"

#include "base/slice.h"

int hosts_split(const char *text, struct arena *a, const char *ret_hosts[EGRESS_RULES_MAX], size_t *ret_count,
                struct err *err) {
    struct slice rest = slice_str(text ? text : ""), host;
    *ret_count = 0;
    for (bool more = rest.len > 0; more;) {
        more = slice_cut(&rest, ',', &host);
        if (*ret_count == EGRESS_RULES_MAX)
            return err_set(err, "--network: more than %d hosts", EGRESS_RULES_MAX);
        ret_hosts[(*ret_count)++] = arena_dup(a, slice_trim(host)).ptr;
    }
    return 0;
}
