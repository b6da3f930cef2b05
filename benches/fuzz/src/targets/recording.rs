//! Recordings of any form, as `replay` and `inspect` read them.

use std::collections::VecDeque;
use std::io::{self, Cursor, Read, Write as _};

use bowline_lifecycle::journal::Merged;
use bowline_lifecycle::{Piece, StreamId};
use bowline_recording::{
    Bundle, RecordedTranscript, RecordingSource, Redaction, Redactor, Secrets, meta,
};
use bowline_reducer::{End, Meta};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

use super::reducer::json;
use super::sealed::{header, mend_segment, record};
use super::{pieces, rpc, same};
use crate::guided::Target;
use crate::shipped::jsonl::Framer;

/// Values of the first byte: the form that the rest is put into.
const PLAIN: u8 = b'p';
const JOURNAL: u8 = b'j';
const GZIP: u8 = b'z';
const BUNDLE: u8 = b'b';

/// The first byte selects the form, the second one how the recording is cut.
pub(super) static RECORDING: Target = Target {
    name: "recording",
    what: "a recording does not depend on how it is cut, and a bundle of it has the same bytes and transcript",
    longest: 1_500,
    seeds,
    dictionary: &TOKENS,
    repair,
    check: || Ok(Box::new(check)),
};

const TOKENS: [&[u8]; 24] = [
    b"\n",
    b"{}",
    b"null",
    b"\0",
    b"\x1f\x8b",
    b"bowline-bundle.json",
    b"session.bjl",
    b"{\"t\":1.5,\"dir\":\"agent>\",\"msg\":",
    b"{\"t\":-1e9,\"dir\":\"host>\",\"msg\":",
    b"\"dir\":\"driver\",",
    b"\"jsonrpc\":\"2.0\",",
    b"\"method\":\"session/update\",",
    b"\"method\":\"thread/started\",",
    b"{\"type\":\"system\",\"subtype\":\"init\"}\n",
    b"{\"type\":\"thread.started\"}\n",
    b"{\"type\":\"step_start\"}\n",
    b"{\"type\":\"init\",\"session_id\":\"s\"}\n",
    b"{\"type\":\"result\",\"subtype\":\"success\"}\n",
    b"password=",
    b"\"api_key\":\"",
    b"\xff",
    b"\xc3",
    b"\xef\xbb\xbf",
    b"\x1b[?25h",
];

fn seeds() -> io::Result<Vec<Vec<u8>>> {
    let with = |kind: u8, rest: &[u8]| [&[kind, 0x35], rest].concat();
    let lines = b"{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"s\"}\n{\"type\":\"assistant\",\"uuid\":\"u\",\"message\":{\"id\":\"m\",\"content\":[{\"type\":\"text\",\"text\":\"a\"}]}}\nnoise\n";
    let mut journal = header(2, &[(1, 0), (2, 0), (5, 0)]);
    journal.extend(record(5, 2, 0, b"{\"type\":\"user\"}\n"));
    journal.extend(record(1, 0, 0, lines));
    journal.extend(record(
        1,
        1,
        400,
        &[&900_u64.to_le_bytes()[..], b"lost"].concat(),
    ));
    journal.extend(record(2, 0, 0, b"password=hunter2hunter2\n"));
    let mut seeds = vec![
        with(PLAIN, lines),
        with(GZIP, lines),
        with(JOURNAL, &journal),
        with(PLAIN, &archived("session.jsonl", lines)?),
        with(BUNDLE, lines),
        with(PLAIN, b""),
    ];
    for message in rpc::seeds(&["acp.", "app-server."])?.iter().step_by(8) {
        let traced = [
            b"{\"t\":1.5,\"dir\":\"agent>\",\"msg\":",
            &message[..],
            b"}\n",
        ]
        .concat();
        seeds.push(with(PLAIN, &traced));
    }
    Ok(seeds)
}

fn repair(input: &mut [u8]) {
    if let Some((&mut JOURNAL, rest)) = input.split_first_mut() {
        mend_segment(rest.get_mut(1..).unwrap_or_default());
    }
}

fn check(input: &[u8]) -> Result<(), String> {
    let [kind, pattern, rest @ ..] = input else {
        return Ok(());
    };
    let failed = |error: io::Error| error.to_string();
    let recording = match *kind {
        GZIP => gzip(rest).map_err(failed)?,
        BUNDLE => {
            let entry = if pattern & 1 == 0 {
                "session.jsonl"
            } else {
                "session.bjl"
            };
            archived(entry, rest).map_err(failed)?
        }
        _ => rest.to_vec(),
    };
    let once = Recording::read(whole(&recording));
    let again = Recording::read(Pieces::of(&recording, *pattern));
    same("in pieces", &again, &once)?;
    // A bundle takes some hundred times as long.
    match once {
        Some(once) if pattern % 16 == 5 && once.error.is_none() && !once.has_two_outputs => {
            bundled(&recording, &once)
        }
        _ => Ok(()),
    }
}

fn whole(recording: &[u8]) -> Cursor<Vec<u8>> {
    Cursor::new(recording.to_vec())
}

/// What is read of a recording.
#[derive(Debug, PartialEq)]
struct Recording {
    output: Vec<u8>,
    /// Where the output has gaps.
    gaps: Vec<u64>,
    stderr: Vec<u8>,
    transcript: Value,
    error: Option<String>,
    /// Whether it has both a terminal and standard output, as no session does: the order of the two is not kept.
    has_two_outputs: bool,
}

impl Recording {
    /// Reads a recording to its end, or to what cannot be read; `None` if it cannot be opened.
    fn read(raw: impl Read + Send + 'static) -> Option<Self> {
        let mut source = RecordingSource::from_reader(raw).ok()?;
        source.keep_stderr();
        let (mut framer, mut recorded) = (Framer::default(), RecordedTranscript::new(None));
        let (mut output, mut gaps) = (Vec::new(), Vec::new());
        let mut stderr = Vec::new();
        let error = loop {
            match source.next_piece() {
                Ok(None) => break None,
                Err(error) => break Some(error.to_string()),
                Ok(Some(Merged::Output(arrived))) => {
                    let at = meta(arrived.arrival);
                    match arrived.piece {
                        Piece::Bytes { bytes, .. } => {
                            output.extend_from_slice(&bytes);
                            framer.push(bytes);
                        }
                        Piece::Gap { to, .. } => {
                            gaps.push(to);
                            framer.skip_to(to);
                        }
                    }
                    drain(&mut framer, &mut recorded, at);
                }
                Ok(Some(_)) => {}
            }
        };
        while let Ok(more) = source.take_stderr()
            && !more.is_empty()
        {
            for arrived in more {
                if let Piece::Bytes { bytes, .. } = arrived.piece {
                    stderr.extend_from_slice(&bytes);
                }
            }
        }
        framer.finish();
        drain(&mut framer, &mut recorded, Meta::default());
        let streams = source.journal().ok().flatten().map(|it| it.streams);
        let outputs = [StreamId::TTY, StreamId::STDOUT];
        let has_two_outputs =
            streams.is_some_and(|it| outputs.iter().all(|id| it.contains_key(id)));
        recorded
            .transcript_mut()
            .end(End::Recording, Meta::default());
        Some(Self {
            output,
            gaps,
            stderr,
            transcript: json(recorded.transcript()).ok()?,
            error,
            has_two_outputs,
        })
    }
}

fn drain(framer: &mut Framer, recorded: &mut RecordedTranscript, at: Meta) {
    while let Some(frame) = framer.next_frame() {
        frame.items().for_each(|item| recorded.apply(&item, at));
    }
}

/// Bundles a recording, and reads the bundle.
fn bundled(recording: &[u8], once: &Recording) -> Result<(), String> {
    let source =
        RecordingSource::from_reader(whole(recording)).map_err(|error| error.to_string())?;
    let Ok(streams) = source.into_streams() else {
        return Ok(());
    };
    let redactor = Redactor::new(Redaction::Secrets, Secrets::default());
    let mut bundle = Vec::new();
    let written = Bundle::new(streams).write(&redactor, &mut bundle);
    written.map_err(|error| error.to_string())?;
    let read = Recording::read(whole(&bundle)).ok_or("a bundle cannot be opened")?;
    let lengths = |it: &Recording| (it.output.len(), it.gaps.clone(), it.stderr.len());
    same("a bundle's", &lengths(&read), &lengths(once))
}

fn gzip(bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(bytes)?;
    gzip.finish()
}

/// Returns an archive with the entries of a bundle.
fn archived(entry: &str, session: &[u8]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, content) in [("bowline-bundle.json", &b"{}"[..]), (entry, session)] {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        archive.append_data(&mut header, name, content)?;
    }
    archive.into_inner()
}

/// A stream that is read in pieces.
struct Pieces(VecDeque<Vec<u8>>);

impl Pieces {
    fn of(bytes: &[u8], pattern: u8) -> Self {
        Self(pieces(bytes, pattern).map(<[u8]>::to_vec).collect())
    }
}

impl Read for Pieces {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(mut piece) = self.0.pop_front() else {
            return Ok(0);
        };
        let length = piece.len().min(into.len());
        let rest = piece.split_off(length);
        into[..length].copy_from_slice(&piece);
        if !rest.is_empty() {
            self.0.push_front(rest);
        }
        Ok(length)
    }
}
