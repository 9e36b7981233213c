#include "front/credentials.h"

#include "front/settings.h"
#include "upstream/link.h"
#include "upstream/login.h"

#include <unistd.h>

static bool names_authorization(const struct up_server *s) {
    for (size_t i = 0; i < s->header_count; i++)
        if (slice_eq_nocase(slice_upto(slice_str(s->headers[i]), 14), SLICE("authorization:")))
            return true;
    return false;
}

void front_credentials(struct up_server *server, const struct settings_server *settings, const char *home) {
    bool has_authorization = names_authorization(server);
    for (size_t i = 0; settings && i < settings->secret_count; i++) {
        const struct settings_secret *s = &settings->secrets[i];
        has_authorization |= slice_eq_nocase(slice_str(s->header), SLICE("authorization"));
        if (s->file)
            up_secret_file(server, s->header, s->prefix, s->file);
        else /* the user's own program, with the user's own environment */
            up_secret_command(server, s->header, s->prefix, s->command.items, (const char *const *)environ,
                              s->ttl_ms);
    }
    if (!has_authorization && server->url && home)
        up_login_secret(server, home);
}
