//! Journals that are truncated, or have flipped or zeroed bytes, at every byte.
//!
//! A run is a byte: the journal is cut before it, each of its bits is flipped, and a run of bytes from
//! it on is zeroed. Without enough runs for every byte of a journal, they are evenly spread.
//!
//! The expected result is known: the records of a segment up to the first damaged byte, and no
//! more. No damage is silent: it is reported, or a gap, or the exit of the child is missing.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use bowline_runner::wire::{Epoch, StreamId};
use bowline_transport::Piece;
use bowline_transport::journal::{
    Arrival, Folder, JournalLimits, JournalReader, JournalWriter, Scan, recover,
};
use bytes::Bytes;

use crate::campaign::{Job, Random, Report};

/// The arrival of every record.
const AT: Arrival = Arrival::at(1_700_000_000_000);

/// Member of the exit that has the end of each stream.
const ENDS: &str = "ends";

const STREAMS: [StreamId; 3] = [StreamId::STDOUT, StreamId::STDERR, StreamId::INPUT];

/// A journal as it was written.
struct Written {
    segments: BTreeMap<u32, Vec<u8>>,
    /// Bytes written to each stream.
    streams: BTreeMap<StreamId, Vec<u8>>,
}

/// Damage to one segment.
#[derive(Clone, Copy, Debug)]
enum Harm {
    Cut,
    Flip(u8),
    /// A run of other bytes, like a sector that was never written.
    Blank(u64),
}

pub(crate) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let mut random = Random::new(job.seed);
    let (mut journals, mut read) = (0, 0);
    while report.done < job.count {
        let seed = random.draw();
        let written = match write(seed) {
            Ok(written) => written,
            Err(error) => {
                report.violation(error);
                return report;
            }
        };
        journals += 1;
        let left = job.count - report.done;
        let step = (written.bytes() / left).max(1);
        let places = written.places().step_by(step as usize);
        for (segment, at) in places.take(left as usize) {
            let harm = random.draw();
            let tried = catch_unwind(AssertUnwindSafe(|| one(&written, segment, at, harm)));
            let outcome =
                tried.unwrap_or_else(|_| Err(format!("byte {at} of segment {segment}: it panics")));
            read += outcome.as_ref().copied().unwrap_or_default();
            report.one(
                outcome
                    .map(drop)
                    .map_err(|why| format!("journal {seed}, {why}")),
            );
        }
    }
    report.note(format!(
        "{journals} journals; {read} bytes were read back, all of them right, and all damage was reported"
    ));
    report
}

impl Written {
    /// Size of all segments.
    fn bytes(&self) -> u64 {
        self.segments.values().map(|it| it.len() as u64).sum()
    }

    /// Every byte, as the number of its segment and its position there.
    fn places(&self) -> impl Iterator<Item = (u32, usize)> {
        let segments = self.segments.iter();
        segments.flat_map(|(number, content)| (0..content.len()).map(move |at| (*number, at)))
    }
}

/// Writes a journal with several segments and three streams, as sessions do.
fn write(seed: u64) -> Result<Written, String> {
    let mut random = Random::new(seed);
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let limits = JournalLimits {
        segment_bytes: 600 + random.below(3_000),
        sync_every: Duration::from_secs(3_600),
        sync_bytes: u64::MAX,
        ..JournalLimits::default()
    };
    let disk = Folder::make(folder.path().join("journal")).map_err(|error| error.to_string())?;
    let writer = JournalWriter::create(disk, limits, Epoch(u128::from(seed)), 0);
    let mut writer = writer.map_err(|error| error.to_string())?;
    let mut streams: BTreeMap<StreamId, Vec<u8>> = BTreeMap::new();
    let now = Instant::now();
    for _ in 0..random.below(60) + 4 {
        let stream = STREAMS[random.below(3) as usize];
        let kept = streams.entry(stream).or_default();
        let length = 1 << random.below(9);
        let more = random.bytes(length as usize);
        let taken = writer.append(stream, kept.len() as u64, more.clone().into(), AT, now);
        taken.map_err(|error| error.to_string())?;
        kept.extend(more);
    }
    let ends: serde_json::Map<_, _> = streams
        .iter()
        .map(|(stream, bytes)| (stream.0.to_string(), bytes.len().into()))
        .collect();
    let exit = serde_json::json!({ "event": "exited", ENDS: ends }).to_string();
    writer
        .append(StreamId::LIFECYCLE, 0, exit.into(), AT, now)
        .map_err(|error| error.to_string())?;
    let segments = read_files(&folder.path().join("journal")).map_err(|error| error.to_string())?;
    Ok(Written { segments, streams })
}

fn read_files(folder: &Path) -> std::io::Result<BTreeMap<u32, Vec<u8>>> {
    let mut segments = BTreeMap::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let number = name
            .to_str()
            .and_then(|name| name.split('.').next()?.parse().ok());
        if let Some(number) = number {
            segments.insert(number, std::fs::read(entry.path())?);
        }
    }
    Ok(segments)
}

/// Damages one byte of one segment in every way; returns how many bytes were read back.
fn one(written: &Written, segment: u32, at: usize, harm: u64) -> Result<u64, String> {
    let original = &written.segments[&segment];
    let blank = Harm::Blank(1 + Random::new(harm).below(64));
    let flips = (0..8).map(|bit| Harm::Flip(1 << bit));
    let mut read = 0;
    for harm in [Harm::Cut, blank].into_iter().chain(flips) {
        let harmed = apply(original, at, harm);
        let first = first_difference(original, &harmed);
        let checked = check_segment(original, &harmed, first)
            .and_then(|()| check_folder(written, segment, &harmed, harmed != *original));
        read +=
            checked.map_err(|why| format!("{harm:?} of byte {at} of segment {segment}: {why}"))?;
    }
    Ok(read)
}

fn apply(original: &[u8], at: usize, harm: Harm) -> Vec<u8> {
    let mut harmed = original.to_vec();
    match harm {
        Harm::Cut => harmed.truncate(at),
        Harm::Flip(bit) => harmed
            .iter_mut()
            .skip(at)
            .take(1)
            .for_each(|byte| *byte ^= bit),
        Harm::Blank(count) => {
            let run = harmed.iter_mut().skip(at).take(count as usize);
            run.for_each(|byte| *byte = 0);
        }
    }
    harmed
}

fn first_difference(original: &[u8], harmed: &[u8]) -> usize {
    let same = original.iter().zip(harmed).take_while(|(a, b)| a == b);
    same.count()
}

/// Checks that exactly the records before the first damaged byte are read.
fn check_segment(original: &[u8], harmed: &[u8], first: usize) -> Result<(), String> {
    let found = recover(&Bytes::copy_from_slice(harmed));
    let mut whole = Scan::default();
    whole.push(original);
    let mut expected = Vec::new();
    while let Some(record) = whole.next_record() {
        if whole.valid_bytes() > first as u64 {
            break;
        }
        expected.push(record);
    }
    if found.records != expected {
        let (found, expected) = (found.records.len(), expected.len());
        return Err(format!("{found} records where {expected} are whole"));
    }
    Ok(())
}

/// Checks that everything that a reader returns was written, at that offset, and that damage is
/// reported.
fn check_folder(
    written: &Written,
    which: u32,
    harmed: &[u8],
    is_harmed: bool,
) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    for (segment, content) in &written.segments {
        let content = if *segment == which { harmed } else { content };
        let path = folder.path().join(format!("{segment:08}.bjl"));
        std::fs::write(path, content).map_err(|error| error.to_string())?;
    }
    let mut reader = match JournalReader::open(Folder::at(folder.path())) {
        Err(error) if error.kind() == ErrorKind::Unsupported && is_harmed => return Ok(0),
        opened => opened.map_err(|error| error.to_string())?,
    };
    let (mut read, mut is_reported) = (0, false);
    let mut ends = BTreeMap::new();
    for (stream, right) in &written.streams {
        let mut at = 0;
        while let Some(piece) = reader
            .read(*stream, at, 1 << 16)
            .map_err(|error| error.to_string())?
        {
            match piece {
                Piece::Bytes { offset, bytes } => {
                    let from = usize::try_from(offset).unwrap_or(usize::MAX);
                    if offset != at || right.get(from..from + bytes.len()) != Some(&bytes[..]) {
                        return Err(format!("stream {stream}: other bytes at {offset}"));
                    }
                    at += bytes.len() as u64;
                    read += bytes.len() as u64;
                }
                Piece::Gap { from, to } if from == at && to > from => {
                    is_reported = true;
                    at = to;
                }
                gap => return Err(format!("stream {stream} at {at}: {gap:?}")),
            }
        }
        ends.insert(*stream, at);
    }
    let exit = reader
        .read(StreamId::LIFECYCLE, 0, 1 << 16)
        .map_err(|error| error.to_string())?;
    is_reported |= reader.damage().len() > 0 || !is_whole(exit, &ends);
    match (is_harmed, is_reported) {
        (true, false) => Err("not reported".to_owned()),
        (false, true) => Err("reported without damage".to_owned()),
        _ => Ok(read),
    }
}

/// Whether the exit was read, and every stream up to the end that it records.
fn is_whole(exit: Option<Piece>, ends: &BTreeMap<StreamId, u64>) -> bool {
    let Some(Piece::Bytes { bytes, .. }) = exit else {
        return false;
    };
    let exit: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
    ends.iter()
        .all(|(stream, end)| exit[ENDS][stream.0.to_string()] == *end)
}
