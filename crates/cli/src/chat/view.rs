//! A conversation on this terminal: prints the session's changes and forwards the user's input.

mod commands;
mod keys;
mod report;
mod state;

use std::path::PathBuf;
use std::time::Duration;

use bowline_lifecycle::{
    DialogueError, DialogueEvent, DialogueEventKind, ReceiptState, error_chain,
};
use bowline_reducer::Changes;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use super::answer::OpenAnswer;
use super::editor::Editor;
use super::outbox::{Outbox, Outgoing, Sent};
use super::queue::QueueNumbers;
use super::screen::ChatScreen;
use super::session::ChatSession;
use super::terminal::Keys;
use crate::args::Output;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::runner::{ConnectionNotices, connection_failure, until_connection_failed};
use crate::signals::{SignalListener, SignalRequest};
use crate::style::Paint;
use crate::text::one_line;
use state::ChatState;

/// What a host has asked for that sent a prompt.
const PROMPT_REQUEST: &str = "prompt";

/// Time between two drawings while the agent works.
const STATUS_INTERVAL: Duration = Duration::from_millis(100);

/// A request of the user that runs beside the conversation, with its outcome to show.
type Work = JoinSet<Option<String>>;

/// How a conversation ended on this terminal.
#[derive(Debug)]
pub(super) enum ChatEnd {
    /// The session has ended. Whether the user interrupted it, and how the agent exited if that was unexpected.
    Ended {
        was_interrupted: bool,
        failure: Option<String>,
    },
    /// The session keeps running.
    Detached,
    /// The user has switched to another conversation.
    Switch { conversation: String, fork: bool },
}

/// A user's request about the session as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Leaving {
    /// End the session, gracefully or at once.
    End,
    Terminate,
    Detach,
    Switch {
        conversation: String,
        fork: bool,
    },
}

/// A conversation that is shown.
pub(super) struct ChatView<'a> {
    chat: &'a mut ChatSession,
    notices: ConnectionNotices,
    printer: Printer,
    screen: ChatScreen,
    keys: &'a mut Keys,
    editor: &'a mut Editor,
    signals: &'a mut SignalListener,
    cwd: PathBuf,
    state: ChatState,
    /// Text that is printed with the next drawing.
    unprinted: String,
    /// Candidates of a completion, below the transcript until the next key.
    candidates: Vec<String>,
    answer: Option<OpenAnswer>,
    /// When a request was opened while the user was typing; the next keys may be part of that.
    answer_opened: Option<Instant>,
    /// Prompts that the agent has not begun, oldest first: id and text.
    prompts: Vec<(String, String)>,
    /// Numbers by which the user names the prompts of the queue.
    queue_numbers: QueueNumbers,
    outbox: UnboundedSender<Outgoing>,
    sent: UnboundedReceiver<Sent>,
    work: Work,
    /// Ends once what happened before this terminal attached is folded, and who did it is known. Nothing is printed
    /// before.
    history: Option<JoinHandle<()>>,
    timer: Interval,
    leaving: Option<Leaving>,
    /// The end of the session was requested and has not happened yet.
    is_ending: bool,
    has_interrupted: bool,
    /// `^C` was pressed once with nothing to interrupt.
    may_end: bool,
    was_interrupted: bool,
}

impl<'a> ChatView<'a> {
    pub(super) fn new(
        chat: &'a mut ChatSession,
        keys: &'a mut Keys,
        editor: &'a mut Editor,
        signals: &'a mut SignalListener,
    ) -> Self {
        let mut timer = interval(STATUS_INTERVAL);
        timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let (reply, sent) = unbounded_channel();
        let outbox = Outbox::spawn(chat.session.clone(), reply);
        let mut printer = Printer::live(Output::Text);
        if let Some(renderer) = printer.renderer() {
            renderer.defer_unconfirmed_prompts();
            if chat.is_remote() {
                renderer.await_names_of_answers();
            }
        }
        let history = chat.is_remote().then(|| {
            let session = chat.session.clone();
            tokio::spawn(async move {
                // A failed connection is shown as such.
                let _ = session.history_folded().await;
            })
        });
        Self {
            notices: ConnectionNotices::new(chat.session.connection(), "the agent"),
            chat,
            printer,
            screen: ChatScreen::new(),
            keys,
            editor,
            signals,
            cwd: std::env::current_dir().unwrap_or_default(),
            state: ChatState::default(),
            unprinted: String::new(),
            candidates: Vec::new(),
            answer: None,
            answer_opened: None,
            prompts: Vec::new(),
            queue_numbers: QueueNumbers::default(),
            outbox,
            sent,
            work: Work::new(),
            history,
            timer,
            leaving: None,
            is_ending: false,
            has_interrupted: false,
            may_end: false,
            was_interrupted: false,
        }
    }

    /// Sends a prompt, as if it had been entered.
    pub(super) async fn submit(&mut self, text: &str) {
        self.enter_prompt(text, None).await;
    }

    /// Shows the conversation until it ends or the user leaves.
    ///
    /// # Errors
    /// If the output cannot be written, or the connection fails for good.
    pub(super) async fn run(mut self) -> Result<ChatEnd, Failure> {
        let shown = self.show().await;
        let left = self.screen.leave();
        let end = shown?;
        left?;
        Ok(end)
    }

    async fn show(&mut self) -> Result<ChatEnd, Failure> {
        loop {
            let has_ended = self.chat.session.has_ended();
            self.print_changes().await?;
            if has_ended {
                return Ok(self.ended().await);
            }
            if let Some(end) = self.leave().await? {
                return Ok(end);
            }
            if let Some(reason) = connection_failure(&self.chat.session.connection()) {
                return Err(self.chat.unreachable(&reason));
            }
            self.wait().await?;
        }
    }

    /// Carries out a request about the session. Returns how the conversation ended, if the
    /// session is left running.
    async fn leave(&mut self) -> Result<Option<ChatEnd>, Failure> {
        match &self.leaving {
            Some(Leaving::Detach) => {
                // Fails if the session has ended meanwhile, which is shown when it is attached to again.
                let _ = self.chat.session.detach().await;
                Ok(Some(ChatEnd::Detached))
            }
            Some(leaving) if !self.is_ending => {
                self.is_ending = true;
                let is_orderly = *leaving != Leaving::Terminate;
                self.begin_end(is_orderly);
                Ok(None)
            }
            _ => Ok(None),
        }
    }

    fn begin_end(&mut self, is_orderly: bool) {
        let session = self.chat.session.clone();
        self.work.spawn(async move {
            if is_orderly {
                session.end().await;
            } else {
                session.terminate().await;
            }
            None
        });
    }

    async fn ended(&mut self) -> ChatEnd {
        for (_, text) in std::mem::take(&mut self.prompts) {
            self.note(&format!("not answered: {}", one_line(&text, 60)));
        }
        let _ = self
            .screen
            .draw(&std::mem::take(&mut self.unprinted), &Default::default());
        if let Some(Leaving::Switch { conversation, fork }) = self.leaving.take() {
            return ChatEnd::Switch { conversation, fork };
        }
        let end = self.chat.session.ended().await;
        let is_expected = end.expected || self.is_ending;
        ChatEnd::Ended {
            was_interrupted: self.was_interrupted,
            failure: (!is_expected).then(|| end.reason.clone()),
        }
    }

    /// Prints the changes since the last call, and draws the area below them.
    async fn print_changes(&mut self) -> Result<(), Failure> {
        // The author of a prompt is known before the prompt is printed.
        while let Some(event) = self.chat.events.try_next() {
            self.on_event(&event);
        }
        if self.history.is_some() && !self.chat.session.has_ended() {
            return self.draw();
        }
        let mut printer = std::mem::replace(&mut self.printer, Printer::live(Output::Transcript));
        let cursor = printer.cursor();
        let read = move |changes: &Changes<'_>| {
            let text = printer.changes(changes);
            (printer, text, ChatState::of(changes.transcript()))
        };
        let (_, (printer, text, state)) = self.chat.session.changes_since(cursor, read).await;
        self.printer = printer;
        self.state = state;
        self.queue_numbers.update(&self.state.queue);
        if let Some(conversation) = &self.state.conversation {
            self.chat.enter_conversation(conversation);
        }
        if !self.state.is_working() {
            self.has_interrupted = false;
        }
        // Events about the transcript that was read are in the queue by now.
        while let Some(event) = self.chat.events.try_next() {
            self.on_event(&event);
        }
        self.unprinted.push_str(&text);
        self.open_answer();
        self.draw()
    }

    fn on_event(&mut self, event: &DialogueEvent) {
        match &event.kind {
            DialogueEventKind::PermissionRequest(record) => {
                let is_known = self
                    .chat
                    .waiting
                    .iter()
                    .any(|it| it.request_id == record.request_id);
                if record.state.is_open() && !is_known {
                    self.chat.waiting.push_back(record.clone());
                }
            }
            DialogueEventKind::PermissionEnded(record) => {
                let id = &record.request_id;
                self.chat.waiting.retain(|it| it.request_id != *id);
                if self.answer.as_ref().is_some_and(|it| it.request_id() == id) {
                    self.answer = None;
                }
            }
            DialogueEventKind::Receipt { uuid, state } => self.on_receipt(uuid, *state),
            DialogueEventKind::Requested {
                client,
                what,
                prompt,
            } => self.on_requested(client, what, prompt.as_deref()),
            DialogueEventKind::Inquiry(silence) => {
                let cause = silence.cause.as_ref().map(ToString::to_string);
                self.note(&format!(
                    "no output for {} s; {}",
                    silence.silent_for.as_secs(),
                    cause.as_deref().unwrap_or("checking the agent")
                ))
            }
            DialogueEventKind::Lagged { .. } => self.reset_permissions(),
            _ => {}
        }
    }

    /// Replaces the open requests by those of the session, after events were lost.
    fn reset_permissions(&mut self) {
        let permissions = self.chat.session.permissions();
        let open = permissions.iter().filter(|it| it.state.is_open());
        let shown = self.answer.as_ref().map(|it| it.request_id().to_owned());
        self.chat.waiting = open
            .filter(|it| shown.as_ref() != Some(&it.request_id))
            .cloned()
            .collect();
        let is_open = permissions
            .iter()
            .any(|it| it.state.is_open() && shown.as_ref() == Some(&it.request_id));
        if !is_open {
            self.answer = None;
        }
    }

    fn on_receipt(&mut self, uuid: &str, state: ReceiptState) {
        let Some(index) = self.prompts.iter().position(|(id, _)| id == uuid) else {
            return;
        };
        let lost = match state {
            ReceiptState::Accepted | ReceiptState::Written => return,
            ReceiptState::Cancelled => Some("cancelled"),
            ReceiptState::Unknown => Some("not confirmed by the agent"),
            _ => None,
        };
        let (_, text) = self.prompts.remove(index);
        if let Some(lost) = lost {
            self.note(&format!("prompt was {lost}: {}", one_line(&text, 60)));
        }
    }

    fn on_requested(&mut self, client: &str, what: &str, prompt: Option<&str>) {
        match (prompt, self.printer.renderer()) {
            (Some(uuid), Some(renderer)) if what == PROMPT_REQUEST => {
                renderer.set_author(uuid.to_owned(), client.to_owned());
            }
            _ => self.note(&format!("{what}, by {client}")),
        }
    }

    /// Opens the next request whose line is printed.
    fn open_answer(&mut self) {
        let is_shown = |it: &&std::sync::Arc<_>| is_open_in(&self.state, it);
        if self.answer.is_some() || self.chat.waiting.front().filter(is_shown).is_none() {
            return;
        }
        if let Some(record) = self.chat.waiting.pop_front() {
            let answer = OpenAnswer::new(record);
            self.print_block(&answer.details());
            self.answer_opened = (!self.editor.is_empty()).then(Instant::now);
            self.answer = Some(answer);
        }
    }

    /// Waits for the next event and handles it.
    async fn wait(&mut self) -> Result<(), Failure> {
        let revision = self.printer.cursor().revision();
        let is_moving = self.state.is_working() || self.is_ending;
        let is_waiting = self.history.is_some() || self.chat.session.has_ended();
        let mut connection = self.chat.session.connection();
        tokio::select! {
            event = self.keys.next() => match event {
                Some(event) => self.on_key(event).await?,
                // The terminal is gone.
                None => self.on_hang_up(),
            },
            () = self.chat.session.changed_since(revision), if !is_waiting => {}
            () = folded(&mut self.history) => {}
            _ = self.chat.session.ended() => {}
            Some(event) = self.chat.events.next() => self.on_event(&event),
            Some(sent) = self.sent.recv() => self.on_sent(sent),
            Some(done) = self.work.join_next() => {
                if let Some(text) = done.ok().flatten() {
                    self.note(&text);
                }
            }
            notice = self.notices.next() => self.note(&notice),
            _ = until_connection_failed(&mut connection) => {}
            request = self.signals.next() => match request {
                SignalRequest::Interrupt => self.on_interrupt(),
                SignalRequest::Terminate => self.on_hang_up(),
            },
            _ = self.timer.tick(), if is_moving => self.screen.spin(),
        }
        Ok(())
    }

    /// Leaves a session at a runner, and ends one of this program.
    fn on_hang_up(&mut self) {
        self.was_interrupted = true;
        self.leaving = Some(if self.chat.is_remote() {
            Leaving::Detach
        } else {
            Leaving::Terminate
        });
    }

    fn on_sent(&mut self, sent: Sent) {
        match sent {
            Sent::Prompt(_, Ok(())) => {}
            Sent::Prompt(id, Err(error)) => {
                self.prompts.retain(|(it, _)| *it != id);
                self.note_error(&error);
            }
            // A driver reports it to all hosts.
            Sent::Other(Ok(_)) if self.chat.is_driven => {}
            Sent::Other(Ok(text)) => self.note(&text),
            Sent::Other(Err(error)) => self.note_error(&error),
        }
    }

    fn note_error(&mut self, error: &DialogueError) {
        if !matches!(error, DialogueError::Ended) {
            self.note(&format!("failed to {}", error_chain(error)));
        }
    }

    /// Prints a message of the program.
    fn note(&mut self, text: &str) {
        let text = one_line(text, 2000);
        let line = self.screen.colors.painted(Paint::Dim, &format!("· {text}"));
        self.print_block(&format!("{line}\n"));
    }

    /// Prints lines that are not part of the dialogue, after the line that the dialogue is writing.
    fn print_block(&mut self, lines: &str) {
        if let Some(renderer) = self.printer.renderer() {
            let end = renderer.end_line();
            self.unprinted.push_str(&end);
        }
        self.unprinted.push_str(lines);
    }
}

fn is_open_in(state: &ChatState, record: &bowline_lifecycle::PermissionRecord) -> bool {
    state.permissions.contains(&record.request_id)
}

/// Waits until the history is folded. Cancel safe.
async fn folded(history: &mut Option<JoinHandle<()>>) {
    match history {
        Some(task) => {
            let _ = task.await;
            *history = None;
        }
        None => std::future::pending().await,
    }
}
