//! `--play`: a recorded stream on stdout, byte for byte.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::clock;

/// Lines a second at speed 1, where a stream carries no timestamps.
const STEADY: f64 = 50.0;

/// The longest pause that a recording's timestamps may ask for, at speed 1.
const LONGEST: Duration = Duration::from_secs(5);

/// Plays `path`; `speed` paces it. Stdin is read and ignored meanwhile.
pub(crate) fn play(path: &Path, speed: Option<f64>) -> io::Result<()> {
    thread::spawn(|| io::copy(&mut io::stdin().lock(), &mut io::sink()));
    let mut source = open(path)?;
    let mut stdout = io::stdout().lock();
    let sent = match speed
        .filter(|speed| *speed > 0.0)
        .map(|speed| speed.max(0.001))
    {
        None => io::copy(&mut source, &mut stdout).map(drop),
        Some(speed) => play_paced(&mut source, &mut stdout, speed),
    };
    // A reader that went away is no failure of ours.
    match sent.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// The file, unpacked if it begins with gzip's magic number (RFC 1952, 2.3.1).
fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file = BufReader::new(File::open(path)?);
    if file.fill_buf()?.starts_with(&[0x1f, 0x8b]) {
        return Ok(Box::new(BufReader::new(
            flate2::bufread::MultiGzDecoder::new(file),
        )));
    }
    Ok(Box::new(file))
}

fn play_paced(source: &mut dyn BufRead, sink: &mut dyn Write, speed: f64) -> io::Result<()> {
    let mut before = None;
    let mut line = Vec::new();
    while source.read_until(b'\n', &mut line)? > 0 {
        let at = timestamp(&line);
        let pause = match (before, at) {
            (Some(before), Some(at)) => Duration::from_millis(u64::saturating_sub(at, before)),
            _ => Duration::from_secs_f64(1.0 / STEADY),
        };
        thread::sleep(pause.min(LONGEST).div_f64(speed));
        before = at.or(before);
        sink.write_all(&line)?;
        sink.flush()?;
        line.clear();
    }
    Ok(())
}

/// Milliseconds of the line's own `timestamp`, if it has one.
fn timestamp(line: &[u8]) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    clock::parse(value.get("timestamp")?.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paced_stream_is_the_same_bytes() {
        let text = b"{\"a\":1}\nnot json\n{\"timestamp\":\"2026-11-21T20:23:30.639Z\"}\ntail";
        let mut sink = Vec::new();
        play_paced(&mut &text[..], &mut sink, 1e6).unwrap();
        assert_eq!(sink, text);
    }
}
