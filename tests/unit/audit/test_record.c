#include "audit/chain.h"
#include "audit/disk.h"
#include "audit/format.h"
#include "audit/pack.h"
#include "audit/record.h"
#include "audit/ring.h"
#include "audit/segment.h"
#include "base/mem.h"
#include "wire/tape.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct audit_record sample(void) {
    struct audit_record r = {.kind = AUDIT_KIND_DECISION};
    for (size_t i = 0; i < AUDIT_NUMBERS; i++)
        r.number[i] = (uint64_t)1 << (9 * i + 3);
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        r.text[i] = slice_str(audit_text_names[i]);
    return r;
}

static void test_round_trip(void **state) {
    (void)state;
    struct audit_record r = sample(), back;
    char bytes[4096];
    assert_true(audit_record_fit(&r) <= sizeof(bytes));
    size_t len = audit_record_write(&r, bytes);
    assert_true(audit_record_read(slice_of(bytes, len), &back));
    assert_int_equal(back.kind, r.kind);
    assert_memory_equal(back.number, r.number, sizeof(r.number));
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        assert_true(slice_eq(back.text[i], r.text[i]));
    r.text[AUDIT_POLICY_VERSION] = (struct slice){0};
    size_t old = audit_record_write(&r, bytes);
    assert_int_equal(len, old + 1 + strlen("policy_version"));
    for (size_t cut = 0; cut < len; cut++)
        if (cut != old)
            assert_false(audit_record_read(slice_of(bytes, cut), &back));
    bytes[len] = 0;
    assert_false(audit_record_read(slice_of(bytes, len + 1), &back));
    /* As it was before policies had versions: nothing at all stands for the one that there is not. */
    assert_true(audit_record_read(slice_of(bytes, old), &back));
    assert_int_equal(back.text[AUDIT_POLICY_VERSION].len, 0);
    assert_true(slice_is(back.text[AUDIT_CLASS], "class"));
    bytes[old] = 0;
    assert_false(audit_record_read(slice_of(bytes, old + 1), &back));
}

/* One record, one text: numbers in more bytes than needed are not read. */
static void test_only_canonical(void **state) {
    (void)state;
    struct audit_record r = {.kind = AUDIT_KIND_EVENT}, back;
    char bytes[256], longer[256];
    size_t len = audit_record_write(&r, bytes);
    assert_true(audit_record_read(slice_of(bytes, len), &back));
    longer[0] = (char)0x83;
    longer[1] = 0;
    memcpy(longer + 2, bytes + 1, len - 1);
    assert_false(audit_record_read(slice_of(longer, len + 1), &back));
    bytes[0] = 4;
    assert_false(audit_record_read(slice_of(bytes, len), &back));
    memset(bytes + 1, 0xff, 10);
    bytes[0] = 1;
    assert_false(audit_record_read(slice_of(bytes, sizeof(bytes)), &back));
}

/* A plain block of calls that differ here and there, of all three kinds. */
static size_t plain_block(char *to, int records) {
    size_t len = 0;
    for (int i = 0; i < records; i++) {
        char number[32], wide[400];
        snprintf(number, sizeof(number), "%d", i);
        memset(wide, 'a' + i % 3, sizeof(wide));
        struct audit_record r = i % 7 == 3 ? (struct audit_record){.kind = AUDIT_KIND_EVENT}
                                : i % 2    ? (struct audit_record){.kind = AUDIT_KIND_OUTCOME}
                                           : sample();
        r.number[AUDIT_CALL] = (uint64_t)i * 1000;
        r.text[AUDIT_TEXT] = slice_of(wide, (size_t)(i % 5) * 100);
        if (i % 12 < 5) /* also the last text comes and goes */
            r.text[AUDIT_POLICY_VERSION] = (struct slice){0};
        if (i % 4 == 0)
            r.text[AUDIT_TOOL] = slice_str(number);
        char *frame = to + len;
        audit_record_fit(&r);
        size_t n = audit_record_write(&r, frame + SEGMENT_FRAME_HEAD);
        unsigned char hash[CHAIN_HASH];
        memset(hash, i, sizeof(hash));
        audit_segment_frame_head(frame, n, hash);
        len += SEGMENT_FRAME_HEAD + n;
    }
    return len;
}

static size_t frames_of(struct slice body, struct slice *ret_rest) {
    struct segment_frame frame;
    size_t count = 0;
    for (*ret_rest = body; audit_segment_frame_next(ret_rest, &frame);)
        count++;
    return count;
}

static size_t pack_all(struct slice frames, char *to) {
    struct pack pack;
    struct segment_frame frame;
    audit_pack_begin(&pack, to);
    while (audit_segment_frame_next(&frames, &frame))
        audit_pack_add(&pack, frame.tag, frame.bytes);
    assert_int_equal(frames.len, 0);
    return audit_pack_body(&pack).len;
}

/* What a block is packed into is smaller, and becomes the same block again; a plain one stays as it is. */
static void test_pack(void **state) {
    (void)state;
    char *plain = mem_alloc(200000), *packed = mem_alloc(200000 + PACK_MARK), *room = NULL;
    size_t len = plain_block(plain, 200), small = pack_all(slice_of(plain, len), packed);
    assert_in_range(small, 200, len - 200);
    struct slice again = audit_unpack(slice_of(packed, small), &room);
    assert_true(slice_eq(again, slice_of(plain, len)));
    char *none = NULL;
    assert_ptr_equal(audit_unpack(slice_of(plain, len), &none).ptr, plain);
    assert_null(none);
    /* Cut off anywhere: what came before is there, and the rest is no frame. */
    struct slice rest;
    for (size_t cut = PACK_MARK + 1; cut < small; cut += 13) {
        struct slice part = audit_unpack(slice_of(packed, cut), &room);
        size_t frames = frames_of(part, &rest);
        assert_true(frames < 200);
        assert_memory_equal(part.ptr, plain, part.len - rest.len);
    }
    /* A mask with a bit that no text has. */
    packed[PACK_MARK + SEGMENT_TAG + 2] = (char)0x80;
    assert_int_equal(frames_of(audit_unpack(slice_of(packed, small), &room), &rest), 0);
    assert_true(rest.len > 0);
    free(room);
    free(packed);
    free(plain);
}

/* Blocks of records without the texts that came later are those that were written before. */
static void test_pack_old(void **state) {
    (void)state;
    char plain[4096], packed[4096], *room = NULL;
    unsigned char hash[CHAIN_HASH] = {0};
    size_t len = 0;
    for (int i = 0; i < 3; i++) {
        struct audit_record r = sample();
        r.text[AUDIT_POLICY_VERSION] = (struct slice){0};
        size_t n = audit_record_write(&r, plain + len + SEGMENT_FRAME_HEAD);
        audit_segment_frame_head(plain + len, n, hash);
        len += SEGMENT_FRAME_HEAD + n;
    }
    size_t small = pack_all(slice_of(plain, len), packed);
    assert_memory_equal(packed + PACK_MARK + SEGMENT_TAG, "\0\0\0", 3); /* all are written out */
    size_t front = PACK_MARK + SEGMENT_TAG + 3 + (len / 3 - SEGMENT_FRAME_HEAD);
    assert_memory_equal(packed + front + SEGMENT_TAG, "\xff\xff\x3f", 3); /* 22 as before, no 23rd bit */
    assert_true(slice_eq(audit_unpack(slice_of(packed, small), &room), slice_of(plain, len)));
    free(room);
}

/* A small body cannot be made to fill more than one block's room. */
static void test_pack_bomb(void **state) {
    (void)state;
    char *plain = mem_alloc(300000), *packed = mem_alloc(8u << 20), *room = NULL;
    char *wide = mem_alloc(AUDIT_ARGS_MAX);
    memset(wide, 'x', AUDIT_ARGS_MAX);
    struct audit_record r = {.kind = AUDIT_KIND_OUTCOME};
    r.text[AUDIT_ARGS] = slice_of(wide, AUDIT_ARGS_MAX);
    size_t len = 0;
    unsigned char hash[CHAIN_HASH] = {0};
    for (int i = 0; i < 2; i++) {
        size_t n = audit_record_write(&r, plain + len + SEGMENT_FRAME_HEAD);
        audit_segment_frame_head(plain + len, n, hash);
        len += SEGMENT_FRAME_HEAD + n;
    }
    size_t one = pack_all(slice_of(plain, len / 2), packed), two = pack_all(slice_of(plain, len), packed);
    size_t small = two - one, all = two;
    assert_true(small < 40);
    for (; all < two + 1000 * small; all += small)
        memcpy(packed + all, packed + one, small);
    struct slice rest, body = audit_unpack(slice_of(packed, all), &room);
    assert_true(body.len <= AUDIT_BLOCK_BYTES + SEGMENT_FRAME_HEAD);
    assert_int_equal(frames_of(body, &rest), AUDIT_BLOCK_BYTES / (len / 2));
    assert_true(rest.len > 0);
    free(wide);
    free(room);
    free(packed);
    free(plain);
}

static void test_long_texts_are_cut_at_a_character(void **state) {
    (void)state;
    char *text = mem_zalloc(AUDIT_ARGS_MAX * 2);
    for (size_t i = 0; i + 3 <= AUDIT_ARGS_MAX * 2; i += 3)
        memcpy(text + i, "\xe2\x82\xac", 3);
    struct audit_record r = {.kind = AUDIT_KIND_DECISION};
    for (size_t i = 0; i < AUDIT_TEXTS; i++)
        r.text[i] = slice_of(text, AUDIT_ARGS_MAX * 2 - 2);
    r.number[AUDIT_CALL] = UINT64_MAX;
    assert_true(audit_record_fit(&r) <= AUDIT_RECORD_MAX);
    assert_true(r.number[AUDIT_CALL] == INT64_MAX);
    for (size_t i = 0; i < AUDIT_TEXTS; i++) {
        assert_true(r.text[i].len > AUDIT_FIELD_MAX - 4);
        assert_true(tape_utf8_valid(r.text[i]));
    }
    free(text);
}

static void test_ring(void **state) {
    (void)state;
    char dir[] = "/tmp/sallyport-ring-XXXXXX";
    struct ring ring, other;
    struct err err = {0};
    assert_non_null(mkdtemp(dir));
    assert_int_equal(audit_ring_create(&ring, dir, "abcdef01", &err), 0);
    assert_int_equal(audit_ring_adopt(&other, ring.path), 0); /* its owner lives */
    unsigned seed = 5;
    uint64_t put = 0, got = 0, refused = 0, at = 0;
    for (int round = 0; round < 40000; round++) {
        seed = seed * 1103515245u + 12345u;
        size_t len = 9 + (seed >> 8) % 9000;
        char *to = audit_ring_reserve(&ring, len, 1000);
        if (to) {
            memcpy(to, &put, sizeof(put));
            memset(to + sizeof(put), (int)put, len - sizeof(put));
            audit_ring_publish(&ring, len);
            put++;
        }
        refused += !to;
        if (to && round % 1500)
            continue;
        struct slice bytes;
        at = atomic_load(&ring.head->tail);
        while (audit_ring_next(&ring, &at, &bytes) == RING_FRAME) {
            uint64_t number;
            memcpy(&number, bytes.ptr, sizeof(number));
            assert_true(number == got++);
            assert_int_equal((unsigned char)bytes.ptr[bytes.len - 1], (unsigned char)number);
            if (seed % 3 == 0 && got % 500 == 0)
                break;
        }
        audit_ring_release(&ring, at);
    }
    assert_true(refused > 0);
    assert_true(put - got < 3000);
    char *path = mem_dup(ring.path, strlen(ring.path));
    audit_ring_close(&ring);
    assert_int_equal(audit_ring_adopt(&other, path), 1);
    assert_memory_equal(other.head->instance, "abcdef01", 8);
    struct slice bytes;
    at = atomic_load(&other.head->tail);
    while (audit_ring_next(&other, &at, &bytes) == RING_FRAME)
        got++;
    assert_true(got == put);
    audit_ring_remove(&other);
    free(path);
    assert_int_equal(rmdir(dir), 0);
}

#define POWER_RECORD 5000 /* some thousand of them go around the ring more than once */

/* Puts numbered records and releases all but the last `keep`; the position behind the released ones. */
static uint64_t fill_ring(struct ring *ring, uint64_t count, uint64_t keep) {
    uint64_t released = 0;
    for (uint64_t i = 0; i < count; i++) {
        char *to = audit_ring_reserve(ring, POWER_RECORD, 0);
        assert_non_null(to);
        memset(to, 0, POWER_RECORD);
        memcpy(to, &i, sizeof(i));
        uint64_t end = audit_ring_publish(ring, POWER_RECORD);
        if (i + keep + 1 == count)
            released = end;
        else if (i + keep + 1 < count)
            audit_ring_release(ring, end);
    }
    return released;
}

static uint64_t count_frames(const struct ring *ring, uint64_t first) {
    uint64_t at = atomic_load(&ring->head->tail), number, count = 0;
    for (struct slice bytes; audit_ring_next(ring, &at, &bytes) == RING_FRAME; count++) {
        memcpy(&number, bytes.ptr, sizeof(number));
        assert_true(number == first + count);
    }
    return count;
}

/* Everything between two positions, as often as it takes. */
static void write_to_disk(struct disk *disk, const struct ring *ring, uint64_t from, uint64_t upto) {
    struct err err = {0};
    uint64_t times;
    while (from < upto) {
        assert_int_equal(audit_disk_end(disk, &err), DISK_NONE);
        assert_int_equal(audit_disk_begin(disk, ring, from, upto, &err), 0);
        assert_int_equal(read(disk->event, &times, sizeof(times)), sizeof(times));
        assert_int_equal(audit_disk_end(disk, &err), DISK_DONE);
        assert_true(disk->upto > from && disk->upto <= upto);
        from = disk->upto;
    }
}

/* After a crash of the machine the head of the ring may be of another moment than its frames, and what was
 * only in memory is gone. */
static void test_ring_after_power_loss(void **state) {
    (void)state;
    enum { RECORDS = 4000, KEPT = 40 };
    const struct {
        bool old_head, lost, torn;
        uint64_t found;
    } cases[] = {
        {false, false, false, KEPT},   /* only the process died */
        {true, false, false, KEPT},    /* the frames are newer than the head */
        {true, true, false, KEPT},     /* they are on disk only */
        {false, true, false, KEPT},    /* and the head is newer */
        {false, true, true, KEPT - 1}, /* the last one is not whole */
        {true, true, true, KEPT - 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char dir[] = "/tmp/sallyport-ring-XXXXXX";
        struct ring ring, other;
        struct disk disk;
        struct err err = {0};
        int event = eventfd(0, EFD_CLOEXEC);
        assert_non_null(mkdtemp(dir));
        assert_int_equal(audit_ring_create(&ring, dir, "abcdef01", &err), 0);
        assert_int_equal(audit_disk_open(&disk, &ring, dir, event, &err), 0);
        uint64_t released = fill_ring(&ring, RECORDS, KEPT), end = atomic_load(&ring.head->end);
        write_to_disk(&disk, &ring, released, end);
        audit_disk_close(&disk);
        close(event);
        if (cases[i].lost)
            memset(ring.data, 0, AUDIT_RING_BYTES);
        if (cases[i].old_head) {
            atomic_store(&ring.head->tail, 0);
            atomic_store(&ring.head->end, 0);
        }
        ring.head->layout = 3 + i % 2; /* the program may have been replaced meanwhile */
        char *path = mem_dup(ring.path, strlen(ring.path));
        audit_ring_close(&ring);
        assert_int_equal(audit_ring_adopt(&other, path), RING_ADOPTED);
        if (cases[i].torn)
            other.data[AUDIT_RING_BYTES + (end - 200) % AUDIT_RING_BYTES] ^= 1;
        assert_int_equal(audit_ring_resume(&other, released), !cases[i].torn || cases[i].old_head);
        assert_true(count_frames(&other, RECORDS - KEPT) == cases[i].found);
        audit_ring_remove(&other);
        free(path);
        assert_int_equal(rmdir(dir), 0);
    }
}

/* An empty ring takes a record wherever it stands. */
static void test_ring_empty_is_never_full(void **state) {
    (void)state;
    char dir[] = "/tmp/sallyport-ring-XXXXXX";
    struct ring ring;
    struct err err = {0};
    assert_non_null(mkdtemp(dir));
    assert_int_equal(audit_ring_create(&ring, dir, "abcdef01", &err), 0);
    for (int i = 0; i < 3000; i++) {
        size_t batch = 1 + (size_t)i % 7;
        for (size_t k = 0; k < batch; k++) {
            assert_non_null(audit_ring_reserve(&ring, 700 * k + 10, AUDIT_RING_BYTES / 8));
            audit_ring_publish(&ring, 700 * k + 10);
        }
        audit_ring_release(&ring, atomic_load(&ring.head->end));
    }
    audit_ring_remove(&ring);
    assert_int_equal(rmdir(dir), 0);
}

static void test_head_grammar(void **state) {
    (void)state;
    struct chain_point p;
    const char *bad[] = {"", "{}", "[1]", "{\"log\":1}", "{\"log\":\"00\",\"seq\":1}"};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(audit_chain_head_parse(slice_str(bad[i]), &p, NULL), -1);
}

static void expect_no_controls(const struct buf *out) {
    assert_null(memchr(out->ptr, 0x1b, out->len));
    assert_null(memchr(out->ptr, 0x7f, out->len));
    assert_null(memchr(out->ptr, 0x9b, out->len));
    assert_non_null(memmem(out->ptr, out->len, "\xc3\xa9", 2));
}

static void test_formats_cannot_be_broken_out_of(void **state) {
    (void)state;
    struct audit_record r = {.kind = AUDIT_KIND_DECISION};
    r.text[AUDIT_TOOL] = SLICE("a|b\\c\n=x");
    r.text[AUDIT_RULE] = SLICE("=HYPERLINK(\"http://x\")");
    r.text[AUDIT_TEXT] = SLICE("line\nact=allow \x1b[2J\xc2\x9b \u200b\u202e\x7f\xc3\xa9");
    r.text[AUDIT_ARGS] = SLICE("{\"a\":1,");
    r.text[AUDIT_ARGS_MODE] = SLICE("full");
    struct audit_entry e = {.seq = 3, .record = &r};
    cleanup_buf struct buf out;
    buf_init(&out, 65536);
    audit_format_cef(&out, &e);
    buf_put_char(&out, '\0');
    assert_non_null(strstr(out.ptr, "|a\\|b\\\\c =x|2|rt="));
    assert_non_null(strstr(out.ptr, "msg=line\\nact\\=allow"));
    assert_ptr_equal(strchr(out.ptr, '\n'), out.ptr + out.len - 2);
    expect_no_controls(&out);
    buf_reset(&out);
    audit_format_csv(&out, &e);
    buf_put_char(&out, '\0');
    assert_non_null(strstr(out.ptr, ",\"'=HYPERLINK(\"\"http://x\"\")\","));
    assert_ptr_equal(strchr(out.ptr, '\n'), out.ptr + out.len - 2);
    expect_no_controls(&out);
    buf_reset(&out);
    audit_format_line(&out, &e);
    expect_no_controls(&out);
    buf_put_char(&out, '\0');
    assert_non_null(strstr(out.ptr, "line act=allow <U+001B>[2J<U+009B> <U+200B><U+202E>"));
    buf_reset(&out);
    buf_put_char(&out, '\x7f'); /* of another writer */
    audit_format_json(&out, &e);
    assert_int_equal(out.ptr[0], 0x7f);
    out.ptr[0] = ' ';
    expect_no_controls(&out);
    cleanup_tape struct tape t;
    tape_init(&t);
    assert_int_equal(tape_parse(&t, buf_slice(&out), NULL), TAPE_OK);
    assert_true(tape_eq(&t, tape_get_str(&t, 0, "args"), SLICE("{\"a\":1,"))); /* cut: shown as text */
    assert_true(tape_eq(&t, tape_get_str(&t, 0, "text"), r.text[AUDIT_TEXT]));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_only_canonical),
        cmocka_unit_test(test_pack),
        cmocka_unit_test(test_pack_old),
        cmocka_unit_test(test_pack_bomb),
        cmocka_unit_test(test_long_texts_are_cut_at_a_character),
        cmocka_unit_test(test_ring),
        cmocka_unit_test(test_ring_after_power_loss),
        cmocka_unit_test(test_ring_empty_is_never_full),
        cmocka_unit_test(test_head_grammar),
        cmocka_unit_test(test_formats_cannot_be_broken_out_of),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
