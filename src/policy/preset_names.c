/* Names by hash: a path may have millions of components, and each is looked up. */
#include "policy/preset_names.h"

#include "base/check.h"
#include "base/hex.h"
#include "base/mem.h"

#include <pthread.h>

#define SHORT_MAX 6  /* letters of a short name of Windows */
#define BUCKETS 4096 /* a power of two */
#define PART_MAX 64  /* bytes; no name in the table is longer */
#define STARS_MAX 48 /* names with a star */
#define STAR_MIN 4   /* letters of such a name besides the star */

/* clang-format off */
/* Folders and files that an agent, an editor, a shell or the system executes or follows: writing there
 * turns data into instructions. A slash separates a folder from its content; a star stands for any text at
 * the start or at the end of a name. */
static const char *const agent_config[] = {
    /* agents and editors */
    ".cursor", ".cursorrules", ".vscode", ".claude", ".claude.json", "claude_desktop_config.json",
    "claude.md", "claude.local.md", ".codex", "agents.md", "agents.override.md", "agent.md", ".agents",
    ".agent", ".gemini", "gemini.md", ".windsurf", ".windsurfrules", ".codeium", ".clinerules", ".cline",
    ".roo", ".roomodes", ".roorules", ".continue", ".continuerules", ".kiro", ".junie", ".amazonq", ".zed",
    ".rules", ".goosehints", ".aider.conf.yml", ".aider", ".opencode", "opencode.json", "opencode.jsonc",
    ".qwen", "qwen.md", ".crush", "crush.json", "crush.md", "warp.md", ".trae", ".augment",
    ".augment-guidelines", ".factory", ".openhands", ".openhands_instructions", ".void", ".pearai",
    ".tabnine", ".cody", ".sourcegraph", ".mcp.json", "mcp.json", "mcp_config.json", "mcp_settings.json",
    "cline_mcp_settings.json", ".mcp", "copilot-instructions.md", ".copilot", ".idea", ".vs", ".fleet",
    ".nova", ".devcontainer", "devcontainer.json", ".devcontainer.json", "sallyport.yaml", "sallyport.lock",
    ".kilocode", ".kilocoderules", ".kilocodemodes", ".aiassistant", ".rovodev", ".replit", "replit.md",
    ".qoder", ".lingma", ".codebuddy", "codebuddy.md", ".iflow", "iflow.md", ".firebender",
    "firebender.json", ".antigravity", ".amp", ".ampcode", ".goose", ".serena", ".ruler", ".jules",
    ".claude-plugin", "gemini-extension.json", ".vscode-server", ".cursor-server", "code/user",
    "cursor/user", "windsurf/user", "vscodium/user", ".config/zed", ".config/goose", ".config/opencode",
    ".config/crush", ".config/amp", ".config/github-copilot", ".roorules-*", ".clinerules-*",
    ".kilocoderules-*", "*.code-workspace", "*.sublime-project", "code - insiders/user", "code - oss/user",
    "kiro/user", "trae/user", "antigravity/user", "void/user", "pearai/user", "positron/user", "qoder/user",
    "codebuddy/user", ".openclaw", ".clawdbot", ".moltbot", "skill.md", ".helix", ".config/helix",
    ".mcp.local.json", "mcp.local.json", "mcp-servers.json", "mcp_servers.json", "mcpservers.json",
    "mcp-config.json", ".mcp-config.json", "mcp.yaml", "mcp.yml", "mcp.toml", ".config/mcp",
    ".config/mcphub", "librechat.yaml", "librechat.yml", ".aider.model.settings.yml", "grok.md", "codex.md",
    ".grok", ".mentatconfig.json", ".sweep.yaml", "sweep.yaml", ".coderabbit.yaml", ".coderabbit.yml",
    ".pr_agent.toml", ".zencoder", ".bolt", ".lovable", ".ai", ".cursorignore", ".cursorindexingignore",
    ".warp", ".vscodium", ".vscode-oss", ".vscode-insiders", ".devin", ".idx", ".gitpod.yml",
    ".gitpod.dockerfile", ".codesandbox", ".stackblitzrc", ".devfile.yaml", "devfile.yaml", ".theia",
    ".atom", "sublime-text/packages", ".config/jetbrains", "application support/jetbrains",
    "roaming/jetbrains", ".config/claude", ".config/codex", ".config/gemini", ".config/cursor",
    ".config/kilo", ".config/windsurf", "etc/claude-code", "managed-settings.json", "managed-mcp.json",
    ".claudeignore", "claude extensions", "etc/codex", "etc/gemini-cli", ".geminiignore", "etc/windsurf",
    "*.instructions.md", "*.prompt.md", "*.chatmode.md", "*.agent.md", ".clineignore", ".rooignore",
    ".continuerc.json", "replit.nix", ".crush.json", ".opencode.json", ".pi", "smithery.yaml",
    "mcp_agent.config.yaml", "mcp_agent.secrets.yaml", "fastmcp.json", "anythingllm_mcp_servers.json",
    ".lmstudio", ".cherrystudio", ".run", "*.run.xml", ".gitlab/duo", ".gitlab/agents", ".config/sallyport",
    "state/sallyport", ".nvim.lua", ".vimrc.local", ".lvimrc", "_vimrc", "_gvimrc", "vimfiles", "local/nvim",
    "share/nvim", ".spacevim", ".spacevim.d", ".emacs.el", "_emacs", "*.sublime-settings", "*.sublime-build",
    "*.sublime-commands", "*.code-profile", ".kakrc", ".config/kak", ".config/micro", ".config/nano",
    ".config/lapce", ".config/sublime-text", ".tm_properties", ".settings", ".project", ".bsp", ".metals",
    ".bloop", ".clangd", ".ycm_extra_conf.py", ".vimspector.json", ".luarc.json", ".luarc.jsonc",
    "omnisharp.json", ".omnisharp", ".config/code", ".config/vscodium", ".config/windsurf-next",
    ".windsurf-server", ".config/void", ".config/kiro", ".config/trae", ".config/zed-preview", ".pylintrc",
    "pylintrc", ".rubocop.yml", ".solargraph.yml", ".eslintrc*", ".mocharc*", ".luacheckrc",
    "application support/code", "application support/cursor", "application support/claude",
    "application support/windsurf", "application support/zed", "roaming/code", "roaming/cursor",
    "roaming/claude", "roaming/windsurf", "roaming/zed",
    /* what runs on a build machine, or when a repository is used */
    ".github/workflows", ".github/actions", ".github/instructions", ".github/prompts", ".github/chatmodes",
    ".github/agents", ".gitea/workflows", ".forgejo/workflows", ".gitlab-ci.yml", ".gitlab/ci", ".circleci",
    ".travis.yml", ".drone.yml", ".buildkite", ".woodpecker", ".woodpecker.yml", ".appveyor.yml",
    "appveyor.yml", "azure-pipelines.yml", "bitbucket-pipelines.yml", "cloudbuild.yaml", ".git",
    ".gitmodules", ".gitconfig", ".gitattributes", "git/config", ".hg", ".hgrc", ".svn", ".husky",
    ".lefthook.yml", "lefthook.yml", ".pre-commit-config.yaml", ".envrc", ".direnvrc", ".bazelrc",
    ".githooks", ".mvn", ".mavenrc", "init.gradle", "init.gradle.kts", ".yarn", ".rprofile", ".renviron",
    ".julia", ".ghci", ".ocamlinit", ".jupyter", "sitecustomize.py", "usercustomize.py", "conftest.py",
    ".mise.toml", ".tool-versions", ".github/hooks", ".github/skills", ".travis.yaml", ".gitlab-ci.yaml",
    ".drone.yaml", ".drone.jsonnet", ".drone.star", ".cirrus.yml", ".cirrus.star", ".semaphore",
    "buildspec.yml", "buildspec.yaml", "cloudbuild.yml", "cloudbuild.json", "tiltfile", "earthfile",
    ".tekton", ".build.yml", ".builds", "codemagic.yaml", "bitrise.yml", "wercker.yml", ".vsts-ci.yml",
    "azure-pipelines.yaml", ".azure-pipelines", ".azuredevops", ".pipelines", ".jenkins", ".teamcity",
    "screwdriver.yaml", ".onedev-buildspec.yml", ".harness", ".woodpecker.yaml", ".circleci.yml",
    ".buildkite.yml", ".overcommit.yml", ".git-hooks", ".pre-commit-hooks.yaml", ".pre-commit-config.yml",
    "lefthook.yaml", ".lefthook.yaml", "lefthook.toml", "lefthook.json", "lefthook-local.yml",
    ".lefthook-local.yml", "lefthook-local.yaml", "simple-git-hooks.json", ".jj", ".config/jj", ".sl",
    "hooks/pre-commit", "hooks/post-commit", "hooks/commit-msg", "hooks/prepare-commit-msg",
    "hooks/post-checkout", "hooks/post-merge", "hooks/post-rewrite", "hooks/pre-push", "hooks/pre-rebase",
    "hooks/pre-receive", "hooks/post-receive", "hooks/applypatch-msg", "hooks/pre-applypatch",
    "hooks/post-applypatch", "hooks/fsmonitor-watchman", ".config/git", "git/attributes", "git/hooks",
    ".gradle", ".sbt", ".sbtopts", ".jvmopts", ".lein", ".condarc", ".bundle", ".rspec",
    "site-packages/*.pth", "dist-packages/*.pth", ".mise", ".mise.local.toml", "mise.toml",
    "mise.local.toml", ".config/mise", ".asdfrc", ".github/renovate.json", "renovate.json", "renovate.json5", ".renovaterc*", "codeowners", "action.yml",
    "action.yaml", "jenkinsfile*", "*.jenkinsfile", "*.gocd.yaml", "bamboo-specs", ".concourse", ".dagger",
    "dagger.json", ".prow.yaml", ".zuul.yaml", ".zuul.d", "zuul.yaml", "zuul.d", ".shippable.yml",
    "shippable.yml", ".scrutinizer.yml", "codefresh.yml", ".buddy", "buddy.yml", ".appveyor.yaml",
    ".readthedocs.yml", ".readthedocs.yaml", "netlify.toml", "vercel.json", "amplify.yml", "render.yaml",
    "railway.json", "railway.toml", "nixpacks.toml", "heroku.yml", "procfile", "wrangler.toml",
    "wrangler.jsonc", ".platform.app.yaml", ".do", "cirrus.yml", ".gitlab-ci", "skaffold.yaml", ".argocd",
    ".flux", ".lefthook", ".lefthook-local", ".lefthook.toml", ".lefthook.json", "lefthook-local.toml",
    "lefthook-local.json", ".huskyrc*", ".lintstagedrc*", "lint-staged.config.*", ".simple-git-hooks.*",
    "commitlint.config.*", ".commitlintrc*", ".ghooks", ".hooks", "git-hooks", "prek.toml", "hk.pkl",
    "captainhook.json", "grumphp.yml", ".gitreview", ".git-templates", ".git-template", ".git_template",
    "git-core/templates", "etc/gitconfig", "mercurial.ini", ".bzr", ".bazaar", ".subversion", ".arcconfig",
    ".arcrc", "hooks/pre-auto-gc", "hooks/post-index-change", "hooks/update", "hooks/post-update",
    "hooks/reference-transaction", "hooks/push-to-checkout", "hooks/sendemail-validate",
    "hooks/proc-receive", "hooks/pre-merge-commit", "hooks/p4-pre-submit", "hooks/pre-commit.d",
    "hooks/post-commit.d", ".pnpmfile.mjs", "pnpmfile.js", "pnpm-workspace.yaml", ".bunfig.toml", ".pip",
    "pip.ini", "uv.toml", ".config/uv", "poetry.toml", ".config/pypoetry", "pdm.toml", ".pdm.toml",
    ".config/pdm", ".config/hatch", ".mambarc", ".conda", "rust-toolchain", "rust-toolchain.toml",
    ".config/go", ".composer", ".config/composer", "flake.nix", "shell.nix", "devenv.nix", "devenv.yaml",
    ".devenv", "devbox.json", ".devbox", ".flox", ".config/nix", "etc/nix", "etc/nixos", ".nixpkgs",
    ".config/nixpkgs", "brewfile", ".brewfile", ".homebrew", ".config/homebrew", ".rvmrc", ".rvm",
    ".python-version", ".ruby-version", ".rbenv-vars", ".autoenv", ".autoenv.zsh", ".shadowenv.d",
    ".ondirrc", ".m2/extensions.xml", "gradle.properties", "gradle-wrapper.properties", "gradle-wrapper.jar",
    "maven-wrapper.properties", ".hotspotrc", "nuget.config", ".nuget", "directory.build.props",
    "directory.build.targets", "directory.build.rsp", "msbuild.rsp", "dotnet-tools.json", ".clojure",
    "profiles.clj", ".iex.exs", ".erlang", ".mix", ".hex", ".config/rebar3", ".luarocks", ".config/luarocks",
    ".opam", ".cabal", ".stack", "cabal.project.local", ".ghc", "rprofile.site", "renviron.site",
    "startup.jl", ".ipython", "ipython_config.py", "jupyter_server_config.py", "jupyter_notebook_config.py",
    ".config/bpython", ".config/ptpython", ".pdbrc.py", ".pythonrc.py", ".pythonstartup", "pyvenv.cfg",
    "bin/activate", "scripts/activate", ".rdbgrc", ".byebugrc", ".railsrc", ".perldb", ".proverc", ".cpan",
    ".psysh.php", ".config/psysh", ".jshellrc", ".sbclrc", ".eclrc", ".clisprc", ".racketrc", ".guile",
    ".tclshrc", ".wishrc", ".octaverc", ".gnuplot", ".sage", ".gdbearlyinit", ".config/gdb", ".gdbinit.d",
    ".radare2rc", ".config/radare2", ".rizinrc", ".mongorc.js", ".mongoshrc.js", ".duckdbrc", ".myclirc",
    ".config/pgcli", ".config/litecli", "login.sql", "glogin.sql", ".hiverc", ".cqlshrc", ".htaccess",
    ".user.ini", "php.ini", "web.config", "dev.env", ".ansible", ".ansible.cfg", "ansible.cfg",
    ".terraform.d", "terraform.rc", ".vagrant.d", ".config/helm", ".docker/cli-plugins", "etc/docker",
    "etc/kubernetes", ".config/containers", "makepkg.conf", ".makepkg.conf", ".rpmmacros", "yum.repos.d",
    "etc/yum", "etc/dnf", "etc/zypp", "etc/pacman.conf", "etc/pacman.d", "libalpm/hooks", "etc/portage",
    "etc/apk", "sources.list", "sources.list.d", "trusted.gpg.d",
    /* shells and logins */
    ".bash_completion", "bash_completion.d", "bash-completion", ".oh-my-zsh", ".config/zsh", ".config/nvim",
    ".config/kitty", ".config/i3", ".config/sway", ".config/hypr", ".bashrc", ".bash_profile", ".bash_login",
    ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zprofile", ".zshenv", ".zlogin", ".zlogout",
    ".cshrc", ".tcshrc", ".login", ".logout", ".kshrc", ".mkshrc", ".inputrc", "bash.bashrc", "etc/zsh",
    "config.fish", "fish/conf.d", "fish/functions", "config.nu", "env.nu", "profile.ps1",
    "microsoft.powershell_profile.ps1", ".tmux.conf", ".screenrc", ".vimrc", ".gvimrc", ".exrc", ".vim",
    "init.vim", "init.lua", ".nvimrc", ".emacs", ".emacs.d", ".nanorc", ".gdbinit", ".lldbinit", ".pdbrc",
    ".pythonrc", ".irbrc", ".pryrc", ".sqliterc", ".psqlrc", ".my.cnf", ".curlrc", ".wgetrc", ".forward",
    ".procmailrc", ".mailrc", ".rhosts", ".shosts", ".xprofile", ".xinitrc", ".xsession", ".xsessionrc",
    ".pam_environment", "etc/profile", "profile.d", "etc/environment", "environment.d", "ld.so.preload",
    "ld.so.conf", "ld.so.conf.d", "sudoers", "sudoers.d", "pam.d", "polkit-1", ".bashrc.d",
    ".bash_profile.d", ".bashrc.local", ".zshrc.d", ".zshrc.local", ".profile.d", ".config/bash",
    ".config/readline", ".config/fish", "fish/completions", ".config/nushell", "login.nu",
    ".config/powershell", ".config/direnv", ".config/starship.toml", ".xonshrc", ".config/xonsh", ".elvish",
    ".config/elvish", "etc/bashrc", "etc/zshrc", "etc/zshenv", "etc/zprofile", "etc/zlogin", "csh.cshrc",
    "csh.login", "etc/inputrc", "etc/vim", "etc/vimrc", ".config/tmux", "etc/tmux.conf", ".config/vim",
    ".ideavimrc", ".config/emacs", ".config/doom", ".doom.d", ".spacemacs", ".spacemacs.d", ".dir-locals.el",
    ".dir-locals-2.el", ".wezterm.lua", ".config/wezterm", ".config/alacritty", ".alacritty.toml",
    ".alacritty.yml", ".config/ghostty", ".config/bspwm", ".config/sxhkd", ".config/awesome",
    ".config/openbox", ".config/qtile", ".config/river", ".config/niri", ".config/xfce4",
    ".config/lxsession", ".config/herbstluftwm", ".config/leftwm", ".config/polybar", ".config/waybar",
    ".config/dunst", ".i3", ".fluxbox", ".xmonad", ".config/xmonad", ".hammerspoon", ".config/karabiner",
    ".yabairc", ".skhdrc", ".config/yabai", ".config/skhd", ".aerospace.toml", ".config/aerospace",
    ".phoenix.js", ".finicky.js", "iterm2", ".xsessionrc.d", "xsession.d", "xinitrc.d", "sshrc",
    ".bash_functions", ".bash_prompt", ".bash_exports", ".bash_env", ".bash_local", ".aliases", ".functions",
    ".exports", ".zsh", ".zsh_aliases", ".zsh_plugins.txt", ".zpreztorc", ".zprezto", ".zim", ".zimrc",
    ".antigen", ".antidote", ".zplug", ".zinit", ".p10k.zsh", ".oh-my-bash", ".bash_it", ".bash-it",
    ".zfunc", "site-functions", ".shrc", ".shinit", ".ashrc", ".yashrc", ".dashrc", ".oshrc", ".config/oils",
    ".rcrc", ".login_conf", ".localrc", ".environment", "fish/vendor_conf.d", "microsoft.vscode_profile.ps1",
    "documents/powershell", "documents/windowspowershell", "local/clink", "clink_start.cmd", "autoexec.bat",
    "autoexec.nt", "microsoft.windowsterminal_8wekyb3d8bbwe", ".lessfilter", ".lesskey", ".tmux", ".byobu",
    ".config/byobu", ".config/zellij", ".config/thefuck", ".config/atuin", ".config/ranger", ".config/lf",
    ".config/yazi", ".config/mc", ".hyper.js", ".config/konsole", ".config/foot", ".xresources",
    ".xdefaults", ".xbindkeysrc", ".xscreensaver", ".xserverrc", ".dmrc", ".dwm", ".spectrwm.conf", ".jwmrc",
    ".icewm", ".ratpoisonrc", ".stumpwmrc", ".stumpwm.d", ".fvwm", ".config/fvwm", ".config/labwc",
    ".config/wayfire.ini", ".config/cosmic", ".config/swayidle", ".config/eww", ".config/rofi",
    ".config/swaync", ".config/user-dirs.dirs", ".asoundrc", ".config/wireplumber", ".config/pipewire",
    ".config/pulse", ".local/bin", "share/gnome-shell", "share/nautilus", "share/nemo", "share/plasma",
    "share/kwin", "share/kservices5", "share/dbus-1", "share/thumbnailers", ".kde", ".kde4", ".mailcap",
    "etc/mailcap", "mimeapps.list", "*.desktop", "*.lnk", ".mozilla", ".thunderbird",
    ".config/google-chrome", ".config/chromium", ".config/microsoft-edge", ".config/bravesoftware",
    "nativemessaginghosts", "native-messaging-hosts", "policies/managed", "implicit_layer.d",
    "explicit_layer.d", ".muttrc", ".mutt", ".config/mutt", ".neomuttrc", ".config/neomutt", ".msmtprc",
    ".mbsyncrc", ".offlineimaprc", ".fetchmailrc", ".qmail*", ".sieve", ".mailfilter", ".config/aerc",
    ".config/mpv", ".weechat", ".irssi", ".k5login", ".k5users", ".macosx", "application scripts",
    "folder action scripts", "library/services", "library/scripts", "library/quicklook", "library/spotlight",
    "com.apple.loginitems.plist", "com.apple.loginwindow.plist", "loginitems",
    /* keys and registries */
    ".ssh", "authorized_keys", "authorized_keys2", ".gnupg", ".aws", ".azure", ".npmrc", ".yarnrc",
    ".yarnrc.yml", ".pnpmfile.cjs", "bunfig.toml", ".pypirc", "pip.conf", ".netrc", ".gemrc", ".terraformrc",
    ".cargo/config", ".cargo/config.toml", ".cargo/env", ".docker/config.json", ".kube", ".m2/settings.xml",
    "etc/ssh", "sshd_config", ".cargo/credentials", ".cargo/credentials.toml", ".cargo/bin", ".config/pip",
    ".config/gh", "etc/passwd", "etc/shadow", "etc/group", "etc/gshadow", "hosts.equiv", "doas.conf",
    "etc/security", "nsswitch.conf", ".git-credentials", ".config/glab-cli", ".config/hub", ".config/gcloud",
    ".gcloud", ".boto", ".oci", ".s3cfg", ".config/rclone", ".config/doctl", ".config/hcloud",
    ".password-store", ".vault-token", ".config/sops", ".pgpass", ".pg_service.conf", "_netrc",
    ".mylogin.cnf", "ssh_config", "ssh_config.d", "sshd_config.d", "ssh_known_hosts", "etc/dropbear",
    ".dropbear", "pg_hba.conf", "postgresql.conf", "postgresql.auto.conf", "etc/sudo.conf", "etc/subuid",
    "etc/subgid", "etc/shells", "etc/login.defs", "krb5.conf", "etc/hosts", "drivers/etc", "etc/resolv.conf",
    "etc/ssl", "etc/pki", "ca-certificates", ".pki",
    /* what the system starts */
    "systemd", "autostart", "crontab", "crontabs", "anacrontab", "cron.d", "cron.hourly", "cron.daily",
    "cron.weekly", "cron.monthly", "spool/cron", "spool/at", "init.d", "inittab", "rc.local", "rc.d",
    "xinetd.d", "inetd.conf", "udev/rules.d", "modprobe.d", "modules-load.d", "dispatcher.d",
    "update-motd.d", "apt.conf.d", "logrotate.d", "dbus-1/services", "dbus-1/system-services",
    "launchagents", "launchdaemons", "startup", "autostart-scripts", "plasma-workspace",
    "share/applications", "cron.yearly", "cron.allow", "cron.deny", "at.allow", "at.deny", "incron.d",
    "rc0.d", "rc1.d", "rc2.d", "rc3.d", "rc4.d", "rc5.d", "rc6.d", "rcs.d", "etc/init", "local.d", "etc/sv",
    "etc/service", "etc/periodic", "tmpfiles.d", "user-tmpfiles.d", "sysctl.d", "binfmt.d", "sysusers.d",
    "ip-up.d", "ip-down.d", "if-up.d", "if-pre-up.d", "if-down.d", "if-post-down.d", "dhclient-exit-hooks.d",
    "dhclient-enter-hooks.d", "etc/acpi", "postinst.d", "preinst.d", "prerm.d", "postrm.d",
    "initramfs-tools", "grub.d", "dpkg.cfg.d", "etc/apt", "apt.conf", "supervisord.conf",
    "supervisor/conf.d", "etc/pam.conf", "etc/fstab", "etc/rc.conf", "etc/sysctl.conf", "etc/modules",
    "system32/tasks", "windows/tasks", "etc/default", "etc/sysconfig", "etc/conf.d", "etc/skel", "etc/x11",
    "etc/xdg", "etc/lightdm", "etc/gdm", "etc/gdm3", "sddm.conf", "sddm.conf.d", "etc/networkmanager",
    "networkd-dispatcher", "etc/ppp", "etc/network", "etc/dhcp", "etc/crypttab", "etc/alternatives",
    "etc/apparmor.d", "etc/selinux", "etc/audit", "etc/rsyslog.d", "etc/rsyslog.conf", "etc/logrotate.conf",
    "etc/monit", "etc/snmp", "etc/nginx", "etc/apache2", "etc/httpd", "etc/postfix", "etc/aliases",
    "etc/mail", "etc/exim4", "rc.conf.d", "rc.conf.local", "etc/runit", "etc/s6", "etc/dinit.d",
    ".config/dinit.d", "etc/openrc", ".config/rc", "etc/kernel", "launchd.conf", "startupitems", "emond.d",
    "system32/config", "system32/grouppolicy", "setupcomplete.cmd", "autounattend.xml", "unattend.xml",
    "autorun.inf", "start menu", "xlstart", "normal.dotm", "personal.xlsb", "vbaproject.otm", "proc/sys",
    "proc/self", "proc/thread-self", "proc/sysrq-trigger", "sys/kernel", "sys/fs", "core_pattern",
    "dracut.conf", "dracut.conf.d", "etc/dracut", "mkinitcpio.conf", "mkinitcpio.d", "etc/grub", "boot/grub",
    "boot/grub2", "boot/efi", "boot/loader", "etc/udev", "etc/polkit", "etc/mtab", "etc/exports",
    "etc/xinetd.conf", ".config/monit", ".monitrc", ".pm2", "ecosystem.config.js", ".config/supervisor",
};
/* clang-format on */

_Static_assert(ARRAY_LEN(agent_config) <= POLICY_PRESET_NAMES_MAX, "policy_preset_parts has a bit for each");

enum by { BY_NAME, BY_SHORT_NAME, BY_FOLDER, BY_SHORT_FOLDER, BY_COUNT };

static struct {
    struct slice folder[ARRAY_LEN(agent_config)]; /* empty: anywhere */
    struct slice name[ARRAY_LEN(agent_config)];
    uint16_t first[BY_COUNT][BUCKETS]; /* index + 1; 0: none */
    uint16_t next[BY_COUNT][ARRAY_LEN(agent_config)];
    uint16_t stars[STARS_MAX]; /* names with a star are compared one by one */
    size_t star_count;
} table;

static char lower(char c) { return (char)(c >= 'A' && c <= 'Z' ? c | 0x20 : c); }

static size_t bucket_of(struct slice text) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < text.len; i++)
        hash = (hash ^ (unsigned char)lower(text.ptr[i])) * 16777619u;
    return (hash ^ hash >> 15) % BUCKETS;
}

/* The letters that a short name of Windows keeps: GIT~1 is .git, CLAUDE~1.JSO is .claude.json. */
static struct slice short_letters(struct slice name, char letters[SHORT_MAX]) {
    size_t count = 0;
    while (slice_starts(name, SLICE(".")))
        name = slice_from(name, 1);
    for (size_t i = name.len; i > 0; i--)
        if (name.ptr[i - 1] == '.') {
            name.len = i - 1;
            break;
        }
    for (size_t i = 0; i < name.len && count < SHORT_MAX; i++)
        if (name.ptr[i] != '.' && name.ptr[i] != ' ')
            letters[count++] = lower(name.ptr[i]);
    return slice_of(letters, count);
}

static void add(enum by by, struct slice key, size_t i) {
    uint16_t *first = &table.first[by][bucket_of(key)];
    table.next[by][i] = *first;
    *first = (uint16_t)(i + 1);
}

static void build(void) {
    char letters[SHORT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(agent_config); i++) {
        struct slice folder, name = slice_str(agent_config[i]);
        if (slice_cut(&name, '/', &folder)) {
            add(BY_FOLDER, folder, i);
            add(BY_SHORT_FOLDER, short_letters(folder, letters), i);
        } else {
            name = folder;
            folder = (struct slice){0};
        }
        table.folder[i] = folder;
        table.name[i] = name;
        if (slice_find(name, '*') < 0) {
            add(BY_NAME, name, i);
            add(BY_SHORT_NAME, short_letters(name, letters), i);
        } else {
            CHECK(table.star_count < STARS_MAX && name.len > STAR_MIN);
            table.stars[table.star_count++] = (uint16_t)i;
        }
    }
}

static void ensure(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, build);
}

/* Of GIT~1 what stands before the tilde; empty: it is no short name. */
static struct slice before_tilde(struct slice part) {
    ptrdiff_t tilde = slice_find(part, '~');
    if (tilde < 2 || tilde > SHORT_MAX || (size_t)tilde + 1 >= part.len ||
        hex_value(part.ptr[tilde + 1]) < 0 || ((size_t)tilde + 2 < part.len && part.ptr[tilde + 2] != '.'))
        return (struct slice){0};
    return slice_upto(part, (size_t)tilde);
}

static bool is_short_for(struct slice start, struct slice name) {
    char letters[SHORT_MAX];
    return start.len && slice_eq_nocase(start, short_letters(name, letters));
}

static bool is_name(struct slice part, struct slice name) {
    return slice_eq_nocase(part, name) || is_short_for(before_tilde(part), name);
}

static bool star_fits(struct slice part, struct slice name) {
    size_t rest = name.len - 1;
    if (part.len < rest)
        return false;
    return name.ptr[0] == '*' ? slice_eq_nocase(slice_from(part, part.len - rest), slice_from(name, 1))
                              : slice_eq_nocase(slice_upto(part, rest), slice_upto(name, rest));
}

/* Calls back for every entry whose name (or folder) is this part; true: one of them was what is looked for.
 */
typedef bool entry_fn(void *ctx, size_t i);

static bool each_exact(struct slice part, bool folders, entry_fn *each, void *ctx) {
    const struct slice *names = folders ? table.folder : table.name;
    struct slice start = before_tilde(part);
    enum by by = folders ? BY_FOLDER : BY_NAME;
    if (!part.len || part.len > PART_MAX)
        return false;
    for (size_t i = table.first[by][bucket_of(part)]; i; i = table.next[by][i - 1])
        if (slice_eq_nocase(part, names[i - 1]) && each(ctx, i - 1))
            return true;
    by = folders ? BY_SHORT_FOLDER : BY_SHORT_NAME;
    for (size_t i = start.len ? table.first[by][bucket_of(start)] : 0; i; i = table.next[by][i - 1])
        if (is_short_for(start, names[i - 1]) && each(ctx, i - 1))
            return true;
    return false;
}

static bool each_name(struct slice part, entry_fn *each, void *ctx) {
    if (each_exact(part, false, each, ctx))
        return true;
    for (size_t i = 0; part.len >= STAR_MIN && i < table.star_count; i++)
        if (star_fits(part, table.name[table.stars[i]]) && each(ctx, table.stars[i]))
            return true;
    return false;
}

struct parent {
    struct slice name;
    bool any;
};

static bool parent_fits(void *ctx, size_t i) {
    const struct parent *parent = ctx;
    return !table.folder[i].len || parent->any || is_name(parent->name, table.folder[i]);
}

bool policy_preset_listed(struct slice parent, bool any_parent, struct slice part) {
    struct parent p = {parent, any_parent};
    ensure();
    return each_name(part, parent_fits, &p);
}

/* ---- a folder in one text and its content in another ---- */

struct note {
    struct policy_preset_parts *parts;
    struct slice last;
    bool is_path;
};

static bool set_bit(uint64_t *bits, const uint64_t *others, size_t i) {
    bits[i / 64] |= UINT64_C(1) << i % 64;
    return bits[i / 64] & others[i / 64];
}

/* A folder without a dot in front counts only as part of a path: `etc` and `git` are words too. */
static bool counts_as_folder(const struct note *n, size_t i) {
    return n->is_path || table.folder[i].ptr[0] == '.';
}

static bool note_folder(void *ctx, size_t i) {
    const struct note *n = ctx;
    return counts_as_folder(n, i) && set_bit(n->parts->folders, n->parts->contents, i);
}

static bool note_content(void *ctx, size_t i) {
    const struct note *n = ctx;
    if (!table.folder[i].len || (counts_as_folder(n, i) && is_name(n->last, table.folder[i])))
        return false;
    return set_bit(n->parts->contents, n->parts->folders, i);
}

bool policy_preset_note(struct policy_preset_parts *parts, struct slice first, struct slice last,
                        bool is_path) {
    struct note n = {parts, last, is_path};
    ensure();
    return each_exact(last, true, note_folder, &n) || each_name(first, note_content, &n);
}
