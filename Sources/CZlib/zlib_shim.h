// zlib's compressor.
#ifndef JOSTLE_ZLIB_SHIM_H
#define JOSTLE_ZLIB_SHIM_H

#include <zlib.h>

// deflateInit2() is a macro. 16 added to the size of the window asks for the header and trailer of gzip.
static inline int jostle_deflate_init_gzip(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
}

#endif
