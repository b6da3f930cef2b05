//! A whole transcript, in pieces.

use bowline_reducer::owned::{BlockValue, EntryValue};
use bowline_reducer::{ChangeParts, TranscriptChange};

/// Maximum number of changes of a piece.
const MAX_COUNT: usize = 256;

/// Bytes of text from which on a piece is complete.
const BYTES: usize = 256 << 10;

/// Returns the changes that make a transcript from nothing, in pieces of a bounded size. A piece is made when
/// it is read.
pub(super) fn pieces(mut parts: ChangeParts) -> impl Iterator<Item = Vec<TranscriptChange>> {
    std::iter::from_fn(move || {
        let (mut piece, mut bytes) = (Vec::new(), 0);
        while piece.len() < MAX_COUNT && bytes < BYTES {
            // One by one, since a change may be of any size.
            let Some(changes) = parts.next_part(1) else {
                break;
            };
            for change in changes.iter().map(TranscriptChange::from) {
                bytes += text_bytes(&change);
                piece.push(change);
            }
        }
        (!piece.is_empty()).then_some(piece)
    })
}

/// Number of bytes of what may be long in a change.
fn text_bytes(change: &TranscriptChange) -> usize {
    match change {
        TranscriptChange::Entry {
            value: EntryValue::User { text, .. },
            ..
        }
        | TranscriptChange::Block {
            value: BlockValue::Text { text } | BlockValue::Thinking { text },
            ..
        } => text.len(),
        TranscriptChange::ToolCall { value, .. } => {
            let input = value.input.as_ref().map_or(0, |it| it.get().len());
            let result = value.result.as_ref().map_or(0, |it| it.text.len());
            input + result + value.output.as_ref().map_or(0, String::len)
        }
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use bowline_reducer::{HostEvent, Meta, Transcript};

    use super::*;

    #[test]
    fn large_transcript_comes_in_pieces_of_bounded_size() {
        const PROMPT_BYTES: usize = 10 << 10;
        const PROMPTS: usize = 3_000;
        let mut transcript = Transcript::new();
        let text = "x".repeat(PROMPT_BYTES);
        for _ in 0..PROMPTS {
            let prompt = HostEvent::PromptSent {
                uuid: None,
                text: &text,
            };
            transcript.apply_host(prompt, Meta::default());
        }
        let mut bytes = 0;
        let mut entries = 0;
        for piece in pieces(transcript.change_parts()) {
            let its_bytes: usize = piece.iter().map(text_bytes).sum();
            assert!(its_bytes < BYTES + PROMPT_BYTES, "{its_bytes} bytes");
            assert!(piece.len() <= MAX_COUNT);
            bytes += its_bytes;
            let is_entry = |it: &&TranscriptChange| matches!(it, TranscriptChange::Entry { .. });
            entries += piece.iter().filter(is_entry).count();
        }
        assert_eq!(bytes, PROMPTS * PROMPT_BYTES);
        assert_eq!(entries, PROMPTS);
    }
}
