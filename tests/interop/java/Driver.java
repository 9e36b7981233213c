import io.modelcontextprotocol.client.McpClient;
import io.modelcontextprotocol.client.McpSyncClient;
import io.modelcontextprotocol.client.transport.HttpClientSseClientTransport;
import io.modelcontextprotocol.client.transport.HttpClientStreamableHttpTransport;
import io.modelcontextprotocol.client.transport.ServerParameters;
import io.modelcontextprotocol.client.transport.StdioClientTransport;
import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.json.McpJsonMapper;
import io.modelcontextprotocol.spec.McpClientTransport;
import io.modelcontextprotocol.spec.McpError;
import io.modelcontextprotocol.spec.McpSchema;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;

/** Driver TARGET MODE: the steps of the interop matrix over the Java SDK's client; see python/driver.py. */
public class Driver {
    private static final McpJsonMapper JSON = McpJsonDefaults.getMapper();
    private static final int LOG_LINES = 3; // of the suite's logging tool
    private static final List<Object> seen = new CopyOnWriteArrayList<>();

    private static McpClientTransport transport(Map<String, Object> to) {
        if (to.get("url") instanceof String url) {
            URI uri = URI.create(url);
            return HttpClientStreamableHttpTransport.builder(uri.getScheme() + "://" + uri.getAuthority()).endpoint(uri.getPath()).build();
        }
        if (to.get("sse") instanceof String sse) {
            URI uri = URI.create(sse);
            return HttpClientSseClientTransport.builder(uri.getScheme() + "://" + uri.getAuthority()).sseEndpoint(uri.getPath()).build();
        }
        List<?> command = (List<?>) to.get("command");
        ServerParameters.Builder server = ServerParameters.builder((String) command.get(0));
        for (Object arg : command.subList(1, command.size())) server.arg((String) arg);
        if (to.get("env") instanceof Map<?, ?> env) env.forEach((name, value) -> server.addEnvVar((String) name, (String) value));
        StdioClientTransport stdio = new StdioClientTransport(server.build(), JSON);
        stdio.setStdErrorHandler(System.err::println);
        return stdio;
    }

    private static Object sorted(Object value) {
        if (value instanceof Map<?, ?> map) {
            Map<String, Object> copy = new TreeMap<>();
            map.forEach((key, member) -> copy.put((String) key, sorted(member)));
            return copy;
        }
        if (value instanceof List<?> list) {
            List<Object> copy = new ArrayList<>();
            list.forEach(member -> copy.add(sorted(member)));
            return copy;
        }
        return value;
    }

    private static void take(String step, Callable<Object> work) throws Exception {
        take(step, work, 0);
    }

    private static void take(String step, Callable<Object> work, int events) throws Exception {
        seen.clear();
        Map<String, Object> said = new TreeMap<>(Map.of("step", step));
        try {
            said.put("result", sorted(JSON.readValue(JSON.writeValueAsString(work.call()), Map.class)));
        } catch (McpError error) {
            McpSchema.JSONRPCResponse.JSONRPCError known = error.getJsonRpcError();
            said.put("error", new TreeMap<>(Map.of("code", known.code(), "message", known.message())));
        } catch (Exception error) {
            said.put("error", new TreeMap<>(Map.of("code", 0, "message", String.valueOf(error.getMessage()))));
        }
        // The SDK may deliver a notification after the answer that it came before.
        for (int i = 0; i < 1000 && seen.size() < events; i++) Thread.sleep(10);
        // It handles notifications on several threads, in any order.
        if (!seen.isEmpty()) said.put("seen", seen.stream().map(Driver::sorted).sorted(Comparator.comparing(Object::toString)).toList());
        System.out.println(JSON.writeValueAsString(said));
    }

    private static McpSchema.CallToolRequest call(String name, Map<String, Object> arguments) {
        return McpSchema.CallToolRequest.builder(name).arguments(arguments).build();
    }

    private static McpSchema.CreateMessageResult sample(McpSchema.CreateMessageRequest request) {
        seen.add(Map.of("sampling", ((McpSchema.TextContent) request.messages().get(0).content()).text()));
        return McpSchema.CreateMessageResult.builder(McpSchema.Role.ASSISTANT, "sampled", "none").build();
    }

    private static McpSchema.ElicitResult elicit(McpSchema.ElicitFormRequest request) {
        seen.add(Map.of("elicitation", request.message()));
        if (request.message().equals("decline")) return McpSchema.ElicitResult.builder(McpSchema.ElicitResult.Action.DECLINE).build();
        Map<String, Object> content = new TreeMap<>();
        ((Map<?, ?>) request.requestedSchema().get("properties")).keySet().forEach(name -> content.put((String) name, "yes"));
        return new McpSchema.ElicitResult(McpSchema.ElicitResult.Action.ACCEPT, content);
    }

    private static McpSyncClient exchangeClient(Map<String, Object> to) {
        return McpClient.sync(transport(to)).requestTimeout(Duration.ofSeconds(60)).initializationTimeout(Duration.ofSeconds(60))
            .capabilities(McpSchema.ClientCapabilities.builder().sampling().elicitation().build())
            .sampling(Driver::sample).elicitation(Driver::elicit)
            .loggingConsumer(note -> seen.add(Map.of("level", note.level().name(), "data", note.data())))
            .progressConsumer(note -> seen.add(Map.of("progress", note.progress(), "total", note.total(), "message", note.message())))
            .build();
    }

    private static void exchange(McpSyncClient client, String prefix, String uris) throws Exception {
        take("progress", () -> client.callTool(McpSchema.CallToolRequest.builder(prefix + "test_tool_with_progress").arguments(Map.of()).progressToken(7).build()), 3);
        client.setLoggingLevel(McpSchema.LoggingLevel.DEBUG);
        take("log", () -> client.callTool(call(prefix + "test_tool_with_logging", Map.of())), LOG_LINES);
        take("sampling", () -> client.callTool(call(prefix + "test_sampling", Map.of("prompt", "say it"))));
        take("question", () -> client.callTool(call(prefix + "test_elicitation", Map.of("message", "accept"))));
        take("question that is declined", () -> client.callTool(call(prefix + "test_elicitation", Map.of("message", "decline"))));
        take("input required", () -> client.callTool(call(prefix + "test_input_required_result_elicitation", Map.of())));
        take("call that fails", () -> client.callTool(call(prefix + "test_error_handling", Map.of())));
        take("read of nothing", () -> client.readResource(McpSchema.ReadResourceRequest.builder(uris + "test://nothing").build()));
        take("prompt with a resource", () -> client.getPrompt(new McpSchema.GetPromptRequest(prefix + "test_prompt_with_embedded_resource", Map.of("resourceUri", "test://example"))));
        take("call after that", () -> client.callTool(call(prefix + "test_simple_text", Map.of())));
    }

    public static void main(String[] args) throws Exception {
        Map<String, Object> to = JSON.readValue(args[0], Map.class);
        if (!args[1].equals("legacy")) {
            System.err.println("this SDK has no client of the modern era");
            System.exit(3);
        }
        String prefix = (String) to.getOrDefault("prefix", "");
        String uri = (String) to.getOrDefault("uri", "test://note");
        if ("exchange".equals(to.get("steps"))) {
            McpSyncClient asked = exchangeClient(to);
            asked.initialize();
            exchange(asked, prefix, (String) to.getOrDefault("uris", ""));
            asked.closeGracefully();
            System.exit(0);
        }
        McpSyncClient client = McpClient.sync(transport(to)).requestTimeout(Duration.ofSeconds(60)).initializationTimeout(Duration.ofSeconds(60)).build();
        client.initialize();
        take("tools/list", () -> client.listTools());
        take("call", () -> client.callTool(call(prefix + "echo", Map.of("text", "grüße \uD83D\uDE00"))));
        take("call that fails", () -> client.callTool(call(prefix + "fail", Map.of())));
        take("call with wrong arguments", () -> client.callTool(call(prefix + "echo", Map.of("text", Map.of("no", "text")))));
        take("call of no tool", () -> client.callTool(call(prefix + "none", Map.of())));
        take("resources/list", () -> client.listResources());
        take("read", () -> client.readResource(McpSchema.ReadResourceRequest.builder(uri).build()));
        take("prompts/list", () -> client.listPrompts());
        take("prompt", () -> client.getPrompt(new McpSchema.GetPromptRequest(prefix + "greet", Map.of("name", "Ada"))));
        take("prompt that is none", () -> client.getPrompt(new McpSchema.GetPromptRequest(prefix + "none", Map.of())));
        take("call after that", () -> client.callTool(call(prefix + "echo", Map.of("text", "still here"))));
        client.closeGracefully();
        System.exit(0);
    }
}
