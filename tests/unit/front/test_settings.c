/* sallyport.yaml and clients' files: what is read, what is refused, and how the refusal reads. */
#include "base/mem.h"
#include "front/settings.h"
#include "guard/guard.h"
#include "io/file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/sallyport-settings-XXXXXX";

static const char *put(const char *name, const char *text) {
    static char path[256];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    return path;
}

static struct settings *read_yaml(const char *text) {
    struct settings *s = NULL;
    struct err err = {0};
    if (settings_load(put("sallyport.yaml", text), NULL, 0, &s, &err) < 0)
        fail_msg("%s", err.text);
    return s;
}

static void refused(const char *text, const char *why) {
    struct settings *s = NULL;
    struct err err = {0};
    assert_int_equal(settings_load(put("sallyport.yaml", text), NULL, 0, &s, &err), -1);
    if (!strstr(err.text, why))
        fail_msg("`%s` does not say `%s`", err.text, why);
}

static void everything(void **state) {
    (void)state;
    setenv("SALLYPORT_TEST_KEY", "k1", 1);
    cleanup_settings struct settings *s =
        read_yaml("version: \"1\"\n"
                  "listen: 127.0.0.1:9000\n"
                  "policy: policy.yaml\n"
                  "prefix: conditional\n"
                  "idle: 5m\n"
                  "health: {interval: 1m}\n"
                  "servers:\n"
                  "  files: {command: npx, args: [-y, pkg, 7], policy: /etc/files.yaml, env: {PORT: 8080}}\n"
                  "  stripe:\n"
                  "    url: https://example.com/mcp\n"
                  "    headers: {Authorization: \"Bearer ${SALLYPORT_TEST_KEY}\", X: \"${NOT_SET:-y}\"}\n"
                  "    pii: redact\n"
                  "    share: shared\n"
                  "    idle: never\n"
                  "    health: {interval: never, timeout: 3s}\n"
                  "code: {enabled: false, profile: native, min_tier: 2}\n"
                  "state: {dsn: \"sqlite:\", fail_mode: open}\n"
                  "pii: {mode: off}\n"
                  "approvals: {mode: hold, timeout: 30m}\n"
                  "pins: {lock: sallyport.lock, first_use: ask}\n"
                  "poison: {definitions: strip, results: off}\n"
                  "audit: {arguments: full, keep: 90d}\n");
    assert_true(strstr(s->pins.lock, dir) == s->pins.lock);
    assert_int_equal(s->pins.first_use, SETTINGS_FIRST_ASK);
    assert_int_equal(s->poison.definitions, GUARD_STRIP);
    assert_int_equal(s->poison.results, GUARD_OFF);
    assert_string_equal(s->bind, "127.0.0.1");
    assert_int_equal(s->port, 9000);
    assert_int_equal(s->prefix, SETTINGS_PREFIX_CONDITIONAL);
    assert_true(strstr(s->policy, dir) == s->policy);
    assert_int_equal(s->server_count, 2);
    const struct settings_server *files = &s->servers[0], *stripe = &s->servers[1];
    assert_int_equal(files->argv.count, 4);
    assert_string_equal(files->argv.items[3], "7");
    assert_null(files->argv.items[4]);
    assert_string_equal(files->env.items[0], "PORT=8080");
    assert_string_equal(files->policy, "/etc/files.yaml");
    assert_int_equal(files->idle_ms, 300000);
    assert_int_equal(files->pii, SETTINGS_PII_OFF);
    assert_int_equal(files->type, SETTINGS_STDIO);
    assert_string_equal(stripe->headers.items[0], "Authorization: Bearer k1");
    assert_string_equal(stripe->headers.items[1], "X: y");
    assert_int_equal(stripe->pii, SETTINGS_PII_REDACT);
    assert_int_equal(stripe->share, SETTINGS_SHARED);
    assert_int_equal(stripe->idle_ms, 0);
    assert_int_equal(files->health_ms, 60000);
    assert_int_equal(files->health_timeout_ms, 15000);
    assert_int_equal(stripe->health_ms, 0);
    assert_int_equal(stripe->health_timeout_ms, 3000);
    assert_int_equal(stripe->type, SETTINGS_HTTP);
    assert_false(s->code.enabled);
    assert_int_equal(s->code.min_tier, 2);
    assert_int_equal(s->state.fail_mode, SETTINGS_FAIL_OPEN);
    assert_int_equal(s->approvals.mode, SETTINGS_APPROVALS_HOLD);
    assert_int_equal(s->approvals.timeout_ms, 1800000);
    assert_int_equal(s->audit.arguments, SETTINGS_AUDIT_FULL);
}

static void faults_say_where(void **state) {
    (void)state;
    refused("version: \"1\"\nsevers: {}\n",
            "line 2, column 1: unknown key `severs`, did you mean `servers`?");
    refused("version: \"1\"\nservers:\n  a: {comand: x}\n",
            "line 3, column 7: unknown key `comand`, did you mean `command`?");
    refused("version: \"1\"\naudit: {argument: full}\n", "did you mean `arguments`?");
    refused("version: \"1\"\nprefix: allways\n", "did you mean `always`?");
    refused("version: \"2\"\n", "version `2` is not supported");
    refused("listen: 127.0.0.1:1\n", "`version: \"1\"` is missing");
    refused("version: 1\nlisten: 127.0.0.1:99999\n", "ADDRESS:PORT");
    refused("version: 1\nservers:\n  a: {command: x, env: {A: \"${SALLYPORT_NOT_THERE}\"}}\n",
            "environment variable SALLYPORT_NOT_THERE is not set");
    refused("version: 1\nservers:\n  a: {}\n", "neither `command` nor `url`");
    refused("version: 1\nservers:\n  a: {command: x, url: \"http://a/\"}\n", "both `command` and `url`");
    refused("version: 1\nservers:\n  a: {command: x, type: http}\n", "`type` does not match `command`");
    refused("version: 1\nidle: soon\n", "write a time like");
    refused("version: 1\nhealth: {timeout: never}\n", "health.timeout: write a time like");
    refused("version: 1\nhealth: {timout: 1s}\n", "did you mean `timeout`?");
    refused("version: 1\nservers: [a]\n", "must be a map, not a list");
    refused("version: 1\nversion: 1\n", "line 2");
}

static void names(void **state) {
    (void)state;
    refused("version: 1\nservers:\n  servers: {command: x}\n", "is reserved");
    refused("version: 1\nservers:\n  call: {command: x}\n", "is reserved");
    refused("version: 1\nservers:\n  a__b: {command: x}\n", "separates it from tool names");
    refused("version: 1\nservers:\n  a_: {command: x}\n", "separates it from tool names");
    refused("version: 1\nservers:\n  a/b: {command: x}\n", "letters, digits");
    refused("version: 1\nservers:\n  paypal: {command: x}\n  paypaI: {command: y}\n", "look alike");
    refused("version: 1\nservers:\n  a: {command: x}\n  b: {command: y, prefix: a}\n",
            "prefixes that look alike");
    cleanup_settings struct settings *s =
        read_yaml("version: 1\nservers:\n  a-name-that-is-longer-than-anybody-can-see: {command: x}\n");
    assert_int_equal(strlen(s->servers[0].prefix), 32);
}

static void clients(void **state) {
    (void)state;
    struct err err = {0};
    const char *path =
        put("mcp.json",
            "// what people write\n"
            "{\"globalShortcut\": \"\", \"inputs\": [], /* and */ \"mcpServers\": {\n"
            "  \"My Files\": {\"command\": \"npx\", \"args\": [\"a//b\",], \"autoApprove\": []},\n"
            "  \"web\": {\"type\": \"streamable-http\", \"url\": \"http://127.0.0.1:1/mcp\"},\n"
            "  \"old\": {\"type\": \"sse\", \"url\": \"http://127.0.0.1:1/sse\", \"disabled\": true},\n"
            "}}\n");
    cleanup_settings struct settings *s = NULL;
    if (settings_load(NULL, &path, 1, &s, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(s->server_count, 3);
    assert_string_equal(s->servers[0].name, "My-Files");
    assert_string_equal(s->servers[0].title, "My Files");
    assert_string_equal(s->servers[0].argv.items[1], "a//b");
    assert_int_equal(s->servers[1].type, SETTINGS_HTTP);
    assert_int_equal(s->servers[2].type, SETTINGS_SSE);
    assert_true(s->servers[2].disabled);
    assert_int_equal(s->port, 8640);

    struct settings *none = NULL;
    path = put("mcp.json", "{\"mcpServers\": {\"a\": {\"command\": \"x\"}, \"a\": {\"command\": \"y\"}}}");
    assert_int_equal(settings_load(NULL, &path, 1, &none, &err), -1);
    path = put("mcp.json", "{}");
    assert_int_equal(settings_load(NULL, &path, 1, &none, &err), -1);
    assert_non_null(strstr(err.text, "neither `mcpServers` nor `servers`"));
    assert_int_equal(settings_load("/nowhere/sallyport.yaml", NULL, 0, &none, &err), -1);
}

static void changes(void **state) {
    (void)state;
    const char *head = "version: 1\nservers:\n  a: ";
    const char *variants[] = {"{command: x, args: [1]}", "{command: x, args: [2]}",
                              "{command: x, args: [1], cwd: /}", "{command: x, args: [1], env: {A: b}}",
                              "{url: \"http://a/\"}"};
    char text[256];
    snprintf(text, sizeof(text), "%s%s\n", head, variants[0]);
    cleanup_settings struct settings *first = read_yaml(text);
    for (size_t i = 0; i < ARRAY_LEN(variants); i++) {
        snprintf(text, sizeof(text), "%s%s\n", head, variants[i]);
        cleanup_settings struct settings *other = read_yaml(text);
        assert_int_equal(settings_same_program(&first->servers[0], &other->servers[0]), i == 0);
    }
    snprintf(text, sizeof(text), "%s{command: x, args: [1], policy: p.yaml, idle: 1s}\n", head);
    cleanup_settings struct settings *other = read_yaml(text);
    assert_true(settings_same_program(&first->servers[0], &other->servers[0]));
}

static void listen_forms(void **state) {
    (void)state;
    char host[SETTINGS_HOST_MAX];
    uint16_t port;
    assert_int_equal(settings_parse_listen("[::1]:80", host, &port, NULL), 0);
    assert_string_equal(host, "::1");
    assert_int_equal(port, 80);
    assert_int_equal(settings_parse_listen(":0", host, &port, NULL), 0);
    assert_string_equal(host, "127.0.0.1");
    assert_int_equal(settings_parse_listen("8640", host, &port, NULL), 0);
    assert_int_equal(port, 8640);
    assert_int_equal(settings_parse_listen("a:b", host, &port, NULL), -1);
    assert_int_equal(settings_parse_listen("", host, &port, NULL), -1);
}

/* The file in schemas/ is what the program says. */
static void schema_is_shipped(void **state) {
    (void)state;
    char path[512];
    snprintf(path, sizeof(path), "%s/schemas/sallyport.schema.json", getenv("SALLYPORT_ROOT"));
    cleanup_buf struct buf shipped;
    struct err err = {0};
    buf_init(&shipped, 1u << 20);
    if (io_file_read(path, &shipped, NULL, &err) < 0)
        fail_msg("%s", err.text);
    cleanup_buf struct buf made;
    buf_init(&made, 1u << 20);
    settings_schema(&made);
    if (!slice_eq(buf_slice(&made), buf_slice(&shipped)))
        fail_msg("schemas/sallyport.schema.json is old: write it anew with `sallyport serve --schema`");
}

int main(void) {
    if (!mkdtemp(dir))
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything),
        cmocka_unit_test(faults_say_where),
        cmocka_unit_test(names),
        cmocka_unit_test(clients),
        cmocka_unit_test(changes),
        cmocka_unit_test(listen_forms),
        cmocka_unit_test(schema_is_shipped),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    char path[256];
    snprintf(path, sizeof(path), "%s/sallyport.yaml", dir);
    unlink(path);
    snprintf(path, sizeof(path), "%s/mcp.json", dir);
    unlink(path);
    rmdir(dir);
    return failed;
}
