//! Runner, shim, host, hook and agent in one binary that logs at the most verbose level, for the
//! test that searches the logs for secrets.

use std::process::ExitCode;

use bowline_tests::secrets::{self, Words};

fn main() -> ExitCode {
    if secrets::log_everything().is_err() {
        return ExitCode::from(3);
    }
    if let Some(code) = bowline_transport::run_guard() {
        return code;
    }
    let words: Vec<_> = std::env::args_os().skip(1).collect();
    let Some((word, rest)) = words.split_first() else {
        return ExitCode::from(2);
    };
    let rest = rest.iter().cloned();
    match word.to_str() {
        Some(Words::RUNNER) => secrets::serve(),
        Some(Words::SHIM) => bowline_runner::run_shim(),
        Some(Words::HOST) => secrets::host(),
        Some(Words::AGENT) => understudy::run(rest),
        Some(Words::HOOK) => match bowline_hooks::post_hook(rest) {
            Ok(()) => ExitCode::SUCCESS,
            Err(_) => ExitCode::FAILURE,
        },
        _ => ExitCode::from(2),
    }
}
