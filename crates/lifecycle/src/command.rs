//! Builds the agent's command line from typed options.

mod check;
mod command_line;
mod environment;
mod error;
mod flags;
mod options;
mod quote;
mod value;

pub use command_line::AgentCommand;
pub use environment::AgentEnvironment;
pub use error::CommandError;
pub use options::AgentOptions;
pub use quote::Shell;
pub use value::{
    AgentDocument, AgentMode, AgentText, Effort, PermissionPrompts, PrintFormat, SettingSource,
    SkipPermissions, Thinking,
};
