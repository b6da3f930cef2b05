//! Cursors of event streams and of lists, which clients send back.

use super::whole;
use crate::guided::Target;

pub(super) static CURSOR: Target = Target {
    name: "cursor",
    what: "a text is the cursor of one event stream at most, and is read again as it is written",
    longest: 80,
    seeds: || Ok(SEEDS.map(<[u8]>::to_vec).to_vec()),
    dictionary: &[
        b"s-",
        b"a-",
        b"-",
        b"ffffffffffffffff",
        b"0",
        b"1",
        b"+",
        b"\xc3\xa9",
    ],
    repair: whole,
    check: || Ok(Box::new(bowline_runner::fuzz::cursor)),
};

const SEEDS: [&[u8]; 6] = [
    b"s-ffffffffffffffff-7-0",
    b"s-1-0-1",
    b"a-3-9-18d2c0a5e00",
    b"a-0-0-0",
    b"7",
    b"18d2c0a5e00-00000000-0000-4000-8000-000000000000",
];
