//! A session that runs, shown while it does.

mod asker;
mod question;
mod signals;

use std::time::Duration;

use bowline_lifecycle::{
    AgentLocation, ConnectionState, DialogueConfiguration, DialogueEnd, DialogueError,
    DialogueEvent, DialogueEventKind, DialogueEvents, DialogueSession, EventLimits, ExitStatus,
    InterruptReport, InterruptScope, Prompt, Receipt, ReceiptState, ReconnectFailed, error_chain,
};
use bowline_reducer::{Changes, EntryKind, Outcome, Phase, Transcript};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use crate::args::Output;
use crate::failure::Failure;
use crate::link::{given_up, lost, out_of_reach};
use crate::printer::Printer;
use crate::run::Claim;
use crate::screen::{Screen, width};
use crate::view::one_line;

use asker::Asker;
pub(crate) use asker::Policy;
use signals::Wish;
pub(crate) use signals::{Listener, Signals};

/// How often the line at the bottom is drawn.
const TICK: Duration = Duration::from_millis(100);

/// How long the agent may take to begin the turn that follows the end of its background work
/// (the report comes as an unasked turn, tens of milliseconds later).
const LINGER: Duration = Duration::from_secs(1);

/// A session and the people who watch it.
pub(crate) struct Live<'a> {
    session: DialogueSession,
    events: DialogueEvents,
    /// The link to the agent's machine.
    link: watch::Receiver<ConnectionState>,
    /// The URL of the runner that has the agent.
    runner: Option<String>,
    printer: Printer,
    screen: Screen,
    asker: Asker,
    signals: &'a mut Signals,
    tick: Interval,
    /// How often somebody asked for an end.
    wishes: u32,
    /// Interrupts that the agent has not acknowledged yet.
    interrupts: JoinSet<Result<InterruptReport, DialogueError>>,
    has_open_turn: bool,
    /// Work in the background runs.
    has_tasks: bool,
    /// Somebody asked for an end that leaves no choice; with a link or without, it comes.
    is_ending: bool,
    was_terminated: bool,
    /// Something that ran was given up.
    was_cut: bool,
    is_over: bool,
    has_settled: bool,
    has_waited: bool,
    linger: Option<Instant>,
    claim: Claim,
}

/// What a look at the session gives.
struct News {
    phase: Phase,
    has_open_turn: bool,
    /// Background work that runs, by description.
    tasks: Vec<String>,
    /// Permission requests that are open.
    pending: Vec<String>,
    /// Where the agent says it is.
    conversation: Option<String>,
}

/// How a session ended, and what became of its last turn.
#[derive(Debug)]
pub(crate) struct Close {
    pub(crate) ended: DialogueEnd,
    pub(crate) last: Option<LastTurn>,
    pub(crate) session_id: Option<String>,
    /// In US dollars.
    pub(crate) cost: f64,
    /// Somebody asked for the end.
    pub(crate) was_interrupted: bool,
    /// By a signal that leaves no choice.
    pub(crate) was_terminated: bool,
    /// Something that ran was given up.
    pub(crate) was_cut: bool,
    /// The last prompt was answered.
    pub(crate) has_settled: bool,
}

/// The result of the last turn.
#[derive(Debug)]
pub(crate) struct LastTurn {
    pub(crate) is_error: bool,
    pub(crate) is_complete: bool,
    /// The final text, or what went wrong.
    pub(crate) text: String,
}

impl<'a> Live<'a> {
    /// Starts a session.
    pub(crate) async fn start(
        configuration: DialogueConfiguration,
        output: Output,
        policy: Policy,
        signals: &'a mut Signals,
    ) -> Result<Self, Failure> {
        let limits = EventLimits::default();
        let runner = match &configuration.location {
            AgentLocation::Runner(remote) => Some(remote.url.to_string()),
            _ => None,
        };
        let started = DialogueSession::start_with_events(configuration, limits).await;
        let (session, events) = started
            .map_err(|error| Failure::failed(format!("failed to {}", error_chain(&error))))?;
        signals.guard(&session);
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        Ok(Self {
            link: session.connection(),
            runner,
            session,
            events,
            printer: Printer::live(output),
            screen: Screen::new(output == Output::Text),
            asker: Asker::new(policy),
            signals,
            tick,
            wishes: 0,
            interrupts: JoinSet::new(),
            has_open_turn: false,
            has_tasks: false,
            is_ending: false,
            was_terminated: false,
            was_cut: false,
            is_over: false,
            has_settled: false,
            has_waited: false,
            linger: None,
            claim: Claim::default(),
        })
    }

    /// Holds these conversations to the end, and those that the agent begins.
    pub(crate) fn claim(&mut self, claim: Claim) {
        self.claim = claim;
    }

    /// Says something above the dialogue; only people are told.
    pub(crate) fn caption(&mut self, text: &str) -> Result<(), Failure> {
        match self.printer.text() {
            Some(renderer) => self.screen.print(&renderer.caption(text)),
            None => Ok(()),
        }
    }

    /// Leaves a blank line behind what another session has printed.
    pub(crate) fn blank(&mut self) -> Result<(), Failure> {
        match self.printer.text() {
            Some(_) => self.screen.print("\n"),
            None => Ok(()),
        }
    }

    /// Sends a prompt and shows what follows, until nothing more is to come of it. When the output
    /// cannot be written the session is ended.
    pub(crate) async fn turn(&mut self, prompt: Prompt) -> Result<(), Failure> {
        let done = self.watch(prompt).await;
        if done.is_err() {
            self.session.terminate().await;
        }
        done
    }

    /// Ends the session and tells how it went.
    pub(crate) async fn finish(mut self) -> Result<Close, Failure> {
        let done = self.wind_up().await;
        if done.is_err() {
            self.session.terminate().await;
        }
        done
    }

    /// Whether somebody asked for an end, or the session has ended by itself.
    pub(crate) const fn is_stopped(&self) -> bool {
        self.is_over || self.wishes > 0
    }

    async fn watch(&mut self, prompt: Prompt) -> Result<(), Failure> {
        // An agent that has gone by now is told about at the end.
        let Ok(receipt) = self.session.send(prompt).await else {
            self.is_over = true;
            return Ok(());
        };
        self.has_settled = false;
        loop {
            let news = self.look().await?;
            self.has_settled = is_answered(receipt.state());
            if let Some(why) = lost(&self.link).filter(|_| !self.is_ending) {
                return Err(self.let_go(why).await);
            }
            if self.is_over || self.is_done(&receipt, &news)? {
                return self.screen.clear();
            }
            self.wait().await?;
        }
    }

    /// Shows what is new.
    async fn look(&mut self) -> Result<News, Failure> {
        let cursor = self.printer.cursor();
        let mut printer = std::mem::replace(&mut self.printer, Printer::live(Output::Transcript));
        let look = move |changes: &Changes<'_>| {
            let text = printer.news(changes);
            (printer, text, News::of(changes.transcript()))
        };
        let (_, (printer, text, news)) = self.session.changes_since(cursor, look).await;
        self.printer = printer;
        self.has_open_turn = news.has_open_turn;
        self.has_tasks = !news.tasks.is_empty();
        if let Some(conversation) = &news.conversation {
            self.claim.entered(conversation);
        }
        // What is told of the transcript as it was read is in the queue by now: a question that is
        // over goes before the text that says so.
        while let Some(event) = self.events.try_next() {
            self.hear(&event)?;
        }
        self.screen.print(&text)?;
        self.questions(&news.pending).await?;
        Ok(news)
    }

    /// Hears of what a transcript does not have, or not in time.
    fn hear(&mut self, event: &DialogueEvent) -> Result<(), Failure> {
        match &event.kind {
            DialogueEventKind::Lagged { .. } => {
                let permissions = self.session.permissions();
                self.asker.start_over(&permissions, &mut self.screen)
            }
            DialogueEventKind::PermissionRequest(record)
            | DialogueEventKind::PermissionEnded(record) => {
                self.asker.hear(record, &mut self.screen)
            }
            DialogueEventKind::Inquiry(silence) => self.tell_aside(&format!("{silence}, looking")),
            DialogueEventKind::StillAlive(_) => self.tell_aside("it lives and is waited for"),
            DialogueEventKind::Connection(state) => self.tell_link(state),
            _ => Ok(()),
        }
    }

    fn tell_link(&mut self, state: &ConnectionState) -> Result<(), Failure> {
        match state {
            ConnectionState::Reconnecting { attempt: 1 } => {
                self.tell_aside("the link to the agent is lost, trying to reach it again")
            }
            ConnectionState::Reconnected { .. } => self.tell_aside("the agent is reached again"),
            // One that is given up ends the command.
            _ => Ok(()),
        }
    }

    /// Tells people what is not part of the dialogue.
    fn tell_aside(&mut self, text: &str) -> Result<(), Failure> {
        self.tell_wish(&format!("bowline: {text}\n"))
    }

    async fn questions(&mut self, shown: &[String]) -> Result<(), Failure> {
        if !self.asker.is_idle(shown)
            && let Some(renderer) = self.printer.text()
        {
            // A question never stands in the middle of a line.
            let end = renderer.break_line();
            self.screen.print(&end)?;
        }
        self.asker
            .look(&self.session, shown, &mut self.screen)
            .await
    }

    /// Whether nothing more is to come: the prompt is settled and nothing runs any more.
    fn is_done(&mut self, receipt: &Receipt, news: &News) -> Result<bool, Failure> {
        if !receipt.state().is_final() || news.has_open_turn {
            self.linger = None;
            return Ok(false);
        }
        if self.wishes > 0 {
            if !self.interrupts.is_empty() {
                return Ok(false);
            }
            self.was_cut |= !news.tasks.is_empty();
            return Ok(true);
        }
        if news.phase != Phase::Idle {
            self.linger = None;
            if !news.tasks.is_empty() && !std::mem::replace(&mut self.has_waited, true) {
                self.caption(&format!(
                    "waiting for background work: {}",
                    news.tasks.join(", ")
                ))?;
            }
            return Ok(false);
        }
        if !self.has_waited {
            return Ok(true);
        }
        let due = *self.linger.get_or_insert_with(|| Instant::now() + LINGER);
        Ok(Instant::now() >= due)
    }

    /// Waits until something happens, and does what follows from it.
    async fn wait(&mut self) -> Result<(), Failure> {
        let revision = self.printer.cursor().revision();
        let due = self.linger.into_iter().chain(self.asker.due()).min();
        tokio::select! {
            () = self.session.changed_since(revision), if !self.session.has_ended() => {}
            _ = self.session.ended() => self.is_over = true,
            Some(event) = self.events.next() => self.hear(&event)?,
            wish = self.signals.next() => self.wish(wish)?,
            Some(done) = self.interrupts.join_next() => self.interrupted(done.ok())?,
            line = self.asker.line() => {
                self.asker.answer(&self.session, line, &mut self.screen).await?;
            }
            () = until(due) => self.asker.time_out(&self.session, &mut self.screen).await?,
            _ = self.tick.tick(), if self.screen.is_terminal() => self.progress()?,
        }
        // The last changes come with the end.
        if self.session.has_ended() {
            self.is_over = true;
            self.look().await?;
        }
        Ok(())
    }

    fn progress(&mut self) -> Result<(), Failure> {
        let room = width().unwrap_or_default().saturating_sub(3);
        match self.printer.text() {
            Some(renderer) if renderer.is_at_line_start() => {
                let doing = renderer.doing(room);
                self.screen.progress(&doing)
            }
            _ => Ok(()),
        }
    }

    /// The first interrupt is for what runs, everything else for the session.
    fn wish(&mut self, wish: Wish) -> Result<(), Failure> {
        self.wishes += 1;
        let session = self.session.clone();
        let is_at_work = self.has_open_turn || self.has_tasks;
        if wish == Wish::Interrupt && self.wishes == 1 && is_at_work {
            // The agent stops its background work with a turn, and nothing of that is told.
            self.was_cut |= !self.has_open_turn;
            self.interrupts
                .spawn(async move { session.interrupt_scope(InterruptScope::All).await });
            return self.tell_wish("interrupting, once more ends the session…\n");
        }
        self.was_terminated |= wish == Wish::Terminate;
        self.was_cut = true;
        self.is_ending = true;
        tokio::spawn(async move { session.terminate().await });
        self.tell_wish("ending the session…\n")
    }

    /// Takes what an interrupt has stopped; tells when it came to nothing, and the turn goes on.
    fn interrupted(
        &mut self,
        done: Option<Result<InterruptReport, DialogueError>>,
    ) -> Result<(), Failure> {
        match done {
            Some(Ok(stopped)) => {
                self.was_cut |= !stopped.tasks.is_empty();
                Ok(())
            }
            // The end of a session is told by itself.
            None | Some(Err(DialogueError::Ended)) => Ok(()),
            Some(Err(error)) => self.tell_wish(&format!("bowline: failed to {error}\n")),
        }
    }

    fn tell_wish(&mut self, text: &str) -> Result<(), Failure> {
        if let Some(renderer) = self.printer.text() {
            let end = renderer.break_line();
            self.screen.print(&end)?;
        }
        self.screen.warn(text)
    }

    async fn wind_up(&mut self) -> Result<Close, Failure> {
        let session = self.session.clone();
        let is_hurried = self.wishes > 0;
        // Whoever has interrupted does not wait for work in the background.
        let mut end = std::pin::pin!(async move {
            if is_hurried {
                session.terminate().await
            } else {
                session.end().await
            }
        });
        let ended = loop {
            tokio::select! {
                biased;
                why = given_up(&mut self.link), if !self.is_ending => return Err(self.let_go(why).await),
                ended = &mut end => break ended,
                wish = self.signals.next() => self.wish(wish)?,
            }
        };
        self.close(ended).await
    }

    /// Lets go of an agent that cannot be reached any more, and shows what is known of it. It goes
    /// on where it is.
    async fn let_go(&mut self, why: ReconnectFailed) -> Failure {
        let id = self.session.id();
        // A link without hope has ended the session already.
        let _ = self.session.detach().await;
        let ended = self.session.ended().await;
        match self.close(ended).await {
            Ok(_) => out_of_reach(self.runner.as_deref(), id, &why),
            Err(failure) => failure,
        }
    }

    /// Shows the last of a session that is over.
    async fn close(&mut self, ended: DialogueEnd) -> Result<Close, Failure> {
        // The end answers what the agent has not.
        while let Some(done) = self.interrupts.join_next().await {
            self.interrupted(done.ok())?;
        }
        self.look().await?;
        let mut printer = std::mem::replace(&mut self.printer, Printer::live(Output::Transcript));
        let read = move |transcript: &Transcript| {
            let session = transcript.session();
            // An id that no conversation was opened with is one that the agent does not know.
            let session_id = session.model().and_then(|_| session.id());
            let session_id = session_id.map(str::to_owned);
            let cost = transcript.usage().cost_usd();
            let last = last_turn(transcript);
            (printer.last(transcript), last, session_id, cost)
        };
        let (text, last, session_id, cost) = self.session.inspect(read).await;
        self.screen.print(&text)?;
        self.screen.clear()?;
        Ok(Close {
            ended,
            last,
            session_id,
            cost,
            was_interrupted: self.wishes > 0,
            was_terminated: self.was_terminated,
            was_cut: self.was_cut,
            has_settled: self.has_settled,
        })
    }
}

impl News {
    fn of(transcript: &Transcript) -> Self {
        let open = transcript.tasks().filter(|task| task.state().is_open());
        Self {
            phase: transcript.status().phase,
            has_open_turn: transcript.has_open_turn(),
            tasks: open
                .map(|task| one_line(&task.description().to_cow(), 40))
                .collect(),
            pending: transcript
                .pending_permissions()
                .map(|it| it.request_id().to_owned())
                .collect(),
            conversation: transcript.session().id().map(str::to_owned),
        }
    }
}

impl Close {
    /// Whether the agent went when it was its time to go.
    pub(crate) fn is_orderly(&self) -> bool {
        let by_itself = self.has_settled && self.ended.exit.status == ExitStatus::Code(0);
        self.ended.expected || by_itself
    }

    /// Whether the agent did all that it was asked, an interrupt or not.
    pub(crate) fn is_complete(&self) -> bool {
        let is_complete = self.last.as_ref().is_some_and(|last| last.is_complete);
        self.has_settled && is_complete && !self.was_cut
    }
}

fn last_turn(transcript: &Transcript) -> Option<LastTurn> {
    transcript
        .entries()
        .rev()
        .find_map(|entry| match entry.kind() {
            EntryKind::Result {
                subtype,
                is_error,
                outcome,
                text,
                ..
            } => Some(LastTurn {
                is_error: is_error || outcome == Outcome::Failed,
                is_complete: !is_error && outcome == Outcome::Completed,
                text: text.map_or_else(|| subtype.to_owned(), |text| text.to_cow().into_owned()),
            }),
            _ => None,
        })
}

const fn is_answered(state: ReceiptState) -> bool {
    matches!(state, ReceiptState::Answered | ReceiptState::Merged)
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
