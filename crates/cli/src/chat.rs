//! `bowline` and `bowline chat`: a conversation with an agent on this terminal.
//!
//! The session is at this user's runner, which is started if it does not run, so that `/detach` leaves it running
//! and `bowline attach` comes back. With `--no-runner` it is in this program.

mod answer;
mod area;
mod attachment;
mod command;
mod complete;
mod editor;
mod history;
mod outbox;
mod queue;
mod screen;
mod session;
mod terminal;
mod view;

use std::io::{self, IsTerminal as _};
use std::process::ExitCode;

use bowline_lifecycle::control::is_driven;
use bowline_lifecycle::{Remote, SessionId};
use bowline_runner::{RunnerClient, SessionSummary};

use crate::agent_start;
use crate::args;
use crate::failure::{Failure, INTERRUPTED};
use crate::run;
use crate::runner::state_dir;
use crate::signals::SignalListener;
use crate::stdio::eprint;
use crate::style::is_dumb_terminal;

use editor::Editor;
use history::History;
use session::ChatSession;
use terminal::Keys;
use view::{ChatEnd, ChatView};

/// File with the lines that were entered, in the state folder.
const HISTORY: &str = "chat_history";

/// Whether this terminal can show a conversation.
pub(crate) fn has_terminal() -> bool {
    io::stdin().is_terminal() && io::stdout().is_terminal() && !is_dumb_terminal()
}

/// Holds a conversation, and the next one when the user switches to it.
///
/// # Errors
/// If there is no terminal, or the session fails.
pub(crate) async fn chat(options: Box<args::Chat>) -> Result<ExitCode, Failure> {
    if !has_terminal() {
        return Err(Failure::usage(
            "a conversation needs a terminal; use `bowline run PROMPT`, or `bowline send` and `bowline logs`",
        ));
    }
    let args::Chat { mut run, no_runner } = *options;
    let mut prompt = run.prompt.take();
    let mut terminal = ChatTerminal::new()?;
    loop {
        let mut chat = start(&run, no_runner).await?;
        let end = terminal.show(&mut chat, prompt.take().as_deref()).await?;
        match end {
            ChatEnd::Switch { conversation, fork } => {
                run.resume = Some(conversation);
                run.fork = fork;
            }
            ChatEnd::Detached => {
                eprint(&format!("{}\n", chat.detached()));
                return Ok(ExitCode::SUCCESS);
            }
            ChatEnd::Ended {
                was_interrupted,
                failure,
            } => return ended(&run, &chat, was_interrupted, failure).await,
        }
    }
}

/// Shows a session at a runner and sends what the user types to it.
///
/// # Errors
/// If the session cannot be attached to, or the connection fails for good.
pub(crate) async fn attach(
    client: RunnerClient,
    runner: &args::RunnerArgs,
    session: &SessionSummary,
) -> Result<ExitCode, Failure> {
    let mut terminal = ChatTerminal::new()?;
    let remote = named(client.into_remote());
    let mut chat =
        ChatSession::attach(&remote, session.id, &session.program, runner.options()).await?;
    chat.is_driven = is_driven(&session.labels);
    match terminal.show(&mut chat, None).await? {
        ChatEnd::Detached => eprint(&format!("{}\n", chat.detached())),
        ChatEnd::Ended {
            failure: Some(reason),
            ..
        } => {
            return Err(Failure::failed(format!(
                "the agent ended unexpectedly: {reason}"
            )));
        }
        _ => eprint(&format!("session {} has ended\n", session.id)),
    }
    Ok(ExitCode::SUCCESS)
}

/// State shared by consecutive conversations of one process.
struct ChatTerminal {
    editor: Editor,
    signals: SignalListener,
}

impl ChatTerminal {
    fn new() -> Result<Self, Failure> {
        let history = match state_dir() {
            Ok(state) => History::open(state.path().join(HISTORY)),
            Err(_) => History::empty(),
        };
        Ok(Self {
            editor: Editor::new(history),
            signals: SignalListener::new()?,
        })
    }

    /// Shows a session until it ends or the user leaves it.
    async fn show(
        &mut self,
        chat: &mut ChatSession,
        prompt: Option<&str>,
    ) -> Result<ChatEnd, Failure> {
        let mut keys = Keys::open()?;
        let mut view = ChatView::new(chat, &mut keys, &mut self.editor, &mut self.signals);
        if let Some(prompt) = prompt {
            view.submit(prompt).await;
        }
        view.run().await
    }
}

/// Starts the session: at the runner, or in this program.
async fn start(run: &args::Run, no_runner: bool) -> Result<ChatSession, Failure> {
    if no_runner {
        let configuration = run::configuration(run)?;
        return ChatSession::start(run, configuration).await;
    }
    let runner = run.runner_args();
    let client = run::starting_client(run).await?;
    let id = agent_start::start(&client, run, None).await?;
    let remote = named(client.into_remote());
    let mut chat = attach_started(&remote, id, run, runner.options()).await?;
    chat.is_owned = true;
    chat.can_switch = true;
    Ok(chat)
}

async fn attach_started(
    remote: &Remote,
    id: SessionId,
    run: &args::Run,
    options: String,
) -> Result<ChatSession, Failure> {
    let agent = run.agent.to_string_lossy();
    ChatSession::attach(remote, id, &agent, options).await
}

/// Sets this client's name, which other clients see with its answers: user and terminal.
fn named(mut remote: Remote) -> Remote {
    let user = std::env::var("USER").ok().filter(|it| !it.is_empty());
    let user = user.unwrap_or_else(|| "user".to_owned());
    let terminal = rustix::termios::ttyname(io::stdin(), Vec::new());
    let terminal = terminal.ok().and_then(|it| it.into_string().ok());
    remote.client = match terminal.as_deref().and_then(|it| it.strip_prefix("/dev/")) {
        Some(terminal) => format!("{user} ({terminal})"),
        None => user,
    };
    remote
}

/// Prints how to continue a conversation whose session has ended.
async fn ended(
    run: &args::Run,
    chat: &ChatSession,
    was_interrupted: bool,
    failure: Option<String>,
) -> Result<ExitCode, Failure> {
    let conversation = chat.session.inspect(|transcript| {
        let session = transcript.session();
        let id = session.model().and_then(|_| session.id());
        (id.map(str::to_owned), transcript.usage().cost_usd())
    });
    let (conversation, cost) = conversation.await;
    let cost = if cost > 0.0 {
        format!(", ${cost:.4} in all")
    } else {
        String::new()
    };
    let resume = conversation.map(|id| {
        let line = run::resume_line(run, "chat", &id);
        format!("; resume with `{line}`")
    });
    let suffix = format!("{cost}{}", resume.unwrap_or_default());
    if let Some(reason) = failure {
        return Err(Failure::failed(format!(
            "the agent ended unexpectedly: {reason}{suffix}"
        )));
    }
    eprint(&format!("ended{suffix}\n"));
    Ok(if was_interrupted {
        ExitCode::from(INTERRUPTED)
    } else {
        ExitCode::SUCCESS
    })
}
