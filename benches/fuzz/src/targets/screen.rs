//! Screens: what is put down of one makes another.

use bowline_runner::SessionScreen;
use bowline_transport::WindowSize;

use super::lines::{OUTPUT, output};
use super::{pieces, same, whole};
use crate::guided::{Look, Target};

/// Small, so that every corner is reached soon.
const SIZE: WindowSize = WindowSize::new(5, 16);

/// The first byte says how the rest, output, is cut, and where it is handed over.
pub(super) static SCREEN: Target = Target {
    name: "screen",
    what: "a screen is the same however its output is cut, and is what its own snapshot makes",
    longest: 200,
    seeds: output,
    words: &OUTPUT,
    mend: whole,
    look,
};

fn look() -> Result<Look, String> {
    Ok(Box::new(|input| {
        let Some((pattern, output)) = input.split_first() else {
            return Ok(());
        };
        let mut screen = shown([output])?;
        let snapshot = screen.snapshot();
        let cut = shown(pieces(output, *pattern))?.snapshot();
        same("in pieces", &cut, &snapshot)?;
        if snapshot.at_offset > output.len() as u64 {
            return Err("it stands for more than there is".to_owned());
        }
        same("looked at twice", &screen.snapshot(), &snapshot)?;
        handed_over(&snapshot.bytes)
    }))
}

/// What a snapshot makes tells the same again, and again.
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
