//! `bowline ui`: the page of this user's runner, in a browser.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};

use bowline_runner::RunnerClient;
use tokio::process::Command;

use crate::args;
use crate::daemon;
use crate::failure::Failure;
use crate::runner::state_dir;
use crate::stdio::{eprint, print};

/// Prints a link that logs the page in once, and opens it in a browser.
///
/// # Errors
/// If the runner cannot be started, or cannot serve the page.
pub(crate) async fn ui(options: &args::Ui) -> Result<ExitCode, Failure> {
    let link = login_link().await?;
    print(&format!("{link}\n"))?;
    if !options.no_open {
        open_link(state_dir()?.path(), &link).await;
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens a link in the user's browser, by a file in `folder`. Without a browser, says what to do.
pub(crate) async fn open_link(folder: &Path, link: &str) {
    let opened = match redirect_file(folder, link) {
        Ok(file) => open(&file).await,
        Err(_) => false,
    };
    if !opened {
        eprint("bowline: no browser was found; open the link in one on this machine\n");
    }
}

/// Name of the file in the state folder that leads a browser to the link.
const REDIRECT: &str = "login.html";

/// Writes the link to a file that only this user can read. As an argument of a program, every user of the machine could
/// read it while the program runs, and log in first.
fn redirect_file(folder: &Path, link: &str) -> io::Result<PathBuf> {
    let path = folder.join(REDIRECT);
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let page = format!("<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={link}\">\n");
    options.open(&path)?.write_all(page.as_bytes())?;
    Ok(path)
}

/// Asks the runner for a link; starts it if it does not run.
async fn login_link() -> Result<String, Failure> {
    let client = RunnerClient::local(&state_dir()?);
    let runner = args::RunnerArgs::default();
    daemon::request(&runner, async || client.login_link().await).await
}

/// Opens a file in the user's browser. Returns whether a program took it.
async fn open(file: &Path) -> bool {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let opened = Command::new(program)
        .arg(file)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .await;
    opened.is_ok_and(|status| status.success())
}
