#include "base/arena.h"
#include "policy/method.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define HTTPS_ONLY "A server may send a person only to an https address"
#define NO_CREDENTIALS "A server may not ask a person for credentials"

/* In texts, ' stands for ". */
static const char *fault_of(const char *params) {
    static char text[8192];
    struct tape t;
    struct arena a;
    size_t len = strlen(params);
    assert_true(len < sizeof(text));
    for (size_t i = 0; i < len; i++)
        text[i] = params[i] == '\'' ? '"' : params[i];
    tape_init(&t);
    arena_init(&a);
    assert_int_equal(tape_parse(&t, slice_of(text, len), NULL), TAPE_OK);
    uint32_t node = tape_get_str(&t, 0, "params");
    assert_true(node != 0);
    const char *fault = policy_elicitation_fault(&t, node, &a);
    arena_free(&a);
    tape_free(&t);
    return fault;
}

static void check(const char *const *rows, size_t count, const char *want) {
    for (size_t i = 0; i < count; i++) {
        const char *got = fault_of(rows[i]);
        if (want ? !got || strcmp(got, want) != 0 : got != NULL)
            fail_msg("%s: %s", rows[i], got ? got : "(no fault)");
    }
}
#define CHECK_ROWS(rows, want) check(rows, sizeof(rows) / sizeof(*rows), want)
#define TITLED(title)                                                                                        \
    "{'params':{'message':'m','requestedSchema':{'title':'" title "','properties':{'x':{'type':'string'}}}}" \
    "}"
#define FIELD(name, field)                                                                                   \
    "{'params':{'message':'m','requestedSchema':{'type':'object','properties':{'" name "':" field "}}}}"
#define MESSAGE(text, field)                                                                                 \
    "{'params':{'message':'" text "','requestedSchema':{'type':'object','properties':{'answer':" field "}}}" \
    "}"

static void test_addresses(void **state) {
    (void)state;
    static const char *const bad[] = {
        "{'params':{'mode':'url','url':'http://example.com/'}}",
        "{'params':{'url':'HTTP://example.com/'}}",
        "{'params':{'url':'javascript:alert(1)'}}",
        "{'params':{'url':'//example.com/'}}",
        "{'params':{'url':''}}",
        "{'params':{'url':['https://a']}}",
        "{'params':{'url':null}}",
        "{'params':{'url':' https://a'}}",
        "{'params':{'url':'file:///etc/passwd'}}",
    };
    static const char *const good[] = {"{'params':{'mode':'url','url':'https://example.com/login'}}",
                                       "{'params':{'url':'\\u0068ttps://example.com/'}}"};
    CHECK_ROWS(bad, HTTPS_ONLY);
    CHECK_ROWS(good, NULL);
}

static void test_fields_that_ask_for_credentials(void **state) {
    (void)state;
    static const char *const bad[] = {
        FIELD("password", "{'type':'string'}"),
        FIELD("Pass-Word", "{'type':'string'}"),
        FIELD("api_key", "{'type':'string'}"),
        FIELD("pin", "{'type':'integer'}"),
        FIELD("x", "{'type':'string','title':'TOKEN'}"),
        FIELD("x", "{'type':'string','description':'The API key of your account'}"),
        FIELD("p\\u0061ssword", "{'type':'string'}"),
        FIELD("\\uff50assword", "{'type':'string'}"),
        FIELD("x", "true,'secret':{}"),
        FIELD("github_token", "{'type':'string'}"),
        FIELD("userToken", "{'type':'string'}"),
        FIELD("x", "{'type':'string','title':'Your PIN, please'}"),
        FIELD("x", "{'type':'string','title':'Verification code'}"),
        FIELD("x", "{'type':'string','format':'password'}"),
        FIELD("x", "{'type':'string','writeOnly':true}"),
        FIELD("pass\\u200bword", "{'type':'string'}"),
        FIELD("x", "{'type':'string','title':'P\\u0430ssword'}"), /* a Cyrillic a */
        FIELD("Contrase\\u00f1a", "{'type':'string'}"),
        FIELD("x", "{'type':'string','title':'Mot de passe'}"),
        FIELD("x", "{'type':'string','title':'\\u041f\\u0430\\u0440\\u043e\\u043b\\u044c'}"),
        FIELD("\\u5bc6\\u7801", "{'type':'string'}"),
        TITLED("Enter your password"),
    };
    static const char *const good[] = {
        FIELD("name", "{'type':'string','title':'Your name','description':'As in your passport'}"),
        FIELD("pinned", "{'type':'boolean'}"),
        FIELD("tokens", "{'type':'integer'}"),
        FIELD("spinning", "{}"),
        FIELD("token_limit", "{'type':'integer'}"),
        FIELD("use_token", "{'type':'boolean'}"),
        FIELD("token", "{'type':'string','enum':['ETH','USDC']}"),
        FIELD("compass_pattern", "{'type':'string','title':'Passport and patent'}"),
        FIELD("x", "{'type':'string','title':'\\u0412\\u0430\\u0448 email'}"),
        FIELD("email", "{'type':'string','format':'email','title':'E-mail'}"),
    };
    CHECK_ROWS(bad, NO_CREDENTIALS);
    CHECK_ROWS(good, NULL);
}

static void test_long_texts_are_read_to_their_end(void **state) {
    (void)state;
    char text[6000];
    memset(text, 'a', sizeof(text));
    const char *head = "{'params':{'requestedSchema':{'properties':{'x':{'description':'";
    const char *tail = " password'}}}}}";
    memcpy(text, head, strlen(head));
    memcpy(text + sizeof(text) - strlen(tail) - 1, tail, strlen(tail) + 1);
    assert_string_equal(fault_of(text), NO_CREDENTIALS);
}

static void test_messages_that_ask_for_credentials(void **state) {
    (void)state;
    static const char *const bad[] = {
        MESSAGE("Enter your GitHub password", "{'type':'string'}"),
        MESSAGE("What is the one-time code?", "{'type':'string','minLength':6}"),
        MESSAGE("Paste the API key here", "{}"),
    };
    static const char *const good[] = {
        MESSAGE("Rotate the API key now?", "{'type':'boolean'}"),
        MESSAGE("Which password policy?", "{'type':'string','enum':['strict','loose']}"),
        MESSAGE("The name of the secret to rotate", "{'type':'string'}"),
        "{'params':{'message':'Enter your password'}}",
    };
    CHECK_ROWS(bad, NO_CREDENTIALS);
    CHECK_ROWS(good, NULL);
}

static void test_what_is_no_form(void **state) {
    (void)state;
    static const char *const odd[] = {
        "{'params':[]}",
        "{'params':'password'}",
        "{'params':{}}",
        "{'params':{'requestedSchema':'password'}}",
        "{'params':{'requestedSchema':{'properties':['password']}}}",
    };
    struct tape t;
    struct arena a;
    CHECK_ROWS(odd, NULL);
    tape_init(&t);
    arena_init(&a);
    assert_null(policy_elicitation_fault(&t, 0, &a));
    arena_free(&a);
    tape_free(&t);
}

static bool imitates(const char *method) {
    struct arena a;
    arena_init(&a);
    const bool answer = policy_method_imitates(slice_str(method), &a);
    arena_free(&a);
    return answer;
}

static void test_methods(void **state) {
    (void)state;
    assert_true(policy_method_known(SLICE("tools/call")));
    assert_true(policy_method_known(SLICE("elicitation/create")));
    assert_false(policy_method_known(SLICE("tools/run")));
    assert_false(policy_method_known(SLICE("")));
    assert_true(imitates("TOOLS/CALL"));
    assert_true(imitates("tools / call"));
    assert_true(imitates("tools.call"));
    assert_false(imitates("tools/call"));
    assert_false(imitates("tools/run"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_fields_that_ask_for_credentials),
        cmocka_unit_test(test_long_texts_are_read_to_their_end),
        cmocka_unit_test(test_messages_that_ask_for_credentials),
        cmocka_unit_test(test_what_is_no_form),
        cmocka_unit_test(test_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
