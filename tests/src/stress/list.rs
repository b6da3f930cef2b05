//! The campaign table of `cargo stress --list`.

use std::fmt::Write as _;

use crate::campaign::{ALL, Campaign};

/// Explains runs in parts and with servers.
const PARTS: &str = "\
A long run in parts of 90 minutes, until the printed count is the wanted one:
  cargo stress cuts --count 100000 --minutes 90 --resume cuts.json
A part ends after the batch during which its time is over, and an interrupted batch is repeated. A
campaign whose count is a size, or that covers every case, is a single batch of less than an hour:
overlap, scaling, slow-client, idle-sessions, damaged-journal, full-disk, runner-sessions, fleet-wiped,
fleet-partition.

The campaigns of a fleet need NATS servers: .ci/nats cargo stress fleet

";

/// Formats what follows the options in the help.
pub(super) fn after_help() -> String {
    format!("{PARTS}{}", list())
}

/// Formats one line for each campaign.
pub(super) fn list() -> String {
    let mut text = String::from("campaign             ci   stress  violation\n");
    for Campaign {
        name,
        what,
        ci_count,
        stress_count,
        ..
    } in ALL
    {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name:16} {ci_count:6} {stress_count:8}  {what}");
    }
    text
}
