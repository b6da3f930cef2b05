//! The one task that owns a hosted session.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bowline_transport::journal::SyncDone;
use bowline_transport::{Drained, ExitStatus, Ladder, Piece};
use bytes::BytesMut;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::archive::{Archive, Trouble};
use super::child::{Child, ChildEvent, ChildOrder};
use super::chronicle::{ExitLine, Line};
use super::connection::{Connection, Heard, Link};
use super::display::Display;
use super::{HostState, Request};
use crate::aside::aside;
use crate::core::{ClientId, Core, CoreConfiguration, Effect, ReadBack};
use crate::wire::{Epoch, SessionFacts, StreamId, encode};

/// Bytes of frames after which a batch goes out.
const BATCH_BYTES: usize = 128 * 1024;

/// How long connections have at the end to take what was sent.
const FAREWELL: Duration = Duration::from_secs(2);

/// How long what is left of the child's tree is waited for: more than the ladder has.
const LAST_KILL: Duration = Duration::from_secs(10);

/// What is worse when the journal is, as [`Degraded`](crate::wire::Message::Degraded) has it.
const JOURNAL: &str = "journal";

/// The same for the screen.
const SCREEN: &str = "screen";

/// What happens next.
#[derive(Debug)]
enum Turn {
    Output(StreamId, Option<Piece>),
    Child(ChildEvent),
    Heard(ClientId, Heard),
    Asked(Request),
    /// The disk has made safe what the journal had, or has not.
    Synced(SyncDone),
    Due,
}

#[derive(Debug)]
pub(super) struct Owner {
    core: Core,
    child: Child,
    archive: Option<Archive>,
    display: Option<Display>,
    streams: Vec<StreamId>,
    connections: BTreeMap<ClientId, Connection>,
    heard: mpsc::UnboundedSender<(ClientId, Heard)>,
    hearing: mpsc::UnboundedReceiver<(ClientId, Heard)>,
    syncs: mpsc::UnboundedSender<SyncDone>,
    synced: mpsc::UnboundedReceiver<SyncDone>,
    started: Instant,
    /// The child's end, and whether it was for want of memory; it comes behind the streams.
    ended: Option<(ExitStatus, bool, Drained)>,
    stopping: bool,
    told: watch::Sender<HostState>,
}

impl Owner {
    pub(super) fn new(
        configuration: CoreConfiguration,
        child: Child,
        archive: Option<Archive>,
        told: watch::Sender<HostState>,
    ) -> Self {
        let (heard, hearing) = mpsc::unbounded_channel();
        let (syncs, synced) = mpsc::unbounded_channel();
        let streams = configuration.streams.iter().map(|it| it.id).collect();
        let size = configuration
            .facts
            .size
            .filter(|_| configuration.has_screen);
        let (epoch, facts) = (configuration.epoch, configuration.facts.clone());
        let mut owner = Self {
            core: Core::new(configuration),
            child,
            archive,
            display: size.map(Display::new),
            streams,
            connections: BTreeMap::new(),
            heard,
            hearing,
            syncs,
            synced,
            started: Instant::now(),
            ended: None,
            stopping: false,
            told,
        };
        owner.begin(epoch, &facts);
        owner
    }

    fn begin(&mut self, epoch: Epoch, facts: &SessionFacts) {
        self.chronicle(&Line::Started { epoch, facts });
    }

    /// Runs until the session is over.
    pub(super) async fn run(mut self, mut requests: mpsc::Receiver<Request>) {
        loop {
            self.settle();
            self.sync();
            if self.core.is_over(self.now()) {
                break;
            }
            let turn = self.next_turn(&mut requests).await;
            self.take(turn);
        }
        self.answer_the_rest();
        self.bury(requests).await;
    }

    /// What came along with the last acknowledgement is answered: a host that asks behind it whether
    /// it was heard would else come back to find out, and find nobody.
    fn answer_the_rest(&mut self) {
        while let Ok((client, heard)) = self.hearing.try_recv() {
            self.hear(client, heard);
        }
        self.settle();
    }

    /// Hangs up on everybody, and lets go of the child and what may be left of its tree.
    async fn bury(mut self, mut requests: mpsc::Receiver<Request>) {
        requests.close();
        for connection in self.connections.values_mut() {
            connection.finish();
        }
        if self
            .child
            .orders
            .send(ChildOrder::Kill(Ladder::AT_ONCE))
            .is_ok()
        {
            let _ = timeout(LAST_KILL, self.killed()).await;
        }
        if let Some(archive) = &mut self.archive {
            archive.sync(Instant::now().into_std());
        }
        // Who takes its last batch is waited for, a moment.
        let _ = timeout(FAREWELL, self.farewell()).await;
        self.told.send_modify(|state| state.is_over = true);
    }

    async fn killed(&mut self) {
        while let Some(event) = self.child.events.recv().await {
            if matches!(event, ChildEvent::Killed(_)) {
                return;
            }
        }
    }

    async fn farewell(&mut self) {
        while !self.connections.is_empty() {
            if let Some((client, Heard::Closed)) = self.hearing.recv().await {
                self.connections.remove(&client);
            }
        }
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }

    async fn next_turn(&mut self, requests: &mut mpsc::Receiver<Request>) -> Turn {
        let due = self.deadline();
        // Of a child that has ended no more comes than it left: nobody waits for that.
        let has_ended = self.ended.is_some();
        let held: Vec<bool> = self
            .child
            .outputs
            .iter()
            .map(|(id, _)| !has_ended && self.core.is_held(*id))
            .collect();
        let outputs = &mut self.child.outputs;
        let output = poll_fn(|cx| {
            for ((id, from), held) in outputs.iter_mut().zip(&held) {
                if !held && let Poll::Ready(piece) = from.poll_recv(cx) {
                    return Poll::Ready((*id, piece));
                }
            }
            Poll::Pending
        });
        tokio::select! {
            Some((client, heard)) = self.hearing.recv() => Turn::Heard(client, heard),
            Some(event) = self.child.events.recv() => Turn::Child(event),
            Some(done) = self.synced.recv() => Turn::Synced(done),
            (id, piece) = output => Turn::Output(id, piece),
            Some(request) = requests.recv() => Turn::Asked(request),
            () = until(due) => Turn::Due,
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let core = self.core.deadline().map(|at| self.started + at);
        let archive = self.archive.as_ref().and_then(Archive::deadline);
        let connections = self.connections.values().filter_map(Connection::expires);
        core.into_iter()
            .chain(archive.map(Instant::from_std))
            .chain(connections)
            .min()
    }

    fn take(&mut self, turn: Turn) {
        match turn {
            Turn::Output(id, Some(piece)) => self.output(id, piece),
            Turn::Output(id, None) => self.output_ended(id),
            Turn::Child(event) => self.child_did(event),
            Turn::Heard(client, heard) => self.hear(client, heard),
            Turn::Asked(Request::Connect(link)) => self.connect(link),
            Turn::Asked(Request::Stop) => self.stop(),
            Turn::Asked(Request::StopIfDeserted) => {
                if self.connections.is_empty() {
                    self.stop();
                }
            }
            Turn::Synced(done) => self.synced(done),
            Turn::Due => self.tick(),
        }
    }

    fn output(&mut self, id: StreamId, piece: Piece) {
        match piece {
            Piece::Bytes { bytes, .. } => {
                let offset = self.core.end(id);
                self.core.output(id, bytes.clone());
                if id == StreamId::TTY {
                    self.show(offset, &bytes);
                }
            }
            Piece::Gap { from, to } => self.core.output_lost(id, to - from),
        }
        self.record(id);
    }

    /// Whoever has the lease answers what a program asks of its terminal; if nobody has, the screen
    /// does.
    fn show(&mut self, offset: u64, bytes: &[u8]) {
        let Some(display) = &mut self.display else {
            return;
        };
        let answers = display.show(offset, bytes, !self.core.has_writer());
        self.core.set_bracketed_paste(display.takes_paste());
        if display.has_failed() {
            self.degrade(SCREEN, "the model of the screen failed and was begun anew");
        }
        self.core.answer(answers);
    }

    fn output_ended(&mut self, id: StreamId) {
        self.child.outputs.retain(|(other, _)| *other != id);
        self.core.output_ended(id);
        self.exit_if_over();
    }

    fn child_did(&mut self, event: ChildEvent) {
        let now = self.now();
        match event {
            ChildEvent::Written(outcome) => self.core.written(outcome, now),
            ChildEvent::Killed(report) => self.core.killed(report),
            ChildEvent::Exited {
                status,
                oom,
                drained,
            } => {
                self.ended = Some((status, oom, drained));
                self.exit_if_over();
            }
        }
    }

    /// The exit comes behind the last byte.
    fn exit_if_over(&mut self) {
        if !self.child.outputs.is_empty() {
            return;
        }
        let Some((status, oom, drained)) = self.ended.take() else {
            return;
        };
        self.chronicle(&Line::Exited(&ExitLine {
            status: &status,
            oom,
            drained: &drained,
        }));
        let now = self.now();
        self.core.exited(status, oom, drained, now);
        if self.stopping {
            self.core.release(now);
        }
        let exit = self.core.exit().cloned().map(Arc::new);
        self.told.send_modify(|state| state.exit = exit);
    }

    fn hear(&mut self, client: ClientId, heard: Heard) {
        let now = self.now();
        let Some(connection) = self.connections.get_mut(&client) else {
            return;
        };
        match heard {
            Heard::Frame(frame) => {
                connection.took();
                self.core.frame(client, frame, now);
            }
            Heard::Sent => connection.sent(),
            Heard::Garbled(detail) => self.core.garbled(client, &detail),
            Heard::Closed => {
                self.core.closed(client);
                self.connections.remove(&client);
            }
        }
    }

    fn connect(&mut self, link: Box<dyn Link>) {
        let client = self.core.connect(self.now());
        let connection = Connection::open(client, link, self.heard.clone());
        self.connections.insert(client, connection);
    }

    fn stop(&mut self) {
        self.stopping = true;
        if self.core.exit().is_some() {
            self.core.release(self.now());
        }
        let _ = self.child.orders.send(ChildOrder::Kill(Ladder::default()));
    }

    fn tick(&mut self) {
        self.core.tick(self.now());
        self.give_up_connections();
        if let Some(archive) = &mut self.archive {
            archive.poll(Instant::now().into_std());
            self.record_all();
        }
    }

    /// Lets go of peers that do not take their last batch.
    fn give_up_connections(&mut self) {
        let now = Instant::now();
        let core = &mut self.core;
        self.connections.retain(|client, connection| {
            let is_over = connection.expires().is_some_and(|at| at <= now);
            if is_over {
                core.closed(*client);
            }
            !is_over
        });
    }

    fn synced(&mut self, done: SyncDone) {
        if let Some(archive) = &mut self.archive {
            archive.synced(done, Instant::now().into_std());
            self.record_all();
        }
    }

    /// Lets another thread wait for the disk: the session has other things to do.
    fn sync(&mut self) {
        let due = self.archive.as_mut().and_then(Archive::due_sync);
        if let Some(wait) = due {
            let told = self.syncs.clone();
            aside(move || {
                // Nobody listens any more to one that outlasts the session.
                let _ = told.send(wait());
            });
        }
    }

    /// Writes a line of the session's life.
    fn chronicle(&mut self, line: &Line<'_>) {
        self.core.output(StreamId::LIFECYCLE, line.bytes());
        self.record(StreamId::LIFECYCLE);
    }

    fn record_all(&mut self) {
        for id in self.streams.clone() {
            self.record(id);
        }
    }

    /// Lets the journal follow a stream.
    fn record(&mut self, id: StreamId) {
        let Some(archive) = &mut self.archive else {
            return;
        };
        archive.follow(&mut self.core, id, Instant::now().into_std());
        while let Some(trouble) = self.archive.as_mut().and_then(Archive::trouble) {
            match trouble {
                Trouble::Degraded(detail) => self.degrade(JOURNAL, &detail),
                Trouble::Over => {
                    self.core.recover(JOURNAL);
                    let line = Line::Recovered { kind: JOURNAL };
                    self.core.output(StreamId::LIFECYCLE, line.bytes());
                    self.record_all();
                }
            }
        }
    }

    /// Tells everybody that something is worse than promised. The journal follows in its time.
    fn degrade(&mut self, kind: &str, detail: &str) {
        self.core.degrade(kind, detail);
        let line = Line::Degraded { kind, detail };
        self.core.output(StreamId::LIFECYCLE, line.bytes());
    }

    /// Does what the core wants done and sends what it wants sent, until it wants nothing.
    fn settle(&mut self) {
        let mut effect = self.core.next_effect();
        loop {
            while let Some(one) = effect {
                self.act(one);
                effect = self.core.next_effect();
            }
            let clients: Vec<_> = self.connections.keys().copied().collect();
            let mut sent = false;
            for client in clients {
                sent |= self.serve(client);
            }
            // What could not be sent may need something first.
            effect = self.core.next_effect();
            if effect.is_none() && !sent {
                return;
            }
        }
    }

    fn act(&mut self, effect: Effect) {
        match effect {
            Effect::Write(bytes) => self.order(ChildOrder::Write(bytes)),
            Effect::CloseInput => self.order(ChildOrder::CloseInput),
            Effect::Resize(size) => {
                if let Some(display) = &mut self.display {
                    display.resize(size);
                }
                self.order(ChildOrder::Resize(size));
            }
            Effect::Signal(signal) => self.order(ChildOrder::Signal(signal)),
            Effect::Kill(ladder) => self.order(ChildOrder::Kill(ladder)),
            Effect::Snapshot { client } => {
                let screen = self.display.as_mut().map(Display::snapshot);
                self.core.snapshot(client, screen);
            }
            Effect::ReadBack {
                client,
                stream,
                offset,
                max,
            } => {
                let archive = self.archive.as_mut();
                let found = archive.map_or(ReadBack::Lost, |it| it.read(stream, offset, max));
                self.core.read_back(client, stream, offset, found);
            }
            Effect::Joined {
                client,
                lease,
                generation,
            } => {
                self.chronicle(&Line::Attached {
                    client: &client,
                    lease,
                    generation,
                });
            }
            Effect::Left {
                client,
                generation,
                detached,
            } => {
                self.chronicle(&Line::Detached {
                    client: &client,
                    generation,
                    said: detached,
                });
            }
        }
    }

    /// A child that is gone has answered everything before, or is about to.
    fn order(&self, order: ChildOrder) {
        let _ = self.child.orders.send(order);
    }

    /// Sends a client what it has to get, as one batch. Answers whether anything went out.
    fn serve(&mut self, client: ClientId) -> bool {
        let Some(connection) = self.connections.get_mut(&client) else {
            return false;
        };
        if self.core.wants_frames(client) {
            connection.allow();
        }
        if self.core.is_cut_off(client) {
            // It takes nothing, or nothing more: what is on its way is the last.
            connection.finish();
        }
        if !connection.is_idle() {
            return false;
        }
        let mut batch = BytesMut::new();
        while batch.len() < BATCH_BYTES
            && let Some(frame) = self.core.next_frame(client)
        {
            encode(&frame, &mut batch);
        }
        if !batch.is_empty() {
            connection.send(batch.freeze());
            return true;
        }
        if self.core.is_closing(client) {
            connection.finish();
        }
        false
    }
}

async fn until(due: Option<Instant>) {
    match due {
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
