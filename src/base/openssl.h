/* OpenSSL, loaded at first use. Linking with it costs every start of the gate 1.5 ms, most of it for
 * symbols that only OpenSSL itself uses, and many gates answer before they need it. Include this in place
 * of <openssl/...>. Only the functions below can be used; add others here. */
#pragma once

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

/* Is OpenSSL loaded? */
bool openssl_is_loaded(void);
/* Loads it now: a busy gate may have no free file descriptor later. */
void openssl_load(bool tls);

#ifndef SALLYPORT_STATIC /* a static program contains it */

/* Looks the function up; ends the program when it does not exist. */
void *openssl_find(const char *name);

#define OPENSSL_FUNCTION(name)                                                                               \
    ({                                                                                                       \
        static void *found_;                                                                                 \
        if (!__atomic_load_n(&found_, __ATOMIC_RELAXED))                                                     \
            __atomic_store_n(&found_, openssl_find(#name), __ATOMIC_RELAXED);                                \
        (__typeof__(&name))__atomic_load_n(&found_, __ATOMIC_RELAXED);                                       \
    })

/* clang-format off */
#define ASN1_INTEGER_set_uint64 OPENSSL_FUNCTION(ASN1_INTEGER_set_uint64)
#define ASN1_STRING_to_UTF8 OPENSSL_FUNCTION(ASN1_STRING_to_UTF8)
#define ASN1_TIME_to_tm OPENSSL_FUNCTION(ASN1_TIME_to_tm)
#define BIO_ctrl OPENSSL_FUNCTION(BIO_ctrl)
#define BIO_ctrl_pending OPENSSL_FUNCTION(BIO_ctrl_pending)
#define BIO_free OPENSSL_FUNCTION(BIO_free)
#define BIO_new OPENSSL_FUNCTION(BIO_new)
#define BIO_new_mem_buf OPENSSL_FUNCTION(BIO_new_mem_buf)
#define BIO_read OPENSSL_FUNCTION(BIO_read)
#define BIO_s_mem OPENSSL_FUNCTION(BIO_s_mem)
#define BIO_write OPENSSL_FUNCTION(BIO_write)
#define BN_bin2bn OPENSSL_FUNCTION(BN_bin2bn)
#define BN_free OPENSSL_FUNCTION(BN_free)
#define BN_num_bits OPENSSL_FUNCTION(BN_num_bits)
#define CRYPTO_free OPENSSL_FUNCTION(CRYPTO_free)
#define CRYPTO_memcmp OPENSSL_FUNCTION(CRYPTO_memcmp)
#define ECDSA_SIG_free OPENSSL_FUNCTION(ECDSA_SIG_free)
#define ECDSA_SIG_new OPENSSL_FUNCTION(ECDSA_SIG_new)
#define ECDSA_SIG_set0 OPENSSL_FUNCTION(ECDSA_SIG_set0)
#define ERR_clear_error OPENSSL_FUNCTION(ERR_clear_error)
#define ERR_get_error OPENSSL_FUNCTION(ERR_get_error)
#define ERR_reason_error_string OPENSSL_FUNCTION(ERR_reason_error_string)
#define EVP_CIPHER_CTX_ctrl OPENSSL_FUNCTION(EVP_CIPHER_CTX_ctrl)
#define EVP_CIPHER_CTX_free OPENSSL_FUNCTION(EVP_CIPHER_CTX_free)
#define EVP_CIPHER_CTX_new OPENSSL_FUNCTION(EVP_CIPHER_CTX_new)
#define EVP_CipherFinal_ex OPENSSL_FUNCTION(EVP_CipherFinal_ex)
#define EVP_CipherInit_ex OPENSSL_FUNCTION(EVP_CipherInit_ex)
#define EVP_CipherUpdate OPENSSL_FUNCTION(EVP_CipherUpdate)
#define EVP_DigestFinal_ex OPENSSL_FUNCTION(EVP_DigestFinal_ex)
#define EVP_DigestInit_ex OPENSSL_FUNCTION(EVP_DigestInit_ex)
#define EVP_DigestSign OPENSSL_FUNCTION(EVP_DigestSign)
#define EVP_DigestSignInit OPENSSL_FUNCTION(EVP_DigestSignInit)
#define EVP_DigestUpdate OPENSSL_FUNCTION(EVP_DigestUpdate)
#define EVP_DigestVerify OPENSSL_FUNCTION(EVP_DigestVerify)
#define EVP_DigestVerifyInit OPENSSL_FUNCTION(EVP_DigestVerifyInit)
#define EVP_DigestVerifyInit_ex OPENSSL_FUNCTION(EVP_DigestVerifyInit_ex)
#define EVP_MD_CTX_free OPENSSL_FUNCTION(EVP_MD_CTX_free)
#define EVP_MD_CTX_new OPENSSL_FUNCTION(EVP_MD_CTX_new)
#define EVP_PKEY_CTX_free OPENSSL_FUNCTION(EVP_PKEY_CTX_free)
#define EVP_PKEY_CTX_new_from_name OPENSSL_FUNCTION(EVP_PKEY_CTX_new_from_name)
#define EVP_PKEY_CTX_set_rsa_padding OPENSSL_FUNCTION(EVP_PKEY_CTX_set_rsa_padding)
#define EVP_PKEY_CTX_set_rsa_pss_saltlen OPENSSL_FUNCTION(EVP_PKEY_CTX_set_rsa_pss_saltlen)
#define EVP_PKEY_Q_keygen OPENSSL_FUNCTION(EVP_PKEY_Q_keygen)
#define EVP_PKEY_free OPENSSL_FUNCTION(EVP_PKEY_free)
#define EVP_PKEY_fromdata OPENSSL_FUNCTION(EVP_PKEY_fromdata)
#define EVP_PKEY_fromdata_init OPENSSL_FUNCTION(EVP_PKEY_fromdata_init)
#define EVP_PKEY_get_base_id OPENSSL_FUNCTION(EVP_PKEY_get_base_id)
#define EVP_PKEY_get_raw_private_key OPENSSL_FUNCTION(EVP_PKEY_get_raw_private_key)
#define EVP_PKEY_get_raw_public_key OPENSSL_FUNCTION(EVP_PKEY_get_raw_public_key)
#define EVP_PKEY_new_raw_private_key_ex OPENSSL_FUNCTION(EVP_PKEY_new_raw_private_key_ex)
#define EVP_PKEY_new_raw_public_key OPENSSL_FUNCTION(EVP_PKEY_new_raw_public_key)
#define EVP_Q_digest OPENSSL_FUNCTION(EVP_Q_digest)
#define EVP_aes_256_gcm OPENSSL_FUNCTION(EVP_aes_256_gcm)
#define EVP_sha256 OPENSSL_FUNCTION(EVP_sha256)
#define EVP_sha512 OPENSSL_FUNCTION(EVP_sha512)
#define GENERAL_NAMES_free OPENSSL_FUNCTION(GENERAL_NAMES_free)
#define HMAC OPENSSL_FUNCTION(HMAC)
#define OPENSSL_cleanse OPENSSL_FUNCTION(OPENSSL_cleanse)
#define OPENSSL_sk_num OPENSSL_FUNCTION(OPENSSL_sk_num)
#define OPENSSL_sk_value OPENSSL_FUNCTION(OPENSSL_sk_value)
#define OSSL_PARAM_BLD_free OPENSSL_FUNCTION(OSSL_PARAM_BLD_free)
#define OSSL_PARAM_BLD_new OPENSSL_FUNCTION(OSSL_PARAM_BLD_new)
#define OSSL_PARAM_BLD_push_BN OPENSSL_FUNCTION(OSSL_PARAM_BLD_push_BN)
#define OSSL_PARAM_BLD_push_octet_string OPENSSL_FUNCTION(OSSL_PARAM_BLD_push_octet_string)
#define OSSL_PARAM_BLD_push_utf8_string OPENSSL_FUNCTION(OSSL_PARAM_BLD_push_utf8_string)
#define OSSL_PARAM_BLD_to_param OPENSSL_FUNCTION(OSSL_PARAM_BLD_to_param)
#define OSSL_PARAM_free OPENSSL_FUNCTION(OSSL_PARAM_free)
#define OpenSSL_version OPENSSL_FUNCTION(OpenSSL_version)
#define PEM_read_bio_PUBKEY OPENSSL_FUNCTION(PEM_read_bio_PUBKEY)
#define PEM_read_bio_PrivateKey OPENSSL_FUNCTION(PEM_read_bio_PrivateKey)
#define PEM_read_bio_X509 OPENSSL_FUNCTION(PEM_read_bio_X509)
#define PEM_write_bio_PUBKEY OPENSSL_FUNCTION(PEM_write_bio_PUBKEY)
#define PEM_write_bio_PrivateKey OPENSSL_FUNCTION(PEM_write_bio_PrivateKey)
#define PEM_write_bio_X509 OPENSSL_FUNCTION(PEM_write_bio_X509)
#define SHA256 OPENSSL_FUNCTION(SHA256)
#define SHA256_Update OPENSSL_FUNCTION(SHA256_Update)
#define SSL_CTX_check_private_key OPENSSL_FUNCTION(SSL_CTX_check_private_key)
#define SSL_CTX_ctrl OPENSSL_FUNCTION(SSL_CTX_ctrl)
#define SSL_CTX_free OPENSSL_FUNCTION(SSL_CTX_free)
#define SSL_CTX_load_verify_file OPENSSL_FUNCTION(SSL_CTX_load_verify_file)
#define SSL_CTX_new OPENSSL_FUNCTION(SSL_CTX_new)
#define SSL_CTX_set_alpn_select_cb OPENSSL_FUNCTION(SSL_CTX_set_alpn_select_cb)
#define SSL_CTX_set_client_CA_list OPENSSL_FUNCTION(SSL_CTX_set_client_CA_list)
#define SSL_CTX_set_default_verify_paths OPENSSL_FUNCTION(SSL_CTX_set_default_verify_paths)
#define SSL_CTX_set_options OPENSSL_FUNCTION(SSL_CTX_set_options)
#define SSL_CTX_set_verify OPENSSL_FUNCTION(SSL_CTX_set_verify)
#define SSL_CTX_use_PrivateKey OPENSSL_FUNCTION(SSL_CTX_use_PrivateKey)
#define SSL_CTX_use_PrivateKey_file OPENSSL_FUNCTION(SSL_CTX_use_PrivateKey_file)
#define SSL_CTX_use_certificate OPENSSL_FUNCTION(SSL_CTX_use_certificate)
#define SSL_CTX_use_certificate_chain_file OPENSSL_FUNCTION(SSL_CTX_use_certificate_chain_file)
#define SSL_ctrl OPENSSL_FUNCTION(SSL_ctrl)
#define SSL_do_handshake OPENSSL_FUNCTION(SSL_do_handshake)
#define SSL_free OPENSSL_FUNCTION(SSL_free)
#define SSL_get0_param OPENSSL_FUNCTION(SSL_get0_param)
#define SSL_get0_peer_certificate OPENSSL_FUNCTION(SSL_get0_peer_certificate)
#define SSL_get_error OPENSSL_FUNCTION(SSL_get_error)
#define SSL_get_verify_result OPENSSL_FUNCTION(SSL_get_verify_result)
#define SSL_is_init_finished OPENSSL_FUNCTION(SSL_is_init_finished)
#define SSL_load_client_CA_file OPENSSL_FUNCTION(SSL_load_client_CA_file)
#define SSL_new OPENSSL_FUNCTION(SSL_new)
#define SSL_read_ex OPENSSL_FUNCTION(SSL_read_ex)
#define SSL_select_next_proto OPENSSL_FUNCTION(SSL_select_next_proto)
#define SSL_set1_host OPENSSL_FUNCTION(SSL_set1_host)
#define SSL_set_accept_state OPENSSL_FUNCTION(SSL_set_accept_state)
#define SSL_set_alpn_protos OPENSSL_FUNCTION(SSL_set_alpn_protos)
#define SSL_set_bio OPENSSL_FUNCTION(SSL_set_bio)
#define SSL_set_connect_state OPENSSL_FUNCTION(SSL_set_connect_state)
#define SSL_shutdown OPENSSL_FUNCTION(SSL_shutdown)
#define SSL_write_ex OPENSSL_FUNCTION(SSL_write_ex)
#define TLS_client_method OPENSSL_FUNCTION(TLS_client_method)
#define TLS_server_method OPENSSL_FUNCTION(TLS_server_method)
#define X509V3_EXT_conf_nid OPENSSL_FUNCTION(X509V3_EXT_conf_nid)
#define X509V3_set_ctx OPENSSL_FUNCTION(X509V3_set_ctx)
#define X509_EXTENSION_free OPENSSL_FUNCTION(X509_EXTENSION_free)
#define X509_NAME_ENTRY_get_data OPENSSL_FUNCTION(X509_NAME_ENTRY_get_data)
#define X509_NAME_add_entry_by_txt OPENSSL_FUNCTION(X509_NAME_add_entry_by_txt)
#define X509_NAME_get_entry OPENSSL_FUNCTION(X509_NAME_get_entry)
#define X509_NAME_get_index_by_NID OPENSSL_FUNCTION(X509_NAME_get_index_by_NID)
#define X509_NAME_print_ex OPENSSL_FUNCTION(X509_NAME_print_ex)
#define X509_VERIFY_PARAM_set1_ip_asc OPENSSL_FUNCTION(X509_VERIFY_PARAM_set1_ip_asc)
#define X509_add_ext OPENSSL_FUNCTION(X509_add_ext)
#define X509_digest OPENSSL_FUNCTION(X509_digest)
#define X509_free OPENSSL_FUNCTION(X509_free)
#define X509_get0_notAfter OPENSSL_FUNCTION(X509_get0_notAfter)
#define X509_get_ext_d2i OPENSSL_FUNCTION(X509_get_ext_d2i)
#define X509_get_serialNumber OPENSSL_FUNCTION(X509_get_serialNumber)
#define X509_get_subject_name OPENSSL_FUNCTION(X509_get_subject_name)
#define X509_getm_notAfter OPENSSL_FUNCTION(X509_getm_notAfter)
#define X509_getm_notBefore OPENSSL_FUNCTION(X509_getm_notBefore)
#define X509_gmtime_adj OPENSSL_FUNCTION(X509_gmtime_adj)
#define X509_new OPENSSL_FUNCTION(X509_new)
#define X509_set_issuer_name OPENSSL_FUNCTION(X509_set_issuer_name)
#define X509_set_pubkey OPENSSL_FUNCTION(X509_set_pubkey)
#define X509_set_version OPENSSL_FUNCTION(X509_set_version)
#define X509_sign OPENSSL_FUNCTION(X509_sign)
#define X509_verify_cert_error_string OPENSSL_FUNCTION(X509_verify_cert_error_string)
#define d2i_X509 OPENSSL_FUNCTION(d2i_X509)
#define i2d_ECDSA_SIG OPENSSL_FUNCTION(i2d_ECDSA_SIG)
#define i2d_X509 OPENSSL_FUNCTION(i2d_X509)
/* clang-format on */

#endif
