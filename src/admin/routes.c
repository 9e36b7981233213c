/* All routes of the API in one table. Requests are dispatched by it, and the OpenAPI document is generated
 * from it. */
#include "admin/api.h"

#define READERS (PRINCIPAL_VIEWER | PRINCIPAL_APPROVER | PRINCIPAL_POLICY_MANAGER)

#define AUDIT_FILTERS                                                                                        \
    {"since", "from this time on, RFC 3339 in UTC"}, {"until", "up to this time"},                           \
        {"fleet", "any value: records of all gates that ship to the same database"},                         \
        {"gate", "records of this gate of the fleet; a `*` at the end matches any ending"},                  \
        {"chain", "records of this chain of the fleet", .number = true},                                     \
        {"before", "records with a lower number: the cursor of the next page", .number = true},              \
        {"after", "records with a higher number", .number = true},                                           \
        {"kind", "records of this kind; all by default", .words = {"decision", "outcome", "event", "all"}},  \
        {"tool", "calls of this tool; a * at the end matches any ending, here and below"},                   \
        {"server", "calls to this server"},                                                                  \
        {"verdict", "decisions with this verdict", .words = {"allow", "deny", "approve"}},                   \
        {"rule", "decided by this rule"}, {"reason", "denied for this reason"},                              \
        {"class", "calls of tools of this risk class"}, {"identity", "calls of this identity"},              \
        {"grant", "calls under this grant"}, {"session", "calls of this session"},                           \
        {"method", "messages with this method"}, {"event", "events of this name"},                           \
        {"outcome", "calls with this outcome"},                                                              \
        {"shadow", "1: only records with a shadow verdict", .words = {"1"}},                                 \
        {"parent", "this call, and the calls made by it", .number = true}, {                                 \
        "text", "records that contain all of these words"                                                    \
    }

static const struct api_query audit_query[] = {
    AUDIT_FILTERS,
    {"order", "newest (default), or oldest: decisions and outcomes separately",
     .words = {"newest", "oldest"}},
    {"limit", "maximum number of entries; 100 by default", .number = true},
    {0}};
static const struct api_query export_query[] = {
    AUDIT_FILTERS,
    {"format", "jsonl by default", .words = {"jsonl", "csv", "cef"}},
    {"limit", "maximum number of records, the newest ones; a million by default", .number = true},
    {0}};
#define PAGE_CURSOR                                                                                          \
    { "cursor", "the page after the one whose response had this `Sallyport-Cursor` header" }
static const struct api_query page_query[] = {
    {"limit", "maximum number of entries, 1 to 1000; 100 by default", .number = true}, PAGE_CURSOR, {0}};
static const struct api_query whole_query[] = {
    {"limit", "maximum number of entries, 1 to 1000; 1000 by default", .number = true}, PAGE_CURSOR, {0}};
static const struct api_query tools_query[] = {
    {"known", "1: only what is known already, without asking the server", .words = {"1"}},
    {"limit", "maximum number of entries, 1 to 1000; 1000 by default", .number = true},
    PAGE_CURSOR,
    {0}};
static const struct api_query approvals_query[] = {
    {"status", "all by default", .words = {"pending", "approved", "denied", "expired", "used"}},
    {"identity", "only those of this requester"},
    {"limit", "maximum number of entries, 1 to 1000, the newest first; 100 by default", .number = true},
    PAGE_CURSOR,
    {0}};
static const struct api_query known_query[] = {
    {"q", "words in the name of a server or of one of its tools"},
    {"registry", "only servers of this registry",
     .words = {"npm", "pypi", "go", "oci", "crates", "github", "remote"}},
    {"class", "only servers with a tool of this class"},
    {"limit", "maximum number of entries, 1 to 1000; 100 by default", .number = true},
    PAGE_CURSOR,
    {0}};
static const struct api_query known_server_query[] = {{"name", "the name of the package"}, {0}};
static const struct api_query known_page_query[] = {
    {"name", "a server, a tool, or attack:ID"}, {"tool", "a tool of that server"}, {0}};
static const struct api_query one_query[] = {
    {"chain", "a chain of the fleet, instead of this gate", .number = true}, {0}};
static const struct api_query overview_query[] = {
    {"range", "seconds up to now; an hour by default", .number = true},
    {"since", "alternatively: from this time on, RFC 3339 in UTC"},
    {"until", "up to this time; now by default"},
    {"fleet", "any value: records of all gates that ship to the same database"},
    {0}};

const struct api_route api_routes[] = {
    {HTTP_GET, "/api/v1/openapi.json", READERS, api_document, "getOpenapi", "This document", .answer = "Any"},
    {HTTP_GET, "/api/v1/session", READERS, api_session, "getSession",
     "The authenticated user and their roles", .answer = "Me"},
    {HTTP_POST, "/api/v1/session", READERS, api_sign_in, "signIn",
     "Sign in to the console with the bearer token of this request; the response sets a cookie",
     .answer = "Me", .made = true},
    {HTTP_DELETE, "/api/v1/session", READERS, api_sign_out, "signOut",
     "Sign out; `url` ends the session at the identity provider, if the settings ask for it",
     .answer = "SignedOut"},
    {HTTP_POST, "/api/v1/session/link", 0, api_sign_in_link, "signInByLink",
     "Sign in by a one-time link of `sallyport ui`", .body = "Link", .answer = "Any", .made = true},
    {HTTP_GET, "/api/v1/session/issuers", 0, api_issuers, "listIssuers",
     "Identity providers for sign-in to the console", .answer = "Issuers"},
    {HTTP_POST, "/api/v1/session/begin", 0, api_sign_in_begin, "beginSignIn",
     "Start a sign-in at an identity provider; the response sets a cookie and has the URL to open",
     .body = "SignIn", .answer = "SignInPlace"},
    {HTTP_POST, "/api/v1/session/finish", 0, api_sign_in_finish, "finishSignIn",
     "Finish a sign-in with the parameters that the identity provider returned", .body = "SignInCode",
     .answer = "Any", .made = true},
    {HTTP_GET, "/api/v1/overview", READERS, api_overview, "getOverview",
     "Calls, latencies and the most frequent tools, rules and identities of a period", overview_query,
     .answer = "Overview"},
    {HTTP_GET, "/api/v1/limits", READERS, api_limits, "listLimits", "Counters of limits that are in use",
     whole_query, .answer = "Limits"},
    {HTTP_GET, "/api/v1/stops", READERS, api_stops, "listStops", "What is stopped", whole_query,
     .answer = "Stops"},
    {HTTP_POST, "/api/v1/stops", PRINCIPAL_ADMIN, api_stop, "stop",
     "Refuse every call at once: all calls, those to one server, or those of one grant", .body = "NewStop",
     .answer = "Stop", .changes = true, .made = true},
    {HTTP_DELETE, "/api/v1/stops/{id}", PRINCIPAL_ADMIN, api_resume, "resume", "Allow calls again",
     .answer = "Stop", .changes = true},
    {HTTP_GET, "/api/v1/calls", READERS, api_calls, "listCalls", "Calls in flight", page_query,
     .answer = "Calls"},
    {HTTP_POST, "/api/v1/calls/{id}/cancel", PRINCIPAL_ADMIN, api_call_cancel, "cancelCall",
     "End a call in flight", .answer = "Call", .changes = true},
    {HTTP_GET, "/api/v1/status", READERS, api_status, "getStatus", "Status of the gate", .answer = "Status"},
    {HTTP_GET, "/api/v1/servers", READERS, api_servers, "listServers", "The servers behind the gate",
     whole_query, .answer = "Servers"},
    {HTTP_POST, "/api/v1/servers", PRINCIPAL_ADMIN, api_server_create, "createServer",
     "Write a server into sallyport.yaml; it is stopped until an operator trusts it, unless `trusted`",
     .body = "NewServer", .answer = "Server", .changes = true, .made = true},
    {HTTP_GET, "/api/v1/servers/{server}", READERS, api_server, "getServer", "One of them",
     .answer = "Server"},
    {HTTP_PATCH, "/api/v1/servers/{server}", PRINCIPAL_ADMIN, api_server_update, "updateServer",
     "Change members of a server in sallyport.yaml; null removes one", .body = "ServerChange",
     .answer = "Server", .changes = true},
    {HTTP_DELETE, "/api/v1/servers/{server}", PRINCIPAL_ADMIN, api_server_delete, "deleteServer",
     "Remove a server from sallyport.yaml", .answer = "Any", .changes = true},
    {HTTP_POST, "/api/v1/servers/{server}/restart", PRINCIPAL_ADMIN, api_server_restart, "restartServer",
     "Stop its processes and connections; the next call starts them again", .answer = "Server",
     .changes = true},
    {HTTP_GET, "/api/v1/servers/{server}/settings", PRINCIPAL_ADMIN, api_server_settings, "getServerSettings",
     "Its entry in sallyport.yaml, without the values of env and headers", .answer = "ServerSettings"},
    {HTTP_GET, "/api/v1/servers/{server}/log", PRINCIPAL_ADMIN | PRINCIPAL_POLICY_MANAGER, api_server_log,
     "getServerLog", "The newest lines that it wrote to its log", .answer = "LogLines"},
    {HTTP_GET, "/api/v1/servers/{server}/survey", READERS, api_server_survey, "surveyServer",
     "The scan report of its tools, and a starter policy", .answer = "Survey"},
    {HTTP_GET, "/api/v1/servers/{server}/pins", READERS, api_pins, "listPins",
     "Tools and skills that differ from their pins, and the differences", .answer = "PinDifferences"},
    {HTTP_POST, "/api/v1/servers/{server}/pins", PRINCIPAL_POLICY_MANAGER, api_pins_accept, "acceptPins",
     "Accept the current definitions of its tools and skills, or of one of them", .body = "PinAcceptance",
     .body_optional = true, .answer = "Any", .changes = true},
    {HTTP_GET, "/api/v1/servers/{server}/tools", READERS, api_tools, "listTools",
     "The tools of a server; the server is asked if they are not known yet", tools_query, .answer = "Tools"},
    {HTTP_POST, "/api/v1/playground", PRINCIPAL_ADMIN, api_playground, "callTool",
     "Call a tool as yourself or as a grant, with all the steps of an agent's call", .body = "ToolCall",
     .answer = "ToolAnswer", .changes = true},
    {HTTP_GET, "/api/v1/catalogue", READERS, api_known, "listCatalogue",
     "Published servers in the catalogue, the best known first", known_query, .answer = "Catalogue",
     .counted = true},
    {HTTP_GET, "/api/v1/catalogue/server", READERS, api_known_server, "getCatalogueServer",
     "One published server, with its tools", known_server_query, .answer = "CatalogueServer"},
    {HTTP_GET, "/api/v1/catalogue/page", READERS, api_known_page, "getCataloguePage",
     "The page of a server, a tool or an attack pattern", known_page_query, .answer = "CataloguePage"},
    {HTTP_GET, "/api/v1/sessions", READERS, api_sessions, "listSessions", "Open sessions", page_query,
     .answer = "Sessions"},
    {HTTP_GET, "/api/v1/jobs", READERS, api_jobs, "listJobs", "Code runs in progress, and stored ones",
     page_query, .answer = "Jobs"},
    {HTTP_GET, "/api/v1/jobs/{id}", PRINCIPAL_ADMIN, api_job, "getJob", "One run, with the end of its output",
     .answer = "Job"},
    {HTTP_GET, "/api/v1/packages", READERS, api_packages, "listPackages",
     "Packages that code may import, and those that agents may install", .answer = "Packages"},
    {HTTP_GET, "/api/v1/grants", PRINCIPAL_ADMIN, api_grants, "listGrants", "Grants, without their tokens",
     whole_query, .answer = "Grants"},
    {HTTP_POST, "/api/v1/grants", PRINCIPAL_ADMIN, api_grant_create, "createGrant",
     "Create a grant; its token is shown only once", .body = "NewGrant", .answer = "Grant", .changes = true,
     .made = true},
    {HTTP_POST, "/api/v1/grants/{name}/rotate", PRINCIPAL_ADMIN, api_grant_rotate, "rotateGrant",
     "Create a new token, shown only once; the old one stays valid for grace_seconds", .body = "Rotation",
     .answer = "Grant"},
    {HTTP_DELETE, "/api/v1/grants/{name}", PRINCIPAL_ADMIN, api_grant_revoke, "revokeGrant",
     "Revoke a grant immediately and permanently", .answer = "Grant"},
    {HTTP_GET, "/api/v1/policies", READERS, api_policies, "listPolicies", "The policies in force",
     whole_query, .answer = "Policies"},
    {HTTP_POST, "/api/v1/policies/validate", PRINCIPAL_POLICY_MANAGER, api_validate, "validatePolicy",
     "Validate a policy: errors and warnings", .body = "PolicyText", .answer = "Validation"},
    {HTTP_POST, "/api/v1/policies/dry-run", PRINCIPAL_POLICY_MANAGER, api_dry_run, "dryRunPolicy",
     "Simulate calls under a policy; nothing is called or counted", .body = "DryRun",
     .answer = "DryRunResult"},
    {HTTP_POST, "/api/v1/policies/explain", PRINCIPAL_POLICY_MANAGER, api_explain, "explainPolicy",
     "What a policy decides about one call, and every condition it evaluated", .body = "Question",
     .answer = "Explanation"},
    {HTTP_POST, "/api/v1/policies/replay", PRINCIPAL_POLICY_MANAGER, api_replay, "replayPolicy",
     "What a policy would change for the recorded calls, or for those to `servers`", .body = "ReplayQuestion",
     .answer = "Replay"},
    {HTTP_POST, "/api/v1/policies/edit", PRINCIPAL_POLICY_MANAGER, api_policy_edit, "editPolicy",
     "Edit a policy's text and keep its comments; nothing is saved", .body = "PolicyEdits",
     .answer = "EditedPolicy"},
    {HTTP_GET, "/api/v1/policies/{id}", READERS, api_policy, "getPolicy",
     "The text of a policy file; its ETag is its hash", .answer = "PolicyFile"},
    {HTTP_PUT, "/api/v1/policies/{id}", PRINCIPAL_POLICY_MANAGER, api_policy_save, "savePolicy",
     "Write a policy file; If-Match names the text that is replaced", .body = "PolicyText",
     .answer = "PolicyFile", .changes = true},
    {HTTP_GET, "/api/v1/policies/{id}/history", READERS, api_policy_history, "listPolicyVersions",
     "The versions of a policy file", whole_query, .answer = "PolicyVersions"},
    {HTTP_GET, "/api/v1/policies/{id}/history/{version}", READERS, api_policy_version, "getPolicyVersion",
     "One of them", .answer = "PolicyVersionText"},
    {HTTP_POST, "/api/v1/policies/{id}/revert", PRINCIPAL_POLICY_MANAGER, api_policy_revert, "revertPolicy",
     "Restore an earlier version", .body = "Revert", .answer = "PolicyFile", .changes = true},
    {HTTP_GET, "/api/v1/approvals", READERS, api_approvals, "listApprovals", "Requests for approval",
     approvals_query, .answer = "Approvals"},
    {HTTP_GET, "/api/v1/approvals/{id}", READERS, api_approval, "getApproval", "One of them",
     .answer = "Approval"},
    {HTTP_POST, "/api/v1/approvals/{id}/approve", PRINCIPAL_APPROVER, api_approve, "approve",
     "Approve the call, once or for a period; not allowed for the requester", .body = "Decision",
     .body_optional = true, .answer = "Approval", .changes = true},
    {HTTP_POST, "/api/v1/approvals/{id}/deny", PRINCIPAL_APPROVER, api_deny, "deny", "Deny the call",
     .body = "Note", .body_optional = true, .answer = "Approval", .changes = true},
    {HTTP_POST, "/api/v1/approvals/{id}/expire", PRINCIPAL_APPROVER, api_expire, "expire",
     "Expire a request or an unused approval early", .body = "Note", .body_optional = true,
     .answer = "Approval", .changes = true},
    {HTTP_POST, "/api/v1/approvals/callback", 0, api_callback, "approvalCallback",
     "The response to a webhook: signed like the webhook, valid once", .body = "Callback",
     .answer = "Approval"},
    {HTTP_GET, "/api/v1/audit", READERS, api_audit, "queryAudit", "Search the audit log, newest first",
     audit_query, .answer = "Records"},
    {HTTP_GET, "/api/v1/audit/export", READERS, api_audit_export, "exportAudit",
     "Export the result of a search as a file", export_query, .answer = "Export"},
    {HTTP_GET, "/api/v1/audit/{seq}", READERS, api_audit_one, "getRecord",
     "One record, with its hash in the chain", one_query, .answer = "Record"},
    {HTTP_GET, "/api/v1/audit/stream", READERS, api_audit_stream, "streamAudit",
     "New records as server-sent events; the first event has the start position", .answer = "EventStream"},
    {0},
};
