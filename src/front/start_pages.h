/* The memory that only the start needed. */
#pragma once

/* Returns pages of programs and libraries that only the start needed to the system. The others are paged
 * in again at their next use. */
void front_start_pages_release(void);
