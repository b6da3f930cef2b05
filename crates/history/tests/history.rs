//! Histories that real agents wrote (`tests/fixtures/history`).

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use bowline_history::{Agent, AgentFolders, History, HistoryError, Listing, Query};
use bowline_reducer::Entry;
use insta::assert_snapshot;
use serde_json::Value;

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/history")
}

fn folders(root: &Path) -> AgentFolders {
    AgentFolders {
        claude: root.join("claude"),
        codex: root.join("codex"),
    }
}

fn recorded() -> History {
    History::new(folders(&fixtures()))
}

fn transcript(id: &str) -> Value {
    let past = recorded().open(id).expect("a conversation");
    let transcript = past.transcript();
    assert!(transcript.entries().all(Entry::is_history));
    let transcript = serde_json::to_value(transcript).expect("JSON");
    assert_eq!(
        transcript["stats"]["unknown"],
        serde_json::json!({}),
        "{id}"
    );
    assert_eq!(transcript["stats"]["parse_errors"], 0, "{id}");
    transcript
}

/// The entries of a thread, one a line, with those of sub-agents below their call.
fn outline(id: &str) -> String {
    let mut out = String::new();
    let transcript = transcript(id);
    add_thread(&transcript, 0, &mut out);
    out
}

fn add_thread(thread: &Value, depth: usize, out: &mut String) {
    let mut line = |text: String| {
        let text: String = text.replace('\n', "|").chars().take(100).collect();
        out.push_str(&"  ".repeat(depth));
        out.push_str(&text);
        out.push('\n');
    };
    let mut called = Vec::new();
    for entry in thread["entries"].as_array().expect("entries") {
        let kind = entry["kind"].as_str().expect("a kind");
        match kind {
            "assistant" => {
                for block in entry["blocks"].as_array().expect("blocks") {
                    match block["type"].as_str().expect("a type") {
                        "tool_call" => called.push(block["id"].as_str().expect("an id")),
                        kind => line(format!("{kind}: {}", block["text"].as_str().unwrap_or("?"))),
                    }
                }
            }
            _ => {
                let mark = if entry["synthetic"] == true {
                    " (synthetic)"
                } else {
                    ""
                };
                line(format!(
                    "{kind}{mark}: {}",
                    entry["text"].as_str().unwrap_or("?")
                ));
            }
        }
        for id in called.drain(..) {
            let call = &thread["tool_calls"][id];
            let result = call["result"]["text"].as_str().unwrap_or("-");
            line(format!("{} {id} {}: {result}", call["name"], call["state"]));
            if !call["subagent"].is_null() {
                let mut nested = String::new();
                add_thread(&call["subagent"], depth + 1, &mut nested);
                nested.lines().for_each(|text| line(text.to_owned()));
            }
        }
    }
}

/// The beginning of an id.
fn head(id: &str, length: usize) -> &str {
    id.get(..length).expect("an ASCII id")
}

fn ids(listing: &Listing) -> Vec<&str> {
    listing
        .conversations
        .iter()
        .map(|it| head(&it.id, 8))
        .collect()
}

#[test]
fn conversations_are_listed_newest_first() {
    let listing = recorded().list(&Query::default()).expect("a list");
    assert_eq!(listing.problems, []);
    let rows = listing.conversations.iter().map(|it| {
        format!(
            "{} {} {} turns={} cost={:?} model={:?} branch={:?} cwd={:?} {:?}\n",
            head(&it.id, 13),
            it.agent,
            it.last_activity_ms,
            it.turns,
            it.cost_usd,
            it.model,
            it.branch,
            it.cwd,
            it.title,
        )
    });
    assert_snapshot!(rows.collect::<String>());
}

#[test]
fn conversation_has_its_sub_agents_and_survives_its_compaction() {
    assert_snapshot!(outline("43e4a65b"));
    let transcript = transcript("43e4a65b");
    assert_eq!(
        transcript["session_id"],
        "43e4a65b-4638-4c6f-b6a2-6660cef7c885"
    );
    assert_eq!(transcript["cli_version"], "2.1.330");
    assert_eq!(transcript["cwd"], "/home/dev/project");
    assert_eq!(transcript["status"]["phase"], "starting");
}

#[test]
fn fork_has_what_the_agent_copied() {
    assert_snapshot!(outline("50c499ac"));
}

#[test]
fn prompt_of_a_running_turn_is_in_place() {
    assert_snapshot!(outline("0d31fe3f"));
}

#[test]
fn older_agents_are_read() {
    assert_snapshot!("agents beside the conversation", outline("e937e4fa"));
    assert_snapshot!("agents in the conversation", outline("10628630"));
}

#[test]
fn rollout_has_its_sub_agent() {
    assert_snapshot!(outline("01a20984"));
}

#[test]
fn conversations_are_filtered() {
    let list = |query: Query| recorded().list(&query).expect("a list");
    let of = |agent| Query {
        agent: Some(agent),
        ..Query::default()
    };
    assert_eq!(ids(&list(of(Agent::Codex))), ["01a20984"]);
    assert_eq!(list(of(Agent::Claude)).conversations.len(), 5);
    let newest = Query {
        limit: Some(2),
        ..Query::default()
    };
    assert_eq!(list(newest).conversations.len(), 2);
    let within = |cwd: &str| Query {
        cwd: Some(cwd.into()),
        ..Query::default()
    };
    assert_eq!(list(within("/home/dev")).conversations.len(), 6);
    assert_eq!(ids(&list(within("/home/d"))), [""; 0]);
    let with = |text: &str| Query {
        search: Some(text.into()),
        ..Query::default()
    };
    assert_eq!(ids(&list(with("MID-turn"))), ["0d31fe3f"]);
    assert_eq!(ids(&list(with("my title"))), ["01a20984"]);
    // Of a tool's description in a request: it is no part of the conversation.
    assert_eq!(ids(&list(with("spawn_agent"))), [""; 0]);
}

#[test]
fn beginning_of_an_id_is_enough_when_it_is_unique() {
    let history = recorded();
    let found = history.find("0d3").expect("one");
    assert!(
        found
            .path
            .ends_with("0d31fe3f-2b9a-4c04-8184-fb49bf29ecab.jsonl")
    );
    let ambiguous = history.find("0").expect_err("two");
    assert!(
        matches!(ambiguous, HistoryError::Ambiguous { count: 2, .. }),
        "{ambiguous}"
    );
    let none = history.open("x").expect_err("none");
    assert_eq!(
        none.to_string(),
        "no conversation x; list them with bowline history"
    );
}

/// A copy of the fixtures that may be changed.
fn copy() -> tempfile::TempDir {
    fn copy_into(from: &Path, to: &Path) {
        fs::create_dir_all(to).expect("a folder");
        for entry in fs::read_dir(from).expect("a folder").flatten() {
            let to = to.join(entry.file_name());
            if entry.path().is_dir() {
                copy_into(&entry.path(), &to);
            } else {
                fs::copy(entry.path(), to).expect("a copy");
            }
        }
    }
    let root = tempfile::tempdir().expect("a folder");
    copy_into(&fixtures(), root.path());
    root
}

fn conversation(root: &Path, id: &str) -> PathBuf {
    root.join("claude/projects/-home-dev-project")
        .join(format!("{id}.jsonl"))
}

const OLDEST: &str = "10628630-b204-4d08-8f85-2105d1972764";

#[test]
fn history_of_user_has_its_index_in_the_cache() {
    let root = copy();
    let folders = folders(root.path());
    let cache = root.path().join("cache");
    let variable = |name: &str| match name {
        "CLAUDE_CONFIG_DIR" => Some(folders.claude.clone().into_os_string()),
        "CODEX_HOME" => Some(folders.codex.clone().into_os_string()),
        "XDG_CACHE_HOME" => Some(cache.clone().into_os_string()),
        _ => None,
    };
    let listing = History::of_user(variable).list(&Query::default());
    assert_eq!(listing.expect("a list").conversations.len(), 6);
    let index = fs::read_dir(cache.join("bowline")).expect("a folder");
    assert!(index.count() > 0);
}

#[test]
fn index_is_used_until_a_file_changes() {
    let root = copy();
    let history = History::new(folders(root.path())).with_index(root.path().join("cache"));
    let list = || history.list(&Query::default()).expect("a list");
    let first = list();
    assert_eq!((first.conversations.len(), first.problems.len()), (6, 0));
    let file = conversation(root.path(), OLDEST);
    let text = fs::read_to_string(&file).expect("a file");
    let modified = fs::metadata(&file)
        .and_then(|it| it.modified())
        .expect("a time");
    let write = |text: &str, time: SystemTime| {
        fs::write(&file, text).expect("written");
        File::options()
            .write(true)
            .open(&file)
            .and_then(|it| it.set_modified(time))
            .expect("set");
    };
    let title = |listing: &Listing| {
        let found = listing.conversations.iter().find(|it| it.id == OLDEST);
        found.and_then(|it| it.title.clone())
    };
    let other = text.replace("Say ahoy", "Say howd");
    write(&other, modified);
    assert_eq!(
        title(&list()).as_deref(),
        Some("Say ahoy"),
        "the index says so"
    );
    write(&other, modified + Duration::from_secs(1));
    assert_eq!(
        title(&list()).as_deref(),
        Some("Say howd"),
        "the time changed"
    );
    write(
        &other.replace("Say howd", "Say hi"),
        modified + Duration::from_secs(1),
    );
    assert_eq!(
        title(&list()).as_deref(),
        Some("Say hi"),
        "the size changed"
    );
    fs::remove_file(&file).expect("removed");
    assert_eq!(list().conversations.len(), 5);
    fs::write(root.path().join("cache/history.index"), "damaged").expect("written");
    assert_eq!(list().conversations.len(), 5);
}

#[test]
fn index_that_cannot_be_stored_is_a_problem() {
    let root = copy();
    let blocked = root.path().join("file");
    fs::write(&blocked, "").expect("written");
    let history = History::new(folders(root.path())).with_index(&blocked);
    let listing = history.list(&Query::default()).expect("a list");
    assert_eq!(listing.conversations.len(), 6);
    assert_eq!(listing.problems.len(), 1);
    assert!(
        listing.problems[0]
            .reason
            .starts_with("the index was not stored")
    );
}

#[test]
fn nothing_is_written_to_the_agents_folders() {
    fn state(folder: &Path, all: &mut Vec<(PathBuf, SystemTime, u64)>) {
        let data = fs::metadata(folder).expect("metadata");
        all.push((
            folder.to_owned(),
            data.modified().expect("a time"),
            data.len(),
        ));
        if data.is_dir() {
            for entry in fs::read_dir(folder).expect("a folder").flatten() {
                state(&entry.path(), all);
            }
        }
    }
    let root = copy();
    let cache = tempfile::tempdir().expect("a folder");
    let state = || {
        let mut all = Vec::new();
        state(root.path(), &mut all);
        all.sort();
        all
    };
    let before = state();
    let history = History::new(folders(root.path())).with_index(cache.path());
    for conversation in history
        .list(&Query::default())
        .expect("a list")
        .conversations
    {
        let past = history.open(&conversation.id).expect("a conversation");
        assert!(past.transcript().entries().all(|entry| entry.is_history()));
    }
    assert_eq!(state(), before);
}

#[test]
fn missing_history_says_what_to_do() {
    let root = tempfile::tempdir().expect("a folder");
    let history = History::new(folders(root.path()));
    let error = history.list(&Query::default()).expect_err("no history");
    let looked_in = root.path().join("claude/projects");
    let expected = format!(
        "no conversations in {}; run claude first, or set CLAUDE_CONFIG_DIR to its folder",
        looked_in.display()
    );
    assert_eq!(error.to_string(), expected);
    fs::create_dir_all(root.path().join("codex/sessions")).expect("a folder");
    assert!(
        history
            .list(&Query::default())
            .expect("an empty list")
            .conversations
            .is_empty()
    );
    let claude = Query {
        agent: Some(Agent::Claude),
        ..Query::default()
    };
    assert!(matches!(
        history.list(&claude),
        Err(HistoryError::NoHistory { .. })
    ));
    fs::write(root.path().join("claude"), "").expect("written");
    assert!(matches!(
        history.list(&claude),
        Err(HistoryError::Unreadable { .. })
    ));
}

#[test]
fn damaged_line_is_an_entry_and_the_rest_is_there() {
    let root = copy();
    let history = History::new(folders(root.path()));
    let file = conversation(root.path(), OLDEST);
    let text = fs::read_to_string(&file).expect("a file");
    let torn = text.replacen("{\"parentUuid\"", "}{\"torn\0", 1);
    fs::write(&file, torn).expect("written");
    let listing = history.list(&Query::default()).expect("a list");
    assert_eq!(
        (listing.conversations.len(), listing.problems.len()),
        (6, 0)
    );
    let transcript = history.open(OLDEST).expect("a conversation").transcript();
    let transcript = serde_json::to_value(transcript).expect("JSON");
    assert_eq!(transcript["stats"]["parse_errors"], 1);
    let entries = transcript["entries"].as_array().expect("entries");
    let errors = entries.iter().filter(|entry| entry["kind"] == "error");
    assert_eq!(errors.count(), 1);
    let texts = transcript["entries"].to_string();
    assert!(texts.contains("Ahoy.") && texts.contains("Both agents came back."));
}

/// The errors of a conversation, which its statistics count.
fn errors(root: &Path, id: &str) -> Vec<String> {
    let history = History::new(folders(root));
    let transcript = history.open(id).expect("a conversation").transcript();
    let transcript = serde_json::to_value(transcript).expect("JSON");
    let entries = transcript["entries"].as_array().expect("entries");
    let errors = entries.iter().filter(|entry| entry["kind"] == "error");
    let errors: Vec<String> = errors.map(|it| it["text"].to_string()).collect();
    assert_eq!(transcript["stats"]["parse_errors"], errors.len());
    errors
}

fn assert_missing(root: &Path, id: &str, agent: &str) {
    let errors = errors(root, id);
    assert!(
        matches!(&*errors, [error] if error.contains(agent) && error.contains("is missing")),
        "{errors:?}"
    );
}

#[test]
fn unreadable_sub_agent_is_an_error() {
    let root = copy();
    let agents = "claude/projects/-home-dev-project/43e4a65b-4638-4c6f-b6a2-6660cef7c885/subagents";
    let rollouts = "codex/sessions/2026/11/23";
    let (agent, thread) = ("a308814f5f5c9887a", "01a20984-2770-7e83-b282-3392f700abf9");
    let files = [
        ("43e4a65b", agent, format!("{agents}/agent-{agent}.jsonl")),
        (
            "01a20984-253e",
            thread,
            format!("{rollouts}/rollout-2026-11-23T17-46-25-{thread}.jsonl"),
        ),
    ];
    for (conversation, agent, file) in files {
        let file = root.path().join(file);
        fs::remove_file(&file).expect("removed");
        assert_missing(root.path(), conversation, agent);
        // Reading a folder as a file fails for every user, root too.
        fs::create_dir(&file).expect("a folder");
        assert_missing(root.path(), conversation, agent);
    }
}

#[test]
fn unlistable_sub_agents_are_an_error() {
    let root = copy();
    let id = "43e4a65b-4638-4c6f-b6a2-6660cef7c885";
    let folder = conversation(root.path(), id)
        .with_extension("")
        .join("subagents");
    fs::remove_dir_all(&folder).expect("removed");
    fs::write(&folder, "").expect("a file");
    let errors = errors(root.path(), id).join("\n");
    assert!(errors.contains("sub-agents are missing"), "{errors}");
}

/// One conversation whose every sub-agent starts another one.
fn nested(root: &Path, depth: usize) {
    let project = root.join("claude/projects/p");
    let agents = project.join("s/subagents");
    fs::create_dir_all(&agents).expect("a folder");
    let thread = |level: usize| {
        let call = format!(r#"{{"type":"tool_use","id":"t{level}","name":"Task","input":{{}}}}"#);
        let message = format!(r#"{{"id":"m{level}","role":"assistant","content":[{call}]}}"#);
        format!(
            r#"{{"type":"assistant","uuid":"u{level}","parentUuid":null,"sessionId":"s","message":{message}}}"#
        ) + "\n"
    };
    fs::write(project.join("s.jsonl"), thread(0)).expect("written");
    for level in 1..=depth {
        let file = agents.join(format!("agent-a{level}.jsonl"));
        fs::write(&file, thread(level)).expect("written");
        let meta = format!(r#"{{"toolUseId":"t{}"}}"#, level - 1);
        fs::write(file.with_extension("meta.json"), meta).expect("written");
    }
}

/// The same for rollouts.
fn nested_rollouts(root: &Path, depth: usize) {
    let folder = root.join("codex/sessions/2026/01/01");
    fs::create_dir_all(&folder).expect("a folder");
    let id = |level: usize| format!("{level:08}-0000-4000-8000-000000000000");
    for level in 0..=depth {
        let next = id(level + 1);
        let receivers = if level < depth {
            format!(r#"["{next}"]"#)
        } else {
            "[]".to_owned()
        };
        let lines = [
            format!(
                r#"{{"type":"session_meta","payload":{{"id":"{}"}}}}"#,
                id(level)
            ),
            format!(
                r#"{{"type":"event_msg","payload":{{"type":"item_completed","item":{{"type":"CollabAgentToolCall","id":"c{level}","tool":"spawn_agent","receiver_thread_ids":{receivers}}}}}}}"#
            ),
            format!(
                r#"{{"type":"response_item","payload":{{"type":"function_call","call_id":"c{level}","name":"spawn_agent","arguments":"{{}}"}}}}"#
            ),
        ];
        let prompt = r#"{"type":"event_msg","payload":{"type":"user_message","message":"begin"}}"#;
        let lines = [&[prompt.to_owned()][..], &lines].concat();
        let file = folder.join(format!("rollout-2026-01-01T00-00-00-{}.jsonl", id(level)));
        fs::write(file, lines.join("\n") + "\n").expect("written");
    }
}

/// `DEEPEST` of both agents.
const DEEPEST: usize = 32;

#[test]
fn sub_agent_below_the_deepest_level_is_an_error() {
    let root = tempfile::tempdir().expect("a folder");
    nested(root.path(), DEEPEST);
    nested_rollouts(root.path(), DEEPEST);
    let none: [&str; 0] = [];
    assert_eq!(errors(root.path(), "s"), none);
    assert_eq!(errors(root.path(), "00000000-"), none);
    nested(root.path(), DEEPEST + 1);
    nested_rollouts(root.path(), DEEPEST + 1);
    assert_missing(root.path(), "s", "a33");
    assert_missing(root.path(), "00000000-", "00000033-");
}

#[cfg(unix)]
#[test]
fn links_are_not_followed_round_and_what_cannot_be_read_is_a_problem() {
    use std::os::unix::fs::symlink;
    let root = copy();
    let projects = root.path().join("claude/projects");
    symlink(&projects, projects.join("-home-dev-project/loop")).expect("a link");
    symlink("self.jsonl", projects.join("-home-dev-project/self.jsonl")).expect("a link");
    symlink(&projects, projects.join("again")).expect("a link");
    symlink("/nowhere", projects.join("-home-dev-project/lost.jsonl")).expect("a link");
    fs::create_dir(projects.join("-home-dev-project/folder.jsonl")).expect("a folder");
    fs::write(projects.join("file"), "").expect("a file");
    fs::write(projects.join("-home-dev-project/empty.jsonl"), "").expect("a file");
    let listing = History::new(folders(root.path()))
        .list(&Query::default())
        .expect("a list");
    assert_eq!(listing.conversations.len(), 6);
    let mut left: Vec<_> = listing
        .problems
        .iter()
        .filter_map(|it| it.path.file_name()?.to_str())
        .collect();
    left.sort_unstable();
    assert_eq!(left, ["folder.jsonl", "lost.jsonl", "self.jsonl"]);
}

#[cfg(unix)]
#[test]
fn sub_agent_that_is_no_regular_file_is_an_error() {
    use std::os::unix::fs::symlink;
    let root = tempfile::tempdir().expect("a folder");
    nested(root.path(), 1);
    let none: [&str; 0] = [];
    assert_eq!(errors(root.path(), "s"), none);
    let file = root
        .path()
        .join("claude/projects/p/s/subagents/agent-a1.jsonl");
    fs::remove_file(&file).expect("removed");
    symlink("/dev/null", &file).expect("a link");
    assert_missing(root.path(), "s", "a1");
}

#[cfg(unix)]
#[test]
fn index_is_private_and_its_parts_are_removed() {
    use std::os::unix::fs::PermissionsExt as _;
    let root = copy();
    let state = root.path().join("new/state");
    let list = || {
        let history = History::new(folders(root.path())).with_index(&state);
        history.list(&Query::default()).expect("a list")
    };
    list();
    let mode = |path: &Path| {
        let mode = fs::metadata(path).expect("there").permissions().mode();
        mode & 0o777
    };
    assert_eq!(mode(&state), 0o700);
    assert_eq!(mode(&state.join("history.index")), 0o600);
    // A folder cannot be replaced by a file.
    fs::remove_file(state.join("history.index")).expect("removed");
    fs::create_dir_all(state.join("history.index/in")).expect("a folder");
    assert_eq!(list().problems.len(), 1);
    let left = fs::read_dir(&state).expect("a folder").count();
    assert_eq!(left, 1);
}
