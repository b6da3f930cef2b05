//! Shims are copies of one process that has loaded the program.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Served, soon};

/// The shim of a new session that waits, and who made it.
async fn session(served: &Served) -> (String, u32) {
    let id = served.shell("read line; echo heard").await;
    let shim = served.folder(&id).info().unwrap().unwrap().shim_pid;
    (id, parent(shim))
}

/// proc_pid_stat(5): the name may have anything in it but the last parenthesis.
fn parent(pid: u32) -> u32 {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    let behind = stat.rsplit(')').next().unwrap();
    behind.split_whitespace().nth(1).unwrap().parse().unwrap()
}

async fn gone(pid: u32) {
    let entry = format!("/proc/{pid}");
    soon("the end of a nursery", async {
        while Path::new(&entry).exists() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[tokio::test]
async fn sessions_come_from_a_nursery_and_outlive_it() {
    let served = Served::start().await;
    let (first, nursery) = session(&served).await;
    let (_, same) = session(&served).await;
    assert_ne!(nursery, std::process::id());
    assert_eq!(nursery, same);

    let pid = Pid::from_raw(nursery.cast_signed()).unwrap();
    kill_process(pid, Signal::KILL).unwrap();
    gone(nursery).await;
    assert_eq!(served.session(&first).await["state"], "running");
    // Nobody waits for a new one, and whoever comes behind has it.
    let (second, loaded) = session(&served).await;
    assert_eq!(loaded, std::process::id());
    let (third, other) = session(&served).await;
    assert!(other != std::process::id() && other != nursery);
    for id in [first, second, third] {
        let path = format!("/api/sessions/{id}");
        let ended = served.ask("DELETE", &path, None).await;
        assert_eq!(ended.status, 200, "{}", ended.text());
        assert_eq!(ended.json()["survivors"], serde_json::json!([]));
    }
}

#[tokio::test]
async fn a_nursery_ends_with_its_daemon_and_a_session_does_not() {
    let served = Served::start().await;
    let (id, nursery) = session(&served).await;
    let served = served.again(|_| {}).await;
    gone(nursery).await;
    assert_eq!(served.session(&id).await["state"], "running");
}

#[tokio::test]
async fn a_shim_of_a_nursery_that_has_ended_leaves_nothing() {
    let served = Served::start().await;
    let id = served.shell("exit 3").await;
    let shim = served.folder(&id).info().unwrap().unwrap().shim_pid;
    let path = format!("/api/sessions/{id}");
    assert_eq!(served.ask("DELETE", &path, None).await.status, 200);
    gone(shim).await;
}
