//! Format of a shell's answer: a marker, the variables, each terminated by NUL, and another marker.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;

use uuid::Uuid;

/// The opening and the closing marker. They differ, because some shells keep the last argument of
/// the last command in a variable, which is then part of the answer.
#[derive(Clone, Debug)]
pub(super) struct Marks {
    pub(super) open: String,
    pub(super) close: String,
}

impl Marks {
    pub(super) fn random() -> Self {
        let mark = || Uuid::new_v4().simple().to_string();
        Self {
            open: mark(),
            close: mark(),
        }
    }
}

/// Maximum length of an answer in bytes: twice what execve(2) accepts by default on Linux.
pub(super) const MAX_ANSWER_BYTES: usize = 4 << 20;

/// The part of the answer that was received so far. Bytes before the opening marker are dropped.
#[derive(Debug)]
pub(super) struct Dump {
    marks: Marks,
    is_open: bool,
    kept: Vec<u8>,
}

impl Dump {
    pub(super) fn new(marks: Marks) -> Self {
        Self {
            marks,
            is_open: false,
            kept: Vec::new(),
        }
    }

    /// Appends bytes, and returns the answer once both markers were received.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Option<&[u8]> {
        let (open, close) = (self.marks.open.as_bytes(), self.marks.close.as_bytes());
        // The bytes searched before may end in a part of a marker.
        let half = open.len().max(close.len()).saturating_sub(1);
        let mut looked = self.kept.len().saturating_sub(half);
        self.kept.extend_from_slice(bytes);
        if !self.is_open {
            let Some(at) = find(&self.kept, open, looked) else {
                self.kept.drain(..self.kept.len().saturating_sub(half));
                return None;
            };
            self.kept.drain(..at + open.len());
            (self.is_open, looked) = (true, 0);
        }
        let end = find(&self.kept, close, looked)?;
        self.kept.get(..end)
    }

    /// Returns whether the length limit is exceeded.
    pub(super) fn is_too_long(&self) -> bool {
        self.kept.len() > MAX_ANSWER_BYTES
    }
}

fn find(text: &[u8], mark: &[u8], from: usize) -> Option<usize> {
    let mut windows = text.get(from..)?.windows(mark.len());
    windows
        .position(|window| window == mark)
        .map(|at| from + at)
}

/// Parses the variables; `None` if this is not the output of env(1).
pub(super) fn variables(answer: &[u8]) -> Option<BTreeMap<OsString, OsString>> {
    let answer = answer.strip_suffix(b"\0")?;
    answer.split(|byte| *byte == 0).map(variable).collect()
}

fn variable(line: &[u8]) -> Option<(OsString, OsString)> {
    // A name may begin with `=`: some systems reserve such variables.
    let equals = line.iter().skip(1).position(|byte| *byte == b'=')? + 1;
    let (name, value) = line.split_at_checked(equals)?;
    let value = value.get(1..)?;
    Some((
        OsStr::from_bytes(name).into(),
        OsStr::from_bytes(value).into(),
    ))
}

/// Reads output of a shell, whose markers are `MARK` and `STOP`, in pieces of a length that the first byte selects.
///
/// # Errors
///
/// Returns the violated invariant: the answer is what is between the first markers, and each variable is in it.
#[cfg(feature = "fuzz")]
pub fn fuzz_login(data: &[u8]) -> Result<(), String> {
    let Some((length, output)) = data.split_first() else {
        return Ok(());
    };
    let [open, close] = ["MARK", "STOP"].map(str::to_owned);
    let mut dump = Dump::new(Marks { open, close });
    let mut pieces = output.chunks(usize::from(length % 16) + 1);
    let answer = pieces.find_map(|piece| dump.push(piece).map(<[u8]>::to_vec));
    let expected = find(output, b"MARK", 0).and_then(|at| {
        let rest = output.get(at + 4..)?;
        rest.get(..find(rest, b"STOP", 0)?)
    });
    if answer.as_deref() != expected {
        return Err(format!("{answer:?} is {expected:?}"));
    }
    let answer = answer.unwrap_or_default();
    for (name, value) in variables(&answer).unwrap_or_default() {
        let line = [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat();
        if name.is_empty() || find(&answer, &line, 0).is_none() {
            return Err(format!(
                "{name:?} is no variable of {}",
                answer.escape_ascii()
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dump() -> Dump {
        Dump::new(Marks {
            open: "MARK".into(),
            close: "STOP".into(),
        })
    }

    #[test]
    fn answer_is_between_markers() {
        let mut dump = dump();
        for part in ["junk MA", "RKA=1\0B=two\nlines\0_=MARK\0STO"] {
            assert_eq!(dump.push(part.as_bytes()), None);
        }
        let variables = variables(dump.push(b"P rest").unwrap()).unwrap();
        let expected = [("A", "1"), ("B", "two\nlines"), ("_", "MARK")];
        let expected = expected.map(|(name, value)| (name.into(), value.into()));
        assert_eq!(variables, BTreeMap::from(expected));
    }

    #[test]
    fn split_answer_is_read_and_prefix_dropped() {
        let text = b"MAR MAMARKA=1\0STOSTOP";
        for cut in 0..text.len() {
            let mut dump = dump();
            let (first, second) = text.split_at(cut);
            assert_eq!(dump.push(first), None);
            assert_eq!(dump.push(second), Some(&b"A=1\0STO"[..]), "{cut}");
        }
        let mut dump = dump();
        for _ in 0..100 {
            assert_eq!(dump.push(&[b'M'; 1000]), None);
        }
        assert_eq!(dump.kept.len(), 3);
    }

    #[test]
    fn malformed_answer_is_rejected() {
        for odd in ["", "A=1", "A=1\0B\0", "\0", "A=1\0\0", "=\0"] {
            assert_eq!(variables(odd.as_bytes()), None, "{odd:?}");
        }
        let odd = variables(b"BASH_FUNC_f%%=() { echo =; }\0A==\0").unwrap();
        assert_eq!(odd[OsStr::new("A")], "=");
        assert_eq!(odd.len(), 2);
    }
}
