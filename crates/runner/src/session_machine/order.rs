//! One order of output and input, for clients that fold both.

use super::client::{Client, CursorWait};
use super::stream::StreamRead;
use super::{ClientId, SessionMachine};
use crate::wire::StreamId;

impl SessionMachine {
    /// Returns the offset up to which a client may receive a stream now. Input comes where the output ended
    /// when it was written, before the output that follows.
    pub(super) fn due_until(&self, id: ClientId, stream: StreamId) -> u64 {
        let place = match stream {
            StreamId::STDOUT | StreamId::INPUT => self.place_of_next_input(id),
            _ => None,
        };
        let Some(place) = place else {
            return u64::MAX;
        };
        match stream {
            StreamId::STDOUT => place,
            _ if self.output_sent(id) >= place => u64::MAX,
            _ => 0,
        }
    }

    /// Returns the place of the next input that a client has not received. An unknown place is 0, so that
    /// output waits until it is read. `None` without such input, and for a client that does not follow both
    /// streams in their order.
    fn place_of_next_input(&self, id: ClientId) -> Option<u64> {
        let client = self.clients.get(&id).filter(|it| it.has_arrivals)?;
        let cursors = &client.attachment()?.cursors;
        let input = cursors.get(&StreamId::INPUT)?;
        cursors.get(&StreamId::STDOUT)?;
        match &input.wait {
            CursorWait::Ready(_, arrival) => Some(arrival.output.unwrap_or(0)),
            CursorWait::Journal | CursorWait::Snapshot { .. } => Some(0),
            CursorWait::Nothing => {
                let log = self.streams.get(&StreamId::INPUT)?;
                match log.next(input.next, 1, true) {
                    StreamRead::UpToDate => None,
                    StreamRead::Bytes(_, arrival) => Some(arrival.output.unwrap_or(0)),
                    StreamRead::Journal | StreamRead::Gone { .. } => Some(0),
                }
            }
        }
    }

    /// Returns the offset of the next output of a client.
    fn output_sent(&self, id: ClientId) -> u64 {
        let attachment = self.clients.get(&id).and_then(Client::attachment);
        let output = attachment.and_then(|it| it.cursors.get(&StreamId::STDOUT));
        output.map_or(u64::MAX, |cursor| cursor.next)
    }
}
