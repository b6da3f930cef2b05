//! The understudy as a binary of this package, so that its tests can refer to it.

use std::process::ExitCode;

fn main() -> ExitCode {
    understudy::run(std::env::args_os().skip(1))
}
