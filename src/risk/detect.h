/* Inside the room: what detect.c and poison.c share. */
#pragma once

#include "risk/poison.h"

/* The detectors that count in a result. */
void risk_detect_result(struct slice text, struct slice where, struct arena *a, struct risk_findings *f);
void risk_finding_add(struct risk_findings *f, enum risk_detector d, struct slice where, struct slice text,
                      struct arena *a);
