//! The campaign table of `cargo stress --list`.

use std::fmt::Write as _;

use crate::campaign::{ALL, Campaign};

/// Formats one line for each campaign.
pub(super) fn list() -> String {
    let mut text = String::from("campaign          tests   stress  violation\n");
    for Campaign {
        name,
        what,
        test_count,
        stress_count,
        ..
    } in ALL
    {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:16} {test_count:6} {stress_count:8}  {what}");
    }
    text
}
