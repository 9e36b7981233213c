#include "code/resource.h"

#include "base/mem.h"
#include "code/code_reply.h"
#include "code/contents.h"
#include "code/sdk.h"
#include "code/skill.h"
#include "code/workspace.h"

#include <stdio.h>

#define FILE_SCHEME "workspace:///"
#define SKILL_SCHEME "skill://"

/* ---- URIs ---- */

struct slice resource_file_uri(struct slice path, struct arena *a) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    char *text = arena_alloc(a, sizeof(FILE_SCHEME) + 3 * path.len + 1);
    size_t len = sizeof(FILE_SCHEME) - 1;
    memcpy(text, FILE_SCHEME, len);
    for (size_t i = 0; i < path.len; i++) {
        if (path.ptr[i] && strchr(plain, path.ptr[i]))
            text[len++] = path.ptr[i];
        else
            len += (size_t)snprintf(text + len, 4, "%%%02X", (unsigned char)path.ptr[i]);
    }
    return slice_of(text, len);
}

/* ---- lists ---- */

static void put_entry(struct emit *e, struct slice uri, struct slice name, struct slice about,
                      const char *mime, int64_t size) {
    emit_object(e);
    emit_key(e, "uri");
    emit_str(e, uri);
    emit_key(e, "name");
    emit_str(e, name);
    if (about.len) {
        emit_key(e, "description");
        emit_str(e, about);
    }
    emit_key(e, "mimeType");
    emit_cstr(e, mime);
    if (size >= 0) {
        emit_key(e, "size");
        emit_int(e, size);
    }
    emit_object_end(e);
}

/* A cursor is the number of entries that were returned before. False: answered. */
static bool page_start(struct code_req *r, uint64_t *ret_from) {
    uint32_t cursor = rpc_param(&r->tape, &r->rpc, "cursor");
    *ret_from = 0;
    if (!cursor)
        return true;
    if (tape_is(&r->tape, cursor, TAPE_STRING) &&
        slice_to_u64(tape_text(&r->tape, cursor, &r->arena), ret_from))
        return true;
    code_reply_error(r, RPC_INVALID_PARAMS, "Invalid cursor");
    return false;
}

static void page_end(struct buf *out, uint64_t from, uint64_t count) {
    if (count > from + CODE_PAGE)
        buf_printf(out, ",\"nextCursor\":\"%llu\"", (unsigned long long)(from + CODE_PAGE));
}

static bool on_page(uint64_t i, uint64_t from) { return i >= from && i < from + CODE_PAGE; }

/* The skills of the principal, then the shared ones that none of the same name hides. */
static void all_skills(struct code_req *r, struct skill_list *ret_list) {
    const struct code_server *s = r->conn->server;
    struct skill_list own = {0}, shared = {0};
    skill_all(r->owner->skills_fd, &r->arena, &own);
    if (s->shared_skills_fd >= 0)
        skill_all(s->shared_skills_fd, &r->arena, &shared);
    *ret_list =
        (struct skill_list){.skills = arena_array(&r->arena, struct skill, own.count + shared.count + 1)};
    for (size_t i = 0; i < own.count; i++)
        ret_list->skills[ret_list->count++] = own.skills[i];
    for (size_t i = 0; i < shared.count; i++) {
        bool hidden = false;
        for (size_t k = 0; k < own.count; k++)
            hidden = hidden || slice_eq(own.skills[k].name, shared.skills[i].name);
        if (!hidden)
            ret_list->skills[ret_list->count++] = shared.skills[i];
    }
}

static struct slice skill_uri(struct code_req *r, const struct skill *s) {
    return arena_printf(&r->arena, SKILL_SCHEME "%.*s/SKILL.md", SLICE_FMT(skill_kebab(s->name, &r->arena)));
}

void resource_list(struct code_req *r) {
    const struct code_face *face = r->conn->server->face;
    uint64_t from, at = 0;
    if (!page_start(r, &from))
        return;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    buf_put_str(&out, "\"resources\":");
    emit_init(&e, &out);
    emit_array(&e);
    struct workspace_list files = {0};
    struct skill_list skills = {0};
    if (face->files) {
        workspace_list(r->owner->workspace_fd, (struct slice){0}, &r->arena, &files);
        all_skills(r, &skills);
    }
    for (size_t i = 0; i < files.count; i++, at++)
        if (on_page(at, from))
            put_entry(&e, resource_file_uri(files.files[i].path, &r->arena), files.files[i].path,
                      (struct slice){0}, workspace_mime(files.files[i].path), (int64_t)files.files[i].size);
    for (size_t i = 0; i < skills.count; i++, at++)
        if (on_page(at, from))
            put_entry(&e, skill_uri(r, &skills.skills[i]), skill_kebab(skills.skills[i].name, &r->arena),
                      skills.skills[i].description, "text/markdown", -1);
    if (face->files && !from)
        sdk_put_root(&e);
    if (face->list_resources)
        face->list_resources(r, &e);
    emit_array_end(&e);
    page_end(&out, from, at);
    code_reply_cached(r, buf_slice(&out));
}

void resource_templates(struct code_req *r) {
    const struct code_face *face = r->conn->server->face;
    cleanup_buf struct buf out;
    buf_init(&out, CODE_TEXT_RESULT_MAX);
    struct emit e;
    buf_put_str(&out, "\"resourceTemplates\":");
    emit_init(&e, &out);
    emit_array(&e);
    if (face->files)
        emit_raw(&e, SLICE("{\"uriTemplate\":\"" FILE_SCHEME
                           "{+path}\",\"name\":\"workspace file\",\"description\":\"A "
                           "file that was left in the workspace\"}"));
    if (face->files)
        sdk_put_templates(&e);
    if (face->list_templates)
        face->list_templates(r, &e);
    emit_array_end(&e);
    code_reply_cached(r, buf_slice(&out));
}

/* ---- reading ---- */

static void read_workspace(struct code_req *r, struct slice uri) {
    struct slice path = contents_decode(slice_from(uri, sizeof(FILE_SCHEME) - 1), &r->arena);
    cleanup_buf struct buf bytes;
    buf_init(&bytes, CODE_FILE_BYTES_MAX + BUFSIZ);
    enum workspace_result result = workspace_read(r->owner->workspace_fd, path, CODE_FILE_BYTES_MAX, &bytes);
    if (result == WORKSPACE_TOO_LARGE)
        code_reply_error(r, RPC_INTERNAL, "the resource is too large");
    else if (result != WORKSPACE_OK)
        contents_not_found(r);
    else
        contents_reply(r, uri, workspace_mime(path), buf_slice(&bytes), tape_utf8_valid(buf_slice(&bytes)));
}

/* The skill that a URI names, and the file in it. */
static bool find_skill(struct code_req *r, struct slice uri, struct skill *ret_skill,
                       struct slice *ret_file) {
    if (!slice_starts(uri, SLICE(SKILL_SCHEME)))
        return false;
    struct slice file = slice_from(uri, sizeof(SKILL_SCHEME) - 1), name;
    slice_cut(&file, '/', &name);
    struct skill_list all;
    all_skills(r, &all);
    for (size_t i = 0; i < all.count; i++) {
        if (!slice_eq(skill_kebab(all.skills[i].name, &r->arena), name))
            continue;
        *ret_skill = all.skills[i];
        *ret_file = file;
        return true;
    }
    return false;
}

static struct slice code_file(struct code_req *r, const struct skill *s) {
    const char *ending = slice_is(s->language, "python")       ? "py"
                         : slice_is(s->language, "typescript") ? "ts"
                                                               : "js";
    return arena_printf(&r->arena, "%.*s.%s", SLICE_FMT(s->name), ending);
}

static void read_skill(struct code_req *r, struct slice uri) {
    struct skill s;
    struct slice file;
    if (!find_skill(r, uri, &s, &file))
        contents_not_found(r);
    else if (slice_is(file, "SKILL.md"))
        contents_reply(r, uri, "text/markdown", skill_to_md(&s, &r->arena), true);
    else if (slice_eq(file, code_file(r, &s)))
        contents_reply(r, uri, workspace_mime(file), s.code, true);
    else
        contents_not_found(r);
}

void resource_read(struct code_req *r) {
    const struct code_face *face = r->conn->server->face;
    struct slice uri = contents_uri(r);
    if (face->read_resource && face->read_resource(r, uri))
        return;
    if (face->files && sdk_read(r, uri))
        return;
    if (face->files && slice_starts(uri, SLICE(FILE_SCHEME)))
        read_workspace(r, uri);
    else if (face->files && slice_starts(uri, SLICE(SKILL_SCHEME)))
        read_skill(r, uri);
    else
        contents_not_found(r);
}

/* ---- skills ---- */

static void put_file(struct code_req *r, struct emit *e, struct slice uri, struct slice text) {
    emit_object(e);
    emit_key(e, "uri");
    emit_str(e, uri);
    emit_key(e, "digest");
    emit_str(e, arena_printf(&r->arena, "sha256:%.*s", SLICE_FMT(skill_hash("SHA256", text, &r->arena))));
    emit_key(e, "size");
    emit_int(e, (int64_t)text.len);
    emit_object_end(e);
}

static void put_skill(struct code_req *r, struct emit *e, const struct skill *s) {
    struct slice kebab = skill_kebab(s->name, &r->arena);
    emit_object(e);
    emit_key(e, "uri");
    emit_str(e, skill_uri(r, s));
    emit_key(e, "frontmatter");
    emit_object(e);
    emit_key(e, "name");
    emit_str(e, kebab);
    emit_key(e, "description");
    emit_str(e, s->description.len ? s->description : s->name);
    emit_key(e, "metadata");
    emit_object(e);
    emit_key(e, "module");
    emit_str(e, s->name);
    emit_key(e, "language");
    emit_str(e, s->language);
    emit_key(e, "version");
    emit_str(e, arena_u64(&r->arena, (uint64_t)s->version));
    emit_object_end(e);
    emit_object_end(e);
    emit_key(e, "resources");
    emit_array(e);
    put_file(r, e, skill_uri(r, s), skill_to_md(s, &r->arena));
    put_file(r, e,
             arena_printf(&r->arena, SKILL_SCHEME "%.*s/%.*s", SLICE_FMT(kebab), SLICE_FMT(code_file(r, s))),
             s->code);
    emit_array_end(e);
    emit_object_end(e);
}

static bool has_skills(struct code_req *r) {
    if (r->conn->server->face->files)
        return true;
    code_reply_error(r, RPC_METHOD_NOT_FOUND, "Method not found");
    return false;
}

void resource_skills(struct code_req *r) {
    uint64_t from;
    if (!has_skills(r) || !page_start(r, &from))
        return;
    struct skill_list all;
    all_skills(r, &all);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    buf_put_str(&out, "\"skills\":");
    emit_init(&e, &out);
    emit_array(&e);
    for (size_t i = 0; i < all.count; i++)
        if (on_page(i, from))
            put_skill(r, &e, &all.skills[i]);
    emit_array_end(&e);
    page_end(&out, from, all.count);
    code_reply_cached(r, buf_slice(&out));
}

void resource_skill(struct code_req *r) {
    struct skill s;
    struct slice file;
    if (!has_skills(r))
        return;
    if (!find_skill(r, contents_uri(r), &s, &file) || !slice_is(file, "SKILL.md")) {
        code_reply_error(r, RPC_INVALID_PARAMS, "Unknown skill");
        return;
    }
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    buf_put_str(&out, "\"skill\":");
    emit_init(&e, &out);
    put_skill(r, &e, &s);
    code_reply_cached(r, buf_slice(&out));
}

void resource_directory(struct code_req *r) {
    struct skill s;
    struct slice file, uri = contents_uri(r);
    if (!has_skills(r))
        return;
    if (!find_skill(r, uri, &s, &file) || file.len) {
        contents_not_found(r);
        return;
    }
    struct slice base = slice_ends(uri, SLICE("/")) ? uri : arena_printf(&r->arena, "%.*s/", SLICE_FMT(uri));
    struct slice name = code_file(r, &s);
    cleanup_buf struct buf out;
    buf_init(&out, CODE_ANSWER_MAX);
    struct emit e;
    buf_put_str(&out, "\"resources\":");
    emit_init(&e, &out);
    emit_array(&e);
    put_entry(&e, arena_printf(&r->arena, "%.*sSKILL.md", SLICE_FMT(base)), SLICE("SKILL.md"), s.description,
              "text/markdown", (int64_t)skill_to_md(&s, &r->arena).len);
    put_entry(&e, arena_printf(&r->arena, "%.*s%.*s", SLICE_FMT(base), SLICE_FMT(name)), name,
              (struct slice){0}, workspace_mime(name), (int64_t)s.code.len);
    emit_array_end(&e);
    code_reply_cached(r, buf_slice(&out));
}

/* ---- prompts ---- */

/* False if an argument is missing: answered. */
static bool fill_in(struct code_req *r, const char *text, uint32_t args, struct buf *out) {
    const char *at = text, *mark;
    while ((mark = strstr(at, "${"))) {
        const char *end = strchr(mark, '}');
        buf_put(out, at, (size_t)(mark - at));
        struct slice key = slice_of(mark + 2, (size_t)(end - mark - 2));
        uint32_t node = args ? tape_get(&r->tape, args, key) : 0;
        if (!node || !tape_is(&r->tape, node, TAPE_STRING)) {
            code_reply_error(r, RPC_INVALID_PARAMS,
                             arena_printf(&r->arena, "Missing argument: %.*s", SLICE_FMT(key)).ptr);
            return false;
        }
        buf_put_slice(out, tape_text(&r->tape, node, &r->arena));
        at = end + 1;
    }
    buf_put_str(out, at);
    return true;
}

void resource_prompt(struct code_req *r) {
    const struct code_face *face = r->conn->server->face;
    uint32_t name = rpc_param(&r->tape, &r->rpc, "name");
    uint32_t args = rpc_param(&r->tape, &r->rpc, "arguments");
    const struct code_prompt *prompt = NULL;
    for (size_t i = 0; name && i < face->prompt_count; i++)
        if (tape_eq(&r->tape, name, slice_str(face->prompts[i].name)))
            prompt = &face->prompts[i];
    if (!prompt) {
        code_reply_error(r, RPC_INVALID_PARAMS, "Unknown prompt");
        return;
    }
    cleanup_buf struct buf text, out;
    buf_init(&text, CODE_ANSWER_MAX / 8);
    buf_init(&out, CODE_ANSWER_MAX);
    if (!fill_in(r, prompt->text, args, &text))
        return;
    buf_put_str(&out, "\"description\":");
    emit_quote(&out, slice_str(prompt->description));
    buf_put_str(&out, ",\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":");
    emit_quote(&out, buf_slice(&text));
    buf_put_str(&out, "}}]");
    code_reply(r, buf_slice(&out));
}
