//! Manages many sessions of both kinds.

#[cfg(not(feature = "full"))]
mod absent;
mod records;

use std::sync::Arc;

use crate::configuration::{Budget, DialogueConfiguration};
use crate::core;
use crate::counters::ObjectKind;
use crate::error::Result;
use crate::prompt::Receipt;
use crate::remote::RunnerConfiguration;
use crate::runtime::{Tracked, call, uncancelled};
use crate::session::DialogueSession;
use crate::shell::{SessionEventStream, ShellConfiguration, ShellSession};
#[cfg(not(feature = "full"))]
use absent::AtRunners as _;
use records::reports;
pub use records::{
    BudgetReport, EndReasonKind, KilledSession, ManagedEnd, ManagedSession, ManagerConfiguration,
    ManagerPrompt, ReattachFailure, ReattachReport, RunnerLocation, SessionKind, SessionReport,
    ShutdownReport,
};

/// Manages many sessions of both kinds in a list that survives restarts of the host.
///
/// Releasing the last handle kills the sessions that are child processes of the host. Those at a runner
/// continue.
#[derive(uniffi::Object)]
pub struct SessionManager {
    manager: Tracked<core::SessionManager>,
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
    ) -> Result<Arc<Self>> {
        let manager = core::SessionManager::open(configuration.into())?;
        Ok(Arc::new(Self {
            manager: Tracked::new(ObjectKind::Manager, manager),
            guard,
            program,
        }))
    }

    fn with_defaults(&self, mut configuration: DialogueConfiguration) -> DialogueConfiguration {
        configuration.program = configuration.program.or_else(|| self.program.clone());
        configuration.guard = configuration.guard.or_else(|| self.guard.clone());
        configuration
    }
}

#[uniffi::export]
impl SessionManager {
    /// Returns the problems that were found in the list when it was opened.
    pub fn warnings(&self) -> Result<Vec<String>> {
        call(|| {
            let warnings = self.manager.warnings().iter();
            Ok(warnings.map(ToString::to_string).collect())
        })
    }

    /// Returns the limits of all dialogues together, and what they have used of them.
    pub fn budget(&self) -> Result<BudgetReport> {
        call(|| Ok(self.manager.budget().into()))
    }

    /// Sets the limits of all dialogues together; none removes them. Dialogues that paused at a limit that is not
    /// reached any more continue.
    ///
    /// # Errors
    ///
    /// `Invalid` if a limit is not above 0.
    pub fn set_budget(&self, budget: Option<Budget>) -> Result<()> {
        let budget = budget.map(Into::into).unwrap_or_default();
        call(|| Ok(self.manager.budget().set_budget(budget)?))
    }

    /// Starts a shell session, locally or at a runner, and adds it to the list.
    ///
    /// # Errors
    ///
    /// `Busy` if the session limit is reached; `Start` if the program or the runner cannot be started
    /// or reached; `Ended` after `endAll` or `detachAll`.
    pub async fn create_shell(
        &self,
        mut configuration: ShellConfiguration,
        label: String,
    ) -> Result<ManagedSession> {
        let manager = self.manager.clone();
        configuration.guard = configuration.guard.or_else(|| self.guard.clone());
        uncancelled(async move {
            let runner = configuration.runner.take();
            let created = match runner {
                None => {
                    manager
                        .create_shell(configuration.try_into()?, label)
                        .await?
                }
                Some(runner) => {
                    let remote = runner.try_into()?;
                    let created =
                        manager.create_shell_at(&remote, configuration.try_into()?, label);
                    created.await?
                }
            };
            Ok(created.into())
        })
        .await
    }

    /// Starts an agent and adds its session to the list.
    ///
    /// # Errors
    ///
    /// As `createShell`, and as `Engine.start`.
    pub async fn create_dialogue(
        &self,
        configuration: DialogueConfiguration,
        label: String,
    ) -> Result<ManagedSession> {
        let manager = self.manager.clone();
        let configuration = self.with_defaults(configuration);
        uncancelled(async move {
            let configuration = configuration.prepared().await?;
            Ok(manager.create_dialogue(configuration, label).await?.into())
        })
        .await
    }

    /// Resumes the last conversation of an ended session under the same id and in the same directory.
    ///
    /// # Errors
    ///
    /// As `createDialogue`. If the call fails, no new conversation was started.
    pub async fn resume(
        &self,
        id: String,
        configuration: DialogueConfiguration,
    ) -> Result<ManagedSession> {
        let manager = self.manager.clone();
        let configuration = self.with_defaults(configuration);
        let (id, configuration) = (id.parse()?, configuration.try_into()?);
        uncancelled(async move { Ok(manager.resume(id, configuration).await?.into()) }).await
    }

    /// Returns the current state of a session, or nothing if it is not in the list.
    ///
    /// # Errors
    ///
    /// `Invalid` if the id is not valid.
    pub fn session(&self, id: String) -> Result<Option<ManagedSession>> {
        call(|| Ok(self.manager.get(id.parse()?).map(Into::into)))
    }

    /// Returns the current state of all sessions, oldest first.
    pub fn sessions(&self) -> Result<Vec<ManagedSession>> {
        call(|| Ok(self.manager.list().into_iter().map(Into::into).collect()))
    }

    /// Returns the handle of a shell session.
    ///
    /// # Errors
    ///
    /// `NotFound` if the session is not in the list; `Invalid` if it is a dialogue; `Ended` if it was
    /// started by an earlier run of the host; `Disconnected` if it runs at a runner and is not attached to.
    pub fn shell(&self, id: String) -> Result<Arc<ShellSession>> {
        call(|| Ok(ShellSession::known(self.manager.shell(id.parse()?)?)))
    }

    /// Returns the handle of a dialogue session.
    ///
    /// # Errors
    ///
    /// `NotFound` if the session is not in the list; `Invalid` if it is a shell; `Ended` if it was
    /// started by an earlier run of the host; `Disconnected` if it runs at a runner and is not attached to.
    pub fn dialogue(&self, id: String) -> Result<Arc<DialogueSession>> {
        call(|| Ok(DialogueSession::known(self.manager.dialogue(id.parse()?)?)))
    }

    /// Sends a prompt to a session: types and submits it in a shell, or sends it to an agent.
    ///
    /// # Errors
    ///
    /// As `shell`, and as `DialogueSession.send`.
    pub async fn send_prompt(&self, id: String, prompt: String) -> Result<ManagerPrompt> {
        let (manager, id) = (self.manager.clone(), id.parse()?);
        uncancelled(async move {
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

    /// Changes the label of a session.
    ///
    /// # Errors
    ///
    /// `NotFound` if the session is not in the list.
    pub fn set_label(&self, id: String, label: String) -> Result<()> {
        call(|| Ok(self.manager.set_label(id.parse()?, label)?))
    }

    /// Terminates a session and its descendants, and removes it from the list.
    ///
    /// # Errors
    ///
    /// `NotFound` if the session is not in the list.
    pub async fn kill(&self, id: String) -> Result<KilledSession> {
        let (manager, id) = (self.manager.clone(), id.parse()?);
        uncancelled(async move {
            let killed = manager.kill(id).await?;
            Ok(KilledSession {
                session: killed.info.into(),
                report: killed.report.map(Into::into),
            })
        })
        .await
    }

    /// Returns a stream of the events of all sessions from now on, including sessions that are
    /// created later.
    pub fn event_stream(&self) -> Result<Arc<SessionEventStream>> {
        call(|| Ok(SessionEventStream::new(self.manager.subscribe())))
    }

    /// Waits until the current list is written to disk.
    ///
    /// # Errors
    ///
    /// `Io` if it cannot be written.
    pub async fn flush(&self) -> Result<()> {
        let manager = self.manager.clone();
        uncancelled(async move { Ok(manager.flush().await?) }).await
    }

    /// Terminates all sessions at once and keeps them in the list. New ones can be created.
    pub async fn cleanup(&self) -> Result<Vec<SessionReport>> {
        let manager = self.manager.clone();
        uncancelled(async move { Ok(reports(manager.cleanup().await)) }).await
    }

    /// Terminates all sessions, those at runners included, writes the list to disk and refuses new sessions from
    /// then on. A session that the host is not attached to continues.
    pub async fn end_all(&self) -> Result<ShutdownReport> {
        let manager = self.manager.clone();
        uncancelled(async move { Ok(manager.end_all().await.into()) }).await
    }

    /// Detaches from the sessions at runners, which continue, terminates the others, writes the list to disk and
    /// refuses new sessions from then on. The next run of the host calls `reattach`.
    pub async fn detach_all(&self) -> Result<ShutdownReport> {
        let manager = self.manager.clone();
        uncancelled(async move { Ok(manager.detach_all().await.into()) }).await
    }

    /// Attaches to all sessions of the list that run at these runners and that the host is not attached to, such as
    /// those of an earlier run that was killed. Returns when their transcripts are complete.
    ///
    /// A session at a runner that is not given or cannot be reached stays in the list as detached; only what the
    /// runner no longer has is lost. `configuration` has the settings of the attachments, as for `Engine.attach`.
    ///
    /// # Errors
    ///
    /// `Configuration` if a URL or the configuration is not valid.
    #[uniffi::method(default(configuration = None))]
    pub async fn reattach(
        &self,
        runners: Vec<RunnerConfiguration>,
        configuration: Option<DialogueConfiguration>,
    ) -> Result<ReattachReport> {
        let manager = self.manager.clone();
        let runners = runners.into_iter().map(TryInto::try_into);
        let runners: Vec<core::Remote> = runners.collect::<Result<_>>()?;
        let configuration = match configuration {
            Some(configuration) => self.with_defaults(configuration).try_into()?,
            None => core::DialogueConfiguration::default(),
        };
        uncancelled(async move { Ok(manager.reattach(&runners, configuration).await.into()) }).await
    }

    /// Returns the text that the host has stored with a session.
    ///
    /// # Errors
    ///
    /// `NotFound` if the session is not in the list; `Io` if the text cannot be read.
    pub async fn metadata(&self, id: String) -> Result<Option<String>> {
        let (manager, id) = (self.manager.clone(), id.parse()?);
        uncancelled(async move { Ok(manager.metadata(id).await?) }).await
    }

    /// Stores text with a session, of the host's own format and at most 64 KiB; nothing removes it. It is on disk
    /// when the call returns, and at the runner too for a session at one.
    ///
    /// # Errors
    ///
    /// `NotFound` if the session is not in the list; `Invalid` if the text is too large; `Io` if it cannot be
    /// written; `Refused` if only the runner does not have it.
    pub async fn set_metadata(&self, id: String, metadata: Option<String>) -> Result<()> {
        let (manager, id) = (self.manager.clone(), id.parse()?);
        uncancelled(async move { Ok(manager.set_metadata(id, metadata).await?) }).await
    }
}
