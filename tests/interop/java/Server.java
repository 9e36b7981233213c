import io.modelcontextprotocol.json.McpJsonDefaults;
import io.modelcontextprotocol.server.McpServer;
import io.modelcontextprotocol.server.McpServerFeatures;
import io.modelcontextprotocol.server.transport.StdioServerTransportProvider;
import io.modelcontextprotocol.spec.McpSchema;
import java.util.List;
import java.util.Map;

/** The fixture of the interop matrix over the Java SDK, on stdio; python/server.py says the same. */
public class Server {
    public static void main(String[] args) {
        McpSchema.Tool echo = McpSchema.Tool.builder("echo", Map.of("type", "object", "properties", Map.of("text", Map.of("type", "string")), "required", List.of("text")))
            .description("Says it again").build();
        McpSchema.Tool fail = McpSchema.Tool.builder("fail", Map.of("type", "object")).description("Always fails").build();
        McpSchema.Resource note = McpSchema.Resource.builder("test://note", "note").mimeType("text/plain").build();
        McpSchema.Prompt greet = new McpSchema.Prompt("greet", "A greeting", List.of(new McpSchema.PromptArgument("name", null, true)));
        McpServer.sync(new StdioServerTransportProvider(McpJsonDefaults.getMapper()))
            .serverInfo("interop", "1.0.0").instructions("A fixture.")
            .capabilities(McpSchema.ServerCapabilities.builder().tools(true).resources(false, true).prompts(true).build())
            .toolCall(echo, (exchange, request) -> McpSchema.CallToolResult.builder().addTextContent((String) request.arguments().get("text")).build())
            .toolCall(fail, (exchange, request) -> { throw new IllegalStateException("on purpose"); })
            .resources(new McpServerFeatures.SyncResourceSpecification(note, (exchange, request) ->
                new McpSchema.ReadResourceResult(List.of(new McpSchema.TextResourceContents(request.uri(), "text/plain", "a note")))))
            .prompts(new McpServerFeatures.SyncPromptSpecification(greet, (exchange, request) ->
                new McpSchema.GetPromptResult(null, List.of(new McpSchema.PromptMessage(McpSchema.Role.USER, new McpSchema.TextContent("Hello, " + request.arguments().get("name") + "!"))))))
            .build();
    }
}
