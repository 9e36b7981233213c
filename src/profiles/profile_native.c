/* The native profile: all tools. Tools of Code Execution MCP keep its names, arguments and results;
 * extensions only add to them. */
#include "profiles/discover.h"
#include "profiles/execute.h"
#include "profiles/native.h"
#include "profiles/promote.h"

#define READS "{\"readOnlyHint\":true,\"openWorldHint\":false}"
#define WRITES "{\"readOnlyHint\":false,\"destructiveHint\":false,\"openWorldHint\":false}"
#define ENDS                                                                                                 \
    "{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":true,\"openWorldHint\":false}"
#define TEXT "{\"type\":\"string\"}"
#define NUMBER "{\"type\":\"integer\"}"
#define FLAG "{\"type\":\"boolean\"}"
#define ENCODING "{\"type\":\"string\",\"enum\":[\"text\",\"base64\"],\"default\":\"text\"}"
#define SNAPSHOT                                                                                             \
    "{\"type\":\"object\",\"properties\":{\"success\":" FLAG ",\"name\":" TEXT ",\"files\":" NUMBER          \
    ",\"bytes\":" NUMBER ",\"left_out\":" TEXT ",\"error\":" TEXT "}}"
#define NOTHING "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"
#define JOB                                                                                                  \
    "{\"type\":\"object\",\"properties\":{\"job_id\":" TEXT                                                  \
    ",\"status\":{\"type\":\"string\",\"enum\":[\"pending\","                                                \
    "\"running\",\"completed\",\"failed\",\"cancelled\",\"timeout\"]},\"progress\":{\"type\":\"number\"},"   \
    "\"message\":" TEXT ",\"result\":{\"type\":\"object\"},\"output\":{\"type\":\"array\",\"items\":" TEXT   \
    "},\"stderr\":" TEXT ",\"error\":" TEXT "}}"
#define SUCCESS                                                                                              \
    "{\"type\":\"object\",\"properties\":{\"success\":" FLAG ",\"message\":" TEXT ",\"error\":" TEXT "}}"

static const struct code_tool native_tools[] = {
    {.name = "execute_code",
     .leads = true,
     .title = "Run code",
     .description =
         "Run Python, TypeScript, JavaScript, SQL or, where the operator allows it, bash in a sandbox "
         "without network. Use it to call several "
         "tools, "
         "to filter or "
         "combine large results before they reach you, and to compute. Python: set `result`; the standard "
         "library is "
         "there, and read_file, write_file, list_files, search_tools, call_tool(server, tool, args), "
         "tools.SERVER.TOOL(**args), progress(fraction, text). TypeScript and JavaScript: return a value; "
         "await "
         "callTool(server, tool, args) or tools.SERVER.TOOL(args). SQL (SQLite's): a table is a file of the "
         "workspace, `sales` or 'data/sales.csv' (CSV, JSON, JSON lines), or one of a .db file; COPY (SELECT "
         "...) TO 'out.csv' writes one; context_vars are :name. Files stay in /workspace; variables stay "
         "only with a "
         "session_id. With background, a run of more than a few seconds is answered with a job_id for "
         "job_status.",
     .input = "{\"type\":\"object\",\"properties\":{"
              "\"code\":{\"type\":\"string\",\"description\":\"What to run\"},"
              "\"language\":{\"type\":\"string\",\"enum\":[\"python\",\"typescript\",\"javascript\",\"sql\","
              "\"bash\"],"
              "\"default\":\"python\"},"
              "\"typescript\":{\"type\":\"boolean\",\"description\":\"true is language typescript, false is "
              "javascript, "
              "unless language says otherwise\"},"
              "\"context_vars\":{\"type\":[\"object\",\"null\"],\"default\":null,\"description\":\"Variables "
              "that the code "
              "finds\"},"
              "\"timeout_seconds\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":3600,\"default\":30},"
              "\"memory_mb\":{\"type\":\"integer\",\"minimum\":16,\"maximum\":4096,\"default\":500},"
              "\"session_id\":{\"type\":[\"string\",\"null\"],\"maxLength\":64,\"description\":\"Keep "
              "variables under this "
              "name for later runs\"},"
              "\"background\":{\"type\":\"boolean\",\"default\":false}},"
              "\"required\":[\"code\"],\"additionalProperties\":false}",
     .output =
         "{\"type\":\"object\",\"properties\":{\"success\":" FLAG
         ",\"result\":{},\"output\":{\"type\":\"array\","
         "\"items\":" TEXT "},\"execution_time_ms\":" NUMBER ",\"error\":" TEXT ",\"error_type\":" TEXT
         ",\"traceback\":" TEXT ",\"stderr\":" TEXT
         ",\"exit\":{\"type\":\"string\",\"enum\":[\"ok\",\"error\","
         "\"timeout\",\"memory\",\"cpu\",\"killed\",\"output\"]},\"truncated\":" FLAG
         ",\"tool_calls\":" NUMBER ",\"violations\":{\"type\":\"array\",\"items\":" TEXT
         "},\"files\":{\"type\":\"array\",\"items\":" TEXT "},\"waited_ms\":" NUMBER ",\"session_id\":" TEXT
         ",\"session_lost\":" FLAG ",\"job_id\":" TEXT ",\"status\":" TEXT "},\"required\":[\"success\"]}",
     .hints = "{\"readOnlyHint\":false,\"destructiveHint\":true,\"openWorldHint\":true}",
     .category = "execution",
     .run = execute_tool,
     .packages = true,
     .executes = true},
    {.name = "job_status",
     .leads = true,
     .title = "Ask about a job",
     .description = "The state of a background run: pending, running, completed, failed, cancelled or "
                    "timeout; its progress "
                    "and output so far, and its result once it is over.",
     .input =
         "{\"type\":\"object\",\"properties\":{\"job_id\":" TEXT ",\"wait_seconds\":{\"type\":\"integer\","
         "\"minimum\":0,\"maximum\":60,\"default\":0,\"description\":\"Answer when it is over, at the latest "
         "after "
         "this time\"}},\"required\":[\"job_id\"],\"additionalProperties\":false}",
     .output = JOB,
     .hints = READS,
     .category = "execution",
     .run = native_job_status},
    {.name = "job_cancel",
     .title = "End a job",
     .description = "Ends a background run.",
     .input = "{\"type\":\"object\",\"properties\":{\"job_id\":" TEXT
              "},\"required\":[\"job_id\"],\"additionalProperties\":false}",
     .output = "{\"type\":\"object\",\"properties\":{\"success\":" FLAG ",\"job_id\":" TEXT
               ",\"status\":" TEXT ",\"error\":" TEXT "}}",
     .hints = ENDS,
     .category = "execution",
     .run = native_job_cancel},
    {.name = "list_jobs",
     .title = "List jobs",
     .description = "Your background runs that are under way or whose results are still kept.",
     .input = "{\"type\":\"object\",\"properties\":{\"status\":{\"type\":[\"string\",\"null\"]}},"
              "\"additionalProperties\":false}",
     .output =
         "{\"type\":\"object\",\"properties\":{\"jobs\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},"
         "\"count\":" NUMBER "},\"required\":[\"jobs\",\"count\"]}",
     .hints = READS,
     .category = "execution",
     .run = native_list_jobs},
    {.name = "list_sessions",
     .title = "List sessions",
     .description = "Your sessions: names under which variables are kept between runs.",
     .input = NOTHING,
     .output = "{\"type\":\"object\",\"properties\":{\"sessions\":{\"type\":\"array\",\"items\":{\"type\":"
               "\"object\"}}},"
               "\"required\":[\"sessions\"]}",
     .hints = READS,
     .category = "execution",
     .run = native_list_sessions},
    {.name = "clear_session",
     .title = "Clear a session",
     .description = "Ends a session and forgets its variables.",
     .input = "{\"type\":\"object\",\"properties\":{\"session_id\":" TEXT
              "},\"required\":[\"session_id\"],\"additionalProperties\":false}",
     .output = "{\"type\":\"object\",\"properties\":{\"success\":" FLAG ",\"session_id\":" TEXT "}}",
     .hints = ENDS,
     .category = "execution",
     .run = native_clear_session},
    {.name = "search_tools",
     .leads = true,
     .title = "Search tools",
     .description = "Find tools on every server by words for what you want to do; most are not listed. Use "
                    "it when none that is listed fits. "
                    "detail_level: name, summary or full (with schemas).",
     .input = "{\"type\":\"object\",\"properties\":{\"query\":" TEXT
              ",\"category\":{\"type\":[\"string\",\"null\"],"
              "\"default\":null},\"detail_level\":{\"type\":\"string\",\"default\":\"summary\"},\"limit\":{"
              "\"type\":\"integer\",\"minimum\":1,\"maximum\":50}},"
              "\"required\":[\"query\"],"
              "\"additionalProperties\":false}",
     .output =
         "{\"type\":\"object\",\"properties\":{\"query\":" TEXT ",\"category\":{},\"detail_level\":" TEXT
         ",\"count\":" NUMBER ",\"left_out\":" NUMBER ",\"unavailable\":{\"type\":\"array\",\"items\":" TEXT
         "}"
         ",\"tools\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}},\"required\":[\"query\",\"count\","
         "\"tools\"]}",
     .hints = READS,
     .category = "discovery",
     .run = discover_search},
    {.name = "get_tool_definition",
     .leads = true,
     .title = "One tool's definition",
     .description =
         "Everything about one tool: its schemas, server and category; null when there is none of that name.",
     .input = "{\"type\":\"object\",\"properties\":{\"tool_name\":" TEXT ",\"server\":" TEXT
              ",\"category\":{\"type\":[\"string\",\"null\"],"
              "\"default\":null}},\"required\":[\"tool_name\"],\"additionalProperties\":false}",
     .output =
         "{\"type\":\"object\",\"properties\":{\"name\":" TEXT ",\"category\":" TEXT ",\"description\":" TEXT
         ",\"mcp_server\":" TEXT ",\"inputSchema\":{\"type\":\"object\"},\"error\":" TEXT "}}",
     .hints = READS,
     .category = "discovery",
     .run = discover_definition},
    {.name = "list_tool_categories",
     .leads = true,
     .title = "Categories of tools",
     .description = "What kinds of tools there are, and how many.",
     .input = NOTHING,
     .output =
         "{\"type\":\"object\",\"properties\":{\"categories\":{\"type\":\"object\"},\"total_tools\":" NUMBER
         ",\"core_mcps\":{\"type\":\"array\",\"items\":" TEXT
         "}},\"required\":[\"categories\",\"total_tools\","
         "\"core_mcps\"]}",
     .hints = READS,
     .category = "discovery",
     .run = discover_categories},
    {.name = "call_tool",
     .leads = true,
     .title = "Call a tool",
     .description =
         "Calls a tool that was found by search, on whatever server it is: the shortest way for one or "
         "two calls. For several, or for large results, use execute_code. The call is judged like any "
         "other.",
     .input = "{\"type\":\"object\",\"properties\":{\"server\":" TEXT ",\"tool\":" TEXT
              ",\"args\":{\"type\":[\"object\",\"null\"]}},\"required\":[\"tool\"],\"additionalProperties\":"
              "false}",
     .hints = "{\"readOnlyHint\":false,\"destructiveHint\":true,\"openWorldHint\":true}",
     .category = "discovery",
     .run = discover_call},
    {.name = "save_skill",
     .title = "Save a skill",
     .description = "Keep code for later: runs can import it by its name. Earlier versions are kept. A whole "
                    "SKILL.md is "
                    "taken as well, in place of code.",
     .input = "{\"type\":\"object\",\"properties\":{\"name\":" TEXT ",\"code\":" TEXT
              ",\"description\":{\"type\":\"string\",\"default\":\"\"},\"language\":{\"type\":\"string\","
              "\"enum\":[\"python\","
              "\"typescript\",\"javascript\"],\"default\":\"python\"}},\"required\":[\"name\",\"code\"],"
              "\"additionalProperties\":false}",
     .output = "{\"type\":\"object\",\"properties\":{\"success\":" FLAG ",\"message\":" TEXT
               ",\"version\":" NUMBER ",\"code_hash\":" TEXT ",\"error\":" TEXT "}}",
     .hints = WRITES,
     .category = "skills",
     .run = native_save_skill},
    {.name = "load_skill",
     .title = "Load a skill",
     .description = "The code of a skill and what is known of it; format skill_md adds it as a SKILL.md.",
     .input = "{\"type\":\"object\",\"properties\":{\"name\":" TEXT
              ",\"version\":{\"type\":[\"integer\",\"null\"]},"
              "\"format\":{\"type\":\"string\",\"enum\":[\"code\",\"skill_md\"],\"default\":\"code\"}},"
              "\"required\":[\"name\"],"
              "\"additionalProperties\":false}",
     .output = "{\"type\":\"object\",\"properties\":{\"name\":" TEXT ",\"code\":" TEXT
               ",\"metadata\":{\"type\":\"object\"},\"skill_md\":" TEXT ",\"error\":" TEXT "}}",
     .hints = READS,
     .category = "skills",
     .run = native_load_skill},
    {.name = "list_skills",
     .title = "List skills",
     .description = "The skills that can be loaded or imported.",
     .input = NOTHING,
     .output = "{\"type\":\"object\",\"properties\":{\"count\":" NUMBER
               ",\"skills\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}}},\"required\":[\"count\","
               "\"skills\"]}",
     .hints = READS,
     .category = "skills",
     .run = native_list_skills},
    {.name = "sanitize_pii",
     .title = "Hide personal data",
     .description = "Puts tokens like [EMAIL_7K3QX9M2] in place of personal data and secrets in a text.",
     .input = "{\"type\":\"object\",\"properties\":{\"text\":" TEXT
              "},\"required\":[\"text\"],\"additionalProperties\":false}",
     .output = "{\"type\":\"object\",\"properties\":{\"sanitized_text\":" TEXT ",\"pii_found\":" NUMBER
               ",\"pii_types\":{\"type\":\"array\",\"items\":" TEXT
               "},\"map\":{\"type\":\"object\"},\"error\":" TEXT "}}",
     .hints = READS,
     .category = "privacy",
     .run = native_sanitize},
    {.name = "restore_pii",
     .title = "Restore personal data",
     .description = "Puts the values back in place of tokens that your own sanitize_pii made.",
     .input = "{\"type\":\"object\",\"properties\":{\"text\":" TEXT
              "},\"required\":[\"text\"],\"additionalProperties\":false}",
     .output = "{\"type\":\"object\",\"properties\":{\"restored_text\":" TEXT ",\"error\":" TEXT "}}",
     .hints = READS,
     .category = "privacy",
     .run = native_restore},
    {.name = "write_workspace_file",
     .title = "Write a file",
     .description = "Writes a file to your workspace, with the directories above it: text, or bytes as "
                    "base64.",
     .input = "{\"type\":\"object\",\"properties\":{\"filename\":" TEXT ",\"content\":" TEXT
              ",\"encoding\":" ENCODING
              "},\"required\":[\"filename\",\"content\"],\"additionalProperties\":false}",
     .output = SUCCESS,
     .hints = WRITES,
     .category = "workspace",
     .run = native_write_file},
    {.name = "read_workspace_file",
     .title = "Read a file",
     .description = "The text of a file in your workspace; its bytes with encoding base64. A picture comes "
                    "as an image.",
     .input = "{\"type\":\"object\",\"properties\":{\"filename\":" TEXT ",\"encoding\":" ENCODING
              "},\"required\":[\"filename\"],\"additionalProperties\":false}",
     .output =
         "{\"type\":\"object\",\"properties\":{\"success\":" FLAG ",\"filename\":" TEXT ",\"content\":" TEXT
         ",\"encoding\":" TEXT ",\"mime_type\":" TEXT ",\"size\":" NUMBER ",\"error\":" TEXT "}}",
     .hints = READS,
     .category = "workspace",
     .run = native_read_file},
    {.name = "list_workspace_files",
     .title = "List files",
     .description = "The files of your workspace, or of a directory in it.",
     .input = "{\"type\":\"object\",\"properties\":{\"subpath\":{\"type\":\"string\",\"default\":\".\"}},"
              "\"additionalProperties\":false}",
     .output = "{\"type\":\"object\",\"properties\":{\"success\":" FLAG ",\"path\":" TEXT
               ",\"files\":{\"type\":\"array\",\"items\":" TEXT "},\"count\":" NUMBER ",\"error\":" TEXT "}}",
     .hints = READS,
     .category = "workspace",
     .run = native_list_files},
    {.name = "save_snapshot",
     .title = "Save a snapshot",
     .description =
         "Keeps all files of your workspace as they are now under a name, to go back to. Variables of "
         "sessions are not part of it.",
     .input = "{\"type\":\"object\",\"properties\":{\"name\":" TEXT
              "},\"required\":[\"name\"],\"additionalProperties\":false}",
     .output = SNAPSHOT,
     .hints = WRITES,
     .category = "workspace",
     .run = native_save_snapshot},
    {.name = "list_snapshots",
     .title = "List snapshots",
     .description = "Your snapshots, and the part of their quota that they take.",
     .input = NOTHING,
     .output = "{\"type\":\"object\",\"properties\":{\"success\":" FLAG
               ",\"snapshots\":{\"type\":\"array\",\"items\":{\"type\":\"object\"}},\"bytes\":" NUMBER
               ",\"bytes_max\":" NUMBER ",\"error\":" TEXT "}}",
     .hints = READS,
     .category = "workspace",
     .run = native_list_snapshots},
    {.name = "restore_snapshot",
     .title = "Restore a snapshot",
     .description =
         "Makes your workspace what it was when the snapshot was saved: files that came later go. With "
         "`into`, the snapshot's files are put into that new directory instead, and everything else "
         "stays.",
     .input = "{\"type\":\"object\",\"properties\":{\"name\":" TEXT ",\"into\":" TEXT
              "},\"required\":[\"name\"],\"additionalProperties\":false}",
     .output = SNAPSHOT,
     .hints = ENDS,
     .category = "workspace",
     .run = native_restore_snapshot},
    {.name = "delete_snapshot",
     .title = "Delete a snapshot",
     .description = "Deletes a snapshot; the workspace stays as it is.",
     .input = "{\"type\":\"object\",\"properties\":{\"name\":" TEXT
              "},\"required\":[\"name\"],\"additionalProperties\":false}",
     .output = SNAPSHOT,
     .hints = ENDS,
     .category = "workspace",
     .run = native_delete_snapshot},
    {.name = "get_execution_stats",
     .title = "About this server",
     .description = "Workspace, skills, tools, limits, and what the sandbox can run.",
     .input = NOTHING,
     .output = "{\"type\":\"object\",\"properties\":{\"workspace\":{\"type\":\"object\"},\"skills\":{"
               "\"type\":\"object\"},"
               "\"tool_registry\":{\"type\":\"object\"},\"capabilities\":{\"type\":\"array\"},\"limits\":{"
               "\"type\":\"object\"},"
               "\"sandbox\":{\"type\":\"object\"},\"sessions\":{\"type\":\"array\"}}}",
     .hints = READS,
     .category = "execution",
     .run = native_stats},
};

const struct code_face profile_native = {
    .server_name = "sallyport-code",
    .instructions = "Runs code in a sandbox and keeps files, skills and jobs. Short tasks are best done by "
                    "calling tools directly; use "
                    "execute_code for large intermediate data, long chains of calls and computation. Find "
                    "tools with search_tools.",
    .tools = native_tools,
    .tool_count = sizeof(native_tools) / sizeof(native_tools[0]),
    .structured = true,
    .list_more = promote_list,
    .call_more = promote_call,
    .files = true,
};
