#include "front/identity.h"

#include "base/mem.h"
#include "front/settings.h"
#include "state/grants.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct arena a;
static struct jwt jwt;

static struct identity *from(const char *claims) {
    tape_free(&jwt.claims);
    tape_init(&jwt.claims);
    assert_int_equal(tape_parse(&jwt.claims, slice_str(claims), NULL), TAPE_OK);
    struct identity *who = arena_new(&a, struct identity);
    who->kind = PRINCIPAL_TOKEN;
    who->id = "oidc:x|y";
    identity_from_claims(who, &a, &jwt);
    return who;
}

static const char *fact(const struct identity *who, const char *key) {
    const char *found = NULL;
    for (size_t i = 0; i < who->count; i++)
        if (slice_is(who->facts[i].key, key)) {
            assert_null(found);
            found = who->facts[i].value.ptr;
        }
    return found;
}

static void test_claims_become_facts(void **state) {
    (void)state;
    const struct identity *who = from(
        "{\"sub\":\"anna\",\"name\":\"local\",\"exp\":1,\"jti\":\"x\",\"aud\":\"g\",\"n\":5,\"ok\":true,"
        "\"groups\":[\"ops\",\"a b\",7],\"realm\":{\"roles\":[\"r\"],\"deep\":{\"x\":{\"y\":{\"z\":1}}}},"
        "\"scope\":\"mcp admin\",\"https://ns/team\":\"t\"}");
    assert_string_equal(fact(who, "identity.sub"), "anna");
    assert_string_equal(fact(who, "identity.n"), "5");
    assert_string_equal(fact(who, "identity.ok"), "true");
    assert_string_equal(fact(who, "identity.groups.ops"), "true");
    assert_string_equal(fact(who, "identity.groups.a b"), "true");
    assert_null(fact(who, "identity.groups.7"));
    assert_string_equal(fact(who, "identity.realm.roles.r"), "true");
    assert_string_equal(fact(who, "identity.scope"), "mcp admin");
    assert_string_equal(fact(who, "identity.scope.admin"), "true");
    assert_string_equal(fact(who, "identity.https://ns/team"), "t");
    assert_null(fact(who, "identity.name")); /* the principal's own */
    assert_string_equal(fact(who, "identity.full_name"), "local");
    assert_null(fact(who, "identity.exp"));
    assert_null(fact(who, "identity.jti"));
    assert_null(fact(who, "identity.aud"));
    assert_string_equal(fact(who, "identity.realm.deep.x.y.z"), "1");
    assert_false(who->excess);
}

static void test_rules(void **state) {
    (void)state;
    static const char *const ops[] = {"groups\nops", NULL},
                             *const both[] = {"groups\nops", "sub\nanna", NULL},
                             *const role[] = {"approver", NULL}, *const server[] = {"files", NULL};
    const struct settings_rule rules[] = {
        {.when = {both, 2}, .roles = {role, 1}},
        {.when = {ops, 1}, .servers = {server, 1}, .limits = "team"},
    };
    const struct identity *anna = from("{\"sub\":\"anna\",\"groups\":[\"ops\"]}");
    assert_ptr_equal(identity_rule(anna, rules, 2), &rules[0]);
    struct principal *p = identity_principal(anna, &rules[0]);
    assert_int_equal(p->roles, PRINCIPAL_APPROVER);
    assert_true(principal_may_use(p, SLICE("anything")));
    principal_unref(p);
    const struct identity *bob = from("{\"sub\":\"bob\",\"groups\":\"ops\"}");
    assert_ptr_equal(identity_rule(bob, rules, 2), &rules[1]);
    p = identity_principal(bob, &rules[1]);
    assert_int_equal(p->roles, 0);
    assert_true(principal_may_use(p, SLICE("files")));
    assert_false(principal_may_use(p, SLICE("mail")));
    assert_string_equal(p->limits, "team");
    assert_string_equal(p->id, "oidc:x|y");
    principal_unref(p);
    assert_null(identity_rule(from("{\"sub\":\"eve\",\"groups\":[\"ops2\",\"xops\"]}"), rules, 2));
    assert_null(identity_rule(from("{\"sub\":\"eve\",\"groups\":{\"ops\":false}}"), rules, 2));
    assert_null(identity_rule(from("{}"), rules, 2));
}

static void test_who_is_the_same(void **state) {
    (void)state;
    struct slice one = identity_key(from("{\"sub\":\"a\",\"exp\":1,\"g\":[\"x\"]}"), NULL, &a);
    assert_true(slice_eq(one, identity_key(from("{\"sub\":\"a\",\"exp\":2,\"g\":[\"x\"]}"), NULL, &a)));
    assert_false(slice_eq(one, identity_key(from("{\"sub\":\"a\",\"g\":[\"x\",\"y\"]}"), NULL, &a)));
    assert_false(slice_eq(identity_key(from("{\"a\":\"1\\nb=2\"}"), NULL, &a),
                          identity_key(from("{\"a\":\"1\",\"b\":\"2\"}"), NULL, &a)));
}

static void test_ids(void **state) {
    (void)state;
    char long_one[300];
    memset(long_one, 'x', sizeof(long_one));
    assert_string_equal(identity_id(&a, "oidc", SLICE("https://idp|anna")), "oidc:https://idp|anna");
    const char *one = identity_id(&a, "oidc", slice_of(long_one, 299));
    assert_int_equal(strlen(one), strlen("oidc:#") + 64);
    assert_string_not_equal(one, identity_id(&a, "oidc", slice_of(long_one, 300)));
    assert_string_not_equal(identity_id(&a, "oidc", SLICE("a\n")), identity_id(&a, "oidc", SLICE("a\r")));
    assert_null(strchr(identity_id(&a, "oidc", SLICE("a\x1b[31m")), 0x1b));
}

static void test_too_much(void **state) {
    (void)state;
    struct buf text;
    buf_init(&text, 1u << 20);
    for (int count = FRONT_FACTS_MAX; count <= FRONT_FACTS_MAX + 1; count++) {
        buf_reset(&text);
        buf_put_str(&text, "{\"groups\":[\"contractors\"");
        for (int i = 1; i < count; i++)
            buf_printf(&text, ",\"g%d\"", i);
        buf_put_str(&text, "]}");
        buf_put_char(&text, '\0');
        const struct identity *who = from(text.ptr);
        assert_int_equal(who->count, FRONT_FACTS_MAX);
        assert_int_equal(who->excess, count > FRONT_FACTS_MAX);
        assert_string_equal(fact(who, "identity.groups.contractors"), "true");
    }
    buf_reset(&text);
    buf_put_str(&text, "{\"a\":\"");
    for (int i = 0; i < FRONT_FACT_MAX; i++)
        buf_put_char(&text, 'x');
    buf_put_str(&text, "\"}");
    buf_put_char(&text, '\0');
    assert_true(from(text.ptr)->excess);
    buf_free(&text);
    assert_false(from("{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":1}}}}}}}")->excess);
    assert_true(from("{\"a\":{\"b\":{\"c\":{\"d\":{\"e\":{\"f\":{\"g\":{\"h\":{\"i\":1}}}}}}}}}")->excess);
    assert_true(from("{\"_claim_names\":{\"groups\":\"src1\"}}")->excess);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_claims_become_facts),
        cmocka_unit_test(test_rules),
        cmocka_unit_test(test_who_is_the_same),
        cmocka_unit_test(test_ids),
        cmocka_unit_test(test_too_much),
    };
    arena_init(&a);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    tape_free(&jwt.claims);
    arena_free(&a);
    return failed;
}
