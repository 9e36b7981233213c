#include "risk/catalogue_file.h"

#include "base/mem.h"
#include "risk/class.h"
#include "risk/limits.h"
#include "risk/origin.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

_Static_assert(sizeof(struct catalogue_header) == 184 && sizeof(struct catalogue_server) == 64 &&
                   sizeof(struct catalogue_tool) == 48,
               "the layout is that of the file");
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "catalogue.bin is read in place, and it is little endian"
#endif

static bool text_fits(const struct catalogue_file *f, uint32_t place) {
    uint16_t len;
    if (place > f->head->text_bytes - sizeof(len))
        return false;
    memcpy(&len, f->texts + place, sizeof(len));
    return len <= RISK_CATALOGUE_TEXT_MAX && len <= f->head->text_bytes - sizeof(len) - place;
}

static bool list_fits(const struct catalogue_file *f, uint32_t place, uint32_t count) {
    if (place > f->head->lists || count > f->head->lists - place || count > RISK_CATALOGUE_LIST_MAX)
        return false;
    for (uint32_t i = 0; i < count; i++)
        if (!text_fits(f, f->lists[place + i]))
            return false;
    return true;
}

/* The tools of a server must follow those of the previous one. */
static bool server_fits(const struct catalogue_file *f, uint32_t i) {
    const struct catalogue_server *s = &f->servers[i];
    const uint32_t texts[] = {s->name, s->version, s->title, s->repository, s->licence, s->command, s->url};
    for (size_t k = 0; k < ARRAY_LEN(texts); k++)
        if (!text_fits(f, texts[k]))
            return false;
    uint32_t first = i ? f->servers[i - 1].first + f->servers[i - 1].tools : 0;
    return s->first == first && first <= f->head->tools && s->tools <= f->head->tools - first &&
           s->tools <= RISK_TOOLS_MAX && s->registry < RISK_REGISTRIES && s->had < RISK_HADS &&
           s->auth < RISK_AUTHS && list_fits(f, s->args, s->arg_count) && list_fits(f, s->env, s->env_count);
}

static bool tool_fits(const struct catalogue_file *f, uint32_t i) {
    const struct catalogue_tool *t = &f->tools[i];
    if (t->server >= f->head->servers)
        return false;
    const struct catalogue_server *s = &f->servers[t->server];
    return i >= s->first && i - s->first < s->tools && text_fits(f, t->name) && text_fits(f, t->freeform) &&
           list_fits(f, t->evidence, t->evidence_count) && t->cls >= RISK_READ && t->cls < RISK_CLASSES &&
           t->confidence <= 100 && f->by_full[i] < f->head->tools && f->by_shape[i] < f->head->tools &&
           f->by_name[i] < f->head->tools;
}

/* The sum of all sections. Counts were checked against their ceilings, so the sum cannot overflow. */
static uint64_t expected_bytes(const struct catalogue_header *h) {
    return sizeof(*h) + (uint64_t)h->servers * sizeof(struct catalogue_server) +
           (uint64_t)h->tools * (sizeof(struct catalogue_tool) + 3 * sizeof(uint32_t)) +
           (uint64_t)h->lists * sizeof(uint32_t) + h->text_bytes;
}

static int check_header(const struct catalogue_header *h, size_t len, struct err *err) {
    if (memcmp(h->magic, CATALOGUE_MAGIC, sizeof(h->magic)) != 0)
        return err_set(err, "this is not a catalogue");
    if (h->format != CATALOGUE_FORMAT)
        return err_set(err, "the catalogue has format %u, this program reads format %d", h->format,
                       CATALOGUE_FORMAT);
    if (h->header_bytes != sizeof(*h) || h->servers > RISK_CATALOGUE_SERVERS_MAX ||
        h->tools > RISK_CATALOGUE_TOOLS_MAX || h->lists > RISK_CATALOGUE_BYTES_MAX ||
        h->text_bytes > RISK_CATALOGUE_BYTES_MAX || h->text_bytes < sizeof(uint16_t) ||
        h->names > h->servers || h->file_bytes != len || expected_bytes(h) != len)
        return err_set(err, "the catalogue is damaged: its parts do not add up");
    return 0;
}

int catalogue_file_read(struct slice bytes, struct catalogue_file *ret_file, struct err *err) {
    const struct catalogue_header *h = (const struct catalogue_header *)(const void *)bytes.ptr;
    if (bytes.len < sizeof(*h))
        return err_set(err, "this is not a catalogue");
    if (check_header(h, bytes.len, err) < 0)
        return -1;
    struct catalogue_file f = {.head = h, .bytes = bytes.len};
    f.servers = (const void *)(h + 1);
    f.tools = (const void *)(f.servers + h->servers);
    f.by_full = (const void *)(f.tools + h->tools);
    f.by_shape = f.by_full + h->tools;
    f.by_name = f.by_shape + h->tools;
    f.lists = f.by_name + h->tools;
    f.texts = (const void *)(f.lists + h->lists);
    for (uint32_t i = 0; i < h->servers; i++)
        if (!server_fits(&f, i))
            return err_set(err, "the catalogue is damaged at server %u", i);
    for (uint32_t i = 0; i < h->tools; i++)
        if (!tool_fits(&f, i))
            return err_set(err, "the catalogue is damaged at tool %u", i);
    *ret_file = f;
    return 0;
}

/* The file is not protected against changes while it is mapped: a user who can write it could also replace
 * the program, or owns the home. */
int catalogue_file_map(const char *path, struct catalogue_file *ret_file, bool *ret_missing,
                       struct err *err) {
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    *ret_missing = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
    if (fd < 0 || fstat(fd, &st) < 0)
        return err_set(err, "`%s`: %s", path, strerror(errno));
    if (!S_ISREG(st.st_mode) || st.st_size < (off_t)sizeof(struct catalogue_header) ||
        st.st_size > RISK_CATALOGUE_BYTES_MAX)
        return err_set(err, "`%s`: this is not a catalogue", path);
    size_t len = (size_t)st.st_size;
    void *bytes = mmap(NULL, len, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (bytes == MAP_FAILED)
        return err_set(err, "`%s`: %s", path, strerror(errno));
    if (catalogue_file_read(slice_of(bytes, len), ret_file, err) == 0)
        return 0;
    munmap(bytes, len);
    return err_wrap(err, "`%s`", path);
}

void catalogue_file_unmap(struct catalogue_file *f) {
    if (f->head)
        munmap((void *)(uintptr_t)f->head, f->bytes);
    *f = (struct catalogue_file){0};
}

static struct slice signed_part(const struct catalogue_header *h) {
    return slice_of((const char *)h, offsetof(struct catalogue_header, signature));
}

bool catalogue_file_is_genuine(const struct catalogue_file *f) {
    unsigned char hash[SHA_BYTES];
    struct slice body = slice_from(slice_of((const char *)f->head, f->bytes), sizeof(*f->head));
    sha_256(&body, 1, hash);
    return memcmp(hash, f->head->body_hash, sizeof(hash)) == 0 &&
           crypto_verify_with(f->head->key, signed_part(f->head), f->head->signature);
}

int catalogue_file_sign(char *bytes, size_t len, const struct crypto_signer *signer, struct err *err) {
    struct catalogue_file f;
    if (catalogue_file_read(slice_of(bytes, len), &f, err) < 0)
        return -1;
    struct catalogue_header *h = (void *)bytes;
    struct slice body = slice_from(slice_of(bytes, len), sizeof(*h));
    sha_256(&body, 1, h->body_hash);
    crypto_signer_public(signer, h->key);
    crypto_sign(signer, signed_part(h), h->signature);
    return 0;
}
