#ifndef PAGE_ASSETS_H
#define PAGE_ASSETS_H

#include <stddef.h>

/// A file of the web page. Its bytes are in the program.
struct page_asset {
    const char *name;
    const unsigned char *bytes;
    const unsigned char *end;
};

/// The first of `page_asset_count` files.
extern const struct page_asset *const page_assets;
extern const size_t page_asset_count;

#endif
