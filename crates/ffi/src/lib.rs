//! Bowline for Swift and Kotlin, by way of UniFFI.
//!
//! This crate has no behaviour of its own: it lends the lifecycle's sessions to hosts that are not
//! written in Rust, in the shapes that cross a language border well.
//!
//! * Whatever streams is **pulled** in batches, by a cursor that takes nothing away: a reader that
//!   was cancelled asks again with the cursor that it had, and nothing is lost or told twice.
//! * Every export gives a [`BowlineError`] with a `reason`; a panic inside is one of them.
//! * Work runs in a runtime of this crate. Waiting is given up when the caller's future is dropped,
//!   and for callers whose language does not drop futures, by a [`Cancellation`].
//! * Callbacks are few: log lines, and a terminal that the host shows. They are made from threads of
//!   this crate, one after another, and under no lock.
//!
//! The generated sources and the surfaces that are written on top of them are in `bindings/`.

mod cancellation;
mod change;
mod changes;
mod configuration;
mod core;
mod counters;
mod diagnostics;
mod engine;
mod environment;
mod error;
mod events;
mod executor;
mod feed;
mod hooks;
mod logging;
mod login;
mod manager;
mod mirror;
mod options;
mod outcome;
mod permission;
mod prompt;
mod recording;
mod registry;
mod remote;
mod runner;
mod runtime;
mod session;
mod shell;
mod snapshot;
mod watchdog;

pub use cancellation::Cancellation;
pub use change::{
    BlockKind, CallState, Change, ChangeBatch, EntryErrorKind, EntryKind, MessageState, ModelUsage,
    Outcome, PermissionState, PermissionView, Phase, SessionView, StatsView, SubagentView,
    TaskState, TaskView, ToolCallView, ToolResultView, UnknownCount, UsageView,
};
pub use changes::ChangeStream;
pub use configuration::{Conversation, DialogueConfiguration, DialogueStdio, TranscriptWindow};
pub use counters::{LiveCounters, live_counters};
pub use diagnostics::{
    ContainmentView, PanicPlace, api_revision, force_panic, library_version, probe_containment,
};
pub use engine::{Engine, EngineConfiguration};
pub use environment::{ContainmentLevel, EndLadder, EnvironmentChanges, SignalKind, TerminalSize};
pub use error::BowlineError;
pub use events::{
    ActivitySource, ConnectionView, DialogueEvent, DialogueEventBatch, DialogueEventKind,
    DialogueEventStream, EventLimits, HeardDialogueEvent, LastActivity, SilenceView, WorkPhase,
};
pub use executor::{
    CommandOutcome, EvidenceKind, ExecutorCommand, ExecutorConfiguration, HostTerminal,
    HostTerminalCommand, TerminalExecutor, TerminalOutput,
};
pub use hooks::{
    HookBackend, HookBatch, HookConfiguration, HookEvent, HookForwardReport, HookGate, HookHelper,
    HookLimits, HookNews, HookQuestion, HookQuestionBatch, HookQuestionStream, HookReply,
    HookReport, HookRoute, HookServer, HookStream, HookVariables, ToolVerdict, common_hook_kinds,
    merge_settings,
};
pub use logging::{LogLevel, LogLine, LogSink, set_logging};
pub use login::{LoginEnvironmentView, LoginShellQuery, LoginSource};
pub use manager::{
    EndReasonKind, KilledSession, ManagedEnd, ManagedSession, ManagerConfiguration, ManagerPrompt,
    SessionKind, SessionManager, SessionReport, ShutdownReport,
};
pub use options::{
    AgentDocument, AgentOptions, AgentText, Effort, PermissionPrompts, SettingSource,
    SkipPermissions, Thinking,
};
pub use outcome::{Ended, ExitView, StderrView, TerminationView};
pub use permission::{
    PermissionAnswer, PermissionKind, PermissionRecord, Question, QuestionAnswer, QuestionOption,
    RequestState,
};
pub use prompt::{
    InterruptScope, Interrupted, Priority, Prompt, PromptPart, Receipt, ReceiptState, SourceData,
};
pub use recording::Recording;
pub use registry::{MetricsView, SessionPermission, TerminalEntry, TombstoneEntry};
pub use remote::{ClientIdentity, RunnerConfiguration, TokenProvider};
pub use runner::{RunnerClient, RunnerSession, RunnerSessionState};
pub use session::{DialogueSession, HeardSession};
pub use shell::{
    SessionEvent, SessionEventBatch, SessionEventStream, SessionState, ShellConfiguration,
    ShellProgram, ShellSession, Submission, SubmissionOutcome, SubmitOptions,
};
pub use snapshot::{SnapshotPage, TranscriptSnapshot};
pub use watchdog::{SilenceLimit, WatchdogConfiguration};

uniffi::setup_scaffolding!();
