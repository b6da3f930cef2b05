//! The task that owns a running session: it feeds events to the state machine and performs the
//! effects that the machine asks for.

mod effects;

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bowline_hooks::{HookLine, RunnerHooks};
use bowline_transport::journal::SyncDone;
use bowline_transport::{Drained, ExitStatus, Piece, TerminationPolicy};
use bytes::Bytes;
use futures_util::FutureExt as _;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::audit_log::{AuditEvent, wall_ms};
use super::child::{Child, ChildCommand, ChildEvent};
use super::connection::{ByteLink, ConnectionEvent};
use super::connections::Connections;
use super::journal::{SessionJournal, SharedDisk};
use super::recorder::{Recorder, report_degraded};
use super::scrollback_job::Scrollback;
use super::{Decision, SessionStart, SessionStatus};
use crate::screen::SessionScreen;
use crate::scrollback::ScreenLog;
use crate::session_machine::{
    ClientId, HookChange, MachineConfiguration, ScreenSnapshot, SessionMachine,
};
use crate::wire::StreamId;

/// How long connections may take at the end of the session for what was sent to them.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// How long the final kill of the child's tree may take; longer than all steps of a termination
/// policy.
const KILL_TIMEOUT: Duration = Duration::from_secs(10);

/// The `kind` of [`Degraded`](crate::wire::Message::Degraded) after the screen model has failed.
const SCREEN: &str = "screen";

/// A request of a [`SessionHandle`](super::SessionHandle).
#[derive(Debug)]
pub(super) enum Request {
    Connect(Box<dyn ByteLink>),
    Stop,
    StopIfUnattached,
}

/// An event that wakes the actor.
#[derive(Debug)]
enum ActorEvent {
    Output(StreamId, Option<Piece>),
    Child(ChildEvent),
    Connection((ClientId, ConnectionEvent)),
    Request(Request),
    Synced(SyncDone),
    Screen(ScreenSnapshot),
    Hook(HookLine),
    Timer,
}

/// How the child ended.
#[derive(Debug)]
struct ChildExit {
    status: ExitStatus,
    oom: bool,
    drained: Drained,
}

/// The owner of a session's state.
#[derive(Debug)]
pub(super) struct SessionActor<D: SharedDisk> {
    machine: SessionMachine,
    child: Child,
    recorder: Recorder<D>,
    screen: Option<SessionScreen>,
    /// Failures of the screen model that were reported.
    screen_faults: u32,
    scrollback: Scrollback,
    connections: Connections,
    hooks: Option<RunnerHooks>,
    started: Instant,
    /// The child's exit, held back until its streams have ended.
    pending_exit: Option<ChildExit>,
    is_stopping: bool,
    status: watch::Sender<SessionStatus>,
}

impl<D: SharedDisk> SessionActor<D> {
    pub(super) fn new(
        configuration: MachineConfiguration,
        child: Child,
        journal: Option<SessionJournal<D>>,
        status: watch::Sender<SessionStatus>,
        start: SessionStart<'_>,
    ) -> Self {
        let (epoch, facts) = (configuration.epoch, configuration.facts.clone());
        let size = facts.size.filter(|_| configuration.has_screen);
        let tty = configuration.streams.iter();
        let tty = tty.copied().find(|it| it.id == StreamId::TTY);
        let ring_bytes = tty.map_or(0, |it| it.ring_bytes);
        let log = ScreenLog::new(ring_bytes, journal.is_some());
        let streams = configuration.streams.iter().map(|it| it.id).collect();
        let mut actor = Self {
            machine: SessionMachine::new(configuration),
            child,
            recorder: Recorder::new(journal, streams),
            screen: size.map(SessionScreen::new),
            screen_faults: 0,
            scrollback: Scrollback::new(start.scrollback_lines, log),
            connections: Connections::new(),
            hooks: start.hooks,
            started: Instant::now(),
            pending_exit: None,
            is_stopping: false,
            status,
        };
        actor.machine.set_wall_time(wall_ms());
        let event = AuditEvent::Started {
            epoch,
            facts: &facts,
        };
        actor.recorder.audit(&mut actor.machine, &event);
        actor.record_size();
        for Decision { id, line } in start.decisions {
            let line = Bytes::from(line.clone().into_bytes());
            actor.machine.record_decision(id, &line);
        }
        actor.flush();
        actor
    }

    /// Runs until the session is over.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        loop {
            self.flush();
            self.recorder.start_sync();
            if self.machine.is_over(self.now()) {
                break;
            }
            let event = self.next_event(&mut requests).await;
            self.handle(event);
        }
        self.drain_connection_events();
        requests.close();
        self.shut_down().await;
        // A connection that is being sent at this moment would stay in the queue while a handle exists, open and
        // unanswered.
        while requests.recv().await.is_some() {}
    }

    /// Handles frames that arrived together with the last acknowledgement of the exit. A client that
    /// sends a ping after it, to learn whether it was received, would otherwise reconnect to ask, and
    /// find no session.
    fn drain_connection_events(&mut self) {
        while let Some(event) = self.connections.try_next_event() {
            let now = self.now();
            self.connections.handle(&mut self.machine, event, now);
        }
        self.flush();
    }

    /// Closes all connections, kills what is left of the child's tree and completes the journal.
    async fn shut_down(mut self) {
        self.connections.finish();
        let kill = ChildCommand::Kill(TerminationPolicy::AT_ONCE);
        if self.child.commands.send(kill).is_ok() {
            let _ = timeout(KILL_TIMEOUT, self.killed()).await;
        }
        self.recorder.close(&mut self.machine);
        let _ = timeout(CLOSE_TIMEOUT, self.connections.all_closed()).await;
        self.status.send_modify(|status| status.is_over = true);
        tracing::info!("session ended");
    }

    async fn killed(&mut self) {
        while let Some(event) = self.child.events.recv().await {
            if matches!(event, ChildEvent::Killed(_)) {
                return;
            }
        }
    }

    /// The machine's time.
    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    async fn next_event(&mut self, requests: &mut mpsc::Receiver<Request>) -> ActorEvent {
        let deadline = self.deadline();
        // A child that has ended writes no more: its remaining output is read even if a client lags.
        let has_ended = self.pending_exit.is_some();
        let outputs = self.child.outputs.iter();
        let paused: Vec<bool> = outputs
            .map(|(id, _)| !has_ended && self.machine.is_paused(*id))
            .collect();
        let outputs = &mut self.child.outputs;
        let output = poll_fn(|cx| {
            for ((id, from), paused) in outputs.iter_mut().zip(&paused) {
                if !paused && let Poll::Ready(piece) = from.poll_recv(cx) {
                    return Poll::Ready((*id, piece));
                }
            }
            Poll::Pending
        });
        let hooks = &mut self.hooks;
        let hook = async {
            match hooks {
                Some(hooks) => hooks.next().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            line = hook => ActorEvent::Hook(line),
            Some(event) = self.connections.next_event() => ActorEvent::Connection(event),
            Some(event) = self.child.events.recv() => ActorEvent::Child(event),
            Some(done) = self.recorder.next_sync() => ActorEvent::Synced(done),
            Some(screen) = self.scrollback.next() => ActorEvent::Screen(screen),
            (id, piece) = output => ActorEvent::Output(id, piece),
            Some(request) = requests.recv() => ActorEvent::Request(request),
            () = until(deadline) => ActorEvent::Timer,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let machine = self.machine.deadline().map(|at| self.started + at);
        let recorder = self.recorder.deadline();
        let connections = self.connections.deadline();
        [machine, recorder, connections].into_iter().flatten().min()
    }

    fn handle(&mut self, event: ActorEvent) {
        self.machine.set_wall_time(wall_ms());
        match event {
            ActorEvent::Output(id, Some(piece)) => self.on_output(id, piece),
            ActorEvent::Output(id, None) => self.on_output_ended(id),
            ActorEvent::Child(event) => self.on_child_event(event),
            ActorEvent::Connection(event) => {
                let now = self.now();
                self.connections.handle(&mut self.machine, event, now);
            }
            ActorEvent::Request(Request::Connect(link)) => self.connect(link),
            ActorEvent::Request(Request::Stop) => self.stop(),
            ActorEvent::Request(Request::StopIfUnattached) => {
                if self.connections.is_empty() {
                    self.stop();
                }
            }
            ActorEvent::Synced(done) => self.recorder.on_synced(&mut self.machine, done),
            ActorEvent::Screen(screen) => self.on_screen(screen),
            ActorEvent::Hook(line) => self.on_hook(&line),
            ActorEvent::Timer => self.on_timer(),
        }
    }

    fn on_hook(&mut self, line: &HookLine) {
        let open = match line {
            HookLine::Event { id, asks: true, .. } => Some(HookChange::Opened(*id)),
            HookLine::Closed { id } => Some(HookChange::Closed(*id)),
            _ => None,
        };
        let mut text = serde_json::to_vec(line).unwrap_or_default();
        text.push(b'\n');
        self.machine.on_hook(text.into(), open);
        self.recorder.record(&mut self.machine, StreamId::HOOKS);
    }

    fn on_output(&mut self, id: StreamId, piece: Piece) {
        // Input that was written before this output was read comes before it, since it may be its cause.
        while let Ok(event) = self.child.events.try_recv() {
            self.on_child_event(event);
        }
        match piece {
            Piece::Bytes { bytes, .. } => {
                let offset = self.machine.end(id);
                self.machine.on_output(id, bytes.clone());
                if id == StreamId::TTY {
                    self.update_screen(offset, &bytes);
                }
            }
            Piece::Gap { from, to } => self.machine.on_output_lost(id, to - from),
        }
        self.recorder.record(&mut self.machine, id);
    }

    /// Feeds output to the screen model. Terminal queries in it are replied to by the model while no
    /// client holds the write lease.
    fn update_screen(&mut self, offset: u64, bytes: &[u8]) {
        let Some(screen) = &mut self.screen else {
            return;
        };
        screen.set_replies_enabled(!self.machine.has_writer());
        screen.feed(offset, bytes);
        self.scrollback
            .on_output((offset, bytes), screen, &self.machine, &mut self.recorder);
        let replies = screen.take_replies();
        self.machine
            .set_bracketed_paste(screen.has_bracketed_paste());
        let faults = screen.faults();
        if faults > std::mem::replace(&mut self.screen_faults, faults) {
            let detail = "the screen model failed and was reset";
            report_degraded(&mut self.machine, SCREEN, detail);
        }
        self.machine.queue_terminal_reply(replies);
    }

    /// Delivers a snapshot with the lines above the screen to the clients that begin with it.
    fn on_screen(&mut self, snapshot: ScreenSnapshot) {
        for client in self.scrollback.take_clients() {
            self.machine.on_snapshot(client, Some(snapshot.clone()));
        }
        if let Some(screen) = &mut self.screen {
            self.scrollback
                .start_next(screen, &self.machine, &self.recorder);
        }
    }

    /// Records the size of the screen.
    fn record_size(&mut self) {
        if let Some(screen) = &self.screen {
            self.scrollback
                .on_resized(screen, &self.machine, &mut self.recorder);
        }
    }

    fn on_output_ended(&mut self, id: StreamId) {
        self.child.outputs.retain(|(other, _)| *other != id);
        self.machine.on_output_ended(id);
        self.report_exit();
    }

    fn on_child_event(&mut self, event: ChildEvent) {
        let now = self.now();
        match event {
            ChildEvent::Written(result) => {
                self.machine.on_written(result, now);
                self.recorder.record(&mut self.machine, StreamId::INPUT);
            }
            ChildEvent::Killed(report) => self.machine.on_killed(report),
            ChildEvent::Exited {
                status,
                oom,
                drained,
            } => {
                self.pending_exit = Some(ChildExit {
                    status,
                    oom,
                    drained,
                });
                self.report_exit();
            }
        }
    }

    /// Reports the child's exit once all of its streams have ended.
    fn report_exit(&mut self) {
        if !self.child.outputs.is_empty() {
            return;
        }
        let Some(exit) = self.pending_exit.take() else {
            return;
        };
        let ChildExit {
            status,
            oom,
            drained,
        } = exit;
        // Those that arrived belong before the end, such as that of the session.
        while let Some(line) = self.hooks.as_mut().and_then(|it| it.next().now_or_never()) {
            self.on_hook(&line);
        }
        let streams = self.recorder.streams().iter();
        let streams = streams.filter(|id| **id != StreamId::LIFECYCLE);
        let ends = streams.map(|id| (*id, self.machine.end(*id))).collect();
        let event = AuditEvent::Exited {
            status: &status,
            oom,
            drained: &drained,
            ends,
        };
        self.recorder.audit(&mut self.machine, &event);
        tracing::info!(process.exit.status = ?status, oom, "child ended");
        let now = self.now();
        self.machine.on_exited(status, oom, drained, now);
        if self.is_stopping {
            self.machine.release_exit(now);
        }
        let exit = self.machine.exit().cloned().map(Arc::new);
        self.status.send_modify(|status| status.exit = exit);
    }

    fn connect(&mut self, link: Box<dyn ByteLink>) {
        let client = self.machine.connect(self.now());
        self.connections.open(client, link);
    }

    fn stop(&mut self) {
        self.is_stopping = true;
        if self.machine.exit().is_some() {
            self.machine.release_exit(self.now());
        }
        self.command(ChildCommand::Kill(TerminationPolicy::default()));
    }

    fn on_timer(&mut self) {
        self.machine.tick(self.now());
        self.connections.drop_expired(&mut self.machine);
        self.recorder.poll(&mut self.machine);
    }

    /// Performs effects and sends frames until the machine has none left.
    fn flush(&mut self) {
        let mut effect = self.machine.next_effect();
        loop {
            while let Some(one) = effect {
                self.perform(one);
                effect = self.machine.next_effect();
            }
            let has_sent = self.connections.send_frames(&mut self.machine);
            // Frames may depend on effects, such as a read of the journal.
            effect = self.machine.next_effect();
            if effect.is_none() && !has_sent {
                return;
            }
        }
    }

    /// Sends a command to the child. One that has ended ignores it.
    fn command(&self, command: ChildCommand) {
        let _ = self.child.commands.send(command);
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}
