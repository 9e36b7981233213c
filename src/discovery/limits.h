/* Ceilings of the tool index and of typed files; docs/limits.md lists them. */
#pragma once

/* index.c: which tools there are */
#define INDEX_TOOLS_MAX 20000
#define INDEX_TEXT_MAX (256u << 10) /* bytes of one tool's title and parameter names */
#define INDEX_HITS_MAX 50

/* typed.c: definitions as source files */
#define TYPED_TEXT_MAX 2000 /* bytes of one description */
#define TYPED_ENUM_MAX 200
#define TYPED_CLASSES_MAX 500
#define TYPED_STEPS_MAX 50000 /* schemas of one definition that are written out */
