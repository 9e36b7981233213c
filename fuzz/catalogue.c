/* Any bytes as catalogue.bin: refused, or every text, list and order in it can be read. */
#include "fuzz.h"
#include "risk/catalogue_file.h"

static size_t read_text(const struct catalogue_file *f, uint32_t place) {
    struct slice text = catalogue_file_text(f, place);
    size_t sum = 0;
    for (size_t i = 0; i < text.len; i++)
        sum += (unsigned char)text.ptr[i];
    return sum;
}

static size_t read_list(const struct catalogue_file *f, uint32_t place, uint32_t count) {
    size_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += read_text(f, f->lists[place + i]);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    cleanup_free char *bytes = fuzz_copy(slice_of((const char *)data, size));
    struct catalogue_file f;
    struct err err;
    size_t sum = 0;
    if (catalogue_file_read(slice_of(bytes, size), &f, &err) < 0)
        return 0;
    for (uint32_t i = 0; i < f.head->servers; i++) {
        const struct catalogue_server *s = &f.servers[i];
        sum += read_text(&f, s->name) + read_text(&f, s->version) + read_text(&f, s->title) +
               read_text(&f, s->repository) + read_text(&f, s->licence) + read_text(&f, s->command) +
               read_text(&f, s->url) + read_list(&f, s->args, s->arg_count) +
               read_list(&f, s->env, s->env_count);
        for (uint32_t k = 0; k < s->tools; k++)
            CHECK(f.tools[s->first + k].server == i);
    }
    for (uint32_t i = 0; i < f.head->tools; i++) {
        const struct catalogue_tool *t = &f.tools[i];
        sum += read_text(&f, t->name) + read_text(&f, t->freeform) +
               read_list(&f, t->evidence, t->evidence_count) + f.tools[f.by_full[i]].tokens +
               f.tools[f.by_shape[i]].tokens + f.tools[f.by_name[i]].tokens;
    }
    CHECK(sum <= (size_t)-1 / 2);
    return 0;
}
