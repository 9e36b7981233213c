#include "state/grants.h"

#include "database.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static char dir[64];

static int setup(void **state) {
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/sallyport-grants-XXXXXX");
    return mkdtemp(dir) ? database_setup(dir) : -1;
}

static int teardown(void **state) {
    (void)state;
    database_teardown(dir);
    const char *names[] = {"stores", "grants.sqlite", "grants.sqlite-wal", "grants.sqlite-shm",
                           "grants.live"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        unlink(path);
    }
    return rmdir(dir);
}

static struct state_grants *open_grants(bool read_only) {
    struct state_grants *g = NULL;
    struct err err = {0};
    if (state_grants_open(dir, read_only, &g, &err) < 0)
        fail_msg("%s", err.text);
    return g;
}

static struct state_grant plain(const char *name) {
    return (struct state_grant){.name = name, .label = "", .policy = "", .limits = ""};
}

static void create(struct state_grants *g, const struct state_grant *grant, char token[STATE_TOKEN_TEXT]) {
    struct err err = {0};
    if (state_grants_create(g, grant, 1000, token, &err) < 0)
        fail_msg("%s", err.text);
}

static const struct state_grant *find(struct state_grants *g, const char *token, uint64_t now_ms) {
    return state_grants_by_token(g, slice_str(token), now_ms);
}

/* Files that were deleted under a gate: it must notice revocations in the new ones. */
static void test_followed_after_a_deletion(void **state) {
    (void)state;
    static const char *const files[] = {"grants.live", "grants.sqlite", "grants.sqlite-wal",
                                        "grants.sqlite-shm"};
    struct err err = {0};
    char old[STATE_TOKEN_TEXT], fresh[STATE_TOKEN_TEXT];
    if (database_is_remote())
        return;
    struct state_grants *gate = open_grants(false);
    struct state_grant ci = plain("ci"), other = plain("other");
    create(gate, &ci, old);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", dir, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    struct state_grants *desk = open_grants(false);
    create(desk, &other, fresh);
    for (int i = 0; !find(gate, fresh, 2000); i++) {
        assert_true(i < 1000);
        poll(NULL, 0, 10);
        assert_int_equal(state_grants_refresh(gate, &err), 0);
    }
    assert_null(find(gate, old, 2000));
    state_grants_close(desk);
    state_grants_close(gate);
}

static void test_what_was_given_comes_back(void **state) {
    (void)state;
    struct state_grants *g = open_grants(false);
    const char *servers[] = {"files", "git*"}, *tools[] = {"read_*"};
    struct state_grant grant = plain("ci");
    grant.label = "the build";
    grant.policy = "/etc/p.yaml";
    grant.limits = "builders";
    grant.servers = servers;
    grant.server_count = 2;
    grant.tools = tools;
    grant.tool_count = 1;
    grant.roles = STATE_ROLE_APPROVER | STATE_ROLE_VIEWER;
    grant.expires_ms = 5000;
    char token[STATE_TOKEN_TEXT];
    create(g, &grant, token);
    state_grants_close(g);

    g = open_grants(true);
    const struct state_grant *got = find(g, token, 4999);
    assert_non_null(got);
    assert_string_equal(got->name, "ci");
    assert_string_equal(got->label, "the build");
    assert_string_equal(got->policy, "/etc/p.yaml");
    assert_string_equal(got->limits, "builders");
    assert_int_equal(got->server_count, 2);
    assert_string_equal(got->servers[1], "git*");
    assert_int_equal(got->tool_count, 1);
    assert_string_equal(got->tools[0], "read_*");
    assert_int_equal(got->roles, STATE_ROLE_APPROVER | STATE_ROLE_VIEWER);
    assert_int_equal(got->created_ms, 1000);
    assert_memory_equal(got->hint, token, strlen(got->hint));
    assert_true(strlen(got->hint) < 12);
    assert_null(find(g, token, 5000));
    struct err err = {0};
    char other[STATE_TOKEN_TEXT];
    assert_int_equal(state_grants_rotate(g, SLICE("ci"), 1, 0, other, &err), -1);
    state_grants_close(g);
}

static void test_only_the_hash_is_kept(void **state) {
    (void)state;
    if (database_is_remote())
        skip();
    struct state_grants *g = open_grants(false);
    struct state_grant grant = plain("ci");
    char token[STATE_TOKEN_TEXT], path[128];
    create(g, &grant, token);
    state_grants_close(g);
    snprintf(path, sizeof(path), "%s/grants.sqlite", dir);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 077, 0);
    char *bytes = malloc((size_t)st.st_size);
    int fd = open(path, O_RDONLY);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    close(fd);
    unsigned char hash[STATE_HASH_BYTES];
    state_token_hash(slice_str(token), hash);
    assert_non_null(memmem(bytes, (size_t)st.st_size, hash, sizeof(hash)));
    assert_null(memmem(bytes, (size_t)st.st_size, token + 8, strlen(token) - 8));
    free(bytes);
}

static void test_no_token_but_its_own(void **state) {
    (void)state;
    struct state_grants *g = open_grants(false);
    struct state_grant grant = plain("a");
    char token[STATE_TOKEN_TEXT], other[STATE_TOKEN_TEXT];
    create(g, &grant, token);
    grant.name = "b";
    create(g, &grant, other);
    assert_string_not_equal(token, other);
    assert_string_equal(find(g, token, 1)->name, "a");
    assert_string_equal(find(g, other, 1)->name, "b");
    char changed[STATE_TOKEN_TEXT];
    memcpy(changed, token, sizeof(changed));
    changed[10] = changed[10] == 'A' ? 'B' : 'A';
    assert_null(find(g, changed, 1));
    assert_null(find(g, "", 1));
    assert_null(find(g, "sp_", 1));
    token[STATE_TOKEN_TEXT - 2] = '\0';
    assert_null(find(g, token, 1));
    state_grants_close(g);
}

/* Immediately where a number in the home shows it; by a thread that is notified with PostgreSQL. */
static void wait_for_change(struct state_grants *g, uint64_t before) {
    for (int i = 0; database_is_remote() && state_grants_generation(g) == before && i < 1000; i++)
        poll(NULL, 0, 5);
    if (before || database_is_remote())
        assert_int_not_equal(state_grants_generation(g), before);
}

static void test_revoked_at_once_elsewhere(void **state) {
    (void)state;
    struct state_grants *here = open_grants(false), *there = open_grants(false);
    struct err err = {0};
    struct state_grant grant = plain("ci");
    char token[STATE_TOKEN_TEXT];
    assert_int_equal(state_grants_follow(there, dir, NULL, &err),
                     0); /* without PostgreSQL there is nothing to follow */
    wait_for_change(there, 0);
    assert_int_equal(state_grants_refresh(there, &err), 0);
    uint64_t before = state_grants_generation(there);
    create(here, &grant, token);
    wait_for_change(there, before);
    assert_true(state_grants_stale(there));
    assert_true(state_grants_reachable(there, NULL));
    assert_null(find(there, token, 1));
    assert_int_equal(state_grants_seen(there), before);
    assert_int_equal(state_grants_refresh(there, &err), 0);
    assert_int_equal(state_grants_seen(there), state_grants_generation(there));
    assert_false(state_grants_stale(there));
    uint64_t version = find(there, token, 1)->version;
    before = state_grants_generation(there);
    assert_int_equal(state_grants_revoke(here, SLICE("ci"), 2000, &err), 0);
    wait_for_change(there, before);
    assert_null(find(here, token, 1));
    assert_int_equal(state_grants_refresh(there, &err), 0);
    assert_null(find(there, token, 1));
    const struct state_grant *gone = state_grants_by_name(there, SLICE("ci"));
    assert_int_equal(gone->revoked_ms, 2000);
    assert_int_not_equal(gone->version, version);
    assert_int_equal(state_grants_revoke(here, SLICE("ci"), 3000, &err), 0);
    assert_int_equal(state_grants_by_name(here, SLICE("ci"))->revoked_ms, 2000);
    assert_int_equal(state_grants_revoke(here, SLICE("nobody"), 3000, &err), -1);
    state_grants_close(here);
    state_grants_close(there);
}

static void test_rotate(void **state) {
    (void)state;
    struct state_grants *g = open_grants(false);
    struct err err = {0};
    struct state_grant grant = plain("ci");
    char first[STATE_TOKEN_TEXT], second[STATE_TOKEN_TEXT], third[STATE_TOKEN_TEXT];
    create(g, &grant, first);
    assert_int_equal(state_grants_rotate(g, SLICE("ci"), 2000, 0, second, &err), 0);
    assert_null(find(g, first, 2000));
    assert_non_null(find(g, second, 2000));
    assert_int_equal(state_grants_rotate(g, SLICE("ci"), 3000, 500, third, &err), 0);
    assert_non_null(find(g, third, 3000));
    assert_non_null(find(g, second, 3499));
    assert_null(find(g, second, 3500));
    assert_null(find(g, first, 3000));
    assert_int_equal(state_grants_revoke(g, SLICE("ci"), 3001, &err), 0);
    assert_null(find(g, third, 3001));
    assert_null(find(g, second, 3001));
    assert_int_equal(state_grants_rotate(g, SLICE("ci"), 4000, 0, first, &err), -1);
    state_grants_close(g);
}

static void test_names(void **state) {
    (void)state;
    struct state_grants *g = open_grants(false);
    struct err err = {0};
    char token[STATE_TOKEN_TEXT];
    const char *bad[] = {"", "-a", "a b", "a\n", "a/b", "é", "a|b"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct state_grant grant = plain(bad[i]);
        assert_int_equal(state_grants_create(g, &grant, 1, token, &err), -1);
    }
    struct state_grant grant = plain("a.b_c-d@e");
    create(g, &grant, token);
    assert_int_equal(state_grants_create(g, &grant, 1, token, &err), -1);
    const char *globs[] = {"a\nb"};
    grant = plain("x");
    grant.servers = globs;
    grant.server_count = 1;
    assert_int_equal(state_grants_create(g, &grant, 1, token, &err), -1);
    assert_int_equal(state_grants_count(g), 1);
    state_grants_close(g);
}

static void test_use_is_noted(void **state) {
    (void)state;
    struct state_grants *g = open_grants(false);
    struct state_grant grant = plain("ci");
    char token[STATE_TOKEN_TEXT];
    create(g, &grant, token);
    assert_true(state_grants_used(g, find(g, token, 1), 1000000)); /* the first use */
    assert_false(state_grants_used(g, find(g, token, 1), 1000001));
    assert_false(state_grants_used(g, find(g, token, 1), 1000000 + STATE_GRANT_USED_MS));
    state_grants_close(g);
    g = open_grants(true);
    assert_int_equal(find(g, token, 1)->used_ms, 1000000 + STATE_GRANT_USED_MS);
    state_grants_close(g);
}

static void test_nothing_there_to_look_at(void **state) {
    (void)state;
    struct state_grants *g = open_grants(true);
    assert_int_equal(state_grants_count(g), 0);
    assert_null(find(g, "sp_", 1));
    state_grants_close(g);
}

/* A process that is killed right after its grant was confirmed has lost nothing. */
static void test_a_grant_outlives_its_maker(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct state_grants *g = NULL;
        struct err err = {0};
        struct state_grant grant = plain("ci");
        char token[STATE_TOKEN_TEXT];
        if (state_grants_open(dir, false, &g, &err) == 0 &&
            state_grants_create(g, &grant, 1, token, &err) == 0 &&
            write(ends[1], token, sizeof(token)) == (ssize_t)sizeof(token))
            kill(getpid(), SIGKILL);
        _exit(1);
    }
    close(ends[1]);
    char token[STATE_TOKEN_TEXT];
    assert_int_equal(read(ends[0], token, sizeof(token)), sizeof(token));
    close(ends[0]);
    int status;
    waitpid(pid, &status, 0);
    assert_true(WIFSIGNALED(status));
    struct state_grants *g = open_grants(false);
    assert_non_null(find(g, token, 2));
    state_grants_close(g);
}

static void test_roles(void **state) {
    (void)state;
    assert_int_equal(state_role_from(SLICE("admin")), STATE_ROLE_ADMIN);
    assert_int_equal(state_role_from(SLICE("policy-manager")), STATE_ROLE_POLICY_MANAGER);
    assert_int_equal(state_role_from(SLICE("approver")), STATE_ROLE_APPROVER);
    assert_int_equal(state_role_from(SLICE("viewer")), STATE_ROLE_VIEWER);
    assert_int_equal(state_role_from(SLICE("root")), 0);
    assert_string_equal(state_role_name(4), "person");
    assert_null(state_role_name(5));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(test_what_was_given_comes_back),
        TEST(test_followed_after_a_deletion),
        TEST(test_only_the_hash_is_kept),
        TEST(test_no_token_but_its_own),
        TEST(test_revoked_at_once_elsewhere),
        TEST(test_rotate),
        TEST(test_names),
        TEST(test_use_is_noted),
        TEST(test_nothing_there_to_look_at),
        TEST(test_a_grant_outlives_its_maker),
        TEST(test_roles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
