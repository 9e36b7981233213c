/* What the gate shows to a server besides its fixed headers. */
#pragma once

struct settings_server;
struct up_server;

/* From the files, programs and the login that there are for it. `settings` (may be NULL) and `home` outlive
 * the server. */
void front_credentials(struct up_server *server, const struct settings_server *settings, const char *home);
