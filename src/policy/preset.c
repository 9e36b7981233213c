/* Rule sets that a policy enables by name. */
#include "base/hex.h"
#include "policy/match.h"

#define PART_MAX 64 /* bytes of a component that are compared; no listed name is longer */

/* Folders and files that an agent, an editor, a shell or the system executes or follows: writing there
 * turns data into instructions. A slash separates a folder from its content. */
static const char *const agent_config[] = {
    /* agents and editors */
    ".cursor", ".cursorrules", ".vscode", ".claude", ".claude.json", "claude_desktop_config.json",
    "claude.md", "claude.local.md", ".codex", "agents.md", ".gemini", "gemini.md", ".windsurf",
    ".windsurfrules", ".clinerules", ".cline", ".roo", ".roomodes", ".roorules", ".continue",
    ".continuerules", ".kiro", ".junie", ".amazonq", ".zed", ".goosehints", ".aider.conf.yml", ".aider",
    ".mcp.json", "mcp.json", "mcp_config.json", "copilot-instructions.md", ".idea", ".devcontainer",
    "devcontainer.json", "sallyport.yaml",
    /* what runs on a build machine, or when a repository is used */
    ".github/workflows", ".github/actions", ".gitlab-ci.yml", ".circleci", "jenkinsfile", ".git",
    ".gitmodules", ".gitconfig", ".husky", ".pre-commit-config.yaml", ".envrc", ".direnvrc",
    /* shells and logins */
    ".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc",
    ".zprofile", ".zshenv", ".zlogin", ".zlogout", ".cshrc", ".tcshrc", ".kshrc", ".inputrc", "config.fish",
    "fish/conf.d", "fish/functions", ".tmux.conf", ".vimrc", "init.vim", "init.lua", ".emacs", ".emacs.d",
    ".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment", "etc/profile", "profile.d",
    "etc/environment", "ld.so.preload", "sudoers", "sudoers.d",
    /* keys and registries */
    ".ssh", "authorized_keys", ".npmrc", ".yarnrc", ".yarnrc.yml", ".pypirc", "pip.conf", ".netrc",
    ".cargo/config", ".cargo/config.toml", ".docker/config.json", ".kube",
    /* what the system starts */
    "systemd", "autostart", "crontab", "crontabs", "cron.d", "cron.hourly", "cron.daily", "cron.weekly",
    "cron.monthly", "spool/cron", "init.d", "rc.local", "launchagents", "launchdaemons", "startup", NULL};

static bool is_separator(char c, bool is_command) {
    static const char around[] = " \t\r\n\v\f\"'`;&|<>()=,:{}$";
    return c == '/' || c == '\\' || (is_command && c && strchr(around, c));
}

/* Blanks and control characters around a component, and the trailing dots and streams that Windows
 * removes, are ignored: they name the same file. */
static struct slice trim_part(struct slice part) {
    while (part.len && (unsigned char)part.ptr[0] <= ' ')
        part = slice_from(part, 1);
    ptrdiff_t colon = slice_find(part, ':');
    if (colon > 0)
        part.len = (size_t)colon;
    for (size_t i = 0; i < part.len; i++)
        if (part.ptr[i] == '?' || part.ptr[i] == '#')
            part.len = i;
    while (part.len && ((unsigned char)part.ptr[part.len - 1] <= ' ' || part.ptr[part.len - 1] == '.'))
        part.len--;
    return part;
}

/* Decodes percent signs, so that %2Ebashrc is found. A longer component is not in the list. */
static struct slice decode_part(struct slice part, char out[PART_MAX]) {
    size_t len = 0;
    part = trim_part(part);
    for (size_t i = 0; i < part.len; i++) {
        int high = part.ptr[i] == '%' && i + 2 < part.len ? hex_value(part.ptr[i + 1]) : -1;
        int low = high >= 0 ? hex_value(part.ptr[i + 2]) : -1;
        if (len == PART_MAX)
            return (struct slice){0};
        out[len++] = (char)(low < 0 ? part.ptr[i] : high * 16 + low);
        i += low < 0 ? 0 : 2;
    }
    return slice_of(out, len);
}

static bool is_listed(struct slice parent, struct slice part) {
    for (size_t i = 0; agent_config[i]; i++) {
        struct slice folder, name = slice_str(agent_config[i]);
        bool in_folder = slice_cut(&name, '/', &folder);
        if (slice_eq_nocase(part, in_folder ? name : folder) &&
            (!in_folder || slice_eq_nocase(parent, folder)))
            return true;
    }
    return false;
}

bool policy_preset_names_config(struct slice text, bool is_command) {
    char parts[2][PART_MAX];
    struct slice parent = {0};
    size_t start = 0;
    int turn = 0;
    for (size_t i = 0; i <= text.len; i++) {
        if (i < text.len && !is_separator(text.ptr[i], is_command))
            continue;
        struct slice raw = slice_of(text.ptr + start, i - start);
        start = i + 1;
        if (!raw.len || slice_is(raw, ".")) /* // and /./ do not separate a folder from its content */
            continue;
        struct slice part = decode_part(raw, parts[turn]);
        if (part.len && is_listed(parent, part))
            return true;
        parent = part;
        turn = !turn;
    }
    return false;
}
