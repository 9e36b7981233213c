/* Skills: names, versions, hashes, and the way to a SKILL.md and back. */
#include "code/skill.h"

#include "base/mem.h"
#include "code/limits.h"
#include "code/workspace.h"

#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>

#include <cmocka.h>

static char place[] = "/tmp/sallyport-skill-XXXXXX";
static int fd;
static struct arena a;

static int make_place(void **state) {
    (void)state;
    arena_init(&a);
    return mkdtemp(place) && (fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) >= 0 ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at) {
    (void)st, (void)type, (void)at;
    return remove(path);
}

static int remove_place(void **state) {
    (void)state;
    arena_free(&a);
    close(fd);
    return nftw(place, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static enum skill_result save(const char *name, const char *code, const char *language) {
    struct skill s = {.name = slice_str(name),
                      .code = slice_str(code),
                      .description = SLICE("what it does"),
                      .language = slice_str(language)};
    return skill_save(fd, &s, &a);
}

static void names_are_identifiers(void **state) {
    (void)state;
    static const char *const good[] = {"valid_name", "_x", "A9"};
    static const char *const bad[] = {"invalid-name", "with space", "at@", "9lives", "",
                                      "../../../x",   "a.b",        "ä"};
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        assert_int_equal(save(good[i], "x = 1", "python"), SKILL_OK);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct skill s;
        assert_int_equal(save(bad[i], "x = 1", "python"), SKILL_BAD_NAME);
        assert_int_equal(skill_load(fd, slice_str(bad[i]), 0, &a, &s), SKILL_BAD_NAME);
    }
}

static void versions_are_kept(void **state) {
    (void)state;
    struct skill s;
    char code[32];
    for (int i = 1; i <= CODE_SKILL_VERSIONS_MAX + 3; i++) {
        snprintf(code, sizeof(code), "version = %d", i);
        assert_int_equal(save("grows", code, "python"), SKILL_OK);
    }
    assert_int_equal(skill_load(fd, SLICE("grows"), 0, &a, &s), SKILL_OK);
    assert_int_equal(s.version, CODE_SKILL_VERSIONS_MAX + 3);
    assert_true(slice_eq(s.hash, skill_hash("SHA256", s.code, &a)));
    assert_int_equal(skill_load(fd, SLICE("grows"), 7, &a, &s), SKILL_OK);
    assert_true(slice_is(s.code, "version = 7"));
    assert_int_equal(skill_load(fd, SLICE("grows"), 1, &a, &s), SKILL_NOT_FOUND); /* too long ago */
    assert_int_equal(save("grows", "export const v = 1", "typescript"), SKILL_OK);
    assert_int_equal(skill_load(fd, SLICE("grows"), 0, &a, &s), SKILL_OK);
    assert_true(slice_is(s.language, "typescript"));
    struct skill_list all;
    assert_int_equal(skill_all(fd, &a, &all), SKILL_OK);
    size_t found = 0;
    for (size_t i = 0; i < all.count; i++)
        found += slice_is(all.skills[i].name, "grows");
    assert_int_equal(found, 1);
}

static void a_skill_md_comes_back_as_it_went(void **state) {
    (void)state;
    static const char *const codes[] = {"def f(x):\n    return x\n", "s = '''\n```python\nx\n```\n'''\n",
                                        "x = 1", "print(\"---\")\n---1\n"};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct skill s = {.name = SLICE("My_Skill"),
                          .description = SLICE("says \"this\": and # that"),
                          .language = SLICE("python"),
                          .code = slice_str(codes[i]),
                          .version = 3};
        struct skill back;
        struct err err;
        struct slice md = skill_to_md(&s, &a);
        assert_int_equal(skill_from_md(md, &a, &back, &err), 0);
        assert_true(slice_eq(back.name, s.name));
        assert_true(slice_eq(back.description, s.description));
        assert_true(slice_eq(slice_trim(back.code), slice_trim(s.code)));
    }
    static const char *const broken[] = {"",
                                         "# no front matter",
                                         "---\nname: x\n",
                                         "---\ndescription: x\n---\n```py\n1\n```\n",
                                         "---\nname: x\n---\nno code\n",
                                         "---\nname: x\n---\n```cobol\n1\n```\n"};
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        struct skill back;
        struct err err;
        assert_int_equal(skill_from_md(slice_str(broken[i]), &a, &back, &err), -1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_identifiers),
        cmocka_unit_test(versions_are_kept),
        cmocka_unit_test(a_skill_md_comes_back_as_it_went),
    };
    return cmocka_run_group_tests(tests, make_place, remove_place);
}
