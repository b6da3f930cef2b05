//! The examples of the crate `bowline`, run with the understudy in place of the agent.
//!
//! Cargo builds them for `cargo test --workspace`. For this test alone, build them first:
//! `cargo build -p bowline --examples --features remote,hooks,shell`, and `cargo build -p bowline-cli` for
//! the runner of the remote session.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use bowline_tests::script::write_script;

/// A folder with a `claude` that is the understudy.
fn agent() -> tempfile::TempDir {
    agent_with("")
}

/// The same with options of the understudy.
fn agent_with(options: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("claude");
    let script = format!(
        "#!/bin/sh\nexec '{}' --pace 0 {options} \"$@\"\n",
        env!("CARGO_BIN_EXE_stand-in")
    );
    write_script(&path, &script).expect("a script");
    folder
}

/// A program of the build folder.
fn built(path: impl AsRef<Path>, command: &str) -> PathBuf {
    let test = std::env::current_exe().expect("this test");
    let target = test.parent().and_then(|deps| deps.parent());
    let path = target.expect("the build folder").join(path);
    assert!(
        path.exists(),
        "{} is missing; run {command}",
        path.display()
    );
    path
}

/// A command that finds the agent first in its `PATH`.
fn command(program: PathBuf, agent: &Path) -> Command {
    let path = std::env::var("PATH").unwrap_or_default();
    let mut command = Command::new(program);
    command
        .current_dir(agent)
        .env("PATH", format!("{}:{path}", agent.display()));
    command
}

/// Runs an example, and returns what it prints.
fn run(name: &str, args: &[&str]) -> String {
    run_with(&agent(), name, args)
}

fn run_with(agent: &tempfile::TempDir, name: &str, args: &[&str]) -> String {
    let build = "cargo build -p bowline --examples --features remote,hooks,shell";
    let program = built(Path::new("examples").join(name), build);
    let output = command(program, agent.path()).args(args).output();
    let output = output.expect("the example runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name}: {text}{errors}");
    text
}

#[test]
fn ask_prints_the_answer_and_the_cost() {
    let text = run("ask", &[]);
    assert!(text.contains("cost: "), "{text}");
}

#[test]
fn stream_ends_with_the_end_of_the_session() {
    let text = run("stream", &[]);
    let last = text.lines().rfind(|line| line.contains("\"status\""));
    assert!(last.is_some_and(|line| line.contains("ended")), "{text}");
}

#[test]
fn permission_callback_denies() {
    assert!(run("permission", &["/ask"]).contains("denied "));
}

#[test]
fn interrupt_cancels_the_turn() {
    assert!(run("interrupt", &["/lines 1000000"]).contains("Cancelled"));
}

#[test]
fn resume_has_a_second_session() {
    assert!(run("resume", &[]).contains("entries"));
}

#[test]
fn usage_limit_is_waited_for_and_the_work_continues() {
    let agent = agent_with("--scenario limit.toml");
    let scenario = "[[turn]]\nmatch = 'spend'\nsteps = [\
        { limits = { window_minutes = 300, used_percent = 100, resets_at = 4000000000 } },\
        { fail = { status = 429, text = 'limit reached', error = 'rate_limit' } } ]\n\
        [[turn]]\nmatch = 'Continue.'\nsteps = [ { text = 'The tests pass.' } ]";
    std::fs::write(agent.path().join("limit.toml"), scenario).expect("a scenario");
    let text = run_with(&agent, "reset", &["spend", "now"]);
    let (question, answer) = text.split_once('\n').expect("two lines");
    assert!(question.contains("resets"), "{text}");
    assert_eq!(answer, "The tests pass.\n");
}

/// `bowline serve`, ended when dropped.
struct Served(Child);

impl Served {
    /// Starts a runner on a socket and waits until it serves.
    fn at(socket: &str, agent: &Path) -> Self {
        let program = built("bowline", "cargo build -p bowline-cli");
        let mut serve = command(program, agent);
        serve
            .args(["serve", "--socket", socket])
            .env("BOWLINE_STATE_DIR", agent.join("state"))
            .stdout(Stdio::piped());
        let mut child = serve.spawn().expect("the runner starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let line = lines.next().expect("a line").expect("text");
        assert!(line.contains(socket), "{line}");
        Self(child)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn remote_session_runs_at_a_served_socket() {
    let agent = agent();
    let socket = agent.path().join("runner.sock").display().to_string();
    let _served = Served::at(&socket, agent.path());
    let text = run_with(&agent, "remote", &[&format!("unix:{socket}")]);
    let id = text
        .lines()
        .next()
        .and_then(|it| it.strip_prefix("session "));
    assert!(id.is_some_and(|id| id.len() == 36), "{text}");
    assert!(text.lines().count() == 2, "{text}");
}

/// The names that a module exports, as its users write them: re-exports, and what it defines itself.
fn exported_names(source: &str) -> BTreeSet<&str> {
    let exports = source.split("\npub use ").skip(1);
    let exports = exports.filter_map(|it| it.split(';').next());
    // Braces nest one level, as in `a::{self as b, c, d::e}`.
    let lists = exports.map(|it| it.split_once('{').map_or(it, |(_, list)| list));
    let names = lists.flat_map(|it| it.split(','));
    let names = names.map(|it| it.trim_matches(['{', '}', ' ', '\n']));
    let names = names.map(|it| it.rsplit([' ', ':']).next().unwrap_or(it));
    let defined = source.lines().filter_map(defined_name);
    let all = names.filter(|name| !name.is_empty()).chain(defined);
    all.collect()
}

/// The name of the public item that a line of a module begins; `record!` defines a struct.
fn defined_name(line: &str) -> Option<&str> {
    let item = match line.strip_prefix("    pub ") {
        Some(record) => record.starts_with(char::is_uppercase).then_some(record)?,
        None => {
            let item = line.strip_prefix("pub ")?;
            let item = item.strip_prefix("const fn ").unwrap_or(item);
            let kinds = [
                "fn ", "struct ", "enum ", "trait ", "const ", "static ", "type ",
            ];
            kinds
                .iter()
                .find_map(|kind| item.strip_prefix(kind))
                .or_else(|| item.strip_prefix("async fn "))?
        }
    };
    item.split(|it: char| !it.is_alphanumeric() && it != '_')
        .next()
}

/// The names of the tables of examples in the documentation of a module, whose rows begin with a program
/// of the crate's folder `examples`, a section, or an item whose documentation has the example.
fn names_with_example<'a>(source: &'a str, folder: &Path) -> BTreeSet<&'a str> {
    let rows = source
        .lines()
        .filter_map(|line| line.strip_prefix("//! | "));
    let rows = rows.filter_map(|row| row.split_once(" | "));
    let mut listed = BTreeSet::new();
    for (example, names) in rows {
        let program = example.trim_matches('`');
        let is_example = match example.split_once("](#") {
            Some((title, _)) => has_example(source, title.trim_matches('[')),
            None if example.starts_with("[`") => links_to_example(example, folder),
            None => program.starts_with("examples/") && folder.join(program).exists(),
        };
        if is_example {
            let names = names.split('`').skip(1).step_by(2);
            listed.extend(names.map(|name| name.trim_end_matches("()")));
        }
    }
    listed
}

/// Whether the documentation of a module has a section of this title, with code that is compiled.
fn has_example(source: &str, title: &str) -> bool {
    let mut lines = source.lines();
    let is_heading = |line: &str| line.starts_with("//! #");
    let heading =
        |line: &str| is_heading(line) && line.trim_start_matches(['/', '!', ' ', '#']) == title;
    let found = lines.find(|line| heading(line)).is_some();
    found
        && lines
            .take_while(|line| !is_heading(line) || line.starts_with("//! # "))
            .any(is_code)
}

/// Whether the item that a row links to has an example in its documentation. A module stands for its page.
fn links_to_example(link: &str, folder: &Path) -> bool {
    let path = link.split('`').nth(1).unwrap_or_default();
    let (kinds, name): (&[&str], _) = match path.rsplit_once("::") {
        Some((_, method)) => (&["pub fn "], method),
        None if path.starts_with(char::is_lowercase) => return true,
        None => (&["pub struct ", "pub enum "], path),
    };
    let names_item = |line: &str| {
        let rest = kinds.iter().find_map(|kind| line.strip_prefix(kind));
        let after = rest.and_then(|rest| rest.strip_prefix(name));
        after.is_some_and(|after| !after.starts_with(|it: char| it.is_alphanumeric() || it == '_'))
    };
    sources(&folder.join("src")).iter().any(|source| {
        let mut has_code = false;
        source.lines().map(str::trim_start).any(|line| {
            let is_found = has_code && names_item(line);
            let is_kept = has_code && (line.starts_with("///") || line.starts_with("#["));
            has_code = is_kept || ["/// ```", "/// ```no_run"].contains(&line);
            is_found
        })
    })
}

/// The texts of the source files of a folder and the folders in it.
fn sources(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder of sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                vec![std::fs::read_to_string(&path).expect("a source file")]
            }
        })
        .collect()
}

/// Whether a line begins code that is compiled, maybe with a feature only.
fn is_code(line: &str) -> bool {
    ["//! ```", "//! ```no_run", "//! ```should_panic"].contains(&line)
        || line.starts_with("#![cfg_attr(feature")
}

/// Checks that each public name of a module is listed with its example, on its own page or on another one.
fn assert_listed(module: &str, at_least: usize, other: Option<&str>) {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let listed_in = |module: &str| {
        let source = std::fs::read_to_string(crates.join(module)).expect("the module");
        let folder = crates.join(module.split('/').next().expect("a crate"));
        let names = names_with_example(&source, &folder);
        let exported = exported_names(&source);
        let owned = |names: BTreeSet<&str>| names.into_iter().map(str::to_owned).collect();
        (owned(names), owned(exported))
    };
    let (listed, exported): (BTreeSet<String>, BTreeSet<String>) = listed_in(module);
    let elsewhere = other.map(|other| listed_in(other).0).unwrap_or_default();
    assert!(exported.len() > at_least, "{module}: {exported:?}");
    let without: Vec<_> = exported
        .difference(&listed)
        .filter(|it| !elsewhere.contains(*it))
        .collect();
    assert!(
        without.is_empty(),
        "{module}: no example is named for {without:?}"
    );
    let gone: Vec<_> = listed.difference(&exported).collect();
    assert!(gone.is_empty(), "{module}: {gone:?} is not exported");
}

#[test]
fn every_exported_name_is_listed_with_its_example() {
    for (module, at_least) in [
        ("bowline/src/lib.rs", 50),
        ("hooks/src/lib.rs", 20),
        ("shell/src/lib.rs", 20),
        ("reducer/src/lib.rs", 40),
        ("reducer/src/dialect.rs", 10),
        ("reducer/src/model.rs", 15),
        ("reducer/src/owned.rs", 10),
        ("jsonl/src/lib.rs", 100),
        ("jsonl/src/acp.rs", 40),
        ("jsonl/src/acp/write.rs", 15),
        ("jsonl/src/codex.rs", 30),
        ("jsonl/src/codex/write.rs", 15),
        ("jsonl/src/rpc.rs", 3),
        ("lifecycle/src/control.rs", 6),
    ] {
        assert_listed(module, at_least, None);
    }
    // The facade exports most of this crate.
    assert_listed("lifecycle/src/lib.rs", 130, Some("bowline/src/lib.rs"));
}

#[test]
fn replay_prints_the_transcript() {
    let fixture = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/plain.jsonl");
    assert!(run("replay", &[fixture]).contains("\"schema\": 2"));
}

#[test]
fn shell_prints_the_lines() {
    assert!(run("shell", &[]).contains("ready"));
}

#[test]
fn hooks_are_received() {
    let text = run("hooks", &[]);
    assert!(text.contains("SessionEnd"), "{text}");
}
