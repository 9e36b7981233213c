/* All routes of the API, in one table: they are served and described in the OpenAPI document. */
#include "admin/api.h"

#define LOOK (PRINCIPAL_VIEWER | PRINCIPAL_APPROVER | PRINCIPAL_POLICY_MANAGER)

#define AUDIT_FILTERS                                                                                        \
    {"since", "from then on, RFC 3339 in UTC"}, {"until", "up to then"},                                     \
        {"fleet", "anything: of all gates that ship to the same database"},                                  \
        {"gate", "of this gate of the fleet; a `*` at the end matches any ending"},                          \
        {"chain", "of this chain of the fleet", .number = true},                                             \
        {"before", "records with a lower number: the cursor of the next page", .number = true},              \
        {"after", "records with a higher number", .number = true},                                           \
        {"kind", "decision, outcome, event or all"},                                                         \
        {"tool", "calls of this tool; a * at the end matches any ending, here and below"},                   \
        {"server", "calls to this server"}, {"verdict", "allow, deny or approve"},                           \
        {"rule", "decided by this rule"}, {"reason", "for this reason"},                                     \
        {"class", "of tools of this class"}, {"identity", "of this identity"},                               \
        {"grant", "under this grant"}, {"session", "of this session"}, {"method", "of this method"},         \
        {"event", "events of this name"}, {"outcome", "whose calls ended so"},                               \
        {"shadow", "1: only with a shadow verdict"},                                                         \
        {"parent", "made by this call, and itself", .number = true}, {                                       \
        "text", "with all of these words somewhere in the record"                                            \
    }

static const struct api_query audit_query[] = {
    AUDIT_FILTERS,
    {"order", "newest (default), or oldest: decisions and outcomes each by itself"},
    {"limit", "at most so many; 100 by default", .number = true},
    {0}};
static const struct api_query export_query[] = {
    AUDIT_FILTERS,
    {"format", "jsonl (default), csv or cef"},
    {"limit", "at most so many, the newest; a million by default", .number = true},
    {0}};
#define PAGE_CURSOR                                                                                          \
    { "cursor", "the page behind the one whose answer had this `Sallyport-Cursor` in its head" }
static const struct api_query page_query[] = {
    {"limit", "at most so many, 1 to 1000; 100 by default", .number = true}, PAGE_CURSOR, {0}};
static const struct api_query whole_query[] = {
    {"limit", "at most so many, 1 to 1000; 1000 by default", .number = true}, PAGE_CURSOR, {0}};
static const struct api_query tools_query[] = {
    {"known", "1: only what is known already"},
    {"limit", "at most so many, 1 to 1000; 1000 by default", .number = true},
    PAGE_CURSOR,
    {0}};
static const struct api_query approvals_query[] = {
    {"status", "pending, approved, denied, expired or used; all by default"},
    {"identity", "only those of this requester"},
    {"limit", "at most so many, 1 to 1000, the newest first; 100 by default", .number = true},
    PAGE_CURSOR,
    {0}};
static const struct api_query known_query[] = {
    {"q", "words in the name of a server or of one of its tools"},
    {"limit", "at most so many, 1 to 1000; 100 by default", .number = true},
    PAGE_CURSOR,
    {0}};
static const struct api_query known_server_query[] = {{"name", "of the package"}, {0}};
static const struct api_query known_page_query[] = {
    {"name", "a server, a tool, or attack:ID"}, {"tool", "a tool of that server"}, {0}};
static const struct api_query one_query[] = {
    {"chain", "of this chain of the fleet, instead of this gate", .number = true}, {0}};
static const struct api_query overview_query[] = {
    {"range", "seconds up to now; an hour by default", .number = true},
    {"since", "instead: from then on, RFC 3339 in UTC"},
    {"until", "up to then; now by default"},
    {"fleet", "anything: of all gates that ship to the same database"},
    {0}};

const struct api_route api_routes[] = {
    {HTTP_GET, "/api/v1/openapi.json", LOOK, api_document, "getOpenapi", "This document", .answer = "Any"},
    {HTTP_GET, "/api/v1/session", LOOK, api_session, "getSession", "Who is asking, and with which roles",
     .answer = "Me"},
    {HTTP_POST, "/api/v1/session", LOOK, api_sign_in, "signIn",
     "Sign in to the console with the token that is shown; the answer sets a cookie", .answer = "Me",
     .made = true},
    {HTTP_DELETE, "/api/v1/session", LOOK, api_sign_out, "signOut",
     "Sign out; `url` ends the session at the identity provider, where the settings say so",
     .answer = "SignedOut"},
    {HTTP_POST, "/api/v1/session/link", 0, api_sign_in_link, "signInByLink",
     "Sign in by a one-time link of `sallyport ui`", .body = "Link", .answer = "Any", .made = true},
    {HTTP_GET, "/api/v1/session/issuers", 0, api_issuers, "listIssuers",
     "Identity providers at which people sign in to the console", .answer = "Issuers"},
    {HTTP_POST, "/api/v1/session/begin", 0, api_sign_in_begin, "beginSignIn",
     "Begin to sign in at an identity provider; the answer sets a cookie and says where to go",
     .body = "SignIn", .answer = "SignInPlace"},
    {HTTP_POST, "/api/v1/session/finish", 0, api_sign_in_finish, "finishSignIn",
     "Sign in with what the identity provider sent back", .body = "SignInCode", .answer = "Any",
     .made = true},
    {HTTP_GET, "/api/v1/overview", LOOK, api_overview, "getOverview",
     "Calls, latencies and the most frequent tools, rules and identities of a period", overview_query,
     .answer = "Overview"},
    {HTTP_GET, "/api/v1/limits", LOOK, api_limits, "listLimits", "Counters of limits that are in use",
     whole_query, .answer = "Limits"},
    {HTTP_GET, "/api/v1/stops", LOOK, api_stops, "listStops", "What is stopped", whole_query,
     .answer = "Stops"},
    {HTTP_POST, "/api/v1/stops", PRINCIPAL_ADMIN, api_stop, "stop",
     "Refuse every call at once: all calls, those to one server, or those of one grant", .body = "NewStop",
     .answer = "Stop", .changes = true, .made = true},
    {HTTP_DELETE, "/api/v1/stops/{id}", PRINCIPAL_ADMIN, api_resume, "resume", "Allow calls again",
     .answer = "Stop", .changes = true},
    {HTTP_GET, "/api/v1/calls", LOOK, api_calls, "listCalls", "Calls in flight", page_query,
     .answer = "Calls"},
    {HTTP_POST, "/api/v1/calls/{id}/cancel", PRINCIPAL_ADMIN, api_call_cancel, "cancelCall",
     "End a call in flight", .answer = "Call", .changes = true},
    {HTTP_GET, "/api/v1/status", LOOK, api_status, "getStatus", "The gate at a glance", .answer = "Status"},
    {HTTP_GET, "/api/v1/servers", LOOK, api_servers, "listServers", "The servers behind the gate",
     whole_query, .answer = "Servers"},
    {HTTP_POST, "/api/v1/servers", PRINCIPAL_ADMIN, api_server_create, "createServer",
     "Write a server into sallyport.yaml; it is stopped until an operator trusts it, unless `trusted`",
     .body = "NewServer", .answer = "Server", .changes = true, .made = true},
    {HTTP_GET, "/api/v1/servers/{server}", LOOK, api_server, "getServer", "One of them", .answer = "Server"},
    {HTTP_PATCH, "/api/v1/servers/{server}", PRINCIPAL_ADMIN, api_server_update, "updateServer",
     "Change members of a server in sallyport.yaml; null takes one out", .body = "ServerChange",
     .answer = "Server", .changes = true},
    {HTTP_DELETE, "/api/v1/servers/{server}", PRINCIPAL_ADMIN, api_server_delete, "deleteServer",
     "Take a server out of sallyport.yaml", .answer = "Any", .changes = true},
    {HTTP_POST, "/api/v1/servers/{server}/restart", PRINCIPAL_ADMIN, api_server_restart, "restartServer",
     "End its processes and connections; the next call starts them again", .answer = "Server",
     .changes = true},
    {HTTP_GET, "/api/v1/servers/{server}/settings", PRINCIPAL_ADMIN, api_server_settings, "getServerSettings",
     "Its entry in sallyport.yaml, without the values of env and headers", .answer = "ServerSettings"},
    {HTTP_GET, "/api/v1/servers/{server}/log", PRINCIPAL_ADMIN | PRINCIPAL_POLICY_MANAGER, api_server_log,
     "getServerLog", "The newest lines that it wrote to its log", .answer = "LogLines"},
    {HTTP_GET, "/api/v1/servers/{server}/survey", LOOK, api_server_survey, "surveyServer",
     "What a scan says of its tools, and a policy to begin with", .answer = "Survey"},
    {HTTP_GET, "/api/v1/servers/{server}/pins", LOOK, api_pins, "listPins",
     "Tools and skills that are not as they were accepted, and what differs", .answer = "PinDifferences"},
    {HTTP_POST, "/api/v1/servers/{server}/pins", PRINCIPAL_POLICY_MANAGER, api_pins_accept, "acceptPins",
     "Accept its tools and skills as they are now, or one of them", .body = "PinAcceptance",
     .body_optional = true, .answer = "Any", .changes = true},
    {HTTP_GET, "/api/v1/servers/{server}/tools", LOOK, api_tools, "listTools",
     "The tools that a server has; it is asked where they are not known yet", tools_query, .answer = "Tools"},
    {HTTP_POST, "/api/v1/playground", PRINCIPAL_ADMIN, api_playground, "callTool",
     "Call a tool as yourself or as a grant, with every step that a call of an agent takes",
     .body = "ToolCall", .answer = "ToolAnswer", .changes = true},
    {HTTP_GET, "/api/v1/catalogue", LOOK, api_known, "listCatalogue", "Published servers that are known",
     known_query, .answer = "Catalogue"},
    {HTTP_GET, "/api/v1/catalogue/server", LOOK, api_known_server, "getCatalogueServer",
     "One of them, with its tools", known_server_query, .answer = "CatalogueServer"},
    {HTTP_GET, "/api/v1/catalogue/page", LOOK, api_known_page, "getCataloguePage",
     "The page of a server, a tool or an attack pattern", known_page_query, .answer = "CataloguePage"},
    {HTTP_GET, "/api/v1/sessions", LOOK, api_sessions, "listSessions", "Open sessions", page_query,
     .answer = "Sessions"},
    {HTTP_GET, "/api/v1/jobs", LOOK, api_jobs, "listJobs", "Code runs with a waiting client, and stored ones",
     page_query, .answer = "Jobs"},
    {HTTP_GET, "/api/v1/jobs/{id}", PRINCIPAL_ADMIN, api_job, "getJob",
     "One of them, with the end of what it wrote", .answer = "Job"},
    {HTTP_GET, "/api/v1/packages", LOOK, api_packages, "listPackages",
     "Packages that code may import, and those that agents may install", .answer = "Packages"},
    {HTTP_GET, "/api/v1/grants", PRINCIPAL_ADMIN, api_grants, "listGrants", "Grants, without their tokens",
     whole_query, .answer = "Grants"},
    {HTTP_POST, "/api/v1/grants", PRINCIPAL_ADMIN, api_grant_create, "createGrant",
     "A new grant; its token is shown this once", .body = "NewGrant", .answer = "Grant", .changes = true,
     .made = true},
    {HTTP_POST, "/api/v1/grants/{name}/rotate", PRINCIPAL_ADMIN, api_grant_rotate, "rotateGrant",
     "A new token, shown only once; the old one stays valid for grace_seconds", .body = "Rotation",
     .answer = "Grant"},
    {HTTP_DELETE, "/api/v1/grants/{name}", PRINCIPAL_ADMIN, api_grant_revoke, "revokeGrant",
     "Revoke a grant, at once and for good", .answer = "Grant"},
    {HTTP_GET, "/api/v1/policies", LOOK, api_policies, "listPolicies", "The policies in force", whole_query,
     .answer = "Policies"},
    {HTTP_POST, "/api/v1/policies/validate", PRINCIPAL_POLICY_MANAGER, api_validate, "validatePolicy",
     "Is this text a policy, and what is doubtful about it", .body = "PolicyText", .answer = "Validation"},
    {HTTP_POST, "/api/v1/policies/dry-run", PRINCIPAL_POLICY_MANAGER, api_dry_run, "dryRunPolicy",
     "What a policy would say to these calls; nothing is called and nothing counted", .body = "DryRun",
     .answer = "DryRunResult"},
    {HTTP_POST, "/api/v1/policies/explain", PRINCIPAL_POLICY_MANAGER, api_explain, "explainPolicy",
     "What a policy decides about one call, and every condition it evaluated", .body = "Question",
     .answer = "Explanation"},
    {HTTP_POST, "/api/v1/policies/replay", PRINCIPAL_POLICY_MANAGER, api_replay, "replayPolicy",
     "What a policy would change about the calls on record", .body = "ReplayQuestion", .answer = "Replay"},
    {HTTP_POST, "/api/v1/policies/edit", PRINCIPAL_POLICY_MANAGER, api_policy_edit, "editPolicy",
     "Change places of a policy's text and leave its comments; nothing is saved", .body = "PolicyEdits",
     .answer = "EditedPolicy"},
    {HTTP_GET, "/api/v1/policies/{id}", LOOK, api_policy, "getPolicy",
     "The text of a policy file; its ETag is its hash", .answer = "PolicyFile"},
    {HTTP_PUT, "/api/v1/policies/{id}", PRINCIPAL_POLICY_MANAGER, api_policy_save, "savePolicy",
     "Write a policy file; If-Match names the text that is replaced", .body = "PolicyText",
     .answer = "PolicyFile", .changes = true},
    {HTTP_GET, "/api/v1/policies/{id}/history", LOOK, api_policy_history, "listPolicyVersions",
     "The versions that were written", whole_query, .answer = "PolicyVersions"},
    {HTTP_GET, "/api/v1/policies/{id}/history/{version}", LOOK, api_policy_version, "getPolicyVersion",
     "One of them", .answer = "PolicyVersionText"},
    {HTTP_POST, "/api/v1/policies/{id}/revert", PRINCIPAL_POLICY_MANAGER, api_policy_revert, "revertPolicy",
     "Put an earlier version in force", .body = "Revert", .answer = "PolicyFile", .changes = true},
    {HTTP_GET, "/api/v1/approvals", LOOK, api_approvals, "listApprovals",
     "Calls that wait, or waited, for a person", approvals_query, .answer = "Approvals"},
    {HTTP_GET, "/api/v1/approvals/{id}", LOOK, api_approval, "getApproval", "One of them",
     .answer = "Approval"},
    {HTTP_POST, "/api/v1/approvals/{id}/approve", PRINCIPAL_APPROVER, api_approve, "approve",
     "Approve the call, once or for a while; the requester cannot", .body = "Decision", .body_optional = true,
     .answer = "Approval", .changes = true},
    {HTTP_POST, "/api/v1/approvals/{id}/deny", PRINCIPAL_APPROVER, api_deny, "deny", "Refuse the call",
     .body = "Note", .body_optional = true, .answer = "Approval", .changes = true},
    {HTTP_POST, "/api/v1/approvals/{id}/expire", PRINCIPAL_APPROVER, api_expire, "expire",
     "End a request or an unused approval before its time", .body = "Note", .body_optional = true,
     .answer = "Approval", .changes = true},
    {HTTP_POST, "/api/v1/approvals/callback", 0, api_callback, "approvalCallback",
     "The answer to a webhook: signed like the webhook itself, good once", .body = "Callback",
     .answer = "Approval"},
    {HTTP_GET, "/api/v1/audit", LOOK, api_audit, "queryAudit", "Search the audit log, newest first",
     audit_query, .answer = "Records"},
    {HTTP_GET, "/api/v1/audit/export", LOOK, api_audit_export, "exportAudit", "The same as a file",
     export_query, .answer = "Export"},
    {HTTP_GET, "/api/v1/audit/{seq}", LOOK, api_audit_one, "getRecord",
     "One record, with its hash in the chain", one_query, .answer = "Record"},
    {HTTP_GET, "/api/v1/audit/stream", LOOK, api_audit_stream, "streamAudit",
     "Records as they are written, as server-sent events; the first event says from where on",
     .answer = "EventStream"},
    {0},
};
