//! Sessions in shim processes.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use bowline_runner::wire::{Lease, Message, Prompt, PromptMode, PromptStatus};
use bowline_runner::{SessionPhase, ShimError, ShimProgram, SpawnFault, spawn_shim};
use bowline_transport::{ExitStatus, TerminationPolicy};
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::time::timeout;

use crate::client::{Client, Memory, TIMEOUT};
use crate::support::{
    ERR, OUT, Place, TTY, is_alive, kill, on_terminal, pids_in, program, script, until,
};

#[tokio::test]
async fn session_runs_and_leaves_a_record() {
    let place = Place::new();
    let mut spec = script("echo out; echo err >&2; exit 3");
    spec.name = Some("first".into());
    let shim = place.start(spec).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&shim.folder.socket()), 0o600);
    let memory = Memory::new(shim.id, Lease::Write, &[OUT, ERR]);
    let memory = Client::join(&shim.folder, memory).await.finish().await;
    assert_eq!(
        (memory.text(OUT), memory.text(ERR)),
        ("out\n".into(), "err\n".into())
    );
    let exit = memory.exit.unwrap();
    assert_eq!(exit.status, ExitStatus::Code(3));
    let info = || shim.folder.info().unwrap().unwrap();
    until("the final record", || info().phase == SessionPhase::Closed).await;
    assert_eq!(
        (info().exit, info().name),
        (Some(exit), Some("first".into()))
    );
    until("the shim's end", || !is_alive(shim.shim_pid.unwrap())).await;
    assert!(!shim.folder.socket().exists());
    assert_eq!(mode(&shim.folder.path().join("info.json")), 0o600);
    let log = std::fs::read_to_string(shim.folder.log_path()).unwrap();
    for trouble in ["WARN", "ERROR", "panicked"] {
        assert!(!log.contains(trouble), "{log}");
    }
}

#[tokio::test]
async fn exit_is_retained_for_a_late_client() {
    let place = Place::new();
    let shim = place.start(script("echo done; exit 5")).await;
    let info = || shim.folder.info().unwrap().unwrap();
    until("the exit", || info().phase == SessionPhase::Exited).await;
    let reader = Memory::new(shim.id, Lease::Read, &[OUT]);
    let reader = Client::join(&shim.folder, reader).await;
    let memory = Memory::new(shim.id, Lease::Write, &[OUT]);
    let memory = Client::join(&shim.folder, memory).await.finish().await;
    assert_eq!(memory.text(OUT), "done\n");
    assert_eq!(memory.exit.unwrap().status, ExitStatus::Code(5));
    assert_eq!(reader.finish().await.text(OUT), "done\n");
}

#[tokio::test]
async fn failed_start_is_reported_and_leaves_nothing() {
    let place = Place::new();
    let mut missing = script("");
    missing.program = "no-such-program-anywhere".into();
    let mut nowhere = script("");
    nowhere.cwd = Some(place.file("nowhere"));
    for (spec, expected) in [
        (missing, SpawnFault::Program),
        (nowhere, SpawnFault::Directory),
    ] {
        match spawn_shim(&program(), &place.state, spec).await {
            Err(ShimError::Refused { fault, reason }) => {
                assert_eq!(fault, expected);
                assert!(
                    reason.contains("no-such") || reason.contains("nowhere"),
                    "{reason}"
                );
            }
            other => panic!("{other:?}"),
        }
    }
    for path in ["/bin/true", "/no/such/shim"] {
        let program = ShimProgram {
            path: path.into(),
            args: Vec::new(),
        };
        let started = spawn_shim(&program, &place.state, script("")).await;
        assert!(
            matches!(
                started,
                Err(ShimError::EndedEarly { .. } | ShimError::Program { .. })
            ),
            "{started:?}"
        );
    }
    assert_eq!(place.state.sessions().unwrap(), []);
    let first = place.start(script("cat")).await;
    let mut again = script("cat");
    again.id = first.id;
    let started = spawn_shim(&program(), &place.state, again).await;
    assert!(matches!(started, Err(ShimError::State(_))), "{started:?}");
    assert!(
        first.folder.connect().await.is_ok(),
        "the first one is untouched"
    );
}

#[tokio::test]
async fn secrets_are_not_exposed_by_the_shim() {
    let place = Place::new();
    let mut spec = script("echo $CANARY; cat");
    spec.env
        .set
        .insert("CANARY".into(), "s3cret-of-the-test".into());
    let shim = place.start(spec).await;
    let pid = shim.shim_pid.unwrap();
    for file in ["cmdline", "environ"] {
        let bytes = std::fs::read(format!("/proc/{pid}/{file}")).unwrap();
        assert!(
            !String::from_utf8_lossy(&bytes).contains("s3cret-of-the-test"),
            "{file}"
        );
    }
    let info = std::fs::read_to_string(shim.folder.path().join("info.json")).unwrap();
    assert!(!info.contains("s3cret-of-the-test"));
    let memory = Memory::new(shim.id, Lease::Write, &[OUT]);
    let mut client = Client::join(&shim.folder, memory).await;
    client
        .until(|memory| memory.text(OUT).contains("s3cret-of-the-test"))
        .await;
}

#[tokio::test]
async fn shim_inherits_no_descriptors() {
    let place = Place::new();
    let shim = place.start(script("cat")).await;
    let pid = shim.shim_pid.unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let (_, rest) = stat.rsplit_once(')').unwrap();
    let session: u32 = rest.split_whitespace().nth(3).unwrap().parse().unwrap();
    assert_eq!(session, pid, "it leads a session of its own");
    let own = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let theirs = std::fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    let theirs: Vec<_> = theirs
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .collect();
    assert!(theirs.len() < 24, "{own} here, there {theirs:?}");
    let scratch = place.file("ours");
    assert!(theirs.iter().all(|target| !target.starts_with(&scratch)));
}

/// Returns the descriptors of a process: their numbers, and what they are.
fn open_descriptors(pid: u32) -> BTreeMap<u32, PathBuf> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("it runs");
    let link = |entry: std::fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        Some((number, std::fs::read_link(entry.path()).ok()?))
    };
    open.filter_map(|entry| link(entry.ok()?)).collect()
}

/// Counts the descriptors of a process by what they are.
fn descriptors(pid: u32, folder: &Path) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    // What this process was started with may be passed on: a daemon closes it first.
    let own = open_descriptors(std::process::id());
    let is_own = |number: &u32, link: &PathBuf| {
        *number > 2
            && own.get(number) == Some(link)
            && !link.to_string_lossy().starts_with("anon_inode:")
    };
    for (number, link) in open_descriptors(pid) {
        if is_own(&number, &link) {
            continue;
        }
        let text = link.display().to_string();
        let kind = match (link.strip_prefix(folder), text.split_once(':')) {
            (Ok(inside), _) => format!("session:{}", inside.display()),
            (_, Some((kind @ ("socket" | "pipe"), _))) => kind.to_owned(),
            _ if text.ends_with("/ptmx") => "terminal".to_owned(),
            _ if text.starts_with("/dev/pts/") => "slave".to_owned(),
            _ => text,
        };
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

/// Each of them is listed in the benchmarks' README, with its reason.
#[tokio::test]
async fn idle_shim_has_no_descriptor_without_a_purpose() {
    // Standard streams and log; reactor; those of the signals, the listener and the guard; lock and journal.
    let common = [
        ("/dev/null", 2),
        ("anon_inode:[eventfd]", 1),
        ("anon_inode:[eventpoll]", 2),
        ("session:", 1),
        ("session:journal/00000000.bjl", 1),
        ("session:shim.log", 1),
        ("socket", 5),
    ];
    let place = Place::new();
    for (spec, own) in [
        (script("cat"), vec![("pipe", 3)]),
        (on_terminal("cat"), vec![("terminal", 2), ("slave", 1)]),
    ] {
        let shim = place.start(spec).await;
        let expected = common.into_iter().chain(own);
        let expected: BTreeMap<_, _> = expected
            .map(|(kind, count)| (kind.to_owned(), count))
            .collect();
        let now = || descriptors(shim.shim_pid.unwrap(), shim.folder.path());
        // The connection of the start closes after its reply.
        until("five sockets", || now().get("socket") == Some(&5)).await;
        assert_eq!(now(), expected);
    }
}

#[tokio::test]
async fn removed_session_ends_after_its_last_client() {
    let place = Place::new();
    let shim = place.start(script("echo $$; cat")).await;
    let pid = shim.shim_pid.unwrap();
    let memory = Memory::new(shim.id, Lease::Write, &[OUT]);
    let mut client = Client::join(&shim.folder, memory).await;
    client
        .until(|memory| memory.text(OUT).ends_with('\n'))
        .await;
    let child = client.memory.text(OUT).trim().parse().unwrap();
    shim.folder.remove().unwrap();
    // It checks every minute, and on SIGHUP.
    kill(pid, Signal::HUP);
    client.type_in(0, "still here\n").await;
    client
        .until(|memory| memory.text(OUT).ends_with("still here\n"))
        .await;
    drop(client);
    until("the shim's end", || {
        let lives = is_alive(pid);
        if lives {
            kill(pid, Signal::HUP);
        }
        !lives
    })
    .await;
    assert!(!is_alive(child));
}

#[tokio::test]
async fn later_writer_fences_the_earlier_one() {
    let place = Place::new();
    let shim = place.start(script("cat")).await;
    let writer = || Memory::new(shim.id, Lease::Write, &[OUT]);
    let mut first = Client::join(&shim.folder, writer()).await;
    first.type_in(0, "one\n").await;
    first.until(|memory| memory.text(OUT) == "one\n").await;
    let mut second = Client::join(&shim.folder, writer()).await;
    first
        .find(|message| matches!(message, Message::Fenced { generation: 2 }).then_some(()))
        .await;
    let next = second.attached.as_ref().unwrap().input_next;
    assert_eq!(next, 4);
    first.type_in(next, "stale\n").await;
    second.type_in(next, "two\n").await;
    second
        .until(|memory| memory.text(OUT) == "one\ntwo\n")
        .await;
    let late = Memory::new(shim.id, Lease::Read, &[OUT]);
    let mut late = Client::join(&shim.folder, late).await;
    late.until(|memory| memory.text(OUT) == "one\ntwo\n").await;
    second.send(Message::InputEnd { offset: next + 4 }).await;
    let memory = second.finish().await;
    assert_eq!(memory.text(OUT), "one\ntwo\n");
}

#[tokio::test]
async fn repeated_prompt_is_written_once() {
    let place = Place::new();
    let shim = place.start(script("cat")).await;
    let append = || Memory::new(shim.id, Lease::Append, &[OUT]);
    for _ in 0..3 {
        let mut client = Client::join(&shim.folder, append()).await;
        let prompt = Prompt {
            id: "p1".into(),
            bytes: "hello".into(),
            mode: PromptMode::Line,
            request_id: None,
        };
        client.send(Message::Prompt(prompt)).await;
        client
            .find(|message| match message {
                Message::PromptState { state, .. } => {
                    (*state == PromptStatus::Written).then_some(())
                }
                _ => None,
            })
            .await;
        client.until(|memory| memory.text(OUT) == "hello\n").await;
    }
    let mut client = Client::join(&shim.folder, append()).await;
    let kill = Message::Kill {
        id: "k".into(),
        policy: TerminationPolicy::AT_ONCE,
    };
    client.send(kill).await;
    let report = client
        .find(|message| match message {
            Message::Killed { report, .. } => Some(report.clone()),
            _ => None,
        })
        .await;
    assert_eq!(report.survivors, Vec::<u32>::new());
    assert_eq!(client.finish().await.text(OUT), "hello\n");
}

#[tokio::test]
async fn terminal_takes_input_and_resizes() {
    let place = Place::new();
    let shim = place
        .start(on_terminal("read -r line; stty size; echo got $line; cat"))
        .await;
    let memory = Memory::new(shim.id, Lease::Write, &[TTY]);
    let mut client = Client::join(&shim.folder, memory).await;
    let size = bowline_transport::WindowSize::new(33, 111);
    client.send(Message::Resize { seq: 1, size }).await;
    client.type_in(0, "typed\n").await;
    client
        .until(|memory| memory.text(TTY).contains("got typed"))
        .await;
    assert!(client.memory.text(TTY).starts_with("33 111"));
    let end = Message::InputEnd { offset: 6 };
    client.send(end).await;
    client
        .find(|message| matches!(message, Message::InputRefused { .. }).then_some(()))
        .await;
}

/// Twenty sessions outlive the runtime that has started them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_outlive_the_runtime_that_started_them() {
    let place = Place::new();
    let state = place.state.clone();
    let starter = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut shims = Vec::new();
            for index in 0..20 {
                let spec = script(&format!("echo {index}; cat"));
                shims.push(spawn_shim(&program(), &state, spec).await.unwrap());
            }
            shims
        })
    });
    let shims = starter.join().unwrap();
    for (index, shim) in shims.iter().enumerate() {
        let memory = Memory::new(shim.id, Lease::Write, &[OUT]);
        let mut client = Client::join(&shim.folder, memory).await;
        client.type_in(0, "still here\n").await;
        let expected = format!("{index}\nstill here\n");
        client.until(|memory| memory.text(OUT) == expected).await;
        client.send(Message::InputEnd { offset: 11 }).await;
        client.finish().await;
    }
}

/// The runner is killed while all of them write; later clients lose nothing.
#[tokio::test]
async fn streaming_sessions_outlive_a_killed_runner() {
    let place = Place::new();
    let text = "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done; read -r end";
    let mut runner = tokio::process::Command::new(program().path)
        .arg("runner")
        .arg(place.state.path())
        .args(["20", text])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(runner.stdout.take().unwrap()).lines();
    let mut folders = Vec::new();
    while folders.len() < 20 {
        let line = timeout(TIMEOUT, lines.next_line()).await.unwrap().unwrap();
        let id = line
            .expect("the runner starts all sessions")
            .parse()
            .unwrap();
        folders.push(place.state.session(id));
    }
    let mut memories = Vec::new();
    for folder in &folders {
        let memory = Memory::new(folder.id(), Lease::Write, &[OUT]);
        let mut client = Client::join(folder, memory).await;
        client.until(|memory| memory.next(OUT) > 0).await;
        memories.push(client.cut());
    }
    runner.kill().await.unwrap();
    let expected: String = (0..20_000).map(|at| format!("{at}\n")).collect();
    for (folder, memory) in folders.iter().zip(memories) {
        let mut client = Client::join(folder, memory).await;
        client
            .until(|memory| memory.next(OUT) == expected.len() as u64)
            .await;
        client.type_in(0, "\n").await;
        let memory = client.finish().await;
        assert!(memory.text(OUT) == expected);
        assert_eq!(memory.missing.get(&OUT), None);
    }
}

#[tokio::test]
async fn sigterm_ends_the_session_and_sighup_does_not() {
    let place = Place::new();
    let shim = place.start(script("echo up; cat")).await;
    let pid = shim.shim_pid.unwrap();
    kill(pid, Signal::HUP);
    let memory = Memory::new(shim.id, Lease::Read, &[OUT]);
    let mut client = Client::join(&shim.folder, memory).await;
    client.until(|memory| memory.text(OUT) == "up\n").await;
    kill(pid, Signal::TERM);
    assert!(client.finish().await.exit.is_some());
    until("the shim's end", || !is_alive(pid)).await;
    assert!(!is_alive(shim.pid.unwrap()));
    let info = shim.folder.info().unwrap().unwrap();
    assert_eq!(info.phase, SessionPhase::Closed);
}

#[tokio::test]
async fn orphans_are_killed_with_the_child() {
    let place = Place::new();
    let pids = place.file("pids");
    let text = format!(
        "setsid sleep 600 <&- >/dev/null 2>&1 & echo $! > {}; echo bye",
        pids.display()
    );
    let shim = place.start(script(&text)).await;
    let memory = Memory::new(shim.id, Lease::Write, &[OUT]);
    let mut client = Client::join(&shim.folder, memory).await;
    client.until(|memory| memory.exit.is_some()).await;
    let left = pids_in(&pids);
    assert_eq!(left.len(), 1);
    until("the end of what was left", || !is_alive(left[0])).await;
    client.finish().await;
    until("the shim's end", || !is_alive(shim.shim_pid.unwrap())).await;
}

/// Sessions of their own, traps and double forks.
#[tokio::test]
async fn killing_the_shim_kills_its_process_tree() {
    let place = Place::new();
    for _ in 0..5 {
        let pids = place.file("pids");
        std::fs::write(&pids, "").unwrap();
        let text = format!(
            "exec 2>/dev/null; f={}; \
             setsid sh -c 'trap \"\" HUP TERM INT; echo $$ >> '$f'; while :; do sleep 60; done' & \
             (setsid sh -c 'trap \"\" HUP TERM; echo $$ >> '$f'; sleep 600' &) ; \
             nohup sleep 600 >/dev/null & echo $! >> $f; echo $$ >> $f; echo ready; cat",
            pids.display()
        );
        let shim = place.start(script(&text)).await;
        let memory = Memory::new(shim.id, Lease::Read, &[OUT]);
        let mut client = Client::join(&shim.folder, memory).await;
        client.until(|memory| memory.text(OUT) == "ready\n").await;
        until("the whole tree", || pids_in(&pids).len() == 4).await;
        let tree = pids_in(&pids);
        assert!(tree.iter().all(|pid| is_alive(*pid)));
        kill(shim.shim_pid.unwrap(), Signal::KILL);
        until("the end of the tree", || {
            !tree.iter().any(|pid| is_alive(*pid))
        })
        .await;
        // The kernel closes the shim's descriptors one by one: its guard may act before the socket is closed.
        until("the shim's end", || !is_alive(shim.shim_pid.unwrap())).await;
        assert!(shim.folder.connect().await.is_err());
        let info = shim.folder.info().unwrap().unwrap();
        assert_eq!(
            info.phase,
            SessionPhase::Running,
            "no process was left to record the end"
        );
    }
}

/// A session without a starter, which no client knows of, must not be found while it ends.
#[tokio::test]
async fn session_of_a_killed_starter_is_never_found() {
    let place = Place::new();
    let (ending, end) = (place.file("ending"), place.file("end"));
    let script =
        format!("trap '' TERM; mkfifo {end:?}; cat; touch {ending:?}; read line < {end:?}");
    let shim = program();
    let mut starter = tokio::process::Command::new(&shim.path)
        .arg("killed-runner")
        .arg(place.state.path())
        .args(["1", &script])
        .spawn()
        .unwrap();
    let killed = timeout(TIMEOUT, starter.wait()).await.unwrap().unwrap();
    assert!(!killed.success());
    until("the end of the input", || ending.exists()).await;
    for id in place.state.sessions().unwrap() {
        assert_eq!(place.state.session(id).info().unwrap(), None);
    }
    let release = tokio::fs::write(end, "go\n");
    timeout(TIMEOUT, release).await.unwrap().unwrap();
    let is_empty = || place.state.sessions().unwrap().is_empty();
    until("the removal", is_empty).await;
}
