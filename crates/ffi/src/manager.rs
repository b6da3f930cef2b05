//! Many sessions of both kinds.

use std::sync::Arc;

use crate::core;

use crate::configuration::{DialogueConfiguration, size};
use crate::counters::Kind;
use crate::error::Outcome;
use crate::mirror::mirror;
use crate::outcome::TerminationView;
use crate::prompt::Receipt;
use crate::runtime::{Held, call, finish};
use crate::session::DialogueSession;
use crate::shell::{
    SessionEventStream, SessionState, ShellConfiguration, ShellSession, Submission,
};

/// What a session manager is made from.
#[derive(Clone, Debug, uniffi::Record)]
pub struct ManagerConfiguration {
    /// Where the list is kept. One host at a time.
    pub state_folder: String,
    /// Most living sessions at once.
    #[uniffi(default = 64)]
    pub max_sessions: u64,
    /// Ended sessions that stay in the list.
    #[uniffi(default = 200)]
    pub keep_ended: u64,
    /// Where the leases of conversations are kept; in the state folder when absent.
    #[uniffi(default = None)]
    pub lease_folder: Option<String>,
    /// The agent's own folder; its usual one when absent.
    #[uniffi(default = None)]
    pub agent_folder: Option<String>,
}

impl From<ManagerConfiguration> for core::ManagerConfiguration {
    fn from(it: ManagerConfiguration) -> Self {
        Self {
            max_sessions: size(it.max_sessions),
            keep_ended: size(it.keep_ended),
            lease_folder: it.lease_folder.map(Into::into),
            agent_folder: it.agent_folder.map(Into::into),
            ..Self::new(it.state_folder)
        }
    }
}

mirror! {
    /// What kind a session is.
    SessionKind = core::SessionKind, else Shell {
        /// A program on a terminal, told as lines.
        Shell,
        /// An agent that speaks its protocol, told as a transcript.
        Dialogue,
    }
}

/// What is known of one session.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ManagedSession {
    /// Its name, over restarts of the host.
    pub id: String,
    /// What kind it is.
    pub kind: SessionKind,
    /// The host's word for it.
    pub label: String,
    /// Its working directory.
    pub cwd: String,
    /// When it was made, in milliseconds since 1970.
    pub created_ms: u64,
    /// What it is doing.
    pub state: SessionState,
    /// The process id of its program, while it lives.
    pub pid: Option<u32>,
    /// The agent's ids for its conversations, oldest first.
    pub conversations: Vec<String>,
    /// How it ended, if it has.
    pub end: Option<ManagedEnd>,
    /// Whether it has ended and has a conversation to go on with.
    pub is_resumable: bool,
}

/// How a session ended.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ManagedEnd {
    /// When it was seen, in milliseconds since 1970.
    pub at_ms: u64,
    /// Its exit code.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Why.
    pub reason: EndReasonKind,
}

/// Why a session ended.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Enum)]
pub enum EndReasonKind {
    /// Its program ended by itself.
    Exited,
    /// The host killed it.
    Killed,
    /// The host shut down.
    Shutdown,
    /// The host died without shutting down; nobody saw the end.
    HostLost,
    /// The agent went on elsewhere than it was asked to, and was terminated for it.
    NotResumed {
        /// In words.
        text: String,
    },
}

/// What became of a prompt, by the kind of its session.
#[derive(Clone, Debug, uniffi::Enum)]
pub enum ManagerPrompt {
    /// It was typed into a shell, or refused.
    Shell {
        /// What became of it.
        submission: Submission,
    },
    /// It was sent to a dialogue.
    Dialogue {
        /// What becomes of it.
        receipt: Arc<Receipt>,
    },
}

/// What is left of a session that was killed.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct KilledSession {
    /// The session as it was at its end.
    pub info: ManagedSession,
    /// What was killed; absent if it had ended in an earlier run of the host.
    pub report: Option<TerminationView>,
}

/// A session that was ended together with others.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct SessionReport {
    /// The session.
    pub id: String,
    /// What was killed, and whether anything survived.
    pub report: TerminationView,
}

/// What became of the sessions of a host that shut down.
#[derive(Clone, Debug, PartialEq, Eq, uniffi::Record)]
pub struct ShutdownReport {
    /// Each session that was alive.
    pub sessions: Vec<SessionReport>,
    /// Why the list on disk does not say so, if it does not.
    pub list_failed: Option<String>,
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
            core::EndReason::NotResumed(text) => Self::NotResumed { text },
            _ => Self::Exited,
        }
    }
}

fn reports(all: Vec<(core::ManagedId, core::TerminationReport)>) -> Vec<SessionReport> {
    let one = |(id, report): (core::ManagedId, core::TerminationReport)| SessionReport {
        id: id.to_string(),
        report: report.into(),
    };
    all.into_iter().map(one).collect()
}

/// Many sessions of both kinds, by name: listed, typed into, ended, and remembered over restarts.
#[derive(uniffi::Object)]
pub struct SessionManager {
    manager: Held<core::SessionManager>,
    guard: Option<String>,
    program: Option<String>,
}

impl std::fmt::Debug for SessionManager {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Debug::fmt(&*self.manager, f)
    }
}

impl SessionManager {
    pub(crate) fn open(
        configuration: ManagerConfiguration,
        program: Option<String>,
        guard: Option<String>,
    ) -> Outcome<Arc<Self>> {
        let manager = core::SessionManager::open(configuration.into())?;
        Ok(Arc::new(Self {
            manager: Held::new(Kind::Manager, manager),
            guard,
            program,
        }))
    }

    fn dialogue_of(
        &self,
        mut configuration: DialogueConfiguration,
    ) -> Outcome<core::DialogueConfiguration> {
        configuration.program = configuration.program.or_else(|| self.program.clone());
        configuration.guard = configuration.guard.or_else(|| self.guard.clone());
        configuration.try_into()
    }
}

#[uniffi::export]
impl SessionManager {
    /// What was wrong with the list when it was opened.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn warnings(&self) -> Outcome<Vec<String>> {
        call(|| {
            Ok(self
                .manager
                .warnings()
                .iter()
                .map(ToString::to_string)
                .collect())
        })
    }

    /// Makes a shell session, here or at a runner.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Busy`](crate::BowlineError::Busy) when as many run as may,
    /// [`BowlineError::Start`](crate::BowlineError::Start).
    pub async fn create_shell(
        &self,
        mut configuration: ShellConfiguration,
        label: String,
    ) -> Outcome<ManagedSession> {
        let manager = self.manager.clone();
        configuration.guard = configuration.guard.or_else(|| self.guard.clone());
        finish(async move {
            let runner = configuration.runner.take();
            let made = match runner {
                None => manager.create_shell(configuration.into(), label).await?,
                Some(runner) => {
                    let remote = runner.try_into()?;
                    let made = manager.create_shell_at(&remote, configuration.into(), label);
                    made.await?
                }
            };
            Ok(made.into())
        })
        .await
    }

    /// Makes a dialogue.
    ///
    /// # Errors
    ///
    /// As [`create_shell`](Self::create_shell), and
    /// [`BowlineError::Resume`](crate::BowlineError::Resume).
    pub async fn create_dialogue(
        &self,
        configuration: DialogueConfiguration,
        label: String,
    ) -> Outcome<ManagedSession> {
        let manager = self.manager.clone();
        let configuration = self.dialogue_of(configuration)?;
        finish(async move { Ok(manager.create_dialogue(configuration, label).await?.into()) }).await
    }

    /// Goes on with the last conversation of a session that has ended, in its directory and under
    /// its name.
    ///
    /// # Errors
    ///
    /// As [`create_dialogue`](Self::create_dialogue). No conversation was begun.
    pub async fn resume(
        &self,
        id: String,
        configuration: DialogueConfiguration,
    ) -> Outcome<ManagedSession> {
        let manager = self.manager.clone();
        let (id, configuration) = (id.parse()?, self.dialogue_of(configuration)?);
        finish(async move { Ok(manager.resume(id, configuration).await?.into()) }).await
    }

    /// One session, as it is now.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Invalid`](crate::BowlineError::Invalid) when the id is none.
    pub fn session(&self, id: String) -> Outcome<Option<ManagedSession>> {
        call(|| Ok(self.manager.get(id.parse()?).map(Into::into)))
    }

    /// Every session, oldest first, as they are now.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn sessions(&self) -> Outcome<Vec<ManagedSession>> {
        call(|| Ok(self.manager.list().into_iter().map(Into::into).collect()))
    }

    /// The handle of a shell of this run.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`](crate::BowlineError::NotFound),
    /// [`BowlineError::Invalid`](crate::BowlineError::Invalid) for a dialogue,
    /// [`BowlineError::Ended`](crate::BowlineError::Ended) in an earlier run.
    pub fn shell(&self, id: String) -> Outcome<Arc<ShellSession>> {
        call(|| Ok(ShellSession::new(self.manager.shell(id.parse()?)?)))
    }

    /// The handle of a dialogue of this run.
    ///
    /// # Errors
    ///
    /// As [`shell`](Self::shell).
    pub fn dialogue(&self, id: String) -> Outcome<Arc<DialogueSession>> {
        call(|| Ok(DialogueSession::new(self.manager.dialogue(id.parse()?)?)))
    }

    /// Sends a prompt to a session: typed and submitted in a shell, as a message in a dialogue.
    ///
    /// # Errors
    ///
    /// As [`shell`](Self::shell), and what the dialogue says against it.
    pub async fn send_prompt(&self, id: String, prompt: String) -> Outcome<ManagerPrompt> {
        let (manager, id) = (self.manager.clone(), id.parse()?);
        finish(async move {
            Ok(match manager.send_prompt(id, &prompt).await? {
                core::PromptOutcome::Shell(submission) => ManagerPrompt::Shell {
                    submission: submission.into(),
                },
                core::PromptOutcome::Dialogue(receipt) => ManagerPrompt::Dialogue {
                    receipt: Receipt::new(receipt),
                },
            })
        })
        .await
    }

    /// Gives a session another label.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`](crate::BowlineError::NotFound).
    pub fn set_label(&self, id: String, label: String) -> Outcome<()> {
        call(|| Ok(self.manager.set_label(id.parse()?, label)?))
    }

    /// Ends a session with all that it started, and takes it off the list.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`](crate::BowlineError::NotFound).
    pub async fn kill(&self, id: String) -> Outcome<KilledSession> {
        let (manager, id) = (self.manager.clone(), id.parse()?);
        finish(async move {
            let killed = manager.kill(id).await?;
            Ok(KilledSession {
                info: killed.info.into(),
                report: killed.report.map(Into::into),
            })
        })
        .await
    }

    /// What all sessions tell from now on, those to come included.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn events(&self) -> Outcome<Arc<SessionEventStream>> {
        call(|| Ok(SessionEventStream::of(self.manager.subscribe())))
    }

    /// Waits until the list as it is now is on disk.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Io`](crate::BowlineError::Io).
    pub async fn flush(&self) -> Outcome<()> {
        let manager = self.manager.clone();
        finish(async move { Ok(manager.flush().await?) }).await
    }

    /// Ends every session, all at once, and keeps them in the list. New ones may be made.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn cleanup(&self) -> Outcome<Vec<SessionReport>> {
        let manager = self.manager.clone();
        finish(async move { Ok(reports(manager.cleanup().await)) }).await
    }

    /// Makes no more sessions, ends every one, and waits until the list on disk says so.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub async fn shutdown(&self) -> Outcome<ShutdownReport> {
        let manager = self.manager.clone();
        finish(async move {
            let report = manager.shutdown().await;
            Ok(ShutdownReport {
                sessions: reports(report.sessions),
                list_failed: report.list_failed,
            })
        })
        .await
    }
}
