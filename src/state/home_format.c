#include "state/home_format.h"

#include "base/buf.h"
#include "base/mem.h"
#include "io/file.h"

#include <stdio.h>

#define HOME_MARK "sallyport home "
#define HOME_FILE_MAX (1u << 18)

static int home_read(const char *path, bool *ret_missing, struct err *err) {
    cleanup_buf struct buf text;
    uint64_t format;
    buf_init(&text, HOME_FILE_MAX);
    if (io_file_read(path, &text, ret_missing, err) < 0)
        return -1;
    struct slice line = slice_trim(buf_slice(&text));
    if (!line.len) { /* the power failed while an earlier version made it */
        *ret_missing = true;
        return -1;
    }
    if (!slice_starts(line, SLICE(HOME_MARK)) || !slice_to_u64(slice_from(line, strlen(HOME_MARK)), &format))
        return err_set(err, "`%s` is damaged: it does not hold a line `" HOME_MARK "N`", path);
    return format <= STATE_HOME_FORMAT
               ? 0
               : err_set(err,
                         "`%s`: a newer version of sallyport has used this home (format %llu; this one knows "
                         "%d): use that version, or another home",
                         path, (unsigned long long)format, STATE_HOME_FORMAT);
}

int state_home_format_check(const char *home, struct err *err) {
    cleanup_free char *path = NULL;
    bool missing = false;
    if (asprintf(&path, "%s/format", home) < 0)
        return err_set(err, "out of memory");
    return home_read(path, &missing, err) == 0 || missing ? 0 : -1;
}

int state_home_format_open(const char *home, struct err *err) {
    cleanup_free char *path = NULL;
    bool missing = false;
    char line[64];
    if (asprintf(&path, "%s/format", home) < 0)
        return err_set(err, "out of memory");
    if (home_read(path, &missing, err) == 0)
        return 0;
    if (!missing || io_make_dir(home, err) < 0)
        return -1;
    int len = snprintf(line, sizeof(line), HOME_MARK "%d\n", STATE_HOME_FORMAT);
    return io_file_replace(path, slice_of(line, (size_t)len), 0600, err);
}
