//! driver TARGET MODE: the steps of the interop matrix over the Rust SDK's client; see python/driver.py.
#![allow(deprecated)] // sampling and logging, which clients still use
use rmcp::model::*;
use rmcp::service::{NotificationContext, RequestContext, RoleClient, RunningService, ServiceError};
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData};
use serde_json::{Map, Value, json};
use std::process::exit;
use std::sync::Mutex;
use std::time::Duration;
use tokio::process::Command;

type Client = RunningService<RoleClient, Caller>;

const LOG_LINES: usize = 3; // of the suite's logging tool

static SEEN: Mutex<Vec<Value>> = Mutex::new(Vec::new());

fn see(event: Value) {
    SEEN.lock().expect("one thread").push(event);
}

/// A client that can be asked, or one that declares nothing.
struct Caller {
    can_be_asked: bool,
}

impl ClientHandler for Caller {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        if self.can_be_asked {
            // By default it names the newest revision here, in which Go's server asks nobody.
            config.protocol_version = ProtocolVersion::V_2025_11_25;
            config.capabilities = serde_json::from_value(json!({"sampling": {}, "elicitation": {}})).expect("capabilities");
        }
        config
    }

    async fn create_message(&self, params: CreateMessageRequestParams, _: RequestContext<RoleClient>) -> Result<CreateMessageResult, ErrorData> {
        let asked = serde_json::to_value(&params).expect("a request");
        see(json!({"sampling": asked["messages"][0]["content"]["text"]}));
        let answer = json!({"role": "assistant", "content": {"type": "text", "text": "sampled"}, "model": "none"});
        Ok(serde_json::from_value(answer).expect("a message"))
    }

    async fn create_elicitation(&self, request: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        let asked = serde_json::to_value(&request).expect("a request");
        see(json!({"elicitation": asked["message"]}));
        let answer = if asked["message"] == "decline" {
            json!({"action": "decline"})
        } else {
            let names = asked["requestedSchema"]["properties"].as_object().into_iter().flatten();
            json!({"action": "accept", "content": names.map(|(name, _)| (name.clone(), json!("yes"))).collect::<Map<_, _>>()})
        };
        Ok(serde_json::from_value(answer).expect("an answer"))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        see(json!({"progress": params.progress, "total": params.total, "message": params.message}));
    }

    async fn on_logging_message(&self, params: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        see(json!({"level": params.level, "data": params.data}));
    }
}

/// Waits until so many events have come: the SDK may deliver a notification after the answer that it came before.
async fn take_with<T: serde::Serialize>(step: &str, work: Result<T, ServiceError>, events: usize) {
    for _ in 0..1000 {
        if SEEN.lock().expect("one thread").len() >= events {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    take(step, work);
}

fn take<T: serde::Serialize>(step: &str, work: Result<T, ServiceError>) {
    // serde_json's own map sorts its keys
    let mut said = match work {
        Ok(result) => json!({"step": step, "result": result}),
        Err(ServiceError::McpError(error)) => json!({"step": step, "error": {"code": error.code.0, "message": error.message}}),
        Err(error) => json!({"step": step, "error": {"code": null, "message": error.to_string()}}),
    };
    let seen = std::mem::take(&mut *SEEN.lock().expect("one thread"));
    if !seen.is_empty() {
        said["seen"] = json!(seen);
    }
    println!("{said}");
}

fn call(name: String, arguments: Value) -> CallToolRequestParams {
    serde_json::from_value(json!({"name": name, "arguments": arguments})).expect("a call")
}

fn prompt(name: String, arguments: Value) -> GetPromptRequestParams {
    serde_json::from_value(json!({"name": name, "arguments": arguments})).expect("a prompt")
}

async fn connect(to: &Value, mode: ClientLifecycleMode) -> Result<Client, String> {
    let caller = Caller { can_be_asked: to["steps"] == "exchange" };
    if let Some(url) = to["url"].as_str() {
        return caller.serve_with_lifecycle(StreamableHttpClientTransport::from_uri(url), mode).await.map_err(|error| error.to_string());
    }
    let words: Vec<&str> = to["command"].as_array().ok_or("this SDK has no client for that transport")?.iter().filter_map(Value::as_str).collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]);
    for (name, value) in to["env"].as_object().into_iter().flatten() {
        command.env(name, value.as_str().unwrap_or_default());
    }
    let child = TokioChildProcess::new(command).map_err(|error| error.to_string())?;
    caller.serve_with_lifecycle(child, mode).await.map_err(|error| error.to_string())
}

async fn exchange(client: &Client, to: &Value, legacy: bool) {
    let prefix = to["prefix"].as_str().unwrap_or_default();
    let named = |name: &str| format!("{prefix}{name}");
    take_with("progress", client.call_tool(call(named("test_tool_with_progress"), json!({}))).await, 3).await;
    let mut logged = call(named("test_tool_with_logging"), json!({}));
    if legacy {
        client.set_level(serde_json::from_value(json!({"level": "debug"})).expect("a level")).await.expect("logging/setLevel");
    } else {
        logged = serde_json::from_value(json!({"name": logged.name, "arguments": {}, "_meta": {"io.modelcontextprotocol/logLevel": "debug"}})).expect("a call");
    }
    take_with("log", client.call_tool(logged).await, LOG_LINES).await;
    take("sampling", client.call_tool(call(named("test_sampling"), json!({"prompt": "say it"}))).await);
    take("question", client.call_tool(call(named("test_elicitation"), json!({"message": "accept"}))).await);
    take("question that is declined", client.call_tool(call(named("test_elicitation"), json!({"message": "decline"}))).await);
    take("input required", client.call_tool(call(named("test_input_required_result_elicitation"), json!({}))).await);
    take("call that fails", client.call_tool(call(named("test_error_handling"), json!({}))).await);
    let uri = format!("{}test://nothing", to["uris"].as_str().unwrap_or_default());
    take("read of nothing", client.read_resource(ReadResourceRequestParams::new(uri)).await);
    take("prompt with a resource", client.get_prompt(prompt(named("test_prompt_with_embedded_resource"), json!({"resourceUri": "test://example"}))).await);
    take("call after that", client.call_tool(call(named("test_simple_text"), json!({}))).await);
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
    if to["steps"] == "exchange" {
        exchange(&client, &to, args[2] == "legacy").await;
        let _ = client.cancel().await;
        return;
    }
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
