/* Ceilings of the decision room; docs/limits.md lists them. */
#pragma once

#define FILES_LINKS_MAX 40 /* symbolic links on the way to one file, as the kernel has it */
