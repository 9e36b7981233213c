//! The fixture of the interop matrix over the Rust SDK, on stdio and in both eras; python/server.py says the same.
use rmcp::model::*;
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde_json::json;

struct Fixture;

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().enable_prompts().build())
            .with_server_info(Implementation::new("interop", "1.0.0"))
            .with_instructions("A fixture.")
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        let tools = json!([
            {"name": "echo", "description": "Says it again", "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}},
            {"name": "fail", "description": "Always fails", "inputSchema": {"type": "object"}},
        ]);
        Ok(ListToolsResult::with_all_items(serde_json::from_value(tools).expect("two tools")))
    }

    async fn call_tool(&self, request: CallToolRequestParams, _: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.as_ref().and_then(|arguments| arguments.get("text")).and_then(|text| text.as_str());
        match (request.name.as_ref(), text) {
            ("echo", Some(text)) => Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into()),
            ("echo", None) => Err(ErrorData::invalid_params("text is no string", None)),
            ("fail", _) => Ok(CallToolResult::error(vec![ContentBlock::text("on purpose")]).into()),
            _ => Err(ErrorData::invalid_params("no such tool", None)),
        }
    }

    async fn list_resources(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("test://note", "note").with_mime_type("text/plain")]))
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, _: RequestContext<RoleServer>) -> Result<ReadResourceResponse, ErrorData> {
        Ok(ReadResourceResult::new(vec![ResourceContents::text("a note", request.uri).with_mime_type("text/plain")]).into())
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        let greet = Prompt::new("greet", Some("A greeting"), Some(vec![PromptArgument::new("name").with_required(true)]));
        Ok(ListPromptsResult::with_all_items(vec![greet]))
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, _: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData> {
        let name = request.arguments.as_ref().and_then(|arguments| arguments.get("name")).and_then(|name| name.as_str());
        match (request.name.as_ref(), name) {
            ("greet", Some(name)) => Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, format!("Hello, {name}!"))]).into()),
            _ => Err(ErrorData::invalid_params("no such prompt, or no name", None)),
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    Fixture.serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
