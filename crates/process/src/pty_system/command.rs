//! Conversion between portable-pty's `CommandBuilder` and this crate's types.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use parking_lot::Mutex;
use portable_pty::CommandBuilder;

use crate::configuration::{Configuration, PtyMode, Stdio, WindowSize};
use crate::environment::{Environment, is_of_host};
use crate::guard::Program;

/// Held during `CommandBuilder::new`, which calls getpwuid(3) if `SHELL` is not set; that function
/// returns a static buffer.
static USER_DATABASE: Mutex<()> = Mutex::new(());

/// Returns the command of a session's program.
pub(super) fn builder(program: &Program, cwd: Option<&Path>) -> CommandBuilder {
    let mut command = {
        let _one = USER_DATABASE.lock();
        CommandBuilder::new(&program.path)
    };
    command.args(program.args.iter().skip(1));
    command.env_clear();
    for (name, value) in &program.env {
        command.env(name, value);
    }
    if let Some(cwd) = cwd {
        command.cwd(cwd);
    }
    command
}

pub(super) fn configuration(command: &CommandBuilder) -> Configuration {
    let mut configuration = Configuration::new("");
    match command.get_argv().split_first() {
        Some((program, args)) => {
            configuration.program = program.clone();
            configuration.args = args.to_vec();
        }
        None => login_shell(command, &mut configuration),
    }
    configuration.env = environment(command);
    configuration.cwd = command.get_cwd().map(Into::into);
    // The terminal exists already; this only selects whether it becomes the controlling terminal.
    configuration.stdio = match command.get_controlling_tty() {
        true => Stdio::Pty {
            size: WindowSize::default(),
            mode: PtyMode::Cooked,
        },
        false => Stdio::Pipes,
    };
    configuration
}

/// Sets the user's shell as the program, with a leading `-` in `argv[0]` for a login shell.
fn login_shell(command: &CommandBuilder, configuration: &mut Configuration) {
    let shell = command.get_shell();
    let name = shell.rsplit('/').next().unwrap_or_default();
    configuration.arg0 = Some(format!("-{name}").into());
    configuration.program = shell.into();
}

/// Returns the builder's environment without the variables of an outer agent.
fn environment(command: &CommandBuilder) -> Environment {
    let mut environment = Environment::empty();
    for (name, value) in command.iter_full_env_as_str() {
        set(&mut environment, name.as_ref(), value.as_ref());
    }
    // The builder reports variables that are not UTF-8 by name only.
    let is_text = |text: &OsStr| std::str::from_utf8(text.as_bytes()).is_ok();
    for (name, value) in std::env::vars_os() {
        if !(is_text(&name) && is_text(&value))
            && let Some(value) = command.get_env(&name)
        {
            set(&mut environment, &name, value);
        }
    }
    environment
}

fn set(environment: &mut Environment, name: &OsStr, value: &OsStr) {
    let is_inherited = std::env::var_os(name).as_deref() == Some(value);
    if !(is_inherited && is_of_host(name)) {
        environment.set(OsString::from(name), OsString::from(value));
    }
}
