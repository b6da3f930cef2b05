//! What is recorded of a screen beside its output.

use super::whole;
use crate::guided::Target;

pub(super) static SCREEN_RECORD: Target = Target {
    name: "screen-record",
    what: "a record of a screen is written as it was read, or refused",
    longest: 80,
    seeds: || {
        let head = |length: u32| [&[0; 16][..], &[1; 8], &length.to_le_bytes()].concat();
        let with_state = [head(5), b"state".to_vec()].concat();
        Ok(vec![head(u32::MAX), head(0), with_state])
    },
    dictionary: &[&[0xff; 4], &[0xff; 8], &[0; 4], &[1, 0, 0, 0]],
    repair: whole,
    check: || Ok(Box::new(bowline_runner::fuzz::screen_record)),
};
