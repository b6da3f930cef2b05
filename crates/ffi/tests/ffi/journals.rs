//! Recorded journals: what of them is missing or damaged is in the transcript.

use std::path::Path;
use std::time::Instant;

use bowline_ffi::{BowlineError, Change, Engine, StatsView};
use bowline_lifecycle::StreamId;
use bowline_lifecycle::journal::{Arrival, JournalLimits, JournalWriter, OneFile};
use bowline_wire::Epoch;
use bytes::Bytes;

/// The arrival of every record.
const AT: Arrival = Arrival::at(1_700_000_000_000);

const OUTPUT: &[u8] = b"{\"type\":\"system\",\"subtype\":\"status\"}\n{\"type\":\"keep_alive\"}\n";

/// Writes a journal with the output from `offset` on, and with the agent's exit.
fn write(path: &Path, offset: u64, exit: &str) {
    let limits = JournalLimits::one_segment();
    let journal = JournalWriter::create(OneFile::at(path), limits, Epoch::random(), 0);
    let (mut journal, now) = (journal.expect("the folder is writable"), Instant::now());
    let output = journal.append(
        StreamId::STDOUT,
        offset,
        Bytes::from_static(OUTPUT),
        AT,
        now,
    );
    output.expect("the disk is not full");
    let exit = journal.append(StreamId::LIFECYCLE, 0, exit.to_owned().into(), AT, now);
    exit.expect("the disk is not full");
    journal.sync(now).expect("the disk is not full");
}

fn exit(end: usize) -> String {
    format!("{{\"exit\":{{\"status\":{{\"code\":0}},\"ends\":{{\"1\":{end}}}}}}}\n")
}

/// Returns the counts of a recording, and the texts of its errors.
async fn read(path: &Path) -> Result<(StatsView, Vec<String>), BowlineError> {
    let path = path.to_string_lossy().into_owned();
    let recording = Engine::new(None).open_recording(path, None).await?;
    let (mut stats, mut errors) = (None, Vec::new());
    let changes = recording.change_stream()?;
    let mut cursor = 0;
    while let Some(batch) = changes.clone().next(cursor, 100, 0).await? {
        cursor = batch.cursor;
        for change in batch.changes {
            match change {
                Change::Stats { value } => stats = Some(value),
                Change::Entry {
                    value: bowline_ffi::EntryKind::Error { text, .. },
                    ..
                } => errors.push(text),
                _ => {}
            }
        }
    }
    Ok((stats.expect("a recording has counts"), errors))
}

#[tokio::test]
async fn whole_journal_has_no_damage() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("whole.bjl");
    write(&path, 0, &exit(OUTPUT.len()));
    let (stats, errors) = read(&path).await.expect("it is readable");
    assert_eq!((stats.events, stats.missing), (2, 0), "{errors:?}");
    assert!(!stats.is_damaged && errors.is_empty(), "{errors:?}");
}

#[tokio::test]
async fn missing_output_is_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let end = OUTPUT.len() as u64;
    for (name, offset, ends) in [("begin", 10, end + 10), ("end", 0, end + 10)] {
        let path = folder.path().join(name);
        write(&path, offset, &exit(usize::try_from(ends).expect("small")));
        let (stats, errors) = read(&path).await.expect("it is readable");
        assert_eq!((stats.missing, errors.len()), (10, 1), "{name}: {errors:?}");
        assert!(!stats.is_damaged, "{name}: {errors:?}");
    }
}

#[tokio::test]
async fn every_cut_of_journal_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole.bjl");
    write(&whole, 0, &exit(OUTPUT.len()));
    let bytes = std::fs::read(whole).expect("it was written");
    let path = folder.path().join("cut.bjl");
    for length in 8..bytes.len() {
        std::fs::write(&path, &bytes[..length]).expect("the folder is writable");
        let (stats, errors) = read(&path).await.expect("it is readable");
        assert!(stats.is_damaged, "{length}: {errors:?}");
        let reports_cut =
            |text: &String| text.contains(" is cut at byte ") || text.contains("was cut");
        assert!(errors.iter().any(reports_cut), "{length}: {errors:?}");
    }
}

#[tokio::test]
async fn changed_byte_of_journal_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let whole = folder.path().join("whole.bjl");
    write(&whole, 0, &exit(OUTPUT.len()));
    let mut bytes = std::fs::read(whole).expect("it was written");
    let path = folder.path().join("changed.bjl");
    *bytes.last_mut().expect("it is not empty") ^= 1;
    std::fs::write(&path, bytes).expect("the folder is writable");
    let (stats, errors) = read(&path).await.expect("it is readable");
    assert!(stats.is_damaged && stats.events == 2, "{errors:?}");
    assert!(errors[0].contains("is corrupt at byte "), "{errors:?}");
}
