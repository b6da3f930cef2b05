//! Choices for a new session: the agents that are installed on this machine, and folders.

use std::fs;
use std::path::{Path, PathBuf};

use axum::Json;
use bowline_lifecycle::KnownAgent;
use bowline_transport::Configuration;
use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use utoipa::ToSchema;

use crate::api::extract::QueryParams;
use crate::api::problem::Problem;

/// Maximum number of folders in a response.
const MAX_FOLDERS: usize = 50;

/// Maximum number of entries of a folder that are read.
const MAX_ENTRIES: usize = 10_000;

/// The agents that are known by name.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Agents {
    agents: Vec<AgentOnMachine>,
}

/// An agent, and where it is installed.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct AgentOnMachine {
    /// Its name, for `agent` of a new session.
    #[schema(value_type = String, example = "claude")]
    name: &'static str,
    /// Its program; `null` if it is not in `PATH`.
    path: Option<String>,
    /// The protocol that it is driven by.
    #[schema(example = "claude")]
    dialect: String,
    /// The command that installs it.
    #[schema(value_type = String)]
    install: &'static str,
}

/// List the agents that are known by name, and where they are installed.
#[utoipa::path(get, path = "/api/agents", operation_id = "agents",
    responses((status = 200, description = "Success", body = Agents), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn agents() -> Result<Json<Agents>, Problem> {
    let agents = spawn_blocking(|| KnownAgent::ALL.iter().map(agent_on_machine).collect());
    let agents = agents.await.map_err(Problem::internal)?;
    Ok(Json(Agents { agents }))
}

fn agent_on_machine(agent: &KnownAgent) -> AgentOnMachine {
    let found = Configuration::new(agent.name).find_program();
    AgentOnMachine {
        name: agent.name,
        path: found.ok().map(|path| path.to_string_lossy().into_owned()),
        dialect: agent.dialect().to_string(),
        install: agent.install,
    }
}

/// The beginning of a path.
#[derive(Debug, Deserialize, utoipa::IntoParams, ToSchema)]
#[into_params(parameter_in = Query)]
pub(super) struct FolderQuery {
    /// An absolute path, or one that begins with `~/`, that may end within a name. Default: the home folder.
    #[serde(default)]
    prefix: Option<String>,
}

/// Folders whose path begins with a text.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Folders {
    /// Absolute paths, sorted, at most 50. Hidden ones only if the prefix has the dot.
    folders: Vec<String>,
}

/// List the folders whose path begins with a text.
#[utoipa::path(get, path = "/api/folders", operation_id = "folders", params(FolderQuery),
    responses((status = 200, description = "Success", body = Folders), (status = "default", description = "Error", body = Problem)))]
pub(super) async fn folders(
    QueryParams(query): QueryParams<FolderQuery>,
) -> Result<Json<Folders>, Problem> {
    let home = std::env::home_dir();
    let prefix = query.prefix.unwrap_or_else(|| "~/".to_owned());
    let Some(prefix) = absolute(&prefix, home.as_deref()) else {
        return Err(Problem::bad_request(
            "`prefix` must be an absolute path, or begin with `~/`",
        ));
    };
    let listing = spawn_blocking(move || matching_folders(&prefix));
    let folders = listing.await.map_err(Problem::internal)?;
    Ok(Json(Folders { folders }))
}

fn absolute(prefix: &str, home: Option<&Path>) -> Option<String> {
    if prefix.starts_with('/') {
        return Some(prefix.to_owned());
    }
    let below = prefix.strip_prefix("~/")?;
    Some(format!("{}/{below}", home?.to_str()?))
}

/// Returns the folders that a path which ends within a name may mean. A folder that cannot be read has none.
fn matching_folders(prefix: &str) -> Vec<String> {
    let (parent, name) = prefix.rsplit_once('/').unwrap_or(("", prefix));
    let parent = PathBuf::from(format!("{parent}/"));
    let entries = fs::read_dir(&parent).into_iter().flatten().flatten();
    let matches = entries.take(MAX_ENTRIES).filter_map(|entry| {
        let file_name = entry.file_name().into_string().ok()?;
        let is_wanted =
            file_name.starts_with(name) && (name.starts_with('.') || !file_name.starts_with('.'));
        // A link may lead to a folder.
        let is_folder = is_wanted && entry.path().is_dir();
        is_folder.then(|| parent.join(file_name).to_str().map(str::to_owned))?
    });
    let mut folders: Vec<_> = matches.collect();
    folders.sort_unstable();
    folders.truncate(MAX_FOLDERS);
    folders
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_those_that_begin_with_the_prefix() {
        let scratch = tempfile::tempdir().unwrap();
        let root = scratch.path().to_str().unwrap();
        for name in ["project", "private", ".hidden", "other"] {
            fs::create_dir(scratch.path().join(name)).unwrap();
        }
        fs::write(scratch.path().join("prose"), "").unwrap();
        let names = |prefix: &str| -> Vec<String> {
            let found = matching_folders(&format!("{root}/{prefix}"));
            let names = found.iter().map(|it| it.rsplit_once('/').unwrap().1);
            names.map(str::to_owned).collect()
        };
        assert_eq!(names("pr"), ["private", "project"]);
        assert_eq!(names(""), ["other", "private", "project"]);
        assert_eq!(names(".h"), [".hidden"]);
        assert!(names("missing/x").is_empty());
    }

    #[test]
    fn prefix_is_absolute_or_below_home() {
        let home = Some(Path::new("/home/dev"));
        assert_eq!(absolute("~/a", home).as_deref(), Some("/home/dev/a"));
        assert_eq!(absolute("/a", None).as_deref(), Some("/a"));
        assert_eq!(absolute("a", home), None);
        assert_eq!(absolute("~/a", None), None);
    }
}
