//! What a login shell prints of its environment.

use super::whole;
use crate::guided::Target;

/// The first byte selects the length of the pieces in which the rest is read.
pub(super) static LOGIN: Target = Target {
    name: "login",
    what: "the answer is what is between the markers, in any pieces, and each variable is in it",
    longest: 200,
    seeds: || Ok(SEEDS.map(<[u8]>::to_vec).to_vec()),
    dictionary: &[
        b"MARK", b"STOP", b"\0", b"=", b"MAR", b"STO", b"\n", b"\xff",
    ],
    repair: whole,
    check: || Ok(Box::new(bowline_process::fuzz::login)),
};

const SEEDS: [&[u8]; 4] = [
    b"\x00motd\nMARKA=1\0B=two\nlines\0_=MARK\0STOP",
    b"\x03MARKBASH_FUNC_f%%=() { echo =; }\0=C=\0STOPrest",
    b"\x07MARMARKSTSTOP",
    b"\x01MARKA\0STOP",
];
