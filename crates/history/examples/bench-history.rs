//! Time to list 10,000 conversations of 1 GB: `cargo bench-history [CONVERSATIONS] [KILOBYTES]`.
//!
//! Generates a history in the shape of Claude Code's in a temporary folder, and lists it without an index,
//! with an empty one, and with a full one. The files are in the page cache.
#![expect(clippy::print_stdout, reason = "a program that measures")]

use std::error::Error;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::time::Instant;

use bowline_history::{AgentFolders, History, Query};

const PROJECTS: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1).map(|arg| arg.parse::<usize>());
    let count = args.next().transpose()?.unwrap_or(10_000);
    let kilobytes = args.next().transpose()?.unwrap_or(100);
    let root = tempfile::tempdir()?;
    let bytes = generate(root.path(), count, kilobytes << 10)?;
    println!("{count} conversations, {:.2} GB", bytes as f64 / 1e9);
    let folders = AgentFolders {
        claude: root.path().to_owned(),
        codex: root.path().join("codex"),
    };
    let plain = History::new(folders);
    let indexed = plain.clone().with_index(root.path().join("cache"));
    let all = Query::default();
    let search = Query {
        search: Some("not in any conversation".to_owned()),
        ..Query::default()
    };
    for (name, history, query) in [
        ("without an index", &plain, &all),
        ("without an index, again", &plain, &all),
        ("filling the index", &indexed, &all),
        ("with the index", &indexed, &all),
        ("with the index, again", &indexed, &all),
        ("search in all texts", &indexed, &search),
    ] {
        let begin = Instant::now();
        let found = history.list(query)?.conversations.len();
        println!(
            "{name:<26} {:>8.1} ms, {found} found",
            begin.elapsed().as_secs_f64() * 1e3
        );
    }
    Ok(())
}

/// Writes conversations and returns their size in bytes.
fn generate(root: &Path, count: usize, size: usize) -> Result<usize, Box<dyn Error>> {
    let mut bytes = 0;
    for number in 0..count {
        let folder = root.join(format!("projects/-srv-project-{}", number % PROJECTS));
        fs::create_dir_all(&folder)?;
        let text = conversation(number, size)?;
        bytes += text.len();
        let name = format!("{number:08x}-0000-4000-8000-000000000000.jsonl");
        fs::write(folder.join(name), text)?;
    }
    Ok(bytes)
}

/// One conversation: prompts, each with three calls whose results are most of the bytes.
fn conversation(number: usize, size: usize) -> Result<String, Box<dyn Error>> {
    let output = "a line of output with words, numbers 12345 and \\\"quotes\\\"\\n".repeat(40);
    let mut text = String::with_capacity(size + (size >> 3));
    let (mut turn, mut line) = (0, 0);
    while text.len() < size {
        turn += 1;
        let mut add = |kind: &str, message: &str, text: &mut String| {
            let parent = line;
            line += 1;
            writeln!(
                text,
                r#"{{"parentUuid":"{parent:08x}","isSidechain":false,"type":"{kind}","message":{message},"uuid":"{line:08x}","timestamp":"2026-11-{:02}T10:{:02}:{:02}.000Z","userType":"external","cwd":"/srv/project-{}","sessionId":"{number:08x}-0000-4000-8000-000000000000","version":"2.1.330","gitBranch":"main"}}"#,
                number % 28 + 1,
                turn % 60,
                line % 60,
                number % PROJECTS,
            )
        };
        add(
            "user",
            &format!(r#"{{"role":"user","content":"Prompt {turn} of {number}"}}"#),
            &mut text,
        )?;
        for call in 0..3 {
            add(
                "assistant",
                &format!(
                    r#"{{"id":"msg_{turn}_{call}","role":"assistant","model":"model-1","content":[{{"type":"tool_use","id":"toolu_{turn}_{call}","name":"Bash","input":{{"command":"make"}}}}],"usage":{{"input_tokens":10,"output_tokens":5}}}}"#
                ),
                &mut text,
            )?;
            add(
                "user",
                &format!(
                    r#"{{"role":"user","content":[{{"tool_use_id":"toolu_{turn}_{call}","type":"tool_result","content":"{output}"}}]}}"#
                ),
                &mut text,
            )?;
        }
        add(
            "assistant",
            &format!(
                r#"{{"id":"msg_{turn}","role":"assistant","model":"model-1","content":[{{"type":"text","text":"Done with {turn}."}}],"usage":{{"input_tokens":10,"output_tokens":5}}}}"#
            ),
            &mut text,
        )?;
    }
    Ok(text)
}
