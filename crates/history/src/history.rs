//! The conversations of all agents: listed, found, opened.

use std::borrow::Cow;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::PathBuf;

use crate::agent::{Agent, AgentFolders};
use crate::conversation::{Conversation, Summary};
use crate::error::{HistoryError, Problem};
use crate::file::read;
use crate::index::{Index, Stamp};
use crate::past::Past;
use crate::search::Search;
use crate::{claude, codex, parallel};

/// The conversations that agents keep on disk. Nothing is ever written to them.
///
/// All methods block: they read files, on as many threads as there are cores.
#[derive(Clone, Debug)]
pub struct History {
    folders: AgentFolders,
    cache: Option<PathBuf>,
}

/// Which conversations are listed. The default is all of them.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Only those of this agent.
    pub agent: Option<Agent>,
    /// Only those that began in this directory or below it.
    pub cwd: Option<PathBuf>,
    /// Only those in whose title, prompts or answers this text occurs, in any case. Every candidate is
    /// read.
    pub search: Option<String>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

/// A list of conversations.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The conversations, those with the newest activity first.
    pub conversations: Vec<Conversation>,
    /// What was left out, and why.
    pub problems: Vec<Problem>,
}

/// Returns `bowline` in the user's folder for caches.
fn cache_folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name| {
        variable(name)
            .filter(|it| !it.is_empty())
            .map(PathBuf::from)
    };
    let system = if cfg!(target_os = "macos") {
        "Library/Caches"
    } else {
        ".cache"
    };
    let cache = set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(system)))?;
    Some(cache.join("bowline"))
}

impl History {
    /// Creates a history over the agents' folders, without an index.
    #[must_use]
    pub const fn new(folders: AgentFolders) -> Self {
        Self {
            folders,
            cache: None,
        }
    }

    /// Creates the history of a user from the environment, whose variables `variable` returns: over the
    /// [agents' folders](AgentFolders::from_environment), with an index in the user's folder for caches. All programs of
    /// the user share that index.
    pub fn of_user(variable: impl Fn(&str) -> Option<OsString>) -> Self {
        let history = Self::new(AgentFolders::from_environment(&variable));
        match cache_folder(variable) {
            Some(folder) => history.with_index(folder),
            None => history,
        }
    }

    /// Keeps an index in a folder, so that only files that changed since are read. An index that is
    /// damaged, or of another version, is rebuilt.
    #[must_use]
    pub fn with_index(mut self, folder: impl Into<PathBuf>) -> Self {
        self.cache = Some(folder.into());
        self
    }

    /// Lists conversations, those with the newest activity first.
    ///
    /// # Errors
    ///
    /// [`HistoryError::NoHistory`] if the queried agent, or every agent, has no conversations, and
    /// [`HistoryError::Unreadable`] if its folder cannot be read. A file that cannot be read is a
    /// [`Problem`] of the list.
    pub fn list(&self, query: &Query) -> Result<Listing, HistoryError> {
        let mut problems = Vec::new();
        let files = self.files(query.agent, &mut problems)?;
        let mut conversations = self.summarized(files, &mut problems);
        if let Some(cwd) = &query.cwd {
            let cwd = fs::canonicalize(cwd).unwrap_or_else(|_| cwd.clone());
            conversations.retain(|it| it.cwd.as_ref().is_some_and(|its| its.starts_with(&cwd)));
        }
        if let Some(search) = query.search.as_deref().and_then(Search::new) {
            let found = parallel::map(&conversations, |it| search.is_in(it));
            let mut found = found.into_iter();
            conversations.retain(|_| found.next() == Some(true));
        }
        conversations.sort_by(|a, b| {
            let newest = b.last_activity_ms.cmp(&a.last_activity_ms);
            newest.then_with(|| a.id.cmp(&b.id))
        });
        conversations.truncate(query.limit.unwrap_or(usize::MAX));
        Ok(Listing {
            conversations,
            problems,
        })
    }

    /// Finds a conversation by its id, or by a beginning that no other id has.
    ///
    /// # Errors
    ///
    /// [`HistoryError::NotFound`] or [`HistoryError::Ambiguous`], or those of [`list`](Self::list).
    pub fn find(&self, id: &str) -> Result<Conversation, HistoryError> {
        let mut problems = Vec::new();
        let mut files = self.files(None, &mut problems)?;
        // Names of files have the id, so that no other file is read.
        files.retain(|file| file.id().starts_with(id));
        let mut found = self.summarized(files, &mut problems);
        if let Some(exact) = found.iter().position(|it| it.id == id) {
            return Ok(found.swap_remove(exact));
        }
        match &found[..] {
            [] => Err(HistoryError::NotFound { id: id.to_owned() }),
            [_] => Ok(found.remove(0)),
            [first, ..] => Err(HistoryError::Ambiguous {
                id: id.to_owned(),
                count: found.len(),
                example: first.id.clone(),
            }),
        }
    }

    /// Reads a conversation.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find).
    pub fn open(&self, id: &str) -> Result<Past, HistoryError> {
        let conversation = self.find(id)?;
        let read = match conversation.agent {
            Agent::Claude => claude::stream(&conversation.path),
            Agent::Codex => codex::stream(&conversation.path, conversation.title.as_deref()),
        };
        let stream = read.map_err(|source| HistoryError::Unreadable {
            path: conversation.path.clone(),
            source,
        })?;
        Ok(Past::new(conversation, stream.bytes))
    }

    /// Returns the files of the conversations.
    fn files(
        &self,
        agent: Option<Agent>,
        problems: &mut Vec<Problem>,
    ) -> Result<Vec<ConversationFile>, HistoryError> {
        let (mut files, mut missing) = (Vec::new(), Vec::new());
        let agents = agent.map_or_else(|| Agent::ALL.to_vec(), |agent| vec![agent]);
        for &agent in &agents {
            let folder = self.folders.conversations(agent);
            match fs::read_dir(&folder) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    missing.push((agent, folder));
                    continue;
                }
                Err(source) => {
                    let path = folder;
                    return Err(HistoryError::Unreadable { path, source });
                }
            }
            let paths = match agent {
                Agent::Claude => claude::conversations(&folder, problems),
                Agent::Codex => codex::conversations(&folder, problems),
            };
            let stated = |path: PathBuf| match Stamp::of(&path) {
                Ok(stamp) => Some(ConversationFile { agent, path, stamp }),
                Err(error) => {
                    problems.push(Problem::new(path, error));
                    None
                }
            };
            files.extend(paths.into_iter().filter_map(stated));
        }
        let is_empty = missing.len() == agents.len();
        match missing.into_iter().next().filter(|_| is_empty) {
            Some((agent, looked_in)) => Err(HistoryError::NoHistory { agent, looked_in }),
            None => Ok(files),
        }
    }

    /// Summarizes the files: from the index, or by reading them.
    fn summarized(
        &self,
        files: Vec<ConversationFile>,
        problems: &mut Vec<Problem>,
    ) -> Vec<Conversation> {
        let mut index = self.cache.as_deref().map(Index::load).unwrap_or_default();
        let is_new = |file: &&ConversationFile| index.get(&file.path, file.stamp).is_none();
        let new: Vec<&ConversationFile> = files.iter().filter(is_new).collect();
        let read = parallel::map(&new, |file| (file.path.clone(), file.stamp, file.read()));
        let is_changed = !read.is_empty();
        for (path, stamp, summary) in read {
            match summary {
                Ok(summary) => index.insert(path, stamp, summary),
                Err(error) => problems.push(Problem::new(path, error)),
            }
        }
        if let Some(folder) = self.cache.as_deref().filter(|_| is_changed) {
            index.forget_missing();
            if let Err(error) = index.store(folder) {
                problems.push(Problem::new(
                    folder,
                    format!("the index was not stored: {error}"),
                ));
            }
        }
        let names = codex::names(&self.folders.codex);
        let conversation = |file: ConversationFile| {
            let summary = index
                .get(&file.path, file.stamp)
                .filter(|it| it.is_listed)?;
            let mut conversation = file.conversation(summary.clone());
            if let Some(name) = names.get(&conversation.id) {
                conversation.title = Some(name.clone());
            }
            Some(conversation)
        };
        files.into_iter().filter_map(conversation).collect()
    }
}

/// The file of a conversation.
#[derive(Debug)]
struct ConversationFile {
    agent: Agent,
    path: PathBuf,
    stamp: Stamp,
}

impl ConversationFile {
    /// The id of the conversation.
    fn id(&self) -> Cow<'_, str> {
        let stem = || self.path.file_stem().unwrap_or_default().to_string_lossy();
        match self.agent {
            Agent::Claude => stem(),
            Agent::Codex => codex::id(&self.path).map_or_else(stem, Cow::Borrowed),
        }
    }

    fn read(&self) -> io::Result<Summary> {
        let data = read(&self.path)?;
        Ok(match self.agent {
            Agent::Claude => claude::summary(&data),
            Agent::Codex => codex::summary(&data),
        })
    }

    fn conversation(self, summary: Summary) -> Conversation {
        Conversation {
            id: self.id().into_owned(),
            agent: self.agent,
            title: summary.title,
            cwd: summary.cwd,
            branch: summary.branch,
            model: summary.model,
            turns: summary.turns,
            cost_usd: summary.cost_usd,
            last_activity_ms: summary
                .last_activity_ms
                .unwrap_or_else(|| self.stamp.modified_ms()),
            bytes: self.stamp.bytes,
            path: self.path,
        }
    }
}
