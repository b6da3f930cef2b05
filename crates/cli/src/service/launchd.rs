//! A launch agent of the user: launchd.plist(5), launchctl(1).
#![cfg_attr(
    not(target_os = "macos"),
    expect(dead_code, reason = "Linux has systemd")
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::{Service, run};
use crate::failure::Failure;

const LABEL: &str = "dev.bowline.runner";

pub(super) const LOADED: &str = "started; its log: ~/Library/Logs/bowline.log\n";

/// Returns where the agent's definition is: launchd.plist(5), "FILES".
pub(super) fn file(variable: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, Failure> {
    let home = variable("HOME").map(PathBuf::from);
    let home = home.ok_or_else(|| Failure::failed("HOME is not set; set it"))?;
    Ok(home
        .join("Library/LaunchAgents")
        .join(format!("{LABEL}.plist")))
}

/// Formats the property list. The daemon alone is stopped with it: each session is a process that outlives
/// it. The log is in the `Library` folder that the definition is in.
pub(super) fn definition(service: &Service, file: &Path) -> String {
    let library = file.ancestors().nth(2).unwrap_or(file);
    let log = escape(&library.join("Logs/bowline.log").display().to_string());
    let words = service.words.iter();
    let words: String = words
        .map(|it| format!("\t\t<string>{}</string>\n", escape(it)))
        .collect();
    let path = escape(&service.path);
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>{LABEL}</string>
	<key>ProgramArguments</key>
	<array>
{words}	</array>
	<key>EnvironmentVariables</key>
	<dict>
		<key>PATH</key>
		<string>{path}</string>
	</dict>
	<key>StandardOutPath</key>
	<string>{log}</string>
	<key>StandardErrorPath</key>
	<string>{log}</string>
	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>AbandonProcessGroup</key>
	<true/>
</dict>
</plist>
"#
    )
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

pub(super) fn load(file: &Path) -> Result<(), String> {
    // An agent that is loaded already has the former definition.
    let _ = unload(file);
    run(
        "launchctl",
        &["bootstrap", &domain(), &file.display().to_string()],
    )
}

pub(super) fn unload(_: &Path) -> Result<(), String> {
    run("launchctl", &["bootout", &format!("{}/{LABEL}", domain())])
}

/// launchd remembers nothing of an agent that is not loaded.
pub(super) const fn forget() {}

/// The domain of the user's graphical session.
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_escaped_for_a_property_list() {
        let service = Service {
            words: ["/a b/bowline", "serve", "--host", "<a&b>"]
                .map(str::to_owned)
                .into(),
            path: "/opt/bin:/bin".to_owned(),
        };
        let home = |name: &str| (name == "HOME").then(|| "/Users/a".into());
        let file = file(home).unwrap();
        assert_eq!(
            file,
            Path::new("/Users/a/Library/LaunchAgents/dev.bowline.runner.plist")
        );
        let list = definition(&service, &file);
        assert!(list.contains("<string>/a b/bowline</string>\n\t\t<string>serve</string>"));
        assert!(list.contains("<string>&lt;a&amp;b&gt;</string>"));
        assert!(list.contains("<string>/Users/a/Library/Logs/bowline.log</string>"));
        assert!(list.contains("<key>AbandonProcessGroup</key>\n\t<true/>"));
    }
}
