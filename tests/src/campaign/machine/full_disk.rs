//! Sessions whose disk is full at every byte of their journal.
//!
//! The child is simulated and exits in order; everything else is the production code of a shim. Its
//! client reads all output. Afterwards the journal has a prefix of the output, the rest as a gap, and
//! the exit: or no exit at all, if there was never space for it.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use bowline_runner::wire::{Lease, Message, StreamId};
use bowline_runner::{Child, ChildEvent, ChildPeer, SessionHandle};
use bowline_transport::journal::{Folder, JournalLimits, JournalReader};
use bowline_transport::{Drained, ExitStatus, Piece, SessionId};
use tokio::io::{DuplexStream, duplex};

use super::disk::configuration;
use super::faulty::Faulty;
use super::frames::Frames;
use super::output::{BLOCK, OutputSequence};
use crate::campaign::support::{in_lanes, within};
use crate::campaign::{Job, Random, Report};

/// Number of concurrent sessions.
const LANES: u64 = 4;

/// Number of blocks that the child writes.
const BLOCKS: u64 = 3;

/// Size of a disk that never has space for the exit: less than a journal keeps for it.
const SMALLEST: u64 = 4_000;

/// Number of disk sizes: up to one that has space for everything.
const SIZES: u64 = 9_000;

/// Bytes that a journal needs before the first record: its header, and what it keeps for the last
/// records.
const LEAST: u64 = 44 + (4 << 10);

const OUT: StreamId = StreamId::STDOUT;

pub(crate) fn run(job: &Job) -> Report {
    // Every byte if there are enough runs, otherwise evenly spread ones.
    let step = (SIZES / job.count.clamp(1, SIZES)).max(1);
    let mut report = in_lanes(job, LANES, |number, random| {
        let size = SMALLEST + number * step % SIZES;
        async move {
            let outcome = session(size, random).await;
            outcome.map_err(|why| format!("a disk of {size} bytes: {why}"))
        }
    });
    report.note(format!("a disk size every {step} bytes"));
    report
}

/// Runs one session to its end, and checks its journal.
async fn session(size: u64, mut random: Random) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let folder = tempfile::tempdir().map_err(text)?;
    let journal = folder.path().join("journal");
    let disk = Faulty::with_capacity(&journal, size).map_err(text)?;
    let session = SessionId::random();
    let (child, mut peer) = Child::channels([OUT]);
    let limits = JournalLimits {
        sync_every: Duration::from_millis(5),
        retry_after: Duration::from_millis(10),
        ..JournalLimits::default()
    };
    let host = SessionHandle::with_journal(configuration(session), child, disk, limits);
    let host = host.map_err(text)?;
    let seed = random.draw();
    let (ours, theirs) = duplex(64 << 10);
    host.connect(theirs).await;
    let cursors = BTreeMap::from([(OUT, 0)]);
    let joining = Frames::join(ours, session, Lease::Write, cursors);
    let (mut client, _) = within("an attach", joining).await??;
    say(&mut peer, seed).await?;
    listen(&mut client, seed).await?;
    // There is no child whose processes could be killed.
    drop(peer.commands);
    let mut status = host.status();
    host.stop().await;
    drop(client);
    let over = within("the end of the session", status.wait_for(|it| it.is_over)).await?;
    over.map_err(|error| error.to_string())?;
    check(&journal, seed, size)
}

/// Writes the child's output and exits.
async fn say(peer: &mut ChildPeer, seed: u64) -> Result<(), String> {
    let mut speech = OutputSequence::new(seed);
    let (_, output) = peer.outputs.pop().ok_or("no output")?;
    for number in 0..BLOCKS {
        let piece = Piece::Bytes {
            offset: number * BLOCK as u64,
            bytes: speech.block().into(),
        };
        let sent = within("the child to be read from", output.send(piece)).await?;
        sent.map_err(|_| "the child was let go of")?;
    }
    drop(output);
    let exited = peer.events.send(ChildEvent::Exited {
        status: ExitStatus::Code(0),
        oom: false,
        drained: Drained::Clean,
    });
    exited.map_err(|_| "the child was let go of".to_owned())
}

/// Reads all output and the exit, which a full disk must not affect.
async fn listen(client: &mut Frames<DuplexStream>, seed: u64) -> Result<(), String> {
    let mut received = OutputSequence::new(seed);
    let mut at = 0;
    loop {
        match within("a message", client.next()).await?? {
            Message::Data { stream, bytes, .. } if stream == OUT => {
                at = received.check_bytes(&bytes)?
            }
            Message::Gap { from, to, .. } => return Err(format!("{from}..{to} is lost")),
            Message::Exit(exit) if exit.ends.get(&OUT) == Some(&at) => return Ok(()),
            Message::Exit(exit) => return Err(format!("{at} bytes received of {:?}", exit.ends)),
            _ => {}
        }
    }
}

/// Checks that what the journal lacks is not silent.
fn check(journal: &Path, seed: u64, size: u64) -> Result<(), String> {
    let text = |error: std::io::Error| error.to_string();
    let mut reader = JournalReader::open(Folder::at(journal)).map_err(text)?;
    let mut speech = OutputSequence::new(seed);
    let mut at = 0;
    while let Some(piece) = reader.read(OUT, at, 1 << 16).map_err(text)? {
        at = match piece {
            Piece::Gap { to, .. } => speech.skip(to),
            piece => speech.check(piece)?,
        };
    }
    let end = BLOCKS * BLOCK as u64;
    match recorded_end(&mut reader)? {
        Some(recorded) if recorded == end && at == end => Ok(()),
        Some(recorded) => Err(format!("{at} bytes or gaps of {recorded} of {end}")),
        // A reader reports that there is no exit.
        None if size < LEAST => Ok(()),
        None => Err(format!("no exit after {at} bytes")),
    }
}

/// End of the output as the exit records it; `None` without an exit.
fn recorded_end(reader: &mut JournalReader<Folder>) -> Result<Option<u64>, String> {
    let (mut lines, mut at) = (Vec::new(), 0);
    let read = |reader: &mut JournalReader<Folder>, at| {
        let piece = reader.read(StreamId::LIFECYCLE, at, 1 << 16);
        piece.map_err(|error| error.to_string())
    };
    while let Some(piece) = read(reader, at)? {
        match piece {
            Piece::Bytes { offset, bytes } => {
                lines.extend_from_slice(&bytes);
                at = offset + bytes.len() as u64;
            }
            Piece::Gap { to, .. } => at = to,
        }
    }
    let lines = lines.split(|byte| *byte == b'\n');
    let mut values =
        lines.filter_map(|line| serde_json::from_slice::<serde_json::Value>(line).ok());
    let exit = values.rfind(|value| value["event"] == "exited");
    Ok(exit.and_then(|exit| exit["ends"][OUT.0.to_string()].as_u64()))
}
