/* Entries as text and for other programs. No record can break out of its output format. */
#pragma once

#include "audit/log_reader.h"
#include "base/buf.h"

#define AUDIT_TIME_TEXT 40
/* RFC 3339 in UTC with microseconds. */
void audit_format_time(uint64_t time_us, char text[AUDIT_TIME_TEXT]);
/* For people: the same in the time zone of this machine, with its offset. */
void audit_format_local_time(uint64_t time_us, char text[AUDIT_TIME_TEXT]);

void audit_format_line(struct buf *out, const struct audit_entry *e); /* one line for a terminal */
void audit_format_json(struct buf *out, const struct audit_entry *e); /* one object, no newline */
void audit_format_csv_head(struct buf *out);
void audit_format_csv(struct buf *out, const struct audit_entry *e); /* RFC 4180; no cell starts a formula */
void audit_format_cef(struct buf *out,
                      const struct audit_entry *e); /* ArcSight Common Event Format, one line */
