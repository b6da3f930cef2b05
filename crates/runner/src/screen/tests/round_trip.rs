//! Handoff of a screen to another [`SessionScreen`], for state that the other terminal does not
//! model.

use super::features::FEATURES;
use super::{DIRT, SIZE};
use crate::screen::SessionScreen;

/// Output that uses features that few terminals have.
const MORE: [(&str, &[u8]); 13] = [
    (
        "margins",
        b"\x1b[?69h\x1b[5;20s\x1b[2;6r\x1b[3;6Hwords that wrap at a margin\x1b[2;2H",
    ),
    ("reverse video", b"\x1b[?5hlight"),
    ("reverse wrap", b"\x1b[?45htext"),
    (
        "colour scheme reports",
        b"\x1b[?2031h\x1b[?2048h\x1b[?1007l",
    ),
    ("modified keys", b"\x1b[>4;2m\x1b[>1;3mkeys"),
    (
        "keyboard flags",
        b"\x1b[=5u\x1b[>1u\x1b[=2;2u\x1b[?1049h\x1b[>8ualt\x1b[?1049lmain",
    ),
    ("working directory", b"\x1b]7;file://host/some/path\x1b\\$ "),
    (
        "prompt marks",
        b"\x1b]133;A\x07$ \x1b]133;B\x07ls\r\n\x1b]133;C\x07",
    ),
    ("progress", b"\x1b]9;4;1;40\x07working"),
    (
        "icon names",
        b"\x1b]1;icon\x07\x1b]2;window\x07\x1b[22;1t\x1b]1;other\x07",
    ),
    (
        "titles in titles",
        b"\x1b]0;a\x07\x1b[22t\x1b]0;b\x07\x1b[22t\x1b]0;c\x07\x1b[23t",
    ),
    // Found by `cargo fuzz screen`: the engine keeps this character, and the snapshot had lost it.
    ("a title with DEL", b"\x1b]0;a\x7fb\x07"),
    (
        "blinking",
        b"\x1b[5mslow\x1b[6mfast\x1b[25;53mover\x1b[51mframe\x1b[?12l",
    ),
];

/// Returns the snapshot of a screen that was handed off after `cut` bytes.
fn handed_off(output: &[u8], cut: usize) -> Vec<u8> {
    let mut first = SessionScreen::new(SIZE);
    first.feed(0, &output[..cut]);
    let snapshot = first.snapshot();
    let rest = &output[snapshot.at_offset as usize..];
    let mut second = SessionScreen::new(SIZE);
    second.feed(0, &[DIRT, &snapshot.bytes, rest].concat());
    second.snapshot().bytes.to_vec()
}

/// A tab stop in the first column has no effect.
fn text(snapshot: &[u8]) -> String {
    String::from_utf8_lossy(snapshot).replace("\x1b[J\x1b[H\x1bH", "\x1b[J")
}

#[test]
fn snapshot_of_a_handed_off_screen_is_the_same() {
    for (feature, output) in FEATURES.iter().chain(&MORE) {
        // Completes the character that is held back.
        let output = [output, b".\r".as_slice()].concat();
        // A handoff of an empty screen.
        let wanted = handed_off(&output, 0);
        for cut in 1..=output.len() {
            let snapshot = handed_off(&output, cut);
            assert_eq!(text(&snapshot), text(&wanted), "{feature} at {cut}");
        }
    }
}
