//! Differences between shells: arguments, output descriptor, and start-up files.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::dump::Marks;
use crate::sys::EXTRA;

/// Shells with the same command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    Bash,
    Zsh,
    /// sh, dash, ksh, and shells of unknown name.
    Posix,
    Fish,
    /// csh and tcsh: they close every descriptor above 2.
    Csh,
    /// nushell: it redirects named streams only.
    Nu,
}

/// Command line that prints a shell's environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Question {
    pub(super) arg0: OsString,
    pub(super) args: Vec<OsString>,
}

impl Dialect {
    pub(super) fn of(shell: &Path) -> Self {
        match shell
            .file_name()
            .and_then(OsStr::to_str)
            .unwrap_or_default()
        {
            "bash" => Self::Bash,
            "zsh" => Self::Zsh,
            "fish" => Self::Fish,
            "csh" | "tcsh" => Self::Csh,
            "nu" => Self::Nu,
            _ => Self::Posix,
        }
    }

    /// Returns whether the answer is written to stdout.
    pub(super) fn answers_on_stdout(self) -> bool {
        matches!(self, Self::Csh | Self::Nu)
    }

    /// Returns the command line that prints the environment between two markers. Programs are given
    /// by path, so that neither an alias nor a missing `PATH` affects them.
    pub(super) fn question(self, shell: &Path, interactive: bool, marks: &Marks) -> Question {
        let redirect = match self.answers_on_stdout() {
            true => String::new(),
            false => format!(" >&{EXTRA}"),
        };
        let call = if self == Self::Nu { "^" } else { "" };
        let Marks { open, close } = marks;
        let (printf, env) = (tool("printf"), tool("env"));
        let script = format!(
            "{call}{printf} {open}{redirect}; {call}{env} -0{redirect}; {call}{printf} {close}{redirect}"
        );
        let name = shell.file_name().unwrap_or_default();
        let mut args: Vec<OsString> = Vec::new();
        match self {
            Self::Fish | Self::Nu => args.push("-l".into()),
            _ => {}
        }
        if interactive && self != Self::Nu {
            args.push("-i".into());
        }
        args.extend(["-c".into(), script.into()]);
        // A leading `-` makes a login shell of any shell; not every shell has `-l`.
        let arg0 = match self {
            Self::Fish | Self::Nu => name.to_owned(),
            _ => [OsStr::new("-"), name].into_iter().collect(),
        };
        Question { arg0, args }
    }

    /// Returns the start-up files of the shell, as listed in its manual.
    pub(super) fn files(self, env: &BTreeMap<OsString, OsString>) -> Vec<PathBuf> {
        let value = |name: &str| env.get(OsStr::new(name)).map(PathBuf::from);
        let home = value("HOME").unwrap_or_else(|| "/".into());
        let config = value("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
        let in_home = |names: &[&str]| names.iter().map(|name| home.join(name)).collect();
        let in_etc = |names: &[&str]| {
            names
                .iter()
                .map(|name| Path::new("/etc").join(name))
                .collect()
        };
        let lists: Vec<Vec<PathBuf>> = match self {
            Self::Bash => vec![
                in_etc(&["profile", "profile.d", "bash.bashrc", "bashrc"]),
                in_home(&[".bash_profile", ".bash_login", ".profile", ".bashrc"]),
            ],
            Self::Zsh => {
                let own = value("ZDOTDIR").unwrap_or_else(|| home.clone());
                let names = ["zshenv", "zprofile", "zshrc", "zlogin"];
                let common = ["/etc", "/etc/zsh"]
                    .iter()
                    .flat_map(|folder| names.iter().map(move |name| Path::new(folder).join(name)));
                let own = names.iter().map(|name| own.join(format!(".{name}")));
                vec![common.chain(own).collect()]
            }
            Self::Posix => vec![
                in_etc(&["profile", "profile.d"]),
                in_home(&[".profile"]),
                value("ENV").into_iter().collect(),
            ],
            Self::Fish => {
                let own = config.join("fish");
                let names = ["config.fish", "conf.d", "fish_variables"];
                let own = names.iter().map(|name| own.join(name)).collect();
                vec![in_etc(&["fish/config.fish", "fish/conf.d"]), own]
            }
            Self::Csh => vec![
                in_etc(&["csh.cshrc", "csh.login"]),
                in_home(&[".tcshrc", ".cshrc", ".login"]),
            ],
            Self::Nu => {
                let own = config.join("nushell");
                let names = ["env.nu", "config.nu", "login.nu"];
                vec![names.iter().map(|name| own.join(name)).collect()]
            }
        };
        lists.into_iter().flatten().collect()
    }
}

/// Returns the path of a program that every Unix system has.
fn tool(name: &str) -> String {
    let usual = format!("/usr/bin/{name}");
    let other = format!("/bin/{name}");
    if Path::new(&usual).exists() || !Path::new(&other).exists() {
        usual
    } else {
        other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn command_line_matches_dialect() {
        let marks = Marks {
            open: "MARK".into(),
            close: "STOP".into(),
        };
        let ask = |shell: &str, interactive| {
            let shell = Path::new(shell);
            let question = Dialect::of(shell).question(shell, interactive, &marks);
            let mut words = vec![question.arg0];
            words.extend(question.args);
            let words: Vec<_> = words.iter().map(|word| word.to_str().unwrap()).collect();
            words.join(" ")
        };
        let bash = ask("/bin/bash", true);
        assert!(bash.starts_with("-bash -i -c /usr/bin/printf MARK >&9; /usr/bin/env -0 >&9; "));
        assert!(ask("/bin/dash", false).starts_with("-dash -c "));
        assert!(ask("/opt/fish", true).starts_with("fish -l -i -c "));
        assert!(
            ask("/bin/tcsh", true).ends_with("printf MARK; /usr/bin/env -0; /usr/bin/printf STOP")
        );
        assert!(ask("/bin/nu", true).starts_with("nu -l -c ^/usr/bin/printf MARK; ^"));
    }

    #[test]
    fn startup_files_follow_variables() {
        let env = [
            ("HOME", "/h"),
            ("ZDOTDIR", "/z"),
            ("XDG_CONFIG_HOME", "/x"),
            ("ENV", "/e"),
        ];
        let env = env.map(|(name, value)| (name.into(), value.into())).into();
        let has = |shell: &str, file: &str| {
            Dialect::of(Path::new(shell))
                .files(&env)
                .contains(&file.into())
        };
        assert!(has("bash", "/h/.bashrc") && has("bash", "/etc/profile"));
        assert!(has("zsh", "/z/.zshrc") && !has("zsh", "/h/.zshrc"));
        assert!(has("fish", "/x/fish/config.fish") && has("nu", "/x/nushell/env.nu"));
        assert!(has("dash", "/e") && has("tcsh", "/h/.cshrc"));
    }
}
