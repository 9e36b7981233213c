//! driver TARGET MODE: the steps of the interop matrix over the Rust SDK's client; see python/driver.py.
use rmcp::model::{CallToolRequestParams, GetPromptRequestParams, ProtocolVersion, ReadResourceRequestParams};
use rmcp::service::{RoleClient, RunningService, ServiceError};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientLifecycleMode, ClientServiceExt};
use serde_json::{Value, json};
use std::process::exit;
use tokio::process::Command;

type Client = RunningService<RoleClient, ()>;

fn take<T: serde::Serialize>(step: &str, work: Result<T, ServiceError>) {
    // serde_json's own map sorts its keys
    let said = match work {
        Ok(result) => json!({"step": step, "result": result}),
        Err(ServiceError::McpError(error)) => json!({"step": step, "error": {"code": error.code.0, "message": error.message}}),
        Err(error) => json!({"step": step, "error": {"code": null, "message": error.to_string()}}),
    };
    println!("{said}");
}

fn call(name: String, arguments: Value) -> CallToolRequestParams {
    serde_json::from_value(json!({"name": name, "arguments": arguments})).expect("a call")
}

fn prompt(name: String, arguments: Value) -> GetPromptRequestParams {
    serde_json::from_value(json!({"name": name, "arguments": arguments})).expect("a prompt")
}

async fn connect(to: &Value, mode: ClientLifecycleMode) -> Result<Client, String> {
    if let Some(url) = to["url"].as_str() {
        return ().serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), mode).await.map_err(|error| error.to_string());
    }
    let words: Vec<&str> = to["command"].as_array().ok_or("this SDK has no client for that transport")?.iter().filter_map(Value::as_str).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    for (name, value) in to["env"].as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap_or_default());
    }
    let child = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
    ().serve_with_lifecycle(child, mode).await.map_err(|error| error.to_string())
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let args: Vec<String> = std::env::args().collect();
    let to: Value = serde_json::from_str(&args[1]).expect("TARGET is JSON");
    let mode = match args[2].as_str() {
        "legacy" => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::V_2026_07_28] },
    };
    let client = connect(&to, mode).await.unwrap_or_else(|error| {
        eprintln!("connect: {error}");
        exit(3);
    });
    let prefix = to["prefix"].as_str().unwrap_or_default();
    let uri = to["uri"].as_str().unwrap_or("test://note");
    let named = |name: &str| format!("{prefix}{name}");
    take("tools/list", client.list_tools(None).await);
    take("call", client.call_tool(call(named("echo"), json!({"text": "grüße \u{1f600}"}))).await);
    take("call that fails", client.call_tool(call(named("fail"), json!({}))).await);
    take("call with wrong arguments", client.call_tool(call(named("echo"), json!({"text": {"no": "text"}}))).await);
    take("call of no tool", client.call_tool(call(named("none"), json!({}))).await);
    take("resources/list", client.list_resources(None).await);
    take("read", client.read_resource(ReadResourceRequestParams::new(uri)).await);
    take("prompts/list", client.list_prompts(None).await);
    take("prompt", client.get_prompt(prompt(named("greet"), json!({"name": "Ada"}))).await);
    take("prompt that is none", client.get_prompt(prompt(named("none"), json!({}))).await);
    take("call after that", client.call_tool(call(named("echo"), json!({"text": "still here"}))).await);
    let _ = client.cancel().await;
}
