//! What the platform modules have in common: each test runs on every system.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::io::{FdFlags, fcntl_getfd};

use super::*;
use crate::configuration::{PtyMode, WindowSize};
use crate::exit::ExitStatus;

fn place() -> Place {
    let null = || File::open("/dev/null").unwrap().into();
    Place {
        stdio: [null(), null(), null()],
        extra: None,
        cwd: None,
        tty: false,
        dies_with_us: false,
        oom_score: None,
    }
}

fn start(script: &str, place: Place) -> Launched {
    let args = ["sh", "-c", script].map(OsStr::new);
    let image = Image::new(Path::new("/bin/sh"), args, &BTreeMap::new()).unwrap();
    launch(&image, place, None).unwrap()
}

fn terminal() -> (OwnedFd, OwnedFd) {
    open_pty(WindowSize::default(), PtyMode::Raw).unwrap()
}

#[test]
fn exit_makes_descriptor_readable_and_leaves_zombie() {
    let child = start("exit 3", place());
    let descriptor = platform::exit_descriptor(child.pid);
    await_end(child.pid).unwrap();
    // A child that ended before the call has no descriptor on macOS, which is as good an answer.
    assert!(descriptor.is_err() || readable(descriptor.unwrap()));
    assert!(has_ended(child.pid));
    assert_eq!(wait(child.pid), ExitStatus::Code(3));
}

#[test]
fn exit_codes_are_the_low_byte_in_every_look() {
    let child = start("exit 255", place());
    await_end(child.pid).unwrap();
    assert!(has_ended(child.pid) && has_ended(child.pid));
    assert_eq!(reap(child.pid), Some(ExitStatus::Code(255)));
}

#[test]
fn kill_needs_the_start_time_of_the_process() {
    let child = start("while :; do sleep 1000; done", place());
    let number = child.pid.as_raw_nonzero().get();
    let process = platform::look_up(number).unwrap();
    kill(&Process {
        start_time: process.start_time + 1,
        ..process.clone()
    });
    assert!(is_running(number));
    kill(&process);
    assert_eq!(wait(child.pid), ExitStatus::Signal(9));
    assert!(!is_running(number));
    // The pid is free. Nothing is killed, and nothing fails.
    kill(&process);
}

#[test]
fn child_inherits_no_descriptor_of_the_host() {
    let leaked = rustix::io::fcntl_dupfd_cloexec(File::open("/dev/null").unwrap(), 300).unwrap();
    rustix::io::fcntl_setfd(&leaked, FdFlags::empty()).unwrap();
    let number = leaked.as_raw_fd();
    let child = start(&format!("test -e /dev/fd/{number}"), place());
    assert_eq!(wait(child.pid), ExitStatus::Code(1));
    assert!(
        fcntl_getfd(&leaked).unwrap().is_empty(),
        "the host keeps its own"
    );
}

#[test]
fn child_on_a_terminal_leads_its_session() {
    let (ours, theirs) = terminal();
    let mut on_terminal = place();
    on_terminal.stdio[0] = theirs.try_clone().unwrap();
    on_terminal.tty = true;
    // Opens its controlling terminal, and writes nothing, since the exit of a leader waits for the reader on
    // macOS.
    let child = start(": </dev/tty && read line && exit 7", on_terminal);
    let number = child.pid.as_raw_nonzero().get();
    let process = platform::look_up(number).unwrap();
    assert_eq!((process.group, process.session), (number, number));
    rustix::io::write(&ours, b"line\n").unwrap();
    assert_eq!(wait(child.pid), ExitStatus::Code(7));
}

#[test]
fn both_sides_of_a_terminal_are_close_on_exec() {
    let (ours, theirs) = terminal();
    for side in [&ours, &theirs] {
        assert_eq!(fcntl_getfd(side).unwrap(), FdFlags::CLOEXEC);
    }
}

#[test]
fn usage_of_a_process_counts_its_time() {
    let spin = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; kill -STOP $$";
    let child = start(spin, place());
    let stopped = rustix::process::WaitIdOptions::STOPPED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(rustix::process::WaitId::Pid(child.pid), stopped).unwrap();
    let number = child.pid.as_raw_nonzero().get();
    let (cpu, _) = usage(number).unwrap();
    assert!(cpu > Duration::ZERO);
    kill(&platform::look_up(number).unwrap());
    wait(child.pid);
    assert_eq!(usage(number), None, "no such process");
}

#[test]
fn reserved_space_does_not_change_the_length() {
    let file = tempfile::tempfile().unwrap();
    reserve_space(&file, 0, 4096).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 0);
}

#[test]
fn limits_of_terminals_are_known() {
    let _open = terminal();
    let (used, most) = terminal_limits();
    assert!(most.unwrap() > 0);
    assert_ne!(used, Some(0), "one is open");
}

#[test]
fn connection_takes_any_time_limit() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    for limit in [
        Duration::from_millis(1),
        Duration::from_secs(15),
        Duration::MAX,
    ] {
        drop_connection_after(&socket, limit).unwrap();
    }
}

#[test]
fn suspended_time_does_not_run_backwards() {
    let first = suspended_time();
    assert!(suspended_time() + Duration::from_millis(100) >= first);
}

/// In a thread of its own: on Linux, the events block SIGCHLD in it.
#[test]
fn guard_wakes_for_its_link_and_its_deadline() {
    let events = || {
        let (link, host) = UnixStream::pair().unwrap();
        let mut events = GuardEvents::new(&link).unwrap();
        let now = Some(Instant::now());
        // Children of other tests may end in between.
        while events.wait(&link, now).unwrap() == Wake::Processes {}
        assert_eq!(events.wait(&link, now).unwrap(), Wake::Timeout);
        drop(host);
        while events.wait(&link, None).unwrap() != Wake::Link {}
    };
    std::thread::spawn(events).join().unwrap();
}

#[test]
fn pid_of_no_process_is_not_found() {
    let child = start("exit 0", place());
    wait(child.pid);
    let number = child.pid.as_raw_nonzero().get();
    assert_eq!(platform::look_up(number), None);
    assert_eq!(platform::variable(number, MARKER), None);
    assert!(!is_running(number));
}
