/* Inside the room: catalogue.bin, as scripts/build-catalogue writes it. Little endian, mapped, never parsed.
 *
 *   header | servers | tools | tools by fingerprint | by shape | by name | lists | texts
 *
 * Servers are sorted by registry, name and release, so the newest version of one is the last. The tools of a
 * server are contiguous and sorted by name. The three orders are indices of tools. A text is an offset into
 * `texts`, where a two-byte length precedes the bytes; offset 0 is the empty text. A list is an offset into
 * `lists`, which holds texts. Every offset is checked when the file is opened. */
#pragma once

#include "base/err.h"
#include "base/slice.h"
#include "crypto/signature.h"

#include "base/sha.h"

#define CATALOGUE_MAGIC "SALLYCAT"
#define CATALOGUE_FORMAT 1

struct catalogue_header {
    char magic[8];
    uint32_t format;
    uint32_t header_bytes;
    uint64_t file_bytes;
    uint64_t made; /* seconds since 1970 */
    uint32_t servers, tools, lists, text_bytes;
    uint32_t names; /* servers, each counted once whatever its versions */
    uint32_t zero;
    unsigned char body_hash[SHA_BYTES];
    unsigned char key[CRYPTO_SIGNATURE_KEY];
    unsigned char signature[CRYPTO_SIGNATURE]; /* of all that stands before it */
};

struct catalogue_server {
    uint32_t name, version, title, repository, licence, command, url; /* texts */
    uint32_t args, env;                                               /* lists */
    uint32_t first, tools;
    uint32_t downloads, rank;
    uint16_t released, seen; /* days since 1970; 0: not known */
    uint8_t registry, had, auth, arg_count, env_count, zero;
    uint16_t zeros;
};

struct catalogue_tool {
    uint64_t full, shape; /* the first eight bytes of each hash; 0: not known */
    uint32_t name;        /* text */
    uint32_t server;
    uint32_t evidence; /* list */
    uint32_t freeform; /* text */
    uint32_t tokens;
    uint16_t tags, properties;
    uint16_t findings; /* bit 1 << detector; bit 0: a hint contradicts the class */
    uint8_t cls, confidence, evidence_count, destructive_hint;
    uint16_t zero;
};

struct catalogue_file {
    const struct catalogue_header *head; /* NULL: no file */
    const struct catalogue_server *servers;
    const struct catalogue_tool *tools;
    const uint32_t *by_full, *by_shape, *by_name;
    const uint32_t *lists;
    const char *texts;
    size_t bytes;
};

/* Reads `bytes`; -1 with a reason when an offset in it points outside. The signature is not checked. The
 * bytes are borrowed and aligned to eight. */
int catalogue_file_read(struct slice bytes, struct catalogue_file *ret_file, struct err *err);
/* Maps and reads a file. *ret_missing says that there is none. */
int catalogue_file_map(const char *path, struct catalogue_file *ret_file, bool *ret_missing, struct err *err);
void catalogue_file_unmap(struct catalogue_file *f);
/* The body matches the header, and the header was signed with the key in it. The caller must check whose key
 * that is. */
bool catalogue_file_is_genuine(const struct catalogue_file *f);
/* Puts key and signature into the bytes of a file. */
int catalogue_file_sign(char *bytes, size_t len, const struct crypto_signer *signer, struct err *err);

static inline struct slice catalogue_file_text(const struct catalogue_file *f, uint32_t place) {
    uint16_t len;
    memcpy(&len, f->texts + place, sizeof(len));
    return slice_of(f->texts + place + sizeof(len), len);
}
