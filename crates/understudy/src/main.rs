//! The `understudy` command.
use std::process::ExitCode;

fn main() -> ExitCode {
    understudy::run(std::env::args_os().skip(1))
}
