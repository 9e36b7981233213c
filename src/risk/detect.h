/* Inside the room: what detect.c and poison.c share. */
#pragma once

#include "risk/poison.h"

void risk_finding_add(struct risk_findings *f, enum risk_detector d, struct slice where, struct slice text,
                      struct arena *a);
