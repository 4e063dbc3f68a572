// OpenSSL's libcrypto: message digests, signatures, base64 and random bytes.
#ifndef JOSTLE_CRYPTO_SHIM_H
#define JOSTLE_CRYPTO_SHIM_H

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

// The unread bytes of a memory BIO. The function of OpenSSL is a macro, which Swift does not import.
static inline int jostle_bio_pending(BIO *bio) { return (int)BIO_ctrl_pending(bio); }

#endif
