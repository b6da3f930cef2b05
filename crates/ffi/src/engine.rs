//! Where sessions are made and found.

use std::sync::Arc;

use crate::core::{self, TerminalRegistry};

use crate::configuration::DialogueConfiguration;
use crate::error::{BowlineError, Outcome};
use crate::events::{DialogueEventStream, EventLimits};
use crate::executor::{ExecutorConfiguration, HostTerminal, TerminalExecutor};
use crate::hooks::{HookConfiguration, HookServer};
use crate::login::{self, LoginEnvironmentView, LoginShellQuery};
use crate::manager::{ManagerConfiguration, SessionManager};
use crate::permission::PermissionAnswer;
use crate::recording::Recording;
use crate::registry::{MetricsView, SessionPermission, TerminalEntry, TombstoneEntry};
use crate::remote::RunnerConfiguration;
use crate::runner::RunnerClient;
use crate::runtime::{call, finish, wait};
use crate::session::{DialogueSession, HeardSession};
use crate::shell::{ShellConfiguration, ShellSession};

/// What holds for everything that an engine makes, unless its own configuration says otherwise.
#[derive(Clone, Debug, Default, uniffi::Record)]
pub struct EngineConfiguration {
    /// The agent: a name that is looked up in `PATH`, or a path; `claude` when absent.
    #[uniffi(default = None)]
    pub program: Option<String>,
    /// A program that ends sessions if the host is killed: `bowline`, as a path.
    #[uniffi(default = None)]
    pub guard: Option<String>,
}

/// Makes sessions, and finds those of this process. It holds nothing alive.
#[derive(Debug, uniffi::Object)]
pub struct Engine {
    configuration: EngineConfiguration,
}

#[uniffi::export]
impl Engine {
    /// An engine with these defaults.
    #[uniffi::constructor(default(configuration = None))]
    #[must_use]
    pub fn new(configuration: Option<EngineConfiguration>) -> Arc<Self> {
        Arc::new(Self {
            configuration: configuration.unwrap_or_default(),
        })
    }

    /// Starts an agent. When an error comes back, nothing was started.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Start`], [`BowlineError::Configuration`] and [`BowlineError::Io`].
    pub async fn start(
        &self,
        configuration: DialogueConfiguration,
    ) -> Outcome<Arc<DialogueSession>> {
        let configuration = self.completed(configuration);
        finish(async move {
            let session = core::DialogueSession::start(configuration.try_into()?).await?;
            Ok(DialogueSession::new(session))
        })
        .await
    }

    /// As [`start`](Self::start), with a stream of events that hears of everything from the
    /// beginning.
    ///
    /// # Errors
    ///
    /// As [`start`](Self::start).
    #[uniffi::method(default(limits = None))]
    pub async fn start_heard(
        &self,
        configuration: DialogueConfiguration,
        limits: Option<EventLimits>,
    ) -> Outcome<HeardSession> {
        let configuration = self.completed(configuration).try_into()?;
        let limits = limits.map(Into::into).unwrap_or_default();
        finish(async move {
            let started = core::DialogueSession::start_subscribed(configuration, limits);
            let (session, events) = started.await?;
            Ok(HeardSession {
                session: DialogueSession::new(session),
                events: DialogueEventStream::of(events),
            })
        })
        .await
    }

    /// Goes on with a dialogue that a runner has kept, as after the end of the host that started it.
    /// What the agent has said since its start is folded first. What the configuration says of the
    /// start is not looked at: the agent runs.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Configuration`] for an address or an id that is none,
    /// [`BowlineError::Start`] when the runner cannot be reached, does not let this host in or does
    /// not have the session, and [`BowlineError::Io`].
    pub async fn attach(
        &self,
        runner: RunnerConfiguration,
        session: String,
        configuration: DialogueConfiguration,
    ) -> Outcome<Arc<DialogueSession>> {
        let configuration = self.completed(configuration).try_into()?;
        let (remote, session) = (runner.try_into()?, id(&session)?);
        finish(async move {
            let session = core::DialogueSession::attach(&remote, session, configuration).await?;
            Ok(DialogueSession::new(session))
        })
        .await
    }

    /// As [`attach`](Self::attach), with a stream of events that hears of everything that the agent
    /// has said, from its start on.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach).
    #[uniffi::method(default(limits = None))]
    pub async fn attach_heard(
        &self,
        runner: RunnerConfiguration,
        session: String,
        configuration: DialogueConfiguration,
        limits: Option<EventLimits>,
    ) -> Outcome<HeardSession> {
        let configuration = self.completed(configuration).try_into()?;
        let (remote, session) = (runner.try_into()?, id(&session)?);
        let limits = limits.map(Into::into).unwrap_or_default();
        finish(async move {
            let attached =
                core::DialogueSession::attach_subscribed(&remote, session, configuration, limits);
            let (session, events) = attached.await?;
            Ok(HeardSession {
                session: DialogueSession::new(session),
                events: DialogueEventStream::of(events),
            })
        })
        .await
    }

    /// The environment that the user's login shell makes, for hosts that were not started from one:
    /// an app of a desktop has no `PATH` to speak of. The shell is asked once; one that gives no
    /// answer leaves the host's own environment, and the answer says why.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    #[uniffi::method(default(query = None))]
    pub async fn login_environment(
        &self,
        query: Option<LoginShellQuery>,
    ) -> Outcome<LoginEnvironmentView> {
        wait(async move { Ok(login::ask(query.unwrap_or_default()).await) }).await
    }

    /// Starts a shell, or any program for people, on a terminal, here or at a runner.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Start`].
    pub async fn start_shell(
        &self,
        mut configuration: ShellConfiguration,
    ) -> Outcome<Arc<ShellSession>> {
        configuration.guard = configuration
            .guard
            .or_else(|| self.configuration.guard.clone());
        finish(ShellSession::start(configuration)).await
    }

    /// Goes on with a shell that a runner has kept, as after the end of the host that started it.
    /// Lines begin with the oldest output that the runner has. What the configuration says of the
    /// start is not looked at: the program runs.
    ///
    /// # Errors
    ///
    /// As [`attach`](Self::attach).
    pub async fn attach_shell(
        &self,
        runner: RunnerConfiguration,
        session: String,
        configuration: ShellConfiguration,
    ) -> Outcome<Arc<ShellSession>> {
        let (remote, session) = (runner.try_into()?, id(&session)?);
        finish(async move {
            let attached = core::ShellSession::attach(&remote, session, configuration.into());
            Ok(ShellSession::new(attached.await?))
        })
        .await
    }

    /// A runner, to look at what it has and to end it.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Configuration`] for an address or a certificate that is none.
    pub fn runner(&self, runner: RunnerConfiguration) -> Outcome<Arc<RunnerClient>> {
        call(|| RunnerClient::new(runner))
    }

    /// Starts a server for hooks.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Start`] and [`BowlineError::Configuration`].
    pub async fn start_hooks(&self, configuration: HookConfiguration) -> Outcome<Arc<HookServer>> {
        finish(async move {
            let server = core::HookServer::start(configuration.try_into()?).await?;
            Ok(HookServer::new(server))
        })
        .await
    }

    /// Starts an executor, in a terminal of the host's or, without one, of the library's.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Start`] and [`BowlineError::Configuration`].
    #[uniffi::method(default(terminal = None))]
    pub async fn start_executor(
        &self,
        configuration: ExecutorConfiguration,
        terminal: Option<Arc<dyn HostTerminal>>,
    ) -> Outcome<Arc<TerminalExecutor>> {
        let agent = self.configuration.program.clone();
        finish(TerminalExecutor::start(configuration, agent, terminal)).await
    }

    /// Opens a session manager with its list.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Busy`] when another host has the list, [`BowlineError::Io`].
    pub async fn open_manager(
        &self,
        configuration: ManagerConfiguration,
    ) -> Outcome<Arc<SessionManager>> {
        let EngineConfiguration { program, guard } = self.configuration.clone();
        finish(async move { SessionManager::open(configuration, program, guard) }).await
    }

    /// Opens a recorded stream, `.jsonl`, gzip too.
    ///
    /// # Errors
    ///
    /// [`BowlineError::NotFound`] and [`BowlineError::Io`].
    pub async fn open_recording(&self, path: String) -> Outcome<Arc<Recording>> {
        finish(async move { Recording::open(path) }).await
    }

    /// The terminals of this process that live, the oldest first.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn terminals(&self) -> Outcome<Vec<TerminalEntry>> {
        call(|| {
            Ok(TerminalRegistry::shared()
                .list()
                .into_iter()
                .map(Into::into)
                .collect())
        })
    }

    /// How terminals of this process ended, the oldest first; the last 256 of them.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn tombstones(&self) -> Outcome<Vec<TombstoneEntry>> {
        call(|| {
            let all = TerminalRegistry::shared().tombstones().into_iter();
            Ok(all.map(Into::into).collect())
        })
    }

    /// What all sessions of this process have done since it began.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn metrics(&self) -> Outcome<MetricsView> {
        call(|| Ok(TerminalRegistry::shared().metrics().into()))
    }

    /// The permission requests of all sessions that wait for an answer.
    ///
    /// # Errors
    ///
    /// Only a fault of the library.
    pub fn open_permissions(&self) -> Outcome<Vec<SessionPermission>> {
        call(|| {
            let open = TerminalRegistry::shared().open_permissions().into_iter();
            Ok(open.map(Into::into).collect())
        })
    }

    /// Answers a permission request of any session.
    ///
    /// # Errors
    ///
    /// [`BowlineError::Ended`] when there is no such session, and as
    /// [`DialogueSession::respond`].
    #[uniffi::method(default(by = None))]
    pub async fn respond(
        &self,
        session: String,
        request_id: String,
        answer: PermissionAnswer,
        by: Option<String>,
    ) -> Outcome<()> {
        finish(async move {
            let registry = TerminalRegistry::shared();
            let all = registry.list().into_iter();
            let found = all.map(|it| it.id).find(|it| it.to_string() == session);
            let id = found.ok_or_else(|| BowlineError::Ended {
                reason: format!("answer {request_id}: no session {session} lives, list them"),
            })?;
            Ok(registry
                .answer_permission(id, &request_id, answer, by)
                .await?)
        })
        .await
    }
}

fn id(text: &str) -> Outcome<core::SessionId> {
    text.parse().map_err(|_| BowlineError::Configuration {
        reason: format!("attach {text:?}: it is no session id, give the one of the list"),
    })
}

impl Engine {
    fn completed(&self, mut configuration: DialogueConfiguration) -> DialogueConfiguration {
        let EngineConfiguration { program, guard } = self.configuration.clone();
        configuration.program = configuration.program.or(program);
        configuration.guard = configuration.guard.or(guard);
        configuration
    }
}
