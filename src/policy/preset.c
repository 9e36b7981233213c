/* Rule sets that a policy switches on by name. */
#include "policy/limits.h"
#include "policy/match.h"

/* Folders and files whose content an agent, an editor or a shell obeys: writing there turns data into orders.
 */
static const char *const agent_config[] = {".cursor",
                                           ".vscode",
                                           ".claude",
                                           ".codex",
                                           ".gemini",
                                           ".windsurf",
                                           ".continue",
                                           ".mcp.json",
                                           "mcp.json",
                                           "mcp_config.json",
                                           ".claude.json",
                                           "claude_desktop_config.json",
                                           ".cursorrules",
                                           "CLAUDE.md",
                                           "AGENTS.md",
                                           ".bashrc",
                                           ".bash_profile",
                                           ".bash_login",
                                           ".profile",
                                           ".zshrc",
                                           ".zprofile",
                                           ".zshenv",
                                           "config.fish",
                                           ".gitconfig",
                                           ".git",
                                           ".husky",
                                           ".ssh",
                                           ".npmrc",
                                           ".envrc",
                                           "authorized_keys",
                                           NULL};

bool policy_names_agent_config(struct slice text) {
    if (text.len > POLICY_FILE_PATH_MAX || slice_find(text, '\n') >= 0)
        return false; /* a text, not a path */
    size_t start = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && text.ptr[i] != '/' && text.ptr[i] != '\\')
            continue;
        struct slice part = slice_of(text.ptr + start, i - start);
        for (size_t j = 0; agent_config[j]; j++)
            if (slice_eq_nocase(part, slice_str(agent_config[j])))
                return true;
        start = i + 1;
    }
    return false;
}
