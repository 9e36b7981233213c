/* The credentials that the gate sends to a server besides its fixed headers. */
#pragma once

struct settings_server;
struct up_server;

/* Collected from the files, programs and login configured for the server. `settings` (may be NULL) and
 * `home` must outlive the server. */
void front_credentials(struct up_server *server, const struct settings_server *settings, const char *home);
