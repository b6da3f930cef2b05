//! A visible terminal on a PTY.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_lifecycle::RawOutput;

use bowline_transport::{
    Configuration, ExitStatus, Piece, PtyMode, Stdio, Stream, TerminalEngine, TerminalSession,
    TerminationPolicy, WindowSize, default_guard,
};

use parking_lot::Mutex;
use secrecy::ExposeSecret as _;

use super::TerminalError;
use super::command_output::CommandOutput;
use super::terminal::{
    TerminalCommand, TerminalFuture, TerminalOutput, TerminalRun, VisibleTerminal,
};
use crate::line_buffer::{Line, LineBuffer};

/// Redirects the file to the agent's standard input; `exec` keeps the process id and its exit status.
const FILE_AS_INPUT: &str = r#"exec "$@" <"$0""#;

/// Runs each command on a PTY of its own, which ends with the command.
///
/// [`raw_output`](Self::raw_output) returns the output of all commands for display,
/// [`running`](Self::running) the PTY of the current one for input.
#[derive(Debug, Default)]
pub struct PtyTerminal {
    size: Mutex<WindowSize>,
    running: Running,
    outputs: Mutex<HashMap<String, CommandOutput>>,
}

/// The running PTYs by session.
type Running = Arc<Mutex<Vec<(String, TerminalSession)>>>;

impl PtyTerminal {
    /// Creates a terminal of this size.
    #[must_use]
    pub fn new(size: WindowSize) -> Self {
        Self {
            size: Mutex::new(size),
            ..Self::default()
        }
    }

    /// Returns the PTY of the session's command while it runs.
    #[must_use]
    pub fn running(&self, session: &str) -> Option<TerminalSession> {
        let running = self.running.lock();
        let found = running.iter().find(|(of, _)| of == session);
        found.map(|(_, terminal)| terminal.clone())
    }

    /// Returns the bytes of the session's commands, one command after another, from an offset on: 0 for the
    /// oldest byte. The newest megabyte is kept; what is not is a gap. The stream ends with the cleanup of
    /// the session. It never holds a command back.
    #[must_use]
    pub fn raw_output(&self, session: &str, from: u64) -> RawOutput {
        self.output(session).reader_at(from)
    }

    /// Sets the size of the session's terminal: of the command that runs, and of those that begin later in
    /// any session.
    pub fn resize(&self, session: &str, size: WindowSize) {
        *self.size.lock() = size;
        if let Some(terminal) = self.running(session) {
            // A command that has ended has no size.
            let _ = terminal.resize(size);
        }
    }

    fn output(&self, session: &str) -> CommandOutput {
        let mut outputs = self.outputs.lock();
        outputs.entry(session.to_owned()).or_default().clone()
    }

    async fn open(&self, command: TerminalCommand) -> Result<PtyRun, TerminalError> {
        let terminal = TerminalEngine.make_session(self.configuration(&command).await?)?;
        self.output(&command.session).follow(&terminal);
        self.running
            .lock()
            .push((command.session, terminal.clone()));
        Ok(PtyRun {
            terminal,
            running: Arc::clone(&self.running),
        })
    }

    async fn configuration(
        &self,
        command: &TerminalCommand,
    ) -> Result<Configuration, TerminalError> {
        let agent = &command.agent;
        let mut configuration = Configuration::new(&agent.program);
        configuration.env = agent.env.clone();
        for (name, value) in &command.variables {
            configuration.env.set(name, value.expose_secret());
        }
        configuration.cwd.clone_from(&command.cwd);
        configuration.guard = default_guard().await.map(Into::into);
        configuration.stdio = Stdio::Pty {
            size: *self.size.lock(),
            mode: PtyMode::Cooked,
        };
        configuration.args.clone_from(&agent.args);
        if let Some(file) = &command.input {
            let program = configuration.find_program()?.into_os_string();
            configuration.program = "/bin/sh".into();
            configuration.args = vec!["-c".into(), FILE_AS_INPUT.into(), file.into(), program];
            configuration.args.extend(agent.args.iter().cloned());
        }
        Ok(configuration)
    }
}

impl VisibleTerminal for PtyTerminal {
    fn start(
        &self,
        command: TerminalCommand,
    ) -> TerminalFuture<'_, Result<Box<dyn TerminalRun>, TerminalError>> {
        Box::pin(async move {
            let run: Box<dyn TerminalRun> = Box::new(self.open(command).await?);
            Ok(run)
        })
    }

    fn cleanup<'a>(&'a self, session: &'a str) -> TerminalFuture<'a, ()> {
        Box::pin(async move {
            let of_session = |(of, _): &mut (String, TerminalSession)| of == session;
            let remaining: Vec<_> = self.running.lock().extract_if(.., of_session).collect();
            for (_, terminal) in remaining {
                terminal.terminate(TerminationPolicy::AT_ONCE).await;
            }
            let output = self.outputs.lock().remove(session);
            if let Some(output) = output {
                output.end().await;
            }
        })
    }
}

/// A command on a PTY.
struct PtyRun {
    terminal: TerminalSession,
    running: Running,
}

impl TerminalRun for PtyRun {
    fn ended(&mut self) -> TerminalFuture<'_, Result<TerminalOutput, TerminalError>> {
        Box::pin(async {
            let exit = self.terminal.exited().await;
            // Background processes of the agent do not outlive the command.
            self.terminal.terminate(TerminationPolicy::AT_ONCE).await;
            Ok(self.output(exit.status))
        })
    }

    fn end(self: Box<Self>) -> TerminalFuture<'static, TerminalOutput> {
        Box::pin(async move {
            let report = self.terminal.terminate(TerminationPolicy::default()).await;
            self.output(report.exit.status)
        })
    }

    fn session(&self) -> Option<TerminalSession> {
        Some(self.terminal.clone())
    }
}

impl PtyRun {
    /// Returns the output that is kept, the latest megabyte, as lines.
    fn output(&self, status: ExitStatus) -> TerminalOutput {
        let mut reader = self.terminal.reader_at(Stream::Output, 0);
        let (mut kept, mut dropped_bytes) = (Vec::new(), 0);
        while let Some(piece) = reader.try_next() {
            match piece {
                Piece::Bytes { bytes, .. } => kept.extend_from_slice(&bytes),
                Piece::Gap { from, to } => {
                    dropped_bytes += to - from + kept.len() as u64;
                    kept.clear();
                }
            }
        }
        if dropped_bytes > 0 {
            // The rest of the line in which the kept output begins.
            let end = kept.iter().position(|byte| *byte == b'\n');
            let rest = end.map_or(kept.len(), |end| end + 1);
            kept.drain(..rest);
            dropped_bytes += rest as u64;
        }
        TerminalOutput {
            stdout: lines_of(&kept),
            dropped_bytes,
            stderr: String::new(),
            exit_code: exit_code(status),
        }
    }
}

/// Returns the bytes as lines without control sequences that move the cursor.
fn lines_of(bytes: &[u8]) -> String {
    let (mut lines, mut text) = (LineBuffer::default(), String::new());
    let mut add = |line: Line| {
        text.push_str(&line.text);
        text.push('\n');
    };
    lines.push(bytes, &mut add);
    if let Some(line) = lines.finish() {
        add(line);
    }
    text
}

impl Drop for PtyRun {
    fn drop(&mut self) {
        let id = self.terminal.id();
        let terminal = self.terminal.clone();
        let running = Arc::clone(&self.running);
        // Listed until it has ended, so that a cleanup can wait for it. Without a runtime the session has
        // ended already.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                terminal.terminate(TerminationPolicy::AT_ONCE).await;
                running.lock().retain(|(_, it)| it.id() != id);
            });
        }
    }
}

/// Returns the exit code by the shell's convention: 128 + signal.
const fn exit_code(status: ExitStatus) -> Option<i32> {
    match status {
        ExitStatus::Code(code) => Some(code),
        ExitStatus::Signal(signal) => Some(128 + signal),
        ExitStatus::Unknown => None,
    }
}
