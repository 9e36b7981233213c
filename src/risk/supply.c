#include "risk/supply.h"

#include "base/hex.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "risk/split.h"

static const struct {
    const char *program;
    const char *verb; /* that must follow, or NULL */
    enum risk_registry registry;
} runners[] = {
    {"npx", NULL, RISK_NPM},   {"bunx", NULL, RISK_NPM},    {"pnpx", NULL, RISK_NPM},
    {"pnpm", "dlx", RISK_NPM}, {"yarn", "dlx", RISK_NPM},   {"npm", "exec", RISK_NPM},
    {"bun", "x", RISK_NPM},    {"uvx", NULL, RISK_PYPI},    {"pipx", "run", RISK_PYPI},
    {"uv", "tool", RISK_PYPI}, {"docker", "run", RISK_OCI}, {"podman", "run", RISK_OCI},
};

/* Options of package runners that take the next word as their value. */
static bool takes_value(struct slice option) {
    static const char *const options[] = {"-p",       "--package",  "--from",     "--with",       "-e",
                                          "--env",    "-v",         "--volume",   "--name",       "--network",
                                          "-u",       "--user",     "--mount",    "-w",           "--workdir",
                                          "--python", "--registry", "--env-file", "--entrypoint", NULL};
    for (const char *const *o = options; *o; o++)
        if (slice_is(option, *o))
            return true;
    return false;
}

static struct slice base_name(struct slice program) {
    for (size_t i = program.len; i-- > 0;)
        if (program.ptr[i] == '/' || program.ptr[i] == '\\')
            return slice_from(program, i + 1);
    return program;
}

static bool is_version(struct slice text) {
    if (!text.len || text.ptr[0] < '0' || text.ptr[0] > '9')
        return slice_starts(text, SLICE("sha256:"));
    for (size_t i = 0; i < text.len; i++)
        if (text.ptr[i] == '*' || text.ptr[i] == 'x' || text.ptr[i] == ' ' || text.ptr[i] == '|')
            return false;
    return true;
}

/* name@1.2.3, @scope/name@1.2.3, name==1.2.3, image:tag, image@sha256:... */
static void split_package(struct slice text, char separator, struct risk_supply *ret_supply) {
    ret_supply->package = text;
    for (size_t i = text.len; i-- > 1;) {
        bool digest = separator == ':' && text.ptr[i] == '@';
        if (text.ptr[i] == '/' && !digest)
            break; /* a colon further left is a port, an at sign a scope */
        if (text.ptr[i] != separator && !digest && !(separator == '=' && text.ptr[i] == '@'))
            continue;
        if (separator == ':' && !digest && slice_find(text, '@') > 0)
            continue; /* inside sha256:... */
        struct slice version = slice_from(text, i + 1);
        size_t end = i;
        while (end > 1 && (text.ptr[end - 1] == '=' || text.ptr[end - 1] == '>' || text.ptr[end - 1] == '~'))
            end--;
        ret_supply->package = slice_upto(text, end);
        if (is_version(version) && !(separator == '=' && text.ptr[end] != '=' && text.ptr[end] != '@'))
            ret_supply->version = version;
        return;
    }
}

static size_t skip_verb(const struct slice *argv, size_t count, const char *verb) {
    if (!verb)
        return 1;
    return count > 1 && slice_is(argv[1], verb) ? 2 : 0;
}

/* Index of the package that a runner fetches; 0 when this is not a runner. */
static size_t package_at(const struct slice *argv, size_t count, size_t *ret_runner) {
    struct slice program = base_name(argv[0]);
    if (slice_ends(program, SLICE(".cmd")))
        program.len -= 4;
    for (size_t r = 0; r < ARRAY_LEN(runners); r++) {
        size_t at = slice_is(program, runners[r].program) ? skip_verb(argv, count, runners[r].verb) : 0;
        if (!at)
            continue;
        for (; at < count; at++) {
            bool named =
                slice_is(argv[at], "-p") || slice_is(argv[at], "--package") || slice_is(argv[at], "--from");
            if (named && at + 1 < count) {
                at++;
                break;
            }
            if (takes_value(argv[at]))
                at++;
            else if (argv[at].len && argv[at].ptr[0] != '-' && !slice_is(argv[at], "run"))
                break;
        }
        *ret_runner = r;
        return at < count ? at : 0;
    }
    return 0;
}

void risk_supply_read(const struct slice *argv, size_t count, struct risk_supply *ret_supply) {
    *ret_supply = (struct risk_supply){0};
    size_t runner = 0;
    size_t at = count ? package_at(argv, count, &runner) : 0;
    if (!at)
        return;
    static const char separators[RISK_REGISTRIES] = {[RISK_NPM] = '@', [RISK_PYPI] = '=', [RISK_OCI] = ':'};
    ret_supply->runner = runners[runner].program;
    ret_supply->registry = runners[runner].registry;
    split_package(argv[at], separators[ret_supply->registry], ret_supply);
    ret_supply->unpinned = !ret_supply->version.len;
}

/* Programs that run a script. A version may follow the name: python3.11. */
static bool is_interpreter(struct slice program) {
    static const char *const names[] = {"node", "python", "deno", "bun",  "ruby", "perl", "php",
                                        "bash", "sh",     "tsx",  "java", "uv",   NULL};
    while (program.len && (program.ptr[program.len - 1] == '.' ||
                           (program.ptr[program.len - 1] >= '0' && program.ptr[program.len - 1] <= '9')))
        program.len--;
    for (const char *const *name = names; *name; name++)
        if (slice_is(program, *name))
            return true;
    return false;
}

size_t risk_supply_subject(const struct slice *argv, size_t count) {
    size_t runner;
    size_t at = count ? package_at(argv, count, &runner) : 0;
    if (at || !count || !is_interpreter(base_name(argv[0])))
        return at;
    for (size_t i = 1; i < count; i++)
        if (argv[i].len && argv[i].ptr[0] != '-' && !slice_is(argv[i], "run"))
            return i;
    return 0;
}

/* index.js, main.py, dist/: many projects have a file or a folder of this name. */
static bool is_common(struct slice name) {
    static const char *const names[] = {"index", "main",     "server",  "app",    "cli",     "run",
                                        "start", "__main__", "mod",     "dist",   "build",   "src",
                                        "bin",   "lib",      "out",     "target", "debug",   "esm",
                                        "cjs",   "mcp",      "scripts", "venv",   "release", NULL};
    while (name.len && name.ptr[0] == '.')
        name = slice_from(name, 1);
    ptrdiff_t dot = slice_find(name, '.');
    struct slice stem = dot < 0 ? name : slice_upto(name, (size_t)dot);
    for (const char *const *n = names; *n; n++)
        if (slice_eq_nocase(stem, slice_str(*n)))
            return true;
    return !stem.len;
}

/* The package below the last node_modules/, with its scope; empty: none. */
static struct slice installed_package(struct slice path) {
    static const char folder[] = "node_modules/";
    struct slice found = {0};
    for (const char *at; (at = memmem(path.ptr, path.len, folder, sizeof(folder) - 1));)
        found = path = slice_from(path, (size_t)(at - path.ptr) + sizeof(folder) - 1);
    ptrdiff_t slash = slice_find(found, '/');
    if (slash > 0 && found.ptr[0] == '@') {
        ptrdiff_t next = slice_find(slice_from(found, (size_t)slash + 1), '/');
        slash = next < 0 ? -1 : slash + 1 + next;
    }
    return slash < 0 || slice_starts(found, SLICE(".bin/")) ? (struct slice){0}
                                                            : slice_upto(found, (size_t)slash);
}

/* The folder distinguishes two servers that are started as `node /srv/NAME/dist/index.js`. */
static struct slice program_name(struct slice path) {
    struct slice name = installed_package(path), first = base_name(path);
    if (name.len)
        return name;
    for (name = first; is_common(name); name = base_name(path)) {
        if (name.len + 1 >= path.len)
            return first;
        path.len -= name.len + 1;
    }
    return name;
}

static struct slice name_by(const struct slice *argv, size_t count, struct slice (*name)(struct slice path),
                            struct arena *a) {
    struct risk_supply supply;
    risk_supply_read(argv, count, &supply);
    if (supply.package.len)
        return arena_dup(a, supply.package);
    return count ? arena_dup(a, name(argv[risk_supply_subject(argv, count)])) : (struct slice){0};
}

struct slice risk_supply_name(const struct slice *argv, size_t count, struct arena *a) {
    return name_by(argv, count, base_name, a);
}

struct slice risk_supply_project(const struct slice *argv, size_t count, struct arena *a) {
    return name_by(argv, count, program_name, a);
}

struct slice risk_supply_url_name(struct slice url, struct arena *a) {
    const char *scheme = url.len ? memmem(url.ptr, url.len, "://", 3) : NULL;
    if (scheme)
        url = slice_from(url, (size_t)(scheme - url.ptr) + 3);
    for (size_t i = 0; i < url.len; i++)
        if (url.ptr[i] == '?' || url.ptr[i] == '#')
            url.len = i;
    ptrdiff_t slash = slice_find(url, '/');
    struct slice host = slash < 0 ? url : slice_upto(url, (size_t)slash);
    for (size_t i = host.len; i-- > 0;)
        if (host.ptr[i] == '@')
            return arena_dup(a, slice_from(url, i + 1));
    return arena_dup(a, url);
}

#define MASK_BYTES 8 /* bytes of the hash that replaces a secret */

static struct slice mask(struct slice secret, struct arena *a) {
    unsigned char hash[SHA256_DIGEST_LENGTH];
    SHA256((const unsigned char *)secret.ptr, secret.len, hash);
    char hex[2 * MASK_BYTES];
    hex_put(hash, MASK_BYTES, hex);
    return arena_printf(a, "<%.*s>", (int)sizeof hex, hex);
}

static bool names_secret(struct slice name, struct arena *a) {
    static const char *const marks[] = {"key",    "token",      "secret", "password",
                                        "passwd", "credential", "auth",   NULL};
    struct slice lower = risk_lower(name, RISK_NAME_BYTES_MAX, a);
    for (const char *const *m = marks; *m; m++)
        if (risk_contains(lower, *m))
            return true;
    return false;
}

/* One word: NAME=secret, or scheme://user:secret@host. */
static struct slice mask_word(struct slice word, struct arena *a) {
    ptrdiff_t equals = slice_find(word, '=');
    if (equals > 0 && names_secret(slice_upto(word, (size_t)equals), a)) {
        struct slice shown = mask(slice_from(word, (size_t)equals + 1), a);
        return arena_printf(a, "%.*s=%.*s", (int)equals, word.ptr, SLICE_FMT(shown));
    }
    const char *scheme = word.len ? memmem(word.ptr, word.len, "://", 3) : NULL;
    if (!scheme)
        return word;
    size_t from = (size_t)(scheme - word.ptr) + 3, at = word.len, colon = 0;
    for (size_t i = from; i < word.len && word.ptr[i] != '/'; i++) {
        colon = word.ptr[i] == ':' && !colon ? i : colon;
        at = word.ptr[i] == '@' ? i : at;
    }
    if (at == word.len || !colon || colon > at)
        return word;
    struct slice shown = mask(slice_of(word.ptr + colon + 1, at - colon - 1), a), rest = slice_from(word, at);
    return arena_printf(a, "%.*s%.*s%.*s", (int)(colon + 1), word.ptr, SLICE_FMT(shown), SLICE_FMT(rest));
}

const struct slice *risk_supply_mask(const struct slice *argv, size_t count, struct arena *a) {
    struct slice *words = arena_array(a, struct slice, count + 1);
    for (size_t i = 0; i < count; i++) {
        bool option =
            i && argv[i - 1].len > 1 && argv[i - 1].ptr[0] == '-' && slice_find(argv[i - 1], '=') < 0;
        bool value = argv[i].len && argv[i].ptr[0] != '-';
        words[i] = option && value && names_secret(argv[i - 1], a) ? mask(argv[i], a) : mask_word(argv[i], a);
    }
    return words;
}
