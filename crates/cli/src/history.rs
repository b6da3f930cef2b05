//! `bowline history`: the conversations that agents keep on disk.

use std::env::var_os;
use std::process::ExitCode;

use bowline_history::{Agent, Conversation, History, Query};

use crate::args::{self, HistoryAgent};
use crate::failure::Failure;
use crate::stdio::{eprint, print};
use crate::table::{self, age, list_text, now_ms};
use crate::text::one_line;

/// Largest width of a title, a model or a branch, in columns.
const MAX_TITLE: usize = 60;
const MAX_CELL: usize = 24;

const HEADER: [&str; 8] = [
    "ID", "AGENT", "AGE", "TURNS", "COST", "MODEL", "BRANCH", "TITLE",
];

/// Returns the history of this machine's user, with its index in the user's cache.
pub(crate) fn history() -> History {
    History::of_user(|name| var_os(name))
}

/// Lists conversations, the newest first. What cannot be read is reported on standard error.
pub(crate) fn list(options: &args::History) -> Result<ExitCode, Failure> {
    let query = Query {
        agent: options.agent.map(|agent| match agent {
            HistoryAgent::Claude => Agent::Claude,
            HistoryAgent::Codex => Agent::Codex,
        }),
        cwd: options.cwd.clone(),
        search: options.search.clone(),
        limit: options.count,
    };
    let listing = history()
        .list(&query)
        .map_err(|error| Failure::caused("", &error))?;
    for problem in &listing.problems {
        let line = format!("{}: {}", problem.path.display(), problem.reason);
        eprint(&format!("bowline: {}\n", Failure::failed(line).line()));
    }
    let conversations = &listing.conversations;
    let table = || {
        if conversations.is_empty() {
            return "no conversations\n".to_owned();
        }
        let now = now_ms();
        table::format(&HEADER, conversations.iter().map(|it| row(it, now)))
    };
    print(&list_text(&options.list, conversations, table)?)?;
    Ok(ExitCode::SUCCESS)
}

fn row(conversation: &Conversation, now_ms: u64) -> [String; HEADER.len()] {
    let cell = |text: &Option<String>, width| one_line(text.as_deref().unwrap_or("-"), width);
    let seconds = now_ms.saturating_sub(conversation.last_activity_ms) / 1000;
    [
        one_line(&conversation.id, MAX_TITLE),
        conversation.agent.to_string(),
        age(seconds),
        conversation.turns.to_string(),
        conversation
            .cost_usd
            .map_or_else(|| "-".to_owned(), |cost| format!("${cost:.2}")),
        cell(&conversation.model, MAX_CELL),
        cell(&conversation.branch, MAX_CELL),
        cell(&conversation.title, MAX_TITLE),
    ]
}
