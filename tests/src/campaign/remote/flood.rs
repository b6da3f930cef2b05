//! A child that writes as much as requested; every byte is a function of its offset.

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

/// Reads lines that contain a number of lines to write, and writes these as fast as they are
/// consumed.
pub(in crate::campaign) const MODE: &str = "--flood";

/// Length of every line: a colour, its number, padding, the line end.
pub(super) const LINE: usize = 64;

/// Number of lines written at once.
const BATCH: u64 = 256;

/// Returns line `number` of the flood.
pub(super) fn line(number: u64) -> [u8; LINE] {
    let colour = number % 8;
    let letter = char::from(b'a' + (number % 26) as u8);
    let filling: String = std::iter::repeat_n(letter, 38).collect();
    let mut line = [b' '; LINE];
    let head = format!("\x1b[3{colour}m{number:012} {filling}");
    let length = head.len().min(LINE - 5);
    line[..length].copy_from_slice(&head.as_bytes()[..length]);
    line[LINE - 5..].copy_from_slice(b"\x1b[m\r\n");
    line
}

/// Returns the bytes of a range of the flood.
pub(super) fn bytes(from: u64, length: usize) -> Vec<u8> {
    let first = from / LINE as u64;
    let skip = (from % LINE as u64) as usize;
    let count = (skip + length).div_ceil(LINE) as u64;
    let mut bytes: Vec<u8> = (first..first + count).flat_map(line).collect();
    bytes.drain(..skip);
    bytes.truncate(length);
    bytes
}

/// Runs the child.
pub(in crate::campaign) fn run() -> ExitCode {
    let (input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut next = 0;
    for wanted in input.lines() {
        let wanted = wanted.ok().and_then(|it| it.trim().parse::<u64>().ok());
        let Some(mut left) = wanted else {
            return ExitCode::FAILURE;
        };
        while left > 0 {
            let now = left.min(BATCH);
            let part: Vec<u8> = (next..next + now).flat_map(line).collect();
            if output
                .write_all(&part)
                .and_then(|()| output.flush())
                .is_err()
            {
                return ExitCode::FAILURE;
            }
            next += now;
            left -= now;
        }
    }
    ExitCode::SUCCESS
}
