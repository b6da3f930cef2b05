//! Screens: a snapshot reproduces the screen.

use bowline_runner::SessionScreen;
use bowline_transport::WindowSize;

use super::lines::{OUTPUT, output};
use super::{pieces, same, whole};
use crate::guided::{Check, Target};

/// Small, so that the edges are reached soon.
const SIZE: WindowSize = WindowSize::new(5, 16);

/// The first byte selects how the rest, output, is split.
pub(super) static SCREEN: Target = Target {
    name: "screen",
    what: "a screen does not depend on chunk sizes, and equals the one made from its snapshot",
    longest: 200,
    seeds: output,
    dictionary: &OUTPUT,
    repair: whole,
    check,
};

fn check() -> Result<Check, String> {
    Ok(Box::new(|input| {
        let Some((pattern, output)) = input.split_first() else {
            return Ok(());
        };
        let mut screen = shown([output])?;
        let snapshot = screen.snapshot();
        let cut = shown(pieces(output, *pattern))?.snapshot();
        same("in pieces", &cut, &snapshot)?;
        if snapshot.at_offset > output.len() as u64 {
            return Err("the offset of the snapshot is past the end of the output".to_owned());
        }
        same("looked at twice", &screen.snapshot(), &snapshot)?;
        handed_over(&snapshot.bytes)
    }))
}

/// Checks that a screen made from a snapshot has the same snapshot.
fn handed_over(snapshot: &[u8]) -> Result<(), String> {
    let second = shown([snapshot])?.snapshot().bytes;
    let third = shown([&*second])?.snapshot().bytes;
    let [second, third] = [second, third].map(|it| it.escape_ascii().to_string());
    same("handed over twice", &third, &second)
}

fn shown<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Result<SessionScreen, String> {
    let mut screen = SessionScreen::new(SIZE);
    for piece in pieces {
        screen.feed(screen.end(), piece);
    }
    match screen.faults() {
        0 => Ok(screen),
        faults => Err(format!("the engine failed {faults} times")),
    }
}
