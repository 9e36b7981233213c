#include "channel/deliver.h"

#include "channel/await.h"
#include "privacy/redact.h"

bool deliver_message(struct channel *ch, struct call *call, const struct session_out *out) {
    struct session *s = ch->session;
    struct splice text = *out->text;
    struct session_out shown = *out;
    shown.text = &text;
    if (s->core->privacy && !redact_message(s, ch->server, out->msg, &text))
        return false;
    if (call) {
        await_touch(call);
        call->sink->ops->event(call->sink, &shown);
        return true;
    }
    return !s->stateless && s->front->deliver(s, &shown);
}
