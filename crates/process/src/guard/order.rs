//! The message that starts a guard's work: little-endian numbers, and strings prefixed with their
//! length.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::PathBuf;

use bytes::{Buf, BufMut as _};

const WATCH: u8 = b'w';
const START: u8 = b'k';

/// Task of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// Kill the processes in this directory of control groups when the host is gone.
    Watch { nest: PathBuf },
    /// Start a program as its subreaper, and kill its process tree when the host is gone.
    Start { program: Program, tty: bool },
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
        match self {
            Self::Watch { nest } => {
                out.put_u8(WATCH);
                put(&mut out, nest.as_os_str());
            }
            Self::Start { program, tty } => {
                out.put_u8(START);
                out.put_u8(u8::from(*tty));
                put(&mut out, program.path.as_os_str());
                put_all(&mut out, program.args.iter());
                put_all(
                    &mut out,
                    program.env.iter().flat_map(|(name, value)| [name, value]),
                );
            }
        }
        out
    }

    /// Returns `None` if the bytes are not a complete order.
    pub(crate) fn decode(mut from: &[u8]) -> Option<Self> {
        match from.try_get_u8().ok()? {
            WATCH => Some(Self::Watch {
                nest: get(&mut from)?.into(),
            }),
            START => Some(Self::Start {
                tty: from.try_get_u8().ok()? != 0,
                program: Program {
                    path: get(&mut from)?.into(),
                    args: get_all(&mut from)?,
                    env: pairs(get_all(&mut from)?),
                },
            }),
            _ => None,
        }
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

fn put_all<'a>(out: &mut Vec<u8>, strings: impl Iterator<Item = &'a OsString>) {
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
        let start = Order::Start { program, tty: true };
        let watch = Order::Watch {
            nest: "/sys/x".into(),
        };
        for order in [start, watch] {
            let sent = order.encode();
            assert_eq!(Order::decode(&sent), Some(order));
            for cut in 0..sent.len() {
                assert_eq!(Order::decode(&sent[..cut]), None);
            }
        }
    }
}
