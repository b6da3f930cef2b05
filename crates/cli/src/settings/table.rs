//! The settings that there are.

/// A setting: the default of an option of some commands.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// Its name; a dot separates the table from the key.
    pub(super) key: &'static str,
    pub(super) kind: SettingKind,
    /// Its value where the file does not set it; empty for none.
    pub(super) default: &'static str,
    /// The commands, and the id of the option in them; without commands, that of all, or none if it is empty.
    pub(super) commands: &'static [&'static str],
    pub(super) option: &'static str,
    pub(super) about: &'static str,
    /// A value, for tests.
    #[cfg(test)]
    pub(super) example: &'static [&'static str],
}

/// The type of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingKind {
    Text,
    Switch,
    Texts,
}

impl Setting {
    /// Formats values as TOML.
    pub(super) fn literal(&self, values: &[String]) -> Option<String> {
        match self.kind {
            SettingKind::Texts => {
                let items: Vec<_> = values.iter().map(|it| quoted(it)).collect();
                Some(format!("[{}]", items.join(", ")))
            }
            SettingKind::Switch => values.first().cloned(),
            SettingKind::Text => values.first().map(|it| quoted(it)),
        }
    }

    /// Formats the default as TOML; `None` if there is none.
    pub(super) fn literal_default(&self) -> Option<String> {
        match self.kind {
            SettingKind::Texts => Some("[]".to_owned()),
            SettingKind::Switch => Some(self.default.to_owned()),
            SettingKind::Text if self.default.is_empty() => None,
            SettingKind::Text => Some(quoted(self.default)),
        }
    }
}

/// Quotes a text as TOML does (`basic-string`).
fn quoted(text: &str) -> String {
    let mut quoted = String::from('"');
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            _ if char.is_control() => quoted.push_str(&format!("\\u{:04x}", u32::from(char))),
            _ => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

const AGENTS: &[&str] = &["run", "chat"];
const CLIENTS: &[&str] = &[
    "chat", "ps", "attach", "logs", "send", "answer", "wait", "kill", "acp",
];

macro_rules! setting {
    ($key:literal, $kind:ident, $default:literal, $commands:expr, $option:literal, $example:expr, $about:literal) => {
        Setting {
            key: $key,
            kind: SettingKind::$kind,
            default: $default,
            commands: $commands,
            option: $option,
            about: $about,
            #[cfg(test)]
            example: $example,
        }
    };
}

/// All settings; those of a table are together.
#[rustfmt::skip]
pub(super) static SETTINGS: &[Setting] = &[
    setting!("agent", Text, "claude", &["run", "chat", "acp", "doctor"], "agent", &["codex"], "the agent of new sessions"),
    setting!("dialect", Text, "", &["run", "chat", "acp"], "dialect", &["acp"], "the agent's protocol"),
    setting!("model", Text, "", AGENTS, "model", &["opus"], "the model"),
    setting!("permission_mode", Text, "", AGENTS, "permission_mode", &["plan"], "the permission mode"),
    setting!("allowed_tools", Text, "", AGENTS, "allowed_tools", &["Read"], "tools that need no permission"),
    setting!("log_format", Text, "text", &[], "log_format", &["json"], "the format of the log, text or json"),
    setting!("runner.url", Text, "", CLIENTS, "runner", &["unix:/x"], "the runner, by default this user's own"),
    setting!("runner.token_file", Text, "", CLIENTS, "token_file", &["/t"], "the file with its token"),
    setting!("runner.fingerprint", Text, "", CLIENTS, "fingerprint", &["00"], "its certificate's fingerprint"),
    setting!("runner.client_cert", Text, "", CLIENTS, "client_cert", &["/c"], "this client's certificate"),
    setting!("runner.client_key", Text, "", CLIENTS, "client_key", &["/k"], "its private key"),
    setting!("chat.no_runner", Switch, "false", &["chat"], "no_runner", &["true"], "run the agent in the chat's own process"),
    setting!("serve.listen", Texts, "", &["serve"], "listen", &["127.0.0.1:1"], "addresses of the daemon"),
    setting!("serve.origin", Texts, "", &["serve"], "origin", &["https://x"], "origins that may send requests"),
    setting!("serve.host", Texts, "", &["serve"], "host", &["x:1"], "names of this machine"),
    #[cfg(feature = "fleet")]
    setting!("serve.fleet", Text, "", &["serve"], "fleet", &["nats://h"], "the NATS servers of the fleet that the daemon joins"),
    #[cfg(feature = "fleet")]
    setting!("serve.creds", Text, "", &["serve"], "creds", &["/f"], "the file with its credentials for the fleet"),
    #[cfg(feature = "fleet")]
    setting!("serve.advertise", Switch, "false", &["serve"], "advertise", &["true"], "answer the discovery of micro-services"),
    #[cfg(feature = "fleet")]
    setting!("fleet.url", Text, "", &[], "", &["nats://h"], "the NATS servers of --fleet without a URL"),
    #[cfg(feature = "fleet")]
    setting!("fleet.creds", Text, "", &[], "", &["/f"], "the file with credentials for them"),
];
