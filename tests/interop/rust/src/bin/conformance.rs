//! conformance [PORT]: the server that the conformance suite expects, over the Rust SDK, in both eras: on stdio, or on HTTP at PORT.
//! Its definitions and fixed answers are in ../conformance.json. A tool cannot close the stream of its own call with this SDK.
#![allow(deprecated)] // the legacy era's methods are
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::model::*;
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleServer, SubscriptionContext, SubscriptionSink};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler, ServiceExt};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::HashSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const WATCHED: &str = "test://watched-resource";
const PAUSE: Duration = Duration::from_millis(50);

/// What all connections share.
struct Shared {
    data: Value,
    states: RequestStateCodec,
    shown: Mutex<HashSet<&'static str>>, // test_extra_tool, test_extra_prompt
    sessions: Mutex<Vec<Peer<RoleServer>>>,
    watchers: Mutex<Vec<Peer<RoleServer>>>,
    sinks: Mutex<Vec<SubscriptionSink>>,
}

#[derive(Clone)]
struct Fixture(Arc<Shared>);

/// A tool or prompt that asks: either it has its answers, or the client has to be asked.
enum Told {
    Answered(String),
    Ask(InputRequiredResult),
}

fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, ErrorData> {
    serde_json::from_value(value.clone()).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// A result as the SDK's own constructors make it; towards legacy clients the SDK leaves resultType out.
fn complete<T: DeserializeOwned>(result: &Value) -> Result<T, ErrorData> {
    let mut result = result.clone();
    result["resultType"] = json!("complete");
    typed(&result)
}

fn failed(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}

/// Replaces {name} in every string by that argument.
fn filled(value: &Value, arguments: &Map<String, Value>) -> Value {
    let mut text = value.to_string();
    for (name, argument) in arguments {
        let quoted = Value::from(argument.as_str().unwrap_or_default()).to_string();
        text = text.replace(&format!("{{{name}}}"), &quoted[1..quoted.len() - 1]);
    }
    serde_json::from_str(&text).expect("a string in place of another")
}

fn modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

/// The capability that a question needs, as a client declares it.
fn capability(question: &Value) -> &'static str {
    match question["method"].as_str() {
        Some("sampling/createMessage") => "sampling",
        Some("elicitation/create") => "elicitation",
        _ => "roots",
    }
}

impl Fixture {
    fn new() -> Self {
        let data = serde_json::from_str(include_str!("../../../conformance.json")).expect("JSON");
        Fixture(Arc::new(Shared {
            data,
            states: RequestStateCodec::new(*b"conformance-fixture-state-key-0123456789"),
            shown: Default::default(),
            sessions: Default::default(),
            watchers: Default::default(),
            sinks: Default::default(),
        }))
    }

    /// The definitions of a kind, without those that are switched off.
    fn listed<T: DeserializeOwned>(&self, kind: &str) -> Result<Vec<T>, ErrorData> {
        let shown = self.0.shown.lock().unwrap();
        let all = self.0.data[kind].as_array().expect("a list").iter();
        all.filter(|one| one["name"].as_str().is_some_and(|name| !name.starts_with("test_extra") || shown.contains(name))).map(typed).collect()
    }

    /// The questions of one round that this client can be asked; an error where one that is needed cannot.
    fn questions(&self, name: &str, round: usize, arguments: &Map<String, Value>, context: &RequestContext<RoleServer>) -> Result<Map<String, Value>, ErrorData> {
        let has = serde_json::to_value(context.client_capabilities().unwrap_or_default()).map_err(failed)?;
        let mut questions = filled(&self.0.data["questions"][name][round], arguments).as_object().cloned().unwrap_or_default();
        if name == "test_input_required_result_capabilities" {
            questions.retain(|_, question| has.get(capability(question)).is_some());
        }
        match questions.values().map(capability).find(|needed| has.get(needed).is_none()) {
            Some(needed) => Err(ErrorData::missing_required_client_capability(typed(&json!({needed: {}}))?)),
            None => Ok(questions),
        }
    }

    fn ask(&self, name: &str, round: usize, stateful: bool, questions: Map<String, Value>) -> Result<Told, ErrorData> {
        let sealed = match stateful {
            true => Some(self.0.states.seal_json(&json!([name, round])).map_err(failed)?),
            false => None,
        };
        Ok(Told::Ask(InputRequiredResult::new(Some(typed(&Value::Object(questions))?), sealed)))
    }

    /// One request of a modern client: which round it answers is in its state.
    fn one_round(&self, name: &str, arguments: &Map<String, Value>, responses: Option<InputResponses>, state: Option<String>, context: &RequestContext<RoleServer>) -> Result<Told, ErrorData> {
        let stateful = self.0.data["stateful"].as_array().expect("names").contains(&json!(name));
        let round = match state.filter(|_| stateful) {
            None => 0,
            Some(sealed) => match self.0.states.open_json::<(String, usize)>(&sealed) {
                Ok((owner, round)) if owner == name => round,
                _ => return Err(ErrorData::invalid_params("the request state is not what this server gave", None)),
            },
        };
        let questions = self.questions(name, round, arguments, context)?;
        let Some(responses) = responses.filter(|given| questions.keys().all(|key| given.get(key).is_some_and(Value::is_object))) else {
            return self.ask(name, round, stateful, questions);
        };
        if round + 1 < self.0.data["questions"][name].as_array().map_or(0, Vec::len) {
            return self.ask(name, round + 1, stateful, self.questions(name, round + 1, arguments, context)?);
        }
        Ok(Told::Answered(format!("{}{}", if stateful { "state-ok: " } else { "" }, json!(responses))))
    }

    /// A legacy client is asked while its request waits.
    async fn all_rounds(&self, name: &str, arguments: &Map<String, Value>, context: &RequestContext<RoleServer>) -> Result<Told, ErrorData> {
        let mut answers = Map::new();
        for round in 0..self.0.data["questions"][name].as_array().map_or(0, Vec::len) {
            for (key, question) in self.questions(name, round, arguments, context)? {
                let answer = context.peer.send_request(typed(&question)?).await.map_err(failed)?;
                answers.insert(key, serde_json::to_value(answer).map_err(failed)?);
            }
        }
        Ok(Told::Answered(format!("state-ok: {}", Value::Object(answers))))
    }

    async fn converse(&self, name: &str, arguments: &Map<String, Value>, responses: Option<InputResponses>, state: Option<String>, context: &RequestContext<RoleServer>) -> Result<Told, ErrorData> {
        match modern(context) {
            true => self.one_round(name, arguments, responses, state, context),
            false => self.all_rounds(name, arguments, context).await,
        }
    }

    async fn toggle(&self, extra: &'static str) {
        {
            let mut shown = self.0.shown.lock().unwrap();
            if !shown.remove(extra) {
                shown.insert(extra);
            }
        }
        let (sessions, sinks) = (self.0.sessions.lock().unwrap().clone(), self.0.sinks.lock().unwrap().clone());
        let tools = extra == "test_extra_tool";
        for peer in sessions {
            let _ = if tools { peer.notify_tool_list_changed().await } else { peer.notify_prompt_list_changed().await };
        }
        for sink in sinks {
            let _ = if tools { sink.notify_tool_list_changed().await } else { sink.notify_prompt_list_changed().await };
        }
    }

    async fn touch(&self) {
        let (watchers, sinks) = (self.0.watchers.lock().unwrap().clone(), self.0.sinks.lock().unwrap().clone());
        for peer in watchers {
            let _ = peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(WATCHED)).await;
        }
        for sink in sinks {
            let _ = sink.notify_resource_updated(WATCHED).await;
        }
    }
}

async fn log(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    for line in ["Tool execution started", "Tool processing data", "Tool execution completed"] {
        if !modern(context) || context.meta.log_level().is_some() {
            context.peer.notify_logging_message(LoggingMessageNotificationParam::new(LoggingLevel::Info, json!(line))).await.map_err(failed)?;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

async fn progress(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    let Some(token) = context.meta.get_progress_token() else { return Ok(()) };
    for done in [0.0, 50.0, 100.0] {
        context.peer.notify_progress(ProgressNotificationParam::new(token.clone(), done).with_total(100.0)).await.map_err(failed)?;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}

fn text(value: impl Into<String>) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(value)]).into()
}

impl ServerHandler for Fixture {
    fn get_info(&self) -> ServerConfig {
        let capabilities = json!({
            "tools": {"listChanged": true}, "prompts": {"listChanged": true}, "resources": {"subscribe": true, "listChanged": true}, "logging": {}, "completions": {},
        });
        ServerConfig::new(serde_json::from_value(capabilities).expect("capabilities")).with_server_info(Implementation::new("rust-conformance-fixture", "1.0.0"))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.0.sessions.lock().unwrap().push(context.peer);
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.listed("tools")?))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.listed("tools").ok()?.into_iter().find(|tool: &Tool| tool.name == name)
    }

    async fn call_tool(&self, request: CallToolRequestParams, context: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let (name, arguments) = (request.name.as_ref(), request.arguments.unwrap_or_default());
        if let Some(result) = self.0.data["calls"].get(name) {
            return Ok(complete::<CallToolResult>(result)?.into());
        }
        if self.0.data["questions"].get(name).is_some() {
            return Ok(match self.converse(name, &arguments, request.input_responses, request.request_state, &context).await? {
                Told::Answered(said) => text(said),
                Told::Ask(questions) => questions.into(),
            });
        }
        match name {
            "test_tool_with_logging" | "test_logging_tool" => log(&context).await?,
            "test_tool_with_progress" => progress(&context).await?,
            "test_trigger_tool_change" => self.toggle("test_extra_tool").await,
            "test_trigger_prompt_change" => self.toggle("test_extra_prompt").await,
            "test_trigger_resource_update" => self.touch().await,
            "test_reconnection" | "json_schema_2020_12_tool" | "test_x_mcp_header" | "test_extra_tool" => {}
            _ => return Err(ErrorData::invalid_params(format!("no tool {name}"), None)),
        }
        Ok(text(format!("{name} {}", Value::Object(arguments))))
    }

    async fn list_resources(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(self.listed("resources")?))
    }

    async fn list_resource_templates(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(self.listed("resourceTemplates")?))
    }

    async fn read_resource(&self, request: ReadResourceRequestParams, _: RequestContext<RoleServer>) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(result) = self.0.data["reads"].get(&request.uri) {
            return Ok(complete::<ReadResourceResult>(result)?.into());
        }
        let Some(id) = request.uri.strip_prefix("test://template/").and_then(|rest| rest.strip_suffix("/data")) else {
            return Err(ErrorData::resource_not_found("no such resource", Some(json!({"uri": request.uri}))));
        };
        let data = json!({"id": id, "templateTest": true, "data": format!("Data for ID: {id}")});
        Ok(ReadResourceResult::new(vec![ResourceContents::text(data.to_string(), request.uri).with_mime_type("application/json")]).into())
    }

    async fn subscribe(&self, request: SubscribeRequestParams, context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if request.uri == WATCHED {
            self.0.watchers.lock().unwrap().push(context.peer);
        }
        Ok(())
    }

    async fn unsubscribe(&self, _: UnsubscribeRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.get_info().capabilities))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.0.sinks.lock().unwrap().push(context.sink().clone());
        context.cancelled().await;
        self.0.sinks.lock().unwrap().retain(|sink| sink.id() != context.sink().id());
        Ok(())
    }

    async fn list_prompts(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(self.listed("prompts")?))
    }

    async fn get_prompt(&self, request: GetPromptRequestParams, context: RequestContext<RoleServer>) -> Result<GetPromptResponse, ErrorData> {
        let (name, arguments) = (request.name.as_str(), request.arguments.unwrap_or_default());
        if let Some(result) = self.0.data["gets"].get(name) {
            return Ok(complete::<GetPromptResult>(&filled(result, &arguments))?.into());
        }
        if name != "test_input_required_result_prompt" {
            return Err(ErrorData::invalid_params(format!("no prompt {name}"), None));
        }
        Ok(match self.converse(name, &arguments, request.input_responses, request.request_state, &context).await? {
            Told::Answered(said) => GetPromptResult::new(vec![PromptMessage::new_text(Role::User, said)]).into(),
            Told::Ask(questions) => questions.into(),
        })
    }

    async fn complete(&self, request: CompleteRequestParams, _: RequestContext<RoleServer>) -> Result<CompleteResult, ErrorData> {
        let known = ["paris", "park", "party", "peak"].into_iter().filter(|value| value.starts_with(&request.argument.value));
        Ok(CompleteResult::new(CompletionInfo::with_all_values(known.map(String::from).collect()).map_err(failed)?))
    }

    async fn set_level(&self, _: SetLevelRequestParams, _: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        Ok(())
    }
}

async fn serve_http(port: &str) -> Result<(), Box<dyn std::error::Error>> {
    let fixture = Fixture::new();
    let config = StreamableHttpServerConfig::default().with_allowed_origins(["http://127.0.0.1:*", "http://localhost:*"]);
    let service = StreamableHttpService::new(move || Ok(fixture.clone()), Arc::new(LocalSessionManager::default()), config);
    let listener = tokio::net::TcpListener::bind(format!("127.0.0.1:{port}")).await?;
    eprintln!("listening");
    loop {
        let (stream, _) = listener.accept().await?;
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if let Some(port) = std::env::args().nth(1) {
        return serve_http(&port).await;
    }
    Fixture::new().serve(rmcp::transport::stdio()).await?.waiting().await?;
    Ok(())
}
