// OpenSSL 3, with the macros that Swift cannot import as static inline functions.
#ifndef BRAMLEY_COPENSSL_H
#define BRAMLEY_COPENSSL_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

static inline long bramley_SSL_CTX_set_min_proto_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_min_proto_version(context, version);
}
static inline long bramley_SSL_CTX_set_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_mode(context, mode);
}
static inline long bramley_SSL_set_tlsext_host_name(SSL *ssl, const char *name) {
    return SSL_set_tlsext_host_name(ssl, name);
}
static inline long bramley_SSL_CTX_set_session_cache_mode(SSL_CTX *context, long mode) {
    return SSL_CTX_set_session_cache_mode(context, mode);
}

static inline uint64_t bramley_SSL_OP_restrictions(void) {
    // The last: what was deciphered is zeroed once it is read. It may be a password.
    return SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CLEANSE_PLAINTEXT;
}
static inline uint64_t bramley_SSL_OP_server_preference(void) {
    return SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA;
}
static inline long bramley_SSL_CTX_set_max_proto_version(SSL_CTX *context, int version) {
    return SSL_CTX_set_max_proto_version(context, version);
}
static inline void bramley_SSL_CTX_set_read_ahead(SSL_CTX *context, int isOn) {
    SSL_CTX_set_read_ahead(context, isOn);
}
static inline long bramley_SSL_CTX_set1_groups_list(SSL_CTX *context, const char *groups) {
    return SSL_CTX_set1_groups_list(context, groups);
}
static inline long bramley_SSL_CTX_set1_sigalgs_list(SSL_CTX *context, const char *algorithms) {
    return SSL_CTX_set1_sigalgs_list(context, algorithms);
}
static inline long bramley_SSL_CTX_add1_chain_cert(SSL_CTX *context, X509 *certificate) {
    return SSL_CTX_add1_chain_cert(context, certificate);
}
static inline int bramley_SSL_CTX_set_app_data(SSL_CTX *context, void *data) {
    return SSL_CTX_set_app_data(context, data);
}
static inline void *bramley_SSL_CTX_get_app_data(const SSL_CTX *context) {
    return SSL_CTX_get_app_data(context);
}
static inline uint64_t bramley_SSL_OP_NO_TICKET(void) {
    return SSL_OP_NO_TICKET;
}
// The names of parameters are macros, which become temporary strings in Swift.
static inline int bramley_EVP_MAC_CTX_set_HMAC_SHA256(EVP_MAC_CTX *context, const unsigned char *key, size_t size) {
    OSSL_PARAM parameters[3];
    parameters[0] = OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, (void *)key, size);
    parameters[1] = OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, (char *)"SHA256", 0);
    parameters[2] = OSSL_PARAM_construct_end();
    return EVP_MAC_CTX_set_params(context, parameters);
}
static inline int bramley_ERR_reason(unsigned long code) {
    return ERR_GET_REASON(code);
}

static inline unsigned long bramley_X509_name_flags(void) {
    // `CN=R11, O=Let's Encrypt, C=US`: UTF-8, with control characters escaped.
    return ASN1_STRFLGS_ESC_2253 | ASN1_STRFLGS_ESC_CTRL | ASN1_STRFLGS_UTF8_CONVERT | XN_FLAG_SEP_CPLUS_SPC
        | XN_FLAG_DN_REV | XN_FLAG_FN_SN;
}

#endif
