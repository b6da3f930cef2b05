//! Folds the log of a conversation: its output, its input and its control stream, in the order in which the shim
//! took them.

use std::collections::{BTreeMap, HashSet, VecDeque};

use bowline_lifecycle::control::{ControlEntry, ControlLine, ControlLines, DamagedLine};
use bowline_lifecycle::{DialogueError, Policy, SessionRecovery};
use bowline_transport::Piece;
use bowline_transport::journal::{Arrival, Arrived};
use bowline_transport::wire::{Attach, AttachMode, DEFAULT_CREDIT, Lease, StreamId};
use bytes::Bytes;
use tokio::task::spawn_blocking;

use super::error::ConversationError;
use crate::sessions::{LogReader, ShimLink};
use crate::shim::SessionDir;

/// Bytes that are folded at once, off the reactor.
const BATCH_BYTES: usize = 1 << 20;

/// What the log of a conversation has.
pub(super) struct Recovered {
    pub(super) session: SessionRecovery,
    pub(super) control: ControlLines,
    /// What became of the intents, by id, in their order.
    pub(super) known: Vec<(String, Outcome)>,
    /// Ids of the intents whose outcome is not in the control stream.
    pub(super) unreported: Vec<String>,
}

/// What became of an intent.
pub(super) type Outcome = Result<Option<String>, DialogueError>;

/// Folds the log of a session so far. Later requests are decided on by `policy` and the session's own.
pub(super) async fn recover(
    session: &SessionDir,
    policy: &Policy,
) -> Result<Recovered, ConversationError> {
    let (mut control, mut decisions) = (ControlLines::default(), VecDeque::new());
    let mut reader = read_log(session, &[StreamId::CONTROL]).await?;
    while let Some((_, Arrived { arrival, piece })) = reader.next().await? {
        let lines = control.push(&piece).into_iter();
        decisions.extend(lines.map(|line| PlacedLine { arrival, line }));
    }
    let opening = match decisions.pop_front().map(|it| it.line) {
        Some(Ok(ControlLine {
            entry: ControlEntry::Open(opening),
            ..
        })) => opening,
        Some(Err(damage)) => return Err(damage.into()),
        _ => return Err(ConversationError::NoOpening),
    };
    let mut configuration = opening.configuration();
    configuration.policy = policy.and(&configuration.policy);
    let folder = session.clone();
    let begun = spawn_blocking(move || {
        let history = folder.history().map_err(ConversationError::Metadata)?;
        configuration.history = history.map(Bytes::from);
        Ok::<_, ConversationError>(SessionRecovery::new(configuration)?)
    });
    let mut fold = LogFold {
        session: begun.await.map_err(|_| ConversationError::ShuttingDown)??,
        decisions,
        outcomes: Outcomes::default(),
    };
    let mut reader = read_log(session, &[StreamId::STDOUT, StreamId::INPUT]).await?;
    loop {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while bytes < BATCH_BYTES
            && let Some((stream, piece)) = reader.next().await?
        {
            bytes += piece_bytes(&piece.piece);
            batch.push((stream, piece));
        }
        if batch.is_empty() {
            break;
        }
        let folded = spawn_blocking(move || {
            for (stream, piece) in batch {
                fold.add(stream, piece);
            }
            fold
        });
        fold = folded.await.map_err(|_| ConversationError::ShuttingDown)?;
    }
    fold.decide_until(u64::MAX);
    Ok(Recovered {
        session: fold.session,
        control,
        unreported: fold.outcomes.unreported(),
        known: fold.outcomes.known,
    })
}

fn piece_bytes(piece: &Piece) -> usize {
    match piece {
        Piece::Bytes { bytes, .. } => bytes.len(),
        Piece::Gap { .. } => 0,
    }
}

/// A line of the control stream, with its time and its place in the output.
struct PlacedLine {
    arrival: Arrival,
    line: Result<ControlLine, DamagedLine>,
}

struct LogFold {
    session: SessionRecovery,
    /// What is not folded yet.
    decisions: VecDeque<PlacedLine>,
    outcomes: Outcomes,
}

/// What became of the intents of a log.
#[derive(Default)]
struct Outcomes {
    known: Vec<(String, Outcome)>,
    reported: HashSet<String>,
}

impl Outcomes {
    /// Adds an intent. One that the agent decides on was carried out: its answer is in the log, or will come.
    fn add(&mut self, id: String, outcome: Option<Outcome>) {
        self.known.push((id, outcome.unwrap_or(Ok(None))));
    }

    fn unreported(&self) -> Vec<String> {
        let ids = self.known.iter().map(|(id, _)| id);
        let open = ids.filter(|id| !self.reported.contains(*id));
        open.cloned().collect()
    }
}

impl LogFold {
    fn add(&mut self, stream: StreamId, Arrived { arrival, piece }: Arrived) {
        let at_ms = arrival.at_ms.unwrap_or(0);
        if stream != StreamId::INPUT {
            return self.output(piece, at_ms);
        }
        // What an intent led to comes after it.
        self.decide_until(arrival.output.unwrap_or_else(|| self.session.next_output()));
        self.session.input(&piece, at_ms);
    }

    /// Folds output, which decisions may divide.
    fn output(&mut self, piece: Piece, at_ms: u64) {
        let (mut offset, mut bytes) = match piece {
            Piece::Bytes { offset, bytes } => (offset, bytes),
            gap @ Piece::Gap { .. } => return self.session.output(&gap, at_ms),
        };
        self.decide_until(offset);
        while let Some(length) = self.bytes_before_decision(offset, &bytes) {
            let before = bytes.split_to(length);
            let piece = Piece::Bytes {
                offset,
                bytes: before,
            };
            self.session.output(&piece, at_ms);
            offset += length as u64;
            self.decide_until(offset);
        }
        self.session.output(&Piece::Bytes { offset, bytes }, at_ms);
    }

    fn bytes_before_decision(&self, offset: u64, bytes: &Bytes) -> Option<usize> {
        let place = self.decisions.front()?.arrival.output?;
        let length = usize::try_from(place.checked_sub(offset)?).ok()?;
        (length < bytes.len()).then_some(length)
    }

    /// Folds the decisions up to a place.
    fn decide_until(&mut self, place: u64) {
        while let Some(next) = self.decisions.front()
            && next.arrival.output.unwrap_or(0) <= place
            && let Some(PlacedLine { arrival, line }) = self.decisions.pop_front()
        {
            let at_ms = arrival.at_ms.unwrap_or(0);
            match line {
                Ok(line) => self.line(line, at_ms),
                Err(damage) => self.session.damage(&damage.to_string(), at_ms),
            }
        }
    }

    fn line(&mut self, line: ControlLine, at_ms: u64) {
        match line.entry {
            ControlEntry::Intent(intent) => {
                let outcome = self.session.intent(intent, at_ms);
                let outcome = outcome.map(|it| it.map(|()| None));
                self.outcomes.add(line.id, outcome);
            }
            ControlEntry::Outcome { of, .. } => drop(self.outcomes.reported.insert(of)),
            _ => {}
        }
    }
}

/// Returns a reader of streams of a session up to their present ends.
async fn read_log(
    session: &SessionDir,
    streams: &[StreamId],
) -> Result<LogReader, ConversationError> {
    let mut link = ShimLink::open(session).await?;
    let cursors = streams.iter().map(|stream| (*stream, 0)).collect();
    let attached = link.attach(attach(session, cursors, Lease::Read)).await?;
    if attached.exit.is_some() {
        return Err(ConversationError::Ended);
    }
    let ends = streams.iter().map(|stream| {
        let extent = attached.streams.get(stream);
        (*stream, (0, extent.map_or(0, |it| it.end)))
    });
    Ok(LogReader::new(link, ends.collect()))
}

/// Returns the request of the daemon to attach to a session.
pub(super) fn attach(
    session: &SessionDir,
    cursors: BTreeMap<StreamId, u64>,
    lease: Lease,
) -> Attach {
    Attach {
        session: session.id(),
        epoch: None,
        cursors,
        mode: AttachMode::Resume,
        lease,
        resume_generation: None,
        size: None,
        credit: DEFAULT_CREDIT,
        client: "runner: driver".to_owned(),
    }
}
