//! Disks that are full, fail or write short at any call of a session's journal.
//!
//! The child is simulated, so that a session takes milliseconds; everything else is the production
//! code of a shim. Some sessions then run with real shims on a file system of one mebibyte.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bowline_runner::wire::{
    Durability, Epoch, Lease, Message, SessionFacts, SessionKind, SessionState, StdioKind, StreamId,
};
use bowline_runner::{
    Child, ChildPeer, MachineConfiguration, OverflowPolicy, SessionHandle, StreamConfiguration,
};
use bowline_transport::journal::{Folder, JournalLimits, JournalReader};
use bowline_transport::{Containment, Piece, SessionId};
use parking_lot::Mutex;
use tokio::io::{DuplexStream, duplex};
use tokio::time::timeout_at;

use super::faulty::{Fault, Faulty, Plan};
use super::frames::Frames;
use super::lateness;
use super::output::{BLOCK, OutputSequence};
use super::tmpfs;
use crate::campaign::support::{in_lanes, percentiles, within};
use crate::campaign::{Job, Random, Report};

/// Longest time between a failure and its notification.
const MAX_DELAY: Duration = Duration::from_millis(100);

/// Number of attaches made while waiting for all output to be reported as durable.
const DURABILITY_POLLS: u32 = 8;

/// Number of reads of a journal that is still being written.
const JOURNAL_READS: u32 = 3;

/// Number of concurrent sessions.
const LANES: u64 = 4;

/// Number of blocks that a child writes in one session.
const BLOCKS: u64 = 60;

/// Number of journal calls of a session at which a fault is injected.
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
    let seen = std::mem::take(&mut *seen.lock());
    report.note(format!(
        "{} sessions met a fault, reported after {}; {} times all output was reported as durable, and was",
        seen.delays.len(),
        percentiles(seen.delays),
        seen.safe
    ));
    report.merge(tmpfs::run(job));
    report.note(lateness::note());
    report
}

/// Injects every fault at every call, as a single and as a repeated failure.
fn plan(number: u64) -> Plan {
    let fault = Fault::ALL[(number % 4) as usize];
    let count = [1, 3, 12][(number / 4 % 3) as usize];
    // The first two calls create the journal, without which there is no session.
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

pub(super) fn configuration(session: SessionId) -> MachineConfiguration {
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

/// Results of all sessions.
#[derive(Debug, Default)]
struct Seen {
    delays: Vec<Duration>,
    safe: u64,
}

/// A session whose disk fails.
struct Point {
    host: SessionHandle,
    child: ChildPeer,
    session: SessionId,
    disk: Faulty,
    folder: tempfile::TempDir,
    speech: OutputSequence,
    written: u64,
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
        speech: OutputSequence::new(seed),
        written: 0,
        joined: Instant::now(),
        degraded: None,
        events: String::new(),
    };
    let mut client = point.join(0).await?;
    point.joined = Instant::now();
    let mut received = OutputSequence::new(seed);
    let mut safe = 0;
    for number in 0..BLOCKS {
        point.write_block().await?;
        point.read_all(&mut client, &mut received).await?;
        if number % 16 == 15 {
            safe += point.check_safe(seed, &mut client, &mut received).await?;
        }
    }
    let delays = point.recover(&mut client, &mut received).await?;
    safe += point.check_safe(seed, &mut client, &mut received).await?;
    let mut seen = seen.lock();
    seen.delays.extend(delays);
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

    /// Writes a block of the child. It never blocks, since the session reads all output.
    async fn write_block(&mut self) -> Result<(), String> {
        let piece = Piece::Bytes {
            offset: self.written,
            bytes: self.speech.block().into(),
        };
        self.written += BLOCK as u64;
        let output = &self.child.outputs.first().ok_or("no output")?.1;
        let sent = within("the child to be read from", output.send(piece)).await?;
        sent.map_err(|_| "the child was let go of".to_owned())
    }

    /// Reads all output.
    async fn read_all(
        &mut self,
        client: &mut Frames<DuplexStream>,
        received: &mut OutputSequence,
    ) -> Result<(), String> {
        let mut at = self.written - BLOCK as u64;
        while at < self.written {
            if let Some(now) = self.one(client, received).await? {
                at = now;
            }
        }
        Ok(())
    }

    async fn one(
        &mut self,
        client: &mut Frames<DuplexStream>,
        received: &mut OutputSequence,
    ) -> Result<Option<u64>, String> {
        match within("a message", client.next()).await?? {
            Message::Data { stream, bytes, .. } if stream == OUT => {
                return received.check_bytes(&bytes).map(Some);
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

    /// Continues until the disk has failed as planned and the journal has recovered.
    async fn recover(
        &mut self,
        client: &mut Frames<DuplexStream>,
        received: &mut OutputSequence,
    ) -> Result<Option<Duration>, String> {
        let Some(failed) = self.disk.failed() else {
            return Ok(None);
        };
        while self.last("degraded").is_none() || self.last("degraded") >= self.last("recovered") {
            self.one(client, received).await?;
        }
        self.write_block().await?;
        self.read_all(client, received).await?;
        match self.degraded.map(|at| at.saturating_duration_since(failed)) {
            Some(took) if took > lateness::allow(MAX_DELAY) => {
                Err(format!("reported after {took:?}"))
            }
            Some(took) => Ok(Some(took)),
            // An event from before the attach is in the event log only.
            None if failed < self.joined => Ok(None),
            None => Err("no notification".to_owned()),
        }
    }

    /// Position of the last occurrence of an event in the event log.
    fn last(&self, event: &str) -> Option<usize> {
        self.events.rfind(&format!("\"event\":\"{event}\""))
    }

    /// End of the output, once a newly attached client is notified that it is durable up to there.
    async fn safe_end(
        &mut self,
        client: &mut Frames<DuplexStream>,
        received: &mut OutputSequence,
    ) -> Result<Option<u64>, String> {
        for _ in 0..DURABILITY_POLLS {
            let (ours, theirs) = duplex(64 << 10);
            self.host.connect(theirs).await;
            let joining = Frames::join(ours, self.session, Lease::Read, BTreeMap::new());
            let (_client, attached) = within("an attach", joining).await??;
            let known = attached.streams.get(&OUT).ok_or("no output")?;
            if known.durable == Durability::Power {
                return Ok(Some(known.end));
            }
            let pause = tokio::time::Instant::now() + limits().sync_every;
            while let Ok(delays) = timeout_at(pause, self.one(client, received)).await {
                delays?;
            }
        }
        Ok(None)
    }

    /// Checks that output reported as durable survives a loss of power.
    async fn check_safe(
        &mut self,
        seed: u64,
        client: &mut Frames<DuplexStream>,
        received: &mut OutputSequence,
    ) -> Result<u64, String> {
        let mut fault = None;
        // An attach is written to the journal, too, and may drop the oldest of the output just
        // read.
        for _ in 0..JOURNAL_READS {
            let Some(end) = self.safe_end(client, received).await? else {
                return Ok(0);
            };
            fault = self.unsafe_part(seed, end)?;
            if fault.is_none() {
                return Ok(1);
            }
        }
        fault.map_or(Ok(0), Err)
    }

    /// Errors of a journal that is reported durable up to `end`, and of the state that a power cut
    /// would leave.
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

/// Ranges of the output up to `end` that one journal has and the other lacks.
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

/// Whether the journal records that bytes are missing. After a failed write, the bytes may be on
/// disk although no durability was reported for them. A reader that continues past them finds them,
/// but the next segment starts with a gap if they could not be written again.
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

/// Checks the output in the journal and returns its ranges.
fn ranges(folder: &Path, seed: u64) -> Result<Vec<(u64, u64)>, String> {
    let reader = JournalReader::open(Folder::at(folder));
    let mut reader = reader.map_err(|error| error.to_string())?;
    let mut speech = OutputSequence::new(seed);
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
        at = speech.check(piece)?;
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
    fn holes_are_the_missing_ranges() {
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
