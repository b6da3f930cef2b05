//! Recordings that are cut and then repeated from their beginning, without an offset.
//!
//! The transcript must be that of the recording alone, except for its statistics, which count the
//! repeated lines. With as many runs as there are lines, each recording is cut at the end of each of
//! its lines; all further cuts are at a random byte.

use bowline_jsonl::{DEFAULT_MAX_LINE, Framer, Str};
use bowline_reducer::{End, Meta, Transcript};
use bytes::Bytes;

use super::recordings::{Recording, recordings};
use super::{Job, Random, Report};

/// How a recording is repeated after a cut.
#[derive(Clone, Copy, Debug)]
enum Repeat {
    /// The whole follows immediately, as in a file.
    Appended,
    /// The input ends, and another reader delivers the whole.
    Reconnected,
    /// Another part follows, up to this byte, and then the whole. The first part has a line with a
    /// uuid: two parts of one line cannot be matched.
    Twice(usize),
}

/// A recording and the transcript of it alone.
struct Subject {
    recording: Recording,
    lines: Vec<usize>,
    /// Where the first line ends that has a uuid.
    named: usize,
    transcript: String,
}

pub(super) fn run(job: &Job) -> Report {
    let mut report = Report::default();
    let subjects: Vec<_> = match recordings() {
        Ok(recordings) => recordings.into_iter().filter_map(subject).collect(),
        Err(error) => {
            report.violation(format!("failed to read the recordings: {error}"));
            return report;
        }
    };
    let mut random = Random::new(job.seed);
    let lines = subjects
        .iter()
        .flat_map(|it| it.lines.iter().map(move |&cut| (it, cut)));
    let lines: Vec<_> = lines.collect();
    let all_lines = if job.count < lines.len() as u64 {
        &[][..]
    } else {
        &lines
    };
    for &(subject, cut) in all_lines {
        report.one(subject.check(cut, Repeat::Appended));
    }
    while report.done < job.count {
        let subject = &subjects[random.below(subjects.len() as u64) as usize];
        let cut = subject.cut(&mut random);
        let repeat = match random.below(4) {
            0 => Repeat::Reconnected,
            1 if cut >= subject.named => Repeat::Twice(subject.cut(&mut random)),
            _ => Repeat::Appended,
        };
        report.one(subject.check(cut, repeat));
    }
    let (recordings, lines) = (subjects.len(), all_lines.len());
    report.note(format!(
        "{recordings} recordings, cut at each of {lines} lines and at random bytes"
    ));
    report
}

/// `None` for a recording without a uuid, by which a repeated stream is recognized.
fn subject(recording: Recording) -> Option<Subject> {
    let named = first_named(&recording.bytes)?;
    let ends = recording.bytes.iter().enumerate();
    let ends = ends.filter(|(_, byte)| **byte == b'\n');
    let lines = ends.map(|(at, _)| at + 1).collect();
    let transcript = fold([recording.bytes.clone()]);
    Some(Subject {
        recording,
        lines,
        named,
        transcript,
    })
}

/// Where the first line ends that has a uuid.
fn first_named(bytes: &Bytes) -> Option<usize> {
    let mut framer = Framer::default();
    framer.push(bytes.clone());
    framer.finish();
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            let uuid = item.event.ok().and_then(|event| event.uuid);
            if !uuid.is_none_or(Str::is_empty) {
                return Some(item.at.end as usize);
            }
        }
    }
    None
}

impl Subject {
    /// Draws the byte at which the recording is cut.
    fn cut(&self, random: &mut Random) -> usize {
        random.below(self.recording.bytes.len() as u64 + 1) as usize
    }

    fn check(&self, cut: usize, repeat: Repeat) -> Result<(), String> {
        let bytes = &self.recording.bytes;
        let (part, whole) = (bytes.slice(..cut), bytes.clone());
        let transcript = match repeat {
            Repeat::Appended => fold([part, whole]),
            Repeat::Twice(second) => fold([part, bytes.slice(..second), whole]),
            Repeat::Reconnected => reconnected(part, whole),
        };
        if transcript == self.transcript {
            return Ok(());
        }
        let name = &self.recording.name;
        let place = difference(&transcript, &self.transcript);
        Err(format!("{name} cut at byte {cut}, {repeat:?}: {place}"))
    }
}

/// Folds a stream that consists of these parts.
fn fold(parts: impl IntoIterator<Item = Bytes>) -> String {
    let (mut framer, mut transcript) = (Framer::default(), Transcript::new());
    for part in parts {
        framer.push(part);
        drain(&mut framer, &mut transcript);
    }
    end(framer, transcript)
}

/// Folds a part, and then the whole from another reader.
fn reconnected(part: Bytes, whole: Bytes) -> String {
    let (mut framer, mut transcript) = (Framer::default(), Transcript::new());
    framer.push(part);
    framer.finish();
    drain(&mut framer, &mut transcript);
    let mut again = Framer::at(DEFAULT_MAX_LINE, transcript.applied(), 1);
    again.push(whole);
    drain(&mut again, &mut transcript);
    end(again, transcript)
}

fn drain(framer: &mut Framer, transcript: &mut Transcript) {
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            transcript.apply(&item, Meta { at_ms: 0 });
        }
    }
}

/// Ends the stream and returns the transcript without its statistics, which are at its end.
fn end(mut framer: Framer, mut transcript: Transcript) -> String {
    framer.finish();
    drain(&mut framer, &mut transcript);
    transcript.end(End::Recording, Meta { at_ms: 0 });
    let mut json = transcript.to_json();
    json.truncate(json.rfind("\"stats\":").unwrap_or(json.len()));
    json
}

/// What both texts are from their first difference on.
fn difference(found: &str, expected: &str) -> String {
    let same = found.bytes().zip(expected.bytes());
    let same = same.take_while(|(one, other)| one == other).count();
    let excerpt = |text: &str| -> String {
        let from = text.floor_char_boundary(same.saturating_sub(40));
        text.get(from..)
            .unwrap_or_default()
            .chars()
            .take(160)
            .collect()
    };
    format!("found {}, expected {}", excerpt(found), excerpt(expected))
}
