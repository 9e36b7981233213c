/* Inside the room: what detect.c and poison.c share. */
#pragma once

#include "risk/poison.h"

/* Could there be anything in this JSON text that the next one would find? */
bool risk_suspects_result(struct slice json);
/* The detectors that count in a result. */
void risk_detect_result(struct slice text, struct slice where, struct arena *a, struct risk_findings *f);
void risk_finding_add(struct risk_findings *f, enum risk_detector d, struct slice where, struct slice text,
                      struct arena *a);
