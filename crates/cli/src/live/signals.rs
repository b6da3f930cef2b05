//! The signals that ask for an end.

use std::time::Duration;

use bowline_lifecycle::DialogueSession;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::failure::{Failure, INTERRUPTED};

/// How long the program may take to say how it went once its session is terminated. When nobody
/// reads its output it cannot.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// What a signal asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// SIGINT, ^C: stop what runs.
    Interrupt,
    /// SIGTERM, or SIGHUP when the terminal goes: end everything.
    Terminate,
}

/// What signals ask for. From the start on they do not end the program by themselves.
///
/// A task of its own listens, because whoever takes the wishes also prints, and may be held up by
/// output that nobody reads. A wish that leaves no choice is carried out all the same.
#[derive(Debug)]
pub(crate) struct Signals {
    wishes: UnboundedReceiver<Wish>,
    session: watch::Sender<Option<DialogueSession>>,
}

impl Signals {
    /// Listens until the runtime ends.
    pub(crate) fn new() -> Result<Self, Failure> {
        let (forward, wishes) = unbounded_channel();
        let (session, current) = watch::channel(None);
        let listener = Listener::new()?;
        tokio::spawn(async move {
            listener.until_no_choice(&forward).await;
            end(current).await
        });
        Ok(Self { wishes, session })
    }

    /// Names the session that a signal is to end, in place of the one before.
    pub(crate) fn guard(&self, session: &DialogueSession) {
        self.session.send_replace(Some(session.clone()));
    }

    /// The next wish.
    pub(crate) async fn next(&mut self) -> Wish {
        match self.wishes.recv().await {
            Some(wish) => wish,
            // The last one was passed on, and the program is about to end.
            None => std::future::pending().await,
        }
    }
}

/// Ends the session, and the program when it does not end by itself then.
async fn end(mut current: watch::Receiver<Option<DialogueSession>>) -> ! {
    loop {
        let session = current.borrow_and_update().clone();
        if let Some(session) = session {
            session.terminate().await;
        }
        // A session may have been about to start.
        let is_new = tokio::select! {
            Ok(()) = current.changed() => true,
            () = sleep(LAST_WORDS) => false,
        };
        if !is_new {
            std::process::exit(INTERRUPTED.into())
        }
    }
}

/// The signals themselves.
#[derive(Debug)]
pub(crate) struct Listener {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl Listener {
    /// From now on they do not end the program by themselves.
    pub(crate) fn new() -> Result<Self, Failure> {
        let listen = |kind| {
            let listener = signal(kind);
            listener.map_err(|error| Failure::failed(format!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Passes wishes on, up to the first that is not for a turn alone: the second interrupt, or
    /// any other signal.
    async fn until_no_choice(mut self, forward: &UnboundedSender<Wish>) {
        let mut interrupts = 0_u32;
        loop {
            let wish = self.next().await;
            // Nobody takes wishes any more when the session was ended in order.
            let _ = forward.send(wish);
            interrupts += u32::from(wish == Wish::Interrupt);
            if wish == Wish::Terminate || interrupts > 1 {
                return;
            }
        }
    }

    /// What the next one asks for.
    pub(crate) async fn next(&mut self) -> Wish {
        tokio::select! {
            _ = self.interrupt.recv() => Wish::Interrupt,
            _ = self.terminate.recv() => Wish::Terminate,
            _ = self.hang_up.recv() => Wish::Terminate,
        }
    }
}
