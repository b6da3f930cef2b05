//! The commands of the runner.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// Which runner is meant.
#[derive(Debug, Args)]
pub(crate) struct At {
    /// The runner: unix:/path, http://host:port or https://host:port; that of this machine's own
    /// socket when left out.
    #[arg(long, value_name = "URL")]
    pub(crate) runner: Option<String>,
    #[command(flatten)]
    pub(crate) proof: Proof,
}

/// How a runner and its client prove to each other who they are.
#[derive(Debug, Args)]
pub(crate) struct Proof {
    /// The file with the runner's token; not needed over the socket.
    #[arg(long, value_name = "PATH", requires = "runner")]
    pub(crate) token_file: Option<PathBuf>,
    /// The SHA-256 of the runner's certificate, as the runner tells it at its start: for a
    /// certificate of its own.
    #[arg(long, value_name = "SHA256", requires = "runner")]
    pub(crate) fingerprint: Option<String>,
    /// Our certificate in PEM, for a runner that was started with --client-ca.
    #[arg(
        long,
        value_name = "FILE",
        requires = "runner",
        requires = "client_key"
    )]
    pub(crate) client_cert: Option<PathBuf>,
    /// The private key of our certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub(crate) client_key: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct Serve {
    /// Listen on this address, too; may be repeated. One that others can reach needs TLS.
    #[arg(long, value_name = "ADDR:PORT")]
    pub(crate) listen: Vec<SocketAddr>,
    /// The Unix socket; runner.sock in the state folder when left out.
    #[arg(long, value_name = "PATH")]
    pub(crate) socket: Option<PathBuf>,
    /// The file with the token that clients show over the network; made with a fresh one when it is
    /// not there. The file `token` in the state folder when left out.
    #[arg(long, value_name = "PATH")]
    pub(crate) token_file: Option<PathBuf>,
    /// The folder with the sessions; BOWLINE_STATE_DIR, else a folder of this user when left out.
    #[arg(long, value_name = "PATH")]
    pub(crate) state_dir: Option<PathBuf>,
    /// A page that may ask, as its Origin header says it; may be repeated. None may when left out.
    #[arg(long, value_name = "ORIGIN")]
    pub(crate) origin: Vec<String>,
    /// A name of this machine, with the port, as clients say it in the Host header; may be repeated.
    #[arg(long, value_name = "NAME:PORT")]
    pub(crate) host: Vec<String>,
    /// Speak TLS with this certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Speak TLS with a certificate of the runner's own; its fingerprint is told at the start.
    #[arg(long, conflicts_with = "tls_cert")]
    pub(crate) tls_own: bool,
    /// Let only clients in that show a certificate of an authority in this file, in PEM.
    #[arg(long, value_name = "FILE")]
    pub(crate) client_ca: Option<PathBuf>,
}

const SERVE_HELP: &str = "\
Sessions belong to processes of their own: they live on when the runner ends, and the next one
finds them. `bowline ps`, `bowline attach ID` and `bowline kill ID` use it; its REST door is
described at /openapi.json.";

#[derive(Debug, Args)]
pub(crate) struct Ps {
    #[command(flatten)]
    pub(crate) at: At,
    /// Print JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "\
A terminal is joined as it is: ^] leaves it, and the session goes on. A dialogue is shown as it
grows; ^C leaves it.")]
pub(crate) struct Attach {
    #[command(flatten)]
    pub(crate) at: At,
    /// The session, as `bowline ps` lists it; its first digits are enough.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

#[derive(Debug, Args)]
pub(crate) struct Kill {
    #[command(flatten)]
    pub(crate) at: At,
    /// Kill at once, without asking the session to end first.
    #[arg(long)]
    pub(crate) force: bool,
    /// Remove the session's log and everything else of it, too.
    #[arg(long)]
    pub(crate) remove: bool,
    /// The session, as `bowline ps` lists it; its first digits are enough.
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}
