//! Takes out of a terminal's output what must not be carried out twice.
//!
//! A replay is read by a terminal that was not there. Questions would be answered once more, into a
//! program that has its answer long since; a clipboard would be set again; an image would be drawn
//! over a screen that is another by now; a frame would be begun that never ends.

use super::query::query;
use super::sequence::{Csi, Osc, Sequence, is_drawing};
use super::splitter::{SequenceKind, SequenceSplitter, Token};

/// Longest string of DCS, APC and PM that is passed on, in bytes (terminal notes, section 3.2).
const LONGEST_STRING: usize = 4 << 10;

/// Longest OSC that is passed on: a link of 2,083 bytes and its parameters, and most titles.
const LONGEST_COMMAND: usize = 4 << 10;

/// Cleans output that is shown again. Feed it chunks of any size; what it gives out never ends within
/// a sequence.
#[derive(Clone, Debug, Default)]
pub struct ReplayFilter {
    splitter: SequenceSplitter,
}

impl ReplayFilter {
    /// Appends to `out` what is left of some output.
    pub fn feed(&mut self, bytes: &[u8], out: &mut Vec<u8>) {
        self.splitter.feed(bytes, |token| pass(token, out));
    }

    /// What is left of the sequence in which the output has ended so far: what comes live goes on
    /// from there.
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

fn pass(token: Token<'_>, out: &mut Vec<u8>) {
    match token {
        // ENQ asks for the answerback message.
        Token::Text(text) => out.extend(text.iter().filter(|byte| **byte != 0x05)),
        Token::Sequence(kind, bytes) if is_harmless(kind, bytes) => {
            out.extend(bytes);
            // What ended it may be left out: then what follows would go on with it.
            if kind.is_string() && !matches!(bytes, [.., 0x07 | 0x18 | 0x1a] | [.., 0x1b, b'\\']) {
                out.extend(b"\x1b\\");
            }
        }
        Token::Sequence(..) | Token::Skipped => {}
        // Carried out in part, for the controls inside.
        Token::Broken(bytes) => out.extend(bytes.iter().filter(|byte| is_control(**byte))),
    }
}

fn is_control(byte: u8) -> bool {
    matches!(byte, 0x07..=0x0f)
}

/// Whether a sequence does the same when it is carried out again.
fn is_harmless(kind: SequenceKind, bytes: &[u8]) -> bool {
    // Something inside of the introducer, which hides what it is: nobody writes such things.
    if !matches!(bytes.get(1), Some(0x20..=0x7e)) {
        return false;
    }
    let Some(sequence) = Sequence::read(kind, bytes) else {
        // A question with a control inside is one even so, and nobody writes other such things.
        return kind == SequenceKind::Csi && is_drawing(bytes);
    };
    let does_more = match &sequence {
        Sequence::Escape(_) => false,
        Sequence::Csi(csi, _) => is_frame(csi),
        // Terminals pass over controls inside: what is a question without them is one.
        Sequence::Osc(osc, _) => {
            bytes.len() > LONGEST_COMMAND
                || has_side_effect(osc)
                || osc.text.iter().any(u8::is_ascii_control)
        }
        Sequence::Dcs(_) | Sequence::Other(_) => bytes.len() > LONGEST_STRING,
    };
    !does_more && query(&sequence).is_none()
}

/// Clipboards, notifications, files: what was meant for that one moment. OSC 9 is a notification, but
/// for `9;4`: progress.
fn has_side_effect(osc: &Osc<'_>) -> bool {
    let is_notice = osc.number == 9 && !osc.text.starts_with(b"4;");
    is_notice || matches!(osc.number, 52 | 99 | 777 | 1337 | 5522)
}

/// Synchronised output: `CSI ? 2026 h` and `l`.
fn is_frame(csi: &Csi<'_>) -> bool {
    matches!(csi.command(), (b'?', b"", b'h' | b'l')) && csi.params().any(|it| it == Some(2026))
}
