//! `--play`: prints a recording byte for byte.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::clock;

/// Lines per second at speed 1, for lines without timestamps.
const LINES_PER_SECOND: f64 = 50.0;

/// Longest pause between two timestamps, at speed 1.
const MAX_PAUSE: Duration = Duration::from_secs(5);

/// Prints the recording at `path`, at once or at this speed. Reads and discards stdin meanwhile.
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
    // A closed pipe is no error.
    match sent.and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        _ => Ok(()),
    }
}

/// Opens a file; decompresses it if it starts with gzip's magic number (RFC 1952, section 2.3.1).
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
            _ => Duration::from_secs_f64(1.0 / LINES_PER_SECOND),
        };
        thread::sleep(pause.min(MAX_PAUSE).div_f64(speed));
        before = at.or(before);
        sink.write_all(&line)?;
        sink.flush()?;
        line.clear();
    }
    Ok(())
}

/// Returns the `timestamp` of a line, in milliseconds since the Unix epoch.
fn timestamp(line: &[u8]) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_slice(line).ok()?;
    clock::parse(value.get("timestamp")?.as_str()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paced_recording_is_unchanged() {
        let text = b"{\"a\":1}\nnot json\n{\"timestamp\":\"2026-11-21T20:23:30.639Z\"}\ntail";
        let mut sink = Vec::new();
        play_paced(&mut &text[..], &mut sink, 1e6).unwrap();
        assert_eq!(sink, text);
    }
}
