//! Prints the file name, a tab and the transcript as one line of JSON for each recording given as
//! argument. It uses the parser and the reducer alone: the tests of the bindings compare with it.

use std::fs::File;
use std::io::{BufReader, Read, Write as _};
use std::path::{Path, PathBuf};

use bowline_lifecycle::jsonl::Framer;
use bowline_lifecycle::reducer::{End, Meta, Transcript};
use flate2::bufread::MultiGzDecoder;

type Failure = Box<dyn std::error::Error>;

/// A recording has no arrival times.
const NO_TIME: Meta = Meta { at_ms: 0 };

fn main() -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    for path in std::env::args_os().skip(1).map(PathBuf::from) {
        let name = path.file_name().unwrap_or_default().display();
        writeln!(out, "{name}\t{}", transcript(&path)?)?;
    }
    Ok(())
}

fn transcript(path: &Path) -> Result<String, Failure> {
    let mut framer = Framer::default();
    framer.push(read(path)?.into());
    framer.finish();
    let mut transcript = Transcript::new();
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            transcript.apply(&item, NO_TIME);
        }
    }
    transcript.end(End::Recording, NO_TIME);
    Ok(transcript.to_json())
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
