//! A transcript with a window: evicted entries are restored from the log unchanged, for every
//! recording.

#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::Path;

use bowline_jsonl::{DEFAULT_MAX_LINE, Framer};
use bowline_reducer::{Entry, Meta, Page, Thread, ToolCall, Transcript, Window};
use bytes::Bytes;
use flate2::read::GzDecoder;
use serde_json::Value;

/// Window sizes in entries, from the smallest that contains all records that the next line refers
/// to, to one that some recordings fill.
const WINDOWS: [usize; 4] = [4, 5, 8, 16];

fn recordings() -> Vec<(String, Bytes)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path());
    let mut recordings: Vec<_> = files.filter_map(|path| read(&path)).collect();
    recordings.sort();
    assert!(recordings.len() > 60, "the recordings are there");
    recordings
}

fn read(path: &Path) -> Option<(String, Bytes)> {
    let name = path.file_name()?.to_str()?.to_owned();
    if !name.contains(".jsonl") {
        return None;
    }
    let mut bytes = fs::read(path).unwrap();
    if name.ends_with(".gz") {
        let mut out = Vec::new();
        GzDecoder::new(&*bytes).read_to_end(&mut out).unwrap();
        bytes = out;
    }
    Some((name, bytes.into()))
}

/// Calls `apply` with the lines of a part of a stream.
fn lines(stream: &Bytes, from: u64, end: u64, mut apply: impl FnMut(&bowline_jsonl::Item<'_>)) {
    let mut framer = Framer::at(DEFAULT_MAX_LINE, from, 1);
    framer.push(stream.slice(from as usize..end as usize));
    framer.finish();
    while let Some(frame) = framer.next_frame() {
        frame.items().for_each(|item| apply(&item));
    }
}

fn fold(mut transcript: Transcript, stream: &Bytes) -> Transcript {
    let end = stream.len() as u64;
    lines(stream, 0, end, |item| {
        transcript.apply(
            item,
            Meta {
                at_ms: item.at.offset,
            },
        );
    });
    transcript
}

/// Returns the content of every entry and call by its number; a call without its sub-agent, whose
/// entries are among the others.
type Records = (BTreeMap<u32, Value>, BTreeMap<u32, Value>);

fn collect<'a>(
    entries: impl Iterator<Item = Entry<'a>>,
    calls: impl Iterator<Item = ToolCall<'a>>,
    (all, all_calls): &mut Records,
) {
    for entry in entries {
        all.insert(entry.id().number(), serde_json::to_value(entry).unwrap());
    }
    for call in calls {
        let mut value = serde_json::to_value(call).unwrap();
        value["subagent"].take();
        all_calls.insert(call.call_id().number(), value);
    }
}

fn collect_thread(thread: Thread<'_>, all: &mut Records) {
    collect(thread.entries(), thread.tool_calls().iter(), all);
    for call in thread.tool_calls().iter() {
        if let Some(thread) = call.subagent() {
            collect_thread(thread, all);
        }
    }
}

fn page_back(page: &mut Page, stream: &Bytes) {
    while let Some((run, wanted)) = page.next_range() {
        assert_eq!(run, 0);
        lines(stream, wanted.start, wanted.end, |item| {
            page.apply(
                item,
                Meta {
                    at_ms: item.at.offset,
                },
            );
        });
        assert!(page.next_range() != Some((run, wanted)), "{page:?}");
    }
}

#[test]
fn evicted_entries_are_restored_unchanged() {
    let (mut pages, mut late) = (0, Vec::new());
    for (name, stream) in recordings() {
        let whole = fold(Transcript::new(), &stream);
        let mut expected = Records::default();
        collect_thread(whole.main(), &mut expected);
        for window in WINDOWS {
            let windowed = fold(Transcript::with_window(Window::of_entries(window)), &stream);
            let mut found = Records::default();
            for evicted in windowed.evicted() {
                let mut page = windowed.page(evicted.first).expect("it was given up");
                page_back(&mut page, &stream);
                collect(page.entries(), page.tool_calls(), &mut found);
                pages += 1;
            }
            collect_thread(windowed.main(), &mut found);
            assert_eq!(windowed.stats().lines(), whole.stats().lines());
            assert_eq!(windowed.usage().cost_usd(), whole.usage().cost_usd());
            if found != expected {
                late.push(format!("{name} in {window}"));
            }
        }
    }
    assert!(pages > 150, "{pages} pages");
    assert!(late.is_empty(), "{late:?}");
}
