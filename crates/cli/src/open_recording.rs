//! `bowline inspect FILE --open` and `bowline replay FILE --open`: a recording on the page, served as long as its tab
//! is open.

mod copy;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use bowline_reducer::dialect::DialectName;
use bowline_runner::{
    RecordingDetails, Runner, RunnerClient, ServeConfiguration, ServeLimits, ShimProgram, StateDir,
};
use tokio::signal::unix::SignalKind;
use tokio::task::spawn_blocking;

use crate::args;
use crate::failure::Failure;
use crate::history::history;
use crate::recording::Recording;
use crate::serve::SHIM;
use crate::signals::listen;
use crate::stdio::{eprint, print};
use crate::ui::open_link;

/// How long the server waits for a tab to come back, as it does when it is loaded again.
const GRACE: Duration = Duration::from_secs(5);

/// Shows a recording.
pub(crate) async fn inspect(options: args::Inspect) -> Result<ExitCode, Failure> {
    show(Source::File(options.file), options.dialect).await
}

/// Shows a recording or a past conversation.
pub(crate) async fn replay(options: args::Replay) -> Result<ExitCode, Failure> {
    let source = match (options.file, options.conversation) {
        (Some(file), _) => Source::File(file),
        (None, id) => Source::Conversation(id.unwrap_or_default()),
    };
    show(source, options.dialect).await
}

/// What is shown.
enum Source {
    File(PathBuf),
    Conversation(String),
}

/// Serves the page on a port of its own until its tab is closed, or until a signal.
async fn show(source: Source, dialect: Option<DialectName>) -> Result<ExitCode, Failure> {
    let mut interrupt = listen(SignalKind::interrupt())?;
    let mut terminate = listen(SignalKind::terminate())?;
    let folder = Folder::create().map_err(|error| Failure::failed(cannot_copy(&error)))?;
    let state =
        StateDir::at(folder.0.join("s")).map_err(|error| Failure::caused("cannot", &error))?;
    let (copied, losses) = spawn_blocking({
        let state = state.clone();
        move || copy(&state, source, dialect)
    })
    .await
    .map_err(|error| Failure::failed(format!("cannot copy the recording: {error}")))??;
    for loss in losses {
        eprint(&format!("bowline: {loss}\n"));
    }
    // Port 0: the page takes any free port, and leaves the usual one to the runner.
    fs::write(state.path().join("page-port"), "0")
        .map_err(|error| Failure::failed(cannot_copy(&error)))?;
    let runner = Runner::start(configuration(&state)?).await;
    let runner = runner.map_err(|error| Failure::caused("cannot", &error))?;
    let link = RunnerClient::local(&state).login_link().await;
    let link = link.map_err(|error| Failure::caused("cannot open the page:", &error))?;
    let link = format!("{link}&open={copied}");
    print(&format!("{link}\n"))?;
    open_link(state.path(), &link).await;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        () = runner.wait_until_unused(GRACE) => {}
    }
    runner.stop().await;
    Ok(ExitCode::SUCCESS)
}

fn copy(
    state: &StateDir,
    source: Source,
    dialect: Option<DialectName>,
) -> Result<(String, Vec<String>), Failure> {
    let label = dialect.map(|it| (DialectName::LABEL.to_owned(), it.as_str().to_owned()));
    let labels: BTreeMap<_, _> = label.into_iter().collect();
    match source {
        Source::File(path) => {
            let name = path.file_name().unwrap_or(path.as_os_str());
            let details = RecordingDetails {
                name: name.to_string_lossy().into_owned(),
                labels,
                ..RecordingDetails::default()
            };
            copy::recording(state, Recording::open(&path)?, details)
        }
        Source::Conversation(id) => {
            let past = history().open(&id);
            let past = past.map_err(|error| Failure::caused("", &error))?;
            let conversation = past.conversation;
            let details = RecordingDetails {
                name: conversation.title.unwrap_or(conversation.id),
                is_history: true,
                program: Some(conversation.agent.name().to_owned()),
                cwd: conversation.cwd,
                labels,
                unreadable: Vec::new(),
            };
            let copied = copy::lines(state, past.stream, details);
            let copied = copied.map_err(|error| Failure::failed(cannot_copy(&error)))?;
            Ok((copied, Vec::new()))
        }
    }
}

fn cannot_copy(error: &io::Error) -> String {
    format!(
        "cannot copy the recording to {}: {error}; free some space",
        std::env::temp_dir().display()
    )
}

fn configuration(state: &StateDir) -> Result<ServeConfiguration, Failure> {
    let program = std::env::current_exe();
    let path = program
        .map_err(|error| Failure::failed(format!("cannot find the path of bowline: {error}")))?;
    Ok(ServeConfiguration {
        shim: ShimProgram {
            path,
            args: vec![SHIM.into()],
        },
        socket: Some(state.path().join("runner.sock")),
        listen: Vec::new(),
        token_file: state.path().join("token"),
        hosts: Vec::new(),
        origins: Vec::new(),
        tls: None,
        limits: ServeLimits::default(),
        state: state.clone(),
        policy: Default::default(),
    })
}

/// A folder that is removed with its content.
struct Folder(PathBuf);

impl Folder {
    fn create() -> io::Result<Self> {
        let name = format!("bowline-recording-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut builder = fs::DirBuilder::new();
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        match builder.create(&path) {
            // Left over from a process that was killed and had the same id.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_own(&path) => {
                fs::remove_dir_all(&path)?;
                builder.create(&path)?;
            }
            created => created?,
        }
        Ok(Self(path))
    }
}

fn is_own(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let owner = fs::symlink_metadata(path).map(|it| it.uid());
    owner.is_ok_and(|uid| uid == rustix::process::getuid().as_raw())
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Nothing can be done about a file that cannot be removed.
        let _ = fs::remove_dir_all(&self.0);
    }
}
