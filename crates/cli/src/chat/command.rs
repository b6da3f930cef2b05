//! The commands of the chat, which begin with a slash.

use bowline_lifecycle::{Capabilities, Capability};

/// A command of the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ChatCommand {
    Help,
    Model,
    Mode,
    Resume,
    Fork,
    Queue,
    Usage,
    Export,
    Inspect,
    Detach,
    End,
}

/// A line that the user entered.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entered<'a> {
    /// A command of the chat, with its arguments.
    Command(ChatCommand, &'a str),
    /// A command that neither the chat nor the agent has.
    Unknown(&'a str),
    /// A prompt for the agent.
    Prompt(&'a str),
}

impl ChatCommand {
    pub(super) const ALL: [Self; 11] = [
        Self::Model,
        Self::Mode,
        Self::Resume,
        Self::Fork,
        Self::Queue,
        Self::Usage,
        Self::Export,
        Self::Inspect,
        Self::Detach,
        Self::End,
        Self::Help,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Help => "help",
            Self::Model => "model",
            Self::Mode => "mode",
            Self::Resume => "resume",
            Self::Fork => "fork",
            Self::Queue => "queue",
            Self::Usage => "usage",
            Self::Export => "export",
            Self::Inspect => "inspect",
            Self::Detach => "detach",
            Self::End => "end",
        }
    }

    /// Its arguments and what it does.
    const fn help(self) -> (&'static str, &'static str) {
        match self {
            Self::Help => ("", "list the commands and keys"),
            Self::Model => ("[NAME]", "change the model, or list the models"),
            Self::Mode => ("[NAME]", "change the permission mode, or list the modes"),
            Self::Resume => ("[ID]", "end this session and resume a past conversation"),
            Self::Fork => ("", "continue in a copy of this conversation"),
            Self::Queue => (
                "[…]",
                "list the prompts that wait; add, edit, move or cancel one",
            ),
            Self::Usage => ("", "show cost, tokens, context and limits"),
            Self::Export => ("[FILE]", "write the transcript as JSON"),
            Self::Inspect => ("", "count what the session consists of"),
            Self::Detach => ("", "leave; the session keeps running at its runner"),
            Self::End => ("", "end the session and leave, as ^D"),
        }
    }

    /// Capability of the agent that the command needs.
    pub(super) const fn needs(self) -> Option<Capability> {
        match self {
            Self::Model => Some(Capability::Models),
            Self::Mode => Some(Capability::Modes),
            Self::Resume => Some(Capability::Resume),
            Self::Fork => Some(Capability::Fork),
            _ => None,
        }
    }

    /// Returns a message if the agent lacks the capability that a command needs.
    pub(super) fn refusal(self, supported: &Capabilities) -> Option<String> {
        let needed = self.needs()?;
        let what = match needed {
            Capability::Models => "change its model",
            Capability::Modes => "change its permission mode",
            Capability::Resume => "resume conversations",
            _ => "continue a conversation in a copy",
        };
        let name = self.name();
        (!supported.has(needed)).then(|| format!("/{name}: this agent cannot {what}"))
    }
}

/// Reads a line. `of_agent` are the names of the agent's own commands, which are sent as prompts; the chat's own
/// come before them. After a space, a slash begins text.
pub(super) fn read_entered<'a>(line: &'a str, of_agent: &[String]) -> Entered<'a> {
    let line = line.trim_end();
    let Some(command) = line.strip_prefix('/') else {
        // With its space, the agent does not take the text for a command either.
        let text = line.trim_start();
        return Entered::Prompt(if text.starts_with('/') { line } else { text });
    };
    let (name, rest) = command
        .split_once(char::is_whitespace)
        .unwrap_or((command, ""));
    if let Some(command) = ChatCommand::ALL.into_iter().find(|it| it.name() == name) {
        return Entered::Command(command, rest.trim());
    }
    // An absolute path is text.
    let is_path = name.is_empty() || name.contains('/');
    if is_path || of_agent.iter().any(|it| it == name) {
        Entered::Prompt(line)
    } else {
        Entered::Unknown(name)
    }
}

/// Lists the commands and the keys.
pub(super) fn help(supported: &Capabilities, of_agent: &[String]) -> String {
    let mut text = String::new();
    for command in ChatCommand::ALL {
        let (arguments, what) = command.help();
        let name = format!("/{} {arguments}", command.name());
        let lacking = match command.refusal(supported) {
            Some(_) => " (not with this agent)",
            None => "",
        };
        text.push_str(&format!("  {name:<16} {what}{lacking}\n"));
    }
    if !of_agent.is_empty() {
        let own = |name: &&String| ChatCommand::ALL.iter().all(|it| it.name() != name.as_str());
        let names = of_agent.iter().filter(own);
        let names: Vec<_> = names.map(|it| format!("/{it}")).collect();
        text.push_str(&format!("  of the agent: {}\n", names.join(" ")));
    }
    text.push_str(KEYS);
    text
}

const KEYS: &str = "  \
Enter sends; Alt-Enter, ^O or a backslash at the end begins a new line
  @ and a path name a file; a path of an image attaches it; Tab completes
  Up and Down browse what was entered before, ^R searches it
  ^C interrupts, twice ends the session; ^D ends it
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_told_from_prompts() {
        let agent = ["compact".to_owned(), "model".to_owned()];
        let read = |line| read_entered(line, &agent);
        assert_eq!(
            read("/mode plan "),
            Entered::Command(ChatCommand::Mode, "plan")
        );
        assert_eq!(read("/detach"), Entered::Command(ChatCommand::Detach, ""));
        assert_eq!(read("/model"), Entered::Command(ChatCommand::Model, ""));
        assert_eq!(read("/compact now"), Entered::Prompt("/compact now"));
        assert_eq!(
            read("/etc/passwd is it"),
            Entered::Prompt("/etc/passwd is it")
        );
        assert_eq!(read("/nothing"), Entered::Unknown("nothing"));
        assert_eq!(read(" hello\n"), Entered::Prompt("hello"));
    }

    #[test]
    fn slash_after_a_space_is_text() {
        for line in [" /mode plan", " /nothing"] {
            assert_eq!(read_entered(line, &[]), Entered::Prompt(line));
        }
    }
}
