/* The operators that look inside strings: under, host, glob, no_shell_meta. */
#include "fuzz.h"
#include "policy/match.h"
#include "wire/host.h"
#include "wire/tape.h"

static void check_path(struct slice text, struct arena *a) {
    struct slice clean, twice;
    if (!policy_under_clean(text, a, &clean))
        return;
    CHECK(clean.len >= 1 && clean.ptr[0] == '/' && clean.len <= text.len + 1);
    CHECK(policy_under_clean(clean, a, &twice) && slice_eq(clean, twice));
    CHECK(!memmem(clean.ptr, clean.len, "/../", 4) && !slice_ends(clean, SLICE("/..")));
    if (policy_under_holds(text, SLICE("/srv/data"), a))
        CHECK(slice_starts(clean, SLICE("/srv/data")) && (clean.len == 9 || clean.ptr[9] == '/'));
}

static void check_host(struct slice text, struct arena *a) {
    struct slice host;
    bool is_ip;
    if (host_of_url(text, a, &host, &is_ip) != HOST_OK)
        return;
    CHECK(host.len > 0);
    for (size_t i = 0; i < host.len; i++)
        CHECK(host.ptr[i] > 0x20 && host.ptr[i] != '@' && host.ptr[i] != '/' && host.ptr[i] != '\\');
    CHECK(host_matches(host, SLICE("*")) && host_matches(host, host));
    CHECK(!slice_is(host, "localhost"));
    CHECK(!is_ip || (!slice_starts(host, SLICE("127.")) && !slice_starts(host, SLICE("10."))));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct slice in = slice_of((const char *)data, size);
    uint8_t which = fuzz_byte(&in);
    char *copy = fuzz_copy(in);
    struct slice text = slice_of(copy, in.len);
    struct arena a;
    arena_init(&a);
    switch (which % 3) {
    case 0:
        check_path(text, &a);
        break;
    case 1:
        check_host(text, &a);
        break;
    default: {
        struct slice pattern, rest = text;
        slice_cut(&rest, '\n', &pattern);
        uint64_t steps = 100000;
        policy_glob_match(pattern, rest, '/', &steps);
        CHECK(policy_glob_names(SLICE("*"), rest) || rest.len > 90000);
        if (tape_utf8_valid(text))
            policy_shell_clean(text, &a);
        policy_shell_is_option(text);
    }
    }
    arena_free(&a);
    free(copy);
    return 0;
}
