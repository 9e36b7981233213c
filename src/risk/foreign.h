/* Inside the room: actions in descriptions that are not in English. */
#pragma once

#include "risk/class.h"

/* `lower` is a description with ASCII letters in lower case. The first action found near its beginning. */
enum risk_class risk_foreign_class(struct slice lower, struct slice *ret_word, bool *ret_opens);
/* Is it mostly written in another language? English words in it are then names and fields. */
bool risk_foreign_text(struct slice lower);
