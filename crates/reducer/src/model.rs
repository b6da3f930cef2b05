//! Neutral values of a transcript: what every agent's tools, requests and session have in common.
//!
//! They are modelled on ACP's draft of version 2 and on the items of Codex. A value is replaced as a
//! whole; its JSON is described in `SCHEMA.md`. An unknown value is `None` or empty, never 0.
//!
//! # Examples
//!
//! | example | types |
//! |---|---|
//! | [What a session shows](#what-a-session-shows) | [`PlanItem`], [`PlanState`], [`QueuedPrompt`], [`QueuedState`], [`Limit`], [`SessionOption`], [`Choice`], [`Command`], [`ToolKind`], [`Location`], [`Content`], [`RequestKind`], [`RequestOption`], [`AnswerKind`], [`Question`] |
//! | [Answers and sub-agents](#answers-and-sub-agents) | [`AnsweredBy`], [`QuestionKind`], [`QuestionOption`], [`ThreadState`], [`PlanPriority`] |
//!
//! ## What a session shows
//!
//! ```
//! use bowline_reducer::Transcript;
//! use bowline_reducer::model::{AnswerKind, Content, PlanState, QueuedState, RequestKind, ToolKind};
//!
//! fn print(transcript: &Transcript) {
//!     let session = transcript.session();
//!     let done = session.plan().iter().filter(|item| item.state == PlanState::Completed);
//!     println!("{} of {} steps done", done.count(), session.plan().len());
//!     let waiting = session.queue().filter(|prompt| prompt.state == QueuedState::Waiting);
//!     println!("{} prompts wait", waiting.count());
//!     for limit in session.limits() {
//!         println!("{}: {:?} used", limit.window, limit.used_share);
//!     }
//!     for option in session.options() {
//!         let choices = option.choices.iter().map(|choice| choice.name.as_str());
//!         println!("{}: {}", option.name, choices.collect::<Vec<_>>().join(", "));
//!     }
//!     for command in session.commands() {
//!         println!("/{}", command.name);
//!     }
//!     for call in transcript.main().tool_calls().iter() {
//!         let shown = call.shown();
//!         if shown.kind == Some(ToolKind::Edit) {
//!             shown.locations.iter().for_each(|it| println!("{}:{:?}", it.path, it.line));
//!         }
//!         for content in shown.content.iter() {
//!             match content {
//!                 Content::Diff { path, .. } => println!("changes {path}"),
//!                 Content::Terminal { command, .. } => println!("$ {command}"),
//!                 _ => {}
//!             }
//!         }
//!     }
//!     for request in transcript.pending_permissions() {
//!         let asked = request.asked();
//!         match asked.kind {
//!             RequestKind::Question => asked.questions.iter().for_each(|it| println!("{}", it.text)),
//!             _ => {
//!                 let once = asked.options.iter().find(|it| it.kind == AnswerKind::AllowOnce);
//!                 println!("to allow it: {:?}", once.map(|it| &it.id));
//!             }
//!         }
//!     }
//! }
//! # print(&Transcript::new());
//! ```
//!
//! ## Answers and sub-agents
//!
//! ```
//! use bowline_reducer::Transcript;
//! use bowline_reducer::model::{PlanPriority, Question, QuestionKind, ThreadState};
//!
//! /// Returns a question as a form would show it.
//! fn form(question: &Question) -> String {
//!     let mark = match question.kind {
//!         QuestionKind::Single => "( )",
//!         QuestionKind::Multiple => "[ ]",
//!         _ => return format!("{} ____", question.text),
//!     };
//!     let choices = question.options.iter().map(|option| format!("{mark} {}", option.name));
//!     format!("{} {}", question.text, choices.collect::<Vec<_>>().join(" "))
//! }
//!
//! fn print(transcript: &Transcript) {
//!     for request in transcript.permissions() {
//!         request.asked().questions.iter().for_each(|question| println!("{}", form(question)));
//!         if let Some(answer) = request.answered() {
//!             println!("answered with {:?} by {:?}", answer.how, answer.who);
//!         }
//!     }
//!     let waiting = |state| state == Some(ThreadState::RequiresAction);
//!     for thread in transcript.threads().filter(|thread| waiting(thread.state())) {
//!         println!("{:?} waits for an answer", thread.title());
//!     }
//!     let plan = transcript.session().plan().iter();
//!     println!("{} urgent steps", plan.filter(|step| step.priority == Some(PlanPriority::High)).count());
//! }
//! # print(&Transcript::new());
//! ```

mod call;
mod request;
mod session;

pub use call::{Content, Location, ToolKind};
pub use request::{
    AnswerKind, AnsweredBy, Question, QuestionKind, QuestionOption, RequestKind, RequestOption,
};
pub use session::{
    Choice, Command, Limit, PlanItem, PlanPriority, PlanState, QueuedPrompt, QueuedState,
    SessionOption, ThreadState,
};
