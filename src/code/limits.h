/* Ceilings of the built-in server; docs/limits.md lists them. */
#pragma once

#define CODE_OWNERS_MAX 10000  /* principals with files or jobs in one process */
#define CODE_PRINCIPAL_MAX 256 /* bytes of a principal's name */
#define CODE_OWNER_DIR_MAX 80  /* bytes of the name of a principal's directory */
#define CODE_OWNER_PATH_MAX 2048
#define CODE_REQUESTS_MAX 4096   /* pending requests of one link */
#define CODE_PACKAGE_MS 300000   /* time-out of pip for one package */
#define CODE_PACKAGE_POLL_MS 100 /* interval of checks whether it has finished */
#define CODE_PACKAGE_NAME_MAX 128
#define CODE_PACKAGES_TEXT_MAX (64u << 10) /* bytes of the operator's list */
#define CODE_WAIT_MS 5000                  /* a background run that ends sooner is answered directly */
#define CODE_TIMEOUT_S 30                  /* default time-out of a run */
#define CODE_TIMEOUT_S_MAX 3600
#define CODE_JOBS_MAX 2048              /* of one principal: waiting, running or kept */
#define CODE_JOBS_ACTIVE_MAX 1100       /* of these, waiting or running */
#define CODE_JOB_KEEP_MS 3600000        /* how long the result of a job is kept */
#define CODE_JOB_MESSAGE_MAX 1024       /* bytes of a progress text */
#define CODE_STREAM_BYTES_MAX 4096      /* bytes of output in one notification */
#define CODE_JOB_SHOWN_MAX (256u << 10) /* bytes of output that the console shows */
#define CODE_RESULT_MAX                                                                                      \
    (64u << 10) /* bytes of a result, truncated by structure; of stdout and of stderr, which keep both ends  \
                 */
#define CODE_TEXT_RESULT_MAX (256u << 10) /* bytes of a text as a result */
#define CODE_ANSWER_MAX (48u << 20)       /* bytes of one answer */
#define CODE_IMAGES_MAX 16                /* of one answer */
#define CODE_IMAGE_BYTES_MAX (4u << 20)   /* one image in an answer; larger ones stay files */
#define CODE_INNER_RESULT_MAX (8u << 20)  /* bytes of a tool's response that code gets */

#define CODE_PATH_MAX 1024
#define CODE_PATH_DEPTH_MAX 16
#define CODE_FILES_MAX 4096 /* in one workspace */
#define CODE_FILE_BYTES_MAX (16u << 20)
#define CODE_WORKSPACE_BYTES_MAX (64u << 20)
#define CODE_FILES_SHOWN_MAX 32 /* links to changed files in one answer */

#define CODE_SKILLS_MAX 512 /* of one principal */
#define CODE_SKILL_NAME_MAX 64
#define CODE_SKILL_BYTES_MAX (256u << 10)
#define CODE_SKILL_DESCRIPTION_MAX 4096
#define CODE_SKILL_TOOLS_MAX 64    /* tools named by one skill that are listed */
#define CODE_SKILL_VERSIONS_MAX 20 /* older versions kept of one skill */

#define CODE_SESSION_NAME_MAX 64
#define CODE_SESSIONS_MAX 16                 /* of one principal */
#define CODE_HISTORY_MAX 100                 /* runs kept in the history of one session */
#define CODE_HISTORY_BYTES_MAX 4096          /* of each of them */
#define CODE_SNAPSHOTS_MAX 16                /* of one principal */
#define CODE_SNAPSHOT_BYTES_MAX (256u << 20) /* of all of them, counted as if each had its own copies */
#define CODE_PII_TEXT_MAX (4u << 20)
#define CODE_LISTINGS_MAX 64               /* principals whose lists of tools are cached */
#define CODE_LIST_FRESH_MS 300000          /* how long a list is cached without a notification of changes */
#define CODE_LIST_AGAIN_MS 2000            /* the same if a server did not respond */
#define CODE_JOURNALS_MAX 8                /* unfinished runs of one principal whose calls are kept */
#define CODE_JOURNAL_BYTES_MAX (16u << 20) /* of the responses of one run */
#define CODE_FAULT_TEXT_MAX (32u << 10)    /* bytes of an error's message that code gets */
#define CODE_SHAPES_MAX 2000               /* tools of one principal whose result shapes are kept */
#define CODE_SHAPE_MAX (16u << 10)
#define CODE_QUERY_MAX 4096 /* bytes of a search query; the rest is ignored */
#define CODE_FOUND_MAX 50   /* tools in the response to a search */
#define CODE_FOUND 10       /* default of a search */
#define CODE_PAGE 100       /* entries of one page of a list */
