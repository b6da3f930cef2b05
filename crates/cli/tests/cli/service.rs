//! `bowline serve --install` writes a unit and has systemd load it; `--uninstall` removes both.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::{CommandOutput, command, finish};

/// A home directory, and a `systemctl` that writes down its arguments.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new(systemctl: &str) -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        let program = machine.path("systemctl");
        fs::write(&program, format!("#!/bin/sh\n{systemctl}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn serve(&self, args: &[&str]) -> CommandOutput {
        let mut command = command(&[&["serve"], args].concat());
        command
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .env("PATH", self.folder.path())
            .env("CALLS", self.path("calls"))
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("BOWLINE_STATE_DIR");
        finish(command.spawn().unwrap())
    }

    fn unit(&self) -> PathBuf {
        self.path(".config/systemd/user/bowline.service")
    }

    fn calls(&self) -> String {
        let calls = fs::read_to_string(self.path("calls")).unwrap();
        fs::remove_file(self.path("calls")).unwrap();
        calls
    }
}

const RECORD: &str = r#"echo "$*" >> "$CALLS""#;

#[test]
fn service_is_installed_with_absolute_paths_and_removed() {
    let machine = Machine::new(RECORD);
    let args = ["--state-dir", "state", "--listen", "127.0.0.1:7000"];
    let said = machine.serve(&[&args[..], &["--install"]].concat()).ok();
    assert!(said.starts_with(&format!("wrote {}\nstarted", machine.unit().display())));
    assert_eq!(
        machine.calls(),
        "--user daemon-reload\n--user enable bowline.service\n--user restart bowline.service\n"
    );
    let unit = fs::read_to_string(machine.unit()).unwrap();
    let state = machine.path("state");
    let wanted = format!(
        "\"serve\" \"--state-dir\" \"{}\" \"--listen\" \"127.0.0.1:7000\"\n",
        state.display()
    );
    assert!(unit.contains(&wanted), "{unit}");
    let path = format!("Environment=\"PATH={}\"", machine.folder.path().display());
    assert!(unit.contains(&path), "{unit}");

    machine.serve(&["--uninstall"]).ok();
    assert_eq!(
        machine.calls(),
        "--user disable --now bowline.service\n--user daemon-reload\n"
    );
    assert!(!machine.unit().exists());
    let line = machine.serve(&["--uninstall"]).failed(1);
    assert!(line.contains("no service is installed"), "{line}");
}

#[test]
fn failed_start_of_the_service_is_reported() {
    let machine = Machine::new("echo 'Failed to connect to bus' >&2; exit 1");
    let line = machine.serve(&["--install"]).failed(1);
    assert!(line.contains("installed, but was not started"), "{line}");
    assert!(line.contains("Failed to connect to bus"), "{line}");
    assert!(machine.unit().exists());
    machine.serve(&["--uninstall"]).ok();
    assert!(!machine.unit().exists());

    fs::remove_file(machine.path("systemctl")).unwrap();
    let line = machine.serve(&["--install"]).failed(1);
    assert!(line.contains("systemctl is missing"), "{line}");
}

#[test]
fn installation_does_not_go_with_removal() {
    let machine = Machine::new(RECORD);
    machine.serve(&["--install", "--uninstall"]).failed(2);
    assert!(!Path::new(&machine.path("calls")).exists());
}
