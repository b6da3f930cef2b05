//! What reaches the stage from outside: lines on stdin, its end, signals.

use std::io::{self, BufRead};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// One thing from outside.
#[derive(Debug)]
pub(crate) enum Input {
    /// A line of stdin, without its line end.
    Line(Vec<u8>),
    /// The end of stdin.
    Eof,
    /// SIGINT, SIGTERM or SIGHUP.
    Signal(i32),
}

/// The receiving end, and the switch that stops the reading of stdin.
pub(crate) struct Inputs {
    pub(crate) queue: Receiver<Input>,
    deaf: Arc<AtomicBool>,
}

impl Inputs {
    /// Reads nothing more. A line that the reader waits for is taken from the pipe and lost.
    pub(crate) fn stop_reading(&self) {
        self.deaf.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_deaf(&self) -> bool {
        self.deaf.load(Ordering::Relaxed)
    }

    /// Listens to signals and, if `stdin` is set, to stdin.
    pub(crate) fn listen(stdin: bool) -> io::Result<Self> {
        let (sender, queue) = channel();
        let deaf = Arc::new(AtomicBool::new(false));
        let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let to_stage = sender.clone();
        thread::Builder::new()
            .name("signals".to_owned())
            .spawn(move || {
                for signal in signals.forever() {
                    let _ = to_stage.send(Input::Signal(signal));
                }
            })?;
        if stdin {
            let stop = Arc::clone(&deaf);
            let read = move || read_lines(&sender, &stop);
            thread::Builder::new()
                .name("stdin".to_owned())
                .spawn(read)?;
        }
        Ok(Self { queue, deaf })
    }
}

fn read_lines(stage: &Sender<Input>, deaf: &AtomicBool) {
    let mut stdin = io::stdin().lock();
    loop {
        if deaf.load(Ordering::Relaxed) {
            // Keep the descriptor open and unread for the life of the process.
            loop {
                thread::park();
            }
        }
        let mut line = Vec::new();
        match stdin.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => trim_line_end(&mut line),
        }
        if stage.send(Input::Line(line)).is_err() {
            return;
        }
    }
    let _ = stage.send(Input::Eof);
}

fn trim_line_end(line: &mut Vec<u8>) {
    while matches!(line.last(), Some(b'\n' | b'\r')) {
        line.pop();
    }
}
