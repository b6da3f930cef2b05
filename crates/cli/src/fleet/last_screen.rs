//! The last screen of a terminal whose output was copied, as lines of text.

use bowline_lifecycle::journal::{Body, Record};
use bowline_lifecycle::{StreamId, WindowSize};
use bowline_runner::{OutputToken, SequenceKind, SequenceSplitter, SessionScreen};

/// Resets colors and attributes (SGR).
const RESET: &[u8] = b"\x1b[m";

/// Lays the output of a terminal out on a screen of a size, and returns the rows, each with its end of line, from the
/// first one that the model keeps to the last one that has text. With `colors`, colors and attributes are kept; what
/// moves the cursor or changes modes never is, so that no terminal is left in another state.
pub(super) fn last_screen(records: &[Record], size: WindowSize, colors: bool) -> Vec<u8> {
    let mut screen = SessionScreen::new(size);
    for record in records.iter().filter(|it| it.stream == StreamId::TTY) {
        if let Body::Bytes(bytes) = &record.body {
            screen.feed(record.offset, bytes);
        }
    }
    // The model holds back a character that may still be combined with the next one; a sequence ends that.
    screen.feed(screen.end(), RESET);
    let (mut rows, mut end) = (Vec::new(), 0);
    SequenceSplitter::default().feed(&screen.snapshot().bytes, |token| match token {
        OutputToken::Text(text) => {
            let is_shown = |it: &&u8| !it.is_ascii_control() || **it == b'\n';
            rows.extend(text.iter().filter(is_shown));
            end = if text.trim_ascii().iter().any(|it| !it.is_ascii_control()) {
                rows.trim_ascii_end().len()
            } else {
                end
            };
        }
        OutputToken::Sequence(SequenceKind::Csi, sequence) if colors && is_sgr(sequence) => {
            rows.extend(sequence);
        }
        _ => {}
    });
    rows.truncate(end);
    if colors {
        rows.extend(RESET);
    }
    rows.push(b'\n');
    rows
}

/// Returns whether a sequence sets colors or attributes; the others that end in `m` set modes (`>4;0m`).
fn is_sgr(sequence: &[u8]) -> bool {
    let parameters = sequence
        .strip_prefix(b"\x1b[")
        .and_then(|it| it.strip_suffix(b"m"));
    let is_parameter = |it: &u8| it.is_ascii_digit() || matches!(it, b';' | b':');
    parameters.is_some_and(|it| it.iter().all(is_parameter))
}

#[cfg(test)]
mod tests {
    use bowline_lifecycle::journal::Arrival;

    use super::*;

    fn screen(output: &[&'static str], colors: bool) -> String {
        let mut offset = 0;
        let records: Vec<_> = output
            .iter()
            .map(|text| {
                let at = offset;
                offset += text.len() as u64;
                Record {
                    stream: StreamId::TTY,
                    offset: at,
                    arrival: Arrival::default(),
                    body: Body::Bytes(text.as_bytes().into()),
                }
            })
            .collect();
        let rows = last_screen(&records, WindowSize::new(5, 20), colors);
        String::from_utf8(rows).unwrap()
    }

    #[test]
    fn last_screen_has_what_was_drawn_last() {
        let output = ["old\r\n\x1b[31mred", "\x1b[m\x1b[2J\x1b[Hnew\x1b[3;4Hmoved"];
        let rows = screen(&output, false);
        assert_eq!(rows, "new\n\n   moved\n");
    }

    #[test]
    fn full_screen_program_leaves_no_mode() {
        let output = ["\x1b[?1049h\x1b[?1000h\x1b[?25l\x1b[Hmenu \x1b[1mbold"];
        assert_eq!(screen(&output, false), "menu bold\n");
        let colored = screen(&output, true);
        assert!(colored.ends_with("menu \x1b[1mbold\x1b[m\n"), "{colored:?}");
        assert!(
            !colored.contains("\x1b[?") && !colored.contains("\x1b[>"),
            "{colored:?}"
        );
    }
}
