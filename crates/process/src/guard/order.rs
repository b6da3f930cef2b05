//! The message that starts a guard's work: little-endian numbers, and strings prefixed with their
//! length.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use bytes::{Buf, BufMut as _};

/// Task of a guard: to start a program, and to kill its process tree when the host is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Order {
    pub(crate) program: Program,
    /// Whether stdin becomes the controlling terminal.
    pub(crate) tty: bool,
    /// Directory of the control group to start the program in.
    pub(crate) group: Option<PathBuf>,
}

/// Arguments of execve(2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    /// Begins with `argv[0]`.
    pub(crate) args: Vec<OsString>,
    pub(crate) env: BTreeMap<OsString, OsString>,
}

impl Order {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let program = &self.program;
        out.put_u8(u8::from(self.tty));
        put_all(&mut out, self.group.iter().map(|group| group.as_os_str()));
        put(&mut out, program.path.as_os_str());
        put_all(&mut out, program.args.iter().map(AsRef::as_ref));
        let env = program.env.iter().flat_map(|(name, value)| [name, value]);
        put_all(&mut out, env.map(AsRef::as_ref));
        out
    }

    /// Returns `None` if the bytes are not a complete order.
    pub(crate) fn decode(mut from: &[u8]) -> Option<Self> {
        Some(Self {
            tty: from.try_get_u8().ok()? != 0,
            group: get_all(&mut from)?.pop().map(PathBuf::from),
            program: Program {
                path: get(&mut from)?.into(),
                args: get_all(&mut from)?,
                env: pairs(get_all(&mut from)?),
            },
        })
    }
}

fn pairs(strings: Vec<OsString>) -> BTreeMap<OsString, OsString> {
    let mut strings = strings.into_iter();
    std::iter::from_fn(|| strings.next().zip(strings.next())).collect()
}

fn put(out: &mut Vec<u8>, string: &OsStr) {
    out.put_u32_le(u32::try_from(string.len()).unwrap_or(u32::MAX));
    out.put_slice(string.as_bytes());
}

fn put_all<'a>(out: &mut Vec<u8>, strings: impl Iterator<Item = &'a OsStr>) {
    let strings: Vec<_> = strings.collect();
    out.put_u32_le(u32::try_from(strings.len()).unwrap_or(u32::MAX));
    strings.into_iter().for_each(|string| put(out, string));
}

fn get(from: &mut &[u8]) -> Option<OsString> {
    let length = from.try_get_u32_le().ok()? as usize;
    let string = from.get(..length)?;
    let string = OsString::from_vec(string.to_vec());
    from.advance(length);
    Some(string)
}

fn get_all(from: &mut &[u8]) -> Option<Vec<OsString>> {
    let count = from.try_get_u32_le().ok()?;
    (0..count).map(|_| get(from)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_round_trip_and_truncated_orders_are_rejected() {
        let odd = OsString::from_vec(vec![0xff, b'\n', b'=']);
        let program = Program {
            path: "/bin/a b".into(),
            args: vec!["a b".into(), OsString::new(), odd.clone()],
            env: BTreeMap::from([("A".into(), "multi\nline".into()), ("B".into(), odd)]),
        };
        let plain = Order {
            program,
            tty: true,
            group: None,
        };
        let grouped = Order {
            tty: false,
            group: Some("/sys/x".into()),
            ..plain.clone()
        };
        for order in [plain, grouped] {
            let sent = order.encode();
            assert_eq!(Order::decode(&sent), Some(order));
            for cut in 0..sent.len() {
                assert_eq!(Order::decode(&sent[..cut]), None);
            }
        }
    }
}
