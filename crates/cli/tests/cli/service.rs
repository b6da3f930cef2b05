//! `bowline serve --install` writes a unit and has systemd load it, or a launch agent on macOS; `--uninstall`
//! removes it.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{CommandOutput, command, finish, write_script};

/// The program of the service manager.
const MANAGER: &str = if cfg!(target_os = "macos") {
    "launchctl"
} else {
    "systemctl"
};

/// Where the definition is in a home directory.
const DEFINITION: &str = if cfg!(target_os = "macos") {
    "Library/LaunchAgents/dev.bowline.runner.plist"
} else {
    ".config/systemd/user/bowline.service"
};

/// A home directory, and a program of the service manager that is a script.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    fn new(script: &str) -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        write_script(&machine.path(MANAGER), script);
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

    fn definition(&self) -> PathBuf {
        self.path(DEFINITION)
    }

    fn calls(&self) -> String {
        let calls = fs::read_to_string(self.path("calls")).unwrap();
        fs::remove_file(self.path("calls")).unwrap();
        calls
    }
}

/// Writes down its arguments.
const RECORD: &str = r#"echo "$*" >> "$CALLS""#;

#[test]
#[cfg(target_os = "linux")]
fn service_is_installed_with_absolute_paths_and_removed() {
    let machine = Machine::new(RECORD);
    let args = ["--state-dir", "state", "--listen", "127.0.0.1:7000"];
    let said = machine.serve(&[&args[..], &["--install"]].concat()).ok();
    assert!(said.starts_with(&format!(
        "wrote {}\nstarted",
        machine.definition().display()
    )));
    assert_eq!(
        machine.calls(),
        "--user daemon-reload\n--user enable bowline.service\n--user restart bowline.service\n"
    );
    let unit = fs::read_to_string(machine.definition()).unwrap();
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
    assert!(!machine.definition().exists());
    let line = machine.serve(&["--uninstall"]).failed(1);
    assert!(line.contains("no service is installed"), "{line}");
}

/// The agent is installed twice: launchd has none at first, and one that is replaced then.
#[test]
#[cfg(target_os = "macos")]
fn agent_is_installed_replaced_and_removed() {
    let machine = Machine::new(&format!(
        r#"{RECORD}; [ "$1" != print ] || [ -e "$CALLS.loaded" ] || exit 113; : > "$CALLS.loaded""#
    ));
    let target = format!(
        "gui/{}/dev.bowline.runner",
        rustix::process::getuid().as_raw()
    );
    let file = machine.definition().display().to_string();
    let domain = target.split("/dev").next().unwrap();
    let args = ["--state-dir", "state", "--install"];
    let said = machine.serve(&args).ok();
    assert!(
        said.starts_with(&format!("wrote {file}\nstarted")),
        "{said}"
    );
    assert_eq!(
        machine.calls(),
        format!("print {target}\nbootstrap {domain} {file}\n")
    );
    let list = fs::read_to_string(&file).unwrap();
    let state = machine.path("state");
    assert!(
        list.contains(&format!("<string>{}</string>", state.display())),
        "{list}"
    );

    machine.serve(&args).ok();
    assert_eq!(
        machine.calls(),
        format!("print {target}\nbootout {target}\nbootstrap {domain} {file}\n")
    );
    machine.serve(&["--uninstall"]).ok();
    assert_eq!(machine.calls(), format!("bootout {target}\n"));
    assert!(!machine.definition().exists());
    let line = machine.serve(&["--uninstall"]).failed(1);
    assert!(line.contains("no service is installed"), "{line}");
}

#[test]
fn failed_start_of_the_service_is_reported() {
    let machine = Machine::new("echo 'Failed to connect to bus' >&2; exit 1");
    let line = machine.serve(&["--install"]).failed(1);
    assert!(line.contains("installed, but was not started"), "{line}");
    assert!(line.contains("Failed to connect to bus"), "{line}");
    assert!(machine.definition().exists());
    machine.serve(&["--uninstall"]).ok();
    assert!(!machine.definition().exists());

    fs::remove_file(machine.path(MANAGER)).unwrap();
    let line = machine.serve(&["--install"]).failed(1);
    assert!(line.contains(&format!("{MANAGER} is missing")), "{line}");
}

#[test]
fn installation_does_not_go_with_removal() {
    let machine = Machine::new(RECORD);
    machine.serve(&["--install", "--uninstall"]).failed(2);
    assert!(!Path::new(&machine.path("calls")).exists());
}
