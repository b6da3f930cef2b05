//! Runs the executor's commands in a terminal of the host.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::{HostTerminal, HostTerminalCommand, TerminalOutput};
use crate::core::{self, ExposeSecret as _, TerminalError, TerminalFuture, TerminalRun};
use crate::error::BowlineError;

impl From<TerminalOutput> for core::TerminalOutput {
    fn from(it: TerminalOutput) -> Self {
        Self {
            stdout: it.stdout,
            dropped_bytes: it.dropped_bytes,
            stderr: it.stderr,
            exit_code: it.exit_code,
        }
    }
}

/// Runs the executor's commands in a host terminal.
pub(super) struct HostTerminalBridge {
    terminal: Arc<dyn HostTerminal>,
    runs: Arc<Mutex<OpenRuns>>,
}

#[derive(Default)]
struct OpenRuns {
    last: u64,
    senders: HashMap<u64, oneshot::Sender<TerminalOutput>>,
}

impl std::fmt::Debug for HostTerminalBridge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostTerminalBridge").finish_non_exhaustive()
    }
}

impl HostTerminalBridge {
    pub(super) fn new(terminal: Arc<dyn HostTerminal>) -> Arc<Self> {
        Arc::new(Self {
            terminal,
            runs: Arc::default(),
        })
    }

    /// Completes a run. Returns false if it is not open.
    pub(super) fn command_ended(&self, run: u64, output: TerminalOutput) -> bool {
        let sender = self.runs.lock().senders.remove(&run);
        sender.is_some_and(|sender| sender.send(output).is_ok())
    }

    fn open(&self) -> HostRun {
        let (sender, output) = oneshot::channel();
        let mut runs = self.runs.lock();
        runs.last += 1;
        let run = runs.last;
        runs.senders.insert(run, sender);
        HostRun {
            run,
            has_started: false,
            output: Some(output),
            terminal: Arc::clone(&self.terminal),
            runs: Arc::clone(&self.runs),
        }
    }
}

fn host_command(run: u64, command: core::TerminalCommand) -> HostTerminalCommand {
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
            .map(|(name, value)| (name, value.expose_secret().to_owned()))
            .collect(),
        cwd: command.cwd.map(path),
        input: command.input.map(path),
    }
}

/// Calls the host on the blocking pool. No lock may be held across this.
async fn call_host<T: Send + 'static>(
    body: impl FnOnce() -> Result<T, BowlineError> + Send + 'static,
) -> Result<T, TerminalError> {
    let result = tokio::task::spawn_blocking(body).await;
    match result {
        Ok(result) => result.map_err(|error| TerminalError::Host(error.to_string())),
        Err(error) => Err(TerminalError::Host(error.to_string())),
    }
}

impl core::VisibleTerminal for HostTerminalBridge {
    fn start(
        &self,
        command: core::TerminalCommand,
    ) -> TerminalFuture<'_, Result<Box<dyn TerminalRun>, TerminalError>> {
        Box::pin(async move {
            let run = self.open();
            let command = host_command(run.run, command);
            // The closure owns the run: if the call is cancelled meanwhile, it is ended after its
            // start.
            let run = call_host(move || run.start(command)).await?;
            let run: Box<dyn TerminalRun> = Box::new(run);
            Ok(run)
        })
    }

    fn cleanup<'a>(&'a self, session: &'a str) -> TerminalFuture<'a, ()> {
        let (terminal, session) = (Arc::clone(&self.terminal), session.to_owned());
        Box::pin(async move {
            if let Err(error) = call_host(move || terminal.cleanup(session)).await {
                tracing::warn!(%error, "host terminal failed to clean up");
            }
        })
    }
}

/// A command in the host's terminal. Dropping it ends the command.
struct HostRun {
    run: u64,
    /// Whether `start_command` returned. Before that there is nothing to end.
    has_started: bool,
    output: Option<oneshot::Receiver<TerminalOutput>>,
    terminal: Arc<dyn HostTerminal>,
    runs: Arc<Mutex<OpenRuns>>,
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
            let gone = || TerminalError::Host("the executor was dropped".to_owned());
            let receiver = self.output.as_mut().ok_or_else(gone)?;
            let output = receiver.await.map_err(|_| gone())?;
            self.output = None;
            Ok(output.into())
        })
    }

    fn end(mut self: Box<Self>) -> TerminalFuture<'static, core::TerminalOutput> {
        Box::pin(async move {
            let (terminal, run) = (Arc::clone(&self.terminal), self.run);
            let ended = call_host(move || terminal.end_command(run)).await;
            match (ended, self.output.take()) {
                (Ok(()), Some(output)) => output.await.map(Into::into).unwrap_or_default(),
                _ => core::TerminalOutput::default(),
            }
        })
    }
}

impl Drop for HostRun {
    fn drop(&mut self) {
        let was_open = self.runs.lock().senders.remove(&self.run).is_some();
        let (terminal, run) = (Arc::clone(&self.terminal), self.run);
        if was_open
            && self.has_started
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            runtime.spawn_blocking(move || drop(terminal.end_command(run)));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// A terminal that reports its calls and whose `start_command` waits for the test.
    struct SlowTerminal {
        calls: tokio::sync::mpsc::UnboundedSender<String>,
        start_result: Mutex<mpsc::Receiver<Result<(), BowlineError>>>,
    }

    impl SlowTerminal {
        fn report(&self, call: String) {
            self.calls.send(call).expect("the test receives calls");
        }
    }

    impl HostTerminal for SlowTerminal {
        fn start_command(&self, command: HostTerminalCommand) -> Result<(), BowlineError> {
            self.report(format!("start {}", command.run));
            let start_result = self.start_result.lock();
            start_result.recv().expect("the test sends a result")?;
            let input = command.input.expect("the prompt is in a file");
            let input = std::fs::read_to_string(input).expect("the file exists");
            self.report(format!("started with {input}"));
            Ok(())
        }

        fn end_command(&self, run: u64) -> Result<(), BowlineError> {
            self.report(format!("end {run}"));
            Ok(())
        }

        fn cleanup(&self, _session: String) -> Result<(), BowlineError> {
            Ok(())
        }
    }

    /// Cancels a command during its start, which then ends with `start_result`. Returns the calls
    /// that the terminal received.
    async fn calls_of_cancelled_start(start_result: Result<(), BowlineError>) -> Vec<String> {
        let (calls, mut received) = tokio::sync::mpsc::unbounded_channel();
        let (finish_start, result) = mpsc::channel();
        let bridge = HostTerminalBridge::new(Arc::new(SlowTerminal {
            calls,
            start_result: Mutex::new(result),
        }));
        let configuration = core::ExecutorConfiguration::new("s");
        let executor = core::TerminalExecutor::start(configuration, Arc::clone(&bridge) as _);
        let executor = Arc::new(executor.await.expect("a port is free"));
        let running = tokio::spawn({
            let executor = Arc::clone(&executor);
            let command = core::ExecutorCommand::new("i", "ahoy");
            async move { executor.execute(command).await }
        });
        let mut calls = vec![received.recv().await.expect("the command starts")];
        running.abort();
        assert!(running.await.is_err_and(|error| error.is_cancelled()));
        finish_start.send(start_result).expect("the start waits");
        executor.cleanup().await;
        assert!(!bridge.command_ended(1, TerminalOutput::default()));
        drop((executor, bridge));
        while let Some(call) = received.recv().await {
            calls.push(call);
        }
        calls
    }

    #[tokio::test]
    async fn command_cancelled_during_start_is_ended() {
        let calls = calls_of_cancelled_start(Ok(())).await;
        assert_eq!(calls, ["start 1", "started with ahoy", "end 1"]);
    }

    #[tokio::test]
    async fn cancelled_command_that_failed_to_start_is_not_ended() {
        let refused = BowlineError::invalid("start: there is no pane");
        assert_eq!(calls_of_cancelled_start(Err(refused)).await, ["start 1"]);
    }
}
