//! What campaigns there are, for people.

use std::fmt::Write as _;

use crate::campaign::{ALL, Campaign};

/// A line for each campaign.
pub(super) fn list() -> String {
    let mut text = String::from("campaign          tests   stress  a violation is that\n");
    for Campaign {
        name,
        what,
        first,
        second,
        ..
    } in ALL
    {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:16} {first:6} {second:8}  {what}");
    }
    text
}
