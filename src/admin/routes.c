/* Everything that can be asked of the API, in one table: it is what is served and what the OpenAPI document
 * says. */
#include "admin/api.h"

#define LOOK (PRINCIPAL_VIEWER | PRINCIPAL_APPROVER | PRINCIPAL_POLICY_MANAGER)

static const struct api_query limit_query[] = {{"limit", "at most so many, 1 to 1000; 100 by default"}, {0}};
static const struct api_query approvals_query[] = {
    {"status", "pending, approved, denied, expired or used; all by default"},
    {"identity", "only those of this requester"},
    {"limit", "at most so many, the newest; 100 by default"},
    {0}};
static const struct api_query audit_query[] = {
    {"since", "from then on, RFC 3339 in UTC"},
    {"until", "up to then"},
    {"tool", "calls of this tool; a * at the end stands for any ending, here and below"},
    {"server", "calls to this server"},
    {"verdict", "allow, deny or approve"},
    {"rule", "decided by this rule"},
    {"identity", "of this identity"},
    {"grant", "under this grant"},
    {"session", "of this session"},
    {"method", "of this method"},
    {"event", "events of this name"},
    {"text", "with all of these words somewhere in the record"},
    {"limit", "at most so many, the newest; 100 by default"},
    {0}};

const struct api_route api_routes[] = {
    {HTTP_GET, "/api/v1/openapi.json", LOOK, api_document, "getOpenapi", "This document", .answer = "Any"},
    {HTTP_GET, "/api/v1/status", LOOK, api_status, "getStatus", "The gate at a glance", .answer = "Status"},
    {HTTP_GET, "/api/v1/servers", LOOK, api_servers, "listServers", "The servers behind the gate",
     .answer = "Servers"},
    {HTTP_GET, "/api/v1/servers/{server}/tools", LOOK, api_tools, "listTools",
     "The tools that a server is known to have", .answer = "Tools"},
    {HTTP_GET, "/api/v1/sessions", LOOK, api_sessions, "listSessions", "Open sessions", limit_query,
     .answer = "Sessions"},
    {HTTP_GET, "/api/v1/jobs", LOOK, api_jobs, "listJobs",
     "Runs of code that somebody waits for, or that are kept", limit_query, .answer = "Jobs"},
    {HTTP_GET, "/api/v1/grants", PRINCIPAL_ADMIN, api_grants, "listGrants", "Grants, without their tokens",
     .answer = "Grants"},
    {HTTP_POST, "/api/v1/grants", PRINCIPAL_ADMIN, api_grant_create, "createGrant",
     "A new grant; its token is shown this once", .body = "NewGrant", .answer = "Grant"},
    {HTTP_DELETE, "/api/v1/grants/{name}", PRINCIPAL_ADMIN, api_grant_revoke, "revokeGrant",
     "Revoke a grant, at once and for good", .answer = "Grant"},
    {HTTP_GET, "/api/v1/policies", LOOK, api_policies, "listPolicies", "The policies in force",
     .answer = "Policies"},
    {HTTP_POST, "/api/v1/policies/validate", PRINCIPAL_POLICY_MANAGER, api_validate, "validatePolicy",
     "Is this text a policy, and what is doubtful about it", .body = "PolicyText", .answer = "Validation"},
    {HTTP_POST, "/api/v1/policies/dry-run", PRINCIPAL_POLICY_MANAGER, api_dry_run, "dryRunPolicy",
     "What a policy would say to these calls; nothing is called and nothing counted", .body = "DryRun",
     .answer = "DryRunResult"},
    {HTTP_GET, "/api/v1/approvals", LOOK, api_approvals, "listApprovals",
     "Calls that wait, or waited, for a person", approvals_query, .answer = "Approvals"},
    {HTTP_GET, "/api/v1/approvals/{id}", LOOK, api_approval, "getApproval", "One of them",
     .answer = "Approval"},
    {HTTP_POST, "/api/v1/approvals/{id}/approve", PRINCIPAL_APPROVER, api_approve, "approve",
     "Let the call pass, once; who asked for it cannot", .body = "Note", .answer = "Approval"},
    {HTTP_POST, "/api/v1/approvals/{id}/deny", PRINCIPAL_APPROVER, api_deny, "deny", "Refuse the call",
     .body = "Note", .answer = "Approval"},
    {HTTP_POST, "/api/v1/approvals/{id}/expire", PRINCIPAL_APPROVER, api_expire, "expire",
     "End a request or an unused approval before its time", .body = "Note", .answer = "Approval"},
    {HTTP_POST, "/api/v1/approvals/callback", 0, api_callback, "approvalCallback",
     "The answer to a webhook: signed like the webhook itself, good once", .body = "Callback",
     .answer = "Approval"},
    {HTTP_GET, "/api/v1/audit", LOOK, api_audit, "queryAudit", "Search the audit log, newest first",
     audit_query, .answer = "Records"},
    {HTTP_GET, "/api/v1/audit/stream", LOOK, api_audit_stream, "streamAudit",
     "Records as they are written, as server-sent events; the first event says from where on",
     .answer = "EventStream"},
    {0},
};
