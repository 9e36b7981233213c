#include "risk/catalogue_place.h"

#include "base/hex.h"
#include "base/log.h"
#include "base/mem.h"
#include "io/file.h"
#include "risk/catalogue_file.h"
#include "risk/limits.h"

#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "catalogue.bin"
#define KEY_NAME "catalogue.key" /* in the home: hex digits of the key that the user accepted */

static struct {
    struct catalogue_file file;
    char path[PATH_MAX];
    bool tried;
    struct stat seen; /* status of the replaceable file when it was read */
    bool (*find_home)(char ret_path[PATH_MAX]);
} current;

void risk_catalogue_set_home(bool (*find)(char ret_path[PATH_MAX])) { current.find_home = find; }

bool risk_catalogue_home(char ret_path[PATH_MAX]) { return current.find_home && current.find_home(ret_path); }

/* ---- keys ---- */

static bool home_path(const char *name, char ret_path[PATH_MAX]) {
    char home[PATH_MAX];
    return risk_catalogue_home(home) && snprintf(ret_path, PATH_MAX, "%s/%s", home, name) < PATH_MAX;
}

static bool key_accepted(const unsigned char key[CRYPTO_SIGNATURE_KEY]) {
    char path[PATH_MAX];
    unsigned char accepted[CRYPTO_SIGNATURE_KEY];
    cleanup_buf struct buf text;
    buf_init(&text, 2 * CRYPTO_SIGNATURE_KEY + 2);
    return home_path(KEY_NAME, path) && io_file_read(path, &text, NULL, NULL) == 0 &&
           hex_get(slice_trim(buf_slice(&text)), accepted, sizeof(accepted)) &&
           memcmp(accepted, key, sizeof(accepted)) == 0;
}

static bool same_key(const struct catalogue_file *a, const struct catalogue_file *b) {
    return memcmp(a->head->key, b->head->key, CRYPTO_SIGNATURE_KEY) == 0;
}

/* ---- places ---- */

static bool map_shipped(struct catalogue_file *ret_file, char ret_path[PATH_MAX], struct err *err) {
    static const char *const places[] = {"", "../share/sallyport/"};
    char self[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    self[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(self, '/');
    for (size_t i = 0; slash && i < ARRAY_LEN(places); i++) {
        bool missing;
        slash[1] = '\0';
        if (snprintf(ret_path, PATH_MAX, "%s%s" FILE_NAME, self, places[i]) < PATH_MAX &&
            catalogue_file_map(ret_path, ret_file, &missing, err) == 0)
            return true;
    }
    return false;
}

/* The updated file is used if the user accepted its key, whatever its age. */
static int prefer_home(struct catalogue_file *file, char path[PATH_MAX], struct err *err) {
    struct catalogue_file home;
    char at[PATH_MAX];
    bool missing;
    if (!home_path(FILE_NAME, at))
        return 0;
    if (catalogue_file_map(at, &home, &missing, err) < 0)
        return missing ? 0 : -1;
    bool chosen = key_accepted(home.head->key);
    bool trusted = chosen || (file->head && same_key(&home, file));
    if (!trusted || !catalogue_file_is_genuine(&home)) {
        catalogue_file_unmap(&home);
        return err_set(err, "`%s` is not used: its signature is not by a key that is trusted here", at);
    }
    if (!chosen && home.head->made < file->head->made) {
        catalogue_file_unmap(&home);
        return 0;
    }
    catalogue_file_unmap(file);
    *file = home;
    snprintf(path, PATH_MAX, "%s", at);
    return 0;
}

static const char *named_by_user(const char *given) {
    const char *named = given ? given : getenv("SALLYPORT_CATALOGUE");
    return named && *named ? named : NULL;
}

static int map_named(const char *named, struct catalogue_file *ret_file, struct err *err) {
    bool missing;
    if (catalogue_file_map(named, ret_file, &missing, err) < 0)
        return -1;
    if (catalogue_file_is_genuine(ret_file))
        return 0;
    catalogue_file_unmap(ret_file);
    return err_set(err, "`%s` is damaged: its signature does not fit", named);
}

/* Status of the file that may be replaced: the named one, or the one that an update installs in the home. */
static void stat_replaceable(const char *named, struct stat *ret_seen) {
    char at[PATH_MAX];
    *ret_seen = (struct stat){0};
    if (named || home_path(FILE_NAME, at))
        stat(named ? named : at, ret_seen);
}

int risk_catalogue_open(const char *given, struct err *err) {
    const char *named = named_by_user(given);
    catalogue_file_unmap(&current.file);
    current.tried = true;
    stat_replaceable(named, &current.seen);
    if (named) {
        snprintf(current.path, sizeof(current.path), "%s", named);
        return map_named(named, &current.file, err);
    }
    struct err why = {.text = "the program's own directory is not known"}, refused;
    map_shipped(&current.file, current.path, &why);
    if (prefer_home(&current.file, current.path, &refused) < 0)
        log_warn("%s", refused.text);
    return current.file.head ? 0 : err_set(err, "there is no catalogue: %s", why.text);
}

void risk_catalogue_refresh(void) {
    const char *named = named_by_user(NULL);
    struct catalogue_file fresh = {0};
    char path[PATH_MAX];
    struct stat now;
    struct err err = {0}, none;
    if (!current.tried)
        return;
    stat_replaceable(named, &now);
    if (io_file_is_same(&now, &current.seen))
        return;
    current.seen = now;
    snprintf(path, sizeof(path), "%s", named ? named : "");
    int rc = named ? map_named(named, &fresh, &err) : 0;
    if (!named) {
        map_shipped(&fresh, path, &none);
        rc = prefer_home(&fresh, path, &err);
    }
    if (rc < 0 || !fresh.head) {
        log_warn("%s%sthe catalogue stays as it was", err.text, rc < 0 ? "; " : "");
        catalogue_file_unmap(&fresh);
        return;
    }
    catalogue_file_unmap(&current.file);
    current.file = fresh;
    snprintf(current.path, sizeof(current.path), "%s", path);
    log_info("the catalogue is `%s` now: %u servers, %u tools", path, fresh.head->names, fresh.head->tools);
}

const struct catalogue_file *catalogue_place_current(void) {
    struct err err;
    if (!current.tried && risk_catalogue_open(NULL, &err) < 0)
        log_warn("%s", err.text);
    return current.file.head ? &current.file : NULL;
}

static void describe(const struct catalogue_file *f, const char *path,
                     struct risk_catalogue_about *ret_about) {
    *ret_about = (struct risk_catalogue_about){
        .made = f->head->made, .bytes = f->bytes, .genuine = catalogue_file_is_genuine(f)};
    memcpy(ret_about->key, f->head->key, sizeof(ret_about->key));
    snprintf(ret_about->path, sizeof(ret_about->path), "%s", path);
}

void risk_catalogue_describe(struct risk_catalogue_about *ret_about) {
    describe(&current.file, current.path, ret_about);
}

/* ---- a newer one ---- */

static int check_key(const struct catalogue_file *fresh, const char *key, struct err *err) {
    unsigned char wanted[CRYPTO_SIGNATURE_KEY];
    const struct catalogue_file *now = catalogue_place_current();
    if (key && !hex_get(slice_str(key), wanted, sizeof(wanted)))
        return err_set(err, "a key has %d hexadecimal digits", 2 * CRYPTO_SIGNATURE_KEY);
    bool fits = key ? memcmp(wanted, fresh->head->key, sizeof(wanted)) == 0
                    : (now && same_key(now, fresh)) || key_accepted(fresh->head->key);
    if (fits)
        return 0;
    char digits[2 * CRYPTO_SIGNATURE_KEY];
    hex_put(fresh->head->key, CRYPTO_SIGNATURE_KEY, digits);
    return err_set(err,
                   "it is signed by another key, %.*s; accept that one with --key if you know whose it is",
                   (int)sizeof(digits), digits);
}

static int check_fresh(const struct catalogue_file *fresh, const char *key, struct err *err) {
    const struct catalogue_file *now = catalogue_place_current();
    if (!catalogue_file_is_genuine(fresh))
        return err_set(err, "it is damaged or forged: its signature does not fit");
    if (check_key(fresh, key, err) < 0)
        return -1;
    if (now && !key && fresh->head->made < now->head->made)
        return err_set(err, "it is older than the catalogue in use");
    return 0;
}

/* The key goes first: a file without its key is not used, a key without its file does nothing. */
static int install(const struct catalogue_file *fresh, const char *key, char path[PATH_MAX],
                   struct err *err) {
    char home[PATH_MAX], key_path[PATH_MAX];
    if (!risk_catalogue_home(home) || !home_path(FILE_NAME, path) || !home_path(KEY_NAME, key_path))
        return err_set(err, "there is no home to install it in");
    if (io_make_dir(home, err) < 0)
        return -1;
    if (key && io_file_replace(key_path, slice_str(key), 0600, err) < 0)
        return -1;
    return io_file_replace(path, slice_of((const char *)fresh->head, fresh->bytes), 0600, err);
}

int risk_catalogue_update(const char *path, const char *key, struct risk_catalogue_about *ret_about,
                          struct err *err) {
    struct catalogue_file fresh;
    char installed[PATH_MAX];
    bool missing;
    if (catalogue_file_map(path, &fresh, &missing, err) < 0)
        return -1;
    int rc = check_fresh(&fresh, key, err);
    if (rc < 0)
        err_wrap(err, "`%s`", path);
    else
        rc = install(&fresh, key, installed, err);
    if (rc == 0)
        describe(&fresh, installed, ret_about);
    catalogue_file_unmap(&fresh);
    return rc;
}

int risk_catalogue_sign(const char *path, const char *output, const char *key_path, struct err *err) {
    char public_path[PATH_MAX];
    struct crypto_signer *signer;
    cleanup_buf struct buf bytes;
    buf_init(&bytes, RISK_CATALOGUE_BYTES_MAX);
    if (snprintf(public_path, sizeof(public_path), "%s.pub", key_path) >= (int)sizeof(public_path))
        return err_set(err, "the key's path is too long");
    if (io_file_read(path, &bytes, NULL, err) < 0 ||
        crypto_signer_load(key_path, public_path, &signer, err) < 0)
        return -1;
    int rc = catalogue_file_sign(bytes.ptr, bytes.len, signer, err);
    crypto_signer_free(signer);
    return rc < 0 ? rc : io_file_write(output ? output : path, buf_slice(&bytes), err);
}
