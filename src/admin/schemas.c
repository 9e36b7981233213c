/* The schemas of the OpenAPI document. */
#include "admin/api.h"

#define TEXT "{\"type\":\"string\"}"
#define TIME_OR_NULL "{\"type\":[\"string\",\"null\"],\"format\":\"date-time\"}"
#define TIME "{\"type\":\"string\",\"format\":\"date-time\"}"
#define NUMBER "{\"type\":\"integer\"}"
#define NUMBER_OR_NULL "{\"type\":[\"integer\",\"null\"]}"
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
/* For bodies of requests: another member is refused. */
#define ONLY ",\"additionalProperties\":false"

/* clang-format off */
const char api_schemas[] = "{"
    MEMBER("Any", OBJECT) ","
    MEMBER("Error", HAS(
        MEMBER("error", TEXT)) NEEDS("\"error\"")) ","
    MEMBER("Me", HAS(
        MEMBER("identity", TEXT) "," MEMBER("roles", LIST(TEXT)) "," MEMBER("signed_in", FLAG) "," MEMBER("open", FLAG) ","
        MEMBER("expires_at", TIME)) NEEDS("\"identity\",\"roles\",\"signed_in\",\"open\"")) ","
    MEMBER("Link", HAS(MEMBER("code", TEXT)) ONLY NEEDS("\"code\"")) ","
    MEMBER("Issuers", LIST(HAS(MEMBER("issuer", TEXT)) NEEDS("\"issuer\""))) ","
    MEMBER("SignIn", HAS(MEMBER("issuer", TEXT)) ONLY NEEDS("\"issuer\"")) ","
    MEMBER("SignedOut", HAS(MEMBER("url", TEXT)) "}") ","
    MEMBER("SignInPlace", HAS(MEMBER("url", TEXT)) NEEDS("\"url\"")) ","
    MEMBER("SignInCode", HAS(MEMBER("code", TEXT) "," MEMBER("state", TEXT) "," MEMBER("iss", TEXT)) ONLY NEEDS("\"code\",\"state\"")) ","
    MEMBER("Totals", HAS(
        MEMBER("calls", NUMBER) "," MEMBER("allow", NUMBER) "," MEMBER("deny", NUMBER) "," MEMBER("approve", NUMBER) ","
        MEMBER("failed", NUMBER) "," MEMBER("p50_us", NUMBER) "," MEMBER("p90_us", NUMBER) "," MEMBER("p99_us", NUMBER)) NEEDS("\"calls\",\"allow\",\"deny\",\"approve\",\"failed\"")) ","
    MEMBER("Overview", HAS(
        MEMBER("since", TIME) "," MEMBER("until", TIME) "," MEMBER("step_seconds", REAL) "," MEMBER("times", LIST(NUMBER)) ","
        MEMBER("allow", LIST(NUMBER)) "," MEMBER("deny", LIST(NUMBER)) "," MEMBER("approve", LIST(NUMBER)) "," MEMBER("failed", LIST(NUMBER)) ","
        MEMBER("p50_us", LIST(NUMBER_OR_NULL)) "," MEMBER("p90_us", LIST(NUMBER_OR_NULL)) "," MEMBER("p99_us", LIST(NUMBER_OR_NULL)) ","
        MEMBER("totals", REF("Totals")) ","
        MEMBER("tools", LIST(HAS(MEMBER("server", TEXT) "," MEMBER("tool", TEXT) "," MEMBER("calls", NUMBER) "," MEMBER("denied", NUMBER) "," MEMBER("p90_us", NUMBER)) "}")) ","
        MEMBER("denials", LIST(HAS(MEMBER("server", TEXT) "," MEMBER("tool", TEXT) "," MEMBER("rule", TEXT) "," MEMBER("reason", TEXT) "," MEMBER("count", NUMBER) "," MEMBER("last_seq", NUMBER) "," MEMBER("last_chain", NUMBER) "," MEMBER("last_time", TIME)) "}")) ","
        MEMBER("identities", LIST(HAS(MEMBER("identity", TEXT) "," MEMBER("calls", NUMBER) "," MEMBER("denied", NUMBER) "," MEMBER("p90_us", NUMBER)) "}"))) NEEDS("\"since\",\"until\",\"step_seconds\",\"times\",\"totals\",\"tools\",\"denials\",\"identities\"")) ","
    MEMBER("Limit", HAS(
        MEMBER("name", TEXT) "," MEMBER("key", TEXT) "," MEMBER("used", REAL) "," MEMBER("max", REAL) ","
        MEMBER("window_seconds", NUMBER) "," MEMBER("resets_at", TIME)) NEEDS("\"name\",\"key\",\"used\",\"max\"")) ","
    MEMBER("Limits", LIST(REF("Limit"))) ","
    MEMBER("Stop", HAS(
        MEMBER("id", TEXT) "," MEMBER("scope", ONE_OF("\"all\",\"server\",\"grant\"")) "," MEMBER("name", TEXT) ","
        MEMBER("reason", TEXT) "," MEMBER("by", TEXT) "," MEMBER("at", TIME)) NEEDS("\"id\",\"scope\",\"by\",\"at\"")) ","
    MEMBER("Stops", LIST(REF("Stop"))) ","
    MEMBER("NewStop", HAS(
        MEMBER("scope", ONE_OF("\"all\",\"server\",\"grant\"")) "," MEMBER("name", TEXT) "," MEMBER("reason", TEXT) "," MEMBER("cancel", FLAG)) ONLY NEEDS("\"scope\"")) ","
    MEMBER("Call", HAS(
        MEMBER("id", TEXT) "," MEMBER("identity", TEXT) "," MEMBER("session", TEXT) "," MEMBER("server", TEXT) ","
        MEMBER("method", TEXT) "," MEMBER("tool", TEXT) "," MEMBER("started_at", TIME) "," MEMBER("step", TEXT)) NEEDS("\"id\",\"identity\",\"session\",\"server\",\"method\",\"started_at\",\"step\"")) ","
    MEMBER("Calls", LIST(REF("Call"))) ","
    MEMBER("Status", HAS(
        MEMBER("version", TEXT) "," MEMBER("started_at", TIME) "," MEMBER("identity", TEXT) ","
        MEMBER("servers", NUMBER) "," MEMBER("sessions", NUMBER) "," MEMBER("calls_under_way", NUMBER) ","
        MEMBER("draining", FLAG) "," MEMBER("workers", NUMBER) "," MEMBER("approvals_pending", NUMBER) ","
        MEMBER("restart_needed_for", TEXT) "," MEMBER("settings_fault", TEXT) ","
        MEMBER("policy_faults", LIST(HAS(MEMBER("path", TEXT) "," MEMBER("error", TEXT)) "}")) ","
        MEMBER("audit_seq", NUMBER) "," MEMBER("audit_refused", NUMBER) "," MEMBER("audit_unrecorded", NUMBER) "," MEMBER("audit_fault", TEXT)) NEEDS("\"version\",\"started_at\",\"identity\",\"servers\",\"sessions\",\"calls_under_way\",\"draining\"")) ","
    MEMBER("Server", HAS(
        MEMBER("name", TEXT) "," MEMBER("transport", ONE_OF("\"stdio\",\"http\",\"builtin\"")) ","
        MEMBER("state", ONE_OF("\"ready\",\"idle\",\"down\",\"disabled\"")) "," MEMBER("fault", TEXT) ","
        MEMBER("era", ONE_OF("\"legacy\",\"modern\"")) "," MEMBER("login", ONE_OF("\"signed_in\",\"expired\",\"unreadable\"")) ","
        MEMBER("links", NUMBER) "," MEMBER("connections", NUMBER) "," MEMBER("tools_known", FLAG) ","
        MEMBER("tools", NUMBER) "," MEMBER("policy", TEXT) "," MEMBER("restarts", NUMBER) "," MEMBER("held", NUMBER) ","
        MEMBER("poisoned", NUMBER) "," MEMBER("stopped", FLAG)) NEEDS("\"name\",\"transport\",\"state\",\"links\",\"connections\",\"tools_known\",\"tools\"")) ","
    MEMBER("Servers", LIST(REF("Server"))) ","
    MEMBER("NewServer", HAS(
        MEMBER("name", TEXT) "," MEMBER("command", TEXT) "," MEMBER("args", LIST(TEXT)) "," MEMBER("url", TEXT) ","
        MEMBER("env", OBJECT) "," MEMBER("headers", OBJECT) "," MEMBER("cwd", TEXT) "," MEMBER("policy", TEXT) ","
        MEMBER("disabled", FLAG) "," MEMBER("trusted", FLAG)) ",\"additionalProperties\":true" NEEDS("\"name\"")) ","
    MEMBER("ServerChange", "{\"type\":\"object\",\"description\":\"members of the server as sallyport.yaml has them; env and headers name by name; null takes one out\",\"additionalProperties\":true}") ","
    MEMBER("ServerSettings", HAS(
        MEMBER("name", TEXT) "," MEMBER("env", LIST(TEXT)) "," MEMBER("headers", LIST(TEXT))) ",\"additionalProperties\":true" NEEDS("\"name\"")) ","
    MEMBER("LogLines", LIST(HAS(MEMBER("time", TIME) "," MEMBER("text", TEXT)) NEEDS("\"time\",\"text\""))) ","
    MEMBER("Survey", HAS(
        MEMBER("tools", LIST(OBJECT)) "," MEMBER("poisoned", NUMBER) "," MEMBER("tokens", NUMBER) "," MEMBER("starter", TEXT)) NEEDS("\"tools\",\"poisoned\",\"tokens\"")) ","
    MEMBER("PinDifferences", LIST(HAS(
        MEMBER("tool", TEXT) "," MEMBER("skill", TEXT) "," MEMBER("state", ONE_OF("\"new\",\"changed\",\"gone\",\"unreadable\"")) "," MEMBER("diff", TEXT)) NEEDS("\"state\",\"diff\""))) ","
    MEMBER("PinAcceptance", HAS(MEMBER("tool", TEXT) "," MEMBER("skill", TEXT)) ONLY "}") ","
    MEMBER("Tool", HAS(
        MEMBER("name", TEXT) "," MEMBER("category", TEXT) "," MEMBER("severity", TEXT) "," MEMBER("confidence", REAL) ","
        MEMBER("tags", LIST(TEXT)) "," MEMBER("findings", LIST(TEXT)) "," MEMBER("fingerprint", TEXT) ","
        MEMBER("pin", ONE_OF("\"accepted\",\"held\",\"none\"")) "," MEMBER("held", TEXT) "," MEMBER("poison", TEXT) ","
        MEMBER("description", TEXT) "," MEMBER("schema", ANYTHING) "," MEMBER("tokens", NUMBER)) NEEDS("\"name\",\"category\",\"severity\",\"confidence\",\"tags\",\"findings\",\"fingerprint\",\"pin\"")) ","
    MEMBER("Tools", LIST(REF("Tool"))) ","
    MEMBER("Catalogue", LIST(HAS(
        MEMBER("registry", TEXT) "," MEMBER("title", TEXT) "," MEMBER("name", TEXT) "," MEMBER("version", TEXT) "," MEMBER("tools", NUMBER) "," MEMBER("classes", OBJECT)) NEEDS("\"name\",\"tools\",\"classes\""))) ","
    MEMBER("CatalogueServer", HAS(
        MEMBER("registry", TEXT) "," MEMBER("title", TEXT) "," MEMBER("name", TEXT) "," MEMBER("version", TEXT) "," MEMBER("tools", LIST(HAS(
            MEMBER("name", TEXT) "," MEMBER("category", TEXT) "," MEMBER("severity", TEXT) "," MEMBER("tokens", NUMBER) "," MEMBER("tags", LIST(TEXT))) "}"))) NEEDS("\"name\",\"tools\"")) ","
    MEMBER("CataloguePage", HAS(
        MEMBER("kind", ONE_OF("\"server\",\"tool\",\"tools\",\"attack\"")) "," MEMBER("id", TEXT) "," MEMBER("title", TEXT) "," MEMBER("summary", TEXT) ","
        MEMBER("blocks", LIST(OBJECT))) ",\"additionalProperties\":true" NEEDS("\"kind\",\"title\",\"blocks\"")) ","
    MEMBER("ToolCall", HAS(
        MEMBER("server", TEXT) "," MEMBER("tool", TEXT) "," MEMBER("arguments", OBJECT) "," MEMBER("grant", TEXT) "," MEMBER("dry_run", FLAG)) ONLY NEEDS("\"server\",\"tool\"")) ","
    MEMBER("ToolAnswer", HAS(
        MEMBER("verdict", ONE_OF("\"allow\",\"deny\",\"approve\"")) "," MEMBER("rule", TEXT) "," MEMBER("text", TEXT) "," MEMBER("result", OBJECT) ","
        MEMBER("error", TEXT) "," MEMBER("approval_id", TEXT) "," MEMBER("latency_us", NUMBER) "," MEMBER("call", NUMBER) ","
        MEMBER("reason", TEXT) "," MEMBER("pointer", TEXT) "," MEMBER("detail", TEXT) "," MEMBER("trace", LIST(OBJECT))) "}") ","
    MEMBER("Session", HAS(
        MEMBER("session", TEXT) "," MEMBER("identity", TEXT) "," MEMBER("server", TEXT) ","
        MEMBER("version", TEXT) "," MEMBER("calls", NUMBER)) NEEDS("\"session\",\"identity\",\"version\",\"calls\"")) ","
    MEMBER("Sessions", LIST(REF("Session"))) ","
    MEMBER("Job", HAS(
        MEMBER("id", TEXT) "," MEMBER("principal", TEXT) ","
        MEMBER("state", ONE_OF("\"pending\",\"running\",\"completed\",\"failed\",\"cancelled\",\"timeout\"")) ","
        MEMBER("language", TEXT) "," MEMBER("created_at", TIME) "," MEMBER("progress", "{\"type\":\"number\"}") ","
        MEMBER("message", TEXT) "," MEMBER("execution_time_ms", NUMBER) "," MEMBER("tool_calls", NUMBER) ","
        MEMBER("call", NUMBER) "," MEMBER("output", TEXT) "," MEMBER("error_output", TEXT) "," MEMBER("content", LIST(OBJECT))) NEEDS("\"id\",\"principal\",\"state\",\"language\",\"created_at\",\"execution_time_ms\",\"tool_calls\"")) ","
    MEMBER("Jobs", LIST(REF("Job"))) ","
    MEMBER("Package", HAS(
        MEMBER("kind", ONE_OF("\"pip\",\"npm\"")) "," MEMBER("name", TEXT) "," MEMBER("version", TEXT) ","
        MEMBER("python", TEXT) "," MEMBER("on_request", FLAG) "," MEMBER("bytes", NUMBER) ","
        MEMBER("modules", TEXT) "," MEMBER("added", TIME) ","
        MEMBER("needs", LIST(HAS(MEMBER("name", TEXT) "," MEMBER("version", TEXT)) NEEDS("\"name\",\"version\"")))) NEEDS("\"kind\",\"name\",\"version\",\"bytes\",\"needs\"")) ","
    MEMBER("Packages", HAS(
        MEMBER("installed", LIST(REF("Package"))) "," MEMBER("allowed", LIST(TEXT))) NEEDS("\"installed\",\"allowed\"")) ","
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
        MEMBER("tools", LIST(TEXT)) "," MEMBER("policy", TEXT) "," MEMBER("limits", TEXT) ","
        MEMBER("roles", LIST(ONE_OF("\"admin\",\"policy-manager\",\"approver\",\"viewer\",\"person\""))) ","
        MEMBER("expires_in_seconds", NUMBER)) ONLY NEEDS("\"name\"")) ","
    MEMBER("Rotation", HAS(
        MEMBER("grace_seconds", NUMBER)) ONLY "}") ","
    MEMBER("Policy", HAS(
        MEMBER("id", TEXT) "," MEMBER("path", TEXT) "," MEMBER("fault", TEXT) ","
        MEMBER("name", TEXT) "," MEMBER("server", TEXT) "," MEMBER("hash", TEXT) ","
        MEMBER("version", TEXT) "," MEMBER("dialect", ONE_OF("\"intercept\",\"policylayer\"")) "," MEMBER("shadow", FLAG) ","
        MEMBER("tools", NUMBER)) NEEDS("\"name\",\"hash\",\"version\",\"dialect\",\"shadow\",\"tools\"")) ","
    MEMBER("Policies", LIST(REF("Policy"))) ","
    MEMBER("PolicyText", HAS(
        MEMBER("policy_text", TEXT) "," MEMBER("note", TEXT)) ONLY NEEDS("\"policy_text\"")) ","
    MEMBER("PolicyFile", HAS(
        MEMBER("id", TEXT) "," MEMBER("name", TEXT) "," MEMBER("path", TEXT) "," MEMBER("hash", TEXT) "," MEMBER("text", TEXT) "," MEMBER("policy", OBJECT) ","
        MEMBER("is_default", FLAG) "," MEMBER("servers", LIST(TEXT))) NEEDS("\"id\",\"name\",\"path\",\"hash\",\"text\",\"is_default\",\"servers\"")) ","
    MEMBER("PolicyVersions", LIST(HAS(
        MEMBER("version", NUMBER) "," MEMBER("hash", TEXT) "," MEMBER("by", TEXT) "," MEMBER("note", TEXT) "," MEMBER("at", TIME) ","
        MEMBER("current", FLAG)) NEEDS("\"version\",\"hash\",\"by\",\"at\",\"current\""))) ","
    MEMBER("PolicyVersionText", HAS(
        MEMBER("version", NUMBER) "," MEMBER("text", TEXT)) NEEDS("\"version\",\"text\"")) ","
    MEMBER("Revert", HAS(MEMBER("version", NUMBER)) ONLY NEEDS("\"version\"")) ","
    MEMBER("PolicyEdits", HAS(
        MEMBER("policy_text", TEXT) "," MEMBER("move", HAS(
            MEMBER("tool", TEXT) "," MEMBER("to", ONE_OF("\"allow\",\"limit\",\"approve\",\"deny\",\"hide\"")) "," MEMBER("rate", TEXT)) ONLY NEEDS("\"tool\",\"to\"")) ","
        MEMBER("edits", LIST(HAS(MEMBER("path", LIST(ANYTHING)) "," MEMBER("value", ANYTHING)) ONLY NEEDS("\"path\"")))) ONLY NEEDS("\"policy_text\"")) ","
    MEMBER("EditedPolicy", HAS(
        MEMBER("policy_text", TEXT) "," MEMBER("policy", OBJECT) "," MEMBER("valid", FLAG) "," MEMBER("problems", LIST(REF("Problem")))) NEEDS("\"policy_text\",\"valid\",\"problems\"")) ","
    MEMBER("Question", HAS(
        MEMBER("policy_text", TEXT) "," MEMBER("tool", TEXT) "," MEMBER("server", TEXT) "," MEMBER("grant", TEXT) "," MEMBER("class", TEXT) ","
        MEMBER("arguments", OBJECT)) ONLY NEEDS("\"policy_text\",\"tool\"")) ","
    MEMBER("Explanation", HAS(
        MEMBER("verdict", ONE_OF("\"allow\",\"deny\",\"approve\"")) "," MEMBER("reason", TEXT) "," MEMBER("rule", TEXT) "," MEMBER("pointer", TEXT) ","
        MEMBER("text", TEXT) "," MEMBER("detail", TEXT) "," MEMBER("trace", LIST(OBJECT))) NEEDS("\"verdict\",\"reason\",\"trace\"")) ","
    MEMBER("ReplayQuestion", HAS(MEMBER("policy_text", TEXT) "," MEMBER("since", TIME) "," MEMBER("servers", LIST(TEXT))) ONLY NEEDS("\"policy_text\"")) ","
    MEMBER("Change", HAS(
        MEMBER("count", NUMBER) "," MEMBER("by", LIST(OBJECT))) NEEDS("\"count\",\"by\"")) ","
    MEMBER("Replay", HAS(
        MEMBER("calls", NUMBER) "," MEMBER("unchanged", NUMBER) "," MEMBER("newly_denied", REF("Change")) "," MEMBER("newly_allowed", REF("Change")) ","
        MEMBER("newly_need_approval", REF("Change")) "," MEMBER("not_judged", REF("Change"))) NEEDS("\"calls\",\"unchanged\"")) ","
    MEMBER("Problem", HAS(
        MEMBER("severity", ONE_OF("\"error\",\"warning\"")) "," MEMBER("text", TEXT) ","
        MEMBER("pointer", TEXT) "," MEMBER("hint", TEXT) "," MEMBER("line", NUMBER) "," MEMBER("column", NUMBER)) NEEDS("\"severity\",\"text\"")) ","
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
        MEMBER("repeat_until", TIME) "," MEMBER("repeat_any", FLAG) "," MEMBER("stale", TEXT) "," MEMBER("class", TEXT) "," MEMBER("url", TEXT) ","
        MEMBER("arguments_hash", TEXT) "," MEMBER("fingerprint", TEXT) "," MEMBER("policy_hash", TEXT)) NEEDS("\"id\",\"status\",\"identity\",\"tool\",\"created_at\",\"expires_at\",\"asked\",\"digest\"")) ","
    MEMBER("Approvals", LIST(REF("Approval"))) ","
    MEMBER("Decision", HAS(
        MEMBER("note", TEXT) "," MEMBER("for_seconds", "{\"type\":\"integer\",\"minimum\":0,\"maximum\":28800}") "," MEMBER("any_arguments", FLAG)) ONLY "}") ","
    MEMBER("Note", HAS(
        MEMBER("note", TEXT)) ONLY "}") ","
    MEMBER("Callback", HAS(
        MEMBER("approval_id", TEXT) "," MEMBER("decision", ONE_OF("\"approve\",\"deny\"")) ","
        MEMBER("by", TEXT) "," MEMBER("note", TEXT)) NEEDS("\"approval_id\",\"decision\",\"by\"")) ","
    MEMBER("Record", HAS(
        MEMBER("gate", TEXT) "," MEMBER("chain", NUMBER) "," MEMBER("seq", NUMBER) "," MEMBER("kind", ONE_OF("\"decision\",\"outcome\",\"event\"")) ","
        MEMBER("time", TIME)) ",\"additionalProperties\":true" NEEDS("\"seq\",\"kind\",\"time\"")) ","
    MEMBER("Records", LIST(REF("Record"))) ","
    MEMBER("Export", TEXT) ","
    MEMBER("EventStream", "{\"type\":\"string\",\"description\":\"events of the type record, each with a Record as its data\"}")
    "}";
/* clang-format on */
