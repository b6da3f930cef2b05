//! A guard or a shim; or, as `runner <directory> <number> <script>`, a program that starts so many
//! sessions and waits to be killed. The shims of `killed-runner` kill it before they reply.

use std::io::Write as _;
use std::process::ExitCode;

use bowline_runner::wire::SessionKind;
use bowline_runner::{SessionSpec, ShimProgram, StateDir, run_shim, spawn_shim};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Signal, getppid, kill_process};
use rustix::stdio::stdin;

fn main() -> ExitCode {
    if let Some(code) = bowline_transport::run_guard() {
        return code;
    }
    let words: Vec<String> = std::env::args().collect();
    match &words[1..] {
        [mode, folder, number, script] if mode == "runner" => start("shim", folder, number, script),
        [mode, folder, number, script] if mode == "killed-runner" => {
            start("killing-shim", folder, number, script)
        }
        [mode] if mode == "killing-shim" => {
            kill_runner();
            run_shim()
        }
        _ => run_shim(),
    }
}

/// Kills the program that started this one, once its request is there.
fn kill_runner() {
    let mut request = [PollFd::from_borrowed_fd(stdin(), PollFlags::IN)];
    poll(&mut request, None).expect("a request");
    let runner = getppid().expect("a parent");
    kill_process(runner, Signal::KILL).expect("it runs");
}

#[tokio::main(flavor = "current_thread")]
async fn start(shim: &str, folder: &str, number: &str, script: &str) -> ExitCode {
    let program = ShimProgram {
        path: std::env::current_exe().expect("the path of this program"),
        args: vec![shim.into()],
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
