//! The lines of a terminal's output as events.

use std::collections::BTreeMap;
use std::mem;
use std::sync::Arc;

use axum::http::StatusCode;
use bowline_shell::{Line, LineBuffer};
use bowline_transport::wire::{
    Attach, AttachMode, ExitNotice, Lease, Message, StdioKind, StreamId,
};
use bowline_transport::{Piece, SessionExit};
use bytes::Bytes;
use serde::Serialize;

use super::event::Event;
use crate::api::problem::Problem;
use crate::api::rest::{SliceRequest, StreamSlice};
use crate::app_state::AppState;
use crate::sessions::{SessionRecord, ShimLink, ShimLinkError, ShimStatus};

/// Bytes of output in flight from a session.
const CREDIT: u64 = 256 << 10;

/// Bytes that are read again before a cursor, since a colour may have been set there.
const LEAD: u64 = 64 << 10;

/// The cursor after the end of a session.
const END: &str = "end";

/// Where the lines of a session begin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LineCursor {
    /// Offset past the last line that was received.
    after: u64,
    /// Whether everything was received.
    pub(super) is_end: bool,
}

impl LineCursor {
    /// Parses a cursor. One of another kind is the beginning.
    pub(super) fn parse(text: &str) -> Self {
        Self {
            after: text.parse().unwrap_or(0),
            is_end: text == END,
        }
    }
}

/// An event of a terminal.
#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum LineEvent<'a> {
    /// A line, without its end.
    Line {
        /// Offset of its first byte in the output.
        from: u64,
        /// Offset past its last byte.
        to: u64,
        /// Its text with SGR sequences.
        text: &'a str,
        /// Number of characters that were cut off.
        cut: u64,
    },
    /// Output that is not available any more.
    Gap { from: u64, to: u64 },
    /// The session has ended; how, if that is known.
    Ended { exit: Option<SessionExit> },
}

/// Splits output into events.
struct Lines {
    buffer: LineBuffer,
    /// Offset of the line that is not complete.
    begin: u64,
    /// Offset past the last byte.
    at: u64,
    /// Lines up to here are known to the client.
    after: u64,
}

impl Lines {
    fn new(after: u64) -> Self {
        let at = after.saturating_sub(LEAD);
        Self {
            buffer: LineBuffer::default(),
            begin: at,
            at,
            after,
        }
    }

    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) {
        // Each line ends at an LF, so that its offset is known.
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            self.at += piece.len() as u64;
            let mut line = None;
            self.buffer.push(piece, |it| line = Some(it));
            if let Some(line) = line {
                self.line(&line, events);
            }
        }
    }

    fn line(&mut self, line: &Line, events: &mut Vec<Event>) {
        let (from, to) = (mem::replace(&mut self.begin, self.at), self.at);
        if to > self.after {
            let (text, cut) = (line.text.as_str(), line.cut);
            events.push(event(
                to.to_string(),
                &LineEvent::Line {
                    from,
                    to,
                    text,
                    cut,
                },
            ));
        }
    }

    fn gap(&mut self, to: u64, events: &mut Vec<Event>) {
        self.finish(events);
        let from = mem::replace(&mut self.at, to);
        self.begin = to;
        if to > self.after {
            events.push(event(to.to_string(), &LineEvent::Gap { from, to }));
        }
    }

    /// Ends a line that is not complete.
    fn finish(&mut self, events: &mut Vec<Event>) {
        if let Some(line) = self.buffer.finish() {
            self.line(&line, events);
        }
    }

    fn piece(&mut self, piece: Piece, events: &mut Vec<Event>) {
        match piece {
            Piece::Bytes { bytes, .. } => self.push(&bytes, events),
            Piece::Gap { to, .. } => self.gap(to, events),
        }
    }
}

fn event(id: String, data: &LineEvent<'_>) -> Event {
    let data = serde_json::to_vec(data).map(Bytes::from).ok();
    Event { id, data }
}

/// Reads the lines of a terminal session.
pub(super) struct LineReader {
    app: Arc<AppState>,
    record: SessionRecord,
    lines: Lines,
    link: Option<ShimLink>,
    /// Bytes that the client has taken, to be credited to the session.
    owed: u64,
    is_over: bool,
}

impl std::fmt::Debug for LineReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineReader").finish_non_exhaustive()
    }
}

impl LineReader {
    /// Reads from a cursor on.
    pub(super) fn new(
        app: Arc<AppState>,
        record: SessionRecord,
        cursor: LineCursor,
    ) -> Result<Self, Problem> {
        if record.info.stdio != StdioKind::Pty {
            let detail = "the session has no terminal";
            let next = "read its log instead";
            let status = StatusCode::CONFLICT;
            return Err(Problem::new(status, "NOT_A_TERMINAL", detail, next));
        }
        Ok(Self {
            app,
            record,
            lines: Lines::new(cursor.after),
            link: None,
            owed: 0,
            is_over: false,
        })
    }

    /// Waits for the next events. `None` once the session has ended and all were returned.
    ///
    /// Cancel safe.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Event>>, Problem> {
        let mut events = Vec::new();
        while !self.is_over && events.is_empty() {
            if self.record.shim == ShimStatus::Gone {
                self.read_journal(&mut events).await?;
            } else {
                self.read_shim(&mut events).await?;
            }
        }
        Ok((!events.is_empty()).then_some(events))
    }

    async fn read_shim(&mut self, events: &mut Vec<Event>) -> Result<(), Problem> {
        if self.link.is_none() {
            match self.open().await {
                Ok(link) => self.link = Some(link),
                // It has ended meanwhile. How is in its record.
                Err(ShimLinkError::Disconnected(_)) => {
                    self.refresh().await?;
                    self.record.shim = ShimStatus::Gone;
                    return Ok(());
                }
                Err(error) => return Err(error.into()),
            }
        }
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let n = mem::take(&mut self.owed);
        if n > 0 {
            let stream = StreamId::TTY;
            link.queue(Message::Credit { stream, n });
        }
        match link.next().await {
            Ok(Message::Data {
                stream: StreamId::TTY,
                bytes,
                ..
            }) => {
                self.owed = bytes.len() as u64;
                self.lines.push(&bytes, events);
            }
            Ok(Message::Gap {
                stream: StreamId::TTY,
                to,
                ..
            }) => self.lines.gap(to, events),
            Ok(Message::Exit(exit)) => self.end(Some(&exit), events),
            Ok(_) => {}
            Err(_) => {
                // The rest is in the journal, if the session has ended.
                self.link = None;
                self.refresh().await?;
            }
        }
        Ok(())
    }

    /// Attaches to the session at the offset of the next byte.
    async fn open(&self) -> Result<ShimLink, ShimLinkError> {
        let mut link = ShimLink::open(&self.record.session).await?;
        link.attach(Attach {
            session: self.record.info.id,
            epoch: None,
            cursors: BTreeMap::from([(StreamId::TTY, self.lines.at)]),
            mode: AttachMode::Resume,
            lease: Lease::Read,
            resume_generation: None,
            size: None,
            credit: CREDIT,
            client: "runner: lines".to_owned(),
        })
        .await?;
        Ok(link)
    }

    async fn refresh(&mut self) -> Result<(), Problem> {
        let record = self.app.sessions.record(self.record.info.id).await;
        let record = record.map_err(Problem::internal)?;
        self.record = record.ok_or_else(Problem::session_not_found)?;
        Ok(())
    }

    async fn read_journal(&mut self, events: &mut Vec<Event>) -> Result<(), Problem> {
        let request = SliceRequest {
            stream: StreamId::TTY,
            from: self.lines.at,
            max: CREDIT,
            input_from: None,
        };
        let slice = StreamSlice::read(&self.app, &self.record, request).await?;
        let is_last = slice.pieces.is_empty();
        for arrived in slice.pieces {
            self.lines.piece(arrived.piece, events);
        }
        if is_last || self.lines.at >= slice.end {
            self.end(slice.exit.as_ref(), events);
        }
        Ok(())
    }

    fn end(&mut self, exit: Option<&ExitNotice>, events: &mut Vec<Event>) {
        self.lines.finish(events);
        let exit = exit.map(SessionExit::from);
        events.push(event(END.to_owned(), &LineEvent::Ended { exit }));
        self.is_over = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(events: &[Event]) -> Vec<String> {
        let text = |it: &Event| String::from_utf8(it.data.clone().unwrap().to_vec()).unwrap();
        events.iter().map(text).collect()
    }

    #[test]
    fn lines_have_the_offsets_of_their_bytes() {
        let (mut lines, mut events) = (Lines::new(0), Vec::new());
        lines.push(b"on", &mut events);
        lines.push(b"e\r\n10%\r99%\r\n$ ", &mut events);
        lines.gap(100, &mut events);
        assert_eq!(
            text(&events),
            [
                r#"{"type":"line","from":0,"to":5,"text":"one","cut":0}"#,
                r#"{"type":"line","from":5,"to":14,"text":"99%","cut":0}"#,
                r#"{"type":"line","from":14,"to":16,"text":"$ ","cut":0}"#,
                r#"{"type":"gap","from":16,"to":100}"#,
            ]
        );
        assert_eq!(events[1].id, "14");
    }

    #[test]
    fn lines_before_a_cursor_are_not_repeated() {
        let output = b"\x1b[32mone\r\ntwo\r\nthree\x1b[m\r\n";
        let (mut lines, mut all) = (Lines::new(0), Vec::new());
        lines.push(output, &mut all);
        for (index, event) in all.iter().enumerate() {
            let cursor = LineCursor::parse(&event.id);
            let (mut lines, mut rest) = (Lines::new(cursor.after), Vec::new());
            lines.push(output, &mut rest);
            assert_eq!(rest, all[index + 1..], "with its colour");
        }
        assert!(LineCursor::parse(END).is_end);
        assert_eq!(LineCursor::parse("another"), LineCursor::default());
    }
}
