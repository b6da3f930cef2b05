//! `bowline serve --install`: the daemon as a service of this user, started at login: a unit of systemd,
//! or a launch agent on macOS.

mod launchd;
mod systemd;

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

#[cfg(target_os = "macos")]
use launchd as manager;
#[cfg(not(target_os = "macos"))]
use systemd as manager;

use crate::args::Serve;
use crate::failure::Failure;
use crate::stdio::print;

/// The command that a service manager runs.
struct Service {
    /// The program and its arguments.
    words: Vec<String>,
    /// `PATH`, since service managers set a short one, in which agents are not found.
    path: String,
}

/// Writes the definition of the service, starts it, and has it started at each login.
///
/// An installed service is replaced; its sessions keep running.
pub(crate) fn install(options: &Serve) -> Result<ExitCode, Failure> {
    let service = service(options)?;
    let file = manager::file(variable)?;
    write(&file, &manager::definition(&service, &file))?;
    print(&format!("wrote {}\n", file.display()))?;
    manager::load(&file).map_err(|error| {
        let text = format!("the service is installed, but was not started: {error}");
        Failure::failed(text)
    })?;
    print(manager::LOADED)?;
    Ok(ExitCode::SUCCESS)
}

/// Stops the service and removes its definition. Sessions keep running.
pub(crate) fn uninstall() -> Result<ExitCode, Failure> {
    let file = manager::file(variable)?;
    if !file.exists() {
        let text = format!("no service is installed: {} does not exist", file.display());
        return Err(Failure::failed(text));
    }
    // A service that is not loaded cannot be unloaded, and is removed all the same.
    let unloaded = manager::unload(&file);
    fs::remove_file(&file).map_err(|error| cannot("remove", &file, &error))?;
    manager::forget();
    print(&format!("removed {}\n", file.display()))?;
    if let Err(error) = unloaded {
        print(&format!("the service was not running: {error}\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

fn service(options: &Serve) -> Result<Service, Failure> {
    let program = std::env::current_exe();
    let program = program
        .map_err(|error| Failure::failed(format!("cannot find the path of bowline: {error}")))?;
    let mut words = vec![text(&program)?, "serve".to_owned()];
    words.extend(options.words(variable("BOWLINE_STATE_DIR").map(PathBuf::from))?);
    let path = variable("PATH").unwrap_or_default();
    let path = text(Path::new(&path))?;
    Ok(Service { words, path })
}

impl Serve {
    /// Returns the options as words, with absolute paths: a service has another working directory.
    fn words(&self, state_dir: Option<PathBuf>) -> Result<Vec<String>, Failure> {
        let state_dir = self.state_dir.clone().or(state_dir);
        let paths = [
            ("--socket", &self.socket),
            ("--token-file", &self.token_file),
            ("--state-dir", &state_dir),
            ("--policy", &self.policy),
            ("--tls-cert", &self.tls_cert),
            ("--tls-key", &self.tls_key),
            ("--client-ca", &self.client_ca),
            ("--notify-secret-file", &self.notify_secret_file),
        ];
        let mut words = Vec::new();
        let mut add = |name: &str, value: String| words.extend([name.to_owned(), value]);
        for (name, path) in paths {
            if let Some(path) = path {
                let absolute = std::path::absolute(path);
                let absolute = absolute.map_err(|error| cannot("find", path, &error))?;
                add(name, text(&absolute)?);
            }
        }
        self.listen
            .iter()
            .for_each(|address| add("--listen", address.to_string()));
        self.origin
            .iter()
            .for_each(|origin| add("--origin", origin.clone()));
        self.host
            .iter()
            .for_each(|host| add("--host", host.clone()));
        self.notify
            .iter()
            .for_each(|url| add("--notify", url.clone()));
        if self.tls_own {
            words.push("--tls-own".to_owned());
        }
        #[cfg(feature = "fleet")]
        words.extend(self.fleet_words()?);
        Ok(words)
    }
}

#[cfg(feature = "fleet")]
impl Serve {
    /// Returns the options of a fleet. A service has no `BOWLINE_FLEET_CREDS`.
    fn fleet_words(&self) -> Result<Vec<String>, Failure> {
        let Some(url) = &self.fleet else {
            return Ok(Vec::new());
        };
        let mut words = vec!["--fleet".to_owned(), url.clone()];
        let creds = self.creds.clone();
        let creds = creds.or_else(|| variable(crate::fleet::CREDENTIALS).map(PathBuf::from));
        if let Some(path) = creds {
            let absolute = std::path::absolute(&path);
            let absolute = absolute.map_err(|error| cannot("find", &path, &error))?;
            words.extend(["--creds".to_owned(), text(&absolute)?]);
        }
        if self.advertise {
            words.push("--advertise".to_owned());
        }
        Ok(words)
    }
}

/// A definition is a text of lines.
fn text(path: &Path) -> Result<String, Failure> {
    let text = path.to_str().filter(|it| !it.contains(['\n', '\r', '\0']));
    text.map(str::to_owned).ok_or_else(|| {
        let name = path.display();
        Failure::failed(format!("{name:?} cannot be in a service's definition, since it is no line of UTF-8; use another path"))
    })
}

/// Writes the file and its folders.
fn write(file: &Path, content: &str) -> Result<(), Failure> {
    let folder = file.parent().unwrap_or(file);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(file, content));
    written.map_err(|error| cannot("write", file, &error))
}

fn cannot(what: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::failed(format!("cannot {what} {}: {error}", path.display()))
}

/// Runs a program of the service manager. The error is what it printed.
fn run(program: &str, words: &[&str]) -> Result<(), String> {
    let done = Command::new(program).args(words).output();
    let done = done.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            format!("{program} is missing; run `nohup bowline serve &`, or add `bowline serve` to your init system")
        }
        _ => format!("cannot run {program}: {error}"),
    })?;
    if done.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&done.stderr);
    let said = said.trim().replace('\n', "; ");
    Err(format!("{program} {}: {said}", words.join(" ")))
}
