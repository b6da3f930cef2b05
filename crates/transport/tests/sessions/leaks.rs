//! Sessions leak no resources and inherit none.

use std::fs;

use bowline_transport::{Configuration, PtyMode, Stream, TerminationPolicy};

use crate::support::{alone, on_pty, read_all, shell, start, until, within};

#[derive(Debug, PartialEq, Eq)]
struct Footprint {
    descriptors: usize,
    threads: usize,
    children: String,
}

fn footprint() -> Footprint {
    let count = |path: &str| fs::read_dir(path).unwrap().count();
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let children = tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")));
    Footprint {
        descriptors: count("/proc/self/fd"),
        threads: count("/proc/self/task"),
        children: children.map(Result::unwrap).collect(),
    }
}

/// Runs a session, in one of several ways.
async fn live(round: usize) {
    let configuration = shell("echo hello; setsid sleep 1000 & cat");
    let configuration = match round % 2 {
        0 => configuration,
        _ => on_pty(configuration, PtyMode::Cooked),
    };
    let session = start(configuration);
    let mut output = session.reader(Stream::Output);
    within(output.next()).await.unwrap();
    match round % 3 {
        0 => drop(within(session.terminate(TerminationPolicy::AT_ONCE)).await),
        1 => drop(within(session.terminate(TerminationPolicy::default())).await),
        _ => drop(session),
    }
    read_all(&mut output).await;
}

#[test]
fn sessions_leak_nothing() {
    alone("leaks::sessions_leak_nothing_alone", |_| {});
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "run by `sessions_leak_nothing` in a separate process"]
async fn sessions_leak_nothing_alone() {
    let tasks = tokio::runtime::Handle::current().metrics();
    live(0).await;
    until(|| tasks.num_alive_tasks() == 0).await;
    let before = footprint();
    assert_eq!(before.children, "");
    for batch in 0..10 {
        let lives: Vec<_> = (0..20)
            .map(|round| tokio::spawn(live(batch * 20 + round)))
            .collect();
        for one in lives {
            within(one).await.unwrap();
        }
    }
    until(|| tasks.num_alive_tasks() == 0).await;
    assert_eq!(footprint(), before);
}

#[tokio::test]
async fn child_inherits_only_three_descriptors() {
    // Not close-on-exec, as some libraries open files.
    let careless = rustix::pipe::pipe().unwrap();
    let session = start(shell("ls /proc/$$/fd"));
    let (all, _) = read_all(&mut session.reader(Stream::Output)).await;
    assert_eq!(String::from_utf8(all).unwrap(), "0\n1\n2\n");
    drop(careless);
}

#[test]
fn outer_agent_and_ignored_signals_are_not_inherited() {
    alone(
        "leaks::outer_agent_and_ignored_signals_are_not_inherited_alone",
        |command| {
            command.envs([
                ("CLAUDECODE", "1"),
                ("NODE_OPTIONS", "-r x"),
                ("BOWLINE_SESSION", "outer"),
            ]);
            command.envs([
                ("CLAUDE_CODE_MESSAGING_SOCKET", "x"),
                ("CLAUDE_CONFIG_DIR", "kept"),
            ]);
        },
    );
}

#[tokio::test]
#[ignore = "run by `outer_agent_and_ignored_signals_are_not_inherited` in a separate process"]
async fn outer_agent_and_ignored_signals_are_not_inherited_alone() {
    let session = start(Configuration::new("env"));
    let (all, _) = read_all(&mut session.reader(Stream::Output)).await;
    let all = String::from_utf8(all).unwrap();
    assert!(
        !["CLAUDECODE=", "NODE_OPTIONS=", "CLAUDE_CODE_M"]
            .iter()
            .any(|gone| all.contains(gone))
    );
    assert!(all.contains("CLAUDE_CONFIG_DIR=kept"));
    assert!(all.contains(&format!("BOWLINE_SESSION=outer:{}\n", session.id())));

    // The Rust runtime ignores SIGPIPE, and the parent shell SIGHUP; a child must ignore neither.
    let session = start(shell("grep -E '^Sig(Ign|Blk)' /proc/self/status"));
    let (all, _) = read_all(&mut session.reader(Stream::Output)).await;
    let masks = String::from_utf8(all).unwrap();
    // The C library reserves the first real-time signals, from 32 on (signal(7)).
    let masks = masks
        .split_whitespace()
        .filter_map(|mask| u64::from_str_radix(mask, 16).ok());
    assert_eq!(
        masks.map(|mask| mask & 0x7fff_ffff).collect::<Vec<_>>(),
        [0, 0]
    );
}
