#include "base/mem.h"
#include "policy/match.h"

#include "wire/host.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void test_clean_paths(void **state) {
    (void)state;
    struct arena a;
    struct slice clean;
    arena_init(&a);
    assert_true(policy_under_clean(SLICE("/a//b/./c/../d/"), &a, &clean) && slice_is(clean, "/a/b/d"));
    assert_true(policy_under_clean(SLICE("/../.."), &a, &clean) && slice_is(clean, "/"));
    assert_true(policy_under_clean(SLICE("/...a/.b"), &a, &clean) && slice_is(clean, "/...a/.b"));
    assert_false(policy_under_clean(SLICE("a/b"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a\0b"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a/~root"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a/%2F"), &a, &clean));
    assert_true(policy_under_clean(SLICE("/a/100%25x/b"), &a, &clean) == false);
    assert_true(policy_under_clean(SLICE("/a/100%/b"), &a, &clean));
    assert_true(policy_under_clean(SLICE("/a/b%20c/%u00e9/1\u22152"), &a, &clean));
    assert_true(policy_under_clean(SLICE("/a/x ./.b;c/d..e/f;g"), &a, &clean));
    assert_true(policy_under_clean(SLICE("/a/1\u2215/b c"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a/ /../b"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a/%20/b"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a/;x/../b"), &a, &clean));
    assert_false(policy_under_clean(SLICE("/a/\u200b/../b"), &a, &clean));
    static const char *const disguised[] = {
        "/a/.../b", "/a/....//b", "/a/.. /b", "/a/ ../b", "/a/..;/b", "/a/..;x=1/b", "/a/.\u200b./b",
        "/a/..\u00a0/b", "/a/. ./b", "/a/. /b", "/a/\u202e..\u2066/b", "/a/.\ufe0f./b",
        /* after one or two rounds of decoding, normalised or not */
        "/a/..%20/b", "/a/%09../b", "/a/..%3b/b", "/a/..%e2%80%8b/b", "/a/%ef%bc%8e%ef%bc%8e/b",
        "/a/\uff052e\uff052e/b", "/a/%uff0e%uff0e/b", "/a/%%32%65%%32%65/b", "/a/%7e/b", "/a/b%0a",
        "/a/%ud800", "/a/\u2026/b",
        /* Windows takes these for slashes */
        "/a/..\u2215b", "/a/b\u2044..", "/a/%u2215.."};
    for (size_t i = 0; i < ARRAY_LEN(disguised); i++)
        if (policy_under_clean(slice_str(disguised[i]), &a, &clean))
            fail_msg("%s passes", disguised[i]);
    arena_free(&a);
}

static void test_under(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    assert_true(policy_under_holds(SLICE("/d/x"), SLICE("/d/"), &a));
    assert_true(policy_under_holds(SLICE("/d"), SLICE("/d"), &a));
    assert_true(policy_under_holds(SLICE("/anything"), SLICE("/"), &a));
    assert_false(policy_under_holds(SLICE("/dx"), SLICE("/d"), &a));
    assert_false(policy_under_holds(SLICE("/d/../e"), SLICE("/d"), &a));
    /* servers that expand braces */
    assert_false(policy_under_holds(SLICE("/d/{../../e,x}/f"), SLICE("/d"), &a));
    assert_false(policy_under_holds(SLICE("/d/{.,}./{.,}./e"), SLICE("/d"), &a));
    assert_false(policy_under_holds(SLICE("/d/%7b..,x%7d"), SLICE("/d"), &a));
    assert_true(policy_under_holds(SLICE("/d/{id}/[slug]/a,b.ts"), SLICE("/d"), &a));
    assert_true(policy_under_holds(SLICE("/d/a,b/{c}"), SLICE("/d"), &a));
    arena_free(&a);
}

static void test_hosts(void **state) {
    (void)state;
    static const struct {
        const char *url, *host;
        enum host_fault fault;
    } rows[] = {
        {"http://Example.COM./x", "example.com", HOST_OK},
        {"https://example.com:443?a", "example.com", HOST_OK},
        {"https://example.com#a@b", "example.com", HOST_OK},
        {"http://1.1.1.1", "1.1.1.1", HOST_OK},
        {"http://16843009/", "1.1.1.1", HOST_OK},
        {"http://0x01010101", "1.1.1.1", HOST_OK},
        {"http://[2606:4700:0:0::1111]/", "2606:4700::1111", HOST_OK},
        {"http://[::FFFF:10.0.0.1]", "::ffff:10.0.0.1", HOST_PRIVATE},
        {"http://017700000001/", "127.0.0.1", HOST_PRIVATE},
        {"http://intranet/", "intranet", HOST_PRIVATE},
        {"http://x.internal/", "x.internal", HOST_PRIVATE},
        {"http://255.255.255.255/", "255.255.255.255", HOST_PRIVATE},
        {"http://a@b/", "", HOST_USERINFO},
        {"gopher://a.com/", "", HOST_SCHEME},
        {"http://", "", HOST_SYNTAX},
        {"http:///x", "", HOST_SYNTAX},
        {"http://a..b/", "", HOST_SYNTAX},
        {"http://[::1%25eth0]/", "", HOST_SYNTAX},
        {"http://a.com:99999/", "", HOST_SYNTAX},
        {"http://a.com:80x/", "", HOST_SYNTAX},
        {"http://1.2.3.256/", "", HOST_SYNTAX},
        {"http://0x.1.2.3/", "0.1.2.3", HOST_PRIVATE},
        {"http://a%2ecom/", "", HOST_SYNTAX},
        {"http://xn--e1afmkfd.com/", "xn--e1afmkfd.com", HOST_OK},
        {"http://kubernetes.default/", "kubernetes.default", HOST_PRIVATE},
        {"http://a.7f000001.rbndr.us/", "a.7f000001.rbndr.us", HOST_PRIVATE},
        {"http://1.0.0.127.in-addr.arpa/", "1.0.0.127.in-addr.arpa", HOST_PRIVATE},
        {"http://app.test/", "app.test", HOST_PRIVATE},
        {"http://notatest/", "notatest", HOST_PRIVATE},
        {"http://contest.com/", "contest.com", HOST_OK},
        {" http://a.com/", "", HOST_SYNTAX},
        {"http://a.com\t/", "", HOST_SYNTAX},
        {"http://a.com#@127.0.0.1/", "", HOST_USERINFO},
        {"http://localh.st/", "localh.st", HOST_PRIVATE},
        {"http://box.tail1234.ts.net/", "box.tail1234.ts.net", HOST_PRIVATE},
        {"http://vm.internal.cloudapp.net/", "vm.internal.cloudapp.net", HOST_PRIVATE},
        {"http://10-0-0-1.abc.plex.direct:32400/", "10-0-0-1.abc.plex.direct", HOST_PRIVATE},
    };
    struct arena a;
    arena_init(&a);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct slice host;
        bool is_ip;
        enum host_fault fault = host_of_url(slice_str(rows[i].url), &a, &host, &is_ip);
        if (fault != rows[i].fault || (host.len && !slice_is(host, rows[i].host)))
            fail_msg("%s: %d %.*s", rows[i].url, (int)fault, SLICE_FMT(host));
    }
    arena_free(&a);
    assert_true(host_matches(SLICE("a.b.c"), SLICE("*.b.c")));
    assert_false(host_matches(SLICE("b.c"), SLICE("*.b.c")));
    assert_false(host_matches(SLICE("xb.c"), SLICE("*.b.c")));
}

/* Settings for all users, languages, editors and desktops. */
static const char *const more_config[] = {"/etc/claude-code/managed-settings.json",
                                          "/etc/codex/config.toml",
                                          "docs/style.instructions.md",
                                          "a.prompt.md",
                                          "b/review.chatmode.md",
                                          "Library/Application Support/Claude/x.json",
                                          ".config/sallyport/sallyport.yaml",
                                          ".local/state/sallyport/format",
                                          ".nvim.lua",
                                          "vimfiles/x.vim",
                                          ".run/a.run.xml",
                                          ".bsp/sbt.json",
                                          ".ycm_extra_conf.py",
                                          ".eslintrc.cjs",
                                          ".luarc.json",
                                          ".pylintrc",
                                          "action.yml",
                                          "x/Jenkinsfile.release",
                                          ".zuul.d/jobs.yaml",
                                          "netlify.toml",
                                          ".gitlab/duo/chat-rules.md",
                                          ".huskyrc.yaml",
                                          ".lintstagedrc.mjs",
                                          "lint-staged.config.mjs",
                                          "repo.git/hooks/post-update",
                                          "hooks/reference-transaction",
                                          "hooks/pre-merge-commit",
                                          "/etc/gitconfig",
                                          "pnpm-workspace.yaml",
                                          ".pnpmfile.mjs",
                                          "pip/pip.ini",
                                          ".config/uv/uv.toml",
                                          "rust-toolchain.toml",
                                          "flake.nix",
                                          ".rvmrc",
                                          "gradle/wrapper/gradle-wrapper.properties",
                                          ".m2/extensions.xml",
                                          "NuGet.Config",
                                          "Directory.Build.props",
                                          ".ipython/profile_default/startup/a.py",
                                          "venv/bin/activate",
                                          ".mongorc.js",
                                          "login.sql",
                                          ".htaccess",
                                          "ansible.cfg",
                                          ".docker/cli-plugins/x",
                                          "/etc/pacman.d/hooks/x",
                                          "/etc/yum.repos.d/x.repo",
                                          ".zsh/a.zsh",
                                          ".zfunc/_x",
                                          ".p10k.zsh",
                                          "Documents/PowerShell/x.ps1",
                                          ".lessfilter",
                                          ".xscreensaver",
                                          ".config/rofi/config",
                                          ".local/bin/ls",
                                          "Desktop/a.desktop",
                                          "a.lnk",
                                          ".mailcap",
                                          ".mozilla/x/user.js",
                                          ".config/google-chrome/NativeMessagingHosts/x.json",
                                          "/etc/opt/chrome/policies/managed/x.json",
                                          ".k5login",
                                          "Library/Scripts/x",
                                          ".git-credentials",
                                          "_netrc",
                                          "/var/lib/postgresql/pg_hba.conf",
                                          "/etc/hosts",
                                          "C:\\Windows\\System32\\drivers\\etc\\hosts",
                                          "/etc/default/x",
                                          "/etc/NetworkManager/x",
                                          "/etc/skel/x",
                                          "/etc/apparmor.d/x",
                                          "Start Menu/Programs/x",
                                          "/proc/sys/kernel/core_pattern",
                                          "/proc/self/mem",
                                          "/boot/grub/grub.cfg"};

static void test_agent_config(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    static const char *const named[] = {
        ".cursor/mcp.json", "a/b/../.VSCode/x", "~\\.ssh\\config", "/x/.git/hooks/pre-commit",
        /* what file systems and servers take for the same name */
        "/x/.g\u200cit/config", "/x/.\uff42ashrc", "/x/.ba\u017fhrc", "/x/.git\u00a0/config",
        "/x/.git\uff0fconfig", "/x/GIT~1/config", "/x/claude~2", "/x/CLAUDE~1.JSO", "/x/AGENTS~1.MD",
        "/x/MCP~1.JSO", "/x/.git::$INDEX_ALLOCATION/config", "/x/.git;a/config", "/x/.%67it/config",
        "/x/.%2567it/config", "/x/.git%2fhooks%2fpre-commit", "/x/.git%252fhooks", "/x/.git%E2%80%8C/config",
        /* a folder and its content */
        ".github/workflows", ".github/./workflows/a.yml", ".github//workflows",
        ".github/x/../workflows/a.yml",
        (".github/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/../../../../../../../../../../../../../../../../"
         "workflows"),
        "x/../.github/workflows", "../../.github/workflows", ".github\n/workflows",
        /* one line of several, and the head of a patch */
        "a.txt\n/x/.bashrc\nb.txt", "a.txt\r\n.envrc", "--- a/.bashrc\n+++ b/.bashrc\n@@ -1 +1 @@\n",
        "*** Begin Patch\n*** Update File: .bashrc\n", "rename from a\nrename to AGENTS.md\n",
        "diff --git a/.envrc b/.envrc", "+++ .npmrc\t2026-01-01",
        /* quotes, and the encoding of old servers */
        "\".bashrc\"", "'/x/.bashrc'", "%u002ebashrc", "/x/.%u0062ashrc", "/x/.%uff42ashrc",
        /* other agents, build machines, shells, the system */
        "/x/AGENTS.override.md", ".opencode/x", "QWEN.md", ".travis.yml", ".gitea/workflows/a.yml",
        "profile.ps1", ".kilocode/rules/a.md", ".aiassistant/rules/a.md", "x/Code/User/settings.json",
        ".config/zed/settings.json", ".mvn/extensions.xml", "/etc/rc3.d/S01x", ".config/sway/config",
        "/etc/tmpfiles.d/x", ".githooks/pre-commit", ".gdbinit", "/etc/pam.d/su", "/etc/udev/rules.d/1.rules",
        "~/.aws/credentials",
        /* names with a star, and more of the same kinds */
        ".roorules-code", "x/.clinerules-architect", "x/My Project.code-workspace", "a.sublime-project",
        "lib/python3.11/site-packages/evil.pth", ".config/Code - Insiders/User/settings.json",
        "Kiro/User/mcp.json", "skills/x/SKILL.md", ".config/tmux/tmux.conf", "/etc/zshrc", ".dir-locals.el",
        "hooks/pre-commit", ".config/git/hooks/x", "/etc/ssh/sshd_config", "/etc/network/if-up.d/x",
        ".gitlab-ci.yaml", ".openclaw/workspace/x", "mcp_servers.json", ".helix/languages.toml",
        "C:\\Windows\\System32\\Tasks\\x", ".bashrc.d/x", "/x/ROORUL~1"};
    for (size_t i = 0; i < ARRAY_LEN(named); i++)
        if (!policy_preset_names_config(slice_str(named[i]), 0, &a))
            fail_msg("%s passes", named[i]);
    for (size_t i = 0; i < ARRAY_LEN(more_config); i++)
        if (!policy_preset_names_config(slice_str(more_config[i]), 0, &a))
            fail_msg("%s passes", more_config[i]);
    static const char *const harmless[] = {"read .bashrc first",
                                           "first\nread .bashrc first\n",
                                           "*** note\nthe rest",
                                           "{\"text\": \".bashrc\"}",
                                           "/x/%ud800",
                                           "/srv/.gitignore",
                                           "",
                                           "..",
                                           "../..",
                                           "100%",
                                           "a%2",
                                           "/x/gi~1/a",
                                           "/x/.github/ISSUE_TEMPLATE.md",
                                           "/x/workflows/a.yml",
                                           ".github/../workflows/a.yml",
                                           "/x/\u00e9t\u00e9/caf\u00e9.md",
                                           "/x/~/a",
                                           "/x/~1",
                                           "model.pth",
                                           "weights/site.pth",
                                           "/x/hooks/useState.ts",
                                           "/x/user/settings.json",
                                           ".roorules.txt",
                                           "docs/cursor.md",
                                           "src/package.json",
                                           "instructions.md",
                                           "app/hooks/pre.ts",
                                           "src/proc/selfie.c",
                                           "src/sys/kernels/a.c",
                                           "config/hosts",
                                           "/x/etc/a",
                                           "GI~1/config"};
    for (size_t i = 0; i < ARRAY_LEN(harmless); i++)
        if (policy_preset_names_config(slice_str(harmless[i]), 0, &a))
            fail_msg("%s is refused", harmless[i]);
    static const char *const commands[] = {
        "echo x>.bashrc",     "echo x > .ba\"s\"hrc",           "echo x > .ba's'hrc",
        "echo x > .ba\\shrc", "cp a \".git/hooks/pre-commit\"", "tee {.bashrc,x}"};
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (!policy_preset_names_config(slice_str(commands[i]), POLICY_PRESET_COMMAND, &a))
            fail_msg("%s passes", commands[i]);
    arena_free(&a);
}

/* What the official Python SDK parses to a list, and paths that a server joins. */
static void test_agent_config_in_parts(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    static const char *const texts[] = {"[\".bashrc\"]", " [\"a\", \"/x/.bashrc\"]",
                                        "{\"path\":\".b\\u0061shrc\"}", "[\"x\\/.bashrc\"]",
                                        "[\".github\\/workflows\"]"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (!policy_preset_names_config(slice_str(texts[i]), POLICY_PRESET_JSON, &a))
            fail_msg("%s passes", texts[i]);
    assert_false(policy_preset_names_config(SLICE("{\"a\": \"read .bashrc\"}"), POLICY_PRESET_JSON, &a));
    static const struct {
        const char *one, *other;
        bool names;
    } pairs[] = {{"/x/.github", "workflows/a.yml", true},
                 {"workflows", ".github", true},
                 {"/x/.GITHUB/", "./workflows", true},
                 {"/home/a/.config/git", "config", true},
                 {"git", "config", false},
                 {"/x/.github", "ISSUE_TEMPLATE.md", false},
                 {"/lib/site-packages", "evil.pth", true},
                 {"evil.pth", "/lib/site-packages/", true},
                 {"/models", "evil.pth", false},
                 {"/x/GITHUB~1", "WORKFL~1", true},
                 {"/x/github", "workflows", false},
                 {"config/git", "other", false}};
    for (size_t i = 0; i < ARRAY_LEN(pairs); i++) {
        struct policy_preset_parts parts = {0};
        bool one = policy_preset_add_part(&parts, slice_str(pairs[i].one), &a);
        bool both = policy_preset_add_part(&parts, slice_str(pairs[i].other), &a);
        if (one || both != pairs[i].names)
            fail_msg("%s and %s: %d", pairs[i].one, pairs[i].other, (int)both);
    }
    arena_free(&a);
}

static void test_shell(void **state) {
    (void)state;
    struct arena a;
    arena_init(&a);
    static const char *const clean[] = {"a-b_c.d/e=f,g:h@i+j", "", "gr\u00fc\u00dfe \u65e5\u672c\u8a9e",
                                        "a b", "\u00e9t\u00e9-2026"};
    for (size_t i = 0; i < ARRAY_LEN(clean); i++)
        if (!policy_shell_clean(slice_str(clean[i]), &a))
            fail_msg("%s is refused", clean[i]);
    for (const char *c = ";&|`$<>(){}[]*?!#~\\'\"^%\n\r\t\x7f"; *c; c++)
        assert_false(policy_shell_clean(slice_of(c, 1), &a));
    assert_false(policy_shell_clean(slice_of("\0", 1), &a));
    /* what a normalisation or a code page turns into one */
    static const char *const like[] = {"\uff1b", "\uff06", "\uff02",       "\uff04(", "\u2019",    "\u201c",
                                       "\u2028", "\ufe64", "\u2502\uff5c", "\ufe54",  "a\302\205b"};
    for (size_t i = 0; i < ARRAY_LEN(like); i++)
        if (policy_shell_clean(slice_str(like[i]), &a))
            fail_msg("%s passes", like[i]);
    static const char *const options[] = {
        "-",       "--x",     " -x",     "\t\n-x",  "\u200b-x", "\u00ad\u00adx", "\u2010x",
        "\u2013x", "\u2212x", "\uff0dx", "\ufe63x", "\u00a0-x", "\x01-x"};
    for (size_t i = 0; i < ARRAY_LEN(options); i++)
        if (!policy_shell_is_option(slice_str(options[i])))
            fail_msg("%s passes", options[i]);
    static const char *const values[] = {"", " ", "x-y", "x", "/-", ".-x", "\u00e9-", "+x", "1 -2"};
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        if (policy_shell_is_option(slice_str(values[i])))
            fail_msg("%s is refused", values[i]);
    arena_free(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {

        cmocka_unit_test(test_clean_paths),  cmocka_unit_test(test_under),
        cmocka_unit_test(test_hosts),        cmocka_unit_test(test_shell),
        cmocka_unit_test(test_agent_config), cmocka_unit_test(test_agent_config_in_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
