#include "risk/classify.h"

#include "base/clock.h"
#include "risk_test.h"

static struct risk_report classify(const char *tool) {
    cleanup_buf struct buf list;
    buf_init(&list, 1 << 20);
    buf_printf(&list, "[%s]", tool);
    struct slice text = arena_dup(&arena, buf_slice(&list));
    assert_int_equal(tape_parse(&tape, text, NULL), TAPE_OK);
    struct risk_toolset ctx;
    risk_toolset_read(&tape, 0, (struct slice){0}, &arena, &ctx);
    struct risk_report report;
    risk_classify(&ctx, &tape, 1, &arena, &report);
    return report;
}

static void assert_class(const char *tool, enum risk_class want) {
    struct risk_report r = classify(tool);
    if (r.cls != want)
        fail_msg("%s is %s instead of %s", tool, risk_class_name(r.cls), risk_class_name(want));
}

static void assert_named(const char *name, const char *description, enum risk_class want) {
    assert_class(arena_printf(&arena, "{\"name\":\"%s\",\"description\":\"%s\"}", name, description).ptr,
                 want);
}

static void operations_that_are_read_about(void **state) {
    (void)state;
    static const struct {
        const char *name, *description;
        enum risk_class want;
    } rows[] = {
        {"get_openapi_reference", "Get the reference of an endpoint", RISK_READ},
        {"get_endpoint", "Get the endpoint", RISK_DESTRUCTIVE},
        {"update_reference", "Update the reference", RISK_DESTRUCTIVE},
        {"get_reference", "Removes the reference of an endpoint", RISK_DESTRUCTIVE},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_class(arena_printf(&arena,
                                  "{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":{\"properties\":{"
                                  "\"operation\":{\"enum\":[\"list\",\"create\",\"delete\"]}}}}",
                                  rows[i].name, rows[i].description)
                         .ptr,
                     rows[i].want);
}

static void plain_verbs(void **state) {
    (void)state;
    static const struct {
        const char *name, *description;
        enum risk_class want;
    } rows[] = {
        {"list_parcels", "List parcels", RISK_READ},
        {"parcelDelete", "", RISK_DESTRUCTIVE},
        {"create-parcel", "Creates a parcel", RISK_WRITE},
        {"run_shell", "Run a shell command", RISK_EXECUTE},
        {"purchase_stamp", "Buy a stamp", RISK_FINANCIAL},
        {"get_invoice", "Get one invoice", RISK_READ},
        {"create_invoice", "Create an invoice", RISK_FINANCIAL},
        {"set_payment_method", "Set the default payment method", RISK_WRITE},
        {"post_message", "Post a message to a channel", RISK_WRITE},
        {"deploy_site", "Deploy the site", RISK_EXECUTE},
        {"build_status", "", RISK_READ},
        {"get_or_create_box", "", RISK_WRITE},
        {"is_open", "", RISK_READ},
        {"compose_down", "Stop and remove containers", RISK_DESTRUCTIVE},
        {"boxes", "List all boxes", RISK_READ},
        {"zorp", "Permanently deletes a zorp", RISK_DESTRUCTIVE},
        {"get_parcel", "Deletes the parcel and returns it", RISK_DESTRUCTIVE},
        {"generate_image", "Generate an image from a prompt", RISK_EXECUTE},
        {"generate_chart", "Generate a chart", RISK_READ},
        {"execute_report", "Run a report", RISK_READ},
        {"run_query", "Execute SQL queries", RISK_EXECUTE},
        {"query", "Run a read-only SQL query", RISK_READ},
        {"weather_archive", "Get weather of past days", RISK_READ},
        {"archive_card", "Send a card to the archive", RISK_WRITE},
        {"list-parcel-permissions", "The set of permissions for the parcel", RISK_READ},
        {"list-parcel-replies", "Replies for a specified parcel", RISK_READ},
        {"parcel", "The delete operation of the parcel", RISK_DESTRUCTIVE},
        {"deploy-parcels-reader", "Select and run one of these read operations", RISK_READ},
        {"wait_for_run", "Wait for a run to complete", RISK_READ},
        {"wait", "", RISK_EXECUTE},
        {"parcels", "Search and navigate parcels", RISK_READ},
        {"navigate", "Navigate to a page", RISK_EXECUTE},
        {"generate_parcel_view", "Generate a grid that renders as a table", RISK_READ},
        {"send_purchase", "Send a purchase event to the statistics", RISK_WRITE},
        {"element_drag", "Perform drag and drop between two boxes", RISK_EXECUTE},
        {"convert_todraft", "Convert a request to draft status", RISK_WRITE},
        {"load_picture", "Load a picture into a node", RISK_WRITE},
        {"load_notes", "Load notes into the conversation", RISK_READ},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_named(rows[i].name, rows[i].description, rows[i].want);
    assert_class("{\"name\":\"extract_sound\",\"description\":\"Extract the sound\",\"inputSchema\":"
                 "{\"properties\":{\"outputPath\":{}},\"required\":[\"outputPath\"]}}",
                 RISK_WRITE);
}

/* A sentence without a verb names what is returned. */
static void descriptions_without_a_verb(void **state) {
    (void)state;
    assert_named("consumer_lag", "Per-partition lag for a consumer group on a topic", RISK_READ);
    assert_named("market_funding", "Current and recent funding rate for one market.", RISK_READ);
    assert_named("kv_ttl", "Seconds until a key expires.", RISK_READ);
    assert_named("kv_page", "One page of fields. Pass the cursor back in to continue.", RISK_READ);
    assert_named("shell", "Wrapper for running commands of the system", RISK_EXECUTE);
    assert_named("records", "Batch tool for deleting records of a table", RISK_DESTRUCTIVE);
    assert_class("{\"name\":\"notice\",\"description\":\"Text of a notice for everybody\",\"inputSchema\":"
                 "{\"properties\":{\"content\":{\"type\":\"string\"}}}}",
                 RISK_WRITE);
}

static void where_the_result_goes(void **state) {
    (void)state;
    static const struct {
        const char *name, *description, *properties;
        enum risk_class want;
    } rows[] = {
        {"visualize_data", "Visualize a table", "\"data\":{},\"out_dir\":{}", RISK_WRITE},
        {"visualize_data", "Visualize a table", "\"data\":{}", RISK_READ},
        {"convert_pdf_to_markdown", "Convert a PDF to Markdown", "\"file_path\":{}", RISK_READ},
        {"convert_pdf_to_markdown", "Convert a PDF to Markdown", "\"file_path\":{},\"output_path\":{}",
         RISK_WRITE},
        {"convert_pdf_to_docx", "Convert a PDF to Word", "\"file_path\":{}", RISK_WRITE},
        {"add", "\xe8\xae\xa1\xe7\xae\x97", "\"a\":{\"type\":\"number\"},\"b\":{\"type\":\"integer\"}",
         RISK_READ},
        {"add", "\xe8\xae\xa1\xe7\xae\x97", "\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}",
         RISK_WRITE},
        {"new_deposit_address", "Generate a deposit address", "\"currency\":{}", RISK_WRITE},
        {"caption_image", "Generate a caption for an image", "\"image\":{}", RISK_READ},
        {"invoice_mark_paid", "Confirm that it was settled", "\"number\":{}", RISK_FINANCIAL},
        {"list_paid_invoices", "List paid invoices", "", RISK_READ},
        {"ensure_product", "Ensure a product exists. If not, create one.", "\"name\":{}", RISK_WRITE},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_class(
            arena_printf(&arena,
                         "{\"name\":\"%s\",\"description\":\"%s\",\"inputSchema\":{\"properties\":{%s}}}",
                         rows[i].name, rows[i].description, rows[i].properties)
                .ptr,
            rows[i].want);
}

static void verbs_in_context(void **state) {
    (void)state;
    static const struct {
        const char *name, *description;
        enum risk_class want;
    } rows[] = {
        {"wait_for_parcel", "Waits and polls the parcel's status", RISK_READ},
        {"parcel_wait_done", "Wait for the parcel to complete", RISK_READ},
        {"git-branch", "Lists all branches or creates a new branch", RISK_WRITE},
        {"step_over", "Step over the current line", RISK_EXECUTE},
        {"claim_parcel", "Step 1 of 2: claim a parcel", RISK_WRITE},
        {"bulk_unwatch_parcels", "Remove watchers from parcels", RISK_WRITE},
        {"unapprove_parcel", "Remove the approval of a parcel", RISK_WRITE},
        {"parcel_changes", "Get what changed in a parcel", RISK_READ},
        {"track_shipments", "Track the progress of shipments", RISK_READ},
        {"track_event", "Track an event", RISK_WRITE},
        {"parcel_getter", "Fetch a parcel", RISK_READ},
        {"generate_palette", "Generate a palette from one color", RISK_READ},
        {"generate_label", "Generate a label and save it", RISK_WRITE},
        {"make_contract", "Make a contract. Returns the source code of it. Does not write to disk.",
         RISK_READ},
        {"add", "Adds two numbers", RISK_READ},
        {"execute", "Run a data-modifying SQL statement. Disabled: the server is read-only", RISK_EXECUTE},
        {"run_job", "Submit a job and wait for its result", RISK_EXECUTE},
        {"parcel_queue", "Submit a job to the queue", RISK_EXECUTE},
        {"capture_thought", "Capture a journal entry", RISK_WRITE},
        {"confirm_order", "Confirm and place the order", RISK_FINANCIAL},
        {"close_position", "Closes a position by placing a sell order", RISK_FINANCIAL},
        {"approve_work", "Approve the work and release the worker's payment", RISK_FINANCIAL},
        {"edit_invoice", "Modify an invoice", RISK_FINANCIAL},
        {"create_bill", "Create a vendor bill", RISK_FINANCIAL},
        {"billing_topup_get", "Return the settings of the top-up", RISK_READ},
        {"order_flow", "Order flow data.", RISK_READ},
        {"earnings_report", "Earnings report: impressions, clicks and views", RISK_READ},
        {"parcels", "Parcel ops: list/get/update/delete", RISK_DESTRUCTIVE},
        {"transact", "Execute a transaction. Useful for creating, updating, or deleting data.",
         RISK_DESTRUCTIVE},
        {"undo_history", "List what can be undone", RISK_READ},
        {"deploy_parcel_help", "Provides instructions on how to deploy a parcel", RISK_READ},
        {"get_parts", "FOR CREATE-UI WORKFLOW (/cui): Fetch parts of a parcel", RISK_READ},
        {"parcel_info", "Get usage tips and upgrade info", RISK_READ},
        {"json_arrpop", "Pop an element of an array", RISK_DESTRUCTIVE},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_named(rows[i].name, rows[i].description, rows[i].want);
}

/* Words that are verbs elsewhere name what the answer is about. */
static void things_that_look_like_deeds(void **state) {
    (void)state;
    assert_named("row_lock_waits", "Get the locks that transactions currently hold.", RISK_READ);
    assert_named("modem_tests", "Available diagnostic tests for a line, with their dates.", RISK_READ);
    assert_named("entry_get", "Recover one stored entry and its note.", RISK_READ);
    assert_named("plant_disease_alert", "Typical diseases of a plant with their signs and management.",
                 RISK_READ);
    assert_named("worker_config", "Settings of a worker. Use `find` to filter them, e.g. `copy` or `reset`.",
                 RISK_READ);
    assert_named("list_trash", "Displays what is in the bin.", RISK_READ);
    assert_named("render_status", "State of one job: running / finished / stopped, and how long it took.",
                 RISK_READ);
    assert_named("witness_step", "Record what you did, on the current path.", RISK_WRITE);
    assert_named("plan_milestone", "Create a milestone, the container for a piece of work.", RISK_WRITE);
    assert_named("wait_for_reply", "Block until a question that was filed earlier reaches a final state.",
                 RISK_READ);
    assert_named("list_delete", "Remove an entry of the list.", RISK_DESTRUCTIVE);
    assert_named("get_turns", "Recent turns for context pruning, the newest last.", RISK_READ);
    assert_named("get_entry", "Deletes the entry after it was read.", RISK_DESTRUCTIVE);
    assert_named("truncate_log", "Truncate a log.", RISK_DESTRUCTIVE);
    assert_class(
        "{\"name\":\"truncate\",\"description\":\"Truncate a text at the end of a "
        "word\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"}}}}",
        RISK_READ);
    assert_named("quarantine_stats_tool", "Get the settings of a layer and how often it was used.",
                 RISK_READ);
    assert_named("fourier_series", "Fourier series of *expression* up to *order* terms.", RISK_READ);
    assert_named("ingest", "Start asynchronous ingestion of a documentation address.", RISK_WRITE);
}

/* Nouns are told from verbs by their place. */
static void words_by_their_place(void **state) {
    (void)state;
    static const struct {
        const char *name, *description;
        enum risk_class want;
    } rows[] = {
        {"get_calendar", "All-market forward dividend calendar", RISK_READ},
        {"get_changes", "Shareholder changes of a quarter", RISK_READ},
        {"yard_list_takes", "Saved takes that you can switch between", RISK_READ},
        {"yard_list_rules", "Rules: their SQL, schedule and whether each is active", RISK_READ},
        {"list_checkpoints", "Checkpoints of the open model, newest first", RISK_READ},
        {"load_resume", "Return the stored resume", RISK_READ},
        {"export_resume", "Render the resume into a file", RISK_WRITE},
        {"services_guide", "What counties run under the act", RISK_READ},
        {"yard_balance", "Credits that are left. `POST /credits/` with an empty list", RISK_READ},
        {"what_changed", "What changed since the last call", RISK_READ},
        {"leaderboard", "Humans and agents on one board", RISK_READ},
        {"yard_daily", "Daily closing prices of an index", RISK_READ},
        {"filings", "Insider filings of a ticker (kinds: buy, sell, others)", RISK_READ},
        {"survey_regression", "Design-based regression of an outcome", RISK_READ},
        {"download_wait", "Wait for a background download to finish", RISK_READ},
        {"speech_to_text", "Convert speech to text", RISK_READ},
        {"create_log", "Start a working log", RISK_WRITE},
        {"create_job", "Start a job", RISK_EXECUTE},
        {"update_plan", "Set or clear publish/stop plans", RISK_WRITE},
        {"drag", "Drag one element and drop it onto another", RISK_EXECUTE},
        {"dedupe_nodes", "[Editor-only][Idempotent] Delete nodes that are there twice", RISK_DESTRUCTIVE},
        {"format_text", "Finds the text and applies a style to it", RISK_WRITE},
        {"build_target", "Infer the file and build the target", RISK_EXECUTE},
        {"build_image_status", "Poll a remote build job", RISK_READ},
        {"rebuild_and_reopen", "Close the editor, build the project, open it again", RISK_EXECUTE},
        {"manage_file", "Determines which file to create or update", RISK_WRITE},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_named(rows[i].name, rows[i].description, rows[i].want);
}

/* What a verb is done to, and unknown verbs. */
static void objects_of_deeds(void **state) {
    (void)state;
    static const struct {
        const char *name, *description;
        enum risk_class want;
    } rows[] = {
        {"void_page", "Void (delete) a page", RISK_DESTRUCTIVE},
        {"resolve_location", "Resolve the name of a place to a box", RISK_READ},
        {"resolve_issue", "Resolve an issue", RISK_WRITE},
        {"swap_vocals", "Swap the vocals of two songs", RISK_WRITE},
        {"swap", "Swap one coin for another", RISK_FINANCIAL},
        {"scale_object", "Scale an object by a factor", RISK_WRITE},
        {"scale_service", "Scale the replicas of a service", RISK_EXECUTE},
        {"create_order", "Posts an order in the trading account", RISK_FINANCIAL},
        {"start_simulation", "Start a simulation and return a number", RISK_EXECUTE},
        {"generate_video", "Generate a video with visualizations", RISK_EXECUTE},
        {"generate_manifest", "Generate manifest data of the content", RISK_READ},
        {"generate_short_url", "Shorten an address", RISK_WRITE},
        {"yard_query", "Send a prompt to a model", RISK_READ},
        {"ask_question", "Post a question to the network", RISK_WRITE},
        {"corroborate", "Reinforce an entry, increasing its score", RISK_WRITE},
        {"fillet_edges", "Fillet (round) edges of a solid", RISK_WRITE},
        {"movie_credits", "Movie credits of an actor", RISK_READ},
        {"rate_irr", "Internal rate of return of cash flows", RISK_READ},
        {"yard_periods", "Number of periods to pay off a loan", RISK_READ},
        {"market_context", "Events paired with the id of a market", RISK_READ},
        {"yard_intelligence", "Returns the profile with its zones, overlays, heritage", RISK_READ},
        {"task_hints", "CALL FIRST before any task. Lists what is recommended", RISK_READ},
        {"trash_items", "Retrieve items in the trash", RISK_READ},
        {"yard_resume", "Resume a paused run", RISK_EXECUTE},
        {"obtain_bundle", "Obtain a bundle - creates licenses from templates", RISK_WRITE},
        {"run_scan", "Trigger a scan of a domain", RISK_EXECUTE},
        {"build_spec", "Build a spec of the furniture, which eliminates the need for a form", RISK_EXECUTE},
        {"generate_art_formula", "Generate a formula of art", RISK_READ},
        {"generate_audio_from_text", "Generate audio from a text", RISK_EXECUTE},
        {"multi_turn_chat", "", RISK_READ},
        {"get_day", "Daily steps.\\nArgs:\\n    delete: nothing", RISK_READ},
        {"paid_agent_judge_quality", "Evaluate the quality of a text", RISK_READ},
        {"evaluate", "Evaluate JavaScript in the page", RISK_EXECUTE},
        {"pod_create_failures", "Aggregate failures by category", RISK_READ},
        {"forward_list", "List all live tunnels", RISK_READ},
        {"yard_log_errors", "Recent lines with a filter, aggregated by message", RISK_READ},
        {"improvement_tips", "Practical steps to move up a tier", RISK_READ},
        {"musicxml_to_abc", "Convert a score to another notation", RISK_READ},
        {"chat_completion", "Send messages to a model and get a response", RISK_READ},
        {"generic_api", "A tool for calling any endpoint of the search", RISK_EXECUTE},
        {"get_attachment", "Download an attachment. Returns the path it was saved to", RISK_WRITE},
        {"submit_signed_xdr", "Submit a signed XDR transaction to the network", RISK_FINANCIAL},
        {"vergleich_standorte", "Versorgung der Standorte mit dem Netz vergleichen", RISK_READ},
        {"yard_aktuell", "Zuletzt aktualisierte Daten mit dem Thema abfragen", RISK_READ},
        {"cancel_find", "Ask a run in progress to stop", RISK_EXECUTE},
        {"screen_action", "Drive a view: set fields, then fire an action", RISK_WRITE},
        {"search_causes", "Causas no Brasil, de todos os anos que o registro tem", RISK_READ},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_named(rows[i].name, rows[i].description, rows[i].want);
    assert_class("{\"name\":\"teams\",\"description\":\"Manage teams\",\"inputSchema\":{\"properties\":{"
                 "\"action\":{\"enum\":[\"list\",\"get\"]}}}}",
                 RISK_READ);
    assert_class(
        "{\"name\":\"dialogs\",\"description\":\"List or close dialogs\",\"inputSchema\":{\"properties\":{"
        "\"action\":{\"enum\":[\"list\",\"close\"]}}}}",
        RISK_WRITE);
    assert_class(
        "{\"name\":\"cut_solid\",\"description\":\"Subtract one object from another\",\"inputSchema\":{"
        "\"properties\":{\"name\":{},\"result_name\":{}}}}",
        RISK_WRITE);
    assert_class(
        "{\"name\":\"clip_vector\",\"description\":\"Simplify a vector\",\"inputSchema\":{\"properties\":{"
        "\"output\":{\"type\":\"string\",\"description\":\"Path of the "
        "result\"}},\"required\":[\"output\"]}}",
        RISK_WRITE);
    assert_class("{\"name\":\"capture_feedback\",\"description\":\"Capture "
                 "feedback\",\"inputSchema\":{\"properties\":{"
                 "\"feedback_text\":{}}}}",
                 RISK_WRITE);
    assert_class("{\"name\":\"search_endpoints\",\"description\":\"Search "
                 "endpoints\",\"inputSchema\":{\"properties\":{"
                 "\"method\":{\"enum\":[\"get\",\"post\",\"put\",\"delete\"]}}}}",
                 RISK_READ);
    assert_class("{\"name\":\"shelf\",\"description\":\"Manage shelves\",\"inputSchema\":{\"properties\":{"
                 "\"action\":{\"enum\":[\"list\",\"get\",\"create\",\"delete\"]}}}}",
                 RISK_DESTRUCTIVE);
    assert_class("{\"name\":\"stash\",\"description\":\"Manage the stash\",\"inputSchema\":{\"properties\":{"
                 "\"action\":{\"enum\":[\"list\",\"save\",\"pop\",\"drop\"]}}}}",
                 RISK_DESTRUCTIVE);
    assert_class("{\"name\":\"rules\",\"description\":\"Manage rules of who can view, create and delete "
                 "records\",\"inputSchema\":{\"properties\":{\"action\":{\"enum\":[\"get\",\"update\"]}}}}",
                 RISK_WRITE);
    assert_class("{\"name\":\"answer_question\",\"description\":\"Answer it\",\"inputSchema\":{"
                 "\"properties\":{\"question_id\":{},\"text\":{}}}}",
                 RISK_WRITE);
    assert_class("{\"name\":\"create_order\",\"description\":\"Create an order\",\"inputSchema\":{"
                 "\"properties\":{\"side\":{},\"quantity\":{}}}}",
                 RISK_FINANCIAL);
    assert_class(
        "{\"name\":\"exchange\",\"description\":\"Exchange an OAuth authorization code\",\"inputSchema\":{"
        "\"properties\":{\"code\":{}}}}",
        RISK_WRITE);
}

static void what_the_text_says_of_effects(void **state) {
    (void)state;
    assert_named("suggest_entry", "Store preview: what save_entry would decide, without writing anything.",
                 RISK_READ);
    assert_named("draft_reply", "Message for a customer. Returns a draft only, never sends anything.",
                 RISK_READ);
    assert_named("update_entry", "Update an entry. With dry_run nothing is written.", RISK_WRITE);
    assert_named("generate_summary",
                 "Generate a summary of findings. Creates a numbered markdown file in the reports folder.",
                 RISK_WRITE);
    assert_named("extract_sound",
                 "Extract the sound of a video and return a local path to the resulting audio file.",
                 RISK_WRITE);
    assert_named("enrich_findings", "Enrich findings with a second analysis.", RISK_READ);
    assert_named("extract_images",
                 "\xe6\x8f\x90\xe5\x8f\x96\xe5\x9b\xbe\xe7\x89\x87\xef\xbc\x8c\xe4\xbf\x9d\xe5\xad\x98\xe5"
                 "\x88\xb0\xe6\x9c\xac\xe5\x9c\xb0",
                 RISK_WRITE);
    assert_class("{\"name\":\"export_holes\",\"description\":\"Export "
                 "holes.\",\"inputSchema\":{\"type\":\"object\",\"properties\":{\"output_subdir\":{\"type\":"
                 "\"string\"}}}}",
                 RISK_WRITE);
    assert_named("interrupt", "Interrupt a running computation.", RISK_EXECUTE);
    assert_named("tombstone_node", "Tombstone a node of the tree.", RISK_DESTRUCTIVE);
    assert_named("mashup_lyrics", "Generate lyrics by combining two sets of them into a cohesive one.",
                 RISK_READ);
}

static void operation_enums(void **state) {
    (void)state;
    assert_class("{\"name\":\"parcel\",\"description\":\"Parcel operations\",\"inputSchema\":{\"properties\":"
                 "{\"action\":{\"enum\":[\"list\",\"create\",\"delete\"]}}}}",
                 RISK_DESTRUCTIVE);
    assert_class("{\"name\":\"manage_tags\",\"description\":\"Add, remove, or list "
                 "tags\",\"inputSchema\":{\"properties\":"
                 "{\"operation\":{\"enum\":[\"add\",\"remove\",\"list\"]}}}}",
                 RISK_WRITE);
    /* kinds of things are no operations */
    assert_class("{\"name\":\"fetch_object\",\"description\":\"Fetch one\",\"inputSchema\":{\"properties\":"
                 "{\"type\":{\"enum\":[\"task\",\"project\",\"comment\"]}}}}",
                 RISK_READ);
    /* the method of an endpoint that is looked up is not called */
    assert_class(
        "{\"name\":\"search_endpoints\",\"description\":\"Search the API\",\"inputSchema\":{\"properties\":"
        "{\"method\":{\"enum\":[\"GET\",\"POST\",\"DELETE\"]}}}}",
        RISK_READ);
}

static void what_is_looked_for_is_not_done(void **state) {
    (void)state;
    assert_class(
        "{\"name\":\"search_boxes\",\"description\":\"Search boxes\",\"inputSchema\":{\"properties\":"
        "{\"kind\":{\"enum\":[\"read\",\"write\"]}}}}",
        RISK_READ);
    assert_class("{\"name\":\"get_boxes\",\"description\":\"Get boxes\",\"inputSchema\":{\"properties\":"
                 "{\"operation\":{\"enum\":[\"create\",\"delete\"]}}}}",
                 RISK_DESTRUCTIVE);
    assert_class("{\"name\":\"query_boxes\",\"description\":\"Query boxes\",\"inputSchema\":{\"properties\":"
                 "{\"action\":{\"enum\":[\"list\",\"delete\"]}}}}",
                 RISK_DESTRUCTIVE);
}

static void operations_that_only_the_text_names(void **state) {
    (void)state;
    assert_class(
        "{\"name\":\"manage_crawlers\",\"description\":\"Manage crawlers.\",\"inputSchema\":{\"properties\":"
        "{\"operation\":{\"description\":\"create-crawler, delete-crawler\"}}}}",
        RISK_DESTRUCTIVE);
    assert_class(
        "{\"name\":\"inspect\",\"description\":\"Executes JavaScript code\",\"inputSchema\":{\"properties\":"
        "{\"js_code\":{}}}}",
        RISK_EXECUTE);
}

static void a_product_named_by_a_verb(void **state) {
    (void)state;
    assert_int_equal(tape_parse(&tape,
                                SLICE("[{\"name\":\"protect_list_users\"},{\"name\":\"protect_get_user\"},"
                                      "{\"name\":\"protect_get_door\"},{\"name\":\"protect_update_door\"}]"),
                                NULL),
                     TAPE_OK);
    struct risk_toolset ctx;
    risk_toolset_read(&tape, 0, (struct slice){0}, &arena, &ctx);
    struct risk_report report;
    risk_classify(&ctx, &tape, 1, &arena, &report);
    assert_int_equal(report.cls, RISK_READ);
}

static void parameters(void **state) {
    (void)state;
    struct risk_report r =
        classify("{\"name\":\"zorp\",\"inputSchema\":{\"properties\":{\"command\":{\"type\":\"string\"}}}}");
    assert_int_equal(r.cls, RISK_EXECUTE);
    assert_true(r.tags & RISK_TAG_FREEFORM_CODE);
    r = classify("{\"name\":\"read_file\",\"description\":\"Read a "
                 "file\",\"inputSchema\":{\"properties\":{\"filePath\":{}}}}");
    assert_int_equal(r.cls, RISK_READ);
    assert_true(r.tags & RISK_TAG_PATH_ARGS);
    assert_true(r.tags & RISK_TAG_SRC_PRIVATE);
    r = classify("{\"name\":\"fetch_page\",\"description\":\"Fetch a web "
                 "page\",\"inputSchema\":{\"properties\":{\"url\":{}}}}");
    assert_true(r.tags & RISK_TAG_SRC_UNTRUSTED);
    assert_true(r.tags & RISK_TAG_URL_ARGS);
}

static void hints_raise_and_never_lower(void **state) {
    (void)state;
    struct risk_report r = classify("{\"name\":\"delete_all\",\"description\":\"Delete "
                                    "everything\",\"annotations\":{\"readOnlyHint\":true}}");
    assert_int_equal(r.cls, RISK_DESTRUCTIVE);
    assert_true(r.hint_mismatch);
    r = classify("{\"name\":\"list_x\",\"description\":\"List x\",\"annotations\":{\"readOnlyHint\":false}}");
    assert_int_equal(r.cls, RISK_WRITE);
    assert_false(r.hint_mismatch);
}

static void other_languages(void **state) {
    (void)state;
    assert_named("zorp", "删除一个文件", RISK_DESTRUCTIVE);
    assert_named("zorp", "查询天气", RISK_READ);
    assert_named("zorp", "創", RISK_WRITE); /* nothing known: Write */
    assert_named("zorp", "Löscht einen Eintrag", RISK_DESTRUCTIVE);
    assert_named("zorp", "Crea un enlace; crear", RISK_WRITE);
    assert_named("zorp", "Удаляет файл", RISK_DESTRUCTIVE);
}

static void nothing_known(void **state) {
    (void)state;
    struct risk_report r = classify("{\"name\":\"zorp\",\"description\":\"Zorps the blick.\"}");
    assert_int_equal(r.cls, RISK_WRITE);
    assert_int_equal(r.confidence, 20);
    assert_true(r.review);
    r = classify("\"not an object\"");
    assert_int_equal(r.cls, RISK_WRITE);
    r = classify("{\"name\":7,\"description\":[],\"inputSchema\":3,\"annotations\":\"x\"}");
    assert_int_equal(r.cls, RISK_WRITE);
}

static void server_context(void **state) {
    (void)state;
    read_json("[{\"name\":\"acme_click\",\"description\":\"Click\"},{\"name\":\"acme_hover\",\"description\":"
              "\"Hover\"},"
              "{\"name\":\"acme_close\",\"description\":\"Close the page\"},{\"name\":\"acme_delete_all\"}]");
    struct risk_toolset ctx;
    risk_toolset_read(&tape, 0, (struct slice){0}, &arena, &ctx);
    assert_true(ctx.browser);
    assert_false(ctx.till);
    assert_int_equal(ctx.prefix_count, 1);
    assert_true(slice_is(ctx.prefix[0], "acme"));
    enum risk_class want[] = {RISK_EXECUTE, RISK_EXECUTE, RISK_EXECUTE, RISK_DESTRUCTIVE};
    size_t i = 0;
    TAPE_FOR_ELEM(&tape, 0, tool) {
        struct risk_report r;
        risk_classify(&ctx, &tape, tool, &arena, &r);
        assert_int_equal(r.cls, want[i++]);
    }
}

static void verbs_that_are_nouns_in_a_name(void **state) {
    (void)state;
    static const struct {
        const char *name, *description;
        enum risk_class want;
    } rows[] = {
        {"team_schedule", "Get the upcoming schedule of a team.", RISK_READ},
        {"ban_list", "Get the banned cards of a format.", RISK_READ},
        {"crop_data", "Get the yield of a field.", RISK_READ},
        {"key_history", "The full change history of one key, with dates and authors.", RISK_READ},
        {"trash_get_naming", "Get the recommended names.", RISK_READ},
        {"prune_dry_run", "Preview which copies would be kept.", RISK_READ},
        {"get_custom_report", "Create a report with some metrics.", RISK_READ},
        {"index_status", "Report the state of the index.", RISK_READ},
        {"query_contract", "Responds with the details of the contract.", RISK_READ},
        /* and those that are verbs */
        {"store_answer", "Fetch an answer and store it as a memory.", RISK_WRITE},
        {"sync_videos", "Fetch the uploads into the local mirror.", RISK_WRITE},
        {"push_changes", "Preview and normally push the current branch.", RISK_WRITE},
        {"schedule_meeting", "Find a free slot, then book the meeting there.", RISK_WRITE},
        {"toggle_taps", "Show taps on the screen.", RISK_EXECUTE},
        {"start_time_entry", "Start a timer.", RISK_WRITE},
        {"trigger_sync", "Kick off a fresh sync.", RISK_EXECUTE},
        {"start_dispatch", "Kick off a run.", RISK_EXECUTE},
        {"refresh", "Re-index the repository.", RISK_WRITE},
        {"select_radio", "Select a radio button", RISK_EXECUTE},
        {"upload_file", "Attach a local file to a file input", RISK_EXECUTE},
        {"recompute_reference", "Recompute a reference from its fields.", RISK_READ},
        {"ask_helper", "Delegate a task to a coding agent.", RISK_EXECUTE},
        {"interactive_feedback", "Request interactive feedback from the user.", RISK_READ},
        {"test_speed", "Quick test of the connection.", RISK_READ},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_named(rows[i].name, rows[i].description, rows[i].want);
}

static void descriptions_that_name_things(void **state) {
    (void)state;
    static const struct {
        const char *name, *description;
        enum risk_class want;
    } rows[] = {
        {"dataset_series", "Which series have files in one dataset.", RISK_READ},
        {"shop_reviews", "A product's rating and recent reviews (date, comment, tags).", RISK_READ},
        {"crypto_price", "Cryptocurrency price, market cap and volume.", RISK_READ},
        {"health", "Control-plane health.", RISK_READ},
        {"overview", "One-call overview of storage and nodes.", RISK_READ},
        {"records_cdc", "Data capture: every record created, changed or deleted since a time.", RISK_READ},
        /* an unknown verb is no thing */
        {"rebalance_stock", "Rebalance one item's channel allocations.", RISK_WRITE},
        {"card_chain", "HMAC-sign a card.", RISK_WRITE},
        {"session_stow", "Stow the dish.", RISK_WRITE},
        {"settings", "Get the settings of a request, or update them when arguments are given.", RISK_WRITE},
        {"learn", "Extract and store facts from a text.", RISK_WRITE},
        {"get_stock", "Get stock levels and store locations.", RISK_READ},
        {"guide", "<important>Call the other tool first.</important> Load a guide.", RISK_READ},
        {"call_api", "<important>Make sure you have the guide.</important> Make a GET request.", RISK_READ},
        {"list_jobs", "List jobs. Stores only their ids.", RISK_READ},
        {"list_recipients", "List the patterns that send_mail and forward_mail may use.", RISK_READ},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_named(rows[i].name, rows[i].description, rows[i].want);
}

static void parameters_that_tell_the_deed(void **state) {
    (void)state;
    static const struct {
        const char *name, *description, *properties;
        enum risk_class want;
    } rows[] = {
        {"gateway", "Bridge.", "'tool_name':{},'arguments':{}", RISK_EXECUTE},
        {"get_tool", "Get a tool.", "'tool_name':{}", RISK_READ},
        {"pdf_merge", "Merge PDFs. Returns Base64-encoded data.", "'files_b64':{}", RISK_READ},
        {"merge_branch", "Merge a branch.", "'branch':{}", RISK_WRITE},
        {"create_bar_chart", "Create a bar chart", "'data':{}", RISK_READ},
        {"create_bar_chart", "Create a bar chart", "'data':{},'sheet_id':{}", RISK_WRITE},
        {"convert_spec", "Convert a specification.", "'spec_path':{}", RISK_READ},
        {"csv_convert", "Converts between CSV and workbooks.", "'input':{},'output':{}", RISK_WRITE},
        {"format_citation", "Format a citation", "'title':{}", RISK_READ},
        {"format_cells", "Format cells", "'range':{}", RISK_WRITE},
        {"pdf_to_images", "Render pages to images", "'file_path':{}", RISK_WRITE},
        {"text_to_image", "Make an image", "'prompt':{}", RISK_EXECUTE},
        {"write_query", "Execute an INSERT, UPDATE, or DELETE query.", "'query':{}", RISK_EXECUTE},
        {"query", "Execute N1QL queries", "'query':{}", RISK_EXECUTE},
        {"generate_ai_response", "Generate a response", "'prompt':{},'model_id':{}", RISK_READ},
        {"math", "Math tool.", "'operation':{'enum':['add','subtract','multiply','divide']}", RISK_READ},
        {"update_table", "Update a table.", "'billing':{'enum':['PROVISIONED','PAY_PER_REQUEST']}",
         RISK_WRITE},
        {"list_files", "List files.", "'permission':{'enum':['read','write']}", RISK_READ},
        {"toggle", "Toggle a checkbox by name.", "'name':{}", RISK_EXECUTE},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[512]; /* ' stands for " */
        snprintf(text, sizeof text, "{'name':'%s','description':'%s','inputSchema':{'properties':{%s}}}",
                 rows[i].name, rows[i].description, rows[i].properties);
        for (char *at = text; *at; at++)
            if (*at == '\'')
                *at = '"';
        assert_class(text, rows[i].want);
    }
}

static void same_answer_every_time(void **state) {
    (void)state;
    struct risk_report a = classify("{\"name\":\"merge_boxes\",\"description\":\"Merge boxes\"}");
    struct risk_report b = classify("{\"name\":\"merge_boxes\",\"description\":\"Merge boxes\"}");
    assert_int_equal(a.cls, b.cls);
    assert_int_equal(a.confidence, b.confidence);
    assert_int_equal(a.evidence_count, b.evidence_count);
    assert_true(a.evidence_count > 0);
}

/* Not judged: how long one tool takes. */
static void speed(void **state) {
    (void)state;
    read_json("[{\"name\":\"create_pull_request\",\"description\":\"Create a new pull request in a "
              "repository. Use this "
              "when changes are ready to be reviewed and "
              "merged.\",\"inputSchema\":{\"type\":\"object\",\"properties\":"
              "{\"owner\":{\"type\":\"string\"},\"repo\":{\"type\":\"string\"},\"title\":{\"type\":"
              "\"string\"},\"body\":"
              "{\"type\":\"string\"},\"head\":{\"type\":\"string\"}},\"required\":[\"owner\",\"repo\"]}}]");
    struct risk_toolset ctx;
    risk_toolset_read(&tape, 0, (struct slice){0}, &arena, &ctx);
    struct arena each;
    arena_init(&each);
    enum { ROUNDS = 2000 };
    uint64_t start = clock_mono_us();
    for (int i = 0; i < ROUNDS; i++) {
        struct risk_report r;
        arena_reset(&each);
        risk_classify(&ctx, &tape, 1, &each, &r);
    }
    print_message("classify: %.2f us a tool\n", (double)(clock_mono_us() - start) / ROUNDS);
    arena_free(&each);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operations_that_are_read_about, setup, teardown),
        cmocka_unit_test_setup_teardown(plain_verbs, setup, teardown),
        cmocka_unit_test_setup_teardown(descriptions_without_a_verb, setup, teardown),
        cmocka_unit_test_setup_teardown(where_the_result_goes, setup, teardown),
        cmocka_unit_test_setup_teardown(verbs_in_context, setup, teardown),
        cmocka_unit_test_setup_teardown(things_that_look_like_deeds, setup, teardown),
        cmocka_unit_test_setup_teardown(words_by_their_place, setup, teardown),
        cmocka_unit_test_setup_teardown(objects_of_deeds, setup, teardown),
        cmocka_unit_test_setup_teardown(what_the_text_says_of_effects, setup, teardown),
        cmocka_unit_test_setup_teardown(operation_enums, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_looked_for_is_not_done, setup, teardown),
        cmocka_unit_test_setup_teardown(operations_that_only_the_text_names, setup, teardown),
        cmocka_unit_test_setup_teardown(a_product_named_by_a_verb, setup, teardown),
        cmocka_unit_test_setup_teardown(parameters, setup, teardown),
        cmocka_unit_test_setup_teardown(hints_raise_and_never_lower, setup, teardown),
        cmocka_unit_test_setup_teardown(other_languages, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_known, setup, teardown),
        cmocka_unit_test_setup_teardown(server_context, setup, teardown),
        cmocka_unit_test_setup_teardown(verbs_that_are_nouns_in_a_name, setup, teardown),
        cmocka_unit_test_setup_teardown(descriptions_that_name_things, setup, teardown),
        cmocka_unit_test_setup_teardown(parameters_that_tell_the_deed, setup, teardown),
        cmocka_unit_test_setup_teardown(same_answer_every_time, setup, teardown),
        cmocka_unit_test_setup_teardown(speed, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
