#include "crypto/signature.h"

#include "base/check.h"
#include "base/hex.h"
#include "base/mem.h"
#include "base/openssl.h"
#include "base/sha.h"
#include "crypto/keyfile.h"
#include "io/file.h"

#include <errno.h>
#include <string.h>

#define SECRET_KEY 32
#define FORMAT "sallyport ed25519 secret key "
#define FORMAT_1 FORMAT "1\n"

struct crypto_signer {
    EVP_PKEY *pkey;
};

/* ---- the private key ---- */

/* format | digits of the key | digits of a check | \n */
#define KEY_AT (sizeof(FORMAT_1) - 1)
#define CHECK_AT (KEY_AT + 2 * SECRET_KEY)
#define CHECK_BYTES 4
#define TEXT_LEN (CHECK_AT + 2 * CHECK_BYTES + 1)

static void secret_check(struct slice text, char ret_digits[2 * CHECK_BYTES]) {
    unsigned char sum[SHA_BYTES];
    struct slice covered = slice_upto(text, CHECK_AT);
    sha_256(&covered, 1, sum);
    hex_put(sum, CHECK_BYTES, ret_digits);
}

static bool secret_parse(struct slice text, unsigned char ret_raw[SECRET_KEY]) {
    char check[2 * CHECK_BYTES];
    secret_check(text, check);
    return text.len == TEXT_LEN && text.ptr[TEXT_LEN - 1] == '\n' &&
           memcmp(text.ptr + CHECK_AT, check, sizeof(check)) == 0 &&
           hex_get(slice_of(text.ptr + KEY_AT, 2 * SECRET_KEY), ret_raw, SECRET_KEY);
}

static EVP_PKEY *secret_from_text(struct slice text) {
    unsigned char raw[SECRET_KEY];
    EVP_PKEY *pkey = NULL;
    if (secret_parse(text, raw))
        pkey = EVP_PKEY_new_raw_private_key_ex(NULL, "ED25519", NULL, raw, sizeof(raw));
    explicit_bzero(raw, sizeof(raw));
    return pkey;
}

static EVP_PKEY *pem_read(struct slice text, bool secret) {
    BIO *bio = BIO_new_mem_buf(text.ptr, (int)text.len);
    CHECK(bio);
    EVP_PKEY *pkey =
        secret ? PEM_read_bio_PrivateKey(bio, NULL, NULL, NULL) : PEM_read_bio_PUBKEY(bio, NULL, NULL, NULL);
    BIO_free(bio);
    if (pkey && EVP_PKEY_base_id(pkey) == EVP_PKEY_ED25519)
        return pkey;
    EVP_PKEY_free(pkey);
    return NULL;
}

static int secret_read_text(const char *path, struct buf *ret_text, bool *ret_missing, struct err *err) {
    if (crypto_keyfile_read(path, ret_text, NULL, ret_missing, err) < 0)
        return -1;
    if (slice_starts(buf_slice(ret_text), SLICE(FORMAT)) &&
        !slice_starts(buf_slice(ret_text), SLICE(FORMAT_1)))
        return err_set(err, "`%s` was written by a newer version of sallyport; use that version", path);
    return 0;
}

static int secret_damaged(const char *path, struct err *err) {
    return err_set(err, "`%s` is damaged: it does not hold an Ed25519 key; restore it from a backup", path);
}

static int secret_read(const char *path, EVP_PKEY **ret_pkey, bool *ret_missing, struct err *err) {
    cleanup_wipe struct buf text;
    if (secret_read_text(path, &text, ret_missing, err) < 0)
        return -1;
    *ret_pkey = slice_starts(buf_slice(&text), SLICE(FORMAT)) ? secret_from_text(buf_slice(&text))
                                                              : pem_read(buf_slice(&text), true);
    return *ret_pkey ? 0 : secret_damaged(path, err);
}

static int secret_create(const char *path, struct err *err) {
    unsigned char raw[SECRET_KEY];
    size_t len = sizeof(raw);
    char text[TEXT_LEN];
    EVP_PKEY *fresh = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
    CHECK(fresh && EVP_PKEY_get_raw_private_key(fresh, raw, &len) == 1 && len == sizeof(raw));
    EVP_PKEY_free(fresh);
    memcpy(text, FORMAT_1, KEY_AT);
    hex_put(raw, sizeof(raw), text + KEY_AT);
    secret_check(slice_of(text, sizeof(text)), text + CHECK_AT);
    text[TEXT_LEN - 1] = '\n';
    int rc = crypto_keyfile_create(path, slice_of(text, sizeof(text)), err);
    explicit_bzero(raw, sizeof(raw));
    explicit_bzero(text, sizeof(text));
    return rc;
}

/* A new key would make the old signatures look forged. */
static int secret_missing(const char *path, const char *public_path, struct err *err) {
    if (access(public_path, F_OK) < 0)
        return 0;
    return err_set(err, "`%s` is missing, but its public key `%s` is there; restore it from a backup", path,
                   public_path);
}

/* ---- the public key ---- */

static int public_create(const char *path, EVP_PKEY *pkey, struct err *err) {
    char *text = NULL;
    BIO *bio = BIO_new(BIO_s_mem());
    CHECK(bio && PEM_write_bio_PUBKEY(bio, pkey) == 1);
    long len = BIO_get_mem_data(bio, &text);
    int rc = io_file_create(path, slice_of(text, (size_t)len), 0644, err);
    BIO_free(bio);
    return rc;
}

/* ---- both ---- */

static struct crypto_signer *signer_new(EVP_PKEY *take_pkey) {
    struct crypto_signer *s = mem_zalloc(sizeof(*s));
    s->pkey = take_pkey;
    return s;
}

int crypto_signer_load(const char *path, const char *public_path, struct crypto_signer **ret_signer,
                       struct err *err) {
    EVP_PKEY *pkey = NULL;
    bool missing;
    int rc = secret_read(path, &pkey, &missing, err);
    if (rc < 0 && missing && secret_missing(path, public_path, err) == 0 && secret_create(path, err) == 0)
        rc = secret_read(path, &pkey, &missing, err);
    if (rc < 0)
        return -1;
    *ret_signer = signer_new(pkey);
    if (access(public_path, F_OK) == 0 || public_create(public_path, pkey, err) == 0)
        return 0;
    crypto_signer_free(steal(*ret_signer));
    return -1;
}

int crypto_signer_check(const char *path, const char *public_path, struct err *err) {
    unsigned char raw[SECRET_KEY];
    bool missing;
    cleanup_wipe struct buf text;
    if (secret_read_text(path, &text, &missing, err) < 0)
        return missing ? secret_missing(path, public_path, err) : -1;
    if (slice_starts(buf_slice(&text), SLICE(FORMAT))) {
        bool fine = secret_parse(buf_slice(&text), raw);
        explicit_bzero(raw, sizeof(raw));
        return fine ? 0 : secret_damaged(path, err);
    }
    EVP_PKEY *pkey = pem_read(buf_slice(&text), true);
    EVP_PKEY_free(pkey);
    return pkey ? 0 : secret_damaged(path, err);
}

int crypto_signer_read_public(const char *public_path, struct crypto_signer **ret_signer, struct err *err) {
    cleanup_buf struct buf text;
    buf_init(&text, CRYPTO_PUBLIC_BYTES_MAX);
    if (io_file_read(public_path, &text, NULL, err) < 0)
        return -1;
    EVP_PKEY *pkey = pem_read(buf_slice(&text), false);
    if (!pkey)
        return err_set(err, "`%s` does not hold a public Ed25519 key", public_path);
    *ret_signer = signer_new(pkey);
    return 0;
}

int crypto_signer_of_public(const unsigned char key[CRYPTO_SIGNATURE_KEY], struct crypto_signer **ret_signer,
                            struct err *err) {
    EVP_PKEY *pkey = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, CRYPTO_SIGNATURE_KEY);
    if (!pkey)
        return err_set(err, "not a public Ed25519 key");
    *ret_signer = signer_new(pkey);
    return 0;
}

void crypto_signer_free(struct crypto_signer *s) {
    if (!s)
        return;
    EVP_PKEY_free(s->pkey);
    free(s);
}

void crypto_sign(const struct crypto_signer *s, struct slice text, unsigned char ret_sign[CRYPTO_SIGNATURE]) {
    size_t len = CRYPTO_SIGNATURE;
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    CHECK(ctx && EVP_DigestSignInit(ctx, NULL, NULL, NULL, s->pkey) == 1 &&
          EVP_DigestSign(ctx, ret_sign, &len, (const unsigned char *)text.ptr, text.len) == 1 &&
          len == CRYPTO_SIGNATURE);
    EVP_MD_CTX_free(ctx);
}

bool crypto_verify(const struct crypto_signer *s, struct slice text,
                   const unsigned char sign[CRYPTO_SIGNATURE]) {
    EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    CHECK(ctx && EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, s->pkey) == 1);
    bool good = EVP_DigestVerify(ctx, sign, CRYPTO_SIGNATURE, (const unsigned char *)text.ptr, text.len) == 1;
    EVP_MD_CTX_free(ctx);
    return good;
}

bool crypto_verify_with(const unsigned char key[CRYPTO_SIGNATURE_KEY], struct slice text,
                        const unsigned char sign[CRYPTO_SIGNATURE]) {
    struct crypto_signer signer = {
        EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, key, CRYPTO_SIGNATURE_KEY)};
    bool good = signer.pkey && crypto_verify(&signer, text, sign);
    EVP_PKEY_free(signer.pkey);
    return good;
}

void crypto_signer_public(const struct crypto_signer *s, unsigned char ret_key[CRYPTO_SIGNATURE_KEY]) {
    size_t len = CRYPTO_SIGNATURE_KEY;
    CHECK(EVP_PKEY_get_raw_public_key(s->pkey, ret_key, &len) == 1 && len == CRYPTO_SIGNATURE_KEY);
}
