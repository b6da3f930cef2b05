//! A guard or a shim; or, as `runner <directory> <number> <script>`, a program that starts so many
//! sessions and waits to be killed.

use std::io::Write as _;
use std::process::ExitCode;

use bowline_runner::wire::SessionKind;
use bowline_runner::{SessionSpec, ShimProgram, StateDir, run_shim, spawn_shim};

fn main() -> ExitCode {
    if let Some(code) = bowline_transport::run_guard() {
        return code;
    }
    let words: Vec<String> = std::env::args().collect();
    match &words[1..] {
        [mode, folder, number, script] if mode == "runner" => start(folder, number, script),
        _ => run_shim(),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn start(folder: &str, number: &str, script: &str) -> ExitCode {
    let program = ShimProgram {
        path: std::env::current_exe().expect("the path of this program"),
        args: vec!["shim".into()],
    };
    let state = StateDir::at(folder).expect("the directory is private");
    for _ in 0..number.parse().expect("a number of sessions") {
        let mut spec = SessionSpec::new(SessionKind::Dialogue, "/bin/sh");
        spec.args = vec!["-c".into(), script.into()];
        let started = spawn_shim(&program, &state, spec).await;
        let started = started.expect("the shell starts");
        let mut out = std::io::stdout().lock();
        writeln!(out, "{}", started.id).expect("a reader");
    }
    std::future::pending().await
}
