// The observable result of parsing a stream. Included once per build of the parser, which the
// including module names `jsonl`.

use std::fmt::{self, Write};

use jsonl::{Framer, Item, JsonKind, RawJson};

use crate::cut::Piece;

/// Writes everything that a caller can observe.
pub(crate) fn see(pieces: &[Piece], out: &mut impl Write) -> fmt::Result {
    each(pieces, |item| notice(&item, out))
}

/// Calls `check` for every line.
pub(crate) fn each(
    pieces: &[Piece],
    mut check: impl FnMut(Item<'_>) -> fmt::Result,
) -> fmt::Result {
    let mut framer = Framer::default();
    for piece in pieces {
        give(&mut framer, piece);
        drain(&mut framer, &mut check)?;
    }
    framer.finish();
    drain(&mut framer, &mut check)
}

fn give(framer: &mut Framer, piece: &Piece) {
    let length = piece.bytes.len();
    if piece.is_read
        && let Some(room) = framer.room(length).and_then(|room| room.get_mut(..length))
    {
        room.copy_from_slice(&piece.bytes);
        return framer.filled(length);
    }
    framer.push(piece.bytes.clone());
}

fn drain(framer: &mut Framer, check: &mut impl FnMut(Item<'_>) -> fmt::Result) -> fmt::Result {
    while let Some(frame) = framer.next_frame() {
        for item in frame.items() {
            check(item)?;
        }
    }
    Ok(())
}

fn notice(item: &Item<'_>, out: &mut impl Write) -> fmt::Result {
    // The end mark of a truncated last line is reported with it, wherever the chunks end.
    write!(out, "\n{:?} {} ", item.at, item.raw.len())?;
    match &item.event {
        Ok(event) => {
            write!(out, "{event:?} ")?;
            let mut half = None;
            value(event.raw, &mut half, out)?;
            let mut lossy = String::new();
            event.raw.write_lossy(&mut lossy);
            out.write_str(&lossy)
        }
        Err(error) => write!(out, "{error:?} {error}"),
    }
}

/// Writes every value of a tree, decoded in every way.
fn value(raw: RawJson<'_>, half: &mut Option<u16>, out: &mut impl Write) -> fmt::Result {
    match raw.kind() {
        JsonKind::Object => {
            for (key, member) in raw.members() {
                write!(out, "{} ", key.decode())?;
                value(member, half, out)?;
            }
        }
        JsonKind::Array => {
            for element in raw.elements() {
                value(element, half, out)?;
            }
        }
        JsonKind::String => {
            if let Some(text) = raw.as_str() {
                let mut joined = String::new();
                text.decode_joining(&mut joined, half);
                write!(out, "{} {joined} {half:?} ", text.decode())?;
            }
        }
        _ => {
            let float = raw.as_f64().map(f64::to_bits);
            write!(out, "{} {float:?} {:?} ", raw.text(), raw.as_u64())?;
        }
    }
    out.write_char(';')
}
