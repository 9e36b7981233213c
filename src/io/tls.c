#include "io/tls.h"

#include "base/hex.h"
#include "base/mem.h"
#include "base/openssl.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TLS_READ_BYTES 16384
#define TLS_WHY_MAX 256

struct io_tls_ctx {
    SSL_CTX *ssl;
};

struct io_tls {
    SSL *ssl;
    BIO *in;  /* ciphertext that arrived; owned by ssl */
    BIO *out; /* ciphertext to send; owned by ssl */
    char cipher[TLS_READ_BYTES];
    void (*ready)(void *owner, int status, const char *why);
};

/* The first error in the queue; for missing files the system's errno text is used. */
static const char *first_reason(void) {
    unsigned long code = ERR_get_error();
    const char *reason =
        ERR_SYSTEM_ERROR(code) ? strerror(ERR_GET_REASON(code)) : ERR_reason_error_string(code);
    ERR_clear_error();
    return reason ? reason : "no reason given";
}

/* The certificate authorities of the system. A static program has its own OpenSSL, which does not know
 * where this distribution keeps them. */
static bool trust_system(SSL_CTX *ssl) {
#ifdef SALLYPORT_STATIC
    static const char *const bundles[] = {"/etc/ssl/certs/ca-certificates.crt",
                                          "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
                                          "/etc/ssl/cert.pem"};
    for (size_t i = 0; !getenv("SSL_CERT_FILE") && i < ARRAY_LEN(bundles); i++)
        if (SSL_CTX_load_verify_file(ssl, bundles[i]) == 1)
            return true;
    ERR_clear_error();
#endif
    return SSL_CTX_set_default_verify_paths(ssl) == 1;
}

static struct io_tls_ctx *client_ctx(SSL_CTX *take_ssl) {
    SSL_CTX_set_verify(take_ssl, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(take_ssl, SSL_MODE_RELEASE_BUFFERS);
    struct io_tls_ctx *ctx = mem_zalloc(sizeof(*ctx));
    ctx->ssl = take_ssl;
    return ctx;
}

struct io_tls_ctx *io_tls_client_ctx(struct err *err) {
    SSL_CTX *ssl = SSL_CTX_new(TLS_client_method());
    if (!ssl || !trust_system(ssl) || SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) != 1) {
        SSL_CTX_free(ssl);
        err_set(err, "set up TLS: %s", first_reason());
        return NULL;
    }
    return client_ctx(ssl);
}

static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg) {
    (void)ssl, (void)arg;
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, out_len, ours, sizeof(ours) - 1, in, in_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* Every handshake checks certificates: a resumed session would survive a change of the authorities. */
static bool ask_clients(SSL_CTX *ssl, const char *client_ca) {
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(client_ca);
    if (!names || SSL_CTX_load_verify_file(ssl, client_ca) != 1)
        return false;
    SSL_CTX_set_client_CA_list(ssl, names);
    SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_options(ssl, SSL_OP_NO_TICKET);
    SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
    return true;
}

static struct io_tls_ctx *server_ctx(SSL_CTX *take_ssl) {
    SSL_CTX_set_options(take_ssl, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(take_ssl, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(take_ssl, choose_protocol, NULL);
    struct io_tls_ctx *ctx = mem_zalloc(sizeof(*ctx));
    ctx->ssl = take_ssl;
    return ctx;
}

/* Certificate and key of this side. *ret_what: the file that does not do. */
static bool use_files(SSL_CTX *ssl, const char *cert, const char *key, const char **ret_what) {
    *ret_what = "set up TLS";
    if (!ssl || SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) != 1)
        return false;
    *ret_what = cert;
    if (SSL_CTX_use_certificate_chain_file(ssl, cert) != 1)
        return false;
    *ret_what = key;
    return SSL_CTX_use_PrivateKey_file(ssl, key, SSL_FILETYPE_PEM) == 1 &&
           SSL_CTX_check_private_key(ssl) == 1;
}

static void *refuse_files(SSL_CTX *take_ssl, const char *what, struct err *err) {
    SSL_CTX_free(take_ssl);
    err_set(err, "tls: `%s`: %s", what, first_reason());
    return NULL;
}

struct io_tls_ctx *io_tls_server_ctx(const char *cert, const char *key, const char *client_ca,
                                     struct err *err) {
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    const char *what;
    bool fine = use_files(ssl, cert, key, &what);
    if (fine && client_ca) {
        what = client_ca;
        fine = ask_clients(ssl, client_ca);
    }
    return fine ? server_ctx(ssl) : refuse_files(ssl, what, err);
}

void io_tls_require_client(struct io_tls_ctx *ctx) {
    SSL_CTX_set_verify(ctx->ssl, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
}

struct io_tls_ctx *io_tls_member_ctx(const char *cert, const char *key, const char *ca, struct err *err) {
    SSL_CTX *ssl = SSL_CTX_new(TLS_client_method());
    const char *what = "set up TLS";
    bool fine = cert ? use_files(ssl, cert, key, &what)
                     : ssl && SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1;
    if (fine) {
        what = ca ? ca : "the system's authorities";
        fine = ca ? SSL_CTX_load_verify_file(ssl, ca) == 1 : trust_system(ssl);
    }
    return fine ? client_ctx(ssl) : refuse_files(ssl, what, err);
}

struct io_tls_ctx *io_tls_server_ctx_of(struct slice cert, struct slice key, struct err *err) {
    SSL_CTX *ssl = SSL_CTX_new(TLS_server_method());
    BIO *cert_text = BIO_new_mem_buf(cert.ptr, (int)cert.len),
        *key_text = BIO_new_mem_buf(key.ptr, (int)key.len);
    X509 *x = PEM_read_bio_X509(cert_text, NULL, NULL, NULL);
    EVP_PKEY *k = PEM_read_bio_PrivateKey(key_text, NULL, NULL, NULL);
    const bool fine = ssl && x && k && SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) == 1 &&
                      SSL_CTX_use_certificate(ssl, x) == 1 && SSL_CTX_use_PrivateKey(ssl, k) == 1;
    X509_free(x);
    EVP_PKEY_free(k);
    BIO_free(cert_text);
    BIO_free(key_text);
    if (fine)
        return server_ctx(ssl);
    SSL_CTX_free(ssl);
    err_set(err, "set up TLS: %s", first_reason());
    return NULL;
}

void io_tls_ctx_free(struct io_tls_ctx *ctx) {
    if (!ctx)
        return;
    SSL_CTX_free(ctx->ssl);
    free(ctx);
}

static void tls_free(struct io_tls *tls) {
    if (!tls)
        return;
    SSL_free(tls->ssl);
    free(tls);
}

/* Moves pending ciphertext to the conn's queue, behind bytes that are already encrypted. */
static void drain(struct io_conn *c) {
    size_t pending;
    while ((pending = BIO_ctrl_pending(c->tls->out)) > 0) {
        struct block *b = block_new(&c->loop->blocks, BLOCK_BYTES);
        int got = BIO_read(c->tls->out, b->data, (int)(pending < b->cap ? pending : b->cap));
        if (got > 0) {
            io_conn_queue(c, b, b->data, (size_t)got);
            c->q_cipher++;
        }
        block_unref(b);
        if (got <= 0)
            break;
    }
    if (!list_linked(&c->dirty) && c->q_count)
        list_push(&c->loop->dirty, &c->dirty);
}

static bool tls_flush_plain(struct io_conn *c) {
    struct io_tls *tls = c->tls;
    uint32_t plain = c->q_count - c->q_cipher;
    if (plain) {
        if (!SSL_is_init_finished(tls->ssl))
            return c->q_cipher > 0;
        for (uint32_t i = 0; i < plain; i++) {
            struct io_piece *p = &c->queue[c->q_head + c->q_cipher + i];
            size_t written;
            if (SSL_write_ex(tls->ssl, p->ptr, p->len, &written) != 1 || written != p->len) {
                io_conn_end(c, UV_EPROTO);
                return false;
            }
        }
        while (c->q_count > c->q_cipher)
            io_conn_unqueue_last(c);
    }
    drain(c);
    return true;
}

static const char *tls_why(struct io_tls *tls, char text[TLS_WHY_MAX]) {
    long verify = SSL_get_verify_result(tls->ssl);
    unsigned long code = ERR_get_error();
    const char *reason = ERR_reason_error_string(code);
    snprintf(text, TLS_WHY_MAX, "TLS: %s",
             verify != X509_V_OK ? X509_verify_cert_error_string(verify)
             : reason            ? reason
                                 : "handshake failed");
    return text;
}

/* True when the handshake is complete and the conn still exists. */
static bool handshake(struct io_conn *c) {
    struct io_tls *tls = c->tls;
    ERR_clear_error();
    int rc = SSL_do_handshake(tls->ssl);
    int what = rc == 1 ? SSL_ERROR_NONE : SSL_get_error(tls->ssl, rc);
    drain(c);
    if (what == SSL_ERROR_WANT_READ)
        return false;
    char why[TLS_WHY_MAX];
    void (*ready)(void *, int, const char *) = tls->ready;
    tls->ready = NULL;
    if (ready)
        ready(c->owner, rc == 1 ? 0 : -1, rc == 1 ? NULL : tls_why(tls, why));
    return rc == 1 && !c->closing;
}

static struct io_tls *tls_new(struct io_tls_ctx *ctx,
                              void (*ready)(void *owner, int status, const char *why)) {
    struct io_tls *tls = mem_zalloc(sizeof(*tls));
    tls->ssl = SSL_new(ctx->ssl);
    tls->in = BIO_new(BIO_s_mem());
    tls->out = BIO_new(BIO_s_mem());
    BIO_set_mem_eof_return(tls->in, -1);
    SSL_set_bio(tls->ssl, tls->in, tls->out);
    tls->ready = ready;
    return tls;
}

static void in_space(struct io_conn *c, uv_buf_t *buf) { *buf = uv_buf_init(c->tls->cipher, TLS_READ_BYTES); }

static void received(struct io_conn *c, const char *ptr, size_t len) {
    struct io_tls *tls = c->tls;
    if (BIO_write(tls->in, ptr, (int)len) != (int)len) {
        io_conn_end(c, UV_ENOMEM);
        return;
    }
    if (!SSL_is_init_finished(tls->ssl) && !handshake(c))
        return;
    for (;;) {
        size_t room, got;
        char *to = io_conn_in_space(c, &room);
        ERR_clear_error();
        int rc = SSL_read_ex(tls->ssl, to, room, &got);
        if (rc != 1) {
            int what = SSL_get_error(tls->ssl, rc);
            drain(c);
            c->tls_ended = what == SSL_ERROR_ZERO_RETURN;
            if (what != SSL_ERROR_WANT_READ)
                io_conn_end(c, what == SSL_ERROR_ZERO_RETURN ? 0 : UV_EPROTO);
            return;
        }
        if (!io_conn_in_commit(c, got))
            return;
    }
}

static void close_notify(struct io_conn *c) {
    tls_flush_plain(c);
    SSL_shutdown(c->tls->ssl);
    drain(c);
}

static const struct io_layer layer = {
    .in_space = in_space,
    .received = received,
    .encrypt = tls_flush_plain,
    .close_notify = close_notify,
    .free = tls_free,
};

void io_tls_start_server(struct io_conn *c, struct io_tls_ctx *ctx, struct slice early,
                         void (*ready)(void *owner, int status, const char *why)) {
    c->tls = tls_new(ctx, ready);
    c->layer = &layer;
    SSL_set_accept_state(c->tls->ssl);
    io_conn_read(c, true);
    /* A TLS client sends first and then waits: early bytes are never more than the start of its handshake. */
    if (early.len && BIO_write(c->tls->in, early.ptr, (int)early.len) == (int)early.len)
        handshake(c);
}

void io_tls_start_client(struct io_conn *c, struct io_tls_ctx *ctx, const char *host,
                         void (*ready)(void *owner, int status, const char *why)) {
    struct io_tls *tls = tls_new(ctx, ready);
    unsigned char addr[sizeof(struct in6_addr)];
    bool is_ip = inet_pton(AF_INET, host, addr) == 1 || inet_pton(AF_INET6, host, addr) == 1;
    if (is_ip) {
        X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), host);
    } else {
        SSL_set1_host(tls->ssl, host);
        SSL_set_tlsext_host_name(tls->ssl, host);
    }
    static const unsigned char alpn[] = "\x08http/1.1";
    SSL_set_alpn_protos(tls->ssl, alpn, sizeof(alpn) - 1);
    SSL_set_connect_state(tls->ssl);
    c->tls = tls;
    c->layer = &layer;
    io_conn_read(c, true);
    handshake(c);
}

/* ---- the peer's certificate ---- */

struct cert_reader {
    void (*each)(void *ctx, const char *name, struct slice value);
    void *ctx;
};

/* Programs read a text with a NUL in different ways, so it is not reported. */
static void report_field(const struct cert_reader *t, const char *name, const ASN1_STRING *text) {
    unsigned char *utf8 = NULL;
    int len = text ? ASN1_STRING_to_UTF8(&utf8, text) : -1;
    if (len > 0 && !memchr(utf8, 0, (size_t)len))
        t->each(t->ctx, name, slice_of((char *)utf8, (size_t)len));
    OPENSSL_free(utf8);
}

static void report_names(const struct cert_reader *t, X509 *cert) {
    GENERAL_NAMES *names = X509_get_ext_d2i(cert, NID_subject_alt_name, NULL, NULL);
    for (int i = 0; names && i < sk_GENERAL_NAME_num(names); i++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
        if (name->type == GEN_EMAIL)
            report_field(t, "email", name->d.rfc822Name);
        else if (name->type == GEN_DNS)
            report_field(t, "dns", name->d.dNSName);
        else if (name->type == GEN_URI)
            report_field(t, "uri", name->d.uniformResourceIdentifier);
    }
    GENERAL_NAMES_free(names);
}

static void report_subject(const struct cert_reader *t, X509 *cert) {
    X509_NAME *subject = X509_get_subject_name(cert);
    BIO *out = BIO_new(BIO_s_mem());
    char *text;
    if (out && X509_NAME_print_ex(out, subject, 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB) >= 0) {
        long len = BIO_get_mem_data(out, &text);
        if (len > 0 && !memchr(text, 0, (size_t)len))
            t->each(t->ctx, "subject", slice_of(text, (size_t)len));
    }
    BIO_free(out);
    int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at >= 0)
        report_field(t, "common_name", X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
}

/* The peer's verified certificate. */
static X509 *peer_cert(const struct io_conn *c) {
    X509 *cert = c->tls ? SSL_get0_peer_certificate(c->tls->ssl) : NULL;
    return cert && SSL_get_verify_result(c->tls->ssl) == X509_V_OK ? cert : NULL;
}

bool io_tls_peer_der(const struct io_conn *c, struct buf *out) {
    X509 *cert = peer_cert(c);
    unsigned char *der = NULL;
    int len = cert ? i2d_X509(cert, &der) : -1;
    if (len > 0)
        buf_put(out, (char *)der, (size_t)len);
    OPENSSL_free(der);
    return len > 0 && !out->full;
}

static void report_cert(const struct cert_reader *t, X509 *cert, uint64_t *ret_expires_s) {
    report_subject(t, cert);
    report_names(t, cert);
    unsigned char hash[EVP_MAX_MD_SIZE];
    unsigned len = 0;
    char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
    X509_digest(cert, EVP_sha256(), hash, &len);
    hex_str(hash, len, hex);
    t->each(t->ctx, "fingerprint", slice_str(hex));
    struct tm tm;
    time_t end = ASN1_TIME_to_tm(X509_get0_notAfter(cert), &tm) == 1 ? timegm(&tm) : 0;
    *ret_expires_s = end > 0 ? (uint64_t)end : 1; /* an expiry that cannot be read counts as expired */
}

bool io_tls_peer(const struct io_conn *c, void (*each)(void *ctx, const char *name, struct slice value),
                 void *ctx, uint64_t *ret_expires_s) {
    X509 *cert = peer_cert(c);
    if (cert)
        report_cert(&(struct cert_reader){each, ctx}, cert, ret_expires_s);
    return cert;
}

bool io_tls_cert(struct slice der, void (*each)(void *ctx, const char *name, struct slice value), void *ctx,
                 uint64_t *ret_expires_s) {
    const unsigned char *at = (const unsigned char *)der.ptr;
    X509 *cert = d2i_X509(NULL, &at, (long)der.len);
    if (cert)
        report_cert(&(struct cert_reader){each, ctx}, cert, ret_expires_s);
    X509_free(cert);
    return cert;
}
