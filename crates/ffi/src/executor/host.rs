//! A terminal of the host's: a tab of an editor, a pane, a window.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::core::{self, TerminalError, TerminalFuture, TerminalRun};
use tokio::sync::oneshot;

use crate::error::BowlineError;

/// A terminal that the host shows. The calls come from threads of the library that may wait.
#[uniffi::export(foreign)]
pub trait HostTerminal: Send + Sync {
    /// Starts a command, and returns without waiting for its end, which
    /// [`TerminalExecutor::command_ended`](crate::TerminalExecutor::command_ended) tells.
    ///
    /// # Errors
    ///
    /// The command could not be started.
    fn start_command(&self, command: HostTerminalCommand) -> Result<(), BowlineError>;

    /// Ends a command now. Its end is told as well, or not at all.
    ///
    /// # Errors
    ///
    /// It could not be ended.
    fn end_command(&self, run: u64) -> Result<(), BowlineError>;

    /// Ends what is left of a session.
    ///
    /// # Errors
    ///
    /// It could not be ended.
    fn cleanup(&self, session: String) -> Result<(), BowlineError>;
}

/// What a terminal of the host's runs.
#[derive(Clone, Debug, uniffi::Record)]
pub struct HostTerminalCommand {
    /// Names the run when its end is told.
    pub run: u64,
    /// The host's name for the session: commands of one session may share a terminal.
    pub session: String,
    /// The host's name for the interaction.
    pub interaction: String,
    /// The agent.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// The line to type into a terminal with a POSIX shell: `cat FILE | claude …`. None if it cannot
    /// be typed.
    pub line: Option<String>,
    /// The variables to set. They hold secrets: set them, do not write them into a line.
    pub variables: HashMap<String, String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The file that is the agent's standard input. It can be read until the run has ended.
    pub input: Option<String>,
}

/// What a command wrote, and how its process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, uniffi::Record)]
pub struct TerminalOutput {
    /// What the terminal showed.
    #[uniffi(default = "")]
    pub stdout: String,
    /// What was written apart from it.
    #[uniffi(default = "")]
    pub stderr: String,
    /// The exit code, if the terminal knows it.
    #[uniffi(default = None)]
    pub exit_code: Option<i32>,
}

impl From<TerminalOutput> for core::TerminalOutput {
    fn from(it: TerminalOutput) -> Self {
        Self {
            stdout: it.stdout,
            stderr: it.stderr,
            exit_code: it.exit_code,
        }
    }
}

/// The library's side of a host's terminal.
pub(super) struct Bridge {
    terminal: Arc<dyn HostTerminal>,
    runs: Arc<Mutex<Runs>>,
}

#[derive(Default)]
struct Runs {
    last: u64,
    open: HashMap<u64, oneshot::Sender<TerminalOutput>>,
}

impl std::fmt::Debug for Bridge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Bridge").finish_non_exhaustive()
    }
}

fn locked(runs: &Mutex<Runs>) -> MutexGuard<'_, Runs> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Bridge {
    pub(super) fn new(terminal: Arc<dyn HostTerminal>) -> Arc<Self> {
        Arc::new(Self {
            terminal,
            runs: Arc::default(),
        })
    }

    /// Whether the run was waited for.
    pub(super) fn ended(&self, run: u64, output: TerminalOutput) -> bool {
        let waiting = locked(&self.runs).open.remove(&run);
        waiting.is_some_and(|waiting| waiting.send(output).is_ok())
    }

    fn open(&self) -> HostRun {
        let (sender, output) = oneshot::channel();
        let mut runs = locked(&self.runs);
        runs.last += 1;
        let run = runs.last;
        runs.open.insert(run, sender);
        HostRun {
            run,
            has_started: false,
            output: Some(output),
            terminal: Arc::clone(&self.terminal),
            runs: Arc::clone(&self.runs),
        }
    }
}

fn lower(run: u64, command: core::TerminalCommand) -> HostTerminalCommand {
    let text = |it: &std::ffi::OsStr| it.to_string_lossy().into_owned();
    let path = |it: std::path::PathBuf| it.to_string_lossy().into_owned();
    HostTerminalCommand {
        run,
        line: command.line(core::Shell::Sh),
        session: command.session,
        interaction: command.interaction,
        program: text(&command.agent.program),
        args: command.agent.args.iter().map(|it| text(it)).collect(),
        variables: command
            .variables
            .into_iter()
            .map(|(name, value)| (name, value.into_inner()))
            .collect(),
        cwd: command.cwd.map(path),
        input: command.input.map(path),
    }
}

/// Calls the host on a thread that may wait, under no lock.
async fn ask<T: Send + 'static>(
    body: impl FnOnce() -> Result<T, BowlineError> + Send + 'static,
) -> Result<T, TerminalError> {
    let answer = tokio::task::spawn_blocking(body).await;
    match answer {
        Ok(answer) => answer.map_err(|error| TerminalError::Host(error.to_string())),
        Err(error) => Err(TerminalError::Host(error.to_string())),
    }
}

impl core::VisibleTerminal for Bridge {
    fn start(
        &self,
        command: core::TerminalCommand,
    ) -> TerminalFuture<'_, Result<Box<dyn TerminalRun>, TerminalError>> {
        Box::pin(async move {
            let run = self.open();
            let command = lower(run.run, command);
            // The call has the run: one that is given up meanwhile is ended behind its start.
            let run = ask(move || run.start(command)).await?;
            let run: Box<dyn TerminalRun> = Box::new(run);
            Ok(run)
        })
    }

    fn cleanup<'a>(&'a self, session: &'a str) -> TerminalFuture<'a, ()> {
        let (terminal, session) = (Arc::clone(&self.terminal), session.to_owned());
        Box::pin(async move {
            if let Err(error) = ask(move || terminal.cleanup(session)).await {
                tracing::warn!(%error, "the host's terminal did not clean up");
            }
        })
    }
}

/// A command in the host's terminal.
struct HostRun {
    run: u64,
    /// Whether the host has it: there is nothing to end before that.
    has_started: bool,
    output: Option<oneshot::Receiver<TerminalOutput>>,
    terminal: Arc<dyn HostTerminal>,
    runs: Arc<Mutex<Runs>>,
}

impl HostRun {
    fn start(mut self, command: HostTerminalCommand) -> Result<Self, BowlineError> {
        self.terminal.start_command(command)?;
        self.has_started = true;
        Ok(self)
    }
}

impl TerminalRun for HostRun {
    fn ended(&mut self) -> TerminalFuture<'_, Result<core::TerminalOutput, TerminalError>> {
        Box::pin(async {
            let gone = || TerminalError::Host("the executor is gone".to_owned());
            let output = self.output.as_mut().ok_or_else(gone)?;
            let told = output.await.map_err(|_| gone())?;
            self.output = None;
            Ok(told.into())
        })
    }

    fn end(mut self: Box<Self>) -> TerminalFuture<'static, core::TerminalOutput> {
        Box::pin(async move {
            let (terminal, run) = (Arc::clone(&self.terminal), self.run);
            let asked = ask(move || terminal.end_command(run)).await;
            match (asked, self.output.take()) {
                (Ok(()), Some(output)) => output.await.map(Into::into).unwrap_or_default(),
                _ => core::TerminalOutput::default(),
            }
        })
    }
}

impl Drop for HostRun {
    fn drop(&mut self) {
        let was_open = locked(&self.runs).open.remove(&self.run).is_some() && self.has_started;
        let (terminal, run) = (Arc::clone(&self.terminal), self.run);
        if let (true, Ok(runtime)) = (was_open, tokio::runtime::Handle::try_current()) {
            // What the host says to it nobody waits for.
            runtime.spawn_blocking(move || drop(terminal.end_command(run)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A terminal that tells its calls, and starts when it may.
    struct Slow {
        calls: tokio::sync::mpsc::UnboundedSender<String>,
        may_start: Mutex<mpsc::Receiver<Result<(), BowlineError>>>,
    }

    impl Slow {
        fn told(&self, call: String) {
            self.calls.send(call).expect("the test listens");
        }
    }

    impl HostTerminal for Slow {
        fn start_command(&self, command: HostTerminalCommand) -> Result<(), BowlineError> {
            self.told(format!("start {}", command.run));
            let may_start = self.may_start.lock().expect("nobody has panicked");
            may_start.recv().expect("the test says")?;
            let input = command.input.expect("a prompt is in a file");
            let input = std::fs::read_to_string(input).expect("the file is there");
            self.told(format!("started with {input}"));
            Ok(())
        }

        fn end_command(&self, run: u64) -> Result<(), BowlineError> {
            self.told(format!("end {run}"));
            Ok(())
        }

        fn cleanup(&self, _session: String) -> Result<(), BowlineError> {
            Ok(())
        }
    }

    /// The calls of the host when a command is given up while it starts, which ends like this.
    async fn given_up(start: Result<(), BowlineError>) -> Vec<String> {
        let (calls, mut told) = tokio::sync::mpsc::unbounded_channel();
        let (go, may_start) = mpsc::channel();
        let bridge = Bridge::new(Arc::new(Slow {
            calls,
            may_start: Mutex::new(may_start),
        }));
        let configuration = core::ExecutorConfiguration::new("s");
        let executor = core::TerminalExecutor::start(configuration, Arc::clone(&bridge) as _);
        let executor = Arc::new(executor.await.expect("a port is free"));
        let running = tokio::spawn({
            let executor = Arc::clone(&executor);
            let command = core::ExecutorCommand::new("i", "ahoy");
            async move { executor.execute(command).await }
        });
        let mut calls = vec![told.recv().await.expect("it starts")];
        running.abort();
        assert!(running.await.is_err_and(|error| error.is_cancelled()));
        go.send(start).expect("the terminal waits");
        executor.cleanup().await;
        assert!(!bridge.ended(1, TerminalOutput::default()), "it is closed");
        drop((executor, bridge));
        while let Some(call) = told.recv().await {
            calls.push(call);
        }
        calls
    }

    #[tokio::test]
    async fn a_command_that_is_given_up_while_it_starts_is_ended_behind_that() {
        let calls = given_up(Ok(())).await;
        assert_eq!(calls, ["start 1", "started with ahoy", "end 1"]);
    }

    #[tokio::test]
    async fn a_command_that_was_given_up_and_did_not_start_is_not_ended() {
        let refused = BowlineError::invalid("start: there is no pane");
        assert_eq!(given_up(Err(refused)).await, ["start 1"]);
    }
}
