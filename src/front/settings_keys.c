#include "front/settings_keys.h"

#include "base/check.h"
#include "base/log.h"
#include "guard/guard.h"
#include "many/many.h"
#include "wire/emit.h"

#include <stdio.h>
#include <string.h>

static const char *const type_names[] = {[SETTINGS_AUTO] = "auto",
                                         [SETTINGS_STDIO] = "stdio",
                                         [SETTINGS_HTTP] = "http",
                                         [SETTINGS_SSE] = "sse",
                                         NULL};
static const char *const share_names[] = {
    [SETTINGS_PER_SESSION] = "per-session", [SETTINGS_SHARED] = "shared", NULL};
static const char *const prefix_names[] = {[SETTINGS_PREFIX_ALWAYS] = "always",
                                           [SETTINGS_PREFIX_CONDITIONAL] = "conditional",
                                           [SETTINGS_PREFIX_NEVER] = "never",
                                           NULL};
static const char *const discovery_names[] = {
    [MANY_DISCOVERY_ALL] = "all", [MANY_DISCOVERY_LAZY] = "lazy", [MANY_DISCOVERY_HYBRID] = "hybrid", NULL};
static const char *const pii_names[] = {
    [SETTINGS_PII_OFF] = "off",     [SETTINGS_PII_TOKENIZE] = "tokenize", [SETTINGS_PII_REDACT] = "redact",
    [SETTINGS_PII_BLOCK] = "block", [SETTINGS_PII_REPORT] = "report",     NULL};
static const char *const pii_arguments_names[] = {[SETTINGS_PII_ARGUMENTS_AUTO] = "auto",
                                                  [SETTINGS_PII_ARGUMENTS_OFF] = "off",
                                                  [SETTINGS_PII_ARGUMENTS_REPORT] = "report",
                                                  [SETTINGS_PII_ARGUMENTS_BLOCK] = "block",
                                                  NULL};
static const char *const pii_scope_names[] = {[SETTINGS_PII_SESSION] = "session",
                                              [SETTINGS_PII_GRANT] = "grant",
                                              [SETTINGS_PII_ORGANISATION] = "organisation",
                                              NULL};
static const char *const audit_names[] = {[SETTINGS_AUDIT_KEYS] = "keys",
                                          [SETTINGS_AUDIT_TOKENIZED] = "tokenized",
                                          [SETTINGS_AUDIT_FULL] = "full",
                                          NULL};
static const char *const hash_names[] = {
    [SETTINGS_HASH_ALWAYS] = "always", [SETTINGS_HASH_NEEDED] = "needed", NULL};
static const char *const elicitation_names[] = {
    [SETTINGS_ELICITATION_OFF] = "off", [SETTINGS_ELICITATION_TRUSTED] = "trusted", NULL};
static const char *const approval_names[] = {[SETTINGS_APPROVALS_AUTO] = "auto",
                                             [SETTINGS_APPROVALS_ELICIT] = "elicit",
                                             [SETTINGS_APPROVALS_RETRY] = "retry",
                                             [SETTINGS_APPROVALS_HOLD] = "hold",
                                             NULL};
static const char *const webhook_names[] = {
    [SETTINGS_WEBHOOK_JSON] = "json", [SETTINGS_WEBHOOK_SLACK] = "slack", NULL};
static const char *const first_use_names[] = {
    [SETTINGS_FIRST_TRUST] = "trust", [SETTINGS_FIRST_ASK] = "ask", NULL};
static const char *const poison_names[] = {
    [GUARD_OFF] = "off",   [GUARD_FLAG] = "flag", [GUARD_STRIP] = "strip",
    [GUARD_HIDE] = "hide", [GUARD_DENY] = "deny", NULL};
static const char *const full_names[] = {
    [SETTINGS_FULL_REFUSE] = "refuse", [SETTINGS_FULL_PASS] = "pass", NULL};
static const char *const log_names[] = {
    [SETTINGS_LOG_DEFAULT] = "default",         [SETTINGS_LOG_DEBUG + LOG_DEBUG] = "debug",
    [SETTINGS_LOG_DEBUG + LOG_INFO] = "info",   [SETTINGS_LOG_DEBUG + LOG_WARN] = "warn",
    [SETTINGS_LOG_DEBUG + LOG_ERROR] = "error", NULL};
static const char *const fail_names[] = {
    [SETTINGS_FAIL_CLOSED] = "closed", [SETTINGS_FAIL_OPEN] = "open", NULL};
static const char *const loss_names[] = {
    [SETTINGS_LOSS_REFUSE] = "refuse", [SETTINGS_LOSS_DATABASE] = "database", NULL};

#define AT(member) offsetof(struct settings, member)
#define SERVER_AT(member) offsetof(struct settings_server, member)

#define CODE_CEILING(of, whose)                                                                              \
    {"concurrent", KEY_INT, AT(code.limits.of.runs), .help = "runs at once" whose, .at_start = true},        \
        {"memory_mb", KEY_INT, AT(code.limits.of.memory_mb),                                                 \
         .help = "MB that running code and parked sessions may take together" whose, .at_start = true},      \
        {"cpu_seconds_per_minute", KEY_INT, AT(code.limits.of.cpu_s),                                        \
         .help = "processor time" whose ", then runs wait", .at_start = true},                               \
    {                                                                                                        \
        "wall_seconds_per_minute", KEY_INT, AT(code.limits.of.wall_s),                                       \
            .help = "running time" whose ", then runs wait", .at_start = true                                \
    }

static const struct settings_key code_grant_keys[] = {CODE_CEILING(grant, " of one grant"), {0}};
static const struct settings_key code_limits_keys[] = {
    CODE_CEILING(all, " of all grants"),
    {"run_memory_mb", KEY_INT, AT(code.limits.run_memory_mb), .help = "MB that one run may ask for",
     .at_start = true},
    {"run_timeout", KEY_DURATION, AT(code.limits.run_timeout_ms), .help = "how long one run may take",
     .at_start = true},
    {"grant", KEY_SECTION, .keys = code_grant_keys, .help = "ceilings for each grant"},
    {0},
};
static const struct settings_key code_network_keys[] = {
    {"allow", KEY_LIST, AT(code.network.allow),
     .help = "where code may connect to: HOST:PORT, *.HOST:PORT, ADDRESS:PORT, NETWORK/BITS:PORT",
     .at_start = true},
    {"inject", KEY_INJECT, AT(code.network.inject),
     .help = "by host: headers that the gate adds to code's requests over TLS; code never sees them",
     .at_start = true},
    {0},
};
static const struct settings_key code_packages_keys[] = {
    {"allow", KEY_LIST, AT(code.packages.allow),
     .help = "packages that agents may install: NAME, NAME==VERSION, npm:NAME, NAME@VERSION, data-science",
     .at_start = true},
    {0},
};
static const struct settings_key code_keys[] = {
    {"enabled", KEY_BOOL, AT(code.enabled), .help = "offer the built-in code server", .at_start = true},
    {"profile", KEY_TEXT, AT(code.profile), .help = "the set of tools that it shows", .at_start = true},
    {"min_tier", KEY_INT, AT(code.min_tier), .help = "the weakest sandbox that may run code",
     .at_start = true},
    {"uids", KEY_TEXT, AT(code.uids),
     .help = "FIRST-LAST: as root, each sandbox gets its own uid from here; none: all share one",
     .at_start = true},
    {"bash", KEY_BOOL, AT(code.bash),
     .help = "run bash and programs of the system, inside the sandbox; off by default", .at_start = true},
    {"max_calls", KEY_INT, AT(code.max_calls), .help = "tool calls that one run may make", .at_start = true},
    {"policy", KEY_PATH, AT(code.policy), .help = "its policy, instead of the default"},
    {"limits", KEY_SECTION, .keys = code_limits_keys, .help = "ceilings of runs, per grant and in total"},
    {"network", KEY_SECTION, .keys = code_network_keys,
     .help = "connections that code may make; none by default"},
    {"packages", KEY_SECTION, .keys = code_packages_keys, .or_list = true,
     .help = "packages that code may import; what `sallyport code packages add` installed needs no entry"},
    {0},
};
static const char interval_help[] = "time without messages before a health check; never: no health checks";
static const char timeout_help[] =
    "time-out of a health check; then the server is restarted, or connected again";
static const struct settings_key health_keys[] = {
    {"interval", KEY_DURATION, AT(health_ms), .help = interval_help},
    {"timeout", KEY_DURATION, AT(health_timeout_ms), .help = timeout_help},
    {0},
};
static const struct settings_key server_health_keys[] = {
    {"interval", KEY_DURATION, SERVER_AT(health_ms), .help = interval_help},
    {"timeout", KEY_DURATION, SERVER_AT(health_timeout_ms), .help = timeout_help},
    {0},
};
static const struct settings_key discovery_keys[] = {
    {"mode", KEY_CHOICE, AT(discovery.mode), discovery_names,
     .help = "tools that /mcp lists: all, those that find and call others (lazy), or these and the most used "
             "(hybrid)"},
    {"keep", KEY_INT, AT(discovery.keep), .help = "how many of the most used a hybrid list shows"},
    {"timeout", KEY_DURATION, AT(discovery.timeout_ms),
     .help = "how long a list of all servers waits for the slowest; 15s by default"},
    {0},
};
static const struct settings_key state_keys[] = {
    {"dsn", KEY_TEXT, AT(state.dsn), .help = "where the counters of limits are kept", .at_start = true},
    {"database", KEY_TEXT, AT(state.database),
     .help =
         "PostgreSQL for what a fleet shares and must last: grants, approvals, stops, values behind tokens, "
         "pins, sign-ins, logins at servers, versions",
     .at_start = true},
    {"dir", KEY_PATH, AT(state.dir), .help = "the directory of the embedded store", .at_start = true},
    {"prefix", KEY_TEXT, AT(state.prefix), .help = "put in front of every key in a shared store",
     .at_start = true},
    {"fail_mode", KEY_CHOICE, AT(state.fail_mode), fail_names, .help = "limited calls when the store fails",
     .at_start = true},
    {"timeout", KEY_DURATION, AT(state.timeout_ms),
     .help = "how long a limited call waits for counters in Redis or PostgreSQL; 1s by default",
     .at_start = true},
    {"lease", KEY_INT, AT(state.lease),
     .help = "calls of a large limit that a gate counts in Redis at once; 0 by default: each by itself",
     .at_start = true},
    {"after_loss", KEY_CHOICE, AT(state.after_loss), loss_names,
     .help = "calls in open windows when Redis lost writes: refuse, or count on from marks in `database`",
     .at_start = true},
    {0},
};
static const struct settings_key pii_keys[] = {
    {"mode", KEY_CHOICE, AT(pii.mode), pii_names,
     .help = "what happens to personal data and secrets in results"},
    {"arguments", KEY_CHOICE, AT(pii.arguments), pii_arguments_names,
     .help = "what happens to them in what clients send; auto: block with mode block, block secrets with "
             "tokenize and redact, report with report"},
    {"scope", KEY_CHOICE, AT(pii.scope), pii_scope_names, .help = "where one value has one token",
     .at_start = true},
    {"keep", KEY_DURATION, AT(pii.keep_ms), .help = "how long the value behind a token is kept"},
    {"rules", KEY_PATH, AT(pii.rules),
     .help = "a file: modes by server, tool, kind and grant; which servers may receive values; custom kinds"},
    {0},
};
static const struct settings_key flows_keys[] = {
    {"window", KEY_DURATION, AT(flows.window_ms),
     .help = "how long an identity keeps the flow labels that its calls gather; 8h by default"},
    {0},
};
static const struct settings_key approvals_keys[] = {
    {"mode", KEY_CHOICE, AT(approvals.mode), approval_names,
     .help = "how a person is asked to approve a call"},
    {"elicitation", KEY_CHOICE, AT(approvals.elicitation), elicitation_names,
     .help = "`trusted`: every client has a user, and the client's answer to an approval request counts; "
             "`off`: only for grants with the role person"},
    {"timeout", KEY_DURATION, AT(approvals.timeout_ms), .help = "how long an approval request stays open"},
    {"webhook", KEY_TEXT, AT(approvals.webhook),
     .help = "a URL that gets each request for approval; needs a secret"},
    {"format", KEY_CHOICE, AT(approvals.format), webhook_names,
     .help = "what the webhook gets: JSON, or a message for a Slack channel"},
    {"secret", KEY_TEXT, AT(approvals.secret),
     .help = "signs webhooks and callbacks, at least 16 characters: ${NAME} keeps it out of this file"},
    {0},
};
static const struct settings_key traces_keys[] = {
    {"otlp", KEY_TEXT, AT(traces.otlp),
     .help = "URL of an OTLP/HTTP collector that gets a span of each call"},
    {0},
};
static const struct settings_key pins_keys[] = {
    {"lock", KEY_PATH, AT(pins.lock),
     .help =
         "file of accepted definitions: no other is served; by default sallyport.lock beside this file, if "
         "there is one; or off"},
    {"first_use", KEY_CHOICE, AT(pins.first_use), first_use_names,
     .help = "a server that is not in the lock: accept it, or wait for `pin accept`"},
    {"max_age", KEY_DURATION, AT(pins.max_age_ms),
     .help = "maximum age of a known tool definition at a call; 0: the server is asked every time"},
    {0},
};
static const struct settings_key poison_keys[] = {
    {"definitions", KEY_CHOICE, AT(poison.definitions), poison_names,
     .help = "definitions and instructions that contain an attack"},
    {"results", KEY_CHOICE, AT(poison.results), poison_names, .help = "results that contain an attack"},
    {0},
};
static const struct settings_key ship_keys[] = {
    {"dsn", KEY_TEXT, AT(audit.ship.dsn),
     .help = "PostgreSQL that gets a copy of the log; gates with the same one are a fleet", .at_start = true},
    {"gate", KEY_TEXT, AT(audit.ship.gate),
     .help = "the name of this gate there; host name and home by default", .at_start = true},
    {"keep", KEY_DURATION, AT(audit.ship.keep_ms),
     .help = "age after which the database drops a day of the log; never by default", .at_start = true},
    {"backlog_mb", KEY_INT, AT(audit.ship.backlog_mb),
     .help = "megabytes that may wait for the database; above, calls are refused; 8192 by default",
     .at_start = true},
    {0},
};
static const struct settings_key audit_keys[] = {
    {"arguments", KEY_CHOICE, AT(audit.arguments), audit_names, .help = "what the log keeps of arguments"},
    {"hash", KEY_CHOICE, AT(audit.hash), hash_names,
     .help = "calls whose arguments are hashed for the log: all, or those that a person approves"},
    {"durable", KEY_BOOL, AT(audit.durable), .help = "make a call only when its record is on disk",
     .at_start = true},
    {"keep", KEY_DURATION, AT(audit.keep_ms), .help = "age after which parts of the log are retired",
     .at_start = true},
    {"segment_mb", KEY_INT, AT(audit.segment_mb), .help = "megabytes of one part of the log; 512 by default",
     .at_start = true},
    {"on_full", KEY_CHOICE, AT(audit.on_full), full_names, .help = "calls when the log is full or fails",
     .at_start = true},
    {"ship", KEY_SECTION, .keys = ship_keys, .help = "copies the log to the PostgreSQL database of a fleet"},
    {0},
};
static const struct settings_key log_keys[] = {
    {"level", KEY_CHOICE, AT(log.level), log_names,
     .help = "the lowest level that is logged; by default that of --log-level"},
    {"server_lines", KEY_INT, AT(log.server_lines),
     .help =
         "lines of one server's stderr that are written in a second, the rest is counted; 200 by default"},
    {0},
};
static const struct settings_key request_state_keys[] = {
    {"key", KEY_PATH, AT(request_state.key),
     .help = "the file of its encryption keys, for gates that serve the same clients; by default in the home",
     .at_start = true},
    {"keep", KEY_DURATION, AT(request_state.keep_ms),
     .help = "how long a server's request waits for a modern client's answer; by default 10 minutes",
     .at_start = true},
    {0},
};
#define ISSUER_AT(member) offsetof(struct settings_issuer, member)
#define RULE_AT(member) offsetof(struct settings_rule, member)

static const struct settings_key issuer_console_keys[] = {
    {"client_id", KEY_TEXT, ISSUER_AT(console.client_id), .help = "the client id of the console"},
    {"client_secret", KEY_TEXT, ISSUER_AT(console.client_secret),
     .help = "secret of a confidential client: ${NAME} keeps it out of this file"},
    {"scopes", KEY_LIST, ISSUER_AT(console.scopes),
     .help = "scopes to request; by default openid, profile and email"},
    {"session", KEY_DURATION, ISSUER_AT(console.session_ms),
     .help = "how long a user stays signed in, at most 12h; by default 1h"},
    {"sign_out", KEY_BOOL, ISSUER_AT(console.sign_out),
     .help = "signing out of the console ends the session at the provider, too"},
    {0},
};
static const struct settings_key issuer_keys[] = {
    {"issuer", KEY_TEXT, ISSUER_AT(issuer), .help = "its URL, exactly as its tokens name it"},
    {"audience", KEY_LIST, ISSUER_AT(audience), .help = "the audience of tokens; by default the resource"},
    {"jwks", KEY_TEXT, ISSUER_AT(jwks), .help = "the URL of its keys, if discovery does not find it"},
    {"algorithms", KEY_LIST, ISSUER_AT(algorithms),
     .help = "accepted signature algorithms; by default all supported ones"},
    {"scopes", KEY_LIST, ISSUER_AT(scopes), .help = "scopes that a token must have"},
    {"skew", KEY_DURATION, ISSUER_AT(skew_ms), .help = "how far clocks may differ; by default a minute"},
    {"console", KEY_SECTION, .keys = issuer_console_keys,
     .help = "sign-in to the console with this provider"},
    {0},
};
static const struct settings_key rule_keys[] = {
    {"when", KEY_CLAIMS, RULE_AT(when),
     .help = "claims and their required values; a list must contain the value"},
    {"grant", KEY_TEXT, RULE_AT(grant), .help = "has the permissions of this grant"},
    {"servers", KEY_LIST, RULE_AT(servers), .help = "patterns of servers; by default all"},
    {"tools", KEY_LIST, RULE_AT(tools), .help = "patterns of tools; by default all"},
    {"policy", KEY_PATH, RULE_AT(policy), .help = "its policy, instead of the server's or the default"},
    {"limits", KEY_TEXT, RULE_AT(limits), .help = "the name under which limits of scope grant are counted"},
    {"roles", KEY_LIST, RULE_AT(roles), .help = "admin, policy-manager, approver, viewer"},
    {0},
};
static const struct settings_key auth_keys[] = {
    {"resource", KEY_TEXT, AT(auth.resource),
     .help = "the URL under which clients know the gate, without a path"},
    {"issuers", KEY_EACH, AT(auth.issuers), .keys = issuer_keys, .size = sizeof(struct settings_issuer),
     .help = "identity providers whose tokens are accepted"},
    {"rules", KEY_EACH, AT(auth.rules), .keys = rule_keys, .size = sizeof(struct settings_rule),
     .help = "permissions of clients with tokens or certificates; the first matching entry counts"},
    {0},
};
static const struct settings_key tls_keys[] = {
    {"cert", KEY_PATH, AT(tls.cert), .help = "the gate's certificate, with its chain (PEM)",
     .at_start = true},
    {"key", KEY_PATH, AT(tls.key), .help = "its private key (PEM)", .at_start = true},
    {"client_ca", KEY_PATH, AT(tls.client_ca),
     .help = "authorities whose client certificates are accepted (PEM)", .at_start = true},
    {0},
};
static const struct settings_key fleet_keys[] = {
    {"listen", KEY_TEXT, AT(fleet.listen), .help = "ADDRESS:PORT for requests of the other gates",
     .at_start = true},
    {"address", KEY_TEXT, AT(fleet.address),
     .help = "HOST:PORT under which this gate is in `nodes`; by default what `listen` says",
     .at_start = true},
    {"nodes", KEY_LIST, AT(fleet.nodes),
     .help = "HOST:PORT of every gate, this one included: the same list at all", .at_start = true},
    {"cert", KEY_PATH, AT(fleet.cert), .help = "the certificate that this gate shows to the others (PEM)",
     .at_start = true},
    {"key", KEY_PATH, AT(fleet.key), .help = "its private key (PEM)", .at_start = true},
    {"ca", KEY_PATH, AT(fleet.ca),
     .help = "the authority of this fleet and of nothing else: a holder of its certificates may forward "
             "requests (PEM)",
     .at_start = true},
    {0},
};
static const struct settings_key drain_keys[] = {
    {"not_ready", KEY_DURATION, AT(drain.not_ready_ms),
     .help = "at shutdown: how long /readyz responds 503 while connections are still accepted; 0s by default",
     .at_start = true},
    {"timeout", KEY_DURATION, AT(drain.timeout_ms),
     .help = "after that: time for calls in flight, before they are answered with an error; 10s by default",
     .at_start = true},
    {0},
};
static const struct settings_key sessions_keys[] = {
    {"idle", KEY_DURATION, AT(sessions.idle_ms),
     .help = "end a client's session after this time without a request; 30m by default", .at_start = true},
    {"unsent_mb", KEY_INT, AT(sessions.unsent_mb),
     .help = "megabytes of answers that slow clients have not read yet, of all together; above, the client "
             "with the most is disconnected; 256 by default",
     .at_start = true},
    {"per_grant", KEY_INT, AT(sessions.per_grant),
     .help = "sessions that one grant may have open, in each worker; by default as many as are left for the "
             "others",
     .at_start = true},
    {"connections_per_grant", KEY_INT, AT(sessions.connections_per_grant),
     .help = "connections that one grant may have open, in each worker; by default as many as are left for "
             "the others",
     .at_start = true},
    {"connections_per_address", KEY_INT, AT(sessions.connections_per_address),
     .help = "connections of one address, or one IPv6 /64, that have not authenticated, in each worker; 128 "
             "by default",
     .at_start = true},
    {"processes", KEY_INT, AT(sessions.processes),
     .help = "server processes that may run at once in each worker; one grant gets no more than are left for "
             "the others; 4000 by default",
     .at_start = true},
    {"processes_per_grant", KEY_INT, AT(sessions.processes_per_grant),
     .help =
         "server processes that one grant may have at once, in each worker; by default as many as are left "
         "for the others",
     .at_start = true},
    {0},
};
static const struct settings_key reload_keys[] = {
    {"quiet", KEY_DURATION, AT(reload.quiet_ms),
     .help = "a file that is written in place is read again when it has not changed for so long; 2s by "
             "default",
     .at_start = true},
    {"longest", KEY_DURATION, AT(reload.longest_ms),
     .help = "a file that keeps changing is read again after this time; 30s by default", .at_start = true},
    {0},
};
_Static_assert(AT(auth.issuer_count) == AT(auth.issuers) + sizeof(void *) &&
                   AT(auth.rule_count) == AT(auth.rules) + sizeof(void *),
               "counts follow their arrays");

const struct settings_key settings_root_keys[] = {
    {"version", KEY_VERSION, .help = "version of this format: 1"},
    {"listen", KEY_TEXT, AT(listen), .help = "ADDRESS:PORT", .at_start = true},
    {"public_url", KEY_TEXT, AT(public_url),
     .help = "the URL under which clients know the gate, without a path: https://gate.example.com",
     .at_start = true},
    {"trusted_proxies", KEY_LIST, AT(trusted_proxies),
     .help = "addresses and networks of proxies whose X-Forwarded-For, X-Forwarded-Proto and PROXY protocol "
             "v2 count: 10.0.0.0/8",
     .at_start = true},
    {"plain_http", KEY_BOOL, AT(plain_http),
     .help = "do not warn when other machines reach the gate without TLS", .at_start = true},
    {"policy", KEY_PATH, AT(policy), .help = "the default policy; a server or a grant may name its own"},
    {"prefix", KEY_CHOICE, AT(prefix), prefix_names,
     .help = "whether tool names have the server's name as a prefix"},
    {"share", KEY_CHOICE, AT(share), share_names, .help = "the default for every server"},
    {"idle", KEY_DURATION, AT(idle_ms), .help = "the default for every server"},
    {"health", KEY_SECTION, .keys = health_keys, .help = "health checks: the default for every server"},
    {"servers", KEY_SERVERS, .help = "the MCP servers behind the gate, by name"},
    {"code", KEY_SECTION, .keys = code_keys, .help = "the built-in code server"},
    {"discovery", KEY_SECTION, .keys = discovery_keys,
     .help = "which tools are listed, and which are found by search"},
    {"state", KEY_SECTION, .keys = state_keys, .help = "the store"},
    {"pii", KEY_SECTION, .keys = pii_keys, .help = "personal data and secrets"},
    {"flows", KEY_SECTION, .keys = flows_keys,
     .help = "flow labels that policies keep of an identity's calls"},
    {"approvals", KEY_SECTION, .keys = approvals_keys, .help = "calls that a person must approve"},
    {"traces", KEY_SECTION, .keys = traces_keys, .help = "export of traces"},
    {"pins", KEY_SECTION, .keys = pins_keys, .help = "pinned tool definitions"},
    {"poison", KEY_SECTION, .keys = poison_keys,
     .help = "detection of instructions in definitions and results"},
    {"audit", KEY_SECTION, .keys = audit_keys, .help = "the audit log"},
    {"request_state", KEY_SECTION, .keys = request_state_keys,
     .help = "data that modern clients keep (`requestState`) while a legacy server waits for their answer"},
    {"log", KEY_SECTION, .keys = log_keys, .help = "log lines"},
    {"auth", KEY_SECTION, .keys = auth_keys,
     .help = "authentication without a grant: identity providers and rules"},
    {"tls", KEY_SECTION, .keys = tls_keys, .help = "serve HTTPS"},
    {"workers", KEY_TEXT, AT(workers),
     .help = "processes that share the port and the home: a number, or auto (one per processor)",
     .at_start = true},
    {"fleet", KEY_SECTION, .keys = fleet_keys,
     .help = "the other gates: requests of a session go to the gate that has it"},
    {"drain", KEY_SECTION, .keys = drain_keys, .help = "how the gate shuts down"},
    {"sessions", KEY_SECTION, .keys = sessions_keys, .help = "ceilings of clients' sessions"},
    {"reload", KEY_SECTION, .keys = reload_keys, .help = "when changed settings and policies are read"},
    {0},
};
#define SECRET_AT(member) offsetof(struct settings_secret, member)
const struct settings_key settings_secret_keys[] = {
    {"file", KEY_PATH, SECRET_AT(file), .help = "a file; its first line is the value"},
    {"command", KEY_LIST, SECRET_AT(command),
     .help = "a program and its arguments; the first line of its output is the value"},
    {"prefix", KEY_TEXT, SECRET_AT(prefix), .help = "prefix of the value, for instance `Bearer `"},
    {"ttl", KEY_DURATION, SECRET_AT(ttl_ms), .help = "how long the program's output is valid"},
    {0},
};
_Static_assert(SERVER_AT(secrets) == SERVER_AT(headers) + sizeof(struct settings_list) &&
                   SERVER_AT(secret_count) == SERVER_AT(secrets) + sizeof(void *),
               "secrets follow the headers");

const struct settings_key settings_server_keys[] = {
    {"command", KEY_TEXT, SERVER_AT(command), .help = "the program of a stdio server"},
    {"args", KEY_LIST, SERVER_AT(args), .help = "its arguments"},
    {"env", KEY_ENV, SERVER_AT(env), .help = "variables of its environment"},
    {"cwd", KEY_PATH, SERVER_AT(cwd), .help = "the directory it runs in"},
    {"type", KEY_CHOICE, SERVER_AT(type), type_names,
     .help = "the transport, if command or url do not imply it"},
    {"url", KEY_TEXT, SERVER_AT(url), .help = "the URL of an HTTP server"},
    {"headers", KEY_HEADERS, SERVER_AT(headers),
     .help = "sent with every request to it; a value may come from a file or a program"},
    {"policy", KEY_PATH, SERVER_AT(policy), .help = "its policy, instead of the default"},
    {"pii", KEY_CHOICE, SERVER_AT(pii), pii_names, .help = "personal data and secrets in its results"},
    {"share", KEY_CHOICE, SERVER_AT(share), share_names, .help = "one process a session, or one a principal"},
    {"prefix", KEY_TEXT, SERVER_AT(prefix), .help = "prefix of its tools' names; its own name by default"},
    {"idle", KEY_DURATION, SERVER_AT(idle_ms), .help = "stop it after this time without a call"},
    {"timeout", KEY_DURATION, SERVER_AT(timeout_ms),
     .help = "end a call after this time without a message from it"},
    {"health", KEY_SECTION, .keys = server_health_keys, .help = "its health checks"},
    {"disabled", KEY_BOOL, SERVER_AT(disabled), .help = "do not use this server"},
    {0},
};

/* ---- settings that need a restart ---- */

static bool same_value(const struct settings_key *key, const void *a, const void *b) {
    switch (key->kind) {
    case KEY_TEXT:
    case KEY_PATH: {
        const char *x = *(const char *const *)a, *y = *(const char *const *)b;
        return x && y ? strcmp(x, y) == 0 : x == y;
    }
    case KEY_BOOL:
        return *(const bool *)a == *(const bool *)b;
    case KEY_CHOICE:
        return *(const int *)a == *(const int *)b;
    case KEY_INT:
        return *(const int64_t *)a == *(const int64_t *)b;
    case KEY_DURATION:
        return *(const uint64_t *)a == *(const uint64_t *)b;
    case KEY_LIST: {
        const struct settings_list *x = a, *y = b;
        bool same = x->count == y->count;
        for (size_t i = 0; same && i < x->count; i++)
            same = strcmp(x->items[i], y->items[i]) == 0;
        return same;
    }
    default:
        CHECK(!key->at_start); /* all of these are applied while the gate runs */
        return true;
    }
}

static void put_changed(const struct settings_key *keys, const char *section, const struct settings *a,
                        const struct settings *b, struct buf *out) {
    for (const struct settings_key *key = keys; key->name; key++)
        if (key->at_start && !same_value(key, (const char *)a + key->at, (const char *)b + key->at))
            buf_printf(out, "%s%s%s%s", out->len ? ", " : "", section, section[0] ? "." : "", key->name);
}

void settings_for_start(const struct settings *running, const struct settings *fresh, struct buf *out) {
    put_changed(settings_root_keys, "", running, fresh, out);
    for (const struct settings_key *key = settings_root_keys; key->name; key++)
        if (key->kind == KEY_SECTION)
            put_changed(key->keys, key->name, running, fresh, out);
}

/* ---- the schema ---- */

static void schema_type(struct emit *e, const char *type) {
    emit_key(e, "type");
    emit_cstr(e, type);
}

static void schema_scalar_type(struct emit *e) {
    emit_key(e, "type");
    emit_raw(e, SLICE("[\"string\",\"number\",\"boolean\"]"));
}

static void schema_keys(struct emit *e, const struct settings_key *keys, const char *description);

static void schema_headers(struct emit *e) {
    schema_type(e, "object");
    emit_key(e, "additionalProperties");
    emit_object(e);
    emit_key(e, "anyOf");
    emit_array(e);
    emit_object(e);
    schema_scalar_type(e);
    emit_object_end(e);
    emit_object(e);
    schema_keys(e, settings_secret_keys, "a value from a file or a program");
    emit_object_end(e);
    emit_array_end(e);
    emit_object_end(e);
}

static void schema_value(struct emit *e, const struct settings_key *key) {
    switch (key->kind) {
    case KEY_CHOICE:
        emit_key(e, "enum");
        emit_array(e);
        for (size_t i = 0; key->choices[i]; i++)
            emit_cstr(e, key->choices[i]);
        emit_array_end(e);
        break;
    case KEY_BOOL:
        schema_type(e, "boolean");
        break;
    case KEY_INT:
        schema_type(e, "integer");
        break;
    case KEY_DURATION:
        emit_key(e, "type");
        emit_raw(e, SLICE("[\"string\",\"integer\"]"));
        emit_key(e, "pattern");
        emit_cstr(e, "^([0-9]+|([0-9]+(ms|s|m|h|d))+|never)$");
        break;
    case KEY_LIST:
        schema_type(e, "array");
        emit_key(e, "items");
        emit_object(e);
        schema_scalar_type(e);
        emit_object_end(e);
        break;
    case KEY_HEADERS:
        schema_headers(e);
        break;
    case KEY_INJECT:
        schema_type(e, "object");
        emit_key(e, "additionalProperties");
        emit_object(e);
        schema_type(e, "object");
        emit_key(e, "additionalProperties");
        emit_object(e);
        schema_scalar_type(e);
        emit_object_end(e);
        emit_object_end(e);
        break;
    case KEY_ENV:
    case KEY_CLAIMS:
        schema_type(e, "object");
        emit_key(e, "additionalProperties");
        emit_object(e);
        schema_scalar_type(e);
        emit_object_end(e);
        break;
    case KEY_VERSION:
        emit_key(e, "enum");
        emit_raw(e, SLICE("[\"1\",1]"));
        break;
    default:
        schema_scalar_type(e);
    }
    emit_key(e, "description");
    char text[512];
    snprintf(text, sizeof(text), "%s%s", key->help, key->at_start ? " (a change needs a restart)" : "");
    emit_cstr(e, text);
}

static void schema_open(struct emit *e, const char *description) {
    schema_type(e, "object");
    emit_key(e, "description");
    emit_cstr(e, description);
    emit_key(e, "additionalProperties");
    emit_bool(e, false);
    emit_key(e, "properties");
    emit_object(e);
}

/* Recurses over the tables, which are not deep. */
static void schema_key(struct emit *e, const struct settings_key *key) {
    emit_key(e, key->name);
    emit_object(e);
    if (key->kind == KEY_SECTION && key->or_list) {
        emit_key(e, "anyOf");
        emit_array(e);
        emit_object(e);
        schema_keys(e, key->keys, key->help);
        emit_object_end(e);
        emit_object(e);
        schema_value(e, key->keys);
        emit_object_end(e);
        emit_array_end(e);
    } else if (key->kind == KEY_SECTION) {
        schema_keys(e, key->keys, key->help);
    } else if (key->kind == KEY_EACH) {
        schema_type(e, "array");
        emit_key(e, "items");
        emit_object(e);
        schema_keys(e, key->keys, key->help);
        emit_object_end(e);
    } else {
        schema_value(e, key);
    }
    emit_object_end(e);
}

static void schema_keys(struct emit *e, const struct settings_key *keys, const char *description) {
    schema_open(e, description);
    for (const struct settings_key *key = keys; key->name; key++)
        schema_key(e, key);
    emit_object_end(e);
}

static void schema_servers(struct emit *e, const char *description) {
    schema_type(e, "object");
    emit_key(e, "description");
    emit_cstr(e, description);
    emit_key(e, "propertyNames");
    emit_raw(e, SLICE("{\"pattern\":\"^[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}$\",\"not\":{\"enum\":[\"servers\","
                      "\"call\"]}}"));
    emit_key(e, "additionalProperties");
    emit_object(e);
    schema_keys(e, settings_server_keys, "one server: a command or a url, and how it is treated");
    emit_object_end(e);
}

void settings_schema(struct buf *out) {
    struct emit e;
    emit_init(&e, out);
    emit_object(&e);
    emit_key(&e, "$schema");
    emit_cstr(&e, "https://json-schema.org/draft/2020-12/schema");
    emit_key(&e, "title");
    emit_cstr(&e, "sallyport.yaml");
    emit_key(&e, "required");
    emit_raw(&e, SLICE("[\"version\"]"));
    schema_open(&e, "The settings of sallyport serve; docs/serve.md explains every member.");
    for (const struct settings_key *key = settings_root_keys; key->name; key++) {
        if (key->kind != KEY_SERVERS) {
            schema_key(&e, key);
            continue;
        }
        emit_key(&e, key->name);
        emit_object(&e);
        schema_servers(&e, key->help);
        emit_object_end(&e);
    }
    emit_object_end(&e);
    emit_object_end(&e);
    buf_put_char(out, '\n');
}
