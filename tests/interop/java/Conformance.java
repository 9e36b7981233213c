import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures.SyncCompletionSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncPromptSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncResourceTemplateSpecification;
import io.modelcontextprotocol.server.McpServerFeatures.SyncToolSpecification;
import io.modelcontextprotocol.server.McpSyncServer;
import io.modelcontextprotocol.server.McpSyncServerExchange;
import io.modelcontextprotocol.server.transport.DefaultServerTransportSecurityValidator;
import io.modelcontextprotocol.server.transport.HttpServletStreamableServerTransportProvider;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.catalina.Context;
import org.apache.catalina.Wrapper;
import org.apache.catalina.connector.Connector;
import org.apache.catalina.startup.Tomcat;

/**
 * Conformance JSON [PORT]: the server that the conformance suite expects, over the Java SDK: on stdio, or on HTTP at PORT. JSON is
 * conformance.json with its definitions and fixed answers. The SDK has the legacy era only, and a tool cannot close the stream of its call.
 */
public class Conformance {
    private static final McpJsonMapper MAPPER = McpJsonDefaults.getMapper();
    private static final String EXTRA_TOOL = "test_extra_tool";
    private static final String EXTRA_PROMPT = "test_extra_prompt";

    private final Map<String, Object> data;
    private McpSyncServer server;

    private Conformance(Map<String, Object> data) {
        this.data = data;
    }

    private static Map<String, Object> map(Object value) {
        return (Map<String, Object>) value;
    }

    /** The definitions of a kind, without those that come and go. */
    private <T> List<T> listed(String kind, Class<T> type) {
        List<T> definitions = new ArrayList<>();
        for (Object one : (List<?>) data.get(kind)) {
            if (!((String) map(one).get("name")).startsWith("test_extra")) definitions.add(MAPPER.convertValue(one, type));
        }
        return definitions;
    }

    /** A fixed answer, with every {name} replaced by that argument. */
    private static <T> T filled(Object value, Map<String, Object> arguments, Class<T> type) {
        try {
            String text = MAPPER.writeValueAsString(value);
            for (Map.Entry<String, Object> argument : arguments.entrySet()) {
                String quoted = MAPPER.writeValueAsString(String.valueOf(argument.getValue()));
                text = text.replace("{" + argument.getKey() + "}", quoted.substring(1, quoted.length() - 1));
            }
            return MAPPER.readValue(text, type);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Object ask(McpSyncServerExchange exchange, Map<String, Object> question) {
        return switch ((String) question.get("method")) {
            case "sampling/createMessage" -> exchange.createMessage(MAPPER.convertValue(question.get("params"), McpSchema.CreateMessageRequest.class));
            case "elicitation/create" -> exchange.createElicitation(MAPPER.convertValue(question.get("params"), McpSchema.ElicitFormRequest.class));
            default -> exchange.listRoots();
        };
    }

    private static boolean declared(McpSyncServerExchange exchange, Map<String, Object> question) {
        McpSchema.ClientCapabilities has = exchange.getClientCapabilities();
        return switch ((String) question.get("method")) {
            case "sampling/createMessage" -> has.sampling() != null;
            case "elicitation/create" -> has.elicitation() != null;
            default -> has.roots() != null;
        };
    }

    /** Asks the client everything that this tool or prompt wants to know. */
    private String converse(McpSyncServerExchange exchange, String name, Map<String, Object> arguments) {
        Map<String, Object> answers = new TreeMap<>();
        for (Object round : (List<?>) map(data.get("questions")).get(name)) {
            filled(round, arguments, Map.class).forEach((key, question) -> {
                boolean optional = name.equals("test_input_required_result_capabilities");
                if (!optional || declared(exchange, map(question))) answers.put((String) key, ask(exchange, map(question)));
            });
        }
        try {
            return "state-ok: " + MAPPER.writeValueAsString(answers);
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    private static void pause() {
        try {
            Thread.sleep(50);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static void log(McpSyncServerExchange exchange) {
        for (String line : List.of("Tool execution started", "Tool processing data", "Tool execution completed")) {
            exchange.loggingNotification(McpSchema.LoggingMessageNotification.builder(McpSchema.LoggingLevel.INFO, line).logger("conformance").build());
            pause();
        }
    }

    private static void progress(McpSyncServerExchange exchange, Object token) {
        if (token == null) return;
        for (double done : new double[] {0, 50, 100}) {
            exchange.progressNotification(new McpSchema.ProgressNotification(token, done, 100.0, "Completed " + done + " of 100"));
            pause();
        }
    }

    private synchronized void toggleTool() {
        if (server.listTools().stream().anyMatch(tool -> tool.name().equals(EXTRA_TOOL))) server.removeTool(EXTRA_TOOL);
        else server.addTool(tool(McpSchema.Tool.builder(EXTRA_TOOL, Map.of("type", "object")).description("Comes and goes").build()));
    }

    private synchronized void togglePrompt() {
        if (server.listPrompts().stream().anyMatch(prompt -> prompt.name().equals(EXTRA_PROMPT))) server.removePrompt(EXTRA_PROMPT);
        else server.addPrompt(prompt(new McpSchema.Prompt(EXTRA_PROMPT, "Comes and goes", List.of())));
    }

    private McpSchema.CallToolResult call(McpSyncServerExchange exchange, McpSchema.CallToolRequest request) {
        String name = request.name();
        Map<String, Object> arguments = request.arguments() == null ? Map.of() : request.arguments();
        if (map(data.get("calls")).containsKey(name)) return MAPPER.convertValue(map(data.get("calls")).get(name), McpSchema.CallToolResult.class);
        if (map(data.get("questions")).containsKey(name)) return McpSchema.CallToolResult.builder().addTextContent(converse(exchange, name, arguments)).build();
        switch (name) {
            case "test_tool_with_logging", "test_logging_tool" -> log(exchange);
            case "test_tool_with_progress" -> progress(exchange, request.progressToken());
            case "test_trigger_tool_change" -> toggleTool();
            case "test_trigger_prompt_change" -> togglePrompt();
            case "test_trigger_resource_update" -> server.notifyResourcesUpdated(new McpSchema.ResourcesUpdatedNotification("test://watched-resource"));
            default -> { }
        }
        return McpSchema.CallToolResult.builder().addTextContent(name + " " + arguments).build();
    }

    private McpSchema.GetPromptResult get(McpSyncServerExchange exchange, McpSchema.GetPromptRequest request) {
        Map<String, Object> arguments = request.arguments() == null ? Map.of() : request.arguments();
        Object fixed = map(data.get("gets")).get(request.name());
        if (fixed != null) return filled(fixed, arguments, McpSchema.GetPromptResult.class);
        McpSchema.TextContent said = new McpSchema.TextContent(converse(exchange, request.name(), arguments));
        return new McpSchema.GetPromptResult(null, List.of(new McpSchema.PromptMessage(McpSchema.Role.USER, said)));
    }

    private McpSchema.ReadResourceResult read(McpSyncServerExchange exchange, McpSchema.ReadResourceRequest request) {
        Object fixed = map(data.get("reads")).get(request.uri());
        if (fixed != null) return MAPPER.convertValue(fixed, McpSchema.ReadResourceResult.class);
        String id = request.uri().replaceAll("^test://template/|/data$", "");
        String text = "{\"id\":\"" + id + "\",\"templateTest\":true,\"data\":\"Data for ID: " + id + "\"}";
        return new McpSchema.ReadResourceResult(List.of(new McpSchema.TextResourceContents(request.uri(), "application/json", text)));
    }

    private static McpSchema.CompleteResult complete(McpSyncServerExchange exchange, McpSchema.CompleteRequest request) {
        List<String> known = Stream.of("paris", "park", "party", "peak").filter(value -> value.startsWith(request.argument().value())).toList();
        return new McpSchema.CompleteResult(new McpSchema.CompleteResult.CompleteCompletion(known, known.size(), false));
    }

    private SyncToolSpecification tool(McpSchema.Tool tool) {
        return SyncToolSpecification.builder().tool(tool).callHandler(this::call).build();
    }

    private SyncPromptSpecification prompt(McpSchema.Prompt prompt) {
        return new SyncPromptSpecification(prompt, this::get);
    }

    private void serve(McpServer.SyncSpecification<?> specification) {
        server = specification.serverInfo("java-conformance-fixture", "1.0.0")
            .capabilities(McpSchema.ServerCapabilities.builder().tools(true).prompts(true).resources(true, true).logging().completions().build())
            .tools(listed("tools", McpSchema.Tool.class).stream().map(this::tool).toList())
            .prompts(listed("prompts", McpSchema.Prompt.class).stream().map(this::prompt).toList())
            .resources(listed("resources", McpSchema.Resource.class).stream().map(resource -> new SyncResourceSpecification(resource, this::read)).toList())
            .resourceTemplates(listed("resourceTemplates", McpSchema.ResourceTemplate.class).stream().map(template -> new SyncResourceTemplateSpecification(template, this::read)).toList())
            .completions(new SyncCompletionSpecification(new McpSchema.PromptReference("test_prompt_with_arguments"), Conformance::complete))
            .build();
    }

    private static void listen(HttpServletStreamableServerTransportProvider servlet, int port) throws Exception {
        Tomcat tomcat = new Tomcat();
        tomcat.setBaseDir(Files.createTempDirectory("conformance").toString());
        Connector connector = new Connector();
        connector.setProperty("address", "127.0.0.1");
        connector.setPort(port);
        tomcat.setConnector(connector);
        Context context = tomcat.addContext("", null);
        Wrapper wrapper = Tomcat.addServlet(context, "mcp", servlet);
        wrapper.setAsyncSupported(true);
        context.addServletMappingDecoded("/mcp", "mcp");
        tomcat.start();
        System.err.println("listening");
    }

    public static void main(String[] args) throws Exception {
        Conformance fixture = new Conformance(MAPPER.readValue(Files.readString(Path.of(args[0])), Map.class));
        if (args.length < 2) {
            fixture.serve(McpServer.sync(new StdioServerTransportProvider(MAPPER)));
            return;
        }
        HttpServletStreamableServerTransportProvider servlet = HttpServletStreamableServerTransportProvider.builder().jsonMapper(MAPPER).mcpEndpoint("/mcp")
            .securityValidator(DefaultServerTransportSecurityValidator.builder().allowedHosts(List.of("127.0.0.1:*", "localhost:*"))
                .allowedOrigins(List.of("http://127.0.0.1:*", "http://localhost:*")).build())
            .build();
        fixture.serve(McpServer.sync(servlet));
        listen(servlet, Integer.parseInt(args[1]));
    }
}
