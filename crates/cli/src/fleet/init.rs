//! `bowline fleet init`: writes the configuration of servers, and credentials.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::process::ExitCode;

use bowline_fleet::{FleetPlan, provision};

use crate::args::fleet::FleetInit;
use crate::failure::Failure;
use crate::stdio::print;

/// Writes the files. Replaces none.
///
/// # Errors
/// If names are wrong, or a file exists or cannot be written.
pub(super) fn init(options: FleetInit) -> Result<ExitCode, Failure> {
    let mut plan = FleetPlan {
        nodes: options.nodes,
        runners: options.runners,
        hosts: options.hosts,
    };
    if plan.nodes.is_empty() {
        plan.nodes.push("127.0.0.1".to_owned());
    }
    let files = provision(&plan).map_err(Failure::usage)?;
    let folder = options.folder;
    let failed = |path: &std::path::Path, error: std::io::Error| {
        Failure::failed(format!(
            "cannot write {}: {error}; choose another folder",
            path.display()
        ))
    };
    let created = DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&folder);
    created.map_err(|error| failed(&folder, error))?;
    let mut text = String::new();
    for file in &files {
        let path = folder.join(&file.name);
        let mode = if file.is_secret { 0o600 } else { 0o644 };
        let opened = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&path);
        let written = opened.and_then(|mut it| it.write_all(file.text.as_bytes()));
        written.map_err(|error| failed(&path, error))?;
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
