//! SIGINT, SIGTERM and SIGHUP as requests to interrupt or terminate.

use std::time::Duration;

use bowline_lifecycle::DialogueSession;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::failure::{Failure, INTERRUPTED};

/// How long the program may run after its session has been terminated. A blocked standard output
/// would keep it running for ever.
const EXIT_GRACE: Duration = Duration::from_secs(1);

/// What a signal requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignalRequest {
    /// SIGINT (`^C`): interrupt the running turn.
    Interrupt,
    /// SIGTERM, or SIGHUP when the terminal closes: end the session.
    Terminate,
}

/// Registers a handler for a signal.
///
/// # Errors
/// If the kernel refuses the handler.
pub(crate) fn listen(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(|error| Failure::failed(format!("cannot handle signals: {error}")))
}

/// The signals that request an end. Once registered, they no longer end the program by default.
#[derive(Debug)]
pub(crate) struct SignalListener {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl SignalListener {
    /// Registers the handlers.
    pub(crate) fn new() -> Result<Self, Failure> {
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hang_up: listen(SignalKind::hangup())?,
        })
    }

    /// Waits for the next signal. Cancel safe.
    pub(crate) async fn next(&mut self) -> SignalRequest {
        tokio::select! {
            _ = self.interrupt.recv() => SignalRequest::Interrupt,
            _ = self.terminate.recv() => SignalRequest::Terminate,
            _ = self.hang_up.recv() => SignalRequest::Terminate,
        }
    }

    /// Forwards requests up to the first that ends the session: the second interrupt, or any other
    /// signal.
    async fn forward_until_terminated(&mut self, requests: &UnboundedSender<SignalRequest>) {
        let mut interrupts = 0_u32;
        loop {
            let request = self.next().await;
            // The receiver is gone once the session has ended in order.
            let _ = requests.send(request);
            interrupts += u32::from(request == SignalRequest::Interrupt);
            if request == SignalRequest::Terminate || interrupts > 1 {
                return;
            }
        }
    }

    /// Forwards all requests.
    async fn forward(&mut self, requests: &UnboundedSender<SignalRequest>) -> ! {
        loop {
            let request = self.next().await;
            // The receiver is gone once the session has ended in order.
            let _ = requests.send(request);
        }
    }
}

/// Signal requests for the session that runs.
///
/// A separate task receives the signals, because the task that handles the requests also prints and
/// may be blocked by a full pipe. A request to terminate takes effect nevertheless.
#[derive(Debug)]
pub(crate) struct Signals {
    requests: UnboundedReceiver<SignalRequest>,
    session: watch::Sender<Option<DialogueSession>>,
}

impl Signals {
    /// Spawns the task, which runs until the runtime ends.
    pub(crate) fn new() -> Result<Self, Failure> {
        let (forward, requests) = unbounded_channel();
        let (session, current) = watch::channel(None);
        let mut listener = SignalListener::new()?;
        tokio::spawn(async move {
            listener.forward_until_terminated(&forward).await;
            tokio::select! {
                never = terminate_and_exit(current) => never,
                never = listener.forward(&forward) => never,
            }
        });
        Ok(Self { requests, session })
    }

    /// Sets the session that a signal terminates, in place of the previous one.
    pub(crate) fn set_session(&self, session: &DialogueSession) {
        self.session.send_replace(Some(session.clone()));
    }

    /// Waits for the next request. Cancel safe.
    pub(crate) async fn next(&mut self) -> SignalRequest {
        match self.requests.recv().await {
            Some(request) => request,
            // The last request was delivered, and the program is about to exit.
            None => std::future::pending().await,
        }
    }
}

/// Terminates the session, and exits if the program does not end by itself within [`EXIT_GRACE`].
async fn terminate_and_exit(mut current: watch::Receiver<Option<DialogueSession>>) -> ! {
    loop {
        let session = current.borrow_and_update().clone();
        if let Some(session) = session {
            session.terminate().await;
        }
        // A session may have been about to start.
        let has_new_session = tokio::select! {
            Ok(()) = current.changed() => true,
            () = sleep(EXIT_GRACE) => false,
        };
        if !has_new_session {
            std::process::exit(INTERRUPTED.into())
        }
    }
}
