//! `codex app-server` (PROTOCOL-codex.md): what Codex writes, and what a host writes.
//!
//! Codex' lines are [`ServerMessage`]s, a host's lines [`ClientMessage`]s. Both borrow from a
//! [`Message`](crate::rpc::Message). A method, an item or a member that this module does not name is kept
//! as text. The functions of [`write`](mod@write) encode a host's lines.
//!
//! ```
//! use bowline_jsonl::{RawJson, codex::ServerMessage, rpc::Message};
//!
//! let line = r#"{"method":"item/agentMessage/delta","params":{"threadId":"t","itemId":"i","delta":"Ahoy"}}"#;
//! let message = Message::parse(RawJson::parse(line).unwrap()).unwrap();
//! let ServerMessage::TextDelta(delta) = ServerMessage::of(message) else { panic!() };
//! assert_eq!(delta.delta.unwrap(), "Ahoy");
//! ```
//!
//! # Examples
//!
//! | example | types |
//! |---|---|
//! | [Lines of Codex](#lines-of-codex) | [`ServerMessage`], [`Thread`], [`ThreadStatus`], [`TurnLine`], [`Turn`], [`TurnError`], [`ItemLine`], [`Item`], [`CommandAction`], [`FileChange`], [`FileChangeKind`], [`AgentState`], [`ItemDelta`], [`TurnPlan`], [`PlanStep`], [`TokenUsage`], [`TokenCounts`], [`Tokens`], [`RateLimits`], [`LimitWindow`], [`ServerNotice`] |
//! | [Requests of Codex](#requests-of-codex) | [`Approval`], [`Questions`], [`Question`], [`QuestionOption`], [`ApprovalAnswer`], [`UserInputAnswer`] |
//! | [Lines of a host](#lines-of-a-host) | [`ClientMessage`], [`ThreadRequest`], [`TurnRequest`], [`UserInput`], [`ThreadOpened`] |
//!
//! ## Lines of Codex
//!
//! ```
//! use bowline_jsonl::codex::{Item, ServerMessage};
//! use bowline_jsonl::{RawJson, Str, rpc::Message};
//!
//! fn text(text: Option<Str<'_>>) -> String {
//!     text.map(|it| it.decode().into_owned()).unwrap_or_default()
//! }
//!
//! fn item(item: &Item<'_>) -> String {
//!     match &*text(item.kind) {
//!         "commandExecution" => {
//!             let read = item.command_actions().filter_map(|action| action.path);
//!             let files = read.map(|path| path.decode().into_owned()).collect::<Vec<_>>();
//!             format!("$ {} ({}): {:?}", text(item.command), files.join(", "), item.exit_code)
//!         }
//!         "fileChange" => {
//!             let changes = item.changes().map(|it| format!("{} {}", text(it.kind.kind), text(it.path)));
//!             changes.collect::<Vec<_>>().join(", ")
//!         }
//!         "collabAgentToolCall" => {
//!             let agents = item.agents_states().map(|(thread, it)| format!("{}: {}", thread.decode(), text(it.status)));
//!             agents.collect::<Vec<_>>().join(", ")
//!         }
//!         _ => text(item.text),
//!     }
//! }
//!
//! fn describe(message: &ServerMessage<'_>) -> String {
//!     match message {
//!         ServerMessage::ThreadStarted(thread) => format!("thread {} in {}", text(thread.id), text(thread.cwd)),
//!         ServerMessage::ThreadName(status) => text(status.thread_name),
//!         ServerMessage::TurnCompleted(line) => match line.turn.error.message {
//!             Some(error) => format!("the turn failed: {}", error.decode()),
//!             None => format!("the turn took {:?} ms", line.turn.duration_ms),
//!         },
//!         ServerMessage::ItemCompleted(line) => item(&line.item),
//!         ServerMessage::TextDelta(delta) => text(delta.delta),
//!         ServerMessage::Plan(plan) => {
//!             let steps = plan.steps().map(|step| format!("{} ({})", text(step.step), text(step.status)));
//!             steps.collect::<Vec<_>>().join(", ")
//!         }
//!         ServerMessage::TokenUsage(line) => {
//!             format!("{:?} of {:?} tokens", line.usage.total.total, line.usage.model_context_window)
//!         }
//!         ServerMessage::RateLimits(limits) => {
//!             format!("{:?} %", limits.primary.as_ref().and_then(|window| window.used_percent))
//!         }
//!         ServerMessage::Notice(kind, notice) => format!("{}: {}", kind.decode(), text(notice.message)),
//!         _ => String::new(),
//!     }
//! }
//!
//! let line = r#"{"method":"item/completed","params":{"threadId":"t","turnId":"u","item":{"type":"fileChange",
//!     "id":"i","changes":[{"path":"a.txt","kind":{"type":"update"},"diff":""}]}}}"#.replace('\n', " ");
//! let message = Message::parse(RawJson::parse(&line).unwrap()).unwrap();
//! assert_eq!(describe(&ServerMessage::of(message)), "update a.txt");
//! ```
//!
//! ## Requests of Codex
//!
//! ```
//! use bowline_jsonl::codex::{ApprovalAnswer, ServerMessage, UserInputAnswer, write};
//! use bowline_jsonl::{RawJson, rpc::Message};
//!
//! /// Returns the line that answers a request, if this host answers it.
//! fn answer(message: &ServerMessage<'_>) -> Option<Vec<u8>> {
//!     match message {
//!         ServerMessage::Approval(id, _, asked) if asked.command.is_some() => {
//!             Some(write::approval(*id, write::ApprovalDecision::AcceptForSession))
//!         }
//!         ServerMessage::Questions(id, asked) => {
//!             let question = asked.questions().next()?;
//!             let (name, option) = (question.id?.decode(), question.options().next()?.label?.decode());
//!             Some(write::answers(*id, &[(&*name, &[&*option])]))
//!         }
//!         _ => None,
//!     }
//! }
//!
//! fn answered(request: &str) -> String {
//!     let message = Message::parse(RawJson::parse(request).unwrap()).unwrap();
//!     String::from_utf8(answer(&ServerMessage::of(message)).unwrap()).unwrap()
//! }
//!
//! let command = answered(r#"{"id":0,"method":"item/commandExecution/requestApproval","params":{"command":"ls"}}"#);
//! let question = answered(
//!     r#"{"id":1,"method":"item/tool/requestUserInput","params":{"questions":[{"id":"q","options":[{"label":"Red"}]}]}}"#,
//! );
//!
//! // The other direction: what a host has answered.
//! let result = |line: &'static str| match Message::parse(RawJson::parse(line.trim()).unwrap()) {
//!     Some(Message::Response { result: Ok(result), .. }) => result,
//!     other => panic!("{other:?}"),
//! };
//! let decision = ApprovalAnswer::parse(result(command.leak())).decision.unwrap();
//! assert_eq!(decision.as_str().unwrap(), "acceptForSession");
//! assert!(UserInputAnswer::parse(result(question.leak())).answers.unwrap().text().contains("Red"));
//! ```
//!
//! ## Lines of a host
//!
//! ```
//! use bowline_jsonl::codex::{ClientMessage, ThreadOpened, write};
//! use bowline_jsonl::{PromptPart, RawJson, rpc::Message};
//!
//! fn describe(line: &[u8]) -> String {
//!     let line = std::str::from_utf8(line).unwrap().trim();
//!     match ClientMessage::of(Message::parse(RawJson::parse(line).unwrap()).unwrap()) {
//!         ClientMessage::OpenThread(id, method, thread) => {
//!             format!("{id}: {} in {}", method.decode(), thread.cwd.unwrap().decode())
//!         }
//!         ClientMessage::StartTurn(id, turn) => {
//!             let texts = turn.input().filter_map(|input| input.text);
//!             format!("{id}: {}", texts.map(|it| it.decode()).collect::<String>())
//!         }
//!         other => format!("{other:?}"),
//!     }
//! }
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let settings = write::ThreadSettings { cwd: Some("/tmp"), ..write::ThreadSettings::default() };
//! assert_eq!(describe(&write::start_thread("1", &settings)), "\"1\": thread/start in /tmp");
//! // Codex answers with the thread.
//! let result = RawJson::parse(r#"{"thread":{"id":"t"},"model":"m"}"#).unwrap();
//! assert_eq!(ThreadOpened::parse(result).unwrap().thread.id.unwrap(), "t");
//!
//! let parts = [PromptPart::Text("Ahoy".to_owned())];
//! let line = write::start_turn("2", "t", "p", &parts, &write::TurnSettings::default())?;
//! assert_eq!(describe(&line), "\"2\": Ahoy");
//! # Ok(())
//! # }
//! ```

mod client;
mod item;
mod server;
mod unknown;
pub mod write;

pub use client::{
    ApprovalAnswer, ClientMessage, ThreadRequest, TurnRequest, UserInput, UserInputAnswer,
};
pub use item::{AgentState, CommandAction, FileChange, FileChangeKind, Item};
pub use server::{
    Approval, ItemDelta, ItemLine, LimitWindow, PlanStep, Question, QuestionOption, Questions,
    RateLimits, ServerMessage, ServerNotice, Thread, ThreadOpened, ThreadStatus, TokenCounts,
    TokenUsage, Tokens, Turn, TurnError, TurnLine, TurnPlan,
};
