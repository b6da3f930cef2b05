//! Removes from a replay what must not be executed twice.
//!
//! A terminal that receives a replay would reply again to queries that were replied to long ago,
//! set the clipboard again, draw an image over another screen, or begin a synchronised update that
//! never ends.

use super::query::query;
use super::sequence::{Csi, Osc, Sequence, is_drawing};
use super::splitter::{OutputToken, SequenceKind, SequenceSplitter};

/// Maximal bytes of a DCS, APC or PM string that is passed on.
const MAX_STRING_BYTES: usize = 4 << 10;

/// Maximal bytes of an OSC that is passed on: a link of 2,083 bytes with its parameters, and most
/// titles.
const MAX_OSC_BYTES: usize = 4 << 10;

/// Filters replayed output. Accepts chunks of any size; its output never ends within a sequence.
#[derive(Clone, Debug, Default)]
pub struct ReplayFilter {
    splitter: SequenceSplitter,
}

impl ReplayFilter {
    /// Filters output and appends it to `out`.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.splitter.feed(bytes, |token| pass(token, out));
    }

    /// Returns the filtered beginning of the incomplete sequence at the end of the input, which
    /// live output continues.
    #[must_use]
    pub fn rest(&self) -> Vec<u8> {
        let Some(string) = self.splitter.half_ended() else {
            return self.splitter.held().to_vec();
        };
        let mut out = Vec::new();
        pass(string, &mut out);
        out.push(0x1b);
        out
    }
}

fn pass(token: OutputToken<'_>, out: &mut Vec<u8>) {
    match token {
        // ENQ requests the answerback message.
        OutputToken::Text(text) => out.extend(text.iter().filter(|byte| **byte != 0x05)),
        OutputToken::Sequence(kind, bytes) if is_idempotent(kind, bytes) => {
            out.extend(bytes);
            // The terminator may be removed; the string would continue with what follows.
            if kind.is_string() && !matches!(bytes, [.., 0x07 | 0x18 | 0x1a] | [.., 0x1b, b'\\']) {
                out.extend(b"\x1b\\");
            }
        }
        OutputToken::Sequence(..) | OutputToken::Skipped => {}
        // Terminals execute the C0 controls of an aborted sequence.
        OutputToken::Aborted(bytes) => out.extend(bytes.iter().filter(|byte| is_control(**byte))),
    }
}

fn is_control(byte: u8) -> bool {
    matches!(byte, 0x07..=0x0f)
}

/// Returns whether executing a sequence again has no further effect.
fn is_idempotent(kind: SequenceKind, bytes: &[u8]) -> bool {
    // A control within the introducer hides the sequence's kind; no program writes that.
    if !matches!(bytes.get(1), Some(0x20..=0x7e)) {
        return false;
    }
    let Some(sequence) = Sequence::read(kind, bytes) else {
        // A query with a control inside is still one; no program writes such sequences otherwise.
        return kind == SequenceKind::Csi && is_drawing(bytes);
    };
    let has_effect = match &sequence {
        Sequence::Escape(_) => false,
        Sequence::Csi(csi, _) => is_synchronized_update(csi),
        // Terminals ignore controls inside, so that a query may be recognised only without them.
        Sequence::Osc(osc, _) => {
            bytes.len() > MAX_OSC_BYTES
                || has_side_effect(osc)
                || osc.text.iter().any(u8::is_ascii_control)
        }
        Sequence::Dcs(_) | Sequence::Other(_) => bytes.len() > MAX_STRING_BYTES,
    };
    !has_effect && query(&sequence).is_none()
}

/// Clipboards, notifications and file transfers. OSC 9 is a notification except for `9;4`,
/// progress.
fn has_side_effect(osc: &Osc<'_>) -> bool {
    let is_notice = osc.number == 9 && !osc.text.starts_with(b"4;");
    is_notice || matches!(osc.number, 52 | 99 | 777 | 1337 | 5522)
}

/// Synchronised output (`CSI ? 2026 h` and `l`).
fn is_synchronized_update(csi: &Csi<'_>) -> bool {
    matches!(csi.command(), (b'?', b"", b'h' | b'l')) && csi.params().any(|it| it == Some(2026))
}
