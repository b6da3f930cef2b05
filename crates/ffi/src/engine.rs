//! The entry point: starts sessions and lists those of this process.

use std::sync::Arc;

use crate::agent::{self, InstalledAgent};
use crate::configuration::DialogueConfiguration;
use crate::core::reducer::dialect::DialectName;
use crate::core::{self, TerminalRegistry};
use crate::environment::EnvironmentChanges;
use crate::error::{BowlineError, Result};
use crate::events::{DialogueEventStream, EventLimits};
use crate::executor::{ExecutorConfiguration, HostTerminal, TerminalExecutor};
use crate::history::{History, HistoryConfiguration};
use crate::hooks::{HookConfiguration, HookServer};
use crate::inbox::InboxStream;
use crate::login::{self, LoginEnvironmentView, LoginShellQuery};
use crate::manager::{ManagerConfiguration, SessionManager};
use crate::permission::PermissionAnswer;
use crate::recording::Recording;
use crate::recording_fold::RecordingFold;
use crate::registry::{MetricsView, SessionPermission, TerminalEntry, TombstoneEntry};
use crate::remote::RunnerConfiguration;
#[cfg(not(feature = "full"))]
use crate::remote::absent::{AttachDialogue as _, AttachShell as _};
use crate::runner::RunnerClient;
use crate::runtime::{abortable, call, uncancelled};
use crate::session::{DialogueSession, SessionWithEvents};
use crate::shell::{ShellConfiguration, ShellSession};

/// Defaults for everything that an engine starts.
#[derive(Clone, Debug, Default, uniffi::Record)]
pub struct EngineConfiguration {
    /// The agent's path, or a name to look up in `PATH`; `claude` when absent.
    #[uniffi(default = None)]
    pub program: Option<String>,
    /// The path of `bowline`, run as a guard that terminates sessions if the host is killed. When absent
    /// it is the program that the variable `BOWLINE_GUARD` names, or else a `bowline` of this library's
    /// version beside the host's program or in `PATH`. If there is none a warning is logged once.
    #[uniffi(default = None)]
    pub guard: Option<String>,
}

/// Starts sessions and lists those of this process.
///
/// An engine holds defaults only. Releasing it ends no session.
#[derive(Debug, uniffi::Object)]
pub struct Engine {
    configuration: EngineConfiguration,
}

#[uniffi::export]
impl Engine {
    /// Creates an engine with the given defaults.
    #[uniffi::constructor(default(configuration = None))]
    #[must_use]
    pub fn new(configuration: Option<EngineConfiguration>) -> Arc<Self> {
        Arc::new(Self {
            configuration: configuration.unwrap_or_default(),
        })
    }

    /// Starts an agent.
    ///
    /// If the call fails or is cancelled, no process is left behind, also not at a runner.
    ///
    /// # Errors
    ///
    /// `Start` if the agent or the runner cannot be started or reached; `Configuration` if the
    /// configuration is not valid; `Resume` if the conversation does not exist; `Io` if the recording
    /// cannot be created.
    pub async fn start(
        &self,
        configuration: DialogueConfiguration,
    ) -> Result<Arc<DialogueSession>> {
        let configuration = self.with_defaults(configuration);
        uncancelled(async move {
            let session = core::DialogueSession::start(configuration.prepared().await?).await?;
            Ok(DialogueSession::started(session))
        })
        .await
    }

    /// Starts an agent like `start`, with an event stream that misses no event.
    ///
    /// # Errors
    ///
    /// As `start`.
    #[uniffi::method(default(limits = None))]
    pub async fn start_with_events(
        &self,
        configuration: DialogueConfiguration,
        limits: Option<EventLimits>,
    ) -> Result<SessionWithEvents> {
        let configuration = self.with_defaults(configuration);
        let limits = limits.map(Into::into).unwrap_or_default();
        uncancelled(async move {
            let configuration = configuration.prepared().await?;
            let started = core::DialogueSession::start_with_events(configuration, limits);
            let (session, events) = started.await?;
            Ok(SessionWithEvents {
                session: DialogueSession::started(session),
                events: DialogueEventStream::new(events),
            })
        })
        .await
    }

    /// Attaches to a dialogue session at a runner, for example after a restart of the host.
    ///
    /// `session` is the id that `DialogueSession.id` or `RunnerClient.sessions` returns. The transcript
    /// contains everything since the agent's start, after the past of a conversation that it resumed. Settings of `configuration` that only affect the
    /// start of an agent are ignored.
    ///
    /// # Errors
    ///
    /// `Configuration` if the URL or the id is not valid; `Start` if the runner cannot be reached,
    /// rejects the token or does not have the session; `Io` if the recording cannot be created.
    pub async fn attach(
        &self,
        runner: RunnerConfiguration,
        session: String,
        configuration: DialogueConfiguration,
    ) -> Result<Arc<DialogueSession>> {
        let configuration = self.with_defaults(configuration).try_into()?;
        let (remote, session) = (runner.try_into()?, parse_id(&session)?);
        uncancelled(async move {
            let session = core::DialogueSession::attach(&remote, session, configuration).await?;
            Ok(DialogueSession::attached(session))
        })
        .await
    }

    /// Attaches like `attach`, with an event stream that has every event since the agent's start.
    ///
    /// # Errors
    ///
    /// As `attach`.
    #[uniffi::method(default(limits = None))]
    pub async fn attach_with_events(
        &self,
        runner: RunnerConfiguration,
        session: String,
        configuration: DialogueConfiguration,
        limits: Option<EventLimits>,
    ) -> Result<SessionWithEvents> {
        let configuration = self.with_defaults(configuration).try_into()?;
        let (remote, session) = (runner.try_into()?, parse_id(&session)?);
        let limits = limits.map(Into::into).unwrap_or_default();
        uncancelled(async move {
            let attached =
                core::DialogueSession::attach_with_events(&remote, session, configuration, limits);
            let (session, events) = attached.await?;
            Ok(SessionWithEvents {
                session: DialogueSession::attached(session),
                events: DialogueEventStream::new(events),
            })
        })
        .await
    }

    /// Finds the agent on this machine and runs it with `--version`, which may take seconds. The result is
    /// remembered until the program's file changes.
    ///
    /// `program` is a path, or a name to look up in `PATH`; the engine's when absent. Cancelling the call
    /// ends the program.
    ///
    /// # Errors
    ///
    /// `Start` if the agent is not found, or prints no version within 20 s.
    #[uniffi::method(default(program = None, environment = None))]
    pub async fn find_agent(
        &self,
        program: Option<String>,
        environment: Option<EnvironmentChanges>,
    ) -> Result<InstalledAgent> {
        let program = program.or_else(|| self.configuration.program.clone());
        abortable(agent::find(program, environment.unwrap_or_default())).await
    }

    /// Returns the environment of the user's login shell.
    ///
    /// Use it for hosts that were not started from a shell, such as desktop apps, whose `PATH` is
    /// incomplete. The shell runs once; later calls return the cached result. If the shell fails, the
    /// result is the host's own environment and lists the failures.
    #[uniffi::method(default(query = None))]
    pub async fn login_environment(
        &self,
        query: Option<LoginShellQuery>,
    ) -> Result<LoginEnvironmentView> {
        abortable(async move { Ok(login::capture(query.unwrap_or_default()).await) }).await
    }

    /// Starts a shell or another interactive program on a terminal, locally or at a runner.
    ///
    /// If the call fails or is cancelled, no process is left behind, also not at a runner.
    ///
    /// # Errors
    ///
    /// `Start` if the program or the runner cannot be started or reached; `Configuration` if the
    /// configuration is not valid.
    pub async fn start_shell(
        &self,
        mut configuration: ShellConfiguration,
    ) -> Result<Arc<ShellSession>> {
        configuration.guard = configuration
            .guard
            .or_else(|| self.configuration.guard.clone());
        uncancelled(ShellSession::start(configuration)).await
    }

    /// Attaches to a shell at a runner, for example after a restart of the host.
    ///
    /// `session` is the id that `ShellSession.terminal` or `RunnerClient.sessions` returns. Output
    /// begins with the oldest bytes that the runner has kept. Settings of `configuration` that only
    /// affect the start of a program are ignored.
    ///
    /// # Errors
    ///
    /// As `attach`.
    pub async fn attach_shell(
        &self,
        runner: RunnerConfiguration,
        session: String,
        configuration: ShellConfiguration,
    ) -> Result<Arc<ShellSession>> {
        let (remote, session) = (runner.try_into()?, parse_id(&session)?);
        uncancelled(async move {
            let attached = core::ShellSession::attach(&remote, session, configuration.try_into()?);
            Ok(ShellSession::known(attached.await?))
        })
        .await
    }

    /// Returns a client that lists and ends the sessions of a runner. Opens no connection yet.
    ///
    /// # Errors
    ///
    /// `Configuration` if the URL or a certificate digest is not valid.
    pub fn runner(&self, runner: RunnerConfiguration) -> Result<Arc<RunnerClient>> {
        call(|| RunnerClient::new(runner))
    }

    /// Starts a server that receives the hooks of an agent.
    ///
    /// # Errors
    ///
    /// `Start` if no port can be opened; `Configuration` if the configuration is not valid.
    pub async fn start_hooks(&self, configuration: HookConfiguration) -> Result<Arc<HookServer>> {
        uncancelled(async move {
            let server = core::HookServer::start(configuration.try_into()?).await?;
            Ok(HookServer::new(server))
        })
        .await
    }

    /// Starts an executor that runs agent commands in `terminal`, or in a terminal of the library if
    /// it is absent.
    ///
    /// # Errors
    ///
    /// `Start` if the hook server cannot be started; `Configuration` if the configuration is not
    /// valid.
    #[uniffi::method(default(terminal = None))]
    pub async fn start_executor(
        &self,
        configuration: ExecutorConfiguration,
        terminal: Option<Arc<dyn HostTerminal>>,
    ) -> Result<Arc<TerminalExecutor>> {
        let agent = self.configuration.program.clone();
        uncancelled(TerminalExecutor::start(configuration, agent, terminal)).await
    }

    /// Opens a session manager and reads its list of sessions.
    ///
    /// # Errors
    ///
    /// `Busy` if another process has opened the list; `Io` if it cannot be read.
    pub async fn open_manager(
        &self,
        configuration: ManagerConfiguration,
    ) -> Result<Arc<SessionManager>> {
        let EngineConfiguration { program, guard } = self.configuration.clone();
        uncancelled(async move { SessionManager::open(configuration, program, guard) }).await
    }

    /// Opens a recorded stream at `path`: a file with JSON lines or a journal, optionally
    /// gzip-compressed, or the folder of a journal.
    ///
    /// `dialect` is the agent's protocol, such as `claude`, `codex` or `acp`; when absent it is recognized
    /// by the first lines.
    ///
    /// # Errors
    ///
    /// `NotFound` if the file does not exist; `Io` if it cannot be read; `Invalid` if there is no such
    /// dialect.
    #[uniffi::method(default(dialect = None))]
    pub async fn open_recording(
        &self,
        path: String,
        dialect: Option<String>,
    ) -> Result<Arc<Recording>> {
        uncancelled(async move {
            let dialect = dialect.map(|name| name.parse::<DialectName>());
            let dialect = dialect
                .transpose()
                .map_err(|error| BowlineError::invalid(error.to_string()))?;
            Ok(Recording::new(RecordingFold::open(path, dialect)?))
        })
        .await
    }

    /// Returns the conversations that agents keep on this machine. Reads nothing yet.
    #[uniffi::method(default(configuration = None))]
    pub fn history(&self, configuration: Option<HistoryConfiguration>) -> Result<Arc<History>> {
        call(|| Ok(History::new(configuration.unwrap_or_default())))
    }

    /// Returns the running terminals of this process, oldest first.
    pub fn terminals(&self) -> Result<Vec<TerminalEntry>> {
        call(|| {
            let terminals = TerminalRegistry::shared().list().into_iter();
            Ok(terminals.map(Into::into).collect())
        })
    }

    /// Returns how the last 256 terminals of this process ended, oldest first.
    pub fn tombstones(&self) -> Result<Vec<TombstoneEntry>> {
        call(|| {
            let tombstones = TerminalRegistry::shared().tombstones().into_iter();
            Ok(tombstones.map(Into::into).collect())
        })
    }

    /// Returns totals over all sessions since the process started.
    pub fn metrics(&self) -> Result<MetricsView> {
        call(|| Ok(TerminalRegistry::shared().metrics().into()))
    }

    /// Returns the open permission requests of all sessions.
    pub fn open_permissions(&self) -> Result<Vec<SessionPermission>> {
        call(|| {
            let open = TerminalRegistry::shared().open_permissions().into_iter();
            Ok(open.map(Into::into).collect())
        })
    }

    /// Returns a stream of the permission requests of all sessions of this process, local and at runners,
    /// and of what else needs attention. Answer with `respond`.
    pub fn inbox_stream(&self) -> Result<Arc<InboxStream>> {
        call(|| Ok(InboxStream::new(TerminalRegistry::shared().inbox())))
    }

    /// Answers a permission request of the session with the id `session`.
    ///
    /// `answeredBy` names the person or program that decided; it appears in the permission record.
    ///
    /// # Errors
    ///
    /// `Ended` if no such session is running; otherwise as `DialogueSession.respond`.
    #[uniffi::method(default(answered_by = None))]
    pub async fn respond(
        &self,
        session: String,
        request_id: String,
        answer: PermissionAnswer,
        answered_by: Option<String>,
    ) -> Result<()> {
        uncancelled(async move {
            let registry = TerminalRegistry::shared();
            let mut ids = registry.list().into_iter().map(|it| it.id);
            let id = ids.find(|it| it.to_string() == session);
            let id = id.ok_or_else(|| BowlineError::Ended {
                reason: format!(
                    "answer {request_id}: no session {session} is running; call terminals() for a list"
                ),
            })?;
            Ok(registry
                .answer_permission(id, &request_id, answer, answered_by)
                .await?)
        })
        .await
    }
}

impl Engine {
    fn with_defaults(&self, mut configuration: DialogueConfiguration) -> DialogueConfiguration {
        let EngineConfiguration { program, guard } = self.configuration.clone();
        configuration.program = configuration.program.or(program);
        configuration.guard = configuration.guard.or(guard);
        configuration
    }
}

fn parse_id(text: &str) -> Result<core::SessionId> {
    text.parse().map_err(|_| BowlineError::Configuration {
        reason: format!(
            "attach to {text:?}: not a session id; take one from RunnerClient.sessions()"
        ),
    })
}
