//! Changes that were logged some time ago, in a byte or two each.
//!
//! What changes next is of a kind near the last of its kind, nearly always: a change is its kind and
//! the distance, in one byte if that is short.

use super::Kept;

/// Changes of a page.
pub(super) const PAGE: usize = 256;

/// Kinds of records, texts among them.
const KINDS: usize = 10;

/// The distance, doubled for its sign, that is too long for the first byte.
const LONG: u32 = 15;

#[derive(Debug)]
pub(super) struct Page(Box<[u8]>);

impl Page {
    pub(super) fn of(records: impl Iterator<Item = Kept>) -> Self {
        let (mut out, mut last) = (Vec::with_capacity(2 * PAGE), [0; KINDS]);
        for record in records {
            let (kind, from) = record.kind();
            let before = std::mem::replace(&mut last[kind], record.id);
            let distance = record.id.wrapping_sub(before) as i32;
            let distance = (distance << 1 ^ distance >> 31) as u32;
            out.push((kind as u8) << 4 | distance.min(LONG) as u8);
            if distance >= LONG {
                number(&mut out, distance);
            }
            if let Some(from) = from {
                number(&mut out, from);
            }
        }
        Self(out.into_boxed_slice())
    }

    pub(super) fn records(&self) -> impl Iterator<Item = Kept> {
        let (mut bytes, mut last) = (self.0.iter().copied(), [0_u32; KINDS]);
        std::iter::from_fn(move || {
            let head = bytes.next()?;
            let distance = match u32::from(head) & LONG {
                LONG => numbered(&mut bytes),
                short => short,
            };
            let distance = distance >> 1 ^ 0_u32.wrapping_sub(distance & 1);
            let kind = usize::from(head >> 4).min(KINDS - 1);
            last[kind] = last[kind].wrapping_add(distance);
            let record = Kept::of_kind(kind, last[kind], || numbered(&mut bytes));
            Some(record)
        })
    }
}

/// Writes a number, seven bits a byte.
fn number(out: &mut Vec<u8>, mut number: u32) {
    while number >= 1 << 7 {
        out.push(number as u8 | 1 << 7);
        number >>= 7;
    }
    out.push(number as u8);
}

fn numbered(bytes: &mut impl Iterator<Item = u8>) -> u32 {
    let (mut number, mut shift) = (0, 0);
    for byte in bytes {
        number |= u32::from(byte & 0x7f).wrapping_shl(shift);
        shift += 7;
        if byte < 1 << 7 {
            break;
        }
    }
    number
}
