//! The children: this program in a hidden mode.

use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

/// Argument for a child that writes this many bytes.
pub(super) const FLOOD: &str = "--flood";
/// Argument for a child that echoes each byte.
pub(super) const ECHO: &str = "--echo";

/// Bytes of one write: the default capacity of a pipe (pipe(7)).
const WRITE_BYTES: usize = 64 * 1024;

/// Runs a hidden mode. Returns `None` if the arguments name none.
pub fn run(args: &[String]) -> Option<ExitCode> {
    let done = match args.first()?.as_str() {
        FLOOD => flood(args.get(1)?.parse().ok()?),
        ECHO => echo(),
        _ => return None,
    };
    Some(done.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS))
}

fn flood(count: usize) -> io::Result<()> {
    let block = vec![b'x'; WRITE_BYTES];
    let mut out = io::stdout().lock();
    let mut left = count;
    while left > 0 {
        let part = left.min(block.len());
        out.write_all(&block[..part])?;
        left -= part;
    }
    out.flush()
}

fn echo() -> io::Result<()> {
    let (mut input, mut out) = (io::stdin().lock(), io::stdout().lock());
    out.write_all(b"!")?;
    out.flush()?;
    let mut key = [0];
    while input.read(&mut key)? > 0 {
        out.write_all(&key)?;
        out.flush()?;
    }
    Ok(())
}

pub(super) fn own() -> io::Result<PathBuf> {
    std::env::current_exe()
}
