//! The configuration of a session manager, and what it reports.

use std::sync::Arc;

use crate::configuration::Budget;
use crate::core;
use crate::limits::size;
use crate::mirror::mirror;
use crate::outcome::TerminationView;
use crate::prompt::Receipt;
use crate::shell::{SessionState, Submission};

/// The configuration of a session manager.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ManagerConfiguration {
    /// The directory of the session list. One process at a time can open it.
    pub state_directory: String,
    /// The maximum number of running sessions.
    #[uniffi(default = 64)]
    pub max_sessions: u64,
    /// How many ended sessions stay in the list.
    #[uniffi(default = 200)]
    pub keep_ended: u64,
    /// The directory of the conversation leases; within the state directory when absent.
    #[uniffi(default = None)]
    pub lease_directory: Option<String>,
    /// The agent's configuration directory; the agent's default when absent.
    #[uniffi(default = None)]
    pub agent_directory: Option<String>,
    /// What the dialogues of this run of the host may use together. At a limit each of them pauses and asks, and an
    /// answer to one is an answer to all. The time is that since the list was opened.
    #[uniffi(default = None)]
    pub budget: Option<Budget>,
}

/// The budget of all dialogues of a manager together.
#[derive(Clone, Debug, PartialEq, uniffi::Record)]
pub struct BudgetReport {
    /// The limits as they are now: answers to requests raise and remove them.
    pub limits: Budget,
    /// The cost of the dialogues of this run, in US dollars; absent if an agent has not reported that of its turns.
    pub cost_usd: Option<f64>,
    /// Tokens of all models: input, output and writes to a cache.
    pub tokens: u64,
    /// Turns.
    pub turns: u64,
    /// The time since the list was opened, in milliseconds.
    pub time_ms: u64,
}

impl From<&core::SharedBudget> for BudgetReport {
    fn from(budget: &core::SharedBudget) -> Self {
        let usage = budget.usage();
        Self {
            limits: budget.budget().into(),
            cost_usd: usage.cost_usd,
            tokens: usage.tokens,
            turns: usage.turns,
            time_ms: u64::try_from(usage.time.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl From<ManagerConfiguration> for core::ManagerConfiguration {
    fn from(it: ManagerConfiguration) -> Self {
        Self {
            max_sessions: size(it.max_sessions),
            keep_ended: size(it.keep_ended),
            lease_directory: it.lease_directory.map(Into::into),
            agent_directory: it.agent_directory.map(Into::into),
            budget: it.budget.map(Into::into).unwrap_or_default(),
            ..Self::new(it.state_directory)
        }
    }
}

mirror! {
    /// The kind of a session.
    SessionKind = core::SessionKind, else Shell {
        /// A program on a terminal, read as lines.
        Shell,
        /// An agent that speaks stream-json, read as a transcript.
        Dialogue,
    }
}

/// A session in a manager's list.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ManagedSession {
    /// The session's id, which does not change when the host restarts.
    pub id: String,
    /// The kind of session.
    pub kind: SessionKind,
    /// The host's label for the session.
    pub label: String,
    /// The working directory.
    pub cwd: String,
    /// When the session was created, in milliseconds since 1970.
    pub created_ms: u64,
    /// The session's state.
    pub state: SessionState,
    /// The process id of the program while it runs.
    pub pid: Option<u32>,
    /// The ids of the agent's conversations, oldest first.
    pub conversations: Vec<String>,
    /// Where the session runs, if that is a runner; a child process of the host when absent.
    pub runner: Option<RunnerLocation>,
    /// How the session ended, if it has.
    pub end: Option<ManagedEnd>,
    /// Whether the session has ended and has a conversation to resume.
    pub is_resumable: bool,
}

/// The place of a session that outlives its hosts.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct RunnerLocation {
    /// The runner's URL, without a token.
    pub url: String,
    /// The session's id there, for `Engine.attach` and `RunnerClient`.
    pub session: String,
}

/// What became of the sessions at runners.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ReattachReport {
    /// Sessions that continue here, with their transcripts.
    pub attached: Vec<String>,
    /// Sessions that have ended in the meantime, or that the runner no longer has.
    pub ended: Vec<String>,
    /// Sessions that are still detached.
    pub failed: Vec<ReattachFailure>,
}

/// A session that could not be attached to. It stays in the list.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ReattachFailure {
    /// The session's id.
    pub id: String,
    /// What failed and what to do next.
    pub reason: String,
}

/// How a managed session ended.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ManagedEnd {
    /// When the end was observed, in milliseconds since 1970.
    pub at_ms: u64,
    /// The exit code.
    pub code: Option<i32>,
    /// The signal that ended the program.
    pub signal: Option<i32>,
    /// Why the session ended.
    pub reason: EndReasonKind,
}

/// Why a managed session ended.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum EndReasonKind {
    /// The program exited.
    Exited,
    /// The host called `kill`.
    Killed,
    /// The host called `cleanup`, `endAll` or `detachAll`.
    Shutdown,
    /// The host died before the session ended. Its guard has ended the session's processes.
    HostLost,
    /// The runner no longer has the session, or its process there was killed.
    Lost,
    /// The agent continued another conversation than the one to resume and was terminated.
    NotResumed {
        /// What the agent did instead.
        text: String,
    },
}

/// The result of a prompt, by the kind of session.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum ManagerPrompt {
    /// The prompt was typed into a shell.
    Shell {
        /// The result.
        submission: Submission,
    },
    /// The prompt was sent to an agent.
    Dialogue {
        /// The prompt's receipt.
        receipt: Arc<Receipt>,
    },
}

/// A session that was killed.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct KilledSession {
    /// The session's last state.
    pub session: ManagedSession,
    /// What was terminated; absent if the session had ended before this run of the host.
    pub report: Option<TerminationView>,
}

/// A session that was ended together with others.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct SessionReport {
    /// The session's id.
    pub id: String,
    /// What was terminated.
    pub report: TerminationView,
}

/// The result of a shutdown.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ShutdownReport {
    /// The sessions that were terminated.
    pub sessions: Vec<SessionReport>,
    /// Why the list could not be written to disk, if so.
    pub list_error: Option<String>,
}

impl From<core::SessionInfo> for ManagedSession {
    fn from(it: core::SessionInfo) -> Self {
        Self {
            is_resumable: it.is_resumable(),
            id: it.id.to_string(),
            kind: it.kind.into(),
            label: it.label,
            cwd: it.cwd.to_string_lossy().into_owned(),
            created_ms: it.created_at.unix_ms(),
            state: it.state.into(),
            pid: it.pid,
            conversations: it.conversations,
            runner: it.runner.map(|runner| RunnerLocation {
                url: runner.url,
                session: runner.session.to_string(),
            }),
            end: it.end.map(|end| ManagedEnd {
                at_ms: end.at.unix_ms(),
                code: end.exit.code,
                signal: end.exit.signal,
                reason: end.reason.into(),
            }),
        }
    }
}

impl From<core::EndReason> for EndReasonKind {
    fn from(reason: core::EndReason) -> Self {
        match reason {
            core::EndReason::Killed => Self::Killed,
            core::EndReason::Shutdown => Self::Shutdown,
            core::EndReason::HostLost => Self::HostLost,
            core::EndReason::Lost => Self::Lost,
            core::EndReason::NotResumed(text) => Self::NotResumed { text },
            _ => Self::Exited,
        }
    }
}

pub(super) fn reports(all: Vec<(core::ManagedId, core::TerminationReport)>) -> Vec<SessionReport> {
    let report = |(id, report): (core::ManagedId, core::TerminationReport)| SessionReport {
        id: id.to_string(),
        report: report.into(),
    };
    all.into_iter().map(report).collect()
}

impl From<core::ShutdownReport> for ShutdownReport {
    fn from(report: core::ShutdownReport) -> Self {
        Self {
            sessions: reports(report.sessions),
            list_error: report.list_failed,
        }
    }
}

#[cfg(feature = "full")]
impl From<core::ReattachReport> for ReattachReport {
    fn from(report: core::ReattachReport) -> Self {
        let ids = |ids: Vec<core::ManagedId>| ids.iter().map(ToString::to_string).collect();
        let failed = report.failed.iter().map(|(id, error)| ReattachFailure {
            id: id.to_string(),
            reason: core::error_chain(error),
        });
        Self {
            failed: failed.collect(),
            attached: ids(report.attached),
            ended: ids(report.ended),
        }
    }
}
