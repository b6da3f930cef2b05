//! The text frames of the web terminal.

use super::json::JSON;
use super::whole;
use crate::guided::{Check, Target};

/// Each line is one frame: text, or typed input after a `!`.
pub(super) static PANEL: Target = Target {
    name: "panel",
    what: "for any frame, sizes are in bounds, input is not split, and replies are JSON",
    longest: 400,
    seeds,
    dictionary: &JSON,
    repair: whole,
    check,
};

fn seeds() -> std::io::Result<Vec<Vec<u8>>> {
    let seeds: [&[u8]; 5] = [
        b"{\"type\":\"start\",\"program\":\"claude\",\"args\":[\"-p\"],\"cwd\":\"/\",\"cols\":80,\"rows\":24}\n!ls\r",
        b"{\"type\":\"resize\",\"cols\":120,\"rows\":40}\n{\"type\":\"resize\",\"cols\":0,\"rows\":1001}",
        b"{\"type\":\"ping\",\"ts\":1}\n{\"type\":\"ping\"}\n{\"type\":\"ping\",\"ts\":{\"a\":[null]}}",
        b"{\"type\":\"pong\"}\n{\"type\":\"keepalive\"}\n!\n!\xff\x00",
        b"{\"type\":\"other\"}\nnoise\n[]\n\"\"",
    ];
    Ok(seeds.map(<[u8]>::to_vec).to_vec())
}

fn check() -> Result<Check, String> {
    Ok(Box::new(bowline_runner::fuzz::web_terminal))
}
