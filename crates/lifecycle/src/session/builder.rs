//! Starts sessions step by step.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;

use bowline_reducer::dialect::DialectName;
use bowline_transport::PtyBackend;
use tokio::sync::watch;

use super::handle::DialogueSession;
use crate::budget::Budget;
use crate::configuration::{DialogueConfiguration, DialogueStdio};
use crate::conversations::Conversation;
use crate::error::StartError;
use crate::message::WeakDialogue;
use crate::permission::{PermissionAnswer, PermissionRecord, Permissions};
use crate::policy::Policy;

type PendingAnswer = Pin<Box<dyn Future<Output = PermissionAnswer> + Send>>;
type PermissionCallback = Arc<dyn Fn(Arc<PermissionRecord>) -> PendingAnswer + Send + Sync>;

/// Starts a [`DialogueSession`], from [`DialogueSession::builder`].
///
/// ```no_run
/// # async fn run() -> Result<(), bowline_lifecycle::StartError> {
/// use bowline_lifecycle::{Decision, DialogueSession};
///
/// let session = DialogueSession::builder()
///     .cwd("/some/project")
///     .model("sonnet")
///     .on_permission(|request| async move {
///         match request.tool_name.as_str() {
///             "Read" => Decision::allow().into(),
///             _ => Decision::deny("not in this session").into(),
///         }
///     })
///     .start()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
#[must_use = "a session starts with `start`"]
pub struct SessionBuilder {
    configuration: DialogueConfiguration,
    on_permission: Option<PermissionCallback>,
}

impl DialogueSession {
    /// Returns a builder of a session with the default configuration, except that permission requests are
    /// not forwarded to the host unless [`on_permission`](SessionBuilder::on_permission) or
    /// [`ask_permissions`](SessionBuilder::ask_permissions) is called.
    pub fn builder() -> SessionBuilder {
        let configuration = DialogueConfiguration {
            ask_permissions: false,
            ..DialogueConfiguration::default()
        };
        SessionBuilder::from(configuration)
    }
}

impl From<DialogueConfiguration> for SessionBuilder {
    fn from(configuration: DialogueConfiguration) -> Self {
        Self {
            configuration,
            on_permission: None,
        }
    }
}

impl SessionBuilder {
    /// Sets the agent's program: a name that is looked up in `PATH`, or a path. `claude` by default. A
    /// [known agent](crate::KnownAgent) is driven by its preferred protocol.
    pub fn agent(mut self, program: impl Into<OsString>) -> Self {
        self.configuration.set_agent(program, None);
        self
    }

    /// Sets the protocol that the agent speaks, and the arguments by which a known agent does so. Follows
    /// [`agent`](Self::agent).
    pub fn dialect(mut self, dialect: DialectName) -> Self {
        let program = self.configuration.program.clone();
        self.configuration.set_agent(program, Some(dialect));
        self
    }

    /// Appends an argument for the agent.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.configuration.args.push(arg.into());
        self
    }

    /// Sets the agent's working directory; the current directory by default.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> Self {
        self.configuration.cwd = Some(cwd.into());
        self
    }

    /// Connects the agent to a terminal in raw mode instead of pipes, opened by `backend`.
    pub fn pty(mut self, backend: PtyBackend) -> Self {
        self.configuration.stdio = DialogueStdio::Pty;
        self.configuration.pty_backend = backend;
        self
    }

    /// Sets the model; the agent's own default otherwise.
    pub fn model(mut self, model: impl Into<String>) -> Self {
        self.configuration.model = Some(model.into());
        self
    }

    /// Sets the permission mode, such as `plan` or `acceptEdits`.
    pub fn permission_mode(mut self, mode: impl Into<String>) -> Self {
        self.configuration.permission_mode = Some(mode.into());
        self
    }

    /// Allows a tool without a request, in the syntax of the agent's rules (`Bash(git:*)`).
    pub fn allow_tool(mut self, rule: impl Into<String>) -> Self {
        self.configuration.allowed_tools.push(rule.into());
        self
    }

    /// Answers permission requests by rules, before the host is asked. Those without a rule are forwarded to the host,
    /// as with [`ask_permissions`](Self::ask_permissions).
    pub fn policy(mut self, policy: Policy) -> Self {
        self.configuration.ask_permissions = true;
        self.configuration.policy = policy;
        self
    }

    /// Limits what the session may use. At a limit it pauses at the end of the turn or at a permission request, and
    /// asks by a request with the tool name `budget`.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.configuration.budget = budget;
        self
    }

    /// Continues with a prompt after a turn that met a usage limit of the agent's account, once the limit resets.
    /// Until then a permission request with the tool name `usage_limit` is open: answer it to continue at once, or to
    /// end the session.
    pub fn resume_at_reset(mut self, prompt: impl Into<String>) -> Self {
        self.configuration.resume_at_reset = Some(prompt.into());
        self
    }

    /// Resumes a conversation that the agent has on disk.
    pub fn resume(mut self, conversation: impl Into<String>) -> Self {
        self.configuration.conversation = Conversation::Resume {
            id: conversation.into(),
            fork: false,
        };
        self
    }

    /// Continues in a copy of a conversation that the agent has on disk.
    pub fn fork(mut self, conversation: impl Into<String>) -> Self {
        self.configuration.conversation = Conversation::Resume {
            id: conversation.into(),
            fork: true,
        };
        self
    }

    /// Runs the agent at a runner. The session outlives its hosts, and [`cwd`](Self::cwd) is a directory
    /// of the runner's machine.
    #[cfg(feature = "remote")]
    pub fn runner(mut self, runner: bowline_transport::Remote) -> Self {
        self.configuration.location = crate::AgentLocation::Runner(runner);
        self
    }

    /// Names a session at a runner, for people: `bowline ps` shows the name.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.configuration.name = Some(name.into());
        self
    }

    /// Sets a label of a session at a runner, to find it by. Names that begin with `bowline.` are reserved.
    pub fn label(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.configuration.labels.insert(name.into(), value.into());
        self
    }

    /// Records the agent's output in a new file, byte for byte; or, if its name ends in `.bjl`, as a
    /// journal with standard error and input.
    pub fn record(mut self, path: impl Into<PathBuf>) -> Self {
        self.configuration.record = Some(path.into());
        self
    }

    /// Forwards permission requests to the host, which answers them with
    /// [`answer_permission`](DialogueSession::answer_permission). The agent waits for the answer.
    pub fn ask_permissions(mut self) -> Self {
        self.configuration.ask_permissions = true;
        self
    }

    /// Answers every permission request with a callback. Requests are answered concurrently. A request
    /// that another host answers first, or that the agent cancels, is closed, and the callback's answer
    /// is ignored.
    pub fn on_permission<F, A>(mut self, callback: F) -> Self
    where
        F: Fn(Arc<PermissionRecord>) -> A + Send + Sync + 'static,
        A: Future<Output = PermissionAnswer> + Send + 'static,
    {
        self.configuration.ask_permissions = true;
        self.on_permission = Some(Arc::new(move |request| Box::pin(callback(request))));
        self
    }

    /// Changes any other part of the configuration.
    pub fn configure(mut self, change: impl FnOnce(&mut DialogueConfiguration)) -> Self {
        change(&mut self.configuration);
        self
    }

    /// Starts the session. After an error, nothing runs and no file is left, except the recording of what
    /// an agent said before it refused the session.
    ///
    /// # Errors
    ///
    /// As [`DialogueSession::start`].
    pub async fn start(self) -> Result<DialogueSession, StartError> {
        let session = DialogueSession::start(self.configuration).await?;
        if let Some(callback) = self.on_permission {
            let dialogue = WeakDialogue::new(&session.messages, session.permissions.clone());
            tokio::spawn(answer_all(session.permissions.clone(), dialogue, callback));
        }
        Ok(session)
    }
}

/// Calls the callback for each new open request, until the session ends.
async fn answer_all(
    mut permissions: watch::Receiver<Permissions>,
    dialogue: WeakDialogue,
    callback: PermissionCallback,
) {
    let mut seen = HashSet::new();
    loop {
        let open: Vec<_> = permissions.borrow_and_update().open().cloned().collect();
        for request in open {
            let id = request.request_id.clone();
            if seen.insert(id.clone()) {
                let (dialogue, answer) = (dialogue.clone(), callback(request));
                tokio::spawn(async move {
                    // Fails if the request was closed in the meantime.
                    let _ = dialogue.answer(id, answer.await, None).await;
                });
            }
        }
        if permissions.changed().await.is_err() {
            return;
        }
    }
}

impl fmt::Debug for SessionBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionBuilder")
            .field("configuration", &self.configuration)
            .finish_non_exhaustive()
    }
}
