//! A terminal of a host, scripted by a test.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bowline_shell::{
    TerminalCommand, TerminalError, TerminalFuture, TerminalOutput, TerminalRun, VisibleTerminal,
};
use parking_lot::Mutex;
use secrecy::ExposeSecret as _;

/// What a command comes to.
pub(crate) type Act = fn(TerminalCommand) -> Result<TerminalOutput, TerminalError>;

/// A terminal of a host.
#[derive(Debug)]
pub(crate) struct FakeTerminal {
    act: Act,
    pub(crate) commands: Mutex<Vec<TerminalCommand>>,
    pub(crate) cleaned: Mutex<Vec<String>>,
    pub(crate) open: Arc<AtomicUsize>,
}

impl FakeTerminal {
    pub(crate) fn new(act: Act) -> Arc<Self> {
        Arc::new(Self {
            act,
            commands: Mutex::default(),
            cleaned: Mutex::default(),
            open: Arc::default(),
        })
    }

    pub(crate) fn command(&self) -> TerminalCommand {
        let commands = self.commands.lock();
        commands.last().expect("a command").clone()
    }
}

impl VisibleTerminal for FakeTerminal {
    fn start(
        &self,
        command: TerminalCommand,
    ) -> TerminalFuture<'_, Result<Box<dyn TerminalRun>, TerminalError>> {
        self.commands.lock().push(command.clone());
        self.open.fetch_add(1, Ordering::SeqCst);
        let run: Box<dyn TerminalRun> = Box::new(FakeRun {
            act: self.act,
            command: Some(command),
            open: Arc::clone(&self.open),
        });
        Box::pin(async { Ok(run) })
    }

    fn cleanup<'a>(&'a self, session: &'a str) -> TerminalFuture<'a, ()> {
        let mut cleaned = self.cleaned.lock();
        cleaned.push(session.to_owned());
        Box::pin(async {})
    }
}

struct FakeRun {
    act: Act,
    command: Option<TerminalCommand>,
    open: Arc<AtomicUsize>,
}

impl TerminalRun for FakeRun {
    fn ended(&mut self) -> TerminalFuture<'_, Result<TerminalOutput, TerminalError>> {
        let (act, command) = (self.act, self.command.take());
        Box::pin(async move {
            let Some(command) = command else {
                return std::future::pending().await;
            };
            let acted = tokio::task::spawn_blocking(move || act(command));
            acted.await.expect("the terminal does not panic")
        })
    }

    fn end(self: Box<Self>) -> TerminalFuture<'static, TerminalOutput> {
        Box::pin(async { TerminalOutput::default() })
    }
}

impl Drop for FakeRun {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Tells a hook as the agent would: with what its environment says.
pub(crate) fn hook(command: &TerminalCommand, url: &str, body: &str) -> String {
    let rest = command.variables[url].expose_secret();
    let rest = rest.strip_prefix("http://").expect("an address");
    let (host, path) = rest.split_once('/').expect("a path");
    let token = command.variables["BOWLINE_HOOK_TOKEN"].expose_secret();
    let mut stream = TcpStream::connect(host).expect("a connection");
    let head = format!(
        "POST /{path} HTTP/1.1\r\nHost: {host}\r\nAuthorization: Bearer {token}\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    answer
}

/// The agent reads its prompt, reports the end of its session, and exits.
pub(crate) fn succeeds(command: TerminalCommand) -> Result<TerminalOutput, TerminalError> {
    let input = command.input.as_ref();
    let prompt = input.map(|file| std::fs::read_to_string(file).expect("the prompt"));
    let url = if command.variables.contains_key("CODE_MY_SPEC_CALLBACK_URL") {
        "CODE_MY_SPEC_CALLBACK_URL"
    } else {
        "BOWLINE_HOOK_URL"
    };
    let start = r#"{"hook_event_name":"SessionStart","session_id":"c9","source":"startup"}"#;
    let end = r#"{"hook_event_name":"SessionEnd","session_id":"c9","reason":"other"}"#;
    for body in [start, end] {
        assert!(hook(&command, url, body).starts_with("HTTP/1.1 200"));
    }
    Ok(TerminalOutput {
        dropped_bytes: 0,
        stdout: prompt.unwrap_or_default(),
        stderr: "no complaint".to_owned(),
        exit_code: Some(0),
    })
}
