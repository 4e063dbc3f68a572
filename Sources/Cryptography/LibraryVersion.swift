internal import CCrypto

/// The version of OpenSSL that is loaded, such as 3.5.4 (`OpenSSL_version`).
package var openSSLVersion: String {
    String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))
}
