//! portable-pty as usual: a thread reads and sends to a channel.

use std::io::Read as _;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use anyhow::Result;
use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, PtySystem, native_pty_system};

use super::bare::BUFFER_BYTES;

/// A PTY and its child, with the bytes that its thread has read.
pub(super) struct Stock {
    pub(super) child: Box<dyn Child + Send + Sync>,
    pub(super) master: Box<dyn MasterPty + Send>,
    pub(super) output: Receiver<Vec<u8>>,
}

pub(super) fn start(system: &dyn PtySystem, command: CommandBuilder) -> Result<Stock> {
    let pair = system.openpty(PtySize::default())?;
    let child = pair.slave.spawn_command(command)?;
    drop(pair.slave);
    let mut reader = pair.master.try_clone_reader()?;
    let (sender, output) = channel();
    thread::spawn(move || {
        let mut buffer = vec![0; BUFFER_BYTES];
        while let Ok(count @ 1..) = reader.read(&mut buffer) {
            if sender.send(buffer[..count].to_vec()).is_err() {
                break;
            }
        }
    });
    Ok(Stock {
        child,
        master: pair.master,
        output,
    })
}

pub(super) fn system() -> Box<dyn PtySystem + Send> {
    native_pty_system()
}

/// Returns a command on a PTY that stty sets to raw mode, which portable-pty cannot do.
pub(super) fn raw(mode: &str, argument: &str) -> Result<CommandBuilder> {
    let mut command = CommandBuilder::new("/bin/sh");
    let own = super::child::own()?;
    command.args(["-c", "stty raw -echo; exec \"$0\" \"$@\""]);
    command.arg(own);
    command.args([mode, argument]);
    Ok(command)
}
