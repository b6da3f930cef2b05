//! Shows a running session and forwards the user's input to it.

mod ending;
mod outcome;

use std::time::Duration;

use bowline_lifecycle::{
    AgentLocation, ConnectionState, DialogueConfiguration, DialogueError, DialogueEvent,
    DialogueEventKind, DialogueEvents, DialogueSession, EventLimits, InterruptReport,
    InterruptScope, Prompt, Receipt, ReceiptState, error_chain,
};
use bowline_reducer::{Changes, Phase, Transcript};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use crate::args::Output;
use crate::failure::Failure;
use crate::leases::ConversationLeases;
use crate::permission::{PermissionPolicy, PermissionPrompt};
use crate::printer::Printer;
use crate::runner::{ConnectionNotices, announced, connection_failure};
use crate::screen::Screen;
use crate::signals::{SignalRequest, Signals};
use crate::stdio::terminal_width;
use crate::text::one_line;

pub(crate) use outcome::SessionOutcome;

/// Time between two drawings of the status line.
const STATUS_INTERVAL: Duration = Duration::from_millis(100);

/// How long the agent may take to begin the unprompted turn that reports background work, after
/// that work has ended. It usually takes some tens of milliseconds.
const REPORT_DELAY: Duration = Duration::from_secs(1);

/// How long a remote session that is terminated may take to confirm its end: longer than the agent's grace
/// periods.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// The same after a request to end it that follows one without an answer. The request is sent in this time.
const DETACH_DELAY: Duration = Duration::from_millis(500);

/// Renders a running session to the terminal and forwards user input to it.
pub(crate) struct SessionView<'a> {
    session: DialogueSession,
    events: DialogueEvents,
    connection: watch::Receiver<ConnectionState>,
    notices: ConnectionNotices,
    /// Whether the agent runs at a runner.
    is_remote: bool,
    /// The options that select the runner, each after a space; empty for the default one.
    runner_options: String,
    printer: Printer,
    screen: Screen,
    permissions: PermissionPrompt,
    signals: &'a mut Signals,
    status_timer: Interval,
    /// Number of requests to interrupt or terminate.
    end_requests: u32,
    /// Interrupts that the agent has not acknowledged yet.
    interrupts: JoinSet<Result<InterruptReport, DialogueError>>,
    has_open_turn: bool,
    /// Background tasks are running.
    has_tasks: bool,
    /// The session is being terminated, whether or not the connection works.
    is_terminating: bool,
    /// When a remote session that is being terminated is left without a confirmation of its end.
    detach_at: Option<Instant>,
    was_terminated: bool,
    was_cancelled: bool,
    has_ended: bool,
    is_answered: bool,
    /// The wait for background tasks was announced.
    has_waited: bool,
    /// When the wait for a report of background work ends.
    report_deadline: Option<Instant>,
    leases: ConversationLeases,
}

/// What the view needs to know of a transcript.
struct TranscriptState {
    phase: Phase,
    has_open_turn: bool,
    /// Descriptions of the background tasks that are running.
    tasks: Vec<String>,
    /// Ids of the open permission requests.
    permissions: Vec<String>,
    conversation: Option<String>,
}

impl<'a> SessionView<'a> {
    /// Starts a session.
    ///
    /// # Errors
    /// If the agent cannot be started.
    pub(crate) async fn start(
        configuration: DialogueConfiguration,
        output: Output,
        policy: PermissionPolicy,
        signals: &'a mut Signals,
    ) -> Result<Self, Failure> {
        let limits = EventLimits::default();
        let is_remote = matches!(&configuration.location, AgentLocation::Runner(_));
        let starting = DialogueSession::start_with_events(configuration, limits);
        let started = if is_remote {
            announced(starting).await
        } else {
            starting.await
        };
        let (session, events) = started.map_err(|error| Failure::caused("failed to", &error))?;
        signals.set_session(&session);
        let mut printer = Printer::live(output);
        if let Some(renderer) = printer.renderer() {
            // Text shows only what is new.
            renderer.hide_history();
        }
        let mut status_timer = interval(STATUS_INTERVAL);
        status_timer.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Ok(Self {
            connection: session.connection(),
            notices: ConnectionNotices::new(session.connection(), "the agent"),
            is_remote,
            runner_options: String::new(),
            session,
            events,
            printer,
            screen: Screen::new(output == Output::Text),
            permissions: PermissionPrompt::new(policy),
            signals,
            status_timer,
            end_requests: 0,
            interrupts: JoinSet::new(),
            has_open_turn: false,
            has_tasks: false,
            is_terminating: false,
            detach_at: None,
            was_terminated: false,
            was_cancelled: false,
            has_ended: false,
            is_answered: false,
            has_waited: false,
            report_deadline: None,
            leases: ConversationLeases::default(),
        })
    }

    /// Keeps these leases, and acquires one on every conversation that the agent begins.
    pub(crate) fn set_leases(&mut self, leases: ConversationLeases) {
        self.leases = leases;
    }

    /// Sets the options that select the runner on a command line, for messages.
    pub(crate) fn set_runner_options(&mut self, options: String) {
        self.runner_options = options;
    }

    /// Prints a caption in the text form.
    pub(crate) fn caption(&mut self, text: &str) -> Result<(), Failure> {
        match self.printer.renderer() {
            Some(renderer) => self.screen.print(&renderer.caption(text)),
            None => Ok(()),
        }
    }

    /// Prints a blank line in the text form.
    pub(crate) fn blank_line(&mut self) -> Result<(), Failure> {
        match self.printer.renderer() {
            Some(_) => self.screen.print("\n"),
            None => Ok(()),
        }
    }

    /// Sends a prompt and shows the session until the prompt is answered and nothing runs.
    ///
    /// # Errors
    /// If the output cannot be written, or the connection fails for good; the session is terminated
    /// or detached then.
    pub(crate) async fn turn(&mut self, prompt: Prompt) -> Result<(), Failure> {
        let done = self.show_turn(prompt).await;
        if done.is_err() {
            self.session.terminate().await;
        }
        done
    }

    /// Ends the session and shows the rest of it.
    ///
    /// # Errors
    /// As [`SessionView::turn`].
    pub(crate) async fn finish(mut self) -> Result<SessionOutcome, Failure> {
        let done = self.end_session().await;
        if done.is_err() {
            self.session.terminate().await;
        }
        done
    }

    /// Whether the user requested an end, or the session has ended.
    pub(crate) const fn is_stopped(&self) -> bool {
        self.has_ended || self.end_requests > 0
    }

    async fn show_turn(&mut self, prompt: Prompt) -> Result<(), Failure> {
        // Fails if the agent has exited, which `finish` reports.
        let Ok(receipt) = self.session.send(prompt).await else {
            self.has_ended = true;
            return Ok(());
        };
        self.is_answered = false;
        loop {
            let state = self.print_changes().await?;
            self.is_answered = is_answered(receipt.state());
            let failure = connection_failure(&self.connection);
            if let Some(reason) = failure.filter(|_| !self.is_terminating) {
                return Err(self.detach(reason).await);
            }
            if self.is_unconfirmed() {
                return Err(self.leave().await);
            }
            if self.has_ended || self.is_done(&receipt, &state)? {
                return self.screen.clear();
            }
            self.wait().await?;
        }
    }

    /// Prints the changes since the last call and opens the next permission request.
    async fn print_changes(&mut self) -> Result<TranscriptState, Failure> {
        let mut printer = std::mem::replace(&mut self.printer, Printer::live(Output::Transcript));
        let cursor = printer.cursor();
        let read = move |changes: &Changes<'_>| {
            let text = printer.changes(changes);
            (printer, text, TranscriptState::of(changes.transcript()))
        };
        let (_, (printer, text, state)) = self.session.changes_since(cursor, read).await;
        self.printer = printer;
        self.has_open_turn = state.has_open_turn;
        self.has_tasks = !state.tasks.is_empty();
        if let Some(conversation) = &state.conversation {
            self.leases.enter(conversation);
        }
        // Events about the transcript that was read are in the queue by now. A question that has
        // ended is closed before the text about its end is printed.
        while let Some(event) = self.events.try_next() {
            self.on_event(&event)?;
        }
        self.screen.print(&text)?;
        self.open_permission(&state.permissions).await?;
        Ok(state)
    }

    /// Handles an event that the transcript does not contain, or contains too late.
    fn on_event(&mut self, event: &DialogueEvent) -> Result<(), Failure> {
        match &event.kind {
            DialogueEventKind::PermissionRequest(record)
            | DialogueEventKind::PermissionEnded(record) => {
                self.permissions.on_update(record, &mut self.screen)
            }
            DialogueEventKind::Inquiry(silence) => {
                let cause = silence.cause.as_ref().map(ToString::to_string);
                let cause = cause.as_deref().unwrap_or("checking the agent");
                let seconds = silence.silent_for.as_secs();
                self.notify(&format!("no output for {seconds} s; {cause}"))
            }
            DialogueEventKind::StillAlive(_) => self.notify("agent still running; waiting"),
            DialogueEventKind::Lagged { .. } => {
                let permissions = self.session.permissions();
                self.permissions.reset(&permissions, &mut self.screen)
            }
            _ => Ok(()),
        }
    }

    /// Prints a message of the program to standard error.
    fn notify(&mut self, text: &str) -> Result<(), Failure> {
        self.warn(&format!("bowline: {text}\n"))
    }

    fn warn(&mut self, text: &str) -> Result<(), Failure> {
        self.end_line()?;
        self.screen.warn(text)
    }

    /// Ends the line that the dialogue is writing.
    fn end_line(&mut self) -> Result<(), Failure> {
        match self.printer.renderer() {
            Some(renderer) => self.screen.print(&renderer.end_line()),
            None => Ok(()),
        }
    }

    async fn open_permission(&mut self, shown: &[String]) -> Result<(), Failure> {
        if !self.permissions.is_idle(shown) {
            self.end_line()?;
        }
        self.permissions
            .open_next(&self.session, shown, &mut self.screen)
            .await
    }

    /// Whether the prompt is settled and nothing runs any more.
    fn is_done(&mut self, receipt: &Receipt, state: &TranscriptState) -> Result<bool, Failure> {
        if !receipt.state().is_final() || state.has_open_turn {
            self.report_deadline = None;
            return Ok(false);
        }
        if self.end_requests > 0 {
            if !self.interrupts.is_empty() {
                return Ok(false);
            }
            self.was_cancelled |= !state.tasks.is_empty();
            return Ok(true);
        }
        if state.phase != Phase::Idle {
            self.report_deadline = None;
            if !state.tasks.is_empty() && !std::mem::replace(&mut self.has_waited, true) {
                let tasks = state.tasks.join(", ");
                self.caption(&format!("waiting for background work: {tasks}"))?;
            }
            return Ok(false);
        }
        if !self.has_waited {
            return Ok(true);
        }
        let deadline = || Instant::now() + REPORT_DELAY;
        Ok(Instant::now() >= *self.report_deadline.get_or_insert_with(deadline))
    }

    /// Waits for the next event and handles it.
    async fn wait(&mut self) -> Result<(), Failure> {
        let revision = self.printer.cursor().revision();
        let deadlines = self.report_deadline.into_iter();
        let deadline = deadlines.chain(self.permissions.deadline()).min();
        tokio::select! {
            () = self.session.changed_since(revision), if !self.session.has_ended() => {}
            _ = self.session.ended() => self.has_ended = true,
            Some(event) = self.events.next() => self.on_event(&event)?,
            notice = self.notices.next() => self.notify(&notice)?,
            () = until(self.detach_at) => {}
            request = self.signals.next() => self.on_signal(request)?,
            Some(done) = self.interrupts.join_next() => self.on_interrupted(done.ok())?,
            line = self.permissions.next_line() => {
                self.permissions.answer(&self.session, line, &mut self.screen).await?;
            }
            () = until(deadline) => {
                self.permissions.on_deadline(&self.session, &mut self.screen).await?;
            }
            _ = self.status_timer.tick(), if self.screen.is_terminal() => self.draw_status()?,
        }
        // The last changes come with the end.
        if self.session.has_ended() {
            self.has_ended = true;
            self.print_changes().await?;
        }
        Ok(())
    }

    fn draw_status(&mut self) -> Result<(), Failure> {
        let width = terminal_width().unwrap_or_default().saturating_sub(3);
        match self.printer.renderer() {
            Some(renderer) if renderer.is_at_line_start() => {
                let activity = renderer.activity(width);
                self.screen.draw_status(&activity)
            }
            _ => Ok(()),
        }
    }

    /// Handles a signal: the first interrupt stops the running work, anything else the session.
    fn on_signal(&mut self, request: SignalRequest) -> Result<(), Failure> {
        self.end_requests += 1;
        let session = self.session.clone();
        let is_working = self.has_open_turn || self.has_tasks;
        if request == SignalRequest::Interrupt && self.end_requests == 1 && is_working {
            // Without an open turn, the agent stops its background work without a report.
            self.was_cancelled |= !self.has_open_turn;
            self.interrupts
                .spawn(async move { session.interrupt_scope(InterruptScope::All).await });
            return self.warn("interrupting; press ^C again to end the session\n");
        }
        self.was_terminated |= request == SignalRequest::Terminate;
        self.was_cancelled = true;
        // The agent has not answered the interrupt, or the session has not ended yet.
        let is_doubtful = !self.interrupts.is_empty() || self.is_terminating;
        self.is_terminating = true;
        if self.is_remote {
            let delay = if is_doubtful {
                DETACH_DELAY
            } else {
                END_TIMEOUT
            };
            let at = Instant::now() + delay;
            self.detach_at = Some(self.detach_at.map_or(at, |earlier| earlier.min(at)));
        }
        tokio::spawn(async move { session.terminate().await });
        self.warn("ending the session…\n")
    }

    /// Handles the acknowledgement of an interrupt; after an error, the turn continues.
    fn on_interrupted(
        &mut self,
        done: Option<Result<InterruptReport, DialogueError>>,
    ) -> Result<(), Failure> {
        match done {
            Some(Ok(stopped)) => {
                self.was_cancelled |= !stopped.tasks.is_empty();
                Ok(())
            }
            // The end of the session is reported by itself.
            None | Some(Err(DialogueError::Ended)) => Ok(()),
            Some(Err(error)) => self.notify(&format!("failed to {}", error_chain(&error))),
        }
    }
}

impl TranscriptState {
    fn of(transcript: &Transcript) -> Self {
        let tasks = transcript.tasks().filter(|task| task.state().is_open());
        Self {
            phase: transcript.status().phase,
            has_open_turn: transcript.has_open_turn(),
            tasks: tasks
                .map(|task| one_line(&task.description().to_cow(), 40))
                .collect(),
            permissions: transcript
                .pending_permissions()
                .map(|it| it.request_id().to_owned())
                .collect(),
            conversation: transcript.session().id().map(str::to_owned),
        }
    }
}

const fn is_answered(state: ReceiptState) -> bool {
    matches!(state, ReceiptState::Answered | ReceiptState::Merged)
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
