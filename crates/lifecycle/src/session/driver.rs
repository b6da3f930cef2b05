//! The one task that owns a session: it reads the agent's streams, feeds the machine and does what
//! the machine wants.
//!
//! A line costs one wake: the task reads from the descriptor itself, and what came is framed, parsed
//! and folded where it lies before the next read. While nothing comes the task holds no buffer and
//! no timer.

use std::collections::{HashMap, VecDeque};
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bowline_jsonl::Prompt;
use bowline_reducer::{Revision, Transcript};
use bowline_transport::{
    ConnectionState, Exit, Ladder, OutputReader, Piece, Stream, TerminalSession, TerminationReport,
    WriteError,
};
use bytes::Bytes;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};
use tracing::{debug, warn};

use crate::deadline::after;
use crate::error::DialogueError;
use crate::machine::{Carried, Command, Input, Machine, Output, ReceiptState, Reply, Ticket};
use crate::session::outside::Outside;
use crate::session::record::{Recorder, Recording};
use crate::session::{Ended, Final, LastActivity};

/// Bytes that are folded before other sessions on this thread have their turn: a fraction of a
/// millisecond's work.
const SHARE: usize = 256 << 10;

type Answer = oneshot::Sender<Result<Reply, DialogueError>>;
type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// What a handle asks of the driver.
pub(super) enum Message {
    Send {
        prompt: Prompt,
        states: watch::Sender<ReceiptState>,
        reply: Answer,
    },
    Command {
        command: Command,
        reply: Answer,
    },
    Inspect(Box<dyn FnOnce(&mut Transcript) + Send>),
    Activity(oneshot::Sender<LastActivity>),
    Detach,
}

/// What is to be written, in order.
enum Write {
    Line { line: Bytes, carried: Carried },
    Close,
}

pub(super) struct Driver {
    machine: Machine,
    terminal: TerminalSession,
    ladder: Ladder,
    inbox: mpsc::UnboundedReceiver<Message>,
    /// The agent's streams, until both have ended.
    tap: Option<OutputReader>,
    /// Bytes folded since the last rest.
    folded: usize,
    writes: VecDeque<Write>,
    writing: Pending<Option<Input>>,
    terminating: Pending<TerminationReport>,
    answers: HashMap<Ticket, Answer>,
    receipts: HashMap<String, watch::Sender<ReceiptState>>,
    /// The receipt of the prompt that is being taken.
    offered: Option<watch::Sender<ReceiptState>>,
    last_ticket: Ticket,
    /// Whether the agent is to go on without this session.
    is_detached: bool,
    /// Whether somebody can still send messages.
    has_handles: bool,
    recording: Option<Recording>,
    outside: Outside,
    /// The link to the agent's machine, if it is another one.
    link: Option<watch::Receiver<ConnectionState>>,
    revision: watch::Sender<Revision>,
    ended: watch::Sender<Option<Arc<Final>>>,
    start: Instant,
}

type Watches = (
    watch::Receiver<Revision>,
    watch::Receiver<Option<Arc<Final>>>,
);

impl Driver {
    pub(super) fn new(
        mut machine: Machine,
        (terminal, tap): (TerminalSession, OutputReader),
        ladder: Ladder,
        inbox: mpsc::UnboundedReceiver<Message>,
        recorder: Option<Recorder>,
        outside: Outside,
    ) -> (Self, Watches) {
        let (revision, newest) = watch::channel(machine.transcript().revision());
        let (ended, last) = watch::channel(None);
        let recording = recorder.map(|recorder| recorder.start(&terminal));
        let link = terminal.is_remote().then(|| terminal.connection());
        let driver = Self {
            tap: Some(tap),
            folded: 0,
            machine,
            terminal,
            ladder,
            inbox,
            writes: VecDeque::new(),
            writing: None,
            terminating: None,
            answers: HashMap::new(),
            receipts: HashMap::new(),
            offered: None,
            last_ticket: 0,
            is_detached: false,
            has_handles: true,
            recording,
            outside,
            link,
            revision,
            ended,
            start: Instant::now(),
        };
        (driver, (newest, last))
    }

    /// Runs until the process has ended and everything it said was folded. Boxed, because a future
    /// holds a place for each move of what it owns.
    pub(super) async fn run(mut self: Box<Self>) {
        let terminal = self.terminal.clone();
        let mut exited = std::pin::pin!(terminal.exited());
        let exit = loop {
            self.do_outputs();
            self.tell_readers();
            self.rest().await;
            let drained = self.tap.is_none();
            let deadline = self.machine.poll_timeout();
            tokio::select! {
                came = next(&mut self.tap) => self.came(came),
                exit = &mut exited, if drained => break exit,
                message = self.inbox.recv(), if self.has_handles => self.message(message),
                written = pending_or(&mut self.writing) => self.written(written),
                _ = pending_or(&mut self.terminating) => self.terminating = None,
                () = due(self.start, deadline) => self.feed(Input::Timeout),
                state = changed(&mut self.link) => match state {
                    Some(state) => self.feed(Input::Connection(state)),
                    None => self.link = None,
                },
            }
        };
        self.finish(exit).await;
    }

    fn feed(&mut self, input: Input) {
        self.machine.set_heard(self.outside.is_heard());
        self.machine.handle_input(input, self.start.elapsed());
    }

    /// Lets others have the thread after a share of work.
    async fn rest(&mut self) {
        if self.folded >= SHARE {
            self.folded = 0;
            yield_now().await;
        }
    }

    fn came(&mut self, came: Option<(Stream, Option<Piece>)>) {
        match came {
            Some((Stream::Output, Some(piece))) => self.output(piece),
            Some((Stream::Output, None)) => self.feed(Input::OutputEnded),
            Some((Stream::Errors, Some(piece))) => self.errors(piece),
            Some((Stream::Errors, None)) => {}
            None => self.tap = None,
        }
    }

    fn output(&mut self, piece: Piece) {
        let input = match piece {
            Piece::Bytes { bytes, .. } => {
                self.folded += bytes.len();
                self.outside.registration.output(bytes.len());
                Input::Output(bytes)
            }
            Piece::Gap { from, to } => Input::OutputGap { from, to },
        };
        self.feed(input);
    }

    fn errors(&mut self, piece: Piece) {
        self.feed(match piece {
            Piece::Bytes { bytes, .. } => {
                self.outside.registration.errors(bytes.len());
                Input::Errors(bytes)
            }
            Piece::Gap { from, to } => Input::ErrorsGap(to - from),
        });
    }

    fn message(&mut self, message: Option<Message>) {
        match message {
            Some(Message::Send {
                prompt,
                states,
                reply,
            }) => {
                // A prompt that is refused leaves the receipt of an earlier one as it is.
                self.offered = Some(states);
                self.command(Command::Send(prompt), reply);
                self.do_outputs();
                self.offered = None;
            }
            Some(Message::Command { command, reply }) => self.command(command, reply),
            Some(Message::Inspect(job)) => {
                // A reader that panics takes itself down and not the session: its answer is dropped
                // unsent, which panics where it is waited for.
                let transcript = self.machine.transcript();
                let _ = catch_unwind(AssertUnwindSafe(|| job(transcript)));
                // Whoever has looked may wait for what comes next.
                self.machine.transcript().seal();
            }
            Some(Message::Activity(reply)) => {
                // Whoever asked may be gone.
                let _ = reply.send(LastActivity::of(&self.machine, self.start));
            }
            Some(Message::Detach) => {
                self.is_detached = true;
                self.machine.detach();
                self.terminal.detach();
            }
            // The last handle is gone, and the session goes with it.
            None => {
                self.has_handles = false;
                self.feed(Input::Command(Command::Terminate, 0));
            }
        }
    }

    fn command(&mut self, command: Command, reply: Answer) {
        self.last_ticket += 1;
        self.answers.insert(self.last_ticket, reply);
        self.feed(Input::Command(command, self.last_ticket));
    }

    fn written(&mut self, written: Option<Input>) {
        self.writing = None;
        if let Some(input) = written {
            self.feed(input);
        }
    }

    fn do_outputs(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Write { line, carried } => {
                    self.writes.push_back(Write::Line { line, carried });
                }
                Output::CloseInput => self.writes.push_back(Write::Close),
                Output::Reply { ticket, reply } => {
                    if let Some(answer) = self.answers.remove(&ticket) {
                        // Whoever asked may be gone.
                        let _ = answer.send(reply);
                    }
                }
                Output::Receipt { uuid, state } => self.receipt(&uuid, state),
                Output::Told(told) => self.outside.told(told),
                Output::Permission(record) => self.outside.permission(record),
                Output::TurnEnded => self.outside.turn_ended(self.machine.transcript()),
                Output::Vitals => {
                    let vitals = self.terminal.vitals();
                    self.feed(Input::Vitals(vitals));
                }
                Output::Terminate => {
                    let (terminal, ladder) = (self.terminal.clone(), self.ladder);
                    let climb = async move { terminal.terminate(ladder).await };
                    self.terminating = Some(Box::pin(climb));
                }
                Output::Finished => {}
            }
        }
        self.write_next();
    }

    fn receipt(&mut self, uuid: &str, state: ReceiptState) {
        if state == ReceiptState::Accepted
            && let Some(states) = self.offered.take()
        {
            self.receipts.insert(uuid.to_owned(), states);
        }
        if let Some(states) = self.receipts.get(uuid) {
            states.send_replace(state);
        }
        if state.is_final() {
            self.receipts.remove(uuid);
        }
    }

    /// One line is on its way at a time; the agent reads when it likes.
    fn write_next(&mut self) {
        if self.writing.is_some() {
            return;
        }
        let terminal = self.terminal.clone();
        self.writing = match self.writes.pop_front() {
            None => None,
            Some(Write::Close) => Some(Box::pin(async move {
                // An agent whose input cannot be closed has none.
                let _ = terminal.close_input().await;
                None
            })),
            Some(Write::Line { line, carried }) => {
                let notebook = self.recording.as_ref().map(Recording::notebook);
                Some(Box::pin(async move {
                    match terminal.write(line.clone()).await {
                        Ok(()) => {
                            if let Some(notebook) = notebook {
                                notebook.sent(line);
                            }
                            carried.prompt().map(Input::Written)
                        }
                        Err(error) => {
                            warn_of(&carried, &error);
                            Some(Input::WriteFailed { line, carried })
                        }
                    }
                }))
            }
        };
    }

    fn tell_readers(&mut self) {
        let newest = self.machine.transcript().revision();
        self.revision.send_if_modified(|known| {
            let changed = *known != newest;
            *known = newest;
            changed
        });
    }

    /// Leaves nothing behind: the rest of the tree is killed, the recording is closed, and every
    /// message that was accepted is answered.
    async fn finish(mut self: Box<Self>, exit: Exit) {
        self.feed(Input::Exited(exit));
        self.do_outputs();
        // The agent is gone; what it left running is told to go, and then made to.
        let rest = Ladder {
            eof_grace: Duration::ZERO,
            interrupt: None,
            ..self.ladder
        };
        let report = if self.is_detached {
            TerminationReport::untouched(self.terminal.containment(), exit)
        } else {
            self.terminal.terminate(rest).await
        };
        let recording_failed = match self.recording.take() {
            Some(recording) => recording.finish(exit).await,
            None => None,
        };
        self.inbox.close();
        // A message may be on its way when the door closes: this waits for it, which takes no time.
        while let Some(message) = self.inbox.recv().await {
            self.message(Some(message));
            self.do_outputs();
        }
        self.tell_readers();
        let (expected, reason) = self.machine.ending();
        let stderr = self.machine.stderr();
        let end = Ended {
            exit,
            expected,
            reason,
            report,
            stderr,
            recording_failed,
        };
        self.outside.finish(&end);
        let last = Final {
            end,
            machine: Mutex::new(self.machine),
            start: self.start,
        };
        self.ended.send_replace(Some(Arc::new(last)));
    }
}

/// A lost answer leaves the agent waiting, and its host alone can give it again.
fn warn_of(carried: &Carried, error: &WriteError) {
    match carried {
        Carried::Answer(request_id) => {
            warn!(request_id, %error, "an answer may not have reached the agent, give it again");
        }
        Carried::Prompt(_) | Carried::Other => debug!(%error, "a line did not reach the agent"),
    }
}

/// What comes next of the streams, until they have ended.
async fn next(tap: &mut Option<OutputReader>) -> Option<(Stream, Option<Piece>)> {
    match tap {
        Some(tap) => tap.next().await,
        None => pending().await,
    }
}

/// How the link to another machine stands when that changes; `None` when it never will.
async fn changed(link: &mut Option<watch::Receiver<ConnectionState>>) -> Option<ConnectionState> {
    match link {
        Some(link) => {
            link.changed().await.ok()?;
            Some(link.borrow_and_update().clone())
        }
        None => pending().await,
    }
}

async fn pending_or<T>(work: &mut Pending<T>) -> T {
    match work {
        Some(work) => work.await,
        None => pending().await,
    }
}

async fn due(start: Instant, deadline: Option<Duration>) {
    match deadline {
        Some(deadline) => sleep_until(after(start, deadline)).await,
        None => pending().await,
    }
}
