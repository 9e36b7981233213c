/* The schemas of the OpenAPI document. */
#include "admin/api.h"

#define TEXT "{\"type\":\"string\"}"
#define TIME_OR_NULL "{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"}"
#define TIME "{\"type\":\"string\",\"format\":\"date-time\"}"
#define NUMBER "{\"type\":\"integer\"}"
#define REAL "{\"type\":\"number\"}"
#define FLAG "{\"type\":\"boolean\"}"
#define OBJECT "{\"type\":\"object\"}"
#define ANYTHING "{}"
#define REF(name) "{\"$ref\":\"#/components/schemas/" name "\"}"
#define LIST(of) "{\"type\":\"array\",\"items\":" of "}"
#define ONE_OF(names) "{\"enum\":[" names "]}"
#define MEMBER(name, schema) "\"" name "\":" schema
#define HAS(members) "{\"type\":\"object\",\"properties\":{" members "}"
#define NEEDS(names) ",\"required\":[" names "]}"

/* clang-format off */
const char api_schemas[] = "{"
    MEMBER("Any", OBJECT) ","
    MEMBER("Error", HAS(
        MEMBER("error", TEXT)) NEEDS("\"error\"")) ","
    MEMBER("Status", HAS(
        MEMBER("version", TEXT) "," MEMBER("started_at", TIME) "," MEMBER("identity", TEXT) ","
        MEMBER("servers", NUMBER) "," MEMBER("sessions", NUMBER) "," MEMBER("calls_under_way", NUMBER) ","
        MEMBER("draining", FLAG) "," MEMBER("approvals_pending", NUMBER) ","
        MEMBER("restart_needed_for", TEXT) "," MEMBER("settings_fault", TEXT) ","
        MEMBER("audit_seq", NUMBER) "," MEMBER("audit_refused", NUMBER) "," MEMBER("audit_unrecorded", NUMBER) "," MEMBER("audit_fault", TEXT)) NEEDS("\"version\",\"started_at\",\"identity\",\"servers\",\"sessions\",\"calls_under_way\",\"draining\"")) ","
    MEMBER("Server", HAS(
        MEMBER("name", TEXT) "," MEMBER("transport", ONE_OF("\"stdio\",\"http\",\"builtin\"")) ","
        MEMBER("state", ONE_OF("\"ready\",\"idle\",\"down\"")) "," MEMBER("fault", TEXT) ","
        MEMBER("links", NUMBER) "," MEMBER("connections", NUMBER) "," MEMBER("tools_known", FLAG) ","
        MEMBER("tools", NUMBER) "," MEMBER("policy", TEXT)) NEEDS("\"name\",\"transport\",\"state\",\"links\",\"connections\",\"tools_known\",\"tools\"")) ","
    MEMBER("Servers", LIST(REF("Server"))) ","
    MEMBER("Tool", HAS(
        MEMBER("name", TEXT) "," MEMBER("category", TEXT) "," MEMBER("severity", TEXT) "," MEMBER("confidence", REAL) ","
        MEMBER("tags", LIST(TEXT)) "," MEMBER("findings", LIST(TEXT)) "," MEMBER("fingerprint", TEXT) ","
        MEMBER("pin", ONE_OF("\"accepted\",\"held\",\"none\"")) "," MEMBER("held", TEXT) "," MEMBER("poison", TEXT)) NEEDS("\"name\",\"category\",\"severity\",\"confidence\",\"tags\",\"findings\",\"fingerprint\",\"pin\"")) ","
    MEMBER("Tools", LIST(REF("Tool"))) ","
    MEMBER("Session", HAS(
        MEMBER("session", TEXT) "," MEMBER("identity", TEXT) "," MEMBER("server", TEXT) ","
        MEMBER("version", TEXT) "," MEMBER("calls", NUMBER)) NEEDS("\"session\",\"identity\",\"version\",\"calls\"")) ","
    MEMBER("Sessions", LIST(REF("Session"))) ","
    MEMBER("Job", HAS(
        MEMBER("id", TEXT) "," MEMBER("principal", TEXT) ","
        MEMBER("state", ONE_OF("\"pending\",\"running\",\"completed\",\"failed\",\"cancelled\",\"timeout\"")) ","
        MEMBER("language", TEXT) "," MEMBER("created_at", TIME) "," MEMBER("progress", "{\"type\":\"number\"}") ","
        MEMBER("message", TEXT) "," MEMBER("execution_time_ms", NUMBER) "," MEMBER("tool_calls", NUMBER)) NEEDS("\"id\",\"principal\",\"state\",\"language\",\"created_at\",\"execution_time_ms\",\"tool_calls\"")) ","
    MEMBER("Jobs", LIST(REF("Job"))) ","
    MEMBER("Grant", HAS(
        MEMBER("name", TEXT) "," MEMBER("token", TEXT) "," MEMBER("hint", TEXT) "," MEMBER("label", TEXT) ","
        MEMBER("state", ONE_OF("\"active\",\"expired\",\"revoked\"")) ","
        MEMBER("servers", LIST(TEXT)) "," MEMBER("tools", LIST(TEXT)) "," MEMBER("policy", TEXT) ","
        MEMBER("limits", TEXT) "," MEMBER("roles", LIST(TEXT)) ","
        MEMBER("created_at", TIME_OR_NULL) "," MEMBER("expires_at", TIME_OR_NULL) ","
        MEMBER("revoked_at", TIME_OR_NULL) "," MEMBER("used_at", TIME_OR_NULL) ","
        MEMBER("rotated_at", TIME_OR_NULL)) NEEDS("\"name\",\"state\",\"servers\",\"tools\",\"roles\",\"created_at\"")) ","
    MEMBER("Grants", LIST(REF("Grant"))) ","
    MEMBER("NewGrant", HAS(
        MEMBER("name", TEXT) "," MEMBER("label", TEXT) "," MEMBER("servers", LIST(TEXT)) ","
        MEMBER("tools", LIST(TEXT)) "," MEMBER("limits", TEXT) ","
        MEMBER("roles", LIST(ONE_OF("\"admin\",\"policy-manager\",\"approver\",\"viewer\",\"person\""))) ","
        MEMBER("expires_in_seconds", NUMBER)) NEEDS("\"name\"")) ","
    MEMBER("Rotation", HAS(
        MEMBER("grace_seconds", NUMBER)) "}") ","
    MEMBER("Policy", HAS(
        MEMBER("name", TEXT) "," MEMBER("server", TEXT) "," MEMBER("hash", TEXT) ","
        MEMBER("version", TEXT) "," MEMBER("dialect", ONE_OF("\"intercept\",\"policylayer\"")) "," MEMBER("shadow", FLAG) ","
        MEMBER("tools", NUMBER)) NEEDS("\"name\",\"hash\",\"version\",\"dialect\",\"shadow\",\"tools\"")) ","
    MEMBER("Policies", LIST(REF("Policy"))) ","
    MEMBER("PolicyText", HAS(
        MEMBER("policy_text", TEXT)) NEEDS("\"policy_text\"")) ","
    MEMBER("Problem", HAS(
        MEMBER("severity", ONE_OF("\"error\",\"warning\"")) "," MEMBER("text", TEXT) ","
        MEMBER("pointer", TEXT) "," MEMBER("line", NUMBER)) NEEDS("\"severity\",\"text\"")) ","
    MEMBER("Validation", HAS(
        MEMBER("valid", FLAG) "," MEMBER("problems", LIST(REF("Problem")))) NEEDS("\"valid\",\"problems\"")) ","
    MEMBER("DryRun", HAS(
        MEMBER("id", ANYTHING) "," MEMBER("policy", OBJECT) "," MEMBER("policy_text", TEXT) ","
        MEMBER("grant", TEXT) "," MEMBER("counters", OBJECT) "," MEMBER("steps", LIST(OBJECT))) NEEDS("\"steps\"")) ","
    MEMBER("DryRunResult", HAS(
        MEMBER("id", ANYTHING) "," MEMBER("steps", LIST(OBJECT)) "," MEMBER("counters", OBJECT) ","
        MEMBER("error", LIST(TEXT))) "}") ","
    MEMBER("Approval", HAS(
        MEMBER("id", TEXT) ","
        MEMBER("status", ONE_OF("\"pending\",\"approved\",\"denied\",\"expired\",\"used\"")) ","
        MEMBER("identity", TEXT) "," MEMBER("session", TEXT) "," MEMBER("server", TEXT) ","
        MEMBER("tool", TEXT) "," MEMBER("arguments", ANYTHING) "," MEMBER("arguments_cut", FLAG) ","
        MEMBER("text", TEXT) "," MEMBER("rule", TEXT) "," MEMBER("policy", TEXT) ","
        MEMBER("approvers", LIST(TEXT)) "," MEMBER("created_at", TIME) "," MEMBER("expires_at", TIME) ","
        MEMBER("asked", NUMBER) "," MEMBER("decided_at", TIME) "," MEMBER("decided_by", TEXT) ","
        MEMBER("note", TEXT) "," MEMBER("code", TEXT) "," MEMBER("used_at", TIME) "," MEMBER("digest", TEXT) ","
        MEMBER("arguments_hash", TEXT) "," MEMBER("fingerprint", TEXT) "," MEMBER("policy_hash", TEXT)) NEEDS("\"id\",\"status\",\"identity\",\"tool\",\"created_at\",\"expires_at\",\"asked\",\"digest\"")) ","
    MEMBER("Approvals", LIST(REF("Approval"))) ","
    MEMBER("Note", HAS(
        MEMBER("note", TEXT)) "}") ","
    MEMBER("Callback", HAS(
        MEMBER("approval_id", TEXT) "," MEMBER("decision", ONE_OF("\"approve\",\"deny\"")) ","
        MEMBER("by", TEXT) "," MEMBER("note", TEXT)) NEEDS("\"approval_id\",\"decision\",\"by\"")) ","
    MEMBER("Record", HAS(
        MEMBER("seq", NUMBER) "," MEMBER("kind", ONE_OF("\"decision\",\"outcome\",\"event\"")) ","
        MEMBER("time", TIME)) ",\"additionalProperties\":true" NEEDS("\"seq\",\"kind\",\"time\"")) ","
    MEMBER("Records", LIST(REF("Record"))) ","
    MEMBER("EventStream", "{\"type\":\"string\",\"description\":\"events of the type record, each with a Record as its data\"}")
    "}";
/* clang-format on */
