//! Start and stop of the daemon.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};
use tokio_util::task::TaskTracker;
use tracing::info;

use super::configuration::{ServeConfiguration, ServeError};
use super::links::LinkServer;
use super::listeners::{BoundSocket, Listeners};
use super::page::Page;
use super::state_lock::StateLock;
use super::tls::CurrentEncryption;
use crate::api::{self, EventHub, NotifyConfiguration, NotifyError, start_notifications};
use crate::app_state::{AppState, EventReaders, PageListener};
use crate::auth::{
    CurrentNamedTokens, CurrentToken, NamedTokens, PageAddress, RequestAuth, accepted_hosts,
    accepted_origins, read_or_create_token,
};
use crate::other_runners::OtherRunners;
use crate::sessions::SessionStore;

/// A running daemon. Dropping it stops it without waiting for its clients; sessions continue in
/// their shims either way.
#[derive(Debug)]
pub struct Runner {
    shutdown: DropGuard,
    /// Everything that serves a client.
    tasks: TaskTracker,
    socket: Option<BoundSocket>,
    addresses: Vec<SocketAddr>,
    token: CurrentToken,
    token_file: PathBuf,
    encryption: Option<CurrentEncryption>,
    /// How long [`stop`](Self::stop) waits for clients to disconnect.
    stop_timeout: Duration,
    sessions: Arc<SessionStore>,
    readers: EventReaders,
    /// Dropped before `stop` waits for what serves clients.
    events: Arc<EventHub>,
    /// Serves the links of the fleet.
    links: LinkServer,
    app: Arc<AppState>,
    _lock: StateLock,
}

/// The state in which a daemon stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StopReport {
    /// Whether every client disconnected in time.
    pub is_clean: bool,
    /// Number of sessions that continue in their shims.
    pub running: usize,
}

impl Runner {
    /// Starts a daemon and returns once it accepts connections.
    ///
    /// # Errors
    ///
    /// Fails if the token file, the certificate, the socket or an address is unusable, or if another
    /// daemon serves the state folder. Nothing is served then.
    pub async fn start(configuration: ServeConfiguration) -> Result<Self, ServeError> {
        let token = read_or_create_token(&configuration.token_file)?;
        let listeners = Listeners::bind(&configuration).await?;
        let addresses = listeners.addresses();
        let encryption = listeners.encryption();
        let hosts = accepted_hosts(&configuration.hosts, &addresses, encryption.is_some());
        let auth = RequestAuth {
            origins: accepted_origins(configuration.origins, &hosts, encryption.is_some()),
            hosts,
            token: CurrentToken::new(&token),
            named: CurrentNamedTokens::new(NamedTokens::beside(&configuration.token_file)),
            page: PageAddress::default(),
        };
        let (page, page_requests) = PageListener::new(auth.page.clone());
        let page_address = auth.page.clone();
        let state = configuration.state.path().to_owned();
        let current_token = auth.token.clone();
        let limits = configuration.limits;
        let sessions = SessionStore::new(configuration.state, configuration.shim, limits.sessions);
        let sessions = Arc::new(sessions);
        let (shutdown, tasks) = (CancellationToken::new(), TaskTracker::new());
        let app = Arc::new(AppState::new(
            auth,
            page,
            Arc::clone(&sessions),
            (limits, configuration.policy),
            shutdown.clone(),
            tasks.token(),
        ));
        // Before the first connection, since a client that attaches cancels its timer.
        api::restore_detach_timers(&app).await;
        let ended = app.conversations.restore().await;
        let missing = api::keep_missing_activities(Arc::clone(&app), ended);
        tokio::spawn(shutdown.clone().run_until_cancelled_owned(missing));
        let (store, stopped) = (Arc::clone(&sessions), shutdown.clone());
        tokio::spawn(stopped.run_until_cancelled_owned(async move {
            store.keep_emptying_trash().await;
        }));
        let readers = app.event_readers.clone();
        let events = EventHub::new(Arc::clone(&app));
        let router = api::router(&app, &events);
        let links = LinkServer::new(router.clone(), shutdown.clone());
        let (lock, socket, network) = listeners.serve(&router, &shutdown);
        let page = Page {
            state,
            address: page_address,
            network,
        };
        page.reopen().await;
        tokio::spawn(page.run(page_requests));
        Ok(Self {
            shutdown: shutdown.drop_guard(),
            tasks,
            socket,
            addresses,
            token: current_token,
            token_file: configuration.token_file,
            encryption,
            stop_timeout: limits.goodbye,
            sessions,
            readers,
            events,
            links,
            app,
            _lock: lock,
        })
    }

    /// Returns the path of the Unix socket, if there is one.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        self.socket.as_ref().map(BoundSocket::path)
    }

    /// Returns the TCP addresses, with the assigned ports where port 0 was configured.
    #[must_use]
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the SHA-256 of the certificate in hexadecimal, if TLS is configured.
    #[must_use]
    pub fn fingerprint(&self) -> Option<String> {
        self.encryption.as_ref().map(CurrentEncryption::fingerprint)
    }

    /// Reads the token file, the certificate, its key and the authorities of clients again, and uses
    /// them for new requests and connections. Clients that are attached stay attached.
    ///
    /// # Errors
    ///
    /// Fails if one of the files is unusable. What was in use stays in use then.
    pub fn reload(&self) -> Result<(), ServeError> {
        let token = read_or_create_token(&self.token_file)?;
        if let Some(encryption) = &self.encryption {
            encryption.reload()?;
        }
        self.token.replace(&token);
        info!("read the token and the certificate again");
        Ok(())
    }

    /// Posts what of the sessions needs attention to a webhook, until the daemon stops: an open permission request or
    /// question, the end of a turn, a failure, a usage limit. A notification is a JSON object with `id`, `session`, `phase`,
    /// `reason` and `attention`. With a secret, the header `Bowline-Signature` is `t=SECONDS,v1=HEX`: the HMAC-SHA256 of
    /// `SECONDS.BODY`. One that fails is repeated with the same `id`; the next run of the daemon repeats none.
    ///
    /// # Errors
    ///
    /// The URL or the file with the secret is unusable.
    pub fn notify(&self, configuration: NotifyConfiguration) -> Result<(), NotifyError> {
        start_notifications(&self.events, configuration)
    }

    /// Waits until the last client that followed events has been gone for `grace`, such as a page whose tab was
    /// closed. Before the first one, it waits without a limit.
    ///
    /// Cancel safe.
    pub async fn wait_until_unused(&self, grace: Duration) {
        self.readers.wait_until_unused(grace).await;
    }

    /// Returns what serves the links of a fleet. It can outlive the daemon, and then serves none.
    #[must_use]
    pub fn links(&self) -> LinkServer {
        self.links.clone()
    }

    /// Makes the daemon a gateway to the sessions of other runners: requests for a session that it does not have
    /// are forwarded to the runner that has it. Has an effect once.
    pub fn forward_to(&self, runners: Arc<dyn OtherRunners>) {
        self.app.set_other_runners(runners);
    }

    /// Stops the daemon: requests that clients reconnect later, and waits for them to disconnect.
    /// Sessions continue in their shims.
    pub async fn stop(self) -> StopReport {
        drop(self.socket);
        drop(self.events);
        drop(self.links);
        drop(self.app);
        self.shutdown.disarm().cancel();
        self.tasks.close();
        let is_clean = timeout(self.stop_timeout, self.tasks.wait()).await.is_ok();
        let counts = self.sessions.count().await;
        let running = counts.map_or(0, |counts| counts.running);
        info!(is_clean, running, "stopped");
        StopReport { is_clean, running }
    }
}
