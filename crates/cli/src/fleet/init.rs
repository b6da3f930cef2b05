//! `bowline fleet init`: writes the configuration of servers, and credentials.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::process::ExitCode;

use bowline_fleet::{FleetFile, FleetPlan, LogLimits, provision, renew};

use crate::args::fleet::FleetInit;
use crate::failure::Failure;
use crate::stdio::print;

/// Bytes of a gigabyte.
const GIGABYTE: u64 = 1_000_000_000;

/// What the name of a former configuration has at its end.
const OLD: &str = ".old";

/// Writes the files. Replaces none, except configurations with `--renew`.
///
/// # Errors
/// If names are wrong, or a file exists or cannot be read or written.
pub(super) fn init(options: FleetInit) -> Result<ExitCode, Failure> {
    let FleetInit { folder, renew, .. } = &options;
    let mut plan = FleetPlan {
        nodes: options.nodes.clone(),
        runners: options.runners.clone(),
        hosts: options.hosts.clone(),
        log: LogLimits {
            days: Some(options.log_days).filter(|it| *it > 0),
            bytes: options.log_gigabytes.map(|it| u64::from(it) * GIGABYTE),
        },
    };
    if *renew {
        return renew_folder(folder, &plan);
    }
    if plan.nodes.is_empty() {
        plan.nodes.push("127.0.0.1".to_owned());
    }
    let files = provision(&plan).map_err(Failure::usage)?;
    let created = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    created.map_err(|error| cannot_write(folder, &error))?;
    let mut text = String::new();
    for file in &files {
        let path = folder.join(&file.name);
        create(&path, file).map_err(|error| cannot_write(&path, &error))?;
        text.push_str(&format!("{}\n", path.display()));
    }
    let (node, runner) = (&plan.nodes[0], &plan.runners[0]);
    let folder = folder.display();
    text.push_str(&format!(
        "start the server: nats-server -c {folder}/fleet-1.conf\n\
         then, with its own file on each machine: bowline serve --fleet nats://{node}:4222 --creds {folder}/{runner}.creds\n"
    ));
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the configurations of a folder again, and the credentials of what is added.
fn renew_folder(folder: &Path, added: &FleetPlan) -> Result<ExitCode, Failure> {
    let present = read(folder).map_err(|error| {
        Failure::failed(format!(
            "cannot read {}: {error}; name the folder of the fleet",
            folder.display()
        ))
    })?;
    let files = renew(&present, added).map_err(Failure::usage)?;
    let mut text = String::new();
    for file in &files {
        let path = folder.join(&file.name);
        let written = if file.is_secret {
            create(&path, file)
        } else {
            replace(&path, file)
        };
        written.map_err(|error| cannot_write(&path, &error))?;
        text.push_str(&format!("{}\n", path.display()));
    }
    text.push_str(
        "copy each configuration to its server, and have it read: nats-server --signal reload\n",
    );
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the configurations of a folder.
fn read(folder: &Path) -> io::Result<Vec<FleetFile>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".conf") {
            files.push(FleetFile {
                name,
                text: fs::read_to_string(entry.path())?,
                is_secret: false,
            });
        }
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(files)
}

/// Writes a file that does not exist.
fn create(path: &Path, file: &FleetFile) -> io::Result<()> {
    let mode = if file.is_secret { 0o600 } else { 0o644 };
    let mut options = OpenOptions::new();
    let opened = options.write(true).create_new(true).mode(mode).open(path);
    opened?.write_all(file.text.as_bytes())
}

/// Replaces a file, and keeps the former one beside it.
fn replace(path: &Path, file: &FleetFile) -> io::Result<()> {
    let beside = |end: &str| path.with_file_name(file.name.clone() + end);
    let new = beside(".new");
    fs::write(&new, &file.text)?;
    fs::rename(path, beside(OLD))?;
    fs::rename(&new, path)
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    Failure::failed(format!(
        "cannot write {}: {error}; choose another folder",
        path.display()
    ))
}
