/* The wrap form: `sallyport -c POLICY [flags] -- CMD ARG…`. Puts the gate in front of one server; the flags
 * are those of Intercept, so that its users change one word. */
#include "approval/approve.h"
#include "base/arena.h"
#include "base/log.h"
#include "cli/command.h"
#include "cli/doctor.h"
#include "cli/site.h"
#include "front/gate.h"
#include "front/settings.h"
#include "guard/guard.h"
#include "io/file.h"
#include "risk/lockfile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECRET_FILE_MAX 4096

struct wrap_options {
    const char *policy;
    const char *name;
    int transport;
    const char *upstream;
    struct cli_list headers;
    struct cli_list header_env;
    struct cli_list env;
    const char *lock;
    int first_use;
    uint64_t pin_max_age_ms;
    int poison;
    int poison_results;
    const char *token_file;
    const char *bind;
    uint64_t port;
    const char *state_dir;
    const char *state_dsn;
    const char *state_prefix;
    int state_fail_mode;
    uint64_t state_timeout_ms;
    int audit_args;
    int audit_hash;
    bool audit_durable;
    uint64_t audit_keep_ms;
    int audit_on_full;
    uint64_t flow_window_ms;
    int approvals;
    int elicitation;
    uint64_t approval_timeout_ms;
    int pii;
    int pii_arguments;
    int pii_scope;
    uint64_t pii_keep_ms;
    const char *pii_rules;
    const char *approval_webhook;
    const char *approval_secret_file;
    const char *otlp;
};

static const char *const transport_names[] = {
    [GATE_STDIO] = "stdio", [GATE_HTTP] = "http", [GATE_SSE] = "sse", NULL};

enum first_use { FIRST_TRUST, FIRST_ASK };
static const char *const first_use_names[] = {[FIRST_TRUST] = "trust", [FIRST_ASK] = "ask", NULL};

static const char *const poison_names[] = {
    [GUARD_OFF] = "off",   [GUARD_FLAG] = "flag", [GUARD_STRIP] = "strip",
    [GUARD_HIDE] = "hide", [GUARD_DENY] = "deny", NULL};

static const char *const audit_hash_names[] = {"always", "needed", NULL};
static const char *const audit_args_names[] = {
    [AUDIT_ARGS_KEYS] = "keys", [AUDIT_ARGS_TOKENIZED] = "tokenized", [AUDIT_ARGS_FULL] = "full", NULL};

static const char *const pii_names[] = {
    [FILTER_OFF] = "off",     [FILTER_TOKENIZE] = "tokenize", [FILTER_REDACT] = "redact",
    [FILTER_BLOCK] = "block", [FILTER_REPORT] = "report",     NULL};
static const char *const pii_arguments_names[] = {[PII_ARGUMENTS_AUTO] = "auto",
                                                  [PII_ARGUMENTS_OFF] = "off",
                                                  [PII_ARGUMENTS_REPORT] = "report",
                                                  [PII_ARGUMENTS_BLOCK] = "block",
                                                  NULL};
static const char *const pii_scope_names[] = {
    [VAULT_SESSION] = "session", [VAULT_GRANT] = "grant", [VAULT_ORGANISATION] = "organisation", NULL};

enum on_full { FULL_REFUSE, FULL_PASS };
static const char *const on_full_names[] = {[FULL_REFUSE] = "refuse", [FULL_PASS] = "pass", NULL};

static const char *const approvals_names[] = {[APPROVE_AUTO] = "auto",
                                              [APPROVE_ELICIT] = "elicit",
                                              [APPROVE_RETRY] = "retry",
                                              [APPROVE_HOLD] = "hold",
                                              NULL};

enum elicitation { ELICITATION_BY_TRANSPORT, ELICITATION_OFF, ELICITATION_TRUSTED };
static const char *const elicitation_names[] = {
    [ELICITATION_BY_TRANSPORT] = "auto", [ELICITATION_OFF] = "off", [ELICITATION_TRUSTED] = "trusted", NULL};

enum fail_mode { FAIL_CLOSED, FAIL_OPEN };
static const char *const fail_mode_names[] = {[FAIL_CLOSED] = "closed", [FAIL_OPEN] = "open", NULL};

static const struct cli_option wrap_rows[] = {
    {CLI_TEXT(struct wrap_options, policy), .name = "config", .letter = 'c', .argument = "POLICY",
     .required = true, .help = "the policy file (YAML or JSON)"},
    {CLI_TEXT(struct wrap_options, name), .name = "name", .argument = "NAME",
     .help = "the server's name in policies, counters, audit and logs; by default its package or program"},
    {CLI_CHOICE(struct wrap_options, transport), .name = "transport", .choices = transport_names,
     .fallback = "stdio", .help = "how clients reach the gate"},
    {CLI_TEXT(struct wrap_options, upstream), .name = "upstream", .argument = "URL",
     .help = "the MCP server to guard, over HTTP"},
    {CLI_LIST(struct wrap_options, headers), .name = "header", .argument = "NAME: VALUE",
     .help = "a header for every request to the upstream server"},
    {CLI_LIST(struct wrap_options, header_env), .name = "header-env", .argument = "NAME: [PREFIX ]VARIABLE",
     .help = "the same with the value of an environment variable, which no list of processes shows"},
    {CLI_LIST(struct wrap_options, env), .name = "env", .argument = "NAME[=VALUE]",
     .help = "a variable for the server's environment; NAME alone copies the gate's own"},
    {CLI_TEXT(struct wrap_options, bind), .name = "bind", .argument = "ADDRESS", .fallback = "127.0.0.1",
     .help = "address to listen on, with --transport http or sse"},
    {CLI_NUMBER(struct wrap_options, port), .name = "port", .argument = "PORT", .fallback = "0", .max = 65535,
     .help = "port to listen on; 0 takes a free one; the URL is printed on stderr"},
    {CLI_TEXT(struct wrap_options, token_file), .name = "token-file", .argument = "FILE",
     .help = "clients must show the token in this file as a bearer token; needed off the loopback"},
    {CLI_TEXT(struct wrap_options, lock), .name = "lock", .argument = "FILE",
     .help =
         "serve only tools whose definitions are accepted in this file, or `off`; by default sallyport.lock "
         "in this directory, if there is one; see `sallyport pin`"},
    {CLI_CHOICE(struct wrap_options, first_use), .name = "first-use", .choices = first_use_names,
     .fallback = "trust",
     .help = "a server that the lock does not know yet: accept it, or wait for `pin accept`"},
    {CLI_DURATION(struct wrap_options, pin_max_age_ms), .name = "pin-max-age", .argument = "TIME",
     .fallback = "0",
     .help = "how old what is known of a tool may be when it is called; 0 asks the server every time"},
    {CLI_CHOICE(struct wrap_options, poison), .name = "poison", .choices = poison_names, .fallback = "deny",
     .help = "what happens to definitions and instructions that carry an attack"},
    {CLI_CHOICE(struct wrap_options, poison_results), .name = "poison-results", .choices = poison_names,
     .fallback = "flag", .help = "the same for results"},
    {CLI_TEXT(struct wrap_options, state_dir), .name = "state-dir", .argument = "DIR",
     .help = "where counters are kept"},
    {CLI_TEXT(struct wrap_options, state_dsn), .name = "state-dsn", .argument = "DSN",
     .help = "a shared store for counters instead of a local one"},
    {CLI_TEXT(struct wrap_options, state_prefix), .name = "state-prefix", .argument = "TEXT",
     .help = "put in front of every key in a shared store"},
    {CLI_CHOICE(struct wrap_options, state_fail_mode), .name = "state-fail-mode", .choices = fail_mode_names,
     .fallback = "closed", .help = "what happens to limited calls when the store fails"},
    {CLI_DURATION(struct wrap_options, state_timeout_ms), .name = "state-timeout", .argument = "TIME",
     .fallback = "1s", .help = "how long a limited call waits for a shared store"},
    {CLI_CHOICE(struct wrap_options, audit_args), .name = "audit-args", .choices = audit_args_names,
     .fallback = "keys",
     .help = "what the audit log keeps of arguments: their names, all of them, or all with values as tokens"},
    {CLI_CHOICE(struct wrap_options, audit_hash), .name = "audit-hash", .choices = audit_hash_names,
     .fallback = "always",
     .help =
         "whose arguments are hashed for the audit log: of all calls, or of those that a person approves"},
    {CLI_SWITCH(struct wrap_options, audit_durable), .name = "audit-durable",
     .help = "make a call only when its record is safely on disk"},
    {CLI_DURATION(struct wrap_options, audit_keep_ms), .name = "audit-keep", .argument = "TIME",
     .fallback = "0s",
     .help = "retire parts of the audit log that are older, 90d for instance; 0s keeps everything"},
    {CLI_CHOICE(struct wrap_options, audit_on_full), .name = "audit-on-full", .choices = on_full_names,
     .fallback = "refuse", .help = "what happens to calls when the audit log is full or fails"},
    {CLI_DURATION(struct wrap_options, flow_window_ms), .name = "flow-window", .argument = "TIME",
     .fallback = "8h", .help = "how long an identity keeps the flow labels that its calls gather"},
    {CLI_CHOICE(struct wrap_options, approvals), .name = "approvals", .choices = approvals_names,
     .fallback = "auto",
     .help = "how a person is asked: auto asks at the client if it can, else the agent retries the call; "
             "hold keeps the call waiting"},
    {CLI_CHOICE(struct wrap_options, elicitation), .name = "elicitation", .choices = elicitation_names,
     .fallback = "auto",
     .help = "does a person sit at the client, so that its answer to an approval question counts? auto: on "
             "stdio yes, over HTTP only for grants with the role person"},
    {CLI_DURATION(struct wrap_options, approval_timeout_ms), .name = "approval-timeout", .argument = "TIME",
     .fallback = "30m", .help = "how long a call may wait for approval, where the policy says nothing"},
    {CLI_CHOICE(struct wrap_options, pii), .name = "pii", .choices = pii_names, .fallback = "off",
     .help = "what happens to personal data and secrets in results; see `sallyport help pii`"},
    {CLI_CHOICE(struct wrap_options, pii_arguments), .name = "pii-arguments", .choices = pii_arguments_names,
     .fallback = "auto",
     .help = "what happens to them in arguments; auto: with --pii block they are refused there too, with "
             "tokenize and redact secrets that the server has not returned itself"},
    {CLI_CHOICE(struct wrap_options, pii_scope), .name = "pii-scope", .choices = pii_scope_names,
     .fallback = "session", .help = "where one value has one token; beyond a session they are kept, sealed"},
    {CLI_DURATION(struct wrap_options, pii_keep_ms), .name = "pii-keep", .argument = "TIME",
     .fallback = "30d", .help = "how long the value behind a token is kept"},
    {CLI_TEXT(struct wrap_options, pii_rules), .name = "pii-rules", .argument = "FILE",
     .help = "modes by server, tool, kind and grant; which servers may receive values; custom kinds"},
    {CLI_TEXT(struct wrap_options, approval_webhook), .name = "approval-webhook", .argument = "URL",
     .help = "URL that gets a signed POST for each call that waits for approval; with --transport http or "
             "sse it can answer at /api/v1/approvals/callback"},
    {CLI_TEXT(struct wrap_options, approval_secret_file), .name = "approval-secret-file", .argument = "FILE",
     .help = "holds the secret that signs webhooks and callbacks"},
    {CLI_TEXT(struct wrap_options, otlp), .name = "otlp", .argument = "URL",
     .help = "send a trace of each call to this OTLP/HTTP collector"},
    {0},
};

static int wrap_check(const struct wrap_options *opt, const struct cli_rest *rest, struct err *err) {
    if (opt->upstream && rest->command)
        return err_set(err, "give either --upstream or a command after `--`, not both");
    if (!opt->upstream && !rest->command)
        return err_set(err, "nothing to guard: give a command after `--`, or --upstream URL");
    if ((opt->headers.count > 0 || opt->header_env.count > 0) && !opt->upstream)
        return err_set(err, "--header and --header-env go with --upstream");
    if (opt->env.count > 0 && !rest->command)
        return err_set(err, "--env needs a command after `--`");
    const char *fault = opt->name ? settings_name_fault(slice_str(opt->name)) : NULL;
    if (fault)
        return err_set(err, "--name `%s` %s", opt->name, fault);
    for (size_t i = 0; i < opt->headers.count; i++)
        if (!strchr(opt->headers.items[i], ':'))
            return err_set(err, "--header `%s`: write it as `Name: value`", opt->headers.items[i]);
    if (opt->approval_webhook && !opt->approval_secret_file)
        return err_set(err, "--approval-webhook needs --approval-secret-file: without it the receiver cannot "
                            "authenticate the message");
    return 0;
}

/* The text of the file, without the white space around it. */
static int read_secret(const char *path, struct buf *text, const char **ret_secret, struct err *err) {
    buf_init(text, SECRET_FILE_MAX);
    if (io_file_read(path, text, NULL, err) < 0)
        return err_wrap(err, "--approval-secret-file");
    if (!buf_put_char(text, '\n')) /* room for the end of the text */
        return err_set(err, "--approval-secret-file `%s`: too long", path);
    struct slice secret = slice_trim(buf_slice(text));
    text->ptr[secret.ptr + secret.len - text->ptr] = '\0';
    *ret_secret = text->ptr + (secret.ptr - text->ptr);
    return 0;
}

/* The headers to send: those of the command line, then those with values from the environment. */
static int read_headers(const struct wrap_options *opt, struct arena *a, struct cli_list *ret_list,
                        struct err *err) {
    *ret_list = opt->headers;
    for (size_t i = 0; i < opt->header_env.count; i++) {
        const char *line = opt->header_env.items[i], *space = strrchr(line, ' ');
        if (!strchr(line, ':') || !space || !space[1])
            return err_set(err, "--header-env `%s`: write it as `Name: VARIABLE`", line);
        const char *value = getenv(space + 1);
        if (!value)
            return err_set(err, "--header-env: the environment has no %s", space + 1);
        if (ret_list->count == CLI_LIST_MAX)
            return err_set(err, "more than %d headers", CLI_LIST_MAX);
        ret_list->items[ret_list->count++] =
            arena_printf(a, "%.*s%s", (int)(space + 1 - line), line, value).ptr;
    }
    return 0;
}

static int wrap_run(const void *options, const struct cli_rest *rest) {
    const struct wrap_options *opt = options;
    struct err err = {0};
    if (wrap_check(opt, rest, &err) < 0)
        return cli_fail(CLI_USAGE, &err);
    char home[CLI_PATH_MAX];
    cleanup_arena struct arena arena;
    struct cli_list headers;
    arena_init(&arena);
    if (cli_home(home, &err) < 0 || read_headers(opt, &arena, &headers, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);

    struct gate_config config = {
        .policy_path = opt->policy,
        .name = opt->name,
        .transport = (enum gate_transport)opt->transport,
        .bind = opt->bind,
        .port = (uint16_t)opt->port,
        .command = rest->command,
        .upstream_url = opt->upstream,
        .headers = headers.items,
        .header_count = headers.count,
        .env = opt->env.items,
        .env_count = opt->env.count,
        .lock_path = guard_lock_path(opt->lock, RISK_LOCK_NAME),
        .pins_ask = opt->first_use == FIRST_ASK,
        .pins_max_age_ms = opt->pin_max_age_ms,
        .poison = opt->poison,
        .poison_results = opt->poison_results,
        .token_file = opt->token_file,
        .home = home,
        .state_dir = opt->state_dir ? opt->state_dir : home,
        .state_dsn = opt->state_dsn,
        .state_prefix = opt->state_prefix,
        .state_fail_open = opt->state_fail_mode == FAIL_OPEN,
        .state_timeout_ms = opt->state_timeout_ms,
        .audit_args = (enum audit_args_mode)opt->audit_args,
        .audit_hash_needed = opt->audit_hash != 0,
        .audit_durable = opt->audit_durable,
        .audit_keep_ms = opt->audit_keep_ms,
        .audit_pass = opt->audit_on_full == FULL_PASS,
        .flow_window_ms = opt->flow_window_ms,
        .approvals_mode = opt->approvals,
        .approvals_persons = opt->elicitation == ELICITATION_TRUSTED ||
                             (opt->elicitation == ELICITATION_BY_TRANSPORT && opt->transport == GATE_STDIO),
        .approvals_timeout_ms = opt->approval_timeout_ms,
        .pii = {.mode = (enum filter_mode)opt->pii,
                .arguments = (enum pii_arguments)opt->pii_arguments,
                .scope = (enum vault_reach)opt->pii_scope,
                .keep_ms = opt->pii_keep_ms,
                .rules = opt->pii_rules},
        .approvals_webhook = opt->approval_webhook,
        .trace_url = opt->otlp,
    };
    cleanup_buf struct buf secret;
    buf_init(&secret, SECRET_FILE_MAX + 1);
    if (opt->approval_secret_file &&
        read_secret(opt->approval_secret_file, &secret, &config.approvals_secret, &err) < 0)
        return cli_fail(CLI_CONFIG, &err);
    struct cli_site site;
    cli_site_add(&site, &config);
    _Static_assert((int)CLI_FAILED == (int)GATE_STORE_FAILED, "what scripts rely on");
    /* A gate that does not start has a configuration error unless it reports another. */
    int status = CLI_CONFIG;
    if (gate_run(&config, &status, &err) == 0)
        return status;
    cli_fail((enum cli_exit)status, &err);
    const char *fix = slice_starts(slice_str(err.text), SLICE("listen on ")) ? NULL : cli_start_fix(err.text);
    if (fix)
        fprintf(stderr, "fix: %s\n", fix);
    return status;
}

static const char *const wrap_synopses[] = {
    "-c POLICY [flags] -- CMD ARG...",
    "-c POLICY [flags] --upstream URL",
    "-c POLICY --transport http|sse [--bind ADDRESS] [--port PORT] (-- CMD ARG... | --upstream URL)",
    NULL,
};

static const struct cli_example wrap_examples[] = {
    {"sallyport -c policy.yaml -- npx -y @modelcontextprotocol/server-filesystem /srv/data",
     "guard a stdio server; clients start this line instead of the server"},
    {"sallyport -c policy.yaml --transport http --port 8640 -- python3 server.py",
     "the same server, reached over HTTP"},
    {"sallyport -c policy.yaml --upstream https://example.com/mcp --header \"Authorization: Bearer KEY\"",
     "guard a remote server; the key stays here, the agent never sees it"},
    {0},
};

const struct cli_command cli_wrap = {
    .name = "",
    .summary = "put the gate in front of one MCP server",
    .detail = "Starts the server (or connects to it), and forwards what the policy allows. "
              "On stdio, stdin and stdout carry the protocol and nothing else; everything for people goes to "
              "stderr. Signals reach the server, and its exit status becomes that of the gate.",
    .synopses = wrap_synopses,
    .options = wrap_rows,
    .options_size = sizeof(struct wrap_options),
    .takes_command = true,
    .examples = wrap_examples,
    .run = wrap_run,
};
