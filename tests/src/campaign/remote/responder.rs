//! A child whose output is a function of its input, so that its output shows whether every byte
//! arrived once and in order in both directions.

use std::io::{self, BufRead as _, Write as _};
use std::process::ExitCode;

use sha2::{Digest as _, Sha256};

use super::super::Random;

/// Reads lines and answers each. Argument: seed.
pub(in crate::campaign) const MODE: &str = "--responder";

/// The line that ends it.
pub(super) const LAST: &str = "last\n";

/// Maximum length of a record, in bytes.
const RECORD: u64 = 1_000;

/// The output as a function of the input.
#[derive(Debug)]
pub(super) struct Responder {
    random: Random,
    hash: Sha256,
    lines: u64,
    records: u64,
    is_over: bool,
}

impl Responder {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            random: Random::new(seed),
            hash: Sha256::new(),
            lines: 0,
            records: 0,
            is_over: false,
        }
    }

    /// Returns the answer to a line: the hash of all lines so far, and numbered records of random
    /// bytes.
    pub(super) fn respond(&mut self, line: &[u8]) -> Vec<u8> {
        self.lines += 1;
        self.hash.update(line);
        let hash = hex(&self.hash.clone().finalize());
        let mut answer = format!("echo {} {hash}\n", self.lines).into_bytes();
        // Now and then more than a link can buffer.
        let records = match self.random.below(64) {
            0 => self.random.below(120),
            _ => self.random.below(6),
        };
        for _ in 0..records {
            self.records += 1;
            let length = self.random.below(RECORD) as usize;
            let noise = hex(&self.random.bytes(length / 2));
            answer.extend_from_slice(format!("record {} {noise}\n", self.records).as_bytes());
        }
        self.is_over = line == LAST.as_bytes();
        answer
    }

    /// The exit code.
    pub(super) fn code(&mut self) -> i32 {
        (self.random.below(200) + 1) as i32
    }
}

fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]));
    digits.collect()
}

/// Runs the child.
pub(in crate::campaign) fn run(seed: u64) -> ExitCode {
    let mut responder = Responder::new(seed);
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    let mut line = Vec::new();
    while !responder.is_over {
        line.clear();
        let read = input.read_until(b'\n', &mut line);
        if !read.is_ok_and(|count| count > 0) {
            return ExitCode::from(250);
        }
        let written = output.write_all(&responder.respond(&line));
        if written.and_then(|()| output.flush()).is_err() {
            return ExitCode::from(251);
        }
    }
    ExitCode::from(responder.code() as u8)
}
