/* Ceilings of packages for code; docs/limits.md lists them. */
#pragma once

#define PACK_ARCHIVE_BYTES_MAX (1ull << 30)  /* one wheel or tarball, as it is fetched */
#define PACK_UNPACKED_BYTES_MAX (2ull << 30) /* one wheel or tarball, unpacked */
#define PACK_FILES_MAX 60000                 /* in one of them */
#define PACK_PATH_MAX 1024                   /* bytes of the path of one file in it */
#define PACK_DEPTH_MAX 32                    /* directories above that file */
#define PACK_SPEC_MAX 200                    /* bytes of a name with its version */
#define PACK_SPECS_MAX 64                    /* packages in one command, or in one run */
#define PACK_LAYERS_MAX 400                  /* wheels or tarballs that one package needs, itself included */
#define PACK_PACKAGES_MAX 1000               /* installed */
#define PACK_MODULES_MAX 32                  /* importable names stored for one package */
#define PACK_MANIFEST_MAX (16u << 20)        /* bytes of the manifest, of pip's report, of npm's lock file */
#define PACK_WORDS_MAX (64u << 10)           /* bytes kept of the output of pip or npm */
#define PACK_FETCH_MS 900000                 /* time-out of one step of pip or npm */
