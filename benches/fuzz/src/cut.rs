//! Chunks of a stream.

use bytes::Bytes;

use crate::random::Random;

/// One chunk, and how it reaches the framer.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) bytes: Bytes,
    /// Whether it is read into the framer's buffer or pushed.
    pub(crate) is_read: bool,
}

/// Returns the whole stream in memory of exactly its length, so that a sanitizer detects each read
/// past its end.
pub(crate) fn whole(stream: &[u8]) -> Vec<Piece> {
    vec![exact(stream, false)]
}

/// Splits the stream: some chunks of any length, or many of the same.
pub(crate) fn pieces(stream: &[u8], random: &mut Random) -> Vec<Piece> {
    let same = 1 + random.below(100);
    let few = random.below(2) == 0;
    let (mut pieces, mut rest) = (Vec::new(), stream);
    while !rest.is_empty() {
        let length = if few {
            1 + random.below(rest.len())
        } else {
            same
        };
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(exact(piece, random.below(2) == 0));
        rest = after;
    }
    pieces
}

fn exact(bytes: &[u8], is_read: bool) -> Piece {
    let bytes = Bytes::from(bytes.to_vec().into_boxed_slice());
    Piece { bytes, is_read }
}
