/* What links report, passed on to whom it concerns: calls, requests of the gate's own, channels, the log. */
#pragma once

#include "upstream/link.h"

extern const struct link_events report_events;
