//! The connections of a session's clients, and the frames that they are sent.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::connection::{ByteLink, Connection, ConnectionEvent, EventSender};
use crate::session_machine::{ClientId, SessionMachine};
use crate::wire::encode;

/// Bytes of frames after which a batch is sent.
const BATCH_BYTES: usize = 128 * 1024;

/// The open connections, by client.
#[derive(Debug)]
pub(super) struct Connections {
    open: BTreeMap<ClientId, Connection>,
    sender: EventSender,
    events: mpsc::UnboundedReceiver<(ClientId, ConnectionEvent)>,
}

impl Connections {
    /// Creates an empty set.
    pub(super) fn new() -> Self {
        let (sender, events) = mpsc::unbounded_channel();
        Self {
            open: BTreeMap::new(),
            sender,
            events,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Adds the connection of a client.
    pub(super) fn open(&mut self, client: ClientId, link: Box<dyn ByteLink>) {
        let connection = Connection::open(client, link, self.sender.clone());
        self.open.insert(client, connection);
    }

    /// Waits for the next event of any connection. Cancel safe.
    pub(super) async fn next_event(&mut self) -> Option<(ClientId, ConnectionEvent)> {
        self.events.recv().await
    }

    /// Returns the next event that has already happened.
    pub(super) fn try_next_event(&mut self) -> Option<(ClientId, ConnectionEvent)> {
        self.events.try_recv().ok()
    }

    /// Passes an event of a connection to the machine.
    pub(super) fn handle(
        &mut self,
        machine: &mut SessionMachine,
        (client, event): (ClientId, ConnectionEvent),
        now: Duration,
    ) {
        let Some(connection) = self.open.get_mut(&client) else {
            return;
        };
        match event {
            ConnectionEvent::Frame(frame) => {
                connection.on_frame();
                machine.on_frame(client, frame, now);
            }
            ConnectionEvent::Sent => connection.on_sent(),
            ConnectionEvent::DecodeError(detail) => machine.on_decode_error(client, &detail),
            ConnectionEvent::Closed => {
                machine.on_closed(client);
                self.open.remove(&client);
            }
        }
    }

    /// When [`drop_expired`](Self::drop_expired) is due next.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.open.values().filter_map(Connection::expires).min()
    }

    /// Drops closing connections whose last batch took too long.
    pub(super) fn drop_expired(&mut self, machine: &mut SessionMachine) {
        let now = Instant::now();
        self.open.retain(|client, connection| {
            let is_expired = connection.expires().is_some_and(|at| at <= now);
            if is_expired {
                machine.on_closed(*client);
            }
            !is_expired
        });
    }

    /// Sends each client its pending frames as one batch. Returns whether there were any.
    pub(super) fn send_frames(&mut self, machine: &mut SessionMachine) -> bool {
        let mut has_sent = false;
        for (client, connection) in &mut self.open {
            has_sent |= send_frames(connection, machine, *client);
        }
        has_sent
    }

    /// Closes all connections, each after its last batch.
    pub(super) fn finish(&mut self) {
        for connection in self.open.values_mut() {
            connection.finish();
        }
    }

    /// Waits until all connections are closed.
    pub(super) async fn all_closed(&mut self) {
        while !self.open.is_empty() {
            if let Some((client, ConnectionEvent::Closed)) = self.events.recv().await {
                self.open.remove(&client);
            }
        }
    }
}

fn send_frames(
    connection: &mut Connection,
    machine: &mut SessionMachine,
    client: ClientId,
) -> bool {
    if machine.wants_frames(client) {
        connection.permit_frames();
    }
    if machine.is_timed_out(client) {
        connection.finish();
    }
    if !connection.is_idle() {
        return false;
    }
    let mut batch = BytesMut::new();
    while batch.len() < BATCH_BYTES
        && let Some(frame) = machine.next_frame(client)
    {
        encode(&frame, &mut batch);
    }
    if !batch.is_empty() {
        connection.send(batch.freeze());
        return true;
    }
    if machine.is_closing(client) {
        connection.finish();
    }
    false
}
