/* Ceilings of the crypto room; docs/limits.md lists them. */
#pragma once

#define CRYPTO_SEAL_BYTES_MAX (1u << 30)   /* one text that is encrypted */
#define CRYPTO_KEYFILE_BYTES_MAX 4096      /* one key file */
#define CRYPTO_PUBLIC_BYTES_MAX (1u << 18) /* one file with a public key */
#define CRYPTO_JWT_BYTES_MAX 16384         /* one token */
#define CRYPTO_JWT_KEYS_MAX 64             /* keys of one issuer */
#define CRYPTO_JWT_RSA_BYTES_MAX 1024      /* modulus of an RSA key */
