//! The task that owns a session: reads the agent's streams, feeds the state machine and carries out
//! its outputs.
//!
//! A line costs one wake-up: the task reads from the descriptor itself, and frames, parses and folds
//! the bytes in place before the next read. An idle task holds no buffer and no timer.

mod ending;
mod placed;

use std::collections::HashMap;
use std::future::{Future, pending};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;

use bowline_reducer::Revision;
use bowline_transport::journal::Arrived;
use bowline_transport::{
    ConnectionState, Exit, Inbox, OutputReader, Piece, Received, Stream, TerminalSession,
    TerminationPolicy, TerminationReport, deadline_after,
};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{block_in_place, yield_now};
use tokio::time::Instant;

use placed::PlacedCommands;

use super::end::EndedSession;
use super::input_writer::InputWriter;
use super::observers::Observers;
use super::recording::OutputSources;
use super::resolve::PathResolutions;
use super::timer::Timer;
use crate::budget::SharedState;
use crate::control::ControlLine;
use crate::error::HandshakeError;
use crate::machine::{Command, Input, Machine, Output, ReceiptState, Ticket};
use crate::message::{Message, ReplySender};
use crate::shared_budget::{BudgetMember, SharedBudget};

/// Bytes that are folded before the task yields to other sessions on its thread: a fraction of a
/// millisecond's work.
const YIELD_AFTER: usize = 256 << 10;

/// Length of a line, in bytes, from which it is folded off the reactor.
const LONG_LINE: u64 = 1 << 20;

type Pending<T> = Option<Pin<Box<dyn Future<Output = T> + Send>>>;

/// The driver of a session, to be run as a task. If the task is dropped with its runtime, or panics,
/// the session ends then.
pub(super) struct DriverTask(Option<Box<Driver>>);

struct Driver {
    machine: Machine,
    terminal: TerminalSession,
    policy: TerminationPolicy,
    inbox: Inbox<Message>,
    /// The agent's streams, until both have ended.
    streams: Option<OutputReader>,
    /// Bytes folded since the task last yielded.
    folded: usize,
    writer: InputWriter,
    terminating: Pending<TerminationReport>,
    resolutions: PathResolutions,
    /// Takes the decisions of the machine that go through the control stream.
    decisions: Option<mpsc::UnboundedSender<ControlLine>>,
    replies: HashMap<Ticket, ReplySender>,
    placed: PlacedCommands,
    receipts: HashMap<String, watch::Sender<ReceiptState>>,
    /// The receipt of the prompt that is being accepted.
    new_receipt: Option<watch::Sender<ReceiptState>>,
    last_ticket: Ticket,
    /// Callers that wait for the history of an attached session.
    history_waiters: Vec<oneshot::Sender<()>>,
    /// Callers that wait for the end of the handshake.
    handshake_waiters: Vec<oneshot::Sender<Result<(), HandshakeError>>>,
    /// Whether the agent continues without this session.
    is_detached: bool,
    /// Whether there is a handle that can send messages.
    has_handles: bool,
    sources: Arc<OutputSources>,
    /// How the process exited, once it has.
    exit: Option<Exit>,
    observers: Observers,
    /// The part of the budget that the session shares with others.
    shared_budget: Option<BudgetMember>,
    /// The connection to the agent's machine, if it is remote.
    connection: Option<watch::Receiver<ConnectionState>>,
    revision: watch::Sender<Revision>,
    ended: watch::Sender<Option<Arc<EndedSession>>>,
    start: Instant,
}

type Watches = (
    watch::Receiver<Revision>,
    watch::Receiver<Option<Arc<EndedSession>>>,
);

impl DriverTask {
    pub(super) fn new(
        machine: Machine,
        (terminal, streams): (TerminalSession, OutputReader),
        policy: TerminationPolicy,
        inbox: Inbox<Message>,
        sources: Arc<OutputSources>,
        observers: Observers,
    ) -> (Self, Watches) {
        let (revision, newest) = watch::channel(machine.transcript().revision());
        let (ended, last) = watch::channel(None);
        let connection = terminal.is_remote().then(|| terminal.connection());
        let driver = Driver {
            streams: Some(streams),
            folded: 0,
            machine,
            writer: InputWriter::new(terminal.clone()),
            terminal,
            policy,
            inbox,
            terminating: None,
            resolutions: PathResolutions::default(),
            decisions: None,
            replies: HashMap::new(),
            placed: PlacedCommands::default(),
            receipts: HashMap::new(),
            new_receipt: None,
            last_ticket: 0,
            history_waiters: Vec::new(),
            handshake_waiters: Vec::new(),
            is_detached: false,
            has_handles: true,
            sources,
            exit: None,
            observers,
            shared_budget: None,
            connection,
            revision,
            ended,
            start: Instant::now(),
        };
        (Self(Some(Box::new(driver))), (newest, last))
    }

    /// Makes the session one of those that share a budget.
    pub(super) fn share(&mut self, budget: &SharedBudget) {
        if let Some(driver) = &mut self.0 {
            driver.shared_budget = Some(budget.join());
        }
    }

    /// Passes decisions of the machine to the task that appends them to the control stream.
    #[cfg(feature = "remote")]
    pub(super) fn send_decisions_to(&mut self, decisions: mpsc::UnboundedSender<ControlLine>) {
        if let Some(driver) = &mut self.0 {
            driver.decisions = Some(decisions);
        }
    }

    /// Runs until the process has exited, all of its output was folded, and nothing is left of it.
    pub(super) async fn run(mut self) {
        let Some(driver) = &mut self.0 else { return };
        let exit = driver.drive().await;
        let (report, recording_failed) = driver.clean_up(exit).await;
        if let Some(driver) = self.0.take() {
            let end = driver.end(exit, report, recording_failed);
            driver.close(end);
        }
    }
}

impl Drop for DriverTask {
    fn drop(&mut self) {
        if let Some(driver) = self.0.take() {
            driver.abandon();
        }
    }
}

impl Driver {
    /// Runs until the process has exited and all of its output was folded.
    async fn drive(&mut self) -> Exit {
        let terminal = self.terminal.clone();
        let mut exited = std::pin::pin!(terminal.exited());
        let mut timer = Timer::default();
        loop {
            self.do_outputs();
            self.carry_out_placed();
            self.publish_revision();
            self.report_spent();
            self.yield_if_due().await;
            let drained = self.streams.is_none();
            let deadline = self.machine.poll_timeout();
            let deadline = deadline.map(|it| deadline_after(self.start, it));
            tokio::select! {
                received = next(&mut self.streams) => self.received(received),
                exit = &mut exited, if drained => return exit,
                message = self.inbox.recv(), if self.has_handles => self.message(message),
                written = self.writer.written() => if let Some(input) = written {
                    self.feed(input);
                },
                input = self.resolutions.next() => self.feed(input),
                _ = pending_or(&mut self.terminating) => self.terminating = None,
                () = timer.until(deadline) => self.feed(Input::Timeout),
                state = budget_changed(&mut self.shared_budget) => {
                    self.feed(Input::SharedBudget(state));
                }
                state = changed(&mut self.connection) => match state {
                    Some(state) => self.feed(Input::Connection(state)),
                    None => self.connection = None,
                },
            }
        }
    }

    fn feed(&mut self, input: Input) {
        self.feed_arrived(input, None);
    }

    /// Feeds what arrived at the runner at a time, in milliseconds since 1970.
    fn feed_arrived(&mut self, input: Input, at_ms: Option<u64>) {
        self.machine.set_emits_events(self.observers.wants_events());
        let is_long = self.machine.open_line() > LONG_LINE && ends_line(&input);
        let now = self.start.elapsed();
        let fold = || self.machine.handle_arrived(input, now, at_ms);
        if is_long { off_reactor(fold) } else { fold() }
    }

    fn report_spent(&mut self) {
        if let Some(budget) = &mut self.shared_budget {
            budget.report(self.machine.spent());
        }
    }

    async fn yield_if_due(&mut self) {
        if self.folded >= YIELD_AFTER {
            self.folded = 0;
            yield_now().await;
        }
    }

    fn received(&mut self, received: Option<Received>) {
        match received {
            Some(Received::Output(piece)) => self.output(piece),
            Some(Received::Input(piece)) => self.host_input(piece),
            Some(Received::Control(Arrived { arrival, piece })) => {
                self.feed_arrived(Input::Control(piece), arrival.at_ms);
            }
            Some(Received::Errors(piece)) => self.stderr(piece),
            Some(Received::Ended(Stream::Output)) => self.feed(Input::OutputEnded),
            Some(Received::Ended(Stream::Errors)) => {}
            None => self.streams = None,
        }
    }

    fn output(&mut self, Arrived { arrival, piece }: Arrived) {
        let input = match piece {
            Piece::Bytes { bytes, .. } => {
                self.folded += bytes.len();
                self.observers.registration.output(bytes.len());
                Input::Output(bytes)
            }
            Piece::Gap { from, to } => Input::OutputGap { from, to },
        };
        self.feed_arrived(input, arrival.at_ms);
    }

    fn host_input(&mut self, Arrived { arrival, piece }: Arrived) {
        let input = match piece {
            Piece::Bytes { bytes, .. } => {
                self.folded += bytes.len();
                Input::HostLines(bytes)
            }
            Piece::Gap { to, .. } => Input::HostGap { to },
        };
        self.feed_arrived(input, arrival.at_ms);
    }

    fn stderr(&mut self, piece: Piece) {
        self.feed(match piece {
            Piece::Bytes { bytes, .. } => {
                self.observers.registration.stderr(bytes.len());
                Input::Stderr(bytes)
            }
            Piece::Gap { from, to } => Input::StderrGap(to - from),
        });
    }

    fn message(&mut self, message: Option<Message>) {
        match message {
            Some(Message::Send {
                prompt,
                states,
                reply,
            }) => {
                // Used only if the prompt is accepted: a refused one must not replace the receipt of
                // an earlier prompt with its uuid.
                self.new_receipt = Some(states);
                self.command(Command::Send(prompt), reply);
                self.do_outputs();
                self.new_receipt = None;
            }
            Some(Message::Command { command, reply }) => self.command(*command, reply),
            Some(Message::Placed {
                after,
                command,
                reply,
            }) => self.placed.push(after, *command, reply),
            Some(Message::Read(read)) => {
                // A panic of a reader must not end the session. The reply is dropped unsent, which
                // panics in the caller.
                let transcript = self.machine.transcript_mut();
                let _ = catch_unwind(AssertUnwindSafe(|| read(transcript)));
                // Later changes get a newer revision, which the reader may wait for.
                self.machine.transcript_mut().seal();
            }
            Some(Message::Activity(reply)) => {
                // The caller may have stopped waiting.
                let last = self.machine.last_activity();
                let _ = reply.send(last.aged(self.start.elapsed()));
            }
            Some(Message::Silence(reply)) => {
                // The caller may have stopped waiting.
                let _ = reply.send(self.machine.overdue_silence(self.start.elapsed()));
            }
            Some(Message::Capabilities(reply)) => {
                // The caller may have stopped waiting.
                let _ = reply.send(self.machine.capabilities());
            }
            Some(Message::AwaitHandshake(reply)) => self.handshake_waiters.push(reply),
            #[cfg(feature = "remote")]
            Some(Message::AwaitHistory(reply)) => self.history_waiters.push(reply),
            Some(Message::Detach) => self.detach(),
            // Dropping the last handle terminates a local agent. One at a runner continues, as it
            // does when the host exits before a request to end it can be sent. A requested end continues.
            None => {
                self.has_handles = false;
                if self.terminal.is_remote() && self.terminating.is_none() {
                    self.detach();
                } else {
                    self.feed(Input::Command(Command::Terminate, 0));
                }
            }
        }
    }

    fn detach(&mut self) {
        self.is_detached = true;
        self.machine.detach();
        self.terminal.detach();
    }

    fn command(&mut self, command: Command, reply: ReplySender) {
        self.last_ticket += 1;
        self.replies.insert(self.last_ticket, reply);
        self.feed(Input::Command(command, self.last_ticket));
    }

    /// Carries out the commands whose place in the output is reached. A place that was not reached at the end of
    /// the output never is.
    fn carry_out_placed(&mut self) {
        let reached = match self.streams {
            Some(_) => self.machine.output_end(),
            None => u64::MAX,
        };
        while let Some((command, reply)) = self.placed.next_before(reached) {
            self.command(command, reply);
            self.do_outputs();
        }
    }

    fn do_outputs(&mut self) {
        while let Some(output) = self.machine.poll_output() {
            match output {
                Output::Write { line, purpose } => self.writer.push(line, purpose),
                Output::CloseInput => self.writer.push_close(),
                Output::Reply { ticket, reply } => {
                    if let Some(sender) = self.replies.remove(&ticket) {
                        // The caller may have stopped waiting.
                        let _ = sender.send(reply);
                    }
                }
                Output::Receipt { uuid, state } => self.receipt(&uuid, state),
                Output::Event(event) => self.observers.event(event),
                Output::Permission(record) => {
                    let permissions = self.machine.permissions();
                    self.observers
                        .permissions(permissions, record.state.is_open());
                }
                Output::ResolvePaths { request_id, paths } => {
                    self.resolutions.start(request_id, paths);
                }
                Output::Decision(line) => {
                    if let Some(decisions) = &self.decisions {
                        // The receiver is dropped with the driver of the control stream, which decides no more.
                        let _ = decisions.send(line);
                    }
                }
                Output::SharedLimit { limit, answer, by } => {
                    if let Some(budget) = &self.shared_budget {
                        budget.answer(limit, answer, by.as_deref());
                    }
                }
                Output::TurnEnded => self.observers.turn_ended(self.machine.transcript()),
                Output::MeasureUsage => {
                    let usage = self.terminal.resource_usage();
                    self.feed(Input::Usage(usage));
                }
                Output::Terminate(policy) => {
                    let terminal = self.terminal.clone();
                    let terminating = async move { terminal.terminate(policy).await };
                    self.terminating = Some(Box::pin(terminating));
                }
                Output::Finished => {}
            }
        }
        if !self.machine.is_replaying() {
            for waiter in self.history_waiters.drain(..) {
                // The caller may have stopped waiting.
                let _ = waiter.send(());
            }
        }
        if !self.handshake_waiters.is_empty()
            && let Some(handshake) = self.machine.handshake()
        {
            for waiter in self.handshake_waiters.drain(..) {
                // The caller may have stopped waiting.
                let _ = waiter.send(handshake.clone());
            }
        }
        self.writer.start_next(&self.sources.log);
    }

    fn receipt(&mut self, uuid: &str, state: ReceiptState) {
        if state == ReceiptState::Accepted
            && let Some(states) = self.new_receipt.take()
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

    fn publish_revision(&mut self) {
        let newest = self.machine.transcript().revision();
        let has_changed = self.revision.send_if_modified(|known| {
            let changed = *known != newest;
            *known = newest;
            changed
        });
        if has_changed {
            self.observers.changed(self.machine.transcript(), false);
        }
    }
}

/// Returns whether input ends the line of output that is not complete.
fn ends_line(input: &Input) -> bool {
    match input {
        Input::Output(bytes) => bytes.contains(&b'\n'),
        Input::OutputGap { .. } | Input::OutputEnded => true,
        _ => false,
    }
}

/// Runs long work. A runtime with several threads runs its other tasks on another one meanwhile; one with a
/// single thread has none.
fn off_reactor(work: impl FnOnce()) {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(work),
        _ => work(),
    }
}

/// Waits for the next piece of the streams; forever when they have ended.
async fn next(streams: &mut Option<OutputReader>) -> Option<Received> {
    match streams {
        Some(streams) => streams.next().await,
        None => pending().await,
    }
}

/// Waits for a change of the connection. Returns `None` when there will be none.
async fn changed(
    connection: &mut Option<watch::Receiver<ConnectionState>>,
) -> Option<ConnectionState> {
    match connection {
        Some(connection) => {
            connection.changed().await.ok()?;
            Some(connection.borrow_and_update().clone())
        }
        None => pending().await,
    }
}

/// Waits for a change of the budget that the session shares with others.
async fn budget_changed(budget: &mut Option<BudgetMember>) -> SharedState {
    match budget {
        Some(budget) => budget.changed().await,
        None => pending().await,
    }
}

async fn pending_or<T>(work: &mut Pending<T>) -> T {
    match work {
        Some(work) => work.await,
        None => pending().await,
    }
}
