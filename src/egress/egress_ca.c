#include "egress/egress_ca.h"

#include "base/mem.h"
#include "base/openssl.h"
#include "base/rand.h"
#include "egress/limits.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define DAY_S 86400
#define NAME "Sallyport (this gate's own sandboxes)"

struct egress_ca {
    EVP_PKEY *key;
    X509 *cert;
};

static bool add_extension(X509 *cert, X509 *issuer, int what, const char *value) {
    X509V3_CTX ctx;
    X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
    X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, what, value);
    const bool done = e && X509_add_ext(cert, e, -1) == 1;
    X509_EXTENSION_free(e);
    return done;
}

/* Everything but the signature; self-issued when there is no issuer. */
static X509 *make_cert(EVP_PKEY *key, const char *name, X509 *issuer, const char *alt_name) {
    uint64_t serial;
    rand_bytes(&serial, sizeof(serial));
    X509 *cert = X509_new();
    X509_NAME *subject = cert ? X509_get_subject_name(cert) : NULL;
    bool done = cert && X509_set_version(cert, 2) == 1 &&
                ASN1_INTEGER_set_uint64(X509_get_serialNumber(cert), serial >> 1) == 1 &&
                X509_gmtime_adj(X509_getm_notBefore(cert), -DAY_S) &&
                X509_gmtime_adj(X509_getm_notAfter(cert), (long)EGRESS_CERT_DAYS * DAY_S) &&
                X509_set_pubkey(cert, key) == 1 &&
                X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1,
                                           0) == 1 &&
                X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : subject) == 1;
    X509 *by = issuer ? issuer : cert;
    done = done &&
           add_extension(cert, by, NID_basic_constraints,
                         issuer ? "critical,CA:FALSE" : "critical,CA:TRUE,pathlen:0") &&
           add_extension(cert, by, NID_key_usage,
                         issuer ? "critical,digitalSignature" : "critical,keyCertSign") &&
           add_extension(cert, by, NID_subject_key_identifier, "hash");
    if (issuer)
        done = done && add_extension(cert, by, NID_authority_key_identifier, "keyid") &&
               add_extension(cert, by, NID_ext_key_usage, "serverAuth") &&
               add_extension(cert, by, NID_subject_alt_name, alt_name);
    if (done)
        return cert;
    X509_free(cert);
    return NULL;
}

static int fail(struct err *err) { return err_set(err, "make a certificate for sandboxes: OpenSSL failed"); }

static EVP_PKEY *new_key(void) { return EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256"); }

int egress_ca_new(struct egress_ca **ret_ca, struct err *err) {
    struct egress_ca *ca = mem_zalloc(sizeof(*ca));
    ca->key = new_key();
    ca->cert = ca->key ? make_cert(ca->key, NAME, NULL, NULL) : NULL;
    if (!ca->cert || X509_sign(ca->cert, ca->key, EVP_sha256()) <= 0) {
        egress_ca_free(ca);
        return fail(err);
    }
    *ret_ca = ca;
    return 0;
}

void egress_ca_free(struct egress_ca *ca) {
    if (!ca)
        return;
    X509_free(ca->cert);
    EVP_PKEY_free(ca->key);
    free(ca);
}

static bool put_cert(X509 *cert, struct buf *out) {
    BIO *b = BIO_new(BIO_s_mem());
    char *text = NULL;
    const long len = b && PEM_write_bio_X509(b, cert) == 1 ? BIO_get_mem_data(b, &text) : 0;
    if (len > 0)
        buf_put(out, text, (size_t)len);
    BIO_free(b);
    return len > 0 && !out->full;
}

static bool put_key(EVP_PKEY *key, struct buf *out) {
    BIO *b = BIO_new(BIO_s_mem());
    char *text = NULL;
    const long len = b && PEM_write_bio_PrivateKey(b, key, NULL, NULL, 0, NULL, NULL) == 1
                         ? BIO_get_mem_data(b, &text)
                         : 0;
    if (len > 0) {
        buf_put(out, text, (size_t)len);
        OPENSSL_cleanse(text, (size_t)len);
    }
    BIO_free(b);
    return len > 0 && !out->full;
}

int egress_ca_write(const struct egress_ca *ca, struct buf *out, struct err *err) {
    return put_cert(ca->cert, out) ? 0 : fail(err);
}

int egress_ca_issue(const struct egress_ca *ca, struct slice host, struct buf *ret_cert, struct buf *ret_key,
                    struct err *err) {
    unsigned char address[sizeof(struct in6_addr)];
    char name[256], alt_name[sizeof(name) + 8];
    snprintf(name, sizeof(name), "%.*s", SLICE_FMT(host));
    const bool is_ip = inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
    snprintf(alt_name, sizeof(alt_name), "%s:%s", is_ip ? "IP" : "DNS", name);
    EVP_PKEY *key = new_key();
    /* A common name has at most 64 characters; clients use the alternative name. */
    X509 *cert = key ? make_cert(key, host.len <= 64 ? name : "host", ca->cert, alt_name) : NULL;
    const bool done = cert && X509_sign(cert, ca->key, EVP_sha256()) > 0 && put_cert(cert, ret_cert) &&
                      put_key(key, ret_key);
    X509_free(cert);
    EVP_PKEY_free(key);
    return done ? 0 : fail(err);
}
