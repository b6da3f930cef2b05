//! Prints the name, a tab and the transcript as one line of JSON for each recording given as argument:
//! in schema 2, and in schema 1 with `#1` after the name. It folds without the exported API: the tests of the
//! bindings compare with it.

use std::fs::File;
use std::io::{BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

use bowline_lifecycle::jsonl::Framer;
use bowline_lifecycle::reducer::{End, Meta, Schema};
use bowline_recording::RecordedTranscript;
use flate2::bufread::MultiGzDecoder;

type Failure = Box<dyn std::error::Error>;

/// A recording has no arrival times.
const NO_TIME: Meta = Meta { at_ms: 0 };

fn main() -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let name = path.display();
        let recorded = fold(&path)?;
        let transcript = recorded.transcript();
        writeln!(out, "{name}\t{}", transcript.json(Schema::Two))?;
        writeln!(out, "{name}#1\t{}", transcript.json(Schema::One))?;
    }
    Ok(())
}

fn fold(path: &Path) -> Result<RecordedTranscript, Failure> {
    let mut framer = Framer::default();
    framer.push(read(path)?.into());
    framer.finish();
    let mut recorded = RecordedTranscript::new(None);
    while let Some(frame) = framer.next_frame() {
        frame
            .items()
            .for_each(|item| recorded.apply(&item, NO_TIME));
    }
    recorded.transcript_mut().end(End::Recording, NO_TIME);
    Ok(recorded)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let mut file = BufReader::new(File::open(path)?);
    if path.extension().is_some_and(|it| it == "gz") {
        MultiGzDecoder::new(file).read_to_end(&mut bytes)?;
    } else {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}
