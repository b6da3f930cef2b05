//! Bowline for Swift and Kotlin, exported with UniFFI.
//!
//! This crate has no logic of its own: it exports the sessions of the Rust API in types that UniFFI can
//! represent.
//!
//! * Streams are **pulled** in batches by cursor. Reading does not consume, so a cancelled reader
//!   continues from its last cursor without losing or repeating anything.
//! * Every call fails with [`BowlineError`], which has a `reason`. A panic becomes its `Internal` case.
//! * Calls run on a tokio runtime of this crate. Dropping the future of a waiting call ends it, as the
//!   generated code does when a task or coroutine is cancelled. [`Cancellation`] ends calls from outside.
//! * Callbacks are rare: log lines, tokens and terminals of the host. They run on threads of this crate
//!   and no lock is held during a call.
//!
//! Docs of exported items name parameters as Swift and Kotlin do (`maxCount`).
//!
//! The generated bindings and the hand-written Swift and Kotlin code are in `bindings/`.
#![cfg_attr(
    not(feature = "full"),
    expect(
        unreachable_code,
        unused_variables,
        clippy::needless_question_mark,
        clippy::useless_conversion,
        reason = "the stand-ins of what is left out have no values and no errors of their own"
    )
)]

#[cfg(not(feature = "full"))]
mod absent;
mod agent;
mod bundle;
mod cancellation;
mod capability;
mod change;
mod change_reader;
mod change_stream;
mod configuration;
mod core;
mod counters;
mod cursor;
mod diagnostics;
mod engine;
mod environment;
mod error;
mod event_stream;
mod events;
mod executor;
mod history;
mod hooks;
mod inbox;
mod limits;
mod logging;
mod login;
mod manager;
mod mcp;
mod mirror;
mod options;
mod outcome;
mod permission;
mod prompt;
mod raw_output;
mod recording;
mod recording_fold;
mod registry;
mod remote;
mod runner;
mod runtime;
mod session;
mod shell;
mod snapshot;
mod started;
mod watchdog;

pub use agent::{AgentCapabilities, AgentFeature, AgentVersion, InstalledAgent, UnknownOption};
pub use bundle::Redaction;
pub use cancellation::Cancellation;
pub use capability::Capability;
pub use change::{
    AgentCommand, AnswerKind, BlockKind, ByteRange, CallContent, CallState, Change, ChangeBatch,
    ContextView, DecidedBy, EntryDetail, EntryErrorKind, EntryKind, FileLocation, MessageState,
    ModelUsage, OptionChoice, PermissionState, PermissionView, Phase, PlanItem, PlanPriority,
    PlanState, QuestionChoice, QuestionKind, QueuedPrompt, QueuedState, RequestKind, RequestOption,
    RequestQuestion, SessionOption, SessionView, StatsView, SubagentView, TaskState, TaskView,
    ThreadState, ThreadView, TokenUsage, ToolCallView, ToolKind, ToolResultView, TurnOutcome,
    UnknownCount, UsageLimit, UsageView,
};
pub use change_stream::ChangeStream;
pub use configuration::{
    Budget, Conversation, DialogueConfiguration, DialogueStdio, PolicySource, TranscriptWindow,
};
pub use diagnostics::{
    ContainmentView, LiveCounters, PanicLocation, api_revision, force_panic, library_version,
    live_counters, probe_containment,
};
pub use engine::{Engine, EngineConfiguration};
pub use environment::{
    ContainmentLevel, EnvironmentChanges, ExitPolicy, SignalKind, TerminalSize, TerminationPolicy,
};
pub use error::BowlineError;
pub use events::{
    ActivitySource, ConnectionBatch, ConnectionStream, ConnectionView, DialogueEvent,
    DialogueEventBatch, DialogueEventItem, DialogueEventKind, DialogueEventStream, EventLimits,
    LastActivity, SilenceView, WorkPhase,
};
pub use executor::{
    CommandOutcome, EvidenceKind, ExecutorCommand, ExecutorConfiguration, HostTerminal,
    HostTerminalCommand, TerminalExecutor, TerminalOutput,
};
pub use history::{
    History, HistoryConfiguration, HistoryListing, HistoryProblem, HistoryQuery, PastConversation,
};
pub use hooks::{
    HookBackend, HookBatch, HookConfiguration, HookEvent, HookEventItem, HookForwardReport,
    HookGate, HookHelper, HookLimits, HookQuestion, HookQuestionBatch, HookQuestionStream,
    HookReply, HookReport, HookRoute, HookServer, HookStream, HookVariables, ToolVerdict,
    common_hook_kinds, merge_settings,
};
pub use inbox::{AttentionReason, InboxBatch, InboxEvent, InboxStream};
pub use logging::{LogLevel, LogLine, LogSink, set_logging};
pub use login::{LoginEnvironmentView, LoginShellQuery, LoginSource};
pub use manager::{
    BudgetReport, EndReasonKind, KilledSession, ManagedEnd, ManagedSession, ManagerConfiguration,
    ManagerPrompt, ReattachFailure, ReattachReport, RunnerLocation, SessionKind, SessionManager,
    SessionReport, ShutdownReport,
};
pub use mcp::{McpServer, McpTransport};
pub use options::{
    AgentDocument, AgentOptions, AgentText, Effort, PermissionPrompts, SettingSource,
    SkipPermissions, Thinking,
};
pub use outcome::{DialogueEnd, ExitView, StderrView, TerminationView};
pub use permission::{
    PermissionAnswer, PermissionKind, PermissionRecord, Question, QuestionAnswer, QuestionOption,
    RequestState,
};
pub use prompt::{
    InterruptReport, InterruptScope, Priority, Prompt, PromptPart, QueueChange, Receipt,
    ReceiptState, SourceData,
};
pub use raw_output::{OutputKind, RawBatch, RawPiece, RawStream};
pub use recording::Recording;
pub use registry::{MetricsView, SessionPermission, TerminalEntry, TombstoneEntry};
pub use remote::{ClientIdentity, RunnerConfiguration, TokenProvider};
pub use runner::{RunnerClient, RunnerSession, RunnerSessionChange, RunnerSessionState};
pub use session::{DialogueSession, SessionWithEvents};
pub use shell::{
    SessionEvent, SessionEventBatch, SessionEventStream, SessionState, ShellConfiguration,
    ShellProgram, ShellSession, Submission, SubmissionOutcome, SubmitOptions,
};
pub use snapshot::{SnapshotPage, TranscriptSchema, TranscriptSnapshot};
pub use watchdog::{SilenceLimit, WatchdogPolicy};

uniffi::setup_scaffolding!();
