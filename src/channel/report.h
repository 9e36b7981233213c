/* Dispatches events of links to calls, own requests, channels and the log. */
#pragma once

#include "upstream/link.h"

extern const struct link_events report_events;
