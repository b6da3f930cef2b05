//! Disks that are full, broken or short at any call of a session's journal.
//!
//! The child is played, so that one session takes a moment, and everything else is what a shim is
//! made of. Then some real shims on a file system of one mebibyte.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bowline_runner::wire::{
    Durability, Epoch, Lease, Message, SessionFacts, SessionKind, SessionState, StdioKind, StreamId,
};
use bowline_runner::{
    Child, ChildPeer, MachineConfiguration, OverflowPolicy, SessionHandle, StreamConfiguration,
};
use bowline_transport::journal::{Folder, JournalLimits, JournalReader};
use bowline_transport::{Containment, Piece, SessionId};
use tokio::io::{DuplexStream, duplex};
use tokio::time::timeout_at;

use super::faulty::{Fault, Faulty, Plan};
use super::frames::Frames;
use super::lateness;
use super::speech::{BLOCK, Speech};
use super::tmpfs;
use crate::campaign::support::{in_lanes, percentiles, within};
use crate::campaign::{Job, Random, Report};

/// How long after a failure nobody may be told of it.
const TOLD: Duration = Duration::from_millis(100);

/// How often it is looked whether all is safe by now.
const LOOKS: u32 = 8;

/// How often a journal is read that somebody writes to.
const TRIES: u32 = 3;

/// Sessions at a time.
const LANES: u64 = 4;

/// Blocks that a child says in one session.
const BLOCKS: u64 = 60;

/// Calls of a session's journal that are worth a failure.
const CALLS: u64 = 160;

const OUT: StreamId = StreamId::STDOUT;

pub(crate) fn run(job: &Job) -> Report {
    lateness::watch();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut report = in_lanes(job, LANES, |number, random| {
        let seen = Arc::clone(&seen);
        async move {
            let plan = plan(number);
            let outcome = point(plan, random, &seen).await;
            outcome.map_err(|why| format!("{plan:?}: {why}"))
        }
    });
    let seen = std::mem::take(&mut *seen.lock().unwrap_or_else(PoisonError::into_inner));
    report.note(format!(
        "{} sessions met a fault and told it {}; {} times all was said to be safe, and was",
        seen.told.len(),
        percentiles(seen.told),
        seen.safe
    ));
    report.merge(tmpfs::run(job));
    report.note(lateness::note());
    report
}

/// Every call is hit by every fault, once and for some calls on end.
fn plan(number: u64) -> Plan {
    let fault = Fault::ALL[(number % 4) as usize];
    let count = [1, 3, 12][(number / 4 % 3) as usize];
    // The first two calls begin the journal, and without one there is no session.
    let from = 2 + (number / 4 * 7) % CALLS;
    Plan { fault, from, count }
}

fn limits() -> JournalLimits {
    JournalLimits {
        segment_bytes: 8 << 10,
        cap_bytes: 32 << 10,
        sync_every: Duration::from_millis(5),
        sync_bytes: 3 << 10,
        retry_after: Duration::from_millis(10),
    }
}

fn configuration(session: SessionId) -> MachineConfiguration {
    let stream = |id| StreamConfiguration {
        id,
        policy: OverflowPolicy::Block,
        ring_bytes: 16 << 10,
    };
    MachineConfiguration {
        session,
        epoch: Epoch::random(),
        facts: SessionFacts {
            kind: SessionKind::Dialogue,
            stdio: StdioKind::Pipes,
            pid: None,
            size: None,
            containment: Containment::Group,
            state: SessionState::Running,
        },
        streams: vec![stream(OUT), stream(StreamId::LIFECYCLE)],
        has_screen: false,
        exit_retention: None,
    }
}

/// What came of all of them.
#[derive(Debug, Default)]
struct Seen {
    told: Vec<Duration>,
    safe: u64,
}

/// A session whose disk fails.
struct Point {
    host: SessionHandle,
    child: ChildPeer,
    session: SessionId,
    disk: Faulty,
    folder: tempfile::TempDir,
    speech: Speech,
    said: u64,
    joined: Instant,
    degraded: Option<Instant>,
    events: String,
}

async fn point(plan: Plan, mut random: Random, seen: &Mutex<Seen>) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(text)?;
    let disk = Faulty::new(&folder.path().join("journal"), Some(plan)).map_err(text)?;
    let session = SessionId::random();
    let (child, end) = Child::channels([OUT]);
    let host = SessionHandle::with_journal(configuration(session), child, disk.clone(), limits());
    let seed = random.draw();
    let mut point = Point {
        host: host.map_err(text)?,
        child: end,
        session,
        disk,
        folder,
        speech: Speech::new(seed),
        said: 0,
        joined: Instant::now(),
        degraded: None,
        events: String::new(),
    };
    let mut client = point.join(0).await?;
    point.joined = Instant::now();
    let mut heard = Speech::new(seed);
    let mut safe = 0;
    for number in 0..BLOCKS {
        point.say().await?;
        point.hear(&mut client, &mut heard).await?;
        if number % 16 == 15 {
            safe += point.check_safe(seed, &mut client, &mut heard).await?;
        }
    }
    let told = point.recover(&mut client, &mut heard).await?;
    safe += point.check_safe(seed, &mut client, &mut heard).await?;
    let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
    seen.told.extend(told);
    seen.safe += safe;
    Ok(())
}

impl Point {
    async fn join(&self, at: u64) -> Result<Frames<DuplexStream>, String> {
        let (ours, theirs) = duplex(64 << 10);
        self.host.connect(theirs).await;
        let cursors = BTreeMap::from([(OUT, at), (StreamId::LIFECYCLE, 0)]);
        let joined = within(
            "an attach",
            Frames::join(ours, self.session, Lease::Write, cursors),
        );
        Ok(joined.await??.0)
    }

    /// The child says a block. It is never held: its reader takes all that it says.
    async fn say(&mut self) -> Result<(), String> {
        let piece = Piece::Bytes {
            offset: self.said,
            bytes: self.speech.block().into(),
        };
        self.said += BLOCK as u64;
        let output = &self.child.outputs.first().ok_or("no output")?.1;
        let sent = within("the child to be read from", output.send(piece)).await?;
        sent.map_err(|_| "the child was let go of".to_owned())
    }

    /// Reads all that was said.
    async fn hear(
        &mut self,
        client: &mut Frames<DuplexStream>,
        heard: &mut Speech,
    ) -> Result<(), String> {
        let mut at = self.said - BLOCK as u64;
        while at < self.said {
            if let Some(now) = self.one(client, heard).await? {
                at = now;
            }
        }
        Ok(())
    }

    async fn one(
        &mut self,
        client: &mut Frames<DuplexStream>,
        heard: &mut Speech,
    ) -> Result<Option<u64>, String> {
        match within("a message", client.next()).await?? {
            Message::Data { stream, bytes, .. } if stream == OUT => {
                return heard.hear_bytes(&bytes).map(Some);
            }
            Message::Data { bytes, .. } => {
                self.events += &String::from_utf8_lossy(&bytes);
            }
            Message::Degraded { .. } => {
                self.degraded.get_or_insert_with(Instant::now);
            }
            Message::Gap { from, to, .. } => return Err(format!("{from}..{to} is lost")),
            _ => {}
        }
        Ok(None)
    }

    /// Goes on until the disk has failed as planned and the journal has come back from it.
    async fn recover(
        &mut self,
        client: &mut Frames<DuplexStream>,
        heard: &mut Speech,
    ) -> Result<Option<Duration>, String> {
        let Some(failed) = self.disk.failed() else {
            return Ok(None);
        };
        while self.last("degraded").is_none() || self.last("degraded") >= self.last("recovered") {
            self.one(client, heard).await?;
        }
        self.say().await?;
        self.hear(client, heard).await?;
        match self.degraded.map(|at| at.saturating_duration_since(failed)) {
            Some(took) if took > lateness::allow(TOLD) => Err(format!("told after {took:?}")),
            Some(took) => Ok(Some(took)),
            // What was over before anybody joined is in the chronicle alone.
            None if failed < self.joined => Ok(None),
            None => Err("nobody was told".to_owned()),
        }
    }

    /// Where in the chronicle an event was last.
    fn last(&self, event: &str) -> Option<usize> {
        self.events.rfind(&format!("\"event\":\"{event}\""))
    }

    /// Where the output ends, once a client that joins is told that it is safe up to there.
    /// The first client hears what is told meanwhile.
    async fn safe_end(
        &mut self,
        client: &mut Frames<DuplexStream>,
        heard: &mut Speech,
    ) -> Result<Option<u64>, String> {
        for _ in 0..LOOKS {
            let (ours, theirs) = duplex(64 << 10);
            self.host.connect(theirs).await;
            let joining = Frames::join(ours, self.session, Lease::Read, BTreeMap::new());
            let (_client, attached) = within("an attach", joining).await??;
            let known = attached.streams.get(&OUT).ok_or("no output")?;
            if known.durable == Durability::Power {
                return Ok(Some(known.end));
            }
            let pause = tokio::time::Instant::now() + limits().sync_every;
            while let Ok(told) = timeout_at(pause, self.one(client, heard)).await {
                told?;
            }
        }
        Ok(None)
    }

    /// What a client is told to survive a loss of power does.
    /// Answers how often it was told.
    async fn check_safe(
        &mut self,
        seed: u64,
        client: &mut Frames<DuplexStream>,
        heard: &mut Speech,
    ) -> Result<u64, String> {
        let mut fault = None;
        // Who joins is written into the journal, too, and may drop the oldest of what is just read.
        for _ in 0..TRIES {
            let Some(end) = self.safe_end(client, heard).await? else {
                return Ok(0);
            };
            fault = self.unsafe_part(seed, end)?;
            if fault.is_none() {
                return Ok(1);
            }
        }
        fault.map_or(Ok(0), Err)
    }

    /// What is wrong with a journal that is said to be safe up to `end`, and with what a power cut
    /// would leave of it.
    fn unsafe_part(&self, seed: u64, end: u64) -> Result<Option<String>, String> {
        let safe = tempfile::tempdir().map_err(|error| error.to_string())?;
        let journal = self.folder.path().join("journal");
        let copied = self.disk.copy_safe(&journal, safe.path());
        copied.map_err(|error| error.to_string())?;
        let (all, safe) = (ranges(&journal, seed)?, ranges(safe.path(), seed)?);
        let reaches = all.last().is_some_and(|last| last.1 >= end);
        if !reaches && !is_gap(&journal, (0, end))? {
            return Ok(Some(format!("safe up to {end}, but there is {all:?}")));
        }
        for hole in holes(&all, &safe, end) {
            if !is_gap(&journal, hole)? {
                let fault = format!("safe up to {end}: {all:?}, after a power cut {safe:?}");
                return Ok(Some(fault));
            }
        }
        Ok(None)
    }
}

/// What of the output up to `end` is in one journal and not in the other.
fn holes(all: &[(u64, u64)], safe: &[(u64, u64)], end: u64) -> Vec<(u64, u64)> {
    let mut holes = Vec::new();
    for &(from, to) in all {
        let (mut at, to) = (from, to.min(end));
        for part in safe.iter().filter(|part| part.1 > from && part.0 < to) {
            if at < part.0 {
                holes.push((at, part.0));
            }
            at = at.max(part.1);
        }
        if at < to {
            holes.push((at, to));
        }
    }
    holes
}

/// Whether a journal itself says that bytes are missing. A disk that takes bytes and says that it
/// did not has promised them to nobody: whoever reads on past them finds them, but the segment
/// behind them goes on with a gap, if they could not be offered again.
fn is_gap(journal: &Path, (from, to): (u64, u64)) -> Result<bool, String> {
    let reader = JournalReader::open(Folder::at(journal));
    let mut reader = reader.map_err(|error| error.to_string())?;
    let mut at = from;
    while at < to {
        match reader.read(OUT, at, 1).map_err(|error| error.to_string())? {
            Some(Piece::Gap { to, .. }) => at = to,
            _ => return Ok(false),
        }
    }
    Ok(true)
}

/// The parts of the output that a journal has, all of them right.
fn ranges(folder: &Path, seed: u64) -> Result<Vec<(u64, u64)>, String> {
    let reader = JournalReader::open(Folder::at(folder));
    let mut reader = reader.map_err(|error| error.to_string())?;
    let mut speech = Speech::new(seed);
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    let mut at = 0;
    while let Some(piece) = reader
        .read(OUT, at, 1 << 16)
        .map_err(|error| error.to_string())?
    {
        if let Piece::Gap { to, .. } = piece {
            at = speech.skip(to);
            continue;
        }
        let from = at;
        at = speech.hear(piece)?;
        match ranges.last_mut().filter(|last| last.1 == from) {
            Some(last) => last.1 = at,
            None => ranges.push((from, at)),
        }
    }
    Ok(ranges)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_what_one_has_and_the_other_lacks() {
        let holes = |all: &[_], safe: &[_], end| holes(all, safe, end);
        assert_eq!(holes(&[(0, 9)], &[(0, 9)], 9), []);
        assert_eq!(holes(&[(0, 9)], &[(0, 4), (5, 8)], 9), [(4, 5), (8, 9)]);
        assert_eq!(holes(&[(0, 9)], &[(2, 4)], 6), [(0, 2), (4, 6)]);
        assert_eq!(
            holes(&[(2, 4), (6, 9)], &[(0, 3), (7, 9)], 9),
            [(3, 4), (6, 7)]
        );
        assert_eq!(holes(&[(2, 4), (6, 9)], &[], 8), [(2, 4), (6, 8)]);
    }
}
