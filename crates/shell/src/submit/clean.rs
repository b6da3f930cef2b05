//! Removes characters from a prompt that a terminal or a program would execute.

use super::Stripped;

/// The marks of bracketed paste, with CSI as `ESC [` and as C1.
const MARKS: [&str; 4] = ["\x1b[200~", "\x1b[201~", "\u{9b}200~", "\u{9b}201~"];

/// Returns the prompt without paste marks and without C0 and C1 controls except newline and tab; a
/// carriage return becomes a newline. Invalid UTF-8 is kept, except for 8-bit C1 controls.
pub(super) fn clean(prompt: &[u8]) -> (Vec<u8>, Stripped) {
    let (mut text, mut stripped) = (Vec::with_capacity(prompt.len()), Stripped::default());
    for chunk in prompt.utf8_chunks() {
        clean_text(chunk.valid(), &mut text, &mut stripped);
        for byte in chunk.invalid() {
            if (0x80..=0x9f).contains(byte) {
                stripped.controls += 1;
            } else {
                text.push(*byte);
            }
        }
    }
    (text, stripped)
}

fn clean_text(mut rest: &str, text: &mut Vec<u8>, stripped: &mut Stripped) {
    while let Some(at) = rest.find(is_unwanted) {
        let (plain, after) = rest.split_at(at);
        text.extend_from_slice(plain.as_bytes());
        rest = if let Some(after) = MARKS.iter().find_map(|mark| after.strip_prefix(mark)) {
            stripped.paste_marks += 1;
            after
        } else if let Some(after) = after.strip_prefix('\r') {
            stripped.carriage_returns += 1;
            text.push(b'\n');
            after.strip_prefix('\n').unwrap_or(after)
        } else {
            stripped.controls += 1;
            let mut characters = after.chars();
            characters.next();
            characters.as_str()
        };
    }
    text.extend_from_slice(rest.as_bytes());
}

fn is_unwanted(character: char) -> bool {
    character.is_control() && !matches!(character, '\n' | '\t')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn paste_marks_and_controls_are_removed_and_counted() {
        let (text, stripped) =
            clean(b"a\x1b[201~b\x1b\xc2\x9b201~\x00c\r\nd\re\n\tf\x7f\xc2\x85\x9bg\xff");
        assert_eq!(text, b"abc\nd\ne\n\tfg\xff");
        assert_eq!(
            stripped,
            Stripped {
                paste_marks: 2,
                controls: 5,
                carriage_returns: 2
            }
        );
    }

    #[test]
    fn plain_text_is_unchanged() {
        let text = "one\ntwo\tthr\u{e9}e \u{1f600} [201~ \u{a0}";
        assert_eq!(
            clean(text.as_bytes()),
            (text.as_bytes().to_vec(), Stripped::default())
        );
    }

    proptest! {
        #[test]
        fn only_controls_and_marks_are_removed(pieces in prop::collection::vec(
            prop_oneof![
                prop::collection::vec(any::<u8>(), 0..5),
                prop::sample::select(vec!["\x1b[201~", "\x1b", "\x1b[20", "\u{9b}201~", "1~", "\r\n"])
                    .prop_map(|piece| piece.as_bytes().to_vec()),
            ], 0..20)
        ) {
            let prompt = pieces.concat();
            let (text, stripped) = clean(&prompt);
            prop_assert!(!String::from_utf8_lossy(&text).chars().any(is_unwanted));
            prop_assert_eq!(clean(&text), (text.clone(), Stripped::default()));
            let kept = |bytes: &[u8]| bytes.iter().filter(|byte| byte.is_ascii_graphic()).count() as u64;
            prop_assert_eq!(kept(&prompt), kept(&text) + stripped.paste_marks * 5 - count_c1_marks(&prompt));
        }
    }

    /// A mark with C1 has one graphic byte less.
    fn count_c1_marks(prompt: &[u8]) -> u64 {
        let text = String::from_utf8_lossy(prompt);
        ["\u{9b}200~", "\u{9b}201~"]
            .iter()
            .map(|mark| text.matches(mark).count() as u64)
            .sum()
    }
}
