/* https: whom a link trusts. The server is a thread of its own, with a certificate made on the spot. */
#include "stand.h"

#include "base/mem.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <pthread.h>
#include <sys/socket.h>

struct tls_server {
    SSL_CTX *ctx;
    int listener;
    uint16_t port;
    pthread_t thread;
    int handshakes;
    char cert_path[64];
};

static void certify(struct tls_server *t, const char *names) {
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *cert = X509_new();
    X509_set_version(cert, 2);
    ASN1_INTEGER_set(X509_get_serialNumber(cert), 1);
    X509_gmtime_adj(X509_getm_notBefore(cert), -60);
    X509_gmtime_adj(X509_getm_notAfter(cert), 3600);
    X509_set_pubkey(cert, key);
    X509_NAME *name = X509_get_subject_name(cert);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"stand", -1, -1, 0);
    X509_set_issuer_name(cert, name);
    X509_EXTENSION *alt = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, names);
    assert_non_null(alt);
    X509_add_ext(cert, alt, -1);
    X509_EXTENSION_free(alt);
    assert_true(X509_sign(cert, key, EVP_sha256()) > 0);
    assert_int_equal(SSL_CTX_use_certificate(t->ctx, cert), 1);
    assert_int_equal(SSL_CTX_use_PrivateKey(t->ctx, key), 1);
    snprintf(t->cert_path, sizeof(t->cert_path), "/tmp/stand-cert-XXXXXX");
    int fd = mkstemp(t->cert_path);
    assert_true(fd >= 0);
    FILE *file = fdopen(fd, "w");
    PEM_write_X509(file, cert);
    fclose(file);
    X509_free(cert);
    EVP_PKEY_free(key);
}

/* Requests of this test come in one record each. */
static void serve(SSL *ssl) {
    char in[8192], body[256], out[512];
    for (;;) {
        int got = SSL_read(ssl, in, sizeof(in) - 1);
        if (got <= 0)
            return;
        in[got] = '\0';
        const char *id = strstr(in, "\"id\":");
        int len = snprintf(body, sizeof(body), "{\"jsonrpc\":\"2.0\",\"id\":%llu,\"result\":{}}",
                           id ? strtoull(id + 5, NULL, 10) : 0);
        len = snprintf(out, sizeof(out),
                       "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
                       len, body);
        SSL_write(ssl, out, len);
    }
}

static void *run(void *arg) {
    struct tls_server *t = arg;
    int fd;
    while ((fd = accept(t->listener, NULL, NULL)) >= 0) {
        SSL *ssl = SSL_new(t->ctx);
        SSL_set_fd(ssl, fd);
        if (SSL_accept(ssl) == 1) {
            t->handshakes++;
            serve(ssl);
        }
        SSL_free(ssl);
        close(fd);
    }
    return NULL;
}

static void tls_open(struct tls_server *t, const char *names) {
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(addr);
    *t = (struct tls_server){.ctx = SSL_CTX_new(TLS_server_method())};
    certify(t, names);
    t->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(t->listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(listen(t->listener, 8), 0);
    assert_int_equal(getsockname(t->listener, (struct sockaddr *)&addr, &len), 0);
    t->port = ntohs(addr.sin_port);
    assert_int_equal(pthread_create(&t->thread, NULL, run, t), 0);
}

static void tls_close(struct tls_server *t) {
    shutdown(t->listener, SHUT_RDWR);
    pthread_join(t->thread, NULL);
    close(t->listener);
    SSL_CTX_free(t->ctx);
    unlink(t->cert_path);
}

static void link_to(const struct tls_server *t, const char *trusted) {
    struct err err;
    stand_prepare("/", NULL, 0);
    setenv("SSL_CERT_FILE", trusted, 1);
    snprintf(stand.url, sizeof(stand.url), "https://127.0.0.1:%u/mcp", t->port);
    assert_int_equal(up_server_set_url(&stand.server, stand.url, &err), 0);
    stand_link(&stand);
}

static void test_trusted(void **state) {
    (void)state;
    struct tls_server t;
    tls_open(&t, "DNS:stand.example,IP:127.0.0.1");
    link_to(&t, t.cert_path);
    for (size_t i = 0; i < 3; i++) {
        stand_say(i, "tools/call");
        if (!calls[i].answers)
            fail_msg("%s", calls[i].why);
    }
    assert_int_equal(stand.server.conn_count, 1);
    stand_end();
    tls_close(&t);
    assert_int_equal(t.handshakes, 1);
}

static void refused(const char *names, bool known, const char *why) {
    struct tls_server t;
    tls_open(&t, names);
    link_to(&t, known ? t.cert_path : "/dev/null");
    stand_say(0, "tools/call");
    assert_int_equal(calls[0].failures, 1);
    assert_true(calls[0].retry); /* nothing was said to it */
    if (!stand_has(calls[0].why, why) || !stand_has(calls[0].why, "server `fake`: TLS"))
        fail_msg("%s is not %s", calls[0].why, why);
    assert_int_equal(stand.server.conn_count, 0);
    stand_end();
    tls_close(&t);
}

static void test_other_address(void **state) {
    (void)state;
    refused("DNS:stand.example,IP:127.0.0.2", true, "IP address mismatch");
}

static void test_unknown_authority(void **state) {
    (void)state;
    refused("IP:127.0.0.1", false, "self-signed certificate");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_trusted),
        cmocka_unit_test(test_other_address),
        cmocka_unit_test(test_unknown_authority),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
