//! A launch agent of the user: launchd.plist(5), launchctl(1).
#![cfg_attr(
    not(target_os = "macos"),
    expect(dead_code, reason = "Linux has systemd")
)]

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::{Service, run};
use crate::failure::Failure;

const LABEL: &str = "dev.bowline.runner";

/// How often an agent is loaded that replaces another one, and the pause between two attempts: launchd refuses
/// it (EIO) until it has let go of the former one, which it kills after 20 s (`ExitTimeOut` of launchd.plist(5)).
const ATTEMPTS: u32 = 50;
const PAUSE: Duration = Duration::from_millis(500);

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
/// it. The log is in the `Library` folder that the definition is in. Agents are not throttled, as the jobs of
/// launchd are unless they are interactive.
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
	<key>ProcessType</key>
	<string>Interactive</string>
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
    load_by(file, launchctl, || sleep(PAUSE))
}

/// Loads the agent. One that is loaded already has the former definition, and is unloaded first.
fn load_by(
    file: &Path,
    launchctl: impl Fn(&[&str]) -> Result<(), String>,
    pause: impl Fn(),
) -> Result<(), String> {
    let is_loaded = launchctl(&["print", &target()]).is_ok();
    if is_loaded {
        // If this fails, so does what follows.
        let _ = unload_by(&launchctl);
    }
    let (domain, file) = (domain(), file.display().to_string());
    let load = || launchctl(&["bootstrap", &domain, &file]);
    let mut loaded = load();
    for _ in 1..if is_loaded { ATTEMPTS } else { 1 } {
        if loaded.is_ok() {
            break;
        }
        pause();
        loaded = load();
    }
    loaded
}

pub(super) fn unload(_: &Path) -> Result<(), String> {
    unload_by(launchctl)
}

/// Unloads the agent. launchd says EINPROGRESS of one that takes a moment to end.
fn unload_by(launchctl: impl Fn(&[&str]) -> Result<(), String>) -> Result<(), String> {
    let unloaded = launchctl(&["bootout", &target()]);
    unloaded.or_else(|error| match error.contains("Operation now in progress") {
        true => Ok(()),
        false => Err(error),
    })
}

fn launchctl(words: &[&str]) -> Result<(), String> {
    run("launchctl", words)
}

/// launchd remembers nothing of an agent that is not loaded.
pub(super) const fn forget() {}

/// The domain of the user's graphical session.
fn domain() -> String {
    format!("gui/{}", rustix::process::getuid().as_raw())
}

/// The agent within its domain.
fn target() -> String {
    format!("{}/{LABEL}", domain())
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

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
        assert!(list.contains("<key>ProcessType</key>\n\t<string>Interactive</string>"));
    }

    /// Loads an agent where launchd has one already, or has none, and refuses the new one a number of times.
    /// Returns the result, the first words of the calls, and the number of pauses.
    fn loaded(has_one: bool, refusals: u32) -> (Result<(), String>, Vec<String>, u32) {
        let (calls, left, pauses) = (RefCell::new(Vec::new()), Cell::new(refusals), Cell::new(0));
        let launchctl = |words: &[&str]| {
            calls.borrow_mut().push(words[0].to_owned());
            match words {
                ["print", of] => {
                    assert_eq!(*of, target());
                    has_one.then_some(()).ok_or_else(|| "none".to_owned())
                }
                ["bootout", of] => {
                    assert_eq!(*of, target());
                    Err("Boot-out failed: 36: Operation now in progress".to_owned())
                }
                ["bootstrap", within, "/a.plist"] if left.get() > 0 => {
                    assert_eq!(*within, domain());
                    left.set(left.get() - 1);
                    Err("Bootstrap failed: 5: Input/output error".to_owned())
                }
                other => {
                    assert_eq!(other[0], "bootstrap");
                    Ok(())
                }
            }
        };
        let done = load_by(Path::new("/a.plist"), launchctl, || {
            pauses.set(pauses.get() + 1);
        });
        (done, calls.into_inner(), pauses.get())
    }

    #[test]
    fn loaded_agent_is_replaced_when_launchd_permits_it() {
        let (done, calls, pauses) = loaded(true, 2);
        assert_eq!((done, pauses), (Ok(()), 2));
        assert_eq!(
            calls,
            ["print", "bootout", "bootstrap", "bootstrap", "bootstrap"]
        );
        let (done, _, pauses) = loaded(true, u32::MAX);
        assert!(done.is_err_and(|it| it.contains("Input/output error")));
        assert_eq!(pauses, ATTEMPTS - 1);
    }

    #[test]
    fn refusal_of_the_first_agent_is_reported_at_once() {
        assert_eq!(loaded(false, 0).1, ["print", "bootstrap"]);
        let (done, calls, pauses) = loaded(false, 1);
        assert!(done.is_err());
        assert_eq!((calls.len(), pauses), (2, 0));
    }

    #[test]
    fn agent_that_takes_a_moment_to_end_is_unloaded() {
        let unloaded = |error: &str| unload_by(|_| Err(error.to_owned()));
        let slow = "launchctl bootout: Boot-out failed: 36: Operation now in progress";
        assert_eq!(unloaded(slow), Ok(()));
        assert!(unloaded("launchctl bootout: Boot-out failed: 3: No such process").is_err());
    }
}
