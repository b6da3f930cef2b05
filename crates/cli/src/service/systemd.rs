//! A unit of the user's systemd: systemd.service(5), systemd.syntax(7).
#![cfg_attr(target_os = "macos", expect(dead_code, reason = "macOS has launchd"))]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Service, run};
use crate::failure::Failure;

const UNIT: &str = "bowline.service";

pub(super) const LOADED: &str = "\
started; its log: journalctl --user -u bowline
it ends with your last login; to keep it running: loginctl enable-linger
";

/// Returns where the unit is: systemd.unit(5), "User Unit Search Path".
pub(super) fn file(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    let configuration = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let home = || variable("HOME").map(|it| PathBuf::from(it).join(".config"));
    let folder = configuration.or_else(home);
    let folder = folder.ok_or_else(|| Failure::failed("HOME is not set; set it"))?;
    Ok(folder.join("systemd/user").join(UNIT))
}

/// Formats the unit. The daemon alone is stopped with it: each session is a process that outlives it.
pub(super) fn definition(service: &Service, _: &Path) -> String {
    let command: Vec<_> = service.words.iter().map(|it| quote(it, "$$")).collect();
    let command = command.join(" ");
    let path = quote(&format!("PATH={}", service.path), "$");
    format!(
        "[Unit]
Description=Bowline session daemon

[Service]
ExecStart={command}
Environment={path}
KillMode=process
Restart=on-failure

[Install]
WantedBy=default.target
"
    )
}

/// Quotes a word. `%` begins a specifier, and in a command `$` begins a variable.
fn quote(word: &str, dollar: &str) -> String {
    let escaped = word
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('%', "%%")
        .replace('$', dollar);
    format!("\"{escaped}\"")
}

pub(super) fn load(_: &Path) -> Result<(), String> {
    user(&["daemon-reload"])?;
    user(&["enable", UNIT])?;
    user(&["restart", UNIT])
}

pub(super) fn unload(_: &Path) -> Result<(), String> {
    user(&["disable", "--now", UNIT])
}

/// Makes systemd drop the removed unit. It also does at the next login.
pub(super) fn forget() {
    let _ = user(&["daemon-reload"]);
}

fn user(words: &[&str]) -> Result<(), String> {
    run("systemctl", &[&["--user"], words].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_systemd() {
        let service = Service {
            words: ["/a b/bowline", "serve", "50%", "$x\"\\"]
                .map(str::to_owned)
                .into(),
            path: "/opt/$x:/bin".to_owned(),
        };
        let unit = definition(&service, Path::new("unused"));
        let line = |name: &str| unit.lines().find(|it| it.starts_with(name));
        assert_eq!(
            line("ExecStart"),
            Some(r#"ExecStart="/a b/bowline" "serve" "50%%" "$$x\"\\""#)
        );
        assert_eq!(
            line("Environment"),
            Some(r#"Environment="PATH=/opt/$x:/bin""#)
        );
        assert!(
            line("KillMode=process").is_some(),
            "sessions outlive the daemon"
        );
    }
}
