#include "code/code_schema.h"

#include "base/buf.h"

static const char packages_member[] =
    "\"packages\":{\"type\":[\"array\",\"null\"],\"items\":{\"type\":\"string\"},\"maxItems\":64,"
    "\"description\":\"Installed packages that the code imports: pandas, pandas==2.2.0, zod, zod@3\"},";

void code_schema_put(const struct code_tool *tool, bool packages, struct buf *out) {
    static const char start[] = "\"properties\":{";
    const char *at = packages && tool->packages ? strstr(tool->input, start) : NULL;
    const size_t before = at ? (size_t)(at - tool->input) + strlen(start) : 0;
    buf_put(out, tool->input, before);
    if (at)
        buf_put_str(out, packages_member);
    buf_put_str(out, tool->input + before);
}
