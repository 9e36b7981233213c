#include "code/code_req.h"

#include "base/check.h"
#include "base/mem.h"
#include "code/listing.h"

struct code_req *code_req_new(struct code_conn *c, struct slice bytes) {
    struct code_req *r = mem_zalloc(sizeof(*r));
    r->magic = CODE_REQ_MAGIC;
    r->conn = c;
    r->bytes = text_dup(bytes);
    arena_init(&r->arena);
    tape_init(&r->tape);
    list_push(&c->reqs, &r->node);
    c->req_count++;
    return r;
}

void code_req_free(struct code_req *r) {
    CHECK_MAGIC(r, CODE_REQ_MAGIC);
    if (r->inner_call.handle)
        r->conn->ops->drop_tool(r->conn->owner, &r->inner_call);
    listing_leave(&r->tools);
    list_remove(&r->node);
    list_remove(&r->wait);
    list_remove(&r->on_job);
    io_timer_stop(r->conn->server->config.loop, &r->timer);
    r->conn->req_count--;
    tape_free(&r->tape);
    arena_free(&r->arena);
    text_free(&r->bytes);
    r->magic = 0;
    free(r);
}

void code_req_send(const struct code_req *r, struct slice text) {
    r->conn->ops->send(r->conn->owner, r->about, text);
}
