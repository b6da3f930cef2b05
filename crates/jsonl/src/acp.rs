//! The Agent Client Protocol, version 1 (PROTOCOL-acp.md): what an agent writes, and what a host writes.
//!
//! An agent's lines are [`AgentMessage`]s, a host's lines [`HostMessage`]s. Both borrow from a
//! [`Message`](crate::rpc::Message). A method, an update or a member that this module does not name is
//! kept as text. The functions of [`write`](mod@write) encode a host's lines.
//!
//! ```
//! use bowline_jsonl::{RawJson, acp::{AgentMessage, Update}, rpc::Message};
//!
//! let line = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":
//!     {"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"Ahoy"}}}}"#;
//! let line = line.replace('\n', " ");
//! let message = Message::parse(RawJson::parse(&line).unwrap()).unwrap();
//! let AgentMessage::Update(update) = AgentMessage::of(message) else { panic!() };
//! let Update::AgentMessage(chunk) = update.update() else { panic!() };
//! assert_eq!(chunk.content.text.unwrap(), "Ahoy");
//! ```
//!
//! # Examples
//!
//! | example | types |
//! |---|---|
//! | [Updates](#updates) | [`AgentMessage`], [`SessionUpdate`], [`Update`], [`Chunk`], [`ContentBlock`], [`Resource`], [`ToolCall`], [`ToolContent`], [`Location`], [`Meta`], [`ClaudeMeta`], [`TerminalOutput`], [`TerminalExit`], [`PlanEntry`], [`Command`], [`SessionInfo`], [`Patch`], [`UsageUpdate`], [`Cost`], [`Notice`], [`Compaction`], [`Subagent`], [`SubagentState`], [`SessionMessage`] |
//! | [Requests of an agent](#requests-of-an-agent) | [`PermissionRequest`], [`PermissionOption`], [`Elicitation`], [`PermissionAnswer`], [`PermissionOutcome`], [`ElicitationAnswer`] |
//! | [Results of requests](#results-of-requests) | [`Initialized`], [`AgentInfo`], [`AgentCapabilities`], [`PromptCapabilities`], [`McpCapabilities`], [`SessionCapabilities`], [`Opened`], [`Modes`], [`Mode`], [`ConfigOption`], [`ConfigChoice`], [`PromptResult`], [`PromptUsage`], [`SessionList`], [`ListedSession`] |
//! | [Lines of a host](#lines-of-a-host) | [`HostMessage`], [`SessionRequest`], [`SettingRequest`] |
//!
//! ## Updates
//!
//! ```
//! use bowline_jsonl::acp::{AgentMessage, ContentBlock, Patch, Update};
//! use bowline_jsonl::{RawJson, Str, rpc::Message};
//!
//! fn text(text: Option<Str<'_>>) -> String {
//!     text.map(|it| it.decode().into_owned()).unwrap_or_default()
//! }
//!
//! /// Returns the text of a block, or the place of what it holds.
//! fn block(block: &ContentBlock<'_>) -> String {
//!     match &block.resource {
//!         Some(resource) => text(resource.text.or(resource.uri)),
//!         None => text(block.text.or(block.uri)),
//!     }
//! }
//!
//! fn describe(update: &Update<'_>) -> String {
//!     match update {
//!         Update::AgentMessage(chunk) | Update::AgentThought(chunk) => block(&chunk.content),
//!         Update::ToolCall(call) | Update::ToolCallUpdate(call) => {
//!             let mut lines = vec![format!("{} ({})", text(call.title), text(call.status))];
//!             for content in call.content().into_iter().flatten() {
//!                 lines.push(block(&content.content));
//!             }
//!             for place in call.locations().into_iter().flatten() {
//!                 lines.push(format!("at {}:{:?}", text(place.path), place.line));
//!             }
//!             // What agents add to the protocol.
//!             lines.push(text(call.meta.claude.tool_name));
//!             lines.push(text(call.meta.terminal_output.data));
//!             if let Some(code) = call.meta.terminal_exit.exit_code {
//!                 lines.push(format!("exit code {code}"));
//!             }
//!             lines.retain(|line| !line.is_empty());
//!             lines.join("\n")
//!         }
//!         Update::Plan(steps) => steps.iter().map(|step| text(step.content)).collect(),
//!         Update::Commands(all) => all.iter().map(|command| format!("/{} ", text(command.name))).collect(),
//!         Update::SessionInfo(info) => match info.title {
//!             Patch::Set(title) => text(Some(title)),
//!             Patch::Clear => "untitled".to_owned(),
//!             Patch::Keep => String::new(),
//!         },
//!         Update::Usage(usage) => format!("{:?} of {:?} tokens, {:?}", usage.used, usage.size, usage.cost.amount),
//!         Update::Notice(notice) => format!("{}: {}", text(notice.severity), text(notice.title)),
//!         Update::Compaction(compaction) => text(compaction.summary),
//!         Update::Subagent(sub) => format!("{} is {}", text(sub.title), text(sub.state.state)),
//!         Update::SessionMessage(message) => message.content().map(|it| block(&it)).collect(),
//!         _ => String::new(),
//!     }
//! }
//!
//! let line = r#"{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{
//!     "sessionUpdate":"tool_call","toolCallId":"c","title":"Read a file","kind":"read","status":"pending",
//!     "locations":[{"path":"/a.txt","line":3}]}}}"#.replace('\n', " ");
//! let message = Message::parse(RawJson::parse(&line).unwrap()).unwrap();
//! let AgentMessage::Update(update) = AgentMessage::of(message) else { panic!() };
//! assert_eq!(describe(&update.update()), "Read a file (pending)\nat /a.txt:Some(3)");
//! ```
//!
//! ## Requests of an agent
//!
//! ```
//! use bowline_jsonl::acp::{AgentMessage, ElicitationAnswer, PermissionAnswer, write};
//! use bowline_jsonl::{RawJson, Str, rpc::Message};
//!
//! /// Returns the line that answers a request, if this host answers it.
//! fn answer(message: &AgentMessage<'_>) -> Option<Vec<u8>> {
//!     match message {
//!         AgentMessage::Permission(id, request) => {
//!             let once = |kind: Option<Str<'_>>| kind.is_some_and(|it| it == "allow_once");
//!             let option = request.options().find(|option| once(option.kind));
//!             let option = option.and_then(|it| it.option_id).map(Str::decode);
//!             Some(write::permission(*id, option.as_deref()))
//!         }
//!         AgentMessage::Elicitation(id, form) if form.requested_schema.is_some() => {
//!             Some(write::elicitation(*id, write::ElicitationAction::Decline))
//!         }
//!         _ => None,
//!     }
//! }
//!
//! let line = r#"{"id":7,"method":"session/request_permission","params":{"toolCall":{"toolCallId":"c"},
//!     "options":[{"optionId":"yes","name":"Allow","kind":"allow_once"}]}}"#.replace('\n', " ");
//! let message = Message::parse(RawJson::parse(&line).unwrap()).unwrap();
//! let line = String::from_utf8(answer(&AgentMessage::of(message)).unwrap()).unwrap();
//!
//! // The other direction: what a host has answered.
//! let Some(Message::Response { result: Ok(result), .. }) = Message::parse(RawJson::parse(line.trim()).unwrap())
//! else { panic!() };
//! assert_eq!(PermissionAnswer::parse(result).outcome.option_id.unwrap(), "yes");
//! let declined = RawJson::parse(r#"{"action":"decline"}"#).unwrap();
//! assert_eq!(ElicitationAnswer::parse(declined).action.unwrap(), "decline");
//! ```
//!
//! ## Results of requests
//!
//! ```
//! use bowline_jsonl::RawJson;
//! use bowline_jsonl::acp::{ConfigOption, Initialized, Mode, Opened, PromptResult, SessionList};
//!
//! let result = RawJson::parse(concat!(
//!     r#"{"protocolVersion":1,"agentInfo":{"name":"a","version":"2"},"agentCapabilities":"#,
//!     r#"{"loadSession":true,"promptCapabilities":{"image":true},"sessionCapabilities":{"list":{}}}}"#,
//! ));
//! let agent = Initialized::parse(result.unwrap());
//! assert_eq!(agent.agent_info.version.unwrap(), "2");
//! assert!(agent.capabilities.prompt.image && agent.capabilities.session.list);
//!
//! let result = RawJson::parse(concat!(
//!     r#"{"sessionId":"s","modes":{"currentModeId":"ask","availableModes":[{"id":"ask"}]},"#,
//!     r#""configOptions":[{"id":"model","type":"select","options":[{"value":"fast"},{"value":"best"}]}]}"#,
//! ));
//! let opened = Opened::parse(result.unwrap());
//! assert_eq!(opened.session_id.unwrap(), "s");
//! let modes: Vec<Mode<'_>> = opened.modes.available().collect();
//! assert_eq!(modes[0].id, opened.modes.current_mode_id);
//! let option = ConfigOption::list(opened.config_options.unwrap()).next().unwrap();
//! let choices: Vec<_> = option.choices().filter_map(|choice| choice.value).collect();
//! assert_eq!(choices, ["fast", "best"]);
//!
//! let result = RawJson::parse(r#"{"stopReason":"end_turn","usage":{"outputTokens":12}}"#);
//! let end = PromptResult::parse(result.unwrap());
//! assert_eq!(end.usage.unwrap().output_tokens, Some(12));
//!
//! let result = RawJson::parse(r#"{"sessions":[{"sessionId":"s","title":"Knots"}],"nextCursor":"2"}"#);
//! let page = SessionList::parse(result.unwrap());
//! assert_eq!(page.sessions().next().unwrap().title.unwrap(), "Knots");
//! assert!(page.next_cursor.is_some());
//! ```
//!
//! ## Lines of a host
//!
//! ```
//! use bowline_jsonl::acp::{HostMessage, write};
//! use bowline_jsonl::{PromptPart, RawJson, rpc::Message};
//!
//! fn describe(line: &[u8]) -> String {
//!     let line = std::str::from_utf8(line).unwrap().trim();
//!     match HostMessage::of(Message::parse(RawJson::parse(line).unwrap()).unwrap()) {
//!         HostMessage::Prompt(id, request) => {
//!             let texts = request.prompt().filter_map(|part| part.text);
//!             format!("{id}: {}", texts.map(|it| it.decode()).collect::<String>())
//!         }
//!         HostMessage::Set(id, setting) => format!("{id}: mode {}", setting.mode_id.unwrap().decode()),
//!         other => format!("{other:?}"),
//!     }
//! }
//!
//! let parts = [PromptPart::Text("Ahoy".to_owned())];
//! assert_eq!(describe(&write::prompt("1", "s", &parts)), "\"1\": Ahoy");
//! assert_eq!(describe(&write::set_mode("2", "s", "plan")), "\"2\": mode plan");
//! ```

mod message;
mod result;
mod unknown;
mod update;
pub mod write;

pub use message::{
    AgentMessage, Elicitation, ElicitationAnswer, HostMessage, PermissionAnswer, PermissionOption,
    PermissionOutcome, PermissionRequest, SessionRequest, SettingRequest,
};
pub use result::{
    AgentCapabilities, AgentInfo, ConfigChoice, ConfigOption, Initialized, ListedSession,
    McpCapabilities, Mode, Modes, Opened, PromptCapabilities, PromptResult, PromptUsage,
    SessionCapabilities, SessionList,
};
pub use update::{
    Chunk, ClaudeMeta, Command, Compaction, ContentBlock, Cost, Location, Meta, Notice, Patch,
    PlanEntry, Resource, SessionInfo, SessionMessage, SessionUpdate, Subagent, SubagentState,
    TerminalExit, TerminalOutput, ToolCall, ToolContent, Update, UsageUpdate,
};
