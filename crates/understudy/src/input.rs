//! Input of the player: lines on stdin, the end of stdin, signals.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// One input.
#[derive(Debug)]
pub(crate) enum Input {
    /// A line of stdin, without its line end.
    Line(Vec<u8>),
    /// The end of stdin.
    Eof,
    /// SIGINT, SIGTERM or SIGHUP.
    Signal(i32),
}

/// The queue of inputs, and a switch that stops reading stdin.
pub(crate) struct InputQueue {
    pub(crate) queue: Receiver<Input>,
    is_stopped: Arc<AtomicBool>,
}

impl InputQueue {
    /// Stops reading stdin. A line that the reader is waiting for is still read, and lost.
    pub(crate) fn stop_reading(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    /// Starts the threads that wait for signals and, if `stdin` is set, read stdin.
    pub(crate) fn start(stdin: bool) -> io::Result<Self> {
        let (sender, queue) = channel();
        let is_stopped = Arc::new(AtomicBool::new(false));
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let to_player = sender.clone();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    let _ = to_player.send(Input::Signal(signal));
                }
            })?;
        if stdin {
            let stop = Arc::clone(&is_stopped);
            let read = move || read_lines(&sender, &stop);
            thread::Builder::new()
                .name("stdin".to_owned())
                .spawn(read)?;
        }
        Ok(Self { queue, is_stopped })
    }
}

fn read_lines(player: &Sender<Input>, is_stopped: &AtomicBool) {
    let mut stdin = io::stdin().lock();
    loop {
        if is_stopped.load(Ordering::Relaxed) {
            // The descriptor stays open and unread until the process ends.
            loop {
                thread::park();
            }
        }
        let mut line = Vec::new();
        match stdin.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => trim_line_end(&mut line),
        }
        if player.send(Input::Line(line)).is_err() {
            return;
        }
    }
    let _ = player.send(Input::Eof);
}

fn trim_line_end(line: &mut Vec<u8>) {
    while matches!(line.last(), Some(b'\n' | b'\r')) {
        line.pop();
    }
}
