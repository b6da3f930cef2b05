//! Resources left after sessions have ended. The only test of its process, because it counts the
//! resources of the process.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use bowline_lifecycle::{DialogueConfiguration, DialogueSession, TerminalRegistry};
use bowline_tests::session::{answered, terminate, within};

/// Resources that a process can leak.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ResourceCount {
    descriptors: usize,
    threads: usize,
    tasks: usize,
    children: BTreeSet<String>,
    /// Files in the agents' working directory.
    files: usize,
    /// Registered terminals.
    terminals: usize,
}

impl ResourceCount {
    fn take(folder: &Path) -> Self {
        let count = |path: &str| fs::read_dir(path).expect("a folder").count();
        let threads = fs::read_dir("/proc/self/task").expect("procfs");
        let children = threads
            .filter_map(|thread| fs::read_to_string(thread.ok()?.path().join("children")).ok())
            .flat_map(|list| {
                list.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<_>>()
            })
            .collect();
        Self {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
            tasks: tokio::runtime::Handle::current()
                .metrics()
                .num_alive_tasks(),
            children,
            files: fs::read_dir(folder).expect("a folder").count(),
            terminals: TerminalRegistry::shared().list().len(),
        }
    }
}

const SCENARIO: &str = r#"
[[turn]]
steps = [ { text = "Here." }, { grandchild = { seconds = 600, setsid = true } } ]
"#;

#[test]
fn thousand_sessions_leave_nothing() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.expect("a runtime").block_on(async {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("scenario.toml");
        fs::write(&file, SCENARIO).expect("the scenario is written");
        let configuration = DialogueConfiguration {
            program: env!("CARGO_BIN_EXE_stand-in").into(),
            cwd: Some(folder.path().to_owned()),
            args: [
                "--scenario".into(),
                file.into_os_string(),
                "--pace".into(),
                "0".into(),
            ]
            .into(),
            ..DialogueConfiguration::default()
        };
        let cycle = async || {
            let started = DialogueSession::start(configuration.clone());
            let session = within("a start", started)
                .await
                .expect("the understudy starts");
            answered(&session, "go").await;
            terminate(&session).await;
        };
        // Resources that the first session allocates once are not leaks.
        cycle().await;
        let before = settled(folder.path(), |_| true).await;
        for _ in 0..1_000 {
            cycle().await;
        }
        // A thread of the runtime for blocking calls, idle since the first session, may have ended.
        let is_back = |now: &ResourceCount| {
            let threads = before.threads;
            now.threads <= threads
                && ResourceCount {
                    threads,
                    ..now.clone()
                } == before
        };
        let after = settled(folder.path(), is_back).await;
        assert!(is_back(&after), "{after:?}, before {before:?}");
        let metrics = TerminalRegistry::shared().metrics();
        assert_eq!((metrics.started, metrics.ended), (1_001, 1_001));
        assert_eq!((metrics.turns, metrics.unexpected_ends), (1_001, 0));
        assert!(
            TerminalRegistry::shared().tombstones().len() < 1_000,
            "they are bounded"
        );
    });
}

/// Returns the first count for which `enough` holds, or the last one.
async fn settled(folder: &Path, enough: impl Fn(&ResourceCount) -> bool) -> ResourceCount {
    for _ in 0..10_000 {
        let now = ResourceCount::take(folder);
        if enough(&now) {
            return now;
        }
        tokio::task::yield_now().await;
    }
    ResourceCount::take(folder)
}
