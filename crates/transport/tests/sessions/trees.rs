//! Termination of descendants outside of the process group.

use bowline_transport::{Configuration, LogReader, Stream, TerminationPolicy};

use crate::support::{is_gone, read_until, shell, start, until, within};

/// A background job, a process in its own session, a double fork that ignores signals, and nohup with
/// two children. Each prints its pid.
const HIDING: &str = r#"
    sleep 1001 & echo "pid $! background"
    setsid sh -c 'echo "pid $$ setsid"; exec sleep 1002' &
    (setsid sh -c 'trap "" TERM HUP INT; echo "pid $$ double"; while :; do sleep 1003; done' &)
    nohup setsid sh -c 'sleep 1004 & echo "pid $! child"; echo "pid $$ nohup"; sleep 1005' &
"#;

async fn pids(output: &mut LogReader, count: usize) -> Vec<u32> {
    let mut text = String::new();
    while text.matches("pid ").count() < count || !text.ends_with('\n') {
        text += &read_until(output, "\n").await;
    }
    let lines = text.lines().filter_map(|line| line.strip_prefix("pid "));
    lines
        .map(|line| line.split(' ').next().unwrap().parse().unwrap())
        .collect()
}

#[tokio::test]
async fn termination_finds_hidden_descendants() {
    let session = start(shell(&format!("{HIDING} exec sleep 1006")));
    let hidden = pids(&mut session.reader(Stream::Output), 5).await;
    assert!(hidden.iter().all(|pid| !is_gone(*pid)), "all alive before");
    let report = within(session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert_eq!(report.survivors, [0_u32; 0]);
    assert!(
        hidden
            .iter()
            .all(|pid| is_gone(*pid) && report.killed.contains(pid)),
        "{report:?}"
    );
    assert!(is_gone(session.pid().unwrap()));
}

#[tokio::test]
async fn descendants_of_exited_parent_are_found() {
    let session = start(shell(HIDING));
    let hidden = pids(&mut session.reader(Stream::Output), 5).await;
    within(session.exited()).await;
    let report = within(session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert!(hidden.iter().all(|pid| is_gone(*pid)), "{report:?}");
}

#[tokio::test]
async fn exit_of_shell_ends_background_processes() {
    let session = start(shell(HIDING));
    let hidden = pids(&mut session.reader(Stream::Output), 5).await;
    within(session.exited()).await;
    until(|| hidden.iter().all(|pid| is_gone(*pid))).await;
}

#[tokio::test]
async fn job_without_marker_is_found_by_group() {
    let session = start(shell("env -i sleep 1000 & echo \"pid $!\""));
    let hidden = pids(&mut session.reader(Stream::Output), 1).await;
    within(session.exited()).await;
    let report = within(session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert_eq!(report.killed, hidden);
    assert!(is_gone(hidden[0]));
}

/// A shell with job control gives each job its own process group in the shell's session.
#[tokio::test]
async fn job_in_own_group_is_found_by_session() {
    let script = "set -m; env -i sleep 1000 <&- >&- 2>&- & echo \"pid $!\"; read -r go";
    let mut configuration = Configuration::new("bash");
    configuration.args = vec!["-c".into(), script.into()];
    let session = start(configuration);
    let job = pids(&mut session.reader(Stream::Output), 1).await[0];
    until(|| std::fs::read(format!("/proc/{job}/environ")).unwrap() == b"").await;
    let stat = std::fs::read_to_string(format!("/proc/{job}/stat")).unwrap();
    let of_the_shell = format!(" {job} {} ", session.pid().unwrap());
    assert!(stat.contains(&of_the_shell), "group, session: {stat}");

    within(session.close_input()).await.unwrap();
    within(session.exited()).await;
    let report = within(session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert_eq!((report.killed, report.survivors), (vec![job], vec![]));
    assert!(is_gone(job));
}

#[tokio::test]
async fn growing_tree_is_terminated() {
    let script =
        "i=0; while [ $i -lt 300 ]; do setsid sleep 1000 & echo \"pid $!\"; i=$((i+1)); done; wait";
    let session = start(shell(script));
    let mut output = session.reader(Stream::Output);
    let mut seen = pids(&mut output, 20).await;
    let report = within(session.terminate(TerminationPolicy::AT_ONCE)).await;
    assert_eq!(report.survivors, [0_u32; 0]);
    while let Some(bowline_transport::Piece::Bytes { bytes, .. }) = within(output.next()).await {
        let text = String::from_utf8(bytes.to_vec()).unwrap();
        seen.extend(
            text.lines()
                .filter_map(|line| line.strip_prefix("pid ")?.parse::<u32>().ok()),
        );
    }
    assert!(seen.len() >= 20 && seen.into_iter().all(is_gone));
}

#[tokio::test]
async fn drop_kills_tree_and_reaps_child() {
    let session = start(shell(&format!("{HIDING} exec sleep 1006")));
    let (child, mut output) = (session.pid().unwrap(), session.reader(Stream::Output));
    let hidden = pids(&mut output, 5).await;
    let other = session.clone();
    drop(session);
    assert!(!is_gone(child), "one handle is left");
    drop(other);
    let tasks = tokio::runtime::Handle::current().metrics();
    until(|| tasks.num_alive_tasks() == 0).await;
    assert!(hidden.into_iter().all(is_gone));
    assert!(
        !std::fs::exists(format!("/proc/{child}")).unwrap(),
        "not even a zombie"
    );
}

#[test]
fn runtime_shutdown_ends_sessions() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build();
    let runtime = runtime.unwrap();
    let (session, hidden) = runtime.block_on(async {
        let session = start(shell(&format!("{HIDING} exec sleep 1006")));
        let hidden = pids(&mut session.reader(Stream::Output), 5).await;
        (session, hidden)
    });
    drop(runtime);
    let child = session.pid().unwrap();
    assert!(hidden.into_iter().all(is_gone));
    assert!(
        !std::fs::exists(format!("/proc/{child}")).unwrap(),
        "not even a zombie"
    );
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let exit = runtime.block_on(within(session.exited()));
    assert_eq!(exit.status, bowline_transport::ExitStatus::Unknown);
}

#[tokio::test]
async fn unrelated_processes_are_not_killed() {
    let (ours, other) = (
        start(Configuration::new("cat")),
        start(Configuration::new("cat")),
    );
    within(ours.terminate(TerminationPolicy::AT_ONCE)).await;
    let mut output = other.reader(Stream::Output);
    within(other.write("still here\n".into())).await.unwrap();
    read_until(&mut output, "still here").await;
}
