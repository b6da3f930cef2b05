//! `bowline attach` on a terminal.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Command;

use bowline_transport::ExitStatus;
use rustix::fs::{Mode, OFlags, open};
use rustix::process::Signal;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use crate::screen_model::ScreenCommand;
use crate::socket_proxy::SocketProxy;
use crate::support::BOWLINE;
use crate::terminal::TerminalCommand;
use crate::test_runner::TestRunner;

/// A shell script that echoes its input.
const ECHO: &str = "stty -echo; echo welcome; while read x; do echo \"got $x\"; done";

fn variables(served: &TestRunner) -> Vec<(OsString, OsString)> {
    vec![("BOWLINE_STATE_DIR".into(), served.state().into())]
}

/// Attaches to a session without typing a key.
async fn attach(served: &TestRunner, id: &str, more: &[&str]) -> TerminalCommand {
    let line = [&["attach", id], more].concat();
    let line = line.into_iter().map(str::to_owned).collect();
    let mut command = TerminalCommand::bowline(line, variables(served), None);
    // A snapshot sends the last character of the screen separately.
    command.until("welcom").await;
    command
}

fn proxy(served: &TestRunner) -> SocketProxy {
    SocketProxy::of(&Path::new(&served.state()).join("runner.sock"))
}

#[tokio::test]
async fn attach_ends_with_the_program() {
    let served = TestRunner::start();
    let id = served.shell(ECHO);
    let command = attach(&served, &id, &[]).await;
    served.bowline(&["kill", &id]).ok();
    let (seen, status) = command.finish().await;
    assert!(seen.contains(&format!("{id} has ended: ")), "{seen:?}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn attach_ends_when_another_client_takes_over() {
    let served = TestRunner::start();
    let id = served.shell(ECHO);
    let first = attach(&served, &id, &[]).await;
    let _other = attach(&served, &id, &[]).await;
    let (seen, status) = first.finish().await;
    assert!(seen.contains("is unreachable: another host"), "{seen:?}");
    assert_eq!(status, ExitStatus::Code(1));
}

/// Attaches, cuts the connection, and types a key that waits for it.
async fn disconnected(served: &TestRunner, id: &str, proxy: &SocketProxy) -> TerminalCommand {
    let mut command = attach(served, id, &["--runner", &proxy.url()]).await;
    proxy.close();
    command.until("reconnecting").await;
    command.type_keys("x").await;
    command
}

#[tokio::test]
async fn detach_works_without_connection() {
    let served = TestRunner::start();
    let (id, proxy) = (served.shell(ECHO), proxy(&served));
    let command = disconnected(&served, &id, &proxy).await;
    command.type_keys("\u{1d}").await;
    let (seen, status) = command.finish().await;
    assert!(seen.contains("it keeps running"), "{seen:?}");
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn pending_key_does_not_outlast_its_connection() {
    let served = TestRunner::start();
    let (id, proxy) = (served.shell(ECHO), proxy(&served));
    let command = disconnected(&served, &id, &proxy).await;
    proxy.refuse("401 Unauthorized");
    let (seen, status) = command.finish().await;
    assert!(seen.contains("is unreachable: "), "{seen:?}");
    assert!(
        seen.contains(&format!("bowline attach --runner {} {id}", proxy.url())),
        "{seen:?}"
    );
    assert_eq!(status, ExitStatus::Code(1));
}

#[tokio::test]
async fn keys_before_detach_are_delivered() {
    let served = TestRunner::start();
    let id = served.shell(ECHO);
    let command = attach(&served, &id, &[]).await;
    command.type_keys("one\ntwo\n\u{1d}").await;
    let (seen, status) = command.finish().await;
    assert!(seen.contains("it keeps running"), "{seen:?}");
    assert_eq!(status, ExitStatus::Code(0));
    let mut again = attach(&served, &id, &[]).await;
    again.until("got two").await;
}

#[tokio::test]
async fn paste_that_nobody_reads_does_not_hold_the_detach_key() {
    let served = TestRunner::start();
    let id = served.shell("stty raw -echo; echo welcome; exec sleep 1000");
    let command = attach(&served, &id, &[]).await;
    let paste = "x".repeat(3 << 20);
    command.type_keys(paste + "\u{1d}").await;
    let (seen, status) = command.finish().await;
    assert!(seen.contains("it keeps running"), "{} bytes", seen.len());
    assert_eq!(status, ExitStatus::Code(0));
}

#[tokio::test]
async fn signal_restores_the_terminal() {
    let served = TestRunner::start();
    let id = served.shell(ECHO);
    for signal in [
        Signal::TERM,
        Signal::HUP,
        Signal::INT,
        Signal::QUIT,
        Signal::ABORT,
        Signal::ALARM,
        Signal::USR1,
        Signal::USR2,
    ] {
        let script = format!(
            "trap : TERM HUP INT QUIT ABRT ALRM USR1 USR2; stty -a; '{BOWLINE}' attach {id}; echo left $?; stty -a; echo over"
        );
        let line = vec!["-c".to_owned(), script];
        let mut command = TerminalCommand::program("/bin/sh", line, variables(&served), None);
        command.until("welcom").await;
        command.signal_group(signal);
        let (seen, _) = command.finish().await;
        let (before, after) = seen.split_once("left 130").expect(&seen);
        let settings = |text: &str| {
            let text = text.split_once("speed ").unwrap().1;
            let text = text.split("\r\n").take(9).collect::<Vec<_>>().join(" ");
            ["icanon", "echo", "isig", "opost"].map(|it| text.contains(&format!(" {it} ")))
        };
        assert!(before.contains("it keeps running"), "{signal:?}: {seen:?}");
        assert_eq!(settings(after), settings(before), "{signal:?}: {seen:?}");
    }
}

/// Attaches with a terminal that keeps 10,000 lines.
fn attach_screen(served: &TestRunner, id: &str, more: &[&str], size: (u16, u16)) -> ScreenCommand {
    let line = [&["attach", id], more].concat();
    let line = line.into_iter().map(str::to_owned).collect();
    ScreenCommand::bowline(line, variables(served), None, size)
}

#[tokio::test]
async fn terminal_that_joins_again_has_newest_lines() {
    let served = TestRunner::start();
    let id = served.shell("seq -f 'line %.0f' 1 100000; echo end of lines; stty -echo; cat");
    // With another width than the session, whose size it sets.
    for size in [(60, 30), (80, 24)] {
        let mut command = attach_screen(&served, &id, &[], size);
        let text = command.shows("end of lines").await;
        let lines: Vec<_> = text.lines().collect();
        let first = 100_000 - (usize::from(size.1) - 2) - 10_000 + 1;
        let expected = (first..=100_000).map(|number| format!("line {number}"));
        let expected: Vec<_> = expected.chain(["end of lines".to_owned()]).collect();
        assert!(lines == expected, "{:?} … {:?}", lines[0], lines.last());
        command.keys("\u{1d}").await;
        let (text, status) = command.finish().await;
        assert_eq!(status, ExitStatus::Code(0));
        assert!(text.contains("it keeps running"));
    }
}

#[tokio::test]
async fn read_only_attach_shows_and_sends_nothing() {
    let served = TestRunner::start();
    let id = served.shell(ECHO);
    let mut writer = attach(&served, &id, &[]).await;
    let mut watcher = attach_screen(&served, &id, &["--read-only"], (40, 10));
    watcher.shows("welcome").await;
    watcher.keys("typed by the watcher\n").await;
    watcher.resize(50, 12);
    writer.type_keys("one\n").await;
    writer.until("got one").await;
    let text = watcher.shows("got one").await;
    assert!(!text.contains("watcher"), "{text}");
    watcher.keys("\u{1d}").await;
    let (text, status) = watcher.finish().await;
    assert_eq!(status, ExitStatus::Code(0), "{text}");
    // The writer has kept its lease.
    writer.type_keys("two\n").await;
    writer.until("got two").await;
}

/// Opens a terminal; returns its master side, which nothing reads, and its slave side.
fn open_terminal() -> (File, OwnedFd) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("its owner may use it");
    unlockpt(&master).expect("it is not used yet");
    let name = ptsname(&master, Vec::new()).expect("it has a name");
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
    let slave = open(&*name, flags, Mode::empty()).expect("it is ours");
    (master.into(), slave)
}

#[test]
fn terminal_that_takes_no_output_does_not_hold_the_detach_key() {
    let served = TestRunner::start();
    let id = served.shell("seq 1 10000; exec sleep 1000");
    let path = format!("/api/sessions/{id}");
    served.until(&path, |it| {
        it["streams"]["tty"]["end"].as_u64() > Some(48_000)
    });
    let (mut master, slave) = open_terminal();
    let mut command = Command::new(BOWLINE);
    command
        .args(["attach", &id])
        .envs(variables(&served))
        .stdin(slave.try_clone().unwrap())
        .stdout(slave.try_clone().unwrap())
        .stderr(slave);
    let mut child = command.spawn().unwrap();
    // Closes the slave side of this process.
    drop(command);
    // Attached, and blocked by what is above the screen.
    master.read_exact(&mut [0]).unwrap();
    served.until(&path, |it| it["hosts"] == 1);
    master.write_all(b"\x1d").unwrap();
    served.until(&path, |it| it["hosts"] == 0);
    let (mut seen, mut bytes) = (Vec::new(), [0; 4096]);
    // The end of a terminal is an error (tty_ioctl(4)).
    while let Ok(length @ 1..) = master.read(&mut bytes) {
        seen.extend_from_slice(&bytes[..length]);
    }
    let seen = String::from_utf8_lossy(&seen);
    assert!(seen.contains("it keeps running"), "{seen:?}");
    assert!(!seen.contains("10000"), "it was blocked");
    assert!(child.wait().unwrap().success());
}

/// Returns how often the threads of a process have waited (proc_pid_status(5)).
#[cfg(target_os = "linux")]
fn waits(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let status = |thread: std::fs::DirEntry| {
        let status = std::fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        let mut lines = status.lines();
        let count = lines.find_map(|line| line.strip_prefix("voluntary_ctxt_switches:"));
        count.map_or(0, |count| count.trim().parse().expect("a number"))
    };
    threads.filter_map(Result::ok).map(status).sum()
}

/// One wait is that for a key, and one that for its echo. Each pass from one thread to another would be one more.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn key_and_echo_take_two_waits() {
    const KEYS: u64 = 100;
    let served = TestRunner::start();
    let id = served.shell("stty raw -echo; echo welcome; exec cat");
    let mut command = attach(&served, &id, &[]).await;
    let pid = command.pid();
    let mut press = async |key: &'static str| {
        command.clear();
        command.type_keys(key).await;
        command.until(key).await;
    };
    press("A").await;
    let before = waits(pid);
    for key in ["a", "b"].into_iter().cycle().take(KEYS as usize) {
        press(key).await;
    }
    let taken = waits(pid) - before;
    assert!(taken < 3 * KEYS, "{taken} waits for {KEYS} keys");
}
