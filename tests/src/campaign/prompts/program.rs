//! The program that prompts are typed into; it prints `got LENGTH SUM` for its input.

use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::process::{Command, ExitCode};

/// Hidden mode; its argument is the kind of input.
pub(in crate::campaign) const MODE: &str = "--take-prompts";

const PASTE_BEGIN: &[u8] = b"\x1b[200~";
const PASTE_END_AND_ENTER: &[u8] = b"\x1b[201~\r";

/// Kind of input that the program reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Bracketed pastes followed by Enter.
    Paste,
    /// Keys, up to Enter.
    Keys,
    /// Lines of a cooked terminal.
    Lines,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Paste => "paste",
            Self::Keys => "keys",
            Self::Lines => "lines",
        }
    }
}

/// Length and checksum (FNV-1a, 64 bits) of a stream.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sum {
    length: usize,
    hash: u64,
}

impl Default for Sum {
    fn default() -> Self {
        Self {
            length: 0,
            hash: 0xcbf2_9ce4_8422_2325,
        }
    }
}

impl Sum {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        self.length += bytes.len();
        for byte in bytes {
            self.hash = (self.hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "got {} {:016x}", self.length, self.hash)
    }
}

/// Parses the length from a line of the program's output.
pub(super) fn length(line: &str) -> Option<usize> {
    line.strip_prefix("got ")?.split(' ').next()?.parse().ok()
}

pub(in crate::campaign) fn run(kind: &str) -> ExitCode {
    let done = match kind {
        "paste" => set_terminal(&["raw", "-echo"]).and_then(|()| paste()),
        "keys" => set_terminal(&["raw", "-echo"]).and_then(|()| keys()),
        _ => set_terminal(&["-echo"]).and_then(|()| lines()),
    };
    done.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS)
}

fn set_terminal(settings: &[&str]) -> io::Result<()> {
    let status = Command::new("stty").args(settings).status()?;
    if status.success() {
        Ok(())
    } else {
        Err(io::Error::other("stty"))
    }
}

fn paste() -> io::Result<()> {
    print("\x1b[?2004h")?;
    print("ready\r\n")?;
    let mut held = Vec::new();
    while read(&mut held)? > 0 {
        if let Some(text) = held
            .strip_prefix(PASTE_BEGIN)
            .and_then(|text| text.strip_suffix(PASTE_END_AND_ENTER))
        {
            report(text)?;
            held.clear();
        }
    }
    Ok(())
}

fn keys() -> io::Result<()> {
    print("ready\r\n")?;
    let mut held = Vec::new();
    while read(&mut held)? > 0 {
        if let Some(text) = held.strip_suffix(b"\r") {
            report(text)?;
            held.clear();
        }
    }
    Ok(())
}

fn lines() -> io::Result<()> {
    print("ready\n")?;
    let (mut sum, mut line) = (Sum::default(), Vec::new());
    while read(&mut line)? > 0 {
        sum.add(&line);
        line.clear();
        print(&format!("{sum}\n"))?;
    }
    Ok(())
}

fn report(text: &[u8]) -> io::Result<()> {
    let mut sum = Sum::default();
    sum.add(text);
    print(&format!("{sum}\r\n"))
}

fn print(text: &str) -> io::Result<()> {
    let mut output = io::stdout().lock();
    output.write_all(text.as_bytes())?;
    output.flush()
}

fn read(held: &mut Vec<u8>) -> io::Result<usize> {
    let mut buffer = [0; 65_536];
    let count = io::stdin().lock().read(&mut buffer)?;
    held.extend(buffer.iter().take(count));
    Ok(count)
}
