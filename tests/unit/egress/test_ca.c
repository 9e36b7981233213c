#include "egress/egress_ca.h"

#include "base/mem.h"
#include "egress/limits.h"

#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static X509 *read_cert(const struct buf *text) {
    BIO *b = BIO_new_mem_buf(text->ptr, (int)text->len);
    X509 *cert = PEM_read_bio_X509(b, NULL, NULL, NULL);
    BIO_free(b);
    assert_non_null(cert);
    return cert;
}

static void test_issued_certificates_check_out(void **state) {
    (void)state;
    static const char *const hosts[] = {
        "api.example.com", "127.0.0.1", "::1",
        "a-name-that-is-longer-than-what-a-common-name-can-hold-by-far.example.com"};
    struct egress_ca *ca;
    struct err err;
    cleanup_buf struct buf own;
    buf_init(&own, EGRESS_PEM_MAX);
    assert_int_equal(egress_ca_new(&ca, &err), 0);
    assert_int_equal(egress_ca_write(ca, &own, &err), 0);
    X509 *authority = read_cert(&own);
    X509_STORE *store = X509_STORE_new();
    X509_STORE_add_cert(store, authority);
    for (size_t i = 0; i < ARRAY_LEN(hosts); i++) {
        cleanup_buf struct buf cert, key;
        buf_init(&cert, EGRESS_PEM_MAX);
        buf_init(&key, EGRESS_PEM_MAX);
        assert_int_equal(egress_ca_issue(ca, slice_str(hosts[i]), &cert, &key, &err), 0);
        X509 *leaf = read_cert(&cert);
        X509_STORE_CTX *ctx = X509_STORE_CTX_new();
        X509_STORE_CTX_init(ctx, store, leaf, NULL);
        assert_int_equal(X509_verify_cert(ctx), 1);
        const bool is_ip = i == 1 || i == 2;
        assert_int_equal(
            is_ip ? X509_check_ip_asc(leaf, hosts[i], 0) : X509_check_host(leaf, hosts[i], 0, 0, NULL), 1);
        assert_int_equal(X509_check_host(leaf, "other.example.com", 0, 0, NULL), 0);
        assert_int_equal(X509_check_ca(leaf), 0);
        X509_STORE_CTX_free(ctx);
        X509_free(leaf);
    }
    X509_STORE_free(store);
    X509_free(authority);
    egress_ca_free(ca);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_issued_certificates_check_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
