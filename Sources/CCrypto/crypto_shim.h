// OpenSSL's libcrypto: message digests.
#ifndef JOSTLE_CRYPTO_SHIM_H
#define JOSTLE_CRYPTO_SHIM_H

#include <openssl/evp.h>

#endif
