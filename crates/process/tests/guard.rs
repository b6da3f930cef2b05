//! The guard ends a session when its host is killed: the same cases on every system. This program is the
//! test, the host that is killed, and the guard.

#![expect(unsafe_code, reason = "fork(2) has no safe form")]
#![expect(clippy::print_stdout, reason = "this test has no harness")]

use std::fs::File;
use std::io::{BufReader, Read as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use bowline_process::{Configuration, Containment, LocalProcess, SessionId, run_guard};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};

/// First argument of a host: it runs a script with a guard, and the path of a FIFO.
const HOST: &str = "--host";

/// First argument of a host that has a copy of itself with all of its descriptors.
const COPIED_HOST: &str = "--copied-host";

/// Scripts of agents. Each reports on stderr, a FIFO that all of its processes keep open, when all of them
/// run.
const AGENTS: [(&str, &str); 4] = [
    ("one process", "echo up >&2; exec sleep 1000"),
    (
        "descendant in a session of its own",
        r#"perl -e 'use POSIX; setsid; print STDERR "up\n"; sleep 1000' & wait"#,
    ),
    (
        "orphan in a session of its own",
        r#"(perl -e 'use POSIX; setsid; print STDERR "up\n"; sleep 1000' &); exec sleep 1000"#,
    ),
    // Its parent lives longer than the guard's interval between two looks.
    (
        "orphan without environment",
        r#"env -i perl -e 'use POSIX; if (fork) { select undef, undef, undef, 0.3; exit }
           setsid; 1 while getppid != 1 && time - $^T < 1; print STDERR "up\n"; sleep 1000'; exec sleep 1000"#,
    ),
];

/// Time limit for the end of all processes of a session.
const LIMIT: Timespec = Timespec {
    tv_sec: 60,
    tv_nsec: 0,
};

fn main() -> ExitCode {
    if let Some(code) = run_guard() {
        return code;
    }
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [_, HOST, script, fifo] => host(script, fifo, false),
        [_, COPIED_HOST, script, fifo] => host(script, fifo, true),
        _ => test(),
    }
}

/// Runs an agent until this process is killed.
#[tokio::main(flavor = "current_thread")]
async fn host(script: &str, fifo: &str, is_copied: bool) -> ExitCode {
    let mut what = Configuration::new("/bin/sh");
    let script = format!(r#"exec 2>"$1"; {script}"#);
    what.args = ["-c", &script, "agent", fifo].map(Into::into).into();
    // The guard alone, without a control group.
    what.containment = Some(Containment::Subreaper);
    what.guard = std::env::current_exe().ok();
    let (_process, _readers) = LocalProcess::start(SessionId::random(), &what).expect("it starts");
    // SAFETY: this process has one thread, and the copy only writes its pid and waits.
    if is_copied && unsafe { libc::fork() } == 0 {
        println!("{}", std::process::id());
        loop {
            std::thread::park();
        }
    }
    std::future::pending().await
}

fn test() -> ExitCode {
    for (name, script) in AGENTS {
        println!("{name}");
        ends_with_its_host(HOST, script);
    }
    println!("copy of the host with the link open");
    ends_with_its_host(COPIED_HOST, AGENTS[0].1);
    ExitCode::SUCCESS
}

fn ends_with_its_host(kind: &str, script: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let fifo = folder.path().join("fifo");
    let made = Command::new("mkfifo").arg(&fifo).status();
    assert!(made.expect("mkfifo runs").success());
    let this = std::env::current_exe().expect("this program");
    let mut host = Command::new(this)
        .args([kind, script])
        .arg(&fifo)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a host");
    let mut agent = opened(&fifo);
    assert_eq!(line(&mut agent), "up");
    let mut copy = host.stdout.take().map(BufReader::new).expect("its output");
    let copy = (kind == COPIED_HOST).then(|| line(&mut copy));
    host.kill().expect("it runs");
    host.wait().expect("it ends");
    let has_ended = ends(&mut agent);
    if let Some(copy) = copy.and_then(|pid| Pid::from_raw(pid.parse().ok()?)) {
        kill_process(copy, Signal::KILL).expect("it runs");
    }
    assert!(has_ended, "a process survives its host");
}

/// Opens the FIFO once the agent has opened it.
fn opened(fifo: &Path) -> BufReader<File> {
    BufReader::new(File::open(fifo).expect("the agent opens it"))
}

fn line(from: &mut impl std::io::BufRead) -> String {
    let mut line = String::new();
    from.read_line(&mut line).expect("a line");
    line.trim().to_owned()
}

/// Returns whether every process that has the FIFO open ends within [`LIMIT`].
fn ends(agent: &mut BufReader<File>) -> bool {
    let mut polled = [PollFd::new(agent.get_ref(), PollFlags::IN)];
    let is_ready = poll(&mut polled, Some(&LIMIT)).is_ok_and(|ready| ready > 0);
    is_ready && matches!(agent.read(&mut [0; 64]), Ok(0))
}
