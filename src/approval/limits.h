/* Ceilings of the approval room; docs/limits.md lists them. */
#pragma once

#define APPROVE_CHECK_MS 100     /* between two queries of the store while a call waits for a person */
#define APPROVE_PROGRESS_MS 5000 /* between two progress notifications meanwhile */
#define APPROVE_SWEEP_MS 10000   /* between two checks for expired approvals */
#define APPROVE_TEXT_MAX 2048    /* bytes of one text in the question that a client is asked */
#define APPROVE_QUESTION_MAX (64u << 10) /* bytes of the whole question */
#define WEBHOOK_SLACK_MAX 3000           /* bytes of a call as a Slack channel shows it */
#define WEBHOOK_RETRY_MS 250             /* before a webhook is tried again; doubles */
#define WEBHOOK_RETRY_MAX_MS 60000
#define WEBHOOK_MS 10000      /* for the receiver's answer */
#define WEBHOOK_AT_ONCE_MAX 8 /* deliveries under way */
#define WEBHOOK_SECRET_MIN 16 /* characters of the secret that signs webhooks and callbacks */
