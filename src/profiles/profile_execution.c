/* Code Execution MCP: its thirteen tools with its schemas; every result is one text that holds JSON. */
#include "profiles/discover.h"
#include "profiles/execute.h"
#include "profiles/native.h"

/* clang-format off */
#define OBJECT(name, properties, required) \
    "{\"properties\":{" properties "}," required "\"title\":\"" name "Arguments\",\"type\":\"object\"}"
#define TEXT(title) "{\"title\":\"" title "\",\"type\":\"string\"}"
#define TEXT_OR(title, fallback) "{\"default\":\"" fallback "\",\"title\":\"" title "\",\"type\":\"string\"}"
#define TEXT_OR_NULL(title) "{\"anyOf\":[{\"type\":\"string\"},{\"type\":\"null\"}],\"default\":null,\"title\":\"" title "\"}"
#define INT_OR(title, fallback) "{\"default\":" fallback ",\"title\":\"" title "\",\"type\":\"integer\"}"
#define THING_OR_NULL(title) \
    "{\"anyOf\":[{\"additionalProperties\":true,\"type\":\"object\"},{\"type\":\"null\"}],\"default\":null,\"title\":\"" title "\"}"
#define REQUIRED(keys) "\"required\":[" keys "],"

static const struct code_tool execution_tools[] = {
    {.name = "execute_code",
     .description = "Execute Python code in a sandbox with a time and a memory limit. Set `result` to return a value; printed "
                    "lines come back as output. Inside: json, re, math, statistics, collections, datetime, date, timedelta; "
                    "read_file(f), write_file(f, text), list_files(path), delete_file(f); save_skill(name, code, description), "
                    "load_skill(name) (run what it gives by exec), list_skills(); tokenize_pii(text) -> (text, map), "
                    "detokenize_pii(text, map); filter_by_field(rows, field, value), summarize_list(rows, limit), "
                    "aggregate_stats(rows, fields), format_output(data). Process large data here and return a summary.",
     .input = OBJECT("execute_code",
                     "\"code\":" TEXT("Code") ","
                     "\"context_vars\":" THING_OR_NULL("Context Vars") ","
                     "\"timeout_seconds\":" INT_OR("Timeout Seconds", "30") ","
                     "\"memory_mb\":" INT_OR("Memory Mb", "500"),
                     REQUIRED("\"code\"")),
     .category = "execution",
     .run = execute_tool,
     .packages = true,
     .executes = true},
    {.name = "search_tools",
     .description = "Search the catalogue of tools without loading every definition.",
     .input = OBJECT("search_tools",
                     "\"query\":" TEXT("Query") ","
                     "\"category\":" TEXT_OR_NULL("Category") ","
                     "\"detail_level\":" TEXT_OR("Detail Level", "summary"),
                     REQUIRED("\"query\"")),
     .category = "discovery",
     .run = discover_search},
    {.name = "get_tool_definition",
     .description = "The whole definition of one tool.",
     .input = OBJECT("get_tool_definition",
                     "\"tool_name\":" TEXT("Tool Name") ","
                     "\"category\":" TEXT_OR_NULL("Category"),
                     REQUIRED("\"tool_name\"")),
     .category = "discovery",
     .run = discover_definition},
    {.name = "list_tool_categories",
     .description = "The categories of tools with their sizes.",
     .input = OBJECT("list_tool_categories", "", ""),
     .category = "discovery",
     .run = discover_categories},
    {.name = "save_skill",
     .description = "Save code as a reusable skill. execute_code runs it by exec(load_skill(name)) or import name.",
     .input = OBJECT("save_skill",
                     "\"name\":" TEXT("Name") ","
                     "\"code\":" TEXT("Code") ","
                     "\"description\":" TEXT_OR("Description", ""),
                     REQUIRED("\"name\",\"code\"")),
     .category = "skills",
     .run = native_save_skill},
    {.name = "load_skill",
     .description = "Load a saved skill.",
     .input = OBJECT("load_skill", "\"name\":" TEXT("Name"), REQUIRED("\"name\"")),
     .category = "skills",
     .run = native_load_skill},
    {.name = "list_skills",
     .description = "List all saved skills.",
     .input = OBJECT("list_skills", "", ""),
     .category = "skills",
     .run = native_list_skills},
    {.name = "sanitize_pii",
     .description = "Replace personal data in a text by tokens: e-mail addresses, phone numbers, SSNs, card numbers, IP "
                    "addresses, API keys. In execute_code: tokenize_pii(text).",
     .input = OBJECT("sanitize_pii", "\"text\":" TEXT("Text"), REQUIRED("\"text\"")),
     .category = "privacy",
     .run = native_sanitize},
    {.name = "restore_pii",
     .description = "Put the values back in place of their tokens. In execute_code: detokenize_pii(text).",
     .input = OBJECT("restore_pii", "\"text\":" TEXT("Text"), REQUIRED("\"text\"")),
     .category = "privacy",
     .run = native_restore},
    {.name = "write_workspace_file",
     .description = "Write a file to the workspace. In execute_code: write_file(filename, content).",
     .input = OBJECT("write_workspace_file",
                     "\"filename\":" TEXT("Filename") ","
                     "\"content\":" TEXT("Content"),
                     REQUIRED("\"filename\",\"content\"")),
     .category = "workspace",
     .run = native_write_file},
    {.name = "read_workspace_file",
     .description = "Read a file from the workspace. In execute_code: read_file(filename).",
     .input = OBJECT("read_workspace_file", "\"filename\":" TEXT("Filename"), REQUIRED("\"filename\"")),
     .category = "workspace",
     .run = native_read_file},
    {.name = "list_workspace_files",
     .description = "List the files of the workspace.",
     .input = OBJECT("list_workspace_files", "\"subpath\":" TEXT_OR("Subpath", "."), ""),
     .category = "workspace",
     .run = native_list_files},
    {.name = "get_execution_stats",
     .description = "Statistics of the execution environment.",
     .input = OBJECT("get_execution_stats", "", ""),
     .category = "execution",
     .run = native_stats},
};
/* clang-format on */

const struct code_face profile_execution = {
    .server_name = "code-execution-mcp",
    .server_version = "0.1.0",
    .instructions = "Run code instead of passing intermediate results through the conversation.",
    .tools = execution_tools,
    .tool_count = sizeof(execution_tools) / sizeof(execution_tools[0]),
    .languages = 1u << SANDBOX_PYTHON,
    .exact = true,
};
